"""A notebook to try things with: ``python -m estante_connector_example.sample notes.db``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from estante_connector_example.notebook import Note, write

TOKEN: Final = "open-sesame"  # noqa: S105 - of the sample, which holds nothing that anybody would hide.
QUESTION: Final = "Who keeps the spare key of the reading room?"

NOTES: Final = (
    Note(
        "keys",
        "Keys",
        "The spare key of the reading room is kept by the porter, in the green cabinet.\n\n"
        "Whoever takes a key signs the book, and brings it back before eight in the evening.",
    ),
    Note(
        "opening-hours",
        "Opening hours",
        "The library is open from Monday to Friday, nine to six.\n\nOn Saturdays the reading room alone is open.",
    ),
    Note(
        "emprestimo",
        "Empréstimo de livros",
        "Cada leitor pode levar três livros por vinte dias.\n\nObras raras não saem da sala de leitura.",
    ),
    Note(
        "opening-hours-2019",
        "Opening hours, 2019",
        "The library is open every day, ten to four.",
        archived=True,
    ),
)


def main() -> None:
    """Writes the sample into the file that the command line names; nothing that is there is touched."""
    if len(sys.argv) != 2:
        sys.exit("Usage: python -m estante_connector_example.sample FILE")
    if Path(sys.argv[1]).exists():
        sys.exit(f"{sys.argv[1]} is there already; name a new file")
    write(sys.argv[1], NOTES, token=TOKEN)


if __name__ == "__main__":
    main()
