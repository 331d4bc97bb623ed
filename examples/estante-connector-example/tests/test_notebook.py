"""The connector: held to the whole contract, and what of it is its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from estante.contract import (
    ConnectorOperationalError,
    ConnectorRegistrationError,
    ContractValueError,
    RetrievedChunk,
    render_prompt,
)
from estante.contract.params import ParamsError
from estante.contract.testkit import PipelineContract
from estante_connector_example.answers import PROMPTS
from estante_connector_example.connector import CONNECTOR_SPEC
from estante_connector_example.notebook import Note, write
from estante_connector_example.pipeline import NotebookPipeline
from estante_connector_example.sample import NOTES, QUESTION, TOKEN

VARIABLE = "NOTEBOOK_TOKEN"


class Breakable(NotebookPipeline):
    """A notebook whose file can be away for a while, so that the checks see what happens then."""

    @contextmanager
    def break_backend(self) -> Iterator[None]:
        here = Path(self._notebook.path)
        away = here.rename(here.with_suffix(".away"))
        try:
            yield
        finally:
            away.rename(here)


class TestNotebook(PipelineContract):
    """Every check of ``estante validate``, a test each; a warning fails, too."""

    sample_query = QUESTION
    spec = CONNECTOR_SPEC
    strict = True

    @pytest.fixture(scope="class")
    @classmethod
    def pipeline(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NotebookPipeline]:
        path = tmp_path_factory.mktemp("notebook") / "notes.db"
        write(path, NOTES, token=TOKEN)
        cls.connection = {"type": "notebook", "path": str(path), "token": f"env:{VARIABLE}", "archived": False}
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(VARIABLE, TOKEN)
            yield Breakable(str(path), token=TOKEN)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The sample, which wants no token."""
    write(tmp_path / "notes.db", NOTES)
    return tmp_path / "notes.db"


@pytest.fixture
def notebook(path: Path) -> NotebookPipeline:
    return NotebookPipeline(str(path))


# --- search and corpus ------------------------------------------------------------------------------------------------


def test_the_best_passage_stands_first_and_keeps_the_number_of_the_back_end(notebook: NotebookPipeline) -> None:
    best = notebook.query(QUESTION)[0]

    assert best.chunk_id == "keys#0"
    assert best.raw_score < 0 < best.score == -best.raw_score


def test_accents_and_the_signs_of_the_query_language_do_not_matter(notebook: NotebookPipeline) -> None:
    plain = [hit.chunk_id for hit in notebook.query("emprestimo de tres livros")]

    assert plain[0] == "emprestimo#0"
    assert notebook.query('empréstimo* AND -"de (TRÊS) livros" NOT')[0].chunk_id == plain[0]


def test_archived_notes_are_in_neither_hits_nor_corpus_unless_they_are_asked_for(path: Path) -> None:
    known, everything = NotebookPipeline(str(path)), NotebookPipeline(str(path), archived=True)

    for pipeline, seen in ((known, False), (everything, True)):
        assert ("opening-hours-2019#0" in [hit.chunk_id for hit in pipeline.query("library open every day")]) is seen
        assert ("opening-hours-2019#0" in [chunk.chunk_id for chunk in pipeline.pull_all_chunks()]) is seen
        assert ("opening-hours-2019#0" in pipeline.get_chunks(["opening-hours-2019#0"])) is seen
    assert known.fingerprint() != everything.fingerprint()
    assert [one["name"] for one in known.info()["internal_filters"]] == ["archived"]
    assert everything.info()["internal_filters"] == []


def test_ids_stay_when_notes_are_written_again_though_their_rows_do_not(path: Path, notebook: NotebookPipeline) -> None:
    before = [chunk.chunk_id for chunk in notebook.pull_all_chunks()]
    rows = _rows(path)

    write(path, reversed(NOTES))

    assert [chunk.chunk_id for chunk in notebook.pull_all_chunks()] == before
    assert _rows(path) != rows


def _rows(path: Path) -> list[tuple[object, ...]]:
    file = sqlite3.connect(path)
    try:
        return file.execute("SELECT note, position, id FROM passage ORDER BY 1, 2").fetchall()
    finally:
        file.close()


def test_a_changed_note_has_another_source_fingerprint_and_no_other_note_has(
    path: Path, notebook: NotebookPipeline
) -> None:
    before = _marks(notebook)

    write(path, [replace(NOTES[0], body=f"{NOTES[0].body}\n\nThere are two spare keys.")])

    after = _marks(notebook)
    assert [note for note in after if after[note] != before[note]] == ["keys"]


def _marks(pipeline: NotebookPipeline) -> dict[str, str]:
    return {chunk.doc_id: chunk.metadata["source_fingerprint"] for chunk in pipeline.pull_all_chunks()}


def test_pages_of_two_states_of_the_notebook_are_never_put_together(path: Path, notebook: NotebookPipeline) -> None:
    first = notebook.list_chunks(limit=2)
    write(path, [Note("zoo", "Zoo", "There is none.")])

    with pytest.raises(ConnectorOperationalError, match="begin again"):
        notebook.list_chunks(cursor=first.next_cursor, limit=2)


