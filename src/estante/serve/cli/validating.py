"""The command ``validate``: holds a pipeline to the contract."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from estante.model.errors import ContractBroken, SettingsError
from estante.serve.cli.calls import Call

NOT_READY: Final = 1

Target = Annotated[
    str | None,
    typer.Option("--import", metavar="MOD:ATTR", help="The class or function that makes it.", show_default=False),
]
Type = Annotated[
    str | None,
    typer.Option("--connector-type", metavar="TYPE", help="The type of a registered connector.", show_default=False),
]
Kwargs = Annotated[
    str | None, typer.Option("--kwargs", metavar="JSON", help="Arguments for --import.", show_default=False)
]
Params = Annotated[
    str | None, typer.Option("--params", metavar="JSON", help="Parameters for --connector-type.", show_default=False)
]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="CHECK", help="Run this check alone; repeat for more.", show_default=False),
]
Skip = Annotated[
    list[str] | None,
    typer.Option("--skip", metavar="CHECK", help="Leave this check out; repeat for more.", show_default=False),
]
Junit = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE", help="Also write the report as JUnit XML.", show_default=False),
]
Query = Annotated[
    str | None,
    typer.Option("--query", metavar="TEXT", help="A question that the corpus can answer.", show_default=False),
]
Harness = Annotated[
    str | None,
    typer.Option("--harness", metavar="MOD:ATTR", help="What makes the harness for --security.", show_default=False),
]


def validate(
    call: Call,
    target: Target = None,
    connector_type: Type = None,
    kwargs: Kwargs = None,
    params: Params = None,
    query: Query = None,
    top_k: Annotated[int, typer.Option("--top-k", metavar="N", help="How many hits to ask for.")] = 5,
    skip_stability: Annotated[
        bool, typer.Option("--skip-stability", help="Leave out the second read of the corpus.")
    ] = False,
    only: Only = None,
    skip: Skip = None,
    basic: Annotated[bool, typer.Option("--basic", help="Run the checks of rag-connector's validator alone.")] = False,
    security: Annotated[bool, typer.Option("--security", help="Also check who is shown what.")] = False,
    harness: Harness = None,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="S", min=0, help="Seconds a check may take; 0 is no limit.")
    ] = 300.0,
    max_chunks: Annotated[
        int, typer.Option("--max-chunks", metavar="N", min=1, help="More chunks are taken for a corpus without end.")
    ] = 2_000_000,
    strict: Annotated[bool, typer.Option("--strict", help="Let warnings fail.")] = False,
    junit: Junit = None,
) -> int:
    """Holds a pipeline to the contract, check by check.

    The pipeline is made of a class or function, or by a registered connector. The exit code is 0 when it is ready, 1
    when it is not, 2 when it could not be examined.

    Example: estante validate --import estante.contract.testkit:PerfectPipeline --query "Who keeps the keys?"
    """
    from estante.contract.checks.orders import Order, Refused, carried_out
    from estante.contract.validate import claim, write_junit
    from estante.shelf.settings import environment

    if (target is None) == (connector_type is None):
        raise SettingsError(
            "name one pipeline, by what makes it or by the type of its connector",
            hint="Give either --import MOD:ATTR or --connector-type TYPE.",
        )
    order = Order(
        target=target,
        connector_type=connector_type,
        kwargs=kwargs,
        params=params,
        query=query,
        top_k=top_k,
        skip_stability=skip_stability,
        only=tuple(only or ()),
        skip=tuple(skip or ()),
        timeout=timeout,
        strict=strict,
        basic=basic,
        security=security,
        harness=harness,
        max_chunks=max_chunks,
    )
    # What is examined may change the current folder.
    junit = junit and junit.absolute()
    try:
        if junit is not None:
            claim(junit)
        report = carried_out(order, warn=call.out.warn, environ=environment())
        if call.out.json:
            call.out.value(report.to_dict())
        else:
            call.out.exact(f"{report.render()}\n")
        if junit is not None:
            write_junit(junit, report)
    except Refused as refused:
        kind = ContractBroken if refused.code == NOT_READY else SettingsError
        raise kind(refused.message, hint=refused.hint) from refused
    return 0 if report.ready else NOT_READY
