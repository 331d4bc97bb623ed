import pytest

from estante.ingest.grids import grid


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([["a", "b"], ["1", "2"]], "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ([["a"], ["1", "2"]], "| a |  |\n| --- | --- |\n| 1 | 2 |"),
        ([["a\n b", "x|y"]], "| a b | x\\|y |\n| --- | --- |"),
        ([["", " "], ["a", "b"]], "| a | b |\n| --- | --- |"),
        ([], ""),
        ([[""]], ""),
    ],
)
def test_rows_become_a_table_of_markdown(rows: list[list[str]], text: str) -> None:
    assert grid(rows) == text


def test_one_wide_row_does_not_swell_many_short_ones() -> None:
    rows = [["x"] * 10_000, *[["y"]] * 10_000]

    assert len(grid(rows)) < 100_000
