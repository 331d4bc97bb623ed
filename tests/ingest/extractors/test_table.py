import pytest

from estante.model.errors import Unreadable
from tests.ingest.extractors.reading import draft, marked


def rows(uri: str, text: str | bytes) -> list[tuple[str, str]]:
    return [(label, covered) for label, covered, _ in marked(draft(uri, text), "row")]


def test_the_text_stands_as_it_is_and_rows_are_numbered_with_the_header() -> None:
    found = draft("gastos.csv", "Nome;Valor\nÁgua;1,50\nLuz;2,75\n")

    assert found.text == "Nome;Valor\nÁgua;1,50\nLuz;2,75\n"
    assert found.title == "gastos"
    assert found.metadata == {"columns": ["Nome", "Valor"]}
    assert rows("gastos.csv", found.text) == [("1", "Nome;Valor"), ("2", "Água;1,50"), ("3", "Luz;2,75")]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("a,b,c\n1,2,3\n", ["a", "b", "c"]),
        ("a;b\n1,5;2,5\n3,5;4,5\n", ["a", "b"]),
        ("a\tb\n1\t2\n", ["a", "b"]),
        ("a|b\n1|2\n", ["a", "b"]),
        ('"a, x",b\n"1, 2",3\n', ["a, x", "b"]),
        ("a;b\n" * 3, ["a", "b"]),
    ],
)
def test_the_delimiter_is_found(text: str, columns: list[str]) -> None:
    assert draft("a.csv", text).metadata["columns"] == columns


@pytest.mark.parametrize("text", ["1,2,3\n4,5,6\n", "one column\nonly\n", "a,,c\n1,2,3\n"])
def test_a_first_row_that_is_no_header_gives_no_columns(text: str) -> None:
    assert "columns" not in draft("a.csv", text).metadata


def test_a_tab_separated_file_is_told_by_its_name() -> None:
    assert draft("a.tsv", "a, x\tb\n1\t2\n").metadata["columns"] == ["a, x", "b"]


def test_a_row_in_quotes_spans_lines() -> None:
    assert rows("a.csv", 'a,b\n"x\ny",1\nz,2\n') == [("1", "a,b"), ("2", '"x\ny",1'), ("3", "z,2")]


def test_a_ragged_row_loses_no_cell() -> None:
    assert rows("a.csv", "a,b\n1,2,3\n4\n") == [("1", "a,b"), ("2", "1,2,3"), ("3", "4")]


def test_blank_rows_are_counted_but_not_marked() -> None:
    assert rows("a.csv", "a,b\r\n\r\n1,2\r\n,\r\n3,4") == [("1", "a,b"), ("3", "1,2"), ("5", "3,4")]


@pytest.mark.parametrize("filler", ["x,1\n" * 300, "x" * 200_000])
def test_a_quote_that_is_never_closed_costs_no_row(filler: str) -> None:
    found = draft("a.csv", f'a,b\n"open,1\n{filler}')

    assert ("2", '"open,1', 0) in marked(found, "row")
    assert found.losses == ("quotes are not balanced: each line is taken for a row",)


def test_an_old_encoding_is_read() -> None:
    assert draft("a.csv", "Órgão;Cidade\n1;São Paulo\n".encode("cp1252")).metadata["columns"] == ["Órgão", "Cidade"]


def test_an_empty_table_says_so() -> None:
    with pytest.raises(Unreadable, match="there is nothing in it"):
        draft("a.csv", b"")
