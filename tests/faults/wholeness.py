"""What must hold of a case at every moment, whatever happened to its writer."""

from __future__ import annotations

from pathlib import Path

from estante.shelf.bookcase import Bookcase
from tests.faults.cases import OWNER, STRANGER, answers, contents
from tests.faults.corpus import QUESTIONS, marker_of
from tests.faults.deeds import State, expected, found, fresh


def assert_whole(case: Bookcase, allowed: list[State]) -> State:
    """Reads everything. Returns which of the allowed states the case is in."""
    assert case.check() == []
    held = found(case)
    state = next((one for one in allowed if expected(one) == held), None)
    assert state is not None, _difference(held, expected(allowed[-1]))
    _assert_ledger(case)
    _assert_entries(case)
    _assert_found(case, state, {marker_of(one.text) for other in allowed for one in other.values()})
    return state


def _difference(held: dict[str, list[object]], wanted: dict[str, list[object]]) -> str:
    return "no allowed state: " + "; ".join(
        f"{key}: {[str(one)[:80] for one in held.get(key, [])]} for {[str(one)[:80] for one in wanted.get(key, [])]}"
        for key in sorted({*held, *wanted})
        if held.get(key) != wanted.get(key)
    )


def _assert_ledger(case: Bookcase) -> None:
    for store in case._shelves.named().values():
        with store.view() as view:
            told = sorted(key for row in view.ledger().values() for key in row.documents)
            listed = [one.document_id for one in view.listings(OWNER, None)]
            assert told == listed
            assert all(row.documents or row.reason for row in view.ledger().values())
            assert view.statistics().documents == len(listed)
            assert view.statistics().chunks == sum(one.chunks for one in view.listings(OWNER, None))


def _assert_entries(case: Bookcase) -> None:
    """Every chunk is a true slice, and its terms and vector are those of its text."""
    for store in case._shelves.named().values():
        with store.view() as view:
            documents = [view.document(one.document_id, OWNER) for one in view.listings(OWNER, None)]
            pairs = [(document, view.spans(document.id, OWNER)) for document in documents]
            for (document, spans), made in zip(pairs, case._engine.entries(pairs), strict=True):
                entries = view.entries(document.id)
                assert entries == made
                for entry, span in zip(entries, spans, strict=True):
                    assert entry.chunk.text == document.text[span.start : span.end]


def _assert_found(case: Bookcase, state: State, markers: set[str]) -> None:
    """A search for a text's own word finds that text, and nothing that should be gone."""
    held = [(key, one) for key, whole in state.items() for one in (whole, whole.private) if one is not None]
    for marker in sorted(markers):
        hits = {hit.document_id for hit in case.search(marker, 30, mode="lexical").hits}
        assert hits == {key for key, one in held if marker_of(one.text) == marker}
        seen = {hit.document_id for hit in case.search(marker, 30, mode="lexical", asker=STRANGER).hits}
        assert seen == {key for key, one in held if marker_of(one.text) == marker and one.shared}


def assert_as_fresh(case: Bookcase, state: State, folder: Path) -> None:
    """To the last bit what a case is that was given the same and never suffered."""
    with fresh(state, folder) as memory:
        assert contents(case) == contents(memory)
        assert answers(case, QUESTIONS) == answers(memory, QUESTIONS)
