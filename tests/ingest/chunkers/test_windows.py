"""The windows of the contract, to the character."""

from __future__ import annotations

import hashlib
import json
import os
from itertools import pairwise
from pathlib import Path

import pytest

from estante.ingest.chunkers.windows import WindowsChunker, window_spans
from estante.ingest.gate import admit
from estante.model.access import ANYONE, Scope
from estante.model.content import Draft, Item
from estante.model.errors import SettingsError

DATA = Path(os.environ.get("ESTANTE_DATA") or Path(__file__).parents[4] / "shared" / "data")
CORPORA = {
    "v1": (
        605,
        "290ca86076d9b878e54bdd2d5c1a1c870c4ab20c57edd1a013983e8782ba11fc",
        "42e45a7af6eda157862c0092b3200e9dd096a19fb54c2f0b3eabcb8c9fe371f7",
    ),
    "v2": (
        426,
        "5638e7143fe4b664e874d00aa8722cafaf97972debd1fce8b2d1c1914a0548b4",
        "900cf7746b744988fd4331e42a46977782ddde484a182058d47f1834ec7a9858",
    ),
}


def test_the_worked_example_of_the_contract_gives_its_two_windows() -> None:
    assert window_spans("aaaa bbbb cccc dddd\n\neeee ffff gggg hhhh", 30, 5) == [(0, 25), (21, 40)]


@pytest.mark.skipif(not (DATA / "pelorus").is_dir(), reason=f"the frozen corpora are not under {DATA}")
@pytest.mark.parametrize("version", CORPORA)
def test_a_frozen_corpus_gives_the_chunks_it_was_frozen_with(version: str) -> None:
    count, file_digest, inventory_digest = CORPORA[version]
    frozen = (DATA / "pelorus" / version / "pelorus_space.chunks.jsonl").read_bytes()
    rows = [json.loads(line) for line in frozen.decode("utf-8").split("\n") if line]

    made = _chunks(DATA / "pelorus" / version / "pelorus_space")

    assert hashlib.sha256(frozen).hexdigest() == file_digest
    assert len(made) == count
    assert made == [(row["chunk_id"], row["char_start"], row["char_end"], row["text"]) for row in rows]
    assert _inventory(made) == inventory_digest


def _chunks(folder: Path) -> list[tuple[str, int, int, str]]:
    chunker = WindowsChunker(1000, 200)
    found = []
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        item = Item(source="", uri=path.name.casefold(), media_type="text/plain", revision="1", read=path.read_bytes)
        draft = Draft(title=path.name, text=path.read_text("utf-8-sig"), language="en")
        document = admit(item, draft, Scope("pelorus", ANYONE))
        for index, span in enumerate(chunker.spans(document)):
            chunk = document.cut(index, span)
            found.append((f"{document.id}:chunk-{index}", span.start, span.end, chunk.text))
    return found


def _inventory(chunks: list[tuple[str, int, int, str]]) -> str:
    lines = (f"{name}\t{hashlib.sha256(text.encode()).hexdigest()}\n" for name, _, _, text in sorted(chunks))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def test_a_boundary_exactly_where_the_search_begins_is_passed_over() -> None:
    text = "aaaaaaaa bb cc"

    assert window_spans(text, 10, 0) == [(0, 10), (10, 14)]


def test_a_window_inside_the_one_before_is_left_out() -> None:
    assert window_spans("abcdefghij", 10, 4) == [(0, 10)]


def test_overlap_of_all_but_one_character_still_ends() -> None:
    spans = window_spans("um dois tres quatro", 5, 4)

    assert spans[-1][1] == 19
    assert all(earlier[1] < later[1] for earlier, later in pairwise(spans))


def test_blank_text_has_no_windows() -> None:
    assert window_spans(" \n\t ", 10, 2) == []


@pytest.mark.parametrize(
    ("size", "overlap"), [(0, 0), (-5, 0), (10, -1), (10, 10), (10, 11), (10.0, 2), (10, 2.5), (True, 0), ("10", 2)]
)
def test_sizes_that_make_no_sense_are_refused_before_anything_is_cut(size: object, overlap: object) -> None:
    with pytest.raises(SettingsError):
        window_spans("", size, overlap)  # type: ignore[arg-type]
    with pytest.raises(SettingsError):
        WindowsChunker(size, overlap)  # type: ignore[arg-type]


def test_the_fingerprint_tells_settings_apart() -> None:
    fingerprints = {
        WindowsChunker().fingerprint,
        WindowsChunker(999).fingerprint,
        WindowsChunker(1000, 100).fingerprint,
    }

    assert len(fingerprints) == 3
    assert WindowsChunker().fingerprint == WindowsChunker(1000, 200).fingerprint
