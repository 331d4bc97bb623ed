"""What a pipeline shows to an asker, operation by operation, as text in which foreign things are looked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import islice
from typing import Any, Final

from estante.contract.checks.attempts import Attempt, attempt, text
from estante.contract.checks.honesty import BREAKER
from estante.contract.checks.probes import NO_SUCH_CHUNK
from estante.contract.pipeline import RagPipeline

_DEPTH: Final = 12
_ITEMS: Final = 100_000
_PAGES: Final = 1_000
_BREADTH: Final = 100
_ANY: Final = "any question"

FACTS: Final = ("info", "run_snapshot", "list_datasets", "health", "fingerprint")
"""The operations that tell of the whole, where a number may count what is foreign."""


@dataclass(frozen=True, slots=True)
class Showing:
    """What one call showed. ``asked`` is what the asker gave it: that may come back without being a leak."""

    operation: str
    answer: Attempt
    asked: str = ""


def shows(pipeline: RagPipeline, questions: Sequence[str], ids: Sequence[str]) -> list[Showing]:
    """What every operation gives or raises, for these questions and these ids."""
    found = [Showing("query", attempt(pipeline.query, one, _BREADTH), one) for one in questions]
    found.append(Showing("pull_all_chunks", attempt(pipeline.pull_all_chunks)))
    found.append(Showing("list_chunks", attempt(lambda: list(_pages(pipeline)))))
    for name in ("get_chunks", "get_chunk_vectors"):
        answer = attempt(_named, pipeline, name, list(ids))
        # An error may name what it was asked for; a result under that name is a leak.
        found.append(Showing(name, answer, "\n".join(ids) if answer.error is not None else ""))
    found.append(Showing("generate", attempt(_named, pipeline, "generate", questions[0]), questions[0]))
    return found + [Showing(name, attempt(_named, pipeline, name)) for name in (*FACTS, "describe_space")]


def errors(pipeline: RagPipeline, ids: Sequence[str]) -> list[Showing]:
    """What calls that cannot succeed give or raise: the texts of errors are shown to the asker, too."""
    foreign = next(iter(ids), NO_SUCH_CHUNK)
    calls: dict[str, Callable[[], Any]] = {
        "list_chunks(cursor=...)": lambda: pipeline.list_chunks(cursor=foreign, limit=1),
        "list_chunks(limit=-1)": lambda: pipeline.list_chunks(cursor=None, limit=-1),
        "get_chunks([..., None])": lambda: _named(pipeline, "get_chunks", [foreign, None]),
        "get_chunk_vectors([...])": lambda: pipeline.get_chunk_vectors([foreign]),
        "query('', -1)": lambda: pipeline.query("", -1),
        "query(None)": lambda: _named(pipeline, "query", None),
        "query() while the back end fails": lambda: _broken(pipeline),
    }
    return [Showing(name, attempt(call), foreign) for name, call in calls.items()]


def leaks(found: Iterable[Showing], needles: Mapping[str, str]) -> list[str]:
    """A line for each operation that shows one of the needles: ``pull_all_chunks() shows the text``."""
    lines: dict[str, None] = {}
    for one in found:
        hay = "\n".join(spelled(one.answer)).casefold()
        asked = one.asked.casefold()
        operation = one.operation if "(" in one.operation else f"{one.operation}()"
        for needle, what in needles.items():
            if needle.casefold() in hay and needle.casefold() not in asked:
                lines[f"{operation} shows {what}"] = None
    return list(lines)


def spelled(value: object, depth: int = _DEPTH) -> Iterator[str]:
    """Every text within a value: fields, keys, items, and the errors that an error comes from."""
    if isinstance(value, Attempt):
        yield from spelled(value.error if value.error is not None else value.value, depth)
    elif value is None or isinstance(value, bool | int | float):
        return
    elif isinstance(value, str):
        yield text(value)
    elif depth <= 0:
        yield text(value, _ITEMS)
    elif isinstance(value, bytes | bytearray):
        yield value.decode("utf-8", "replace")
    else:
        yield from (one for part in _parts(value) for one in spelled(part, depth - 1))


def flattened(value: object, path: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, object]]:
    """Every plain value within a value, with its place."""
    if isinstance(value, Attempt):
        yield from flattened(
            value.value if value.error is None else f"raised {type(value.error).__name__}", path, depth
        )
    elif depth > 0 and isinstance(value, Mapping):
        for key, one in value.items():
            yield from flattened(one, f"{path}.{text(key)}" if path else text(key), depth - 1)
    elif depth > 0 and isinstance(value, list | tuple):
        for at, one in enumerate(value):
            yield from flattened(one, f"{path}[{at}]", depth - 1)
    elif depth > 0 and is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from flattened(getattr(value, field.name), f"{path}.{field.name}" if path else field.name, depth - 1)
    else:
        yield path, value if value is None or isinstance(value, bool | int | float | str) else text(value)


def _parts(value: object) -> Iterator[object]:
    if isinstance(value, BaseException):
        yield text(value)
        yield from (one for one in (*value.args, value.__cause__, value.__context__) if one is not None)
        yield from getattr(value, "__notes__", ())
    elif isinstance(value, Mapping):
        for key, one in islice(value.items(), _ITEMS):
            yield key
            yield one
    elif is_dataclass(value) and not isinstance(value, type):
        yield from (getattr(value, field.name) for field in fields(value))
    elif isinstance(value, list | tuple | set | frozenset):
        yield from islice(value, _ITEMS)
    else:
        yield text(value)


def _broken(pipeline: RagPipeline) -> Any:
    with _named(pipeline, BREAKER):
        return pipeline.query(_ANY, 1)


def _named(pipeline: RagPipeline, name: str, *arguments: Any) -> Any:
    return getattr(pipeline, name)(*arguments)


def _pages(pipeline: RagPipeline) -> Iterator[Any]:
    """The pages of the corpus, small ones, as far as there is patience for them."""
    cursor: str | None = None
    for _ in range(_PAGES):
        page = pipeline.list_chunks(cursor=cursor, limit=2)
        yield page
        cursor = page.next_cursor
        if cursor is None:
            return
