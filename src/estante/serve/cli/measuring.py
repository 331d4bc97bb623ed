"""The commands ``eval run``, which measures a pipeline, and ``eval gen``, which makes questions for a bookcase."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from estante.model.errors import SettingsError
from estante.serve.cli.calls import Call
from estante.serve.cli.output import Output, counted, one_line, size, typed
from estante.serve.cli.progress import progress
from estante.serve.cli.subjects import Subject, subject_of, titled_of

if TYPE_CHECKING:
    from estante.evaluate.collection import Collection
    from estante.evaluate.knownitem import Made
    from estante.evaluate.measures import Measure
    from estante.evaluate.runs import Run

FAILED: Final = 1
SHOWN: Final = 10
"""Failed questions that are listed without ``--verbose``."""


def _option(name: str, metavar: str, says: str) -> Any:
    return typer.Option(name, metavar=metavar, help=says, show_default=False)


Place = Annotated[
    Path,
    typer.Argument(metavar="COLLECTION", help="A folder of BEIR, or a file of questions.", show_default=False),
]
Measures = Annotated[list[str] | None, _option("-m", "MEASURE", "What to measure, as nDCG@10; may be repeated.")]
New = Annotated[Path, _option("--out", "DIR", "The folder to write; new, or empty.")]
Asker = Annotated[str | None, _option("--asker", "WHO", "everyone, reader or owner; by default everyone.")]
Keys = Annotated[list[str] | None, _option("--key", "KEY", "A key that the reader holds; may be repeated.")]


# --- run ------------------------------------------------------------------------------------------------------------


def run(
    call: Call,
    collection: Place,
    measures: Measures = None,
    bookcase: Annotated[Path | None, _option("--bookcase", "DIR", "Measure this bookcase.")] = None,
    build: Annotated[bool, typer.Option("--build", help="Build a bookcase of the corpus, and measure that.")] = False,
    target: Annotated[str | None, _option("--import", "MOD:ATTR", "Measure what this makes.")] = None,
    kwargs: Annotated[str | None, _option("--kwargs", "JSON", "Arguments for --import.")] = None,
    connector_type: Annotated[str | None, _option("--connector-type", "TYPE", "Measure a connector.")] = None,
    params: Annotated[str | None, _option("--params", "JSON", "Parameters for --connector-type.")] = None,
    connection: Annotated[Path | None, _option("--connection", "FILE", "Measure a saved connection.")] = None,
    run_file: Annotated[Path | None, _option("--run-file", "FILE", "Measure a run of TREC.")] = None,
    mode: Annotated[str | None, _option("--mode", "MODE", "hybrid, lexical or dense, for a bookcase.")] = None,
    asker: Asker = None,
    key: Keys = None,
    chunker: Annotated[str | None, _option("--chunker", "NAME", "What cuts the documents, for --build.")] = None,
    chunk_size: Annotated[int | None, _option("--chunk-size", "N", "Most characters of a chunk, for --build.")] = None,
    chunk_overlap: Annotated[int | None, _option("--chunk-overlap", "N", "What chunks share, for --build.")] = None,
    queries: Annotated[Path | None, _option("--queries", "FILE", "Other questions than the folder's.")] = None,
    qrels: Annotated[Path | None, _option("--qrels", "FILE", "Other judgements than the collection's.")] = None,
    corpus: Annotated[Path | None, _option("--corpus", "FILE", "Another corpus than the folder's.")] = None,
    split: Annotated[str | None, _option("--split", "NAME", "Which of the judgements in qrels/.")] = None,
    limit: Annotated[int | None, _option("--limit", "N", "Ask the first N questions alone.")] = None,
    leave_out_unjudged: Annotated[
        bool, typer.Option("--leave-out-unjudged", help="Do not count questions that nobody judged.")
    ] = False,
    by: Annotated[
        str, typer.Option("--by", metavar="WHAT", help="What judgements name: document, chunk or source.")
    ] = "document",
    top_k: Annotated[int | None, _option("--top-k", "N", "How many hits to ask for.")] = None,
    warmup: Annotated[int, typer.Option("--warmup", metavar="N", min=0, help="Questions asked beforehand.")] = 1,
    skip_corpus: Annotated[bool, typer.Option("--skip-corpus", help="Do not read the pipeline's corpus.")] = False,
    name: Annotated[str | None, _option("--name", "TEXT", "What the run is called.")] = None,
    out: Annotated[Path | None, _option("--out", "DIR", "Keep the run here; new, or empty.")] = None,
) -> int:
    """Measures how well a pipeline finds what it should.

    The pipeline is a bookcase, one built from the collection, a connector, or what a class or function makes. A
    question that it fails at is an error and not an empty result: it counts 0, is listed, and makes the exit code 1.

    Example: estante eval run collection --build -m nDCG@10 -m R@100 --out runs/first
    """
    from estante.evaluate.keeping import refuse_occupied, write

    if out is not None:
        refuse_occupied(out)
    asked = _collection(collection, queries, qrels, corpus, split, limit, leave_out_unjudged)
    chosen = _measures(measures, asked)
    settings = {"limit": limit, "split": split, "leave_out_unjudged": leave_out_unjudged}
    called = name or (out.name if out is not None else "run")
    subject = Subject(
        target=target,
        kwargs=kwargs,
        connector_type=connector_type,
        params=params,
        connection=connection,
        bookcase=bookcase,
        run_file=run_file,
        build=build,
        mode=mode,
        asker=asker,
        keys=tuple(key or ()),
        chunker=chunker,
        chunk_size=chunk_size,
        chunk_overlap=chunk_overlap,
    )
    if run_file is not None:
        made = _from_file(run_file, asked, chosen, called, settings)
    else:
        order = _order(by, top_k, warmup, chosen)
        made = _asked(call, subject, asked, chosen, order, called, settings, not skip_corpus)
    if out is not None:
        write(out, made)
    if call.out.json:
        call.out.value(_told(made, out))
    else:
        _print(call.out, made, out)
    return FAILED if made.results.errors else 0


def _collection(
    place: Path,
    queries: Path | None,
    qrels: Path | None,
    corpus: Path | None,
    split: str | None,
    limit: int | None,
    leave_out: bool,
) -> Collection:
    from estante.evaluate.formats import Files, load

    if limit is not None and limit < 1:
        raise SettingsError(f"--limit {limit} leaves no question", hint="Give 1 or more.")
    found = load(Files(place=place, queries=queries, qrels=qrels, corpus=corpus, split=split))
    return (found.judged_alone() if leave_out else found).first(limit)


def _measures(given: Sequence[str] | None, collection: Collection) -> tuple[Measure, ...]:
    from estante.evaluate.measures import measures_of
    from estante.evaluate.runs import usual_measures

    named = [part.strip() for one in given or () for part in typed(one).split(",") if part.strip()]
    return measures_of(named) or usual_measures(collection)


def _order(by: str, top_k: int | None, warmup: int, measures: Sequence[Measure]) -> Any:
    from estante.evaluate.asking import WAYS, Order
    from estante.evaluate.runs import usual_top_k

    way = next((one for one in WAYS if one == by), None)
    if way is None:
        raise SettingsError(f"--by {by!r} is nothing that is judged", hint=f"Give one of: {', '.join(WAYS)}.")
    if top_k is not None and top_k < 1:
        raise SettingsError(f"--top-k {top_k} asks for no hit", hint="Give 1 or more.")
    return Order(top_k=top_k or usual_top_k(measures, way), by=way, warmup=warmup)


def _asked(
    call: Call,
    subject: Subject,
    collection: Collection,
    measures: Sequence[Measure],
    order: Any,
    name: str,
    settings: dict[str, Any],
    read_corpus: bool,
) -> Run:
    from estante.evaluate.runs import measure

    # What a pipeline prints is no result of this command.
    with (
        redirect_stdout(sys.stderr),
        subject_of(subject, collection, call.out) as (pipeline, built),
        progress(call.out) as heard,
    ):
        return measure(
            pipeline,
            collection,
            measures,
            order,
            name=name,
            now=_now(),
            read_corpus=read_corpus,
            settings={**settings, **built},
            heard=heard,
        )


def _from_file(
    path: Path, collection: Collection, measures: Sequence[Measure], name: str, settings: dict[str, Any]
) -> Run:
    from estante.evaluate.runs import measure_file

    return measure_file(path, collection, measures, name=name, now=_now(), settings=settings)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _told(made: Run, out: Path | None) -> dict[str, Any]:
    results = made.results
    return {
        "name": results.name,
        "out": None if out is None else str(out),
        "measures": {str(measure): value for measure, value in results.means().items()},
        "counts": dict(results.counts),
        "judged_absent": list(results.absent),
        "errors": [{"question": row.id, "error": row.error} for row in results.rows if row.error is not None],
        "speed": made.circumstances["speed"],
        "settings": dict(results.settings),
        "collection": dict(results.collection),
        "pipeline": dict(results.pipeline),
    }


def _print(out: Output, made: Run, kept: Path | None) -> None:
    results = made.results
    told = f"{one_line(str(results.collection['name']))}, {counted(len(results.rows), 'question')}"
    out.line(("collection".ljust(12), "bold"), told)
    for measure, value in results.means().items():
        out.line((str(measure).ljust(12), "bold"), f"{value:.4f}")
    if made.circumstances["speed"]:
        out.line(("speed".ljust(12), "bold"), speed_line(made.circumstances["speed"]))
    for text in remarks(results.counts):
        out.warn(text)
    for problem in results.pipeline.get("problems", ()):
        out.note(("note:", "bold"), f" {one_line(problem)}")
    failed = [row for row in results.rows if row.error is not None]
    for row in failed if out.verbose else failed[:SHOWN]:
        out.warn(f"question {one_line(row.id)}: {one_line(str(row.error))}")
    if len(failed) > SHOWN and not out.verbose:
        out.warn(f"and {len(failed) - SHOWN:,} more; --verbose lists them all")
    if kept is not None:
        out.line(("kept in".ljust(12), "bold"), one_line(str(kept)))


def speed_line(speed: dict[str, Any]) -> str:
    """Latencies, questions a second, memory and calls in one line."""
    shown = [
        f"{name} {speed[f'{name}_ms']:.1f} ms" for name in ("p50", "p95", "p99") if speed[f"{name}_ms"] is not None
    ]
    if speed["questions_per_second"] is not None:
        shown.append(f"{speed['questions_per_second']:,.1f} questions/s")
    if speed["peak_rss_bytes"] is not None:
        shown.append(f"peak memory {size(speed['peak_rss_bytes'])}")
    return ", ".join([*shown, counted(speed["calls"], "call")])


_REMARKS: Final = {
    "errors": "{} failed in the pipeline and {} 0",
    "without_judgements": "{} without judgements {} 0; --leave-out-unjudged leaves them out",
    "without_relevant": "{} with nothing relevant {} 0",
    "without_results": "{} without results {} 0",
}
_MORE: Final = {
    "judged_without_question": "judgements of {} that are not asked are left out",
    "of_other_parts": "{} of another part, or without judgements, left out",
    "cut_short": "{} had fewer names than the measures look at; ask for more hits with --top-k",
}


def remarks(counts: Any) -> list[str]:
    """What must be known beside the means, a line each."""
    told = []
    for key, text in _REMARKS.items():
        if count := counts[key]:
            told.append(text.format(counted(count, "question"), "counts" if count == 1 else "count"))
    told += [text.format(counted(counts[key], "question")) for key, text in _MORE.items() if counts[key]]
    if count := counts["judged_absent"]:
        told.append(f"{counted(count, 'name')} judged relevant not in the corpus: no search can find them")
    if count := counts["hits_without_name"]:
        told.append(f"{counted(count, 'hit')} without a name, which are relevant to nothing; see --by")
    if count := counts["hits_without_place"]:
        told.append(f"{counted(count, 'hit')} without a place in the corpus, which hold no gold character")
    return told


# --- gen ------------------------------------------------------------------------------------------------------------


def gen(
    call: Call,
    out: New,
    shelf: Annotated[
        Path | None, typer.Argument(metavar="SHELF", help="The bookcase's folder.", show_default=False)
    ] = None,
    questions: Annotated[int | None, _option("--questions", "N", "Make N questions at most.")] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Draws others of them.")] = 0,
    min_words: Annotated[int, typer.Option("--min-words", metavar="N", min=1, help="Leave out shorter headings.")] = 2,
    asker: Asker = None,
    key: Keys = None,
) -> None:
    """Makes known-item questions from the titles and headings of a bookcase.

    A heading that one document alone has asks for that document. Nothing is read, counted or written that the asker
    may not read. The same bookcase and seed make the same folder of BEIR.

    Example: estante eval gen . --out collection --questions 300
    """
    from estante.evaluate.formats import write_beir
    from estante.evaluate.keeping import refuse_occupied
    from estante.evaluate.knownitem import known_items

    refuse_occupied(out)
    if questions is not None and questions < 1:
        raise SettingsError(f"--questions {questions} makes none", hint="Give 1 or more.")
    home = shelf if shelf is not None else call.home()
    documents = titled_of(home, asker, tuple(key or ()))
    made = known_items(documents, name=out.name, count=questions, seed=seed, least_words=min_words)
    out.mkdir(parents=True, exist_ok=True)
    write_beir(out, made.collection)
    told = _left_out(made)
    if call.out.json:
        held = {"questions": len(made.collection.questions), "documents": len(made.collection.sources or ())}
        call.out.value({"out": str(out), **held, "left_out": told})
        return
    held_line = (
        f"{counted(len(made.collection.questions), 'question')} of "
        f"{counted(len(made.collection.sources or ()), 'document')} in {one_line(str(out))}"
    )
    call.out.line(held_line)
    for what, count in told.items():
        if count:
            call.out.line(f"{count:,} {_LEFT[what]}", indent=2)


_LEFT: Final = {
    "repeated": "titles and headings left out: they stand in more than one document",
    "short": "left out: they are too short",
    "unchosen": "left out by --questions",
    "unwritable": "left out: the id of their document cannot be written in a table",
}


def _left_out(made: Made) -> dict[str, int]:
    return {name: getattr(made, name) for name in _LEFT}
