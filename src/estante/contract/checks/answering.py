"""Checks of answers: written by the pipeline itself, or from prompts that it declares."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from estante.contract.capabilities import DECLARED_PROMPT_METHODS
from estante.contract.checks.attempts import Attempt, attempt, kind, listed, shown, text, told
from estante.contract.checks.facts import question
from estante.contract.checks.probes import Probe
from estante.contract.checks.pulls import corpus
from estante.contract.checks.rules import Outcome, Rule, counted, failed, passed, skipped, warned
from estante.contract.models import GeneratedAnswer, RetrievedChunk
from estante.contract.prompts import PromptTemplate, RenderedPrompt, prompt_template_problems, render_prompt

_HEAD: Final = 24
"""Characters at the head of a chunk's text by which it is recognised in a block."""

_OTHER_QUESTION: Final = "quite another question, about something else?"

_ANSWER_FIX: Final = (
    "Give a GeneratedAnswer with hydrated_prompt filled and a trace of the very call that was made, which is JSON."
)


def template_problems(templates: Sequence[Any]) -> list[str]:
    """Everything that is wrong with declared prompts, a line each."""
    problems: list[str] = []
    first: dict[str, int] = {}
    for at, template in enumerate(templates):
        if not isinstance(template, PromptTemplate):
            problems.append(f"entry {at} is of type {kind(template)}, not PromptTemplate")
            continue
        name = text(template.id, 80)
        problems += [f"{name}: {one}" for one in prompt_template_problems(template)]
        if name in first:
            problems.append(f"{name}: entries {first[name]} and {at} have the same id")
        first.setdefault(name, at)
    return problems


def _generate(probe: Probe) -> Outcome:
    if not probe.supports("generate"):
        return skipped("not offered: the pipeline retrieves, and writes no answers")
    done = probe.call("generate", question(probe), top_k=probe.setting.top_k)
    if done.error is not None:
        return warned(
            f"generate() raised {told(done.error)}",
            "If a model has to be configured first, that is well. A failure while answering is returned as "
            "GeneratedAnswer(error=...), so that a run records it.",
        )
    answer = done.value
    if not isinstance(answer, GeneratedAnswer):
        return failed(f"generate() gave {kind(answer)}, not a GeneratedAnswer", "Give a GeneratedAnswer.")
    strange = attempt(lambda: [one for one in answer.citations if not isinstance(one, str)])
    if strange.error is not None or strange.value:
        return warned("citations are not all texts", "Let citations be a list of chunk ids.")
    if answer.error is not None:
        return passed(f"the failure was returned as an error, as it should be: {text(answer.error, 120)}")
    return passed(f"an answer of {len(text(answer.answer))} characters, {counted(len(answer.citations), 'citation')}")


def _prompts(probe: Probe) -> Outcome:
    present = [name for name in DECLARED_PROMPT_METHODS if probe.supports(name)]
    if not present:
        return skipped("not offered: no prompts are declared")
    missing = [name for name in DECLARED_PROMPT_METHODS if name not in present]
    if missing:
        return failed(
            f"{', '.join(present)} is there, but {', '.join(missing)} is missing",
            "Offer all three methods or none: with a part of them a host has prompts that nothing answers.",
        )
    done = probe.call("prompt_templates")
    templates: Any = attempt(listed, done.value).value
    if done.error is not None or not isinstance(templates, list) or not templates:
        what = f"raised {told(done.error)}" if done.error is not None else f"gave {shown(done.value)}"
        fix = "Give at least one template. Whoever declares none leaves the method out."
        return failed(f"prompt_templates() {what}", fix)
    problems = template_problems(templates)
    if problems:
        return failed(
            [f"{counted(len(templates), 'prompt')} declared, each of which must be a one-shot prompt", *problems],
            "Mend the templates: one {rag_block}, a {query}, no other placeholder, no conversation, and a cache "
            "breakpoint that can be reached.",
        )
    return _rendered(probe, templates)


