"""A report as one HTML file: it needs no network, no script and no other file."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from estante.evaluate.compare import Apart, Comparison, Difference, Trial, compare, furthest
from estante.evaluate.errors import Incomparable
from estante.evaluate.measures import Measure
from estante.evaluate.plots import pictures
from estante.evaluate.results import Row
from estante.evaluate.runs import Run
from estante.evaluate.words import Language, Words

MOST: Final = 20
"""Questions that a table lists."""

_CSS: Final = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; color: #1a1a1a; background: #fff;
  max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: 0.2rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
p.note, caption { color: #4a4a4a; font-size: 0.9rem; text-align: left; }
div.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 0.6rem 0; }
th, td { padding: 0.3rem 0.7rem; border-bottom: 1px solid #d0d0d0; text-align: left; vertical-align: top; }
thead th { border-bottom: 2px solid #555; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
td.n { white-space: nowrap; }
td.id { overflow-wrap: anywhere; } .up { color: #00567f; font-weight: 600; } .down { color: #a03c00; font-weight: 600; }
ul.warn { border-left: 4px solid #d55e00; margin-left: 0; padding: 0.3rem 0 0.3rem 1.8rem; background: #fdf4ee; }
figure { margin: 1rem 0; } figure img { max-width: 100%; height: auto; } code { font-size: 0.85rem; }
@media print { body { margin: 0; max-width: none; } h2, figure, tr { break-inside: avoid; } }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The page, and each picture by itself."""

    html: str
    pictures: Mapping[str, bytes]


def report(runs: Sequence[Run], *, language: Language = "en", trial: Trial | None = None, title: str = "") -> Report:
    """The report of one run or more; each is compared with the first.

    Raises ``Incomparable`` for runs that do not fit together, ``MissingLibrary`` without matplotlib.
    """
    if not runs:
        raise Incomparable("there is no run to report", hint="Name the folder of a run.")
    words = Words(language)
    results = [run.results for run in runs]
    compared = compare(results, trial=trial) if len(runs) > 1 else None
    names = compared.names if compared is not None else (results[0].name,)
    measure = (compared.measures if compared is not None else results[0].measures)[0]
    apart = furthest(results[0], results[1], measure, len(results[0].rows)) if len(runs) > 1 else []
    drawn = pictures(names, runs, apart, measure, words)
    parts = [
        *_quality(names, runs, compared, words),
        *_warnings(compared, runs, words),
        *_figures(drawn, measure, words),
        *_questions(names, runs, apart, measure, words),
        *_speed(names, runs, words),
        *_counts(names, runs, words),
        *_failed(names, runs, words),
        *_origin(names, runs, words),
    ]
    head = title or words("title")
    page = (
        f'<!doctype html>\n<html lang="{"pt-BR" if language == "pt" else "en"}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{escape(head)}</title>\n'
        f"<style>{_CSS}</style>\n</head>\n<body>\n<main>\n<h1>{escape(head)}</h1>\n"
    )
    return Report(
        html=f"{page}{''.join(f'{part}{chr(10)}' for part in parts)}</main>\n</body>\n</html>\n", pictures=drawn
    )


# --- quality --------------------------------------------------------------------------------------------------------


def _quality(names: Sequence[str], runs: Sequence[Run], compared: Comparison | None, words: Words) -> Iterator[str]:
    measures = compared.measures if compared is not None else runs[0].results.measures
    questions = len(compared.questions) if compared is not None else len(runs[0].results.rows)
    collection = str(runs[0].results.collection.get("name", ""))
    yield f'<p class="note">{_said(collection)} · {words.number(questions, 0)} {words("questions")}</p>'
    yield f"<h2>{words('quality')}</h2>"
    if compared is None:
        means = runs[0].results.means()
        rows = [[_said(measure), _number(words, means[measure])] for measure in measures]
        yield _table([words("measure"), _Right(_said(names[0]))], rows)
        return
    level = f"{(1 - compared.trial.alpha) * 100:.3g}"
    heads = [
        words("measure"),
        words("run"),
        _Right(words("value")),
        _Right(words("difference")),
        _Right(words("interval", level=level.replace(".", "," if words.language == "pt" else "."))),
        _Right(words("p")),
        _Right(words("p_bootstrap")),
        _Right(words("effect")),
        _Right(words("score")),
    ]
    rows = []
    for measure in measures:
        found = [one for one in compared.differences if one.measure == measure]
        first = next(one.paired.first for one in found)
        rows.append([f"<strong>{_said(measure)}</strong>", _said(names[0]), _number(words, first), *[""] * 6])
        rows += [["", *_compared(one, words)] for one in found]
    yield _table(heads, rows, caption=words("against", first=_said(names[0])))
    alpha = words.number(compared.trial.alpha, 2)
    yield f'<p class="note">{words("legend", alpha=alpha, family=len(compared.differences))}</p>'


