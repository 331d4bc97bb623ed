"""Reports: one file that needs nothing else, in two languages, and pictures that say what they should."""

from __future__ import annotations

import base64
import re
import sys
from html.parser import HTMLParser
from typing import Any

import pytest

from estante.evaluate.asking import Order
from estante.evaluate.collection import Collection, Question
from estante.evaluate.errors import Incomparable, MissingLibrary
from estante.evaluate.measures import measures_of
from estante.evaluate.plots import recall_curve
from estante.evaluate.report import report
from estante.evaluate.runs import Run, measure
from estante.evaluate.words import _TABLE, Words
from tests.evaluate.subjects import TEXTS, FailingPipeline, WordsPipeline, collection

PNG = b"\x89PNG\r\n\x1a\n"


def run(pipeline: Any, name: str, asked: Collection | None = None) -> Run:
    measures = measures_of(["nDCG@10", "R@5"])
    return measure(pipeline, asked or many(), measures, Order(top_k=5), name=name, now="2025-06-02T09:30:00Z")


def many() -> Collection:
    """Thirty questions, every third about fog."""
    asked = collection().questions
    return collection(
        questions=tuple(
            Question(id=f"q{at:02}", text=asked[at % 3].text, judged=asked[at % 3].judged) for at in range(30)
        )
    )


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return [run(WordsPipeline(), "words <b>"), run(FailingPipeline(), "failing")]


class Reader(HTMLParser):
    """Every tag with its attributes, and whether tags close in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_needs_no_network_no_script_and_no_other_file(runs: list[Run]) -> None:
    page = report(runs).html
    reader = Reader(page)

    assert reader.open == []
    assert {tag for tag, _ in reader.tags} & {"script", "link", "iframe", "object"} == set()
    assert [attrs["src"][:22] for tag, attrs in reader.tags if tag == "img" and attrs["src"]] == [
        "data:image/png;base64,"
    ] * 4
    assert not re.search(r"https?://|@import|url\(", page)


def test_the_pictures_of_the_page_are_those_beside_it(runs: list[Run]) -> None:
    found = report(runs)

    held = [base64.b64decode(one) for one in re.findall(r"base64,([^\"]+)", found.html)]
    assert held == list(found.pictures.values())
    assert list(found.pictures) == ["means", "differences", "recall", "latency"]
    assert all(one.startswith(PNG) for one in held)


def test_every_picture_has_a_text_for_those_who_do_not_see_it(runs: list[Run]) -> None:
    assert all(attrs["alt"] for tag, attrs in Reader(report(runs).html).tags if tag == "img")


def test_a_significant_fall_is_marked_by_a_sign_and_not_by_colour_alone(runs: list[Run]) -> None:
    page = report(runs).html

    assert "▼ −0.3333" in page
    assert "0 / 20 / 10" in page


def test_a_name_is_text_and_never_markup(runs: list[Run]) -> None:
    page = report(runs, title="<i>mine</i>").html

    assert "words &lt;b&gt;" in page
    assert "<title>&lt;i&gt;mine&lt;/i&gt;</title>" in page
    assert "words <b>" not in page


def test_errors_of_the_pipeline_are_listed(runs: list[Run]) -> None:
    page = report(runs).html

    assert "Questions that the pipeline failed at" in page
    assert "ConnectorOperationalError: the back end did not answer" in page


def test_the_page_can_be_read_in_portuguese(runs: list[Run]) -> None:
    page = report(runs, language="pt").html

    assert '<html lang="pt-BR">' in page
    assert "▼ −0,3333" in page
    assert "failing: o pipeline falhou em 10 perguntas, que contam 0" in page
    assert "Quality" not in page


def test_every_text_is_there_in_both_languages_with_the_same_blanks_to_fill() -> None:
    for key, (english, portuguese) in _TABLE.items():
        assert english, key
        assert portuguese, key
        assert set(re.findall(r"{\w+}", english)) == set(re.findall(r"{\w+}", portuguese)), key


def test_numbers_are_written_as_each_language_writes_them() -> None:
    english, portuguese = Words("en"), Words("pt")

    assert (english.number(1234.5, 1), portuguese.number(1234.5, 1)) == ("1,234.5", "1.234,5")
    assert (english.number(-0.25, 2, signed=True), english.number(-0.0, 2, signed=True)) == ("−0.25", "0.00")
    assert (english.p(0.0001), portuguese.p(0.04), english.number(None)) == ("< 0.001", "0,040", "–")


def test_one_run_is_reported_without_comparison(runs: list[Run]) -> None:
    found = report(runs[:1])

    assert list(found.pictures) == ["means", "recall", "latency"]
    assert "Questions with the lowest value" in found.html
    assert "Holm" not in found.html


def test_nothing_is_not_reported() -> None:
    with pytest.raises(Incomparable):
        report([])


def test_runs_that_differ_in_nothing_are_reported_without_the_picture_of_differences(runs: list[Run]) -> None:
    assert list(report([runs[0], runs[0]]).pictures) == ["means", "recall", "latency"]


def test_a_pipeline_that_answers_nothing_is_reported() -> None:
    silent = run(WordsPipeline({}), "silent")

    assert "silent" in report([silent, run(WordsPipeline(), "words")]).html


def test_the_recall_at_each_depth_is_that_of_the_measure() -> None:
    made = run(WordsPipeline({**TEXTS, "other": "keys keys fog"}), "words")

    curve = recall_curve(made)

    results = measure(
        WordsPipeline({**TEXTS, "other": "keys keys fog"}),
        many(),
        measures_of(["R@1", "R@2"]),
        Order(top_k=5),
        name="again",
        now="",
    ).results
    assert curve[:2] == pytest.approx(list(results.means().values()))


def test_the_same_runs_make_the_same_page(runs: list[Run]) -> None:
    assert report(runs).html == report(runs).html


def test_without_matplotlib_the_error_says_what_to_install(runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(MissingLibrary) as caught:
        report(runs)

    assert 'pip install "estante[eval]"' in caught.value.hint