def _rendered(probe: Probe, templates: list[PromptTemplate]) -> Outcome:
    """The row once the templates are sound: the block, then the prompts, then an answer."""
    supplied = [
        RetrievedChunk(chunk.chunk_id, chunk.text, None, at, chunk.doc_id)
        for at, chunk in enumerate(corpus(probe).chunks[: max(1, probe.setting.top_k)])
    ]
    details = [f"{counted(len(templates), 'prompt')} declared: {', '.join(shown(one.id) for one in templates)}"]
    done = probe.call("render_rag_block", supplied)
    block = done.value
    if done.error is not None or not isinstance(block, str) or not block.strip():
        what = f"raised {told(done.error)}" if done.error is not None else f"gave {shown(block)}"
        fix = "Give the supplied chunks as the text that stands in your prompts."
        return failed([*details, f"render_rag_block() {what}"], fix)
    details.append(f"render_rag_block() gave {len(block)} characters for {counted(len(supplied), 'chunk')}")
    if not any(head in block for one in supplied if (head := one.text[:_HEAD])):
        return warned(
            [*details, "none of the supplied texts stands in the block"],
            "Put the chunks' texts into the block: an answer is held against what was supplied.",
        )
    prompts: list[RenderedPrompt] = []
    for template in templates:
        prompt, detail, problem = _render(template, question(probe), block, supplied)
        if prompt is None or problem:
            fix = "Mend the template, so that it renders with any question and its prefix stays the same."
            return failed([*details, f"{shown(template.id)}: {problem}"], fix)
        prompts.append(prompt)
        details.append(f"{shown(template.id)}: {detail}")
    return _answered(probe, prompts[0], supplied, details)


def _render(
    template: PromptTemplate, asked: str, block: str, supplied: list[RetrievedChunk]
) -> tuple[RenderedPrompt | None, str, str]:
    """The prompt, what can be told of it, and what is wrong with it."""
    ids = [text(one.chunk_id) for one in supplied]
    done = attempt(render_prompt, template, query=asked, rag_block=block, chunk_ids=ids)
    if done.error is not None:
        return None, "", f"cannot be rendered: {told(done.error)}"
    prompt: RenderedPrompt = done.value
    content = prompt.user_message.content
    for what, part in (("block", block), ("question", asked)):
        if part not in content:
            return prompt, "", f"the {what} is not in the user message"
    point = prompt.cache_breakpoint
    if point is None:
        return prompt, "no cache breakpoint, which is legal", ""
    other = attempt(render_prompt, template, query=_OTHER_QUESTION, rag_block=block, chunk_ids=ids)
    prefix = prompt.cacheable_prefix()
    if other.error is not None or other.value.cacheable_prefix() != prefix:
        return prompt, "", "what stands before the cache breakpoint changes with the question"
    return prompt, f"cache breakpoint {point.position!r} after {len(prefix or '')} characters that stay the same", ""


def _answered(probe: Probe, prompt: RenderedPrompt, supplied: list[RetrievedChunk], details: list[str]) -> Outcome:
    done = probe.call("generate_from_prompt", prompt, contexts=supplied)
    if done.error is not None:
        return warned(
            [*details, f"generate_from_prompt() raised {told(done.error)}"],
            "If a model has to be configured first, that is well. A failure while answering is returned as "
            "GeneratedAnswer(error=...), its trace attached.",
        )
    if not isinstance(done.value, GeneratedAnswer):
        return failed([*details, f"generate_from_prompt() gave {kind(done.value)}, not a GeneratedAnswer"], _ANSWER_FIX)
    problems = list(_trace_problems(done, prompt))
    if problems:
        return failed([*details, *problems], _ANSWER_FIX)
    return passed(*details, "the trace is of the prompt that was given")


def _trace_problems(done: Attempt, prompt: RenderedPrompt) -> Iterator[str]:
    trace, answer = done.value.trace, done.value
    if trace is None:
        yield "GeneratedAnswer.trace is None"
    else:
        if attempt(lambda: trace.template_sha256).value != prompt.template_sha256:
            yield "the trace has a different template hash than the prompt that was given"
        if attempt(lambda: trace.block_sha256).value != prompt.block_sha256:
            yield "the trace has a different hash of the block than the prompt that was given"
        if not attempt(lambda: len(trace.messages)).value:
            yield "the trace has no messages"
        written = attempt(lambda: json.dumps(trace.to_dict(), allow_nan=False))
        if written.error is not None:
            yield f"the trace is no JSON: {told(written.error)}"
    if not answer.hydrated_prompt:
        yield "hydrated_prompt is empty; the trace stands beside it, not in its place"


RULES: Final = (
    Rule(
        "generate",
        "generate() -- optional answer-generation path",
        "An answer is a GeneratedAnswer with ids for citations, and a failure while answering is returned within it.",
        "Return failures as GeneratedAnswer(error=...).",
        _generate,
    ),
    Rule(
        "declared-prompts",
        "Declared prompt templates -- optional fixed-context generation path",
        "Declared prompts are legal, render with any question, and are answered with a trace of that very prompt.",
        "Offer all three methods; mend the templates; return the trace and the hydrated prompt.",
        _prompts,
    ),
)