def _compared(one: Difference, words: Words) -> list[str]:
    kind = "same" if not one.significant else "better" if one.paired.difference > 0 else "worse"
    sign, look = {"better": ("▲ ", "up"), "worse": ("▼ ", "down"), "same": ("", "")}[kind]
    moved = words.number(one.paired.difference, signed=True)
    told = f'<span class="{look}" title="{words(kind)}">{sign}{moved}</span>'
    low, high = (words.number(value, signed=True) for value in (one.paired.low, one.paired.high))
    return [
        _said(one.second),
        _number(words, one.paired.second),
        _Right(told),
        _Right(f"{low} … {high}"),
        _Right(escape(words.p(one.p))),
        _Right(escape(words.p(one.p_bootstrap))),
        _Right(words.number(one.paired.effect, 2, signed=True)),
        _Right(f"{one.paired.wins} / {one.paired.ties} / {one.paired.losses}"),
    ]


def _warnings(compared: Comparison | None, runs: Sequence[Run], words: Words) -> Iterator[str]:
    told = [words(one.key, **one.values) for one in compared.warnings] if compared is not None else []
    told += [f"{run.results.name}: {one}" for run in runs for one in run.results.pipeline.get("problems", ())]
    if told:
        yield f"<h2>{words('warnings')}</h2>"
        yield f'<ul class="warn">{"".join(f"<li>{_said(one)}</li>" for one in told)}</ul>'


# --- pictures ---------------------------------------------------------------------------------------------------------


def _figures(drawn: Mapping[str, bytes], measure: Measure, words: Words) -> Iterator[str]:
    if drawn:
        yield f"<h2>{words('plots')}</h2>"
    for name, data in drawn.items():
        told = escape(words(name, measure=measure))
        source = base64.b64encode(data).decode("ascii")
        yield (
            f"<figure><figcaption><strong>{told}</strong></figcaption>"
            f'<img alt="{told}" src="data:image/png;base64,{source}"></figure>'
        )


# --- questions --------------------------------------------------------------------------------------------------------


def _questions(
    names: Sequence[str], runs: Sequence[Run], apart: Sequence[Apart], measure: Measure, words: Words
) -> Iterator[str]:
    texts = {one.id: one.text for one in runs[0].questions}
    if len(runs) > 1:
        yield f"<h2>{escape(words('furthest', measure=measure))}</h2>"
        rows = [
            [
                _question(one.question, texts),
                _number(words, one.first),
                _number(words, one.second),
                _Right(words.number(one.difference, signed=True)),
            ]
            for one in apart[:MOST]
        ]
        heads = [words("question"), _Right(_said(names[0])), _Right(_said(names[1])), _Right(words("difference"))]
        yield _table(heads, rows) if rows else f"<p>{words('none')}</p>"
        return
    yield f"<h2>{escape(words('worst', measure=measure))}</h2>"
    values = runs[0].results.values(measure)
    worst = sorted(values, key=lambda name: (values[name], name))[:MOST]
    rows = [[_question(name, texts), _number(words, values[name])] for name in worst]
    yield _table([words("question"), _Right(_said(measure))], rows)


def _question(name: str, texts: Mapping[str, str]) -> str:
    return f"{_said(texts.get(name, ''))} <code>{_said(name)}</code>"


def _failed(names: Sequence[str], runs: Sequence[Run], words: Words) -> Iterator[str]:
    failed: list[tuple[str, Row]] = [
        (name, row) for name, run in zip(names, runs, strict=True) for row in run.results.rows if row.error is not None
    ]
    if failed:
        yield f"<h2>{words('failed')}</h2>"
        rows = [[_said(name), f"<code>{_said(row.id)}</code>", _said(row.error)] for name, row in failed[:MOST]]
        yield _table([words("run"), words("question"), words("error")], rows)
        if len(failed) > MOST:
            yield f"<p>… {len(failed):,}</p>"


