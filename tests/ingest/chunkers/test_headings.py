"""How a document is cut along its own structure."""

from __future__ import annotations

import re

import pytest

from estante.ingest.chunkers.headings import HeadingsChunker
from estante.ingest.chunking import CHUNKERS
from estante.ingest.gate import admit
from estante.model.access import ANYONE, Scope
from estante.model.content import Document, Draft, Item, Mark
from estante.model.errors import SettingsError
from tests.growth import BETWEEN, ratio

SENTENCE = "O prazo de entrega conta a partir do aceite do pedido."
PARAGRAPH = " ".join([SENTENCE] * 6)  # 329 characters


def read(text: str, marks: tuple[Mark, ...] | None = None) -> Document:
    """A document with the headings that its lines of # say it has, or with these marks."""
    item = Item(source="s", uri="a.md", media_type="text/markdown", revision="1", read=text.encode)
    found = headings(text) if marks is None else marks
    return admit(item, Draft(title="A", text=text, marks=found, language="pt"), Scope("t", ANYONE))


def headings(text: str) -> tuple[Mark, ...]:
    return tuple(
        Mark("heading", m.start(2), m.end(2), m[2], len(m[1])) for m in re.finditer(r"^(#+) (.+?)\r?$", text, re.M)
    )


def pieces(document: Document, most: int = 1600, least: int = 200) -> list[str]:
    return [document.text[span.start : span.end] for span in HeadingsChunker(most, least).spans(document)]


def test_headings_is_a_chunker_by_name() -> None:
    assert CHUNKERS.load("headings") is HeadingsChunker
    assert CHUNKERS.names()[:2] == ["headings", "windows"]


def test_a_section_begins_at_the_line_of_its_heading() -> None:
    document = read(f"# Férias\n\n{PARAGRAPH}\n\n## Abono\n\n{PARAGRAPH}\n")

    assert pieces(document) == [f"# Férias\n\n{PARAGRAPH}", f"## Abono\n\n{PARAGRAPH}"]


def test_a_chunk_stands_under_the_heading_it_begins_with() -> None:
    document = read(f"# Férias\n\n{PARAGRAPH}\n\n## Abono\n\n{PARAGRAPH}\n")

    trails = [document.cut(n, span).trail for n, span in enumerate(HeadingsChunker().spans(document))]

    assert trails == [("Férias",), ("Férias", "Abono")]


def test_a_heading_with_nothing_under_it_joins_what_follows() -> None:
    document = read(f"# Manual\n\n## Férias\n\n{PARAGRAPH}\n\n# Anexos\n\n## Abono\n\n{PARAGRAPH}\n")

    assert [piece.split("\n")[0] for piece in pieces(document)] == ["# Manual", "# Anexos"]


def test_a_heading_joins_a_section_that_is_then_too_long_and_is_cut() -> None:
    document = read("# Manual\n\n## Férias\n\n" + "\n\n".join([PARAGRAPH] * 5))

    made = pieces(document)

    assert made[0].startswith("# Manual\n\n## Férias\n\nO prazo")
    assert len(made) == 2


def test_a_last_heading_with_nothing_under_it_joins_what_stands_before() -> None:
    assert len(pieces(read(f"# Férias\n\n{PARAGRAPH}\n\n# Fim"))) == 1


def test_short_sections_of_one_parent_join() -> None:
    document = read("# Perguntas\n\n## A\n\nSim.\n\n## B\n\nNão.\n\n## C\n\nTalvez.\n")

    assert len(pieces(document)) == 1


def test_a_short_section_does_not_join_one_of_another_parent() -> None:
    document = read(f"# A\n\n{PARAGRAPH}\n\n## A.1\n\nCurto.\n\n# B\n\n{PARAGRAPH}\n\n## B.1\n\n{PARAGRAPH}")

    made = pieces(document)

    assert [piece.split("\n")[0] for piece in made] == ["# A", "# B", "## B.1"]
    assert made[0].endswith("## A.1\n\nCurto.")


def test_a_short_section_with_children_goes_with_its_first_child() -> None:
    document = read(f"# A\n\n{PARAGRAPH}\n\n# B\n\nVeja:\n\n## B.1\n\n{PARAGRAPH}")

    assert [piece.split("\n")[0] for piece in pieces(document)] == ["# A", "# B"]


