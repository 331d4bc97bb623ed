"""The connector to copy: it keeps the contract as soon as it has a back end."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from estante.contract import ConnectorOperationalError
from estante.contract.validate import WARN, validate_pipeline

TEMPLATE = Path(__file__).resolve().parents[2] / "examples" / "connector_template.py"
CONNECTION = {"endpoint": "https://search.example.org", "collection": "handbook"}
QUESTION = "when is the library open"

TEXTS = {
    "hours": ["The library is open from nine to six.", "On Saturdays it is closed."],
    "keys": ["The porter keeps the spare key."],
}


class Searcher:
    """A back end in memory: it ranks by the words in common, and can be down."""

    def __init__(self, failure: type[Exception]) -> None:
        self.failure = failure
        self.down = False
        self.tokens: list[str | None] = []

    def search(self, collection: str, text: str, limit: int) -> list[dict[str, Any]]:
        asked = set(text.casefold().split())
        rows = [{**row, "score": len(asked & set(row["text"].casefold().split()))} for row in self.everything("")]
        found = [row for row in rows if row["score"]]
        return sorted(found, key=lambda row: (-row["score"], row["document"], row["position"]))[:limit]

    def everything(self, collection: str) -> list[dict[str, Any]]:
        if self.down:
            raise self.failure("the server does not answer")
        return [
            {"document": name, "position": at, "title": name.title(), "text": text, "checksum": f"{name}-v1"}
            for name, texts in TEXTS.items()
            for at, text in enumerate(texts)
        ]


@pytest.fixture
def template() -> ModuleType:
    """The file as a module of its own, as whoever copied it has it."""
    spec = importlib.util.spec_from_file_location("connector_template", TEMPLATE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def searcher(template: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Searcher:
    """The back end, put where the template has a place for it."""
    made = Searcher(template.BackendError)
    monkeypatch.setattr(template, "open_client", lambda endpoint, token: made.tokens.append(token) or made)
    return made


def test_the_template_with_a_back_end_passes_its_own_smoke_test(template: ModuleType, searcher: Searcher) -> None:
    template.smoke_test(template.TemplateConnector(**CONNECTION), QUESTION)


def test_the_smoke_test_fails_where_hits_and_corpus_have_different_ids(
    template: ModuleType, searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    lasting = template.chunk_id_of
    monkeypatch.setattr(template, "chunk_id_of", lambda row: "row 7" if "score" in row else lasting(row))

    with pytest.raises(AssertionError, match="not in the corpus"):
        template.smoke_test(template.TemplateConnector(**CONNECTION), QUESTION)


def test_the_template_is_ready_and_warned_of_what_is_still_to_be_filled_in(
    template: ModuleType, searcher: Searcher
) -> None:
    pipeline, document = template.CONNECTOR_SPEC.connect_with(CONNECTION)

    report = validate_pipeline(
        pipeline, target="template", sample_query=QUESTION, connection=document, skip=["fresh-process"],
        spec=template.CONNECTOR_SPEC,
    )  # fmt: skip

    assert report.ready, report.render()
    assert [check.id for check in report.checks if check.status == WARN] == ["info", "get-chunks"]


def test_a_back_end_that_is_down_raises_and_keeps_its_error(template: ModuleType, searcher: Searcher) -> None:
    connector = template.TemplateConnector(**CONNECTION)
    searcher.down = True

    for call in (lambda: connector.query(QUESTION), connector.pull_all_chunks):
        with pytest.raises(ConnectorOperationalError) as caught:
            call()
        assert isinstance(caught.value.__cause__, template.BackendError)


def test_the_token_comes_from_the_environment_and_is_stored_nowhere(
    template: ModuleType, searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(template.TOKEN_VARIABLE, "open-sesame")

    pipeline, document = template.CONNECTOR_SPEC.connect_with(CONNECTION, environ=os.environ)

    assert searcher.tokens == ["open-sesame"]
    assert document == {"type": template.CONNECTOR_TYPE, **CONNECTION, "token": f"env:{template.TOKEN_VARIABLE}"}
    template.CONNECTOR_SPEC.build(document)
    assert searcher.tokens == ["open-sesame"] * 2
    assert "open-sesame" not in json.dumps([document, pipeline.info(), pipeline.run_snapshot()])


def test_the_template_without_a_back_end_says_what_to_write(template: ModuleType) -> None:
    with pytest.raises(NotImplementedError, match="connect to https"):
        template.TemplateConnector(**CONNECTION)


def test_every_place_to_fill_in_is_marked() -> None:
    text = TEMPLATE.read_text("utf-8")

    assert text.count("YOURS") >= 12
    assert "TODO" not in text
