"""The commands that read measurements: ``eval compare`` tells whether runs differ, ``eval report`` shows them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from estante.model.errors import SettingsError
from estante.serve.cli.calls import Call
from estante.serve.cli.measuring import Measures, New, speed_line
from estante.serve.cli.output import Output, one_line, typed

if TYPE_CHECKING:
    from estante.evaluate.compare import Apart, Comparison, Difference
    from estante.evaluate.results import Results

FELL: Final = 1

Runs = Annotated[
    list[Path], typer.Argument(metavar="RUN...", help="Folders of runs, or their manifests.", show_default=False)
]


def compare(
    call: Call,
    runs: Runs,
    measures: Measures = None,
    baseline: Annotated[
        Path | None,
        typer.Option("--baseline", metavar="PATH", help="End with 1 when a run fell against this.", show_default=False),
    ] = None,
    max_drop: Annotated[
        float, typer.Option("--max-drop", metavar="X", min=0, help="A mean may fall by so much.")
    ] = 0.0,
    alpha: Annotated[float, typer.Option("--alpha", metavar="P", help="The level of significance.")] = 0.05,
    rounds: Annotated[int, typer.Option("--rounds", metavar="N", help="Draws of each test.")] = 10_000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Where the draws begin.")] = 0,
    all_pairs: Annotated[bool, typer.Option("--all-pairs", help="Compare all runs with one another.")] = False,
    furthest: Annotated[
        int, typer.Option("--furthest", metavar="N", min=0, help="List the N questions that differ most.")
    ] = 5,
) -> int:
    """Tells whether runs differ by more than chance.

    Each run is compared with the first, or with the baseline, question by question. The exit code is 1 when a baseline
    is given and a measure fell against it significantly, by more than --max-drop.

    Example: estante eval compare runs/first runs/second
    """
    from estante.evaluate.compare import Trial, fallen
    from estante.evaluate.compare import compare as compared
    from estante.evaluate.compare import furthest as furthest_of
    from estante.evaluate.keeping import read_results, texts_of
    from estante.evaluate.measures import measures_of

    if baseline is not None and all_pairs:
        raise SettingsError("a baseline is what all are compared with", hint="Leave --all-pairs out.")
    paths = [*([baseline] if baseline is not None else []), *runs]
    read = [read_results(path) for path in paths]
    results = [one for one, _ in read]
    named = [part.strip() for one in measures or () for part in typed(one).split(",") if part.strip()]
    trial = Trial(rounds=rounds, seed=seed, alpha=alpha, all_pairs=all_pairs)
    found = compared(results, measures_of(named), trial)
    fell = fallen(found, max_drop) if baseline is not None else []
    apart = furthest_of(results[0], results[1], found.measures[0], furthest)
    speeds = [circumstances.get("speed") for _, circumstances in read]
    if call.out.json:
        call.out.value(_told(found, results, fell, apart, speeds, gated=baseline is not None))
    else:
        _print(call.out, found, results, apart, texts_of(paths[0]), speeds)
        _print_gate(call.out, fell, gated=baseline is not None, max_drop=max_drop)
    return FELL if fell else 0


def _told(
    found: Comparison,
    results: Sequence[Results],
    fell: Sequence[Difference],
    apart: Sequence[Apart],
    speeds: Sequence[Any],
    *,
    gated: bool,
) -> dict[str, Any]:
    runs = [
        {"name": name, "measures": {str(measure): value for measure, value in run.means().items()}, "speed": speed}
        for name, run, speed in zip(found.names, results, speeds, strict=True)
    ]
    trial = found.trial
    return {
        "runs": runs,
        "questions": len(found.questions),
        "differences": [one.to_json() for one in found.differences],
        "furthest": [
            {"question": one.question, "first": one.first, "second": one.second, "difference": one.difference}
            for one in apart
        ],
        "warnings": _warnings(found),
        "gated": gated,
        "fell": [one.to_json() for one in fell],
        "alpha": trial.alpha,
        "rounds": trial.rounds,
        "seed": trial.seed,
    }


def _print(
    out: Output,
    found: Comparison,
    results: Sequence[Results],
    apart: Sequence[Apart],
    texts: dict[str, str],
    speeds: Sequence[Any],
) -> None:
    width = max(len(one_line(name)) for name in found.names) + 2
    out.line(f"{len(found.questions):,} questions, each run against the first" + _pairs(found))
    for measure in found.measures:
        out.line((str(measure), "bold"))
        differences = [one for one in found.differences if one.measure == measure]
        if not found.trial.all_pairs:
            out.line(f"{one_line(found.names[0]).ljust(width)}{differences[0].paired.first:.4f}", indent=2)
        for one in differences:
            label = f"{one_line(one.first)} / {one_line(one.second)}  " if found.trial.all_pairs else ""
            out.line(*_line(one, label or one_line(one.second).ljust(width)), indent=2)
    out.line(("speed", "bold"), " (of each run on its own machine; in no test)")
    for name, speed in zip(found.names, speeds, strict=True):
        out.line(f"{one_line(name).ljust(width)}{speed_line(speed) if speed else 'not timed'}", indent=2)
    if apart:
        out.line((f"furthest apart in {found.measures[0]}", "bold"))
    for question in apart:
        told = f"{question.first:.4f} > {question.second:.4f}  {one_line(question.question)}"
        out.line(f"{told}  {one_line(texts.get(question.question, ''))}".rstrip(), indent=2)
    for text in _warnings(found):
        out.warn(one_line(text))


def _warnings(found: Comparison) -> list[str]:
    from estante.evaluate.words import Words

    words = Words("en")
    return [words(one.key, **one.values) for one in found.warnings]


def _pairs(found: Comparison) -> str:
    return ", and all with one another" if found.trial.all_pairs else ""


def _line(one: Difference, label: str) -> list[str | tuple[str, str]]:
    """A difference in one line; a star stands behind a significant one."""
    paired = one.paired
    effect = "" if paired.effect is None else f"  d {paired.effect:+.2f}"
    told = (
        f"{label}{paired.second:.4f}  {paired.difference:+.4f} [{paired.low:+.4f}, {paired.high:+.4f}]"
        f"  p {_p(one.p)} (bootstrap {_p(one.p_bootstrap)}){effect}"
        f"  {paired.wins} better, {paired.ties} same, {paired.losses} worse"
    )
    return [told, ("  *", "bold")] if one.significant else [told]


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _print_gate(out: Output, fell: Sequence[Difference], *, gated: bool, max_drop: float) -> None:
    for one in fell:
        drop = -one.paired.difference
        out.line(("fell:", "bold red"), f" {one.measure} of {one_line(one.second)} by {drop:.4f}, p {_p(one.p)}")
    if gated and not fell:
        out.line(("ok", "green"), f"  nothing fell significantly by more than {max_drop:g}")


# --- report -----------------------------------------------------------------------------------------------------------


def report(
    call: Call,
    runs: Runs,
    out: New,
    language: Annotated[str, typer.Option("--language", metavar="LANG", help="en or pt.")] = "en",
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="What stands above it.", show_default=False)
    ] = "",
    alpha: Annotated[float, typer.Option("--alpha", metavar="P", help="The level of significance.")] = 0.05,
    rounds: Annotated[int, typer.Option("--rounds", metavar="N", help="Draws of each test.")] = 10_000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Where the draws begin.")] = 0,
) -> None:
    """Shows runs as one HTML file and its pictures.

    The file needs no network, no script and no other file. Each run is compared with the first.

    Example: estante eval report runs/first runs/second --out report
    """
    from estante.evaluate.compare import Trial
    from estante.evaluate.keeping import read, refuse_occupied
    from estante.evaluate.report import report as made
    from estante.evaluate.words import LANGUAGES

    chosen = next((one for one in LANGUAGES if one == language), None)
    if chosen is None:
        raise SettingsError(f"--language {language!r} is not written here", hint=f"Give {' or '.join(LANGUAGES)}.")
    refuse_occupied(out)
    trial = Trial(alpha=alpha, rounds=rounds, seed=seed)
    found = made([read(path) for path in runs], language=chosen, trial=trial, title=typed(title))
    out.mkdir(parents=True, exist_ok=True)
    files = {"report.html": found.html.encode("utf-8")} | {f"{name}.png": data for name, data in found.pictures.items()}
    for name, data in files.items():
        (out / name).write_bytes(data)
    if call.out.json:
        call.out.value({"out": str(out), "files": sorted(files)})
    else:
        call.out.line(one_line(str(out / "report.html")))