def test_short_slides_stay_apart_so_that_each_can_be_pointed_to() -> None:
    text = "Um\n\nDois\n\nTrês"
    document = read(text, (Mark("slide", 0, 2, "1"), Mark("slide", 4, 8, "2"), Mark("slide", 10, 14, "3")))

    assert pieces(document) == ["Um", "Dois", "Três"]


def test_a_page_ends_a_chunk_where_a_sentence_ends_with_it() -> None:
    text = f"{PARAGRAPH}\n{PARAGRAPH}"
    document = read(text, (Mark("page", 0, 330, "1"), Mark("page", 330, len(text), "2")))

    assert pieces(document) == [PARAGRAPH, PARAGRAPH]


def test_a_sentence_that_runs_on_over_a_page_stays_whole() -> None:
    half = len(PARAGRAPH) - 20
    text = f"{PARAGRAPH[:half]}\n\n{PARAGRAPH[half:]}"
    document = read(text, (Mark("page", 0, half, "1"), Mark("page", half + 2, len(text), "2")))

    assert pieces(document) == [text]


def test_a_long_section_is_cut_between_paragraphs() -> None:
    assert pieces(read("\n\n".join([PARAGRAPH] * 8))) == ["\n\n".join([PARAGRAPH] * 4)] * 2


def test_a_paragraph_that_fits_stays_whole_though_the_piece_before_is_then_short() -> None:
    long = " ".join([SENTENCE] * 25)  # 1,374 characters
    document = read(f"{PARAGRAPH}\n\n{long}")

    assert pieces(document) == [PARAGRAPH, long]


def test_no_piece_is_tiny_where_two_of_like_size_can_be_made() -> None:
    text = " ".join([SENTENCE] * 30)[:1620]

    sizes = [len(piece) for piece in pieces(read(text))]

    assert len(sizes) == 2
    assert min(sizes) > 700


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    made = pieces(read(" ".join([SENTENCE] * 100)))

    assert all(piece.endswith("aceite do pedido.") for piece in made)


@pytest.mark.parametrize("short", ["art. 5º", "Sr. Silva", "J. Silva", "p. 12", "e.g. this", "i.e. isto", "cf. Anexo"])
def test_an_abbreviation_ends_no_sentence(short: str) -> None:
    filler = "palavra " * 120
    document = read(f"{filler}fim. Outra {'palavra ' * 20}{short} {filler}")

    assert pieces(document, 1500)[0].endswith("fim.")


def test_wrapped_lines_are_cut_where_a_sentence_ends_rather_than_in_the_middle() -> None:
    words = " ".join([SENTENCE] * 60).split()
    lines = "\n".join(" ".join(words[at : at + 13]) for at in range(0, len(words), 13))

    assert all(piece.endswith(".") for piece in pieces(read(lines)))


def test_a_table_that_fits_stays_whole() -> None:
    table = "\n".join(f"| item {n} | valor {n} |" for n in range(40))
    text = f"{PARAGRAPH}\n\n{PARAGRAPH}\n\n{PARAGRAPH}\n\n{table}\n\n{PARAGRAPH}"
    at = text.index("|")
    document = read(text, (Mark("table", at, at + len(table)),))

    assert any(table in piece for piece in pieces(document))


def test_a_table_that_does_not_fit_is_cut_between_rows() -> None:
    table = "\n".join(f"| item {n}. | valor {n} |" for n in range(400))
    document = read(table, (Mark("table", 0, len(table)),))

    made = pieces(document)

    assert len(made) > 4
    assert all(piece.startswith("| item") and piece.endswith("|") for piece in made)


def test_rows_that_have_marks_are_cut_apart_and_not_within() -> None:
    rows = [f"nome: pessoa {n}\ncargo: analista\nnota: {SENTENCE}\n" for n in range(60)]
    starts = [sum(map(len, rows[:n])) for n in range(len(rows))]
    marks = tuple(
        Mark("row", start, start + len(row) - 1, str(n))
        for n, (start, row) in enumerate(zip(starts, rows, strict=True))
    )

    assert all(piece.startswith("nome:") for piece in pieces(read("".join(rows), marks)))


