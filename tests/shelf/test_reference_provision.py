"""Collections are made beside what stands, whole or not at all, whatever fails or kills it."""

from __future__ import annotations

import inspect
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from estante.contract.errors import ConnectorError, ConnectorOperationalError, ConnectorRegistrationError
from estante.contract.models import ChunkRecord
from estante.contract.validate import validate_pipeline
from estante.ingest.frozen import load_bundled_chunks
from estante.security.scrub import scrub
from estante.serve.cli.ragconnector import main
from estante.shelf import reference_provision
from estante.shelf.collection import BATCH
from estante.shelf.reference import ReferenceRagConnector
from estante.shelf.reference_provision import (
    durability_barrier,
    provision_reference_rag,
    provision_reference_rag_from_chunks,
)
from tests.shelf.bound import documents
from tests.shelf.clients import OddClient, WordClient

NEVER_PRINTED = "AKIA" + "Q3WERTY7UIOP2SDF"


def chunk(number: int, text: str = "", **more: Any) -> ChunkRecord:
    return ChunkRecord(f"d:{number}", "d", "d.md", number, number, text or f"trecho {number} do texto", **more)


def made(
    folder: Path, chunks: list[ChunkRecord], client: WordClient | None = None, **more: Any
) -> ReferenceRagConnector:
    return provision_reference_rag(
        chunks=chunks, collection_name="c", persist_dir=folder, embedding_client=client or WordClient(), **more
    )


def texts_of(folder: Path) -> list[str]:
    pipeline = ReferenceRagConnector(persist_dir=folder, collection_name="c", embedding_client=WordClient())
    found = [one.text for one in pipeline.pull_all_chunks()]
    pipeline.close()
    return found


def test_a_collection_of_the_bundled_corpus_needs_no_folder(tmp_path: Path) -> None:
    cut = provision_reference_rag(collection_name="cut", persist_dir=tmp_path, embedding_client=WordClient())
    frozen = provision_reference_rag_from_chunks(
        collection_name="frozen", persist_dir=tmp_path, embedding_client=WordClient()
    )

    for made_of in (cut, frozen):
        pulled = made_of.pull_all_chunks()
        assert [one.chunk_id for one in pulled] == [one.chunk_id for one in load_bundled_chunks()]
        for one, other in zip(pulled, load_bundled_chunks(), strict=True):
            # The demo library holds invented secrets, which are masked here as everywhere.
            assert one.text == scrub(other.text)[0]
            assert replace(one, text="", embedding=None) == replace(other, text="")


def test_chunks_are_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("the chunker ran")

    monkeypatch.setattr(reference_provision, "chunk_loaded_documents", never)

    with pytest.raises(AssertionError, match="the chunker ran"):
        provision_reference_rag(collection_name="c", persist_dir=tmp_path, embedding_client=WordClient())
    made(tmp_path, [chunk(0)]).close()


@pytest.mark.parametrize("name", ["folder_path", "chunk_size", "chunk_overlap"])
def test_what_says_how_to_cut_is_refused_beside_chunks(tmp_path: Path, name: str) -> None:
    with pytest.raises(TypeError, match=name):
        provision_reference_rag_from_chunks(**{name: 5}, collection_name="c", persist_dir=tmp_path)
    with pytest.raises(ValueError, match="are given"):
        provision_reference_rag(chunks=[chunk(0)], collection_name="c", persist_dir=tmp_path, **{name: "5"})  # type: ignore[arg-type]


def test_nothing_to_provision_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()

    for sources in ({"chunks": []}, {"folder_path": tmp_path / "texts"}):
        with pytest.raises(ValueError, match=r"give at least one|nothing to provision|no documents"):
            provision_reference_rag(**sources, collection_name="c", persist_dir=tmp_path / "all")  # type: ignore[arg-type]
    assert not (tmp_path / "all").exists()


