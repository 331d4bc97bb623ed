"""What every chunker promises: each registered one is held to the same facts, on the demo library and at its edges."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from estante.ingest.chunking import CHUNKERS
from estante.ingest.formats import media_type
from estante.ingest.pipeline import River, chunker
from estante.model.access import ANYONE, Scope
from estante.model.content import Document, Item, Span
from estante.model.errors import SettingsError
from estante.model.wire import restore

# Options that cut small, the option that bounds a chunk, and whether spans may overlap.
CASES: dict[str, tuple[dict[str, Any], str, bool]] = {
    "headings": ({"max_chars": 120, "min_chars": 30}, "max_chars", False),
    "windows": ({"size": 120, "overlap": 30}, "size", True),
}
NAMES = sorted(CHUNKERS.builtins)
SHORT = ["a", " a ", "\n\na\n\n"]
LONG = ["x" * 1_000, "palavra " * 300, "# T\n\ntexto\n" * 40, "日本語" * 200, "🦜" * 300, "a\u0301" * 300]
TEXTS = [*SHORT, *LONG]


def test_every_registered_chunker_is_held_to_these_facts() -> None:
    assert sorted(CASES) == NAMES


def document(text: str) -> Document:
    return restore(
        id="s/a",
        uri="a",
        source="s",
        title="T",
        text=text,
        scope=Scope("acme", ANYONE),
        language="pt",
        media_type="text/plain",
        marks=(),
        metadata={},
        redactions=(),
    )


def holds(text: str, spans: list[Span], most: int, overlapping: bool) -> None:
    """The promises of the port, for one text."""
    assert spans == sorted(spans)
    assert all(span.end <= len(text) and len(span) <= most for span in spans)
    assert overlapping or all(one.end <= other.start for one, other in pairwise(spans))
    kept = [False] * len(text)
    for span in spans:
        kept[span.start : span.end] = [True] * len(span)
    assert all(there or char.isspace() for char, there in zip(text, kept, strict=True))
    assert all(text[span.start : span.end].strip() for span in spans)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_spans_are_in_order_bounded_and_hold_all_that_is_not_blank(name: str, text: str) -> None:
    options, bound, overlapping = CASES[name]

    spans = list(chunker(name, options).spans(document(text)))

    holds(text, spans, options[bound], overlapping)


@pytest.mark.parametrize("name", NAMES)
def test_the_demo_library_is_cut_whole(name: str, corpus: Path) -> None:
    options, bound, overlapping = CASES[name]
    river = River(chunker(name, options))

    for path in sorted(corpus.rglob("*.*")):
        uri = path.relative_to(corpus).as_posix()
        item = Item(source="s", uri=uri, media_type=media_type(uri), revision="1", read=path.read_bytes)
        for one, spans in river.read(item, path.read_bytes(), Scope("acme", ANYONE)).documents:
            holds(one.text, list(spans), options[bound], overlapping)
            assert all(one.cut(at, span).text == one.text[span.start : span.end] for at, span in enumerate(spans))


@pytest.mark.parametrize("name", NAMES)
def test_the_same_text_is_cut_in_the_same_way(name: str) -> None:
    one = document("# T\n\n" + "palavra outra. " * 100)

    assert list(chunker(name, {}).spans(one)) == list(chunker(name, {}).spans(one))


@pytest.mark.parametrize("name", NAMES)
def test_the_fingerprint_tells_the_settings_apart(name: str) -> None:
    plain, small = chunker(name, {}).fingerprint, chunker(name, CASES[name][0]).fingerprint

    assert plain == chunker(name, {}).fingerprint
    assert plain != small
    assert plain.startswith(name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0, -1, True, 1.5, "100", None])
def test_a_size_that_is_none_is_refused_with_a_good_one(name: str, value: object) -> None:
    with pytest.raises(SettingsError) as caught:
        chunker(name, {CASES[name][1]: value})

    assert caught.value.hint


@pytest.mark.parametrize("name", NAMES)
def test_an_option_that_it_does_not_have_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="no_such_option"):
        chunker(name, {"no_such_option": 1})
