from collections.abc import Callable
from contextlib import suppress

import pytest

from estante.model.content import LINE
from estante.model.errors import Unreadable
from tests.growth import BETWEEN, ratio
from tests.ingest.extractors.reading import draft, marked


def headings(text: str) -> list[tuple[str, str, int]]:
    return marked(draft("a.md", text), "heading")


def test_the_source_stands_as_it_is() -> None:
    source = "# Título\n\nTexto *com* ênfase [e](x.md).\n"

    assert draft("a.md", source).text == source


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("# One\n## Two ##\n###\tThree", [("One", "One", 1), ("Two", "Two", 2), ("Three", "Three", 3)]),
        ("One\n===\nTwo\n---\n", [("One", "One", 1), ("Two", "Two", 2)]),
        ("Two\nlines\n===\n", [("Two lines", "Two\nlines", 1)]),
        ("> ## In *a* quote\n> text", [("In a quote", "In *a* quote", 2)]),
        ("- # In a list\n", [("In a list", "In a list", 1)]),
        ("1. # 1\n", [("1", "1", 1)]),
        ("# `code` & [link](url) ![image](x.png)", [("code & link image", "`code` & [link](url) ![image](x.png)", 1)]),
        ("#\n# \n####### seven\n#no space\n\nx", []),
        ("```\n# not a heading\n```\n\n    # nor this\n", []),
        ("<!--\n# hidden\n-->\nx", []),
    ],
)
def test_headings_cover_their_own_words(source: str, found: list[tuple[str, str, int]]) -> None:
    assert headings(source) == found


def test_code_and_tables_are_marked_whole() -> None:
    found = draft("a.md", "text\n\n```python title\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend")

    assert marked(found, "code") == [("python", "```python title\nx = 1\n```", 0)]
    assert marked(found, "table") == [("", "| a | b |\n|---|---|\n| 1 | 2 |", 0)]


def test_front_matter_leaves_the_text_for_the_metadata() -> None:
    found = draft("a.md", "---\ntitle: Ata\ndate: 2024-05-01\ntags: [a, 1, null]\nlang: pt-BR\n---\n# Outra\n")

    assert found.text == "# Outra\n"
    assert found.title == "Ata"
    assert found.language == "pt"
    assert found.metadata == {"title": "Ata", "date": "2024-05-01", "tags": ["a", 1, None], "lang": "pt-BR"}


def test_lines_are_counted_with_the_front_matter() -> None:
    found = draft("a.md", "---\na: 1\nb: 2\n---\nline five\n")

    assert [mark.label for mark in found.marks if mark.kind == LINE] == ["5"]


def test_what_json_does_not_know_is_left_out_and_told() -> None:
    found = draft("a.md", "---\na: .nan\nb: {c: [.inf, 1]}\nd: 2024-01-02 03:04:05\n---\nx")

    assert found.metadata == {"b": {"c": [1]}, "d": "2024-01-02T03:04:05"}
    assert found.losses == (
        "front matter: a is no JSON value and was left out",
        "front matter: b.c[0] is no JSON value and was left out",
    )


@pytest.mark.parametrize("front", ["a: [1", "a: &x [1]\nb: *x", "a: !!python/object:os.system x", "x: " + "[" * 3000])
def test_a_front_matter_that_cannot_be_read_stays_in_the_text(front: str) -> None:
    source = f"---\n{front}\n---\n# Title\n"

    found = draft("a.md", source)

    assert found.text == source
    assert found.losses[0].startswith("front matter that cannot be read")


@pytest.mark.parametrize("source", ["---\nonly a rule\n---\nx", "---\nnever closed\n", "text\n---\na: 1\n---\n"])
def test_rules_are_no_front_matter(source: str) -> None:
    found = draft("a.md", source)

    assert found.text == source
    assert found.metadata == {}


