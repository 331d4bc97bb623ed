"""Pictures of runs as PNG: means with intervals, differences, recall by depth, latencies.

Runs are told apart by colour (the palette of Okabe and Ito, which colour-blind people can tell apart), by dash and by
marker, so that print without colours says the same.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from estante.evaluate.compare import Apart
from estante.evaluate.errors import missing
from estante.evaluate.measures import Measure
from estante.evaluate.runs import Run
from estante.evaluate.statistics import bootstrap
from estante.evaluate.words import Words

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES: Final = ("-", "--", "-.", ":")
MARKERS: Final = "osD^vP*"
HATCHES: Final = ("", "///", "...", "xxx", "\\\\\\", "++", "oo")

_STYLE: Final = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "figure.dpi": 100,
    "savefig.dpi": 150,
    "text.parse_math": False,
}
_LONGEST: Final = 30


def pictures(
    names: Sequence[str], runs: Sequence[Run], apart: Sequence[Apart], measure: Measure, words: Words
) -> dict[str, bytes]:
    """The PNG of each picture that these runs allow, by its name. Raises ``MissingLibrary`` without matplotlib.

    ``apart`` are the differences of the second run from the first, in ``measure``.
    """
    drawn = {"means": _means(names, runs, words)}
    if apart:
        drawn["differences"] = _differences(names, apart, measure, words)
    curves = [recall_curve(run) for run in runs]
    if any(curves):
        drawn["recall"] = _recall(names, curves, words)
    taken = [[value * 1e3 for value in run.circumstances.get("seconds", {}).values()] for run in runs]
    if any(taken):
        drawn["latency"] = _latency(names, taken, words)
    return drawn


def recall_curve(run: Run) -> list[float]:
    """The mean recall at 1, 2, ... places, over the questions with something relevant; empty when there are none."""
    wanted = {one.id: {name for name, grade in one.judged.items() if grade > 0} for one in run.questions}
    asked = {one.question: one.ranking() for one in run.asked}
    depth = min(100, max((len(names) for names in asked.values()), default=0))
    rows = [
        np.cumsum([name in relevant for name in [*asked[question], *[None] * depth][:depth]]) / len(relevant)
        for question, relevant in wanted.items()
        if relevant
    ]
    return [float(one) for one in np.mean(rows, axis=0)] if rows and depth else []


# --- each picture -----------------------------------------------------------------------------------------------------


def _means(names: Sequence[str], runs: Sequence[Run], words: Words) -> bytes:
    measures = runs[0].results.measures
    height = 1.4 + 0.45 * len(measures) * max(1, len(runs) * 0.6)
    with _figure(7.5, height) as (figure, axes):
        for at, (name, run) in enumerate(zip(names, runs, strict=True)):
            offset = (at - (len(runs) - 1) / 2) * 0.6 / max(1, len(runs))
            for row, measure in enumerate(measures):
                if measure not in run.results.measures:
                    continue
                column = np.asarray(list(run.results.values(measure).values()), dtype=np.float64)
                low, high, _ = bootstrap(column, rounds=2_000, seed=0, confidence=0.95)
                look: dict[str, Any] = {"color": _pick(COLOURS, at), "marker": _pick(MARKERS, at), "linewidth": 2}
                label = _short(name) if row == 0 else None
                axes.plot([low, high], [row + offset] * 2, color=look["color"], linewidth=2, zorder=2)
                axes.plot([column.mean()], [row + offset], linestyle="", markersize=8, zorder=3, label=label, **look)
        axes.set_yticks(range(len(measures)), [str(one) for one in measures])
        axes.set_ylim(len(measures) - 0.4, -0.6)
        left, right = axes.get_xlim()
        axes.set_xlim(max(0.0, left), min(1.01, right))
        axes.set_xlabel(words("value"))
        _localise(axes.xaxis, words, 2)
        axes.grid(axis="y", visible=False)
        _legend(axes, len(runs))
        return _png(figure)


def _differences(names: Sequence[str], apart: Sequence[Apart], measure: Measure, words: Words) -> bytes:
    values = sorted((one.difference for one in apart), reverse=True)
    with _figure(7.5, 3.6) as (figure, axes):
        places = np.arange(len(values))
        for at, sign in ((1, 1), (0, -1)):
            heights = [value if value * sign > 0 else 0.0 for value in values]
            label = f"{_short(names[at])}: {sum(height != 0 for height in heights)}"
            look: dict[str, Any] = {"color": _pick(COLOURS, at), "hatch": _pick(HATCHES, at), "edgecolor": "white"}
            axes.bar(places, heights, width=1.0, linewidth=0, label=label, **look)
        axes.axhline(0, color="#333333", linewidth=1)
        axes.set_xlabel(words("questions_sorted"))
        axes.set_ylabel(f"{measure}: {words('difference')}")
        axes.grid(axis="x", visible=False)
        _localise(axes.yaxis, words, 2)
        _legend(axes, 2)
        return _png(figure)


def _recall(names: Sequence[str], curves: Sequence[Sequence[float]], words: Words) -> bytes:
    with _figure(7.5, 4.0) as (figure, axes):
        deepest = max(map(len, curves))
        for at, (name, curve) in enumerate(zip(names, curves, strict=True)):
            if curve:
                axes.plot(
                    range(1, len(curve) + 1),
                    curve,
                    color=_pick(COLOURS, at),
                    linestyle=_pick(DASHES, at),
                    marker=_pick(MARKERS, at),
                    markevery=[place - 1 for place in _ticks(len(curve))],
                    linewidth=2,
                    label=_short(name),
                )
        axes.set_xscale("log")
        axes.set_xticks(_ticks(deepest), [str(one) for one in _ticks(deepest)])
        axes.minorticks_off()
        lowest = min(min(curve) for curve in curves if curve)
        axes.set_ylim(max(0.0, math.floor(lowest * 10 - 0.5) / 10), 1.02)
        axes.set_xlabel(words("depth"))
        axes.set_ylabel(words("recall_axis"))
        _localise(axes.yaxis, words, 2)
        _legend(axes, len(curves))
        return _png(figure)


def _latency(names: Sequence[str], taken: Sequence[Sequence[float]], words: Words) -> bytes:
    every = [max(value, 1e-3) for values in taken for value in values]
    low, high = math.log10(min(every)), math.log10(max(every))
    edges = np.logspace(low - 0.02, high + 0.02, 41)
    with _figure(7.5, 3.6) as (figure, axes):
        for at, (name, values) in enumerate(zip(names, taken, strict=True)):
            if values:
                axes.hist(
                    np.maximum(values, 1e-3),
                    bins=edges,
                    histtype="step",
                    color=_pick(COLOURS, at),
                    linestyle=_pick(DASHES, at),
                    linewidth=2,
                    label=_short(name),
                )
        axes.set_xscale("log")
        axes.set_xlabel(words("milliseconds"))
        axes.set_ylabel(words("questions_axis"))
        _localise(axes.xaxis, words, None)
        axes.xaxis.set_minor_formatter(axes.xaxis.get_major_formatter() if high - low < 1 else _nothing())
        _legend(axes, len(names))
        return _png(figure)


# --- how pictures are made --------------------------------------------------------------------------------------------


@contextmanager
def _figure(width: float, height: float) -> Iterator[tuple[Any, Any]]:
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing("matplotlib", error) from error
    with mpl.rc_context(dict(_STYLE)):  # Figures of their own: nobody's pyplot is touched.
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure, figure.subplots()


def _png(figure: Any) -> bytes:
    # Without the library's version, so that the same runs give the same picture for longer.
    kept = io.BytesIO()
    figure.savefig(kept, format="png", metadata={"Software": None})
    return kept.getvalue()


def _legend(axes: Any, count: int) -> None:
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=min(3, count), frameon=False, borderaxespad=0.2)


def _localise(axis: Any, words: Words, digits: int | None) -> None:
    """Writes the numbers of an axis with at least so many digits, or with as many as they need."""
    from matplotlib.ticker import FuncFormatter

    def told(value: float, place: int | None = None) -> str:
        text = words.number(value, 3)
        whole, point, rest = text.partition("." if words.language == "en" else ",")
        rest = rest.rstrip("0").ljust(digits or 0, "0")
        return f"{whole}{point}{rest}" if rest else whole

    axis.set_major_formatter(FuncFormatter(told))


def _nothing() -> Any:
    from matplotlib.ticker import NullFormatter

    return NullFormatter()


def _ticks(deepest: int) -> list[int]:
    return [one for one in (1, 2, 3, 5, 10, 20, 30, 50, 100) if one <= deepest]


def _pick(choices: Sequence[str], at: int) -> str:
    return choices[at % len(choices)]


def _short(name: str) -> str:
    # A label that begins with an underscore would be left out of the legend.
    told = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
    return told.replace("_", "\u200b_", 1) if told.startswith("_") else told