def test_code_is_cut_between_lines() -> None:
    code = "\n".join(f"    valor_{n} = calcula(a, b); guarda(valor_{n})" for n in range(200))
    document = read(code, (Mark("code", 0, len(code)),))

    assert all(piece.endswith(")") and piece.startswith("valor") for piece in pieces(document))


def test_code_with_blank_lines_that_fits_stays_whole() -> None:
    code = "\n\n".join(f"valor_{n} = {n}" for n in range(60))
    text = f"{PARAGRAPH}\n\n{PARAGRAPH}\n\n{PARAGRAPH}\n\n{code}\n\n{PARAGRAPH}"
    at = text.index("valor_0")
    document = read(text, (Mark("code", at, at + len(code)),))

    assert any(code in piece for piece in pieces(document))


@pytest.mark.parametrize("text", ["x" * 5000, "palavra " * 3000, "a" + "\u0301" * 24_000, "🇧🇷" * 3000, "👩‍👩‍👧" * 900])
def test_nothing_is_ever_longer_than_the_limit(text: str) -> None:
    assert max(map(len, pieces(read(text)))) <= 1600


def test_words_are_never_cut_where_there_are_blanks() -> None:
    assert {word for piece in pieces(read("palavra " * 3000)) for word in piece.split()} == {"palavra"}


@pytest.mark.parametrize("unit", ["🇧🇷", "👩\u200d👩\u200d👧", "x\u0323\u0302", "👍🏽", "❤\ufe0f"])
def test_a_hard_cut_leaves_whole_characters(unit: str) -> None:
    document = read(unit * 1500)

    assert {len(piece) % len(unit) for piece in pieces(document, 1001)} == {0}


def test_a_character_longer_than_a_piece_is_cut_at_the_limit() -> None:
    sizes = [len(piece) for piece in pieces(read("x" + "\u0301" * 5000))]

    assert sizes[0] == 1600


def test_crlf_and_lf_are_cut_alike() -> None:
    text = f"# Férias\n\n{PARAGRAPH}\n\n## Abono\n\n" + "\n\n".join([PARAGRAPH] * 9)
    windows = text.replace("\n", "\r\n")

    assert pieces(read(windows)) == pieces(read(text))


def test_an_overlined_title_keeps_the_line_above_it() -> None:
    text = f"{PARAGRAPH}\n\n======\nFérias\n======\n\n{PARAGRAPH}"
    at = text.index("Férias")
    document = read(text, (Mark("heading", at, at + 6, "Férias", 1),))

    assert pieces(document)[1].startswith("======\nFérias\n======")


@pytest.mark.parametrize("kind", ["prose", "lines", "one line", "no blank", "headings in one line"])
def test_the_time_grows_with_the_text_and_not_with_its_square(kind: str) -> None:
    unit = {
        "prose": f"{PARAGRAPH}\n\n",
        "lines": f"{SENTENCE}\n",
        "one line": f"{SENTENCE} ",
        "no blank": "x" * 50,
        "headings in one line": "título ",
    }[kind]

    def cut(size: int) -> None:
        text = unit * (size // len(unit))
        marks = (
            [Mark("heading", at, at + 6, "título", 2) for at in range(0, len(text), 700)] if "headings" in kind else []
        )
        assert list(HeadingsChunker().spans(read(text, tuple(marks))))

    assert ratio(cut, 250_000) < BETWEEN


@pytest.mark.parametrize(
    ("most", "least"), [(0, 0), (-1, 0), (100, 101), (100, -1), (100.0, 10), (True, 0), (100, "1")]
)
def test_sizes_that_make_no_sense_are_refused(most: object, least: object) -> None:
    with pytest.raises(SettingsError):
        HeadingsChunker(most, least)  # type: ignore[arg-type]


def test_the_fingerprint_tells_settings_apart() -> None:
    assert (
        len({HeadingsChunker().fingerprint, HeadingsChunker(1000).fingerprint, HeadingsChunker(1600, 100).fingerprint})
        == 3
    )


@pytest.mark.parametrize(("most", "least"), [(1600, 200), (1000, 125), (100, 12), (4, 0), (9000, 200)])
def test_the_least_length_follows_the_most_unless_it_is_given(most: int, least: int) -> None:
    assert HeadingsChunker(most).min_chars == least
    assert HeadingsChunker(most).fingerprint == HeadingsChunker(most, least).fingerprint
