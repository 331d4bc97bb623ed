"""The frozen-chunk kit: the same texts give the same bytes, and it needs nothing until it reads something."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from estante.contract import fingerprints, jsonl, loading
from estante.contract.pipeline import RagPipeline
from estante.ingest import frozen
from estante.ingest.frozen import (
    BUNDLED_CHUNKS_SHA256,
    BUNDLED_CORPORA,
    DEFAULT_BUNDLED_CORPUS,
    ChunkRecord,
    build_bundled_chunks,
    bundled_chunks_path,
    bundled_corpus_path,
    chunk_loaded_documents,
    chunks_from_jsonl,
    chunks_to_jsonl,
    corpus_fingerprint,
    load_bundled_chunks,
    load_bundled_corpus,
    load_documents,
)

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "frozen-chunks.md"


@dataclass(frozen=True)
class Published:
    """What is published of a corpus that was frozen elsewhere."""

    documents: int
    chunks: int
    size: int
    sha256: str
    corpus: str
    pipeline: str
    inventory: str
    longest: tuple[str, int]


PELORUS = {
    "v1": Published(
        92,
        605,
        857_219,
        "290ca86076d9b878e54bdd2d5c1a1c870c4ab20c57edd1a013983e8782ba11fc",
        "0aed07788743e873c9e3ff87f16ba9ec79aa742b922067a2ff30041fbb9123c1",
        "da5c4f8b537feb7f",
        "42e45a7af6eda157862c0092b3200e9dd096a19fb54c2f0b3eabcb8c9fe371f7",
        ("medical_fitness_guide.md", 35),
    ),
    "v2": Published(
        28,
        426,
        613_818,
        "5638e7143fe4b664e874d00aa8722cafaf97972debd1fce8b2d1c1914a0548b4",
        "b839f4213a2bb0eb52c0d8bb8edf87b0d33b782db1619d57afd3fd621eaa1c9e",
        "f5e6754a930b8dc8",
        "900cf7746b744988fd4331e42a46977782ddde484a182058d47f1834ec7a9858",
        ("booking_cancellation_policy.md", 58),
    ),
}

CUTTINGS = [(1000, 200), (512, 64), (400, 80), (256, 0), (120, 30), (80, 10), (77, 0)]


class Held(RagPipeline):
    """A pipeline over chunks that are there already."""

    def __init__(self, chunks: list[ChunkRecord]) -> None:
        self.chunks = chunks

    def query(self, text: str, top_k: int = 5) -> list[Any]:
        return []

    def pull_all_chunks(self) -> list[ChunkRecord]:
        return self.chunks


def frozen_form(folder: Path, size: int = 1000, overlap: int = 200) -> list[ChunkRecord]:
    records = chunk_loaded_documents(load_documents(folder), chunk_size=size, chunk_overlap=overlap)
    for record in records:
        del record.metadata["document_filepath"]
    return records


# --- corpora frozen elsewhere -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", PELORUS)
def test_a_frozen_corpus_is_made_anew_byte_for_byte(data: Path, version: str) -> None:
    published, home = PELORUS[version], data / "pelorus" / version
    file = (home / "pelorus_space.chunks.jsonl").read_bytes()

    made = chunks_to_jsonl(frozen_form(home / "pelorus_space")).encode("utf-8")

    assert (len(file), hashlib.sha256(file).hexdigest()) == (published.size, published.sha256)
    assert made == file


@pytest.mark.parametrize("version", PELORUS)
def test_a_frozen_file_is_read_and_written_byte_for_byte(data: Path, version: str) -> None:
    text = (data / "pelorus" / version / "pelorus_space.chunks.jsonl").read_bytes().decode("utf-8")

    records = chunks_from_jsonl(text)

    assert len(records) == PELORUS[version].chunks
    assert chunks_to_jsonl(records) == text


@pytest.mark.parametrize("version", PELORUS)
def test_the_fingerprints_of_a_frozen_corpus_are_those_published(data: Path, version: str) -> None:
    published, folder = PELORUS[version], data / "pelorus" / version / "pelorus_space"
    documents, records = load_documents(folder), frozen_form(folder)
    sums = sorted((one.chunk_id, hashlib.sha256(one.text.encode()).hexdigest()) for one in records)
    own = [one for one in records if one.doc_id == published.longest[0]]

    assert (len(documents), len(records), len(own)) == (published.documents, published.chunks, published.longest[1])
    assert corpus_fingerprint([vars(one) for one in documents]) == published.corpus
    assert Held(records).fingerprint() == published.pipeline
    lines = "".join(f"{name}\t{digest}\n" for name, digest in sums)
    assert hashlib.sha256(lines.encode()).hexdigest() == published.inventory


@pytest.mark.parametrize(("size", "overlap"), CUTTINGS)
@pytest.mark.parametrize("version", PELORUS)
def test_the_laws_of_chunks_hold_over_real_texts(data: Path, version: str, size: int, overlap: int) -> None:
    keep_the_laws(data / "pelorus" / version / "pelorus_space", size, overlap)


def keep_the_laws(folder: Path, size: int, overlap: int) -> None:
    records = frozen_form(folder, size, overlap)
    assert [one.global_index for one in records] == list(range(len(records)))
    for document in load_documents(folder, extensions=[".md", ".txt"]):
        own = [one for one in records if one.doc_id == document.source_identity]
        bounds = [(one.char_start or 0, one.char_end or 0) for one in own]
        assert [one.doc_chunk_index for one in own] == list(range(len(own)))
        assert all(document.content[one.char_start : one.char_end] == one.text for one in own)
        assert all(before[0] < after[0] and before[1] < after[1] for before, after in pairwise(bounds))


# --- the bundled corpus -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BUNDLED_CORPORA)
def test_a_bundled_corpus_is_made_anew_byte_for_byte(name: str) -> None:
    with bundled_chunks_path(name) as path:
        file = path.read_bytes()

    assert chunks_to_jsonl(build_bundled_chunks(name)).encode("utf-8") == file, f"freeze it again as {PAGE.name} says"
    assert hashlib.sha256(file).hexdigest() == BUNDLED_CHUNKS_SHA256[name]


def test_the_bundled_corpus_has_the_size_that_is_published() -> None:
    with bundled_chunks_path() as path:
        file = path.read_bytes()

    assert (len(load_bundled_corpus()), file.count(b"\n"), len(file)) == (42, 126, 179_527)
    assert b"\r" not in file


def test_the_page_publishes_every_digest() -> None:
    text = PAGE.read_text("utf-8")

    assert BUNDLED_CHUNKS_SHA256.keys() == set(BUNDLED_CORPORA)
    assert all(digest in text and name in text for name, digest in BUNDLED_CHUNKS_SHA256.items())


def test_the_example_of_the_page_freezes_a_folder(tmp_path: Path) -> None:
    [example, *_] = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    with bundled_corpus_path() as folder:
        shutil.copytree(folder / "handbook", tmp_path / "handbook")

    subprocess.run([sys.executable, "-c", example], cwd=tmp_path, check=True)

    made = chunks_from_jsonl((tmp_path / "handbook.chunks.jsonl").read_bytes().decode("utf-8"))
    bundled = [one for one in load_bundled_chunks() if one.doc_id.startswith("handbook/")]
    assert [one.text for one in made] == [one.text for one in bundled] != []


def test_the_frozen_chunks_have_five_keys_of_metadata_and_no_path_of_a_machine() -> None:
    chunks = load_bundled_chunks()

    assert chunks == build_bundled_chunks()
    assert {tuple(one.metadata) for one in chunks} == {
        ("source_identity", "source_fingerprint", "relative_path", "filename", "file_type")
    }


def test_every_utf8_text_of_the_demo_library_is_in_the_bundled_corpus() -> None:
    with bundled_corpus_path() as folder:
        loaded = load_documents(folder, strict=False, extensions=[".txt", ".md"])

    assert loaded == load_bundled_corpus()
    assert [note.path for note in loaded.skipped] == ["runbooks/network-outage.txt", "ti/rotina-de-backup.txt"]


@pytest.mark.parametrize(("size", "overlap"), CUTTINGS)
def test_the_laws_of_chunks_hold_over_the_bundled_texts(size: int, overlap: int) -> None:
    documents = load_bundled_corpus()

    records = chunk_loaded_documents(documents, chunk_size=size, chunk_overlap=overlap)

    contents = {one.source_identity: one.content for one in documents}
    assert all(contents[one.doc_id][one.char_start : one.char_end] == one.text for one in records)
    assert all(
        (before.char_start or 0) < (after.char_start or 0) and (before.char_end or 0) < (after.char_end or 0)
        for before, after in pairwise(records)
        if before.doc_id == after.doc_id
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda: load_bundled_corpus("none"),
        lambda: load_bundled_chunks("none"),
        lambda: build_bundled_chunks("none"),
        lambda: bundled_corpus_path("none").__enter__(),
        lambda: bundled_chunks_path("none").__enter__(),
    ],
    ids=["corpus", "chunks", "build", "corpus path", "chunks path"],
)
def test_an_unknown_name_is_refused_with_those_that_are_known(call: Any) -> None:
    with pytest.raises(ValueError, match=f"no bundled corpus 'none'; known: {DEFAULT_BUNDLED_CORPUS}"):
        call()


INSTALLED = """
import sys
from pathlib import Path
from estante.ingest import frozen
told = []
for call in (frozen.load_bundled_corpus, frozen.load_bundled_chunks):
    try:
        call()
    except (ValueError, FileNotFoundError) as error:
        told.append(f"{type(error).__name__}: {error}")
