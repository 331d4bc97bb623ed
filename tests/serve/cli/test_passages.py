"""Hits for people: shortened around their matches, marked, explained."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.model.access import ANYONE, Scope
from estante.model.asking import Hit, Leg, Results, ShelfReport
from estante.model.content import Span
from estante.model.wire import restore_chunk
from estante.serve.cli.output import Output
from estante.serve.cli.passages import WIDTH, flattened, print_results, shortened

TEXT = "O prazo é de dez dias.\n\nDepois do prazo, o processo segue."


def hit(text: str = TEXT, word: str = "prazo", *, title: str = "Decreto nº 541", start: int = 100) -> Hit:
    chunk = restore_chunk(
        document_id="leis/decreto.md",
        index=2,
        span=Span(start, start + len(text)),
        text=text,
        scope=Scope("acme", ANYONE),
        title=title,
        trail=("Capítulo I", "Art. 1º"),
        uri="decreto.md",
        locator="page 3",
        language="pt",
        metadata={},
    )
    return Hit(
        rank=1,
        score=0.83,
        chunk=chunk,
        shelf="shared",
        legs=(Leg("lexical", 1, 6.4), Leg("dense", 3, 0.31)),
        matches=tuple(Span(start + at, start + at + len(word)) for at in places(text, word)),
    )


def places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def results(
    *hits: Hit, coverage: float = 0.9, shelves: tuple[ShelfReport, ...] = (), absent: tuple[str, ...] = ()
) -> Results:
    return Results(query="prazo", hits=hits, shelves=shelves, took_ms=1.5, coverage=coverage, absent=absent)


def printed(capsys: pytest.CaptureFixture[str], found: Results, **how: bool) -> tuple[str, str]:
    print_results(Output(), found, **how)
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_a_hit_is_a_block_with_its_place_its_passage_and_its_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = printed(capsys, results(hit()))

    assert out.splitlines() == [
        "1  0.8300  Decreto nº 541",
        "   Capítulo I › Art. 1º",
        f"   leis/decreto.md:100-{100 + len(TEXT)} · page 3",
        "   O «prazo» é de dez dias. Depois do «prazo», o processo segue.",
        "   words 1, meaning 3",
        "",
    ]
    assert err == ""


def test_full_keeps_the_lines_of_the_passage(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = printed(capsys, results(hit()), full=True)

    assert "   O «prazo» é de dez dias.\n   \n   Depois do «prazo», o processo segue.\n" in out


def test_explain_tells_ranks_scores_coverage_and_shelf(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = printed(capsys, results(hit()), explain=True)

    assert "words: rank 1, score 6.4000; meaning: rank 3, score 0.3100; shelf: shared\n" in out
    assert out.endswith("coverage: 0.90\n")


def test_finding_nothing_is_told_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, results(coverage=0.0)) == ("", "nothing found\n")


def test_a_question_that_is_hardly_covered_is_told_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = printed(capsys, results(hit(), coverage=0.2))

    assert err.startswith("note: little of the question is found")


def test_words_that_no_passage_holds_are_told_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = printed(capsys, results(hit(), absent=("unicórnio", "xyzzy")))

    assert err == "note: no passage holds: unicórnio, xyzzy\n"


def test_a_shelf_that_did_not_answer_is_told_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = printed(capsys, results(hit(), shelves=(ShelfReport("private", False, "it is damaged"),)))

    assert err == "warning: the private shelf did not answer: it is damaged; run: estante doctor\n"


def test_a_damaged_segment_is_told_with_the_command_that_mends_it(capsys: pytest.CaptureFixture[str]) -> None:
    reason = "0001.seg is damaged: block 0 does not match its sum"

    _, err = printed(capsys, results(hit(), shelves=(ShelfReport("shared", False, reason),)))

    assert err.endswith("does not match its sum; run: estante rebuild\n")


def test_a_heading_that_is_the_title_again_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = printed(capsys, results(hit(title="Capítulo I")))

    assert out.splitlines()[:2] == ["1  0.8300  Capítulo I", "   Art. 1º"]


def test_escapes_in_a_document_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = printed(capsys, results(hit("o \x1b[2J prazo", title="a\x1b]0;b\x07\nc")), full=True)

    assert "\x1b" not in out
    assert "\x07" not in out
    assert out.splitlines()[0] == "1  0.8300  a␛]0;b␇ c"


def test_blanks_are_one_blank_wherever_a_match_stands() -> None:
    pieces = [("  O \n\n", False), ("prazo", True), (" \n", False), ("final", True), (" é  ", False)]

    assert flattened(iter(pieces)) == [("O ", False), ("prazo", True), (" ", False), ("final", True), (" é", False)]


def test_a_short_passage_is_left_whole() -> None:
    pieces = [("a" * (WIDTH - 5), False), ("prazo", True)]

    assert shortened(pieces) == pieces


def test_a_long_passage_is_shortened_around_its_match() -> None:
    pieces = [("antes " * 200, False), ("prazo", True), (" depois" * 200, False)]

    found = shortened(pieces)

    assert found[0] == found[-1] == ("…", False)
    assert ("prazo", True) in found
    text = "".join(piece for piece, _ in found)
    assert WIDTH - 60 <= len(text) <= WIDTH + 2
    assert set(text.strip("…").split()) == {"antes", "prazo", "depois"}


def test_the_window_is_where_most_different_words_are() -> None:
    often = [("prazo", True), (" " + "x " * 40, False)] * 4
    varied = [("prazo", True), (" de ", False), ("férias", True)]

    found = shortened([*often, ("y " * 400, False), *varied, (" z" * 400, False)])

    assert ("férias", True) in found


def test_a_passage_without_matches_is_shortened_from_its_beginning() -> None:
    found = shortened([("palavra " * 200, False)])

    assert found[0][0].startswith("palavra")
    assert found[-1] == ("…", False)


pieces_of = st.lists(st.tuples(st.text("ab é", min_size=1, max_size=300), st.booleans()), max_size=12)


@given(pieces_of)
def test_what_is_shown_stands_in_the_passage_just_so(pieces: list[tuple[str, bool]]) -> None:
    whole = "".join(piece for piece, _ in pieces)

    found = shortened(pieces, 50)

    shown = "".join(piece for piece, _ in found)
    assert shown.removeprefix("…").removesuffix("…") in whole
    assert len(shown) <= 52


@given(pieces_of)
def test_a_passage_with_matches_shows_at_least_a_part_of_one(pieces: list[tuple[str, bool]]) -> None:
    found = shortened(pieces, 50)

    assert any(matched for _, matched in pieces) == any(matched for _, matched in found)