@pytest.mark.parametrize(
    ("source", "title"),
    [("## Two\n# One\n", "One"), ("## Two\ntext", "Two"), ("text", "guia"), ("---\ntitle: 5\n---\ntext", "guia")],
)
def test_the_title_is_the_first_great_heading_or_the_name(source: str, title: str) -> None:
    assert draft("docs/guia.md", source).title == title


def test_what_a_reader_does_not_see_is_cut_out_and_told() -> None:
    found = draft("a.md", "one\n\n<!-- ignore\nall -->\n\n<script>\nevil()\n</script>\n\ntwo\n")

    assert "ignore" not in found.text
    assert "evil" not in found.text
    assert found.losses == ("hidden text left out: 39 characters",)


def test_a_cut_moves_no_line() -> None:
    found = draft("a.md", "one\n<!-- a\nb\nc -->\nfive\n")

    assert found.text.split("\n")[4] == "five"


@pytest.mark.parametrize("source", ["`<!-- x -->`", "```html\n<!-- x -->\n```", "a <!-- never closed"])
def test_a_comment_that_is_shown_stays(source: str) -> None:
    found = draft("a.md", source)

    assert found.text == source
    assert found.losses == ()


def test_an_embedded_file_is_cut_out() -> None:
    found = draft("a.md", f"# Logo\n\n![logo](data:image/png;base64,{'iVBOR' * 50}==)\n\nend\n")

    assert found.text == "# Logo\n\n![logo](data:image/png;base64,)\n\nend\n"
    assert found.losses == ("embedded files left out: 1",)


def test_entities_are_the_characters_they_stand_for_except_in_code() -> None:
    found = draft(
        "a.md", "# P&amp;D &#8212; 1\n\na &lt; b&nbsp;c &nosuch; `&lt;`\n\n```\n&lt;\n```\n\n## Fim &amp; fim\n"
    )

    assert found.text == "# P&D — 1\n\na < b\xa0c &nosuch; `&lt;`\n\n```\n&lt;\n```\n\n## Fim & fim\n"
    assert [(label, covered) for label, covered, _ in marked(found, "heading")] == [
        ("P&D — 1", "P&D — 1"),
        ("Fim & fim", "Fim & fim"),
    ]
    assert marked(found, "code") == [("", "```\n&lt;\n```", 0)]


def test_a_bar_stays_an_entity_in_a_table() -> None:
    assert "&#124;" in draft("a.md", "| a |\n|---|\n| x &#124; y |\n").text


def test_an_old_encoding_is_read() -> None:
    found = draft("a.md", "## können\n".encode("latin-1"))

    assert found.text == "## können\n"
    assert found.metadata == {"encoding": "windows-1252"}


@pytest.mark.parametrize("data", [b"", b"\n \n", b"<!-- only hidden -->"])
def test_what_has_no_text_is_unreadable(data: bytes) -> None:
    with pytest.raises(Unreadable):
        draft("a.md", data)


@pytest.mark.parametrize(
    "source",
    [
        lambda size: "> " * size + "x",
        lambda size: "- " * size + "x",
        lambda size: "<!-- " * 4 * size,
        lambda size: "<script " * 4 * size,
        lambda size: "`" * 4 * size,
        lambda size: "&amp;" * 4 * size,
        lambda size: "# " + "[" * size,
        lambda size: "".join("`" * length + " " for length in range(1, int((16 * size) ** 0.5))),
        lambda size: "data:a/b;base64," * 2 * size,
        lambda size: "[" * 2 * size + "]" * 2 * size,
        lambda size: "*a_" * size,
        lambda size: "|" * 4 * size + "\n" + "|-" * 2 * size + "|\n",
    ],
)
def test_the_time_for_hostile_markdown_does_not_grow_with_its_square(source: Callable[[int], str]) -> None:
    def read(size: int) -> None:
        with suppress(Unreadable):  # Some of it holds nothing that can be seen.
            draft("a.md", source(size))

    assert ratio(read, 1_000) < BETWEEN
