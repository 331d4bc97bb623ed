"""Lists of words, written as running text."""


def listed(text: str) -> tuple[str, ...]:
    """The words of a text, as they stand."""
    return tuple(text.split())
