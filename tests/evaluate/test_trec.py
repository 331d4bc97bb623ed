"""The files of TREC, in both directions."""

from __future__ import annotations

from pathlib import Path

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from estante.evaluate import trec
from estante.evaluate.errors import UnreadableFile

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=6)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.trec"


def written(path: Path, text: str) -> Path:
    path.write_bytes(text.encode("utf-8"))
    return path


@given(st.dictionaries(NAMES, st.lists(NAMES, min_size=1, max_size=6, unique=True), max_size=4))
def test_a_run_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, rankings: dict[str, list[str]]
) -> None:
    path = written(tmp_path_factory.mktemp("trec") / "run", trec.run_text(rankings, "tag"))

    assert {question: [name for name, _ in rows] for question, rows in trec.run(path).items()} == rankings


@given(st.dictionaries(NAMES, st.dictionaries(NAMES, st.integers(-2, 5), min_size=1, max_size=4), max_size=4))
def test_judgements_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, judged: dict[str, dict[str, int]]
) -> None:
    path = written(tmp_path_factory.mktemp("trec") / "qrels", trec.qrels_text(judged))

    assert trec.qrels(path) == judged


def test_another_program_reads_a_run_in_the_same_order(path: Path) -> None:
    written(path, trec.run_text({"q": ["z", "a", "m"]}, "tag"))

    with path.open() as file:
        theirs = pytrec_eval.parse_run(file)

    assert sorted(theirs["q"], key=lambda name: -theirs["q"][name]) == ["z", "a", "m"]


def test_blanks_in_names_do_not_make_more_columns(path: Path) -> None:
    written(path, trec.run_text({"q 1": ["my file.md"]}, "my run"))

    assert list(trec.run(path)) == ["q%201"]
    assert trec.run(path)["q%201"][0][0] == "my%20file.md"


def test_topics_are_written_a_line_each(path: Path) -> None:
    written(path, trec.topics_text([("q1", "two\nlines"), ("q2", "one")]))

    assert trec.topics(path) == [("q1", "two lines"), ("q2", "one")]


def test_a_run_is_ordered_by_score_and_then_by_rank(path: Path) -> None:
    written(path, "q Q0 c 3 0.5 t\nq Q0 a 2 0.5 t\nq Q0 b 1 0.9 t\n")

    assert [name for name, _ in trec.run(path)["q"]] == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("q Q0 a 1 0.5", "5 columns"),
        ("q Q0 a one 0.5 t", "no numbers"),
        ("q Q0 a 1 nan t", "no numbers"),
        ("q Q0 a 1 0.5 t\nq Q0 a 2 0.4 t", ":2: 'a' stands twice"),
    ],
)
def test_a_wrong_run_is_told_with_its_line(path: Path, line: str, complaint: str) -> None:
    with pytest.raises(UnreadableFile) as caught:
        trec.run(written(path, line))

    assert complaint in caught.value.message


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("q a", "2 columns"),
        ("q 0 a 1\nq 0 a high", "the grade 'high' is no whole number"),
        ("q 0 a 1\nq 0 a 2", "'a' has two grades"),
    ],
)
def test_wrong_judgements_are_told_with_their_line(path: Path, line: str, complaint: str) -> None:
    with pytest.raises(UnreadableFile) as caught:
        trec.qrels(written(path, line))

    assert complaint in caught.value.message


def test_a_topic_without_a_title_is_refused(path: Path) -> None:
    with pytest.raises(UnreadableFile, match="topic 1 has no <num> or no <title>"):
        trec.topics(written(path, "<top><num> 1 </top>"))


def test_a_topic_without_a_tab_is_refused(path: Path) -> None:
    with pytest.raises(UnreadableFile, match="no id, tab and text"):
        trec.topics(written(path, "q1 what is it"))
