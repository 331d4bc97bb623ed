"""Answers of a server as JSON, and the rows in them: where each field stands can be told for every server.

A place is a path of names and numbers with dots between them: ``data.results``, ``content.0.text``; the empty path is
the whole.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from estante.contract.dataset.jsontext import parse
from estante.contract.errors import ConnectorContractError, ConnectorOperationalError, ContractValueError
from estante.contract.params import ParamField
from estante.serve.adapters.backends import Found
from estante.serve.adapters.parameters import texts, wrong
from estante.serve.adapters.records import Row

HITS: Final = "hits"
CHUNKS: Final = "chunks"
NEXT_CURSOR: Final = "next_cursor"
ERROR: Final = "error"
"""Where an answer tells that it failed, even if it is a success by its code: then its list is no result."""

ROW_FIELDS: Final = (
    "chunk_id",
    "text",
    "score",
    "raw_score",
    "doc_id",
    "source_file",
    "doc_chunk_index",
    "global_index",
    "char_start",
    "char_end",
    "content_module_id",
    "metadata",
)
"""The fields of a row, which stand under these names unless another place is told."""

RESPONSE: Final[ParamField] = {
    "name": "response",
    "label": "Places of fields",
    "type": "any",
    "help": 'an object that tells where fields stand in an answer, such as {"hits": "results", "chunk_id": "id"}',
}

_ABSENT: Final = object()
_LISTED: Final = 12
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class Places:
    """Where fields stand in answers: under their own names, unless ``told`` has another place for one."""

    def __init__(self, told: Mapping[str, str], others: Sequence[str]) -> None:
        """``others`` are the fields of whole answers that there are. Raises ``ParamsError`` for a field of none."""
        known = (*ROW_FIELDS, *others, ERROR)
        unknown = [name for name in told if name not in known]
        if unknown:
            raise wrong(RESPONSE["name"], f"there is no field {unknown[0]!r}; there are: {', '.join(known)}")
        self._told = dict(told)

    @classmethod
    def of(cls, params: Mapping[str, Any], others: Sequence[str]) -> Places:
        """The places that the parameters tell. Raises ``ParamsError``."""
        return cls(texts(params, RESPONSE["name"]), others)

    def hits(self, answer: object) -> list[Found]:
        """The hits in an answer, best first. Raises ``ConnectorContractError`` for an answer of another shape."""
        return [
            Found(row=self.row(one, at), number=self._number(one, "score"), raw=self._number(one, "raw_score"))
            for at, one in enumerate(self.rows(answer, HITS))
        ]

    def chunks(self, answer: object) -> list[Row]:
        """The rows of a part of the corpus. Raises ``ConnectorContractError`` for an answer of another shape."""
        return [self.row(one, at) for at, one in enumerate(self.rows(answer, CHUNKS))]

    def next_cursor(self, answer: object) -> str | None:
        """The cursor of the next part, None after the last."""
        found = self.find(answer, NEXT_CURSOR)
        return None if found is None or found is _ABSENT else str(found)

    def rows(self, answer: object, name: str) -> list[Any]:
        """The list that stands in the place of this name. An answer without it is a failure, not an empty list."""
        found = self.find(answer, name)
        self.refuse_error(answer)
        if not isinstance(found, list):
            keys = ", ".join(str(key) for key in list(answer)[:_LISTED]) if isinstance(answer, Mapping) else ""
            what = f"an object with {keys}" if keys else f"a {_kind(answer)}"
            raise ConnectorContractError(
                f"the answer is {what}, without a list at {self._place(name)!r}; tell its place"
            )
        return found

    def refuse_error(self, answer: object) -> None:
        """Raises ``ConnectorOperationalError`` for an answer that tells an error, whatever stands beside it."""
        if self.find(answer, ERROR) not in (None, _ABSENT, False, "", 0, [], {}):
            # What it says may hold anything, so it is not told.
            raise ConnectorOperationalError(
                f"the answer tells an error at {self._place(ERROR)!r}; see what the server's log says"
            )

    def row(self, one: object, at: int) -> Row:
        """One row. Raises ``ConnectorContractError`` for one without text, or with a field of a wrong type."""
        text, metadata = self.find(one, "text"), self.find(one, "metadata")
        if not isinstance(text, str):
            what = "no text" if text in (None, _ABSENT) else f"a {_kind(text)} for its text"
            raise ConnectorContractError(f"row {at} has {what} at {self._place('text')!r}; tell its place")
        if _SURROGATE.search(text):
            raise ConnectorContractError(f"row {at} has half a character in its text, which no file can hold")
        return Row(
            text=text,
            id=self._text(one, "chunk_id"),
            metadata=metadata if isinstance(metadata, dict) else {},
            doc_id=self._text(one, "doc_id"),
            source_file=self._text(one, "source_file"),
            ordinal=self._whole(one, "doc_chunk_index"),
            start=self._whole(one, "char_start"),
            end=self._whole(one, "char_end"),
            global_index=self._whole(one, "global_index"),
            content_module_id=self._text(one, "content_module_id"),
        )

    def find(self, value: object, name: str) -> Any:
        """What stands in the place of this name; a mark that is neither None nor of JSON where there is nothing."""
        for step in filter(None, self._place(name).split(".")):
            if isinstance(value, Mapping) and step in value:
                value = value[step]
            elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
                value = value[int(step)]
            else:
                return _ABSENT
        return value

    def _place(self, name: str) -> str:
        return self._told.get(name, name)

    def _text(self, one: object, name: str) -> str | None:
        found = self.find(one, name)
        if found is None or found is _ABSENT:
            return None
        if isinstance(found, str) or (isinstance(found, int) and not isinstance(found, bool)):
            return str(found)
        return self._refuse(name, "a text", found)

    def _whole(self, one: object, name: str) -> int | None:
        found = self.find(one, name)
        if found is None or found is _ABSENT:
            return None
        return (
            found
            if isinstance(found, int) and not isinstance(found, bool)
            else self._refuse(name, "a whole number", found)
        )

    def _number(self, one: object, name: str) -> float | None:
        found = self.find(one, name)
        if found is None or found is _ABSENT:
            return None
        is_number = isinstance(found, int | float) and not isinstance(found, bool)
        if not is_number:
            return self._refuse(name, "a number", found)
        try:
            return float(found)
        except OverflowError:
            return self._refuse(name, "a number that a score can be", found)

    def _refuse(self, name: str, wanted: str, found: object) -> NoReturn:
        raise ConnectorContractError(f"{name}, at {self._place(name)!r}, is a {_kind(found)}, and must be {wanted}")


def parsed(content: str | bytes, who: str) -> Any:
    """The JSON of an answer. Raises ``ConnectorContractError`` for what is not strict JSON in UTF-8.

    Of a key that an object has twice nobody knows which one counts, so that is refused, too.
    """
    told = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    try:
        return parse(told.removeprefix(BOM_UTF8))
    except ContractValueError as error:
        # The reason has a place and no content: the answer may hold anything.
        why = str(error).removeprefix("not valid JSON: ")
        raise ConnectorContractError(
            f"{who} did not answer with JSON ({why}); check its address, or ask its author"
        ) from error


def _kind(value: object) -> str:
    names: dict[type, str] = {dict: "object", list: "list", str: "text"}
    return names.get(type(value), type(value).__name__)