def test_the_name_of_a_collection_must_be_given() -> None:
    parameter = inspect.signature(provision_reference_rag).parameters["collection_name"]

    assert parameter.default is inspect.Parameter.empty


def test_texts_are_embedded_in_batches_and_in_their_order(tmp_path: Path) -> None:
    client = WordClient()
    made(tmp_path, [chunk(number) for number in range(2 * BATCH + 1)], client).close()

    assert [len(some) for some in client.heard] == [BATCH, BATCH, 1]
    assert client.heard[1][0] == f"trecho {BATCH} do texto"


def test_a_secret_is_masked_before_any_model_hears_of_it(tmp_path: Path) -> None:
    client = WordClient()
    pipeline = made(tmp_path, [chunk(0, f"chave {NEVER_PRINTED}")], client)

    assert NEVER_PRINTED not in json.dumps(client.heard)
    assert NEVER_PRINTED not in pipeline.pull_all_chunks()[0].text
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or NEVER_PRINTED.encode() not in file.read_bytes()


def test_what_is_made_is_its_owners_alone_to_read_on_disk(tmp_path: Path) -> None:
    made(tmp_path / "all", [chunk(0)]).close()

    for one in (tmp_path / "all").rglob("*"):
        assert stat.S_IMODE(one.stat().st_mode) & 0o077 == 0, one


@pytest.mark.parametrize(
    "client",
    [OddClient(OSError("gone away")), OddClient([[1.0] * 3]), OddClient([[float("inf")] * 16])],
    ids=["raises", "narrow", "infinite"],
)
@pytest.mark.parametrize("append", [False, True])
def test_a_model_that_fails_leaves_what_stood(tmp_path: Path, client: OddClient, append: bool) -> None:
    made(tmp_path, [chunk(0, "velho")]).close()

    with pytest.raises(ConnectorOperationalError):
        made(tmp_path, [chunk(1, "novo")], client, replace_existing=not append)

    assert texts_of(tmp_path) == ["velho"]
    assert len(list((tmp_path / "c" / "builds").glob("*/catalog.sqlite"))) == 1


def test_a_first_provisioning_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConnectorOperationalError):
        made(tmp_path / "all", [chunk(0)], OddClient(OSError("gone")))

    assert list((tmp_path / "all").iterdir()) == []


def test_a_blank_chunk_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(ConnectorError, match="d:1"):
        made(tmp_path, [chunk(0), chunk(1, " \u200b")])
    assert list(tmp_path.iterdir()) == []


def test_appended_chunks_count_on_and_the_whole_is_ready(tmp_path: Path) -> None:
    made(tmp_path, [chunk(number) for number in range(3)]).close()
    more = [ChunkRecord(f"e:{n}", "e", "e.md", n, n, f"outro trecho {n}") for n in range(2)]
    pipeline = made(tmp_path, more, replace_existing=False)

    assert [one.global_index for one in pipeline.pull_all_chunks()] == [0, 1, 2, 3, 4]
    report = validate_pipeline(pipeline, target="appended", sample_query="outro trecho")
    assert report.ready, report.render()


@pytest.mark.parametrize("unnumbered", ["old", "new"])
def test_where_one_side_has_no_numbers_the_whole_has_none(tmp_path: Path, unnumbered: str) -> None:
    old = [ChunkRecord("a", "a", "a", 0, None if unnumbered == "old" else 0, "um")]
    new = [ChunkRecord("b", "b", "b", 0, None if unnumbered == "new" else 0, "dois")]
    made(tmp_path, old).close()
    pipeline = made(tmp_path, new, replace_existing=False)

    numbers = {one.chunk_id: one.global_index for one in pipeline.pull_all_chunks()}
    assert numbers["b"] is None


