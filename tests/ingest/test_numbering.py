import pytest

from estante.ingest.numbering import Counter, Level, numeral

LISTS = {"1": {0: Level("decimal", 1, "%1."), 1: Level("lowerLetter", 1, "%1.%2)")}, "2": {0: Level("bullet")}}


@pytest.mark.parametrize(
    ("count", "kind", "written"),
    [
        (1, "decimal", "1"),
        (3, "decimalZero", "03"),
        (1, "lowerLetter", "a"),
        (27, "upperLetter", "AA"),
        (1999, "lowerRoman", "mcmxcix"),
        (4, "upperRoman", "IV"),
        (4000, "upperRoman", "4000"),
        (0, "lowerLetter", "0"),
        (2, "cardinalText", "2"),
    ],
)
def test_a_count_is_written_as_its_kind(count: int, kind: str, written: str) -> None:
    assert numeral(count, kind) == written


def test_a_deeper_level_starts_again_below_each_item() -> None:
    counter = Counter(LISTS, {})

    labels = [counter.label("1", level) for level in (0, 1, 1, 0, 1)]

    assert labels == ["1.", "1.a)", "1.b)", "2.", "2.a)"]


def test_a_level_without_one_above_it_counts_from_the_start() -> None:
    assert Counter(LISTS, {}).label("1", 1) == "1.a)"


def test_lists_that_share_a_definition_share_its_count() -> None:
    counter = Counter({"1": LISTS["1"], "3": LISTS["1"], "4": LISTS["1"]}, {"1": "x", "3": "x"})

    assert [counter.label(number, 0) for number in ("1", "3", "4")] == ["1.", "2.", "1."]


@pytest.mark.parametrize(("number", "level"), [("2", 0), ("99", 0), ("1", 99), ("1", -1)])
def test_a_bullet_or_an_unknown_list_gives_a_dash(number: str, level: int) -> None:
    assert Counter(LISTS, {}).label(number, level) == "-"
