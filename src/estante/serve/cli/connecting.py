"""The commands about connectors: ``connectors`` tells which there are, ``connect`` binds one to what it reads."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from estante.model.errors import SettingsError
from estante.serve.cli.borders import strangers
from estante.serve.cli.calls import Call
from estante.serve.cli.filling import aside
from estante.serve.cli.output import Output, one_line, typed
from estante.serve.cli.pipelines import connected, object_of, spec_of

if TYPE_CHECKING:
    from estante.contract.registry import ConnectorRow
    from estante.contract.specs import ConnectorSpec
    from estante.model.ports import Outcome

BROKEN: Final = 1

Type = Annotated[str, typer.Argument(metavar="TYPE", help="The type of the connector.", show_default=False)]


# --- which there are ----------------------------------------------------------------------------------------------


def connectors(
    call: Call,
    connector_type: Annotated[
        str | None, typer.Argument(metavar="TYPE", help="Tell all about this one.", show_default=False)
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="End with 1 when one of them has an error.")] = False,
) -> int:
    """Lists the connectors, or tells all about one of them.

    Of one it tells what it can do, its parameters and its help. One that cannot be loaded is listed with its error
    and hides no other. To a pipe it prints one connector a line, its columns parted by tabs.

    Example: estante connectors
    """
    from estante.contract.registry import connector_rows

    # What a package prints while it is imported is no result of this command.
    with redirect_stdout(sys.stderr):
        rows = connector_rows()
        spec = None if connector_type is None else spec_of(typed(connector_type))
        info = "" if spec is None else _info(spec)
    if spec is not None:
        rows = [row for row in rows if (row.type, row.label) == (spec.connector_type, spec.label)]
        _tell_one(call.out, spec, rows[0], info)
    else:
        _tell_all(call.out, rows)
    return BROKEN if strict and any(row.error for row in rows) else 0


def _info(spec: ConnectorSpec) -> str:
    if spec.connector_info is None:
        return ""
    with strangers(f"connector_info of connector {spec.connector_type!r}"):
        return str(spec.connector_info())


def _tell_all(out: Output, rows: Sequence[ConnectorRow]) -> None:
    if out.json:
        out.value([asdict(row) for row in rows])
        return
    width = max((len(one_line(row.type)) for row in rows), default=0)
    for row in rows:
        name, label, can, origin, error = _cells(row)
        if out.terminal is None:
            out.line("\t".join((name, label, can, origin, error)))
            continue
        out.line((name.ljust(width), "bold"), f"  {label or 'cannot be loaded'}  ", (f"({origin})", "dim"))
        if can:
            out.line(can, indent=width + 2)
        if error:
            out.line(("error:", "bold red"), f" {error}", indent=width + 2)
    if not rows:
        out.note("no connectors")


def _cells(row: ConnectorRow) -> tuple[str, str, str, str, str]:
    texts = (row.type, row.label, ", ".join(row.capabilities), row.origin, row.error)
    name, label, can, origin, error = map(one_line, texts)
    return name, label, can, origin, error


def _tell_one(out: Output, spec: ConnectorSpec, row: ConnectorRow, info: str) -> None:
    if out.json:
        more = {"description": spec.description, "params": _plain(spec.params), "info": info}
        out.value({**asdict(row), **more})
        return
    name, label, can, origin, error = _cells(row)
    out.line((name, "bold"), f"  {label}  ", (f"({origin})", "dim"))
    if spec.description:
        out.line(one_line(spec.description))
    out.line(("can", "bold"), f"  build{', ' if can else ''}{can}")
    if error:
        out.line(("error:", "bold red"), f" {error}")
    for field in filter(_is_field, spec.params):
        out.line((one_line(str(field.get("name"))), "bold"), f"  {one_line(_facts(field))}", indent=2)
        if field.get("help"):
            out.line(one_line(str(field["help"])), indent=4)
    if info:
        out.line()
        out.line(info.rstrip())


def _plain(params: object) -> Any:
    """A schema as JSON; what JSON does not have is told as text, because a faulty one is shown, too."""
    import json

    return json.loads(json.dumps(params, default=repr, skipkeys=True), parse_constant=str)


def _is_field(field: object) -> bool:
    return isinstance(field, Mapping)


def _facts(field: Mapping[str, Any]) -> str:
    """All that a field says, in a line: ``integer, required, from 1 to 100, by default 10``."""
    said = [str(field.get("type", "string")), "required" if field.get("required") else ""]
    if isinstance(field.get("choices"), list | tuple):
        said.append(f"one of {', '.join(map(str, field['choices']))}")
    least, most = field.get("minimum"), field.get("maximum")
    said.append(f"from {least}" if least is not None else "")
    said.append(f"up to {most}" if most is not None else "")
    form = f"such as {field['placeholder']}" if field.get("placeholder") else f"as {field.get('pattern')}"
    said.append(form if field.get("pattern") else "")
    said.append(f"by default {field['default']}" if field.get("default") not in (None, "") else "")
    said.append(f"or the variable {field['env']}" if field.get("env") else "")
    if isinstance(field.get("when"), Mapping):
        said.append(f"when {' and '.join(f'{name} is {_either(value)}' for name, value in field['when'].items())}")
    label = f"{field['label']}: " if field.get("label") else ""
    return label + ", ".join(one for one in said if one)


def _either(value: object) -> str:
    return " or ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


# --- binding one --------------------------------------------------------------------------------------------------


def connect(
    call: Call,
    connector_type: Type,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", metavar="NAME=VALUE", help="A parameter; may be repeated.", show_default=False),
    ] = None,
    params: Annotated[
        str | None,
        typer.Option("--params", metavar="JSON", help="Parameters as a JSON object.", show_default=False),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="Write the connection document here.", show_default=False),
    ] = None,
) -> None:
    """Binds a connector, and prints the document to store.

    The document is what a host stores to build the pipeline again. It holds no secrets: a parameter that is one is
    given as env:NAME or file:/absolute/path.

    Example: estante connect wiki --param url=https://wiki.example.org --param token=env:WIKI_TOKEN
    """
    from estante.contract.connections import dump_connection

    with redirect_stdout(sys.stderr):
        spec = spec_of(typed(connector_type))
        given = {**object_of(params, "--params"), **_named(spec, param or [])}
        # Before anything is provisioned for a document that could not be kept.
        replaced = save is not None and _claimed(save)
        bound = _bound(spec, given)
    if save is not None:
        _save(save, bound.document)
    if call.out.json:
        call.out.value(_told(spec, bound))
    elif save is None:
        call.out.exact(dump_connection(bound.document))
    else:
        call.out.line(f"saved {one_line(str(save))}{', which replaced what was there' if replaced else ''}")
    if bound.outcome is not None:
        aside(call.out, bound.outcome)
    if bound.unwell:
        call.out.warn(f"it is connected, and not well: {one_line(bound.unwell)}")


@dataclass(frozen=True, slots=True)
class _Bound:
    """What connecting gave: the document, what is told of bad health, and what was provisioned for it."""

    document: dict[str, Any]
    unwell: str
    outcome: Outcome | None


def _bound(spec: ConnectorSpec, given: Mapping[str, Any]) -> _Bound:
    """What connecting gives; the pipeline is closed again."""
    from estante.model.ports import Outcome

    with strangers(f"connector {spec.connector_type!r}"):
        pipeline, document = connected(spec, given)
        outcome = getattr(pipeline, "outcome", None)
        try:
            unwell = _unwell(pipeline)
        finally:
            close = getattr(pipeline, "close", None)
            if callable(close):
                close()
    return _Bound(document, unwell, outcome if isinstance(outcome, Outcome) else None)


def _unwell(pipeline: object) -> str:
    """What a pipeline tells of its bad health; empty when it is well, or does not say."""
    ask = getattr(pipeline, "health", None)
    if not callable(ask):
        return ""
    try:
        health = ask()
    except Exception as error:  # noqa: BLE001 - whatever is wrong, it is connected, and its document is the result.
        return f"health() failed with {type(error).__name__}"
    if getattr(health, "ok", None) is not False:
        return ""
    return str(getattr(health, "detail", "") or "it does not say why")


def _told(spec: ConnectorSpec, bound: _Bound) -> dict[str, Any]:
    from estante.model.wire import outcome_to_json

    provisioned = {} if bound.outcome is None else {"provisioned": outcome_to_json(bound.outcome)}
    unwell = {"unwell": bound.unwell} if bound.unwell else {}
    return {"connector_type": spec.connector_type, "connection": bound.document, **provisioned, **unwell}


def _claimed(save: Path) -> bool:
    """Whether there is a file that will be replaced. Raises ``SettingsError`` where none can be written."""
    if save.is_dir() or not save.absolute().parent.is_dir():
        what = "is a folder" if save.is_dir() else "is in a folder that is not there"
        raise SettingsError(f"--save {save} {what}", hint="Name a file in a folder that is there.")
    return save.exists()


def _save(save: Path, document: Mapping[str, Any]) -> None:
    from estante.contract.connections import save_connection

    try:
        save_connection(save, document)
    except OSError as error:
        raise SettingsError(
            f"--save {save} cannot be written: {error.strerror or error}", hint="Name a file that you may write."
        ) from error


def _named(spec: ConnectorSpec, given: Sequence[str]) -> dict[str, Any]:
    """The parameters of ``--param``, each read by the type that its field has."""
    from estante.contract.params import ParamsError, param_from_text, schema_problems

    # By a faulty schema nothing can be read; connecting says what is wrong with it.
    fields = {} if schema_problems(spec.params) else {field["name"]: field for field in spec.params}
    found: dict[str, Any] = {}
    for one in given:
        name, equals, text = typed(one).partition("=")
        # What was given may be a secret, so nothing but the name is told.
        if not equals or not name:
            raise SettingsError("a --param has no name and value", hint="Write --param name=value.")
        if name in found:
            raise SettingsError(f"--param {name} was given twice", hint="Give each once; --params takes lists.")
        try:
            found[name] = param_from_text(fields[name], text) if name in fields else text
        except ParamsError as error:
            raise SettingsError(str(error), hint=f"Run: estante connectors {spec.connector_type}") from error
    return found
