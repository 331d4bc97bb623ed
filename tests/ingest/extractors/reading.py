"""Items made of bytes, and what every draft must hold."""

from estante.ingest.formats import EXTRACTORS, extractor_name, media_type
from estante.model.content import HEADING, Draft, Item


def drafts(uri: str, data: bytes | str) -> list[Draft]:
    """The drafts that the extractor for this name reads out of the data."""
    raw = data if isinstance(data, bytes) else data.encode()
    item = Item(source="s", uri=uri, media_type=media_type(uri), revision="1", read=lambda: raw)
    name = extractor_name(uri)
    assert name is not None
    found = list(EXTRACTORS.load(name)().drafts(item, raw))
    for each in found:
        keep_the_laws(each)
    return found


def draft(uri: str, data: bytes | str) -> Draft:
    """As ``drafts``, where there is one."""
    (found,) = drafts(uri, data)
    return found


def keep_the_laws(found: Draft) -> None:
    """Marks lie in the text and in order; a heading's label is made of the words that it covers."""
    assert found.text.strip()
    assert found.title.strip()
    last = 0
    for mark in found.marks:
        assert last <= mark.start <= mark.end <= len(found.text), mark
        last = mark.start
        if mark.kind == HEADING:
            covered = found.text[mark.start : mark.end]
            assert covered.strip() == covered != "", mark
            assert mark.level >= 1, mark
            assert letters(mark.label) in letters(covered) or set(letters(mark.label)) <= set(letters(covered)), mark


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def marked(found: Draft, kind: str) -> list[tuple[str, str, int]]:
    """The marks of a kind as (label, text covered, level)."""
    return [(m.label, found.text[m.start : m.end], m.level) for m in found.marks if m.kind == kind]