def test_chunks_that_are_there_already_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    made(tmp_path, [chunk(0), chunk(1)]).close()
    before = (tmp_path / "c" / "collection.json").read_bytes()

    with pytest.raises(ValueError, match="already holds 1 of these chunks, 'd:1'"):
        made(tmp_path, [chunk(1), chunk(2)], replace_existing=False)

    assert (tmp_path / "c" / "collection.json").read_bytes() == before
    assert len(texts_of(tmp_path)) == 2


def test_an_append_to_what_is_not_there_makes_it(tmp_path: Path) -> None:
    assert len(made(tmp_path, [chunk(0)], replace_existing=False).pull_all_chunks()) == 1


def test_a_folder_that_holds_something_else_is_never_built_into(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "notes.txt").write_text("mine")

    with pytest.raises(ConnectorRegistrationError, match=r"holds notes\.txt and is no collection"):
        made(tmp_path, [chunk(0)])
    assert [one.name for one in (tmp_path / "c").iterdir()] == ["notes.txt"]


def test_a_collection_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "c").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(ConnectorError, match="not a directory of its own"):
        made(tmp_path, [chunk(0)])
    assert list((tmp_path / "elsewhere").iterdir()) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.shelf.clients import WordClient
from tests.shelf.test_reference_provision import chunk, made
from estante.shelf import collection

die = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
point, folder, append = sys.argv[1], Path(sys.argv[2]), sys.argv[3] == "append"

class Dies(WordClient):
    def embed_documents(self, texts):
        if len(self.heard) == 1:
            die()
        return super().embed_documents(texts)

if point == "check":
    collection._verified = die
if point == "commit":
    collection._commit = die
if point == "replace":
    Path.replace = die
made(folder, [chunk(n, f"novo {n}") for n in range(1, 150)], Dies() if point == "embed" else None,
     replace_existing=not append)
