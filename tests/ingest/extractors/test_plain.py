import pytest

from estante.model.content import LINE
from estante.model.errors import Unreadable
from tests.ingest.extractors.reading import draft, marked


def test_the_text_stands_as_it_is() -> None:
    found = draft("a.txt", "  Olá,\n\n\tmundo.\n")

    assert found.text == "  Olá,\n\n\tmundo.\n"
    assert found.title == "Olá,"


def test_line_ends_are_made_one() -> None:
    assert draft("a.txt", b"a\r\nb\rc\n").text == "a\nb\nc\n"


def test_lines_are_marked_with_their_numbers() -> None:
    found = draft("a.log", "".join(f"line {number}\n" for number in range(1, 201)))

    marks = [mark for mark in found.marks if mark.kind == LINE]
    assert [mark.label for mark in marks] == ["1", "65", "129", "193"]
    assert all(found.text.startswith(f"line {mark.label}\n", mark.start) for mark in marks)


@pytest.mark.parametrize(
    ("uri", "text", "title"),
    [
        ("notes/ata.txt", "\n\n*** Ata da reunião ***\nTexto", "Ata da reunião"),
        ("notes/ata.txt", f"{'longa ' * 30}\nTexto", "ata"),
        ("notes/ata.txt", "----\n1234\nTexto", "Texto"),
        ("src/main.py", "import os\n", "main.py"),
        ("data.json", '{"a": 1}', "data.json"),
        ("LICENSE", "MIT License\n", "MIT License"),
    ],
)
def test_the_title_is_the_first_line_or_the_name(uri: str, text: str, title: str) -> None:
    assert draft(uri, text).title == title


def test_underlined_lines_are_headings_by_the_order_of_their_signs() -> None:
    text = "=====\nTitle\n=====\n\nOne\n===\n\ntext\n\nTwo\n---\n\ntext\n\nThree\n======\n"

    found = draft("a.rst", text)

    assert marked(found, "heading") == [
        ("Title", "Title", 1),
        ("One", "One", 2),
        ("Two", "Two", 3),
        ("Three", "Three", 2),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "text\nnot a heading\n------\n",
        "====  ====\na     b\n====  ====\n",
        "A longer line than its rule\n---\n",
        "\n------\ntext\n",
        "  indented\n----------\n",
        "------\n------\ntext\n",
        "------",
        "a\n",
    ],
)
def test_rules_and_tables_are_no_headings(text: str) -> None:
    assert marked(draft("a.rst", text + "\nx"), "heading") == []


def test_asciidoc_headings_are_marked_but_not_in_code() -> None:
    found = draft("a.adoc", "= Title\n\n== Part  \n\n----\n== not this\n----\n\n=== Below\n")

    assert marked(found, "heading") == [("Title", "Title", 1), ("Part", "Part", 2), ("Below", "Below", 3)]


def test_org_headings_are_marked() -> None:
    found = draft("a.org", "* One\ntext *bold*\n** Two\n")

    assert marked(found, "heading") == [("One", "One", 1), ("Two", "Two", 2)]


def test_a_guessed_encoding_is_told() -> None:
    found = draft("a.txt", "Licitação".encode("cp1252"))

    assert found.text == "Licitação"
    assert found.metadata == {"encoding": "windows-1252"}
    assert found.losses == ("read as windows-1252 by guess",)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "there is nothing in it"),
        (b" \n\t", "no text in it"),
        (b"\xef\xbb\xbf", "no text in it"),
        (b"\0" * 9, "not text"),
    ],
)
def test_what_has_no_text_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        draft("a.txt", data)