# --- the rest ---------------------------------------------------------------------------------------------------------


def _speed(names: Sequence[str], runs: Sequence[Run], words: Words) -> Iterator[str]:
    yield f"<h2>{words('speed')}</h2>"
    yield f'<p class="note">{words("speed_note")}</p>'
    heads = [
        words("run"),
        *map(_Right, ("p50 ms", "p95 ms", "p99 ms", words("per_second"), words("peak"), words("calls"))),
    ]
    rows = []
    for name, run in zip(names, runs, strict=True):
        told = run.circumstances.get("speed")
        if not told:
            rows.append([_said(name), words("not_timed"), *[""] * 5])
            continue
        memory = told["peak_rss_bytes"]
        cells = [_Right(words.number(told[f"p{one}_ms"], 1)) for one in (50, 95, 99)]
        cells.append(_Right(words.number(told["questions_per_second"], 1)))
        cells.append(_Right("–" if memory is None else f"{words.number(memory / 1e6, 0)} MB"))
        rows.append([_said(name), *cells, _Right(words.number(told["calls"], 0))])
    yield _table(heads, rows)


def _counts(names: Sequence[str], runs: Sequence[Run], words: Words) -> Iterator[str]:
    yield f"<h2>{words('counts')}</h2>"
    keys = [key for key in runs[0].results.counts if key == "questions" or any(r.results.counts[key] for r in runs)]
    rows = [[words(key), *(_Right(words.number(run.results.counts[key], 0)) for run in runs)] for key in keys]
    yield _table(["", *(_Right(_said(name)) for name in names)], rows)


def _origin(names: Sequence[str], runs: Sequence[Run], words: Words) -> Iterator[str]:
    yield f"<h2>{words('settings')}</h2>"
    told = [_facts(run) for run in runs]
    rows = [
        [f"<code>{_said(key)}</code>", *(f"<code>{_said(facts.get(key, ''))}</code>" for facts in told)]
        for key in dict.fromkeys(key for facts in told for key in facts)
    ]
    yield _table(["", *(_said(name) for name in names)], rows)


def _facts(run: Run) -> dict[str, Any]:
    """What a run says of where it comes from, without what is nested deeper."""
    results = run.results
    facts: dict[str, Any] = {"created_at": run.circumstances.get("created_at")}
    facts |= {f"settings.{key}": value for key, value in results.settings.items()}
    facts |= {f"collection.{key}": value for key, value in results.collection.items()}
    facts |= {f"pipeline.{key}": results.pipeline.get(key) for key in ("type", "fingerprint", "snapshot_sha256")}
    snapshot = results.pipeline.get("snapshot") or {}
    facts |= {f"snapshot.{key}": value for key, value in snapshot.get("settings", {}).items()}
    environment = run.circumstances.get("environment", {})
    facts |= {key: environment.get(key) for key in ("python", "system", "machine", "cpus")}
    return {key: _brief(value) for key, value in facts.items() if value not in (None, "", [], {})}


def _brief(value: object) -> str:
    told = str(value)
    return told if len(told) <= 64 else f"{told[:60]}…"


class _Right(str):
    """A cell that stands to the right, as numbers do; it is HTML already."""

    __slots__ = ()


def _number(words: Words, value: float) -> str:
    return _Right(words.number(value))


def _said(value: object) -> str:
    return escape(str(value))


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str = "") -> str:
    """A table of cells that are HTML already."""
    top = "".join(f"<th{_look(one)}>{one}</th>" for one in heads)
    body = "".join(f"<tr>{''.join(f'<td{_look(one)}>{one}</td>' for one in row)}</tr>\n" for row in rows)
    told = f"<caption>{caption}</caption>" if caption else ""
    return f'<div class="wide"><table>{told}<thead><tr>{top}</tr></thead>\n<tbody>\n{body}</tbody></table></div>'


def _look(cell: str) -> str:
    return ' class="n"' if isinstance(cell, _Right) else ""