"""


@pytest.mark.parametrize("point", ["embed", "check", "commit", "replace"])
@pytest.mark.parametrize("how", ["replace", "append"])
def test_a_killed_provisioning_leaves_what_stands_and_the_next_one_ends_it(
    tmp_path: Path, point: str, how: str
) -> None:
    made(tmp_path, [chunk(0, "velho")]).close()

    done = subprocess.run(
        [sys.executable, "-c", KILLED, point, str(tmp_path), how], cwd=Path(__file__).parents[2], check=False
    )

    assert done.returncode == -signal.SIGKILL
    assert texts_of(tmp_path) == ["velho"]
    made(tmp_path, [chunk(0, "novo")]).close()
    assert texts_of(tmp_path) == ["novo"]
    assert len(list((tmp_path / "c" / "builds").glob("*/catalog.sqlite"))) == 2  # The new one, and what it replaced.


def test_two_at_once_make_one_whole_collection(tmp_path: Path) -> None:
    failed: list[BaseException] = []

    def run(word: str) -> None:
        try:
            made(tmp_path, [chunk(number, f"{word} {number}") for number in range(30)]).close()
        except ConnectorError as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(word,)) for word in ("um", "dois")]
    for one in threads:
        one.start()
    for one in threads:
        one.join()

    assert failed == []
    assert len({text.split()[0] for text in texts_of(tmp_path)}) == 1
    assert len(texts_of(tmp_path)) == 30


class Stub:
    """A collection that says what it was told."""

    name = "stub"

    def __init__(self, count: int, found: Any) -> None:
        self._count, self._found, self.included = count, found, ()

    def count(self) -> int:
        return self._count

    def get(self, *, limit: int, include: list[str]) -> Any:
        self.included = tuple(include)
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


@pytest.mark.parametrize(
    ("stub", "complaint"),
    [
        (Stub(1, {"ids": ["a"]}), "reports 1"),
        (Stub(3, RuntimeError("cold")), "vector segment is not readable"),
        (Stub(3, {"ids": []}), "returned none"),
    ],
    ids=["short", "unreadable", "empty"],
)
def test_what_was_written_must_be_counted_and_read_with_its_vectors(stub: Stub, complaint: str) -> None:
    with pytest.raises(ConnectorOperationalError, match=complaint):
        durability_barrier(stub, 3)


def test_a_whole_collection_passes_the_barrier_and_is_asked_for_vectors() -> None:
    stub = Stub(3, {"ids": ["a"]})
    durability_barrier(stub, 3)

    assert "embeddings" in stub.included


# --- the commands ---------------------------------------------------------------------------------------------------


def test_the_command_makes_a_collection_and_prints_what_opens_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = documents(tmp_path / "texts", prazo="O prazo é de dez dias.")

    assert main(["reference", "provision", "texts", "--collection", "c", "--persist-dir", "all"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert told["connection"]["persist_dir"] == str(tmp_path / "all")
    assert told["info"]["chunk_count"] == 1
    assert main(["reference", "provision", str(texts), "--collection", "c", "--persist-dir", "all", "--append"]) == 1
    assert capsys.readouterr().err.startswith("rag-connector reference provision: ContractValueError: collection 'c'")


@pytest.mark.parametrize(("given", "meant"), [([], None), (["true"], True), (["false"], False)])
def test_the_normalisation_is_declared_or_left_unsaid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: list[str], meant: bool | None
) -> None:
    texts = documents(tmp_path / "texts", prazo="O prazo é de dez dias.")
    flags = ["--normalized", *given] if given else []

    told = ["reference", "provision", str(texts), "--collection", "c", "--persist-dir", str(tmp_path / "all"), *flags]
    assert main(told) == 0
    assert json.loads(capsys.readouterr().out)["connection"]["normalized"] is meant


def test_the_list_has_a_line_for_each_connector_by_label(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert "reference\tReference RAG (local)" in lines
    labels = [line.split("\t")[1] for line in lines]
    assert labels == sorted(labels, key=str.casefold)


def test_a_dataset_is_built_and_exported_with_its_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = documents(tmp_path / "texts", prazo="O prazo é de dez dias.")
    made(tmp_path / "all", [chunk(0)]).close()
    provision_reference_rag(texts, collection_name="s", persist_dir=tmp_path / "all").close()

    assert main(["dataset", "build", "--folder", str(texts), "--out", str(tmp_path / "built")]) == 0
    built = json.loads(capsys.readouterr().out)
    where = json.dumps({"persist_dir": str(tmp_path / "all"), "collection_name": "s"})
    export = ["dataset", "export", "--connector", "reference", "--params", where, "--out"]
    assert main([*export, str(tmp_path / "exported")]) == 0
    exported = json.loads(capsys.readouterr().out)

    assert (built["name"], exported["name"]) == ("texts", "reference")
    assert built["chunk_inventory_sha256"] == exported["chunk_inventory_sha256"]
    assert main([*export, str(tmp_path / "exported")]) == 1
    assert "not empty" in capsys.readouterr().err
    assert main(["dataset", "export", "--connector", "nobody", "--out", str(tmp_path / "x")]) == 1
    assert "not registered" in capsys.readouterr().err
    assert main(["dataset", "export", "--connector", "reference", "--params", "[]", "--out", str(tmp_path / "x")]) == 1
    assert "give a JSON object" in capsys.readouterr().err


def test_the_program_runs_as_a_module_and_validates(tmp_path: Path) -> None:
    made(tmp_path, [chunk(0)]).close()
    environ = {**os.environ, "PYTHONWARNINGS": "error"}

    listed = subprocess.run(
        [sys.executable, "-m", "estante.serve.cli.ragconnector", "list"],
        capture_output=True, text=True, check=True, env=environ,
    )  # fmt: skip
    helped = subprocess.run(
        [sys.executable, "-m", "estante.serve.cli.ragconnector", "validate", "--help"],
        capture_output=True, text=True, check=True, env=environ,
    )  # fmt: skip

    assert "reference\t" in listed.stdout
    assert "usage: rag-connector validate" in helped.stdout
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 2
