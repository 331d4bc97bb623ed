"""Collections as they stand on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.evaluate.collection import Collection, Question, Source
from estante.evaluate.errors import AbsentFile, UnreadableFile
from estante.evaluate.formats import Files, load, sources, write_beir
from estante.evaluate.spans import TextSpan
from tests.evaluate.subjects import collection

PRINTABLE = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=8)


def beir(folder: Path, **qrels: str) -> Path:
    """A folder of BEIR with two questions; ``qrels`` are the tables of ``qrels/``."""
    folder.mkdir(exist_ok=True)
    lines = [{"_id": "d1", "title": "Sea", "text": "salt"}, {"_id": "d2", "title": "", "text": "grass"}]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    asked = [{"_id": "q1", "text": "what is salt"}, {"_id": "q2", "text": "what is grass"}]
    (folder / "queries.jsonl").write_text("".join(json.dumps(one) + "\n" for one in asked), "utf-8")
    (folder / "qrels").mkdir()
    for name, rows in qrels.items():
        (folder / "qrels" / f"{name}.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}", "utf-8")
    return folder


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


# --- BEIR -----------------------------------------------------------------------------------------------------------


def test_a_folder_of_beir_is_read_with_its_corpus_and_grades(tmp_path: Path) -> None:
    found = load(Files(place=beir(tmp_path / "pond", test="q1\td1\t2\nq2\td2\t0\n")))

    assert (found.name, found.qrels) == ("pond", {"q1": {"d1": 2}, "q2": {"d2": 0}})
    assert [one.whole for one in found.sources or ()] == ["Sea\n\nsalt", "grass"]


def test_one_table_of_judgements_beside_the_questions_is_enough(tmp_path: Path) -> None:
    folder = beir(tmp_path / "pond")
    (folder / "qrels.tsv").write_text("q1\td1\t1\n", "utf-8")

    assert load(Files(place=folder)).qrels == {"q1": {"d1": 1}, "q2": {}}


def test_questions_of_another_part_are_counted_and_not_asked(tmp_path: Path) -> None:
    found = load(Files(place=beir(tmp_path / "pond", test="q1\td1\t1\n", train="q2\td2\t1\n")))

    assert ([one.id for one in found.questions], found.elsewhere) == (["q1"], 1)


def test_a_question_that_nobody_judged_stays(tmp_path: Path) -> None:
    found = load(Files(place=beir(tmp_path / "pond", test="q1\td1\t1\n")))

    assert [(one.id, dict(one.judged)) for one in found.questions] == [("q1", {"d1": 1}), ("q2", {})]
    assert [one.id for one in found.judged_alone().questions] == ["q1"]
    assert found.judged_alone().elsewhere == 1


def test_judgements_without_a_question_are_told(tmp_path: Path) -> None:
    found = load(Files(place=beir(tmp_path / "pond", test="q1\td1\t1\nq9\td1\t1\n")))

    assert found.unasked == ("q9",)


def test_a_part_is_chosen_by_its_name(tmp_path: Path) -> None:
    folder = beir(tmp_path / "pond", dev="q1\td1\t1\n", train="q2\td2\t1\n")

    assert load(Files(place=folder, split="train")).qrels == {"q2": {"d2": 1}}
    with pytest.raises(AbsentFile) as caught:
        load(Files(place=folder))
    assert "--split with one of: dev, train" in caught.value.hint


def test_other_questions_can_be_asked_of_the_same_corpus(tmp_path: Path) -> None:
    other = lines(tmp_path / "plain.jsonl", {"_id": "q1", "text": "salt?"})

    found = load(Files(place=beir(tmp_path / "pond", test="q1\td1\t1\n"), queries=other))

    assert [(one.id, one.text) for one in found.questions] == [("q1", "salt?")]


@given(st.lists(st.tuples(PRINTABLE, PRINTABLE, PRINTABLE), min_size=1, max_size=5, unique_by=lambda one: one[0]))
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]]
) -> None:
    texts = tuple(Source(id=name, title=title, text=text) for name, title, text in rows)
    questions = tuple(Question(id=name, text=text, judged={rows[0][0]: 1}) for name, _, text in rows)
    folder = tmp_path_factory.mktemp("beir")

    write_beir(folder, Collection(name=folder.name, questions=questions, sources=texts))

    found = load(Files(place=folder))
    assert (found.sources, found.questions) == (texts, questions)


# --- questions ------------------------------------------------------------------------------------------------------


def test_questions_bring_their_relevant_names_and_spans(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "asked.jsonl",
        {"question": "one?", "relevant": ["d1", "d2"]},
        {"id": 7, "question": "two?", "relevant": {"d1": 2}, "spans": [{"document": "d1", "start": 0, "end": 4}]},
    )

    found = load(Files(place=path))

    assert [(one.id, dict(one.judged)) for one in found.questions] == [("1", {"d1": 1, "d2": 1}), ("7", {"d1": 2})]
    assert found.gold == {"7": (TextSpan("d1", 0, 4),)}
    assert found.sources is None


def test_gold_spans_count_in_the_text_behind_its_title(tmp_path: Path) -> None:
    corpus = lines(tmp_path / "corpus.jsonl", {"_id": "d1", "title": "Sea", "text": "salt"})
    path = lines(tmp_path / "asked.jsonl", {"question": "?", "spans": [{"document": "d1", "start": 0, "end": 4}]})

    found = load(Files(place=path, corpus=corpus))

    [span] = found.gold["1"]
    assert (found.sources or ())[0].whole[span.start : span.end] == "salt"


def test_topics_of_trec_are_asked_with_their_judgements(tmp_path: Path) -> None:
    topics = tmp_path / "topics.txt"
    topics.write_text("<top>\n<num> Number: 301\n<title> International\nCrime\n<desc> x\n</top>\n", "utf-8")
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("301 0 FT-1 1\n301 0 FT-2 0\n", "utf-8")

    found = load(Files(place=topics, qrels=qrels))

    [question] = found.questions
    assert (question.id, question.text, dict(question.judged)) == ("301", "International Crime", {"FT-1": 1, "FT-2": 0})


def test_a_table_of_the_chunking_evaluation_brings_gold_spans(tmp_path: Path) -> None:
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "sea.md").write_text("The sea is salt.", "utf-8")
    references = json.dumps([{"content": "salt", "start_index": 11, "end_index": 15}]).replace('"', '""')
    (tmp_path / "questions_df.csv").write_text(f'question,references,corpus_id\nWhat?,"{references}",sea\n', "utf-8")

    found = load(Files(place=tmp_path))

    assert found.gold == {"q0001": (TextSpan("sea", 11, 15),)}
    assert [one.id for one in found.sources or ()] == ["sea"]


# --- what is wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("[1]", "asked.jsonl:1: no JSON object"),
        ("{", "asked.jsonl:1: no JSON"),
        ('{"question": NaN}', "asked.jsonl:1: no JSON"),
        ('{"id": "x"}', "there is no text 'text' or 'question' or 'query'"),
        ('{"question": "?", "relevant": "d1"}', "'relevant' is no list of ids"),
        ('{"question": "?", "relevant": {"d1": 0.5}}', "the grade 0.5 is no whole number"),
        ('{"question": "?", "relevant": {"d1": true}}', "the grade True is no whole number"),
        ('{"question": "?", "spans": [{"document": "d", "start": 4, "end": 4}]}', "'spans' is no list of places"),
        ('{"question": "?", "spans": [{"document": "d", "start": "0", "end": 4}]}', "'spans' is no list of places"),
        ('{"question": "?", "spans": 4}', "'spans' is no list of places"),
    ],
)
def test_a_wrong_question_is_told_with_its_line(tmp_path: Path, row: str, complaint: str) -> None:
    path = tmp_path / "asked.jsonl"
    path.write_text(row + "\n", "utf-8")

    with pytest.raises(UnreadableFile) as caught:
        load(Files(place=path))

    assert complaint in caught.value.message


def test_two_questions_of_one_id_are_refused(tmp_path: Path) -> None:
    path = lines(tmp_path / "asked.jsonl", {"id": "a", "question": "?"}, {"id": "a", "question": "!"})

    with pytest.raises(UnreadableFile, match="'a' stands twice"):
        load(Files(place=path))


def test_two_texts_of_one_id_are_refused(tmp_path: Path) -> None:
    path = lines(tmp_path / "corpus.jsonl", {"_id": "a", "text": "x"}, {"_id": "a", "text": "y"})

    with pytest.raises(UnreadableFile, match="'a' stands twice"):
        sources(path)


def test_what_is_not_there_is_absent(tmp_path: Path) -> None:
    for place in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(AbsentFile):
            load(Files(place=place))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "asked.jsonl"
    path.write_bytes(b'{"question": "caf\xe9"}')

    with pytest.raises(UnreadableFile, match="no UTF-8 at byte 17"):
        load(Files(place=path))


# --- the collection -------------------------------------------------------------------------------------------------


def test_the_marks_do_not_depend_on_the_order() -> None:
    mine = collection()
    turned = collection(questions=mine.questions[::-1], sources=(mine.sources or ())[::-1])

    assert mine.marks == turned.marks


def test_one_letter_of_the_corpus_changes_its_mark_and_no_other() -> None:
    mine = collection()
    other = collection(sources=(Source(id="sea", title="", text="!"), *(mine.sources or ())[1:]))

    assert mine.marks["corpus_sha256"] != other.marks["corpus_sha256"]
    assert mine.marks["judgements_sha256"] == other.marks["judgements_sha256"]


def test_names_judged_relevant_that_no_text_has_are_absent() -> None:
    questions = (Question(id="q", text="?", judged={"sea": 1, "gone": 1, "never": 0}),)

    assert collection(questions=questions).absent() == ["gone"]
    assert collection(questions=questions, sources=None).absent() == []
    assert collection(questions=questions).absent({"gone"}) == ["sea"]