@pytest.mark.parametrize("cursor", ["", "0", "keys#0", "1:", "1:nothing", "1:keys#-1"])
def test_a_cursor_that_was_never_given_is_refused(notebook: NotebookPipeline, cursor: str) -> None:
    with pytest.raises(ContractValueError, match="begin with None"):
        notebook.list_chunks(cursor=cursor)


def test_what_only_looks_like_an_id_finds_nothing(notebook: NotebookPipeline) -> None:
    assert notebook.get_chunks(["keys#00", "keys#9", "KEYS#0", "keys", ""]) == {}


# --- failures ---------------------------------------------------------------------------------------------------------


def test_a_notebook_that_is_not_there_is_a_failure_and_none_is_made(tmp_path: Path) -> None:
    with pytest.raises(ConnectorOperationalError) as caught:
        NotebookPipeline(str(tmp_path / "nowhere.db"))

    assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_notebook_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear reader, " * 500, "utf-8")

    with pytest.raises(ConnectorOperationalError, match="not a database"):
        NotebookPipeline(str(tmp_path / "letter.txt"))


def test_health_tells_what_every_other_call_raises(notebook: NotebookPipeline, path: Path) -> None:
    assert notebook.health().ok

    path.unlink()

    assert not notebook.health().ok
    assert str(path) in notebook.health().detail
    with pytest.raises(ConnectorOperationalError):
        notebook.query(QUESTION)


@pytest.mark.parametrize(("token", "told"), [(None, "wants a token"), ("sesame-street", "wants another token")])
def test_without_the_token_nothing_opens_and_none_is_told(path: Path, token: str | None, told: str) -> None:
    write(path, [], token=TOKEN)

    with pytest.raises(ConnectorOperationalError, match=told) as caught:
        NotebookPipeline(str(path), token=token)

    assert TOKEN not in str(caught.value)
    assert "sesame-street" not in str(caught.value)


# --- parameters and documents -----------------------------------------------------------------------------------------


def test_the_document_holds_the_reference_and_builds_the_same_pipeline(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(path, [], token=TOKEN)
    monkeypatch.setenv(VARIABLE, TOKEN)
    monkeypatch.chdir(path.parent)

    pipeline, document = CONNECTOR_SPEC.connect_with({"path": path.name}, environ={VARIABLE: TOKEN})

    assert document == {"type": "notebook", "path": str(path), "token": f"env:{VARIABLE}", "archived": False}
    assert CONNECTOR_SPEC.build(document).query(QUESTION) == pipeline.query(QUESTION)


def test_a_token_in_place_of_its_reference_is_refused_and_not_told(path: Path) -> None:
    with pytest.raises(ParamsError, match="never the secret itself") as caught:
        CONNECTOR_SPEC.connect_with({"path": str(path), "token": TOKEN})

    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("more", [{"type": "diary"}, {"readers": ["me"]}])
def test_a_document_that_says_more_than_is_known_is_refused(path: Path, more: dict[str, object]) -> None:
    with pytest.raises(ConnectorRegistrationError):
        CONNECTOR_SPEC.build({"path": str(path), **more})


# --- answers ----------------------------------------------------------------------------------------------------------


def test_an_answer_cites_the_passages_whose_numbers_it_gives(notebook: NotebookPipeline) -> None:
    asked: list[str] = []

    def model(prompt: str, *, temperature: int) -> str:
        asked.append(f"{temperature} {prompt}")
        return "The porter keeps it [1]. Nobody else does [1], as nothing says [99]."

    answer = notebook.generate(QUESTION, llm=model)

    assert answer.citations == ["keys#0"]
    assert answer.trace is not None
    assert asked == [f"0 {answer.hydrated_prompt}"]


def test_without_hits_no_model_is_asked(notebook: NotebookPipeline) -> None:
    answer = notebook.generate("Pelorus?", llm=lambda prompt, **decoding: pytest.fail("it was asked"))

    assert (answer.answer, answer.contexts, answer.error) == ("The notebook does not say.", [], None)


def test_what_fails_while_an_answer_is_written_is_its_error_and_tells_no_secret(notebook: NotebookPipeline) -> None:
    def refused(prompt: str, **decoding: object) -> str:
        raise ConnectionError("401 for key sk-123")

    assert notebook.generate(QUESTION, llm=refused).error == "the model failed: ConnectionError"
    assert notebook.generate(QUESTION, llm=lambda prompt, **decoding: " ").error == "the model failed: ValueError"
    assert "no model was given" in (notebook.generate(QUESTION).error or "")


def test_a_failed_search_is_the_error_of_the_answer(notebook: NotebookPipeline, path: Path) -> None:
    path.unlink()

    assert "the search failed" in (notebook.generate(QUESTION).error or "")


def test_a_prompt_with_chunks_of_the_hosts_choice_is_answered_from_those(notebook: NotebookPipeline) -> None:
    mine = [RetrievedChunk("mine#0", "The key is mine.", None, 0)]
    prompt = render_prompt(PROMPTS[0], query=QUESTION, rag_block=notebook.render_rag_block(mine))

    answer = notebook.generate_from_prompt(prompt, contexts=mine, llm=lambda text, **decoding: "Mine [1].")

    assert answer.citations == ["mine#0"]
    assert "[1] chunk_id=mine#0\nThe key is mine." in answer.hydrated_prompt