print("|".join(told))
"""


def installed_at(site: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(site)!r})\n{INSTALLED}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The contract and the kit installed elsewhere, with nothing of the demo."""
    home = Path(frozen.__file__).parents[1]
    for path in [*home.glob("contract/**/*.py"), home / "__init__.py", *home.glob("ingest/*.py")]:
        (tmp_path / "estante" / path.relative_to(home)).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "estante" / path.relative_to(home)).write_bytes(path.read_bytes())
    return tmp_path


def test_an_installation_without_the_data_says_so(site: Path) -> None:
    told = installed_at(site).split("|")

    assert len(told) == 2
    for one in told:
        assert one.startswith(
            "FileNotFoundError: the bundled corpus 'serra_do_jequi' is not installed: the package data"
        )


def test_frozen_chunks_that_were_changed_are_not_handed_out(site: Path) -> None:
    (site / "estante/demo").mkdir()
    with bundled_chunks_path() as path:
        (site / "estante/demo" / path.name).write_bytes(path.read_bytes().replace(b"servidor", b"Servidor", 1))

    assert "ContractValueError: the frozen chunks of 'serra_do_jequi' were changed" in installed_at(site)


# --- the kit ----------------------------------------------------------------------------------------------------


def test_the_kit_hands_out_the_objects_of_the_contract() -> None:
    assert frozen.load_documents is loading.load_documents
    assert frozen.LoadedDocument is loading.LoadedDocument
    assert frozen.chunk_loaded_documents is loading.chunk_loaded_documents
    assert frozen.chunks_to_jsonl is jsonl.chunks_to_jsonl
    assert frozen.document_source_identity is fingerprints.document_source_identity
    assert (frozen.CHUNKER_METHOD, frozen.CHUNKER_VERSION) == ("rag-connector-chunker", "1")
    assert (frozen.BUNDLED_CHUNK_SIZE, frozen.BUNDLED_CHUNK_OVERLAP) == (1000, 200)
    assert all(hasattr(frozen, name) for name in frozen.__all__)


def test_the_kit_works_with_every_parser_blocked_and_loads_nothing_heavy() -> None:
    code = """
import json, sys
for name in ("pypdfium2", "lxml", "docx", "striprtf", "numpy", "chromadb", "pypdf", "fastembed"):
    sys.modules[name] = None
before = set(sys.modules)
from estante.ingest import frozen
frozen.build_bundled_chunks(), frozen.load_bundled_chunks()
print(json.dumps(sorted({name.partition(".")[0] for name in set(sys.modules) - before})))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert set(json.loads(done.stdout)) - {*sys.stdlib_module_names} == {"estante"}
