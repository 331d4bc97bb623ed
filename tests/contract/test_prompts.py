"""Declared prompts: which templates are legal, and what is rendered from one."""

from __future__ import annotations

import hashlib
import json
from dataclasses import FrozenInstanceError, fields, replace
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.contract import prompts
from estante.contract.errors import ConnectorContractError, ContractValueError, PromptTemplateError
from estante.contract.models import RetrievedChunk
from estante.contract.prompts import (
    CACHE_BREAKPOINT_POSITIONS,
    PROMPT_TEMPLATE_PLACEHOLDERS,
    PromptCacheBreakpoint,
    PromptMessage,
    PromptTemplate,
    RenderedPrompt,
    assert_one_shot,
    block_sha256,
    prompt_template_problems,
    render_numbered_rag_block,
    render_prompt,
    template_sha256,
    validate_prompt_template,
    validate_prompt_templates,
)

PLAIN = PromptTemplate("plain", "Answers from the block.", "Context:\n{rag_block}\n\nQ: {query}")


def problems(**changed: Any) -> list[str]:
    return prompt_template_problems(replace(PLAIN, **changed))


def only_problem(**changed: Any) -> str:
    [problem] = problems(**changed)
    return problem


def chunk(chunk_id: str | None, text: str) -> RetrievedChunk:
    return RetrievedChunk(chunk_id=chunk_id, text=text, score=None, rank=0)


# --- constants and values ------------------------------------------------------------------------------------------


def test_the_placeholders_and_the_positions_are_the_known_ones_in_order() -> None:
    assert PROMPT_TEMPLATE_PLACEHOLDERS == ("{rag_block}", "{query}")
    assert CACHE_BREAKPOINT_POSITIONS == ("none", "system_end", "before_rag_block", "after_rag_block")


def test_every_public_name_is_there() -> None:
    assert [name for name in prompts.__all__ if not hasattr(prompts, name)] == []


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (PromptTemplate, "id description template system cache_breakpoint decoding metadata"),
        (PromptMessage, "role content"),
        (PromptCacheBreakpoint, "position message_index char_offset"),
        (
            RenderedPrompt,
            "template_id template_sha256 messages query rag_block block_sha256 chunk_ids decoding cache_breakpoint"
            " metadata",
        ),
    ],
)
def test_the_fields_stand_in_the_order_of_the_contract(kind: Any, names: str) -> None:
    assert [one.name for one in fields(kind)] == names.split()


def test_a_template_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        PLAIN.id = "other"  # type: ignore[misc]


def test_a_template_as_a_dict_ends_with_its_fingerprint() -> None:
    told = replace(PLAIN, decoding=MappingProxyType({"temperature": 0})).to_dict()

    assert list(told) == "id description template system cache_breakpoint decoding metadata template_sha256".split()
    assert told["decoding"] == {"temperature": 0}
    assert told["template_sha256"] == PLAIN.template_sha256
    assert json.dumps(told)


# --- fingerprints --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "template", "expected"),
    [
        (
            None,
            "Context:\n{rag_block}\n\nQ: {query}",
            "5b466e5d5e3c1c2797cbc9b008cbab59209db7b6744fdaf9586028b76f19dad6",
        ),
        ("s", "é{rag_block}{query}", "1ecb24e1b585c2caef9cb6995b046a9da26883bf756702bb06ea14b2c5249e39"),
    ],
)
def test_the_fingerprint_of_a_template_is_the_known_one(system: str | None, template: str, expected: str) -> None:
    assert template_sha256(system=system, template=template) == expected
    assert PromptTemplate("a", "d", template, system).template_sha256 == expected


def test_what_is_said_about_a_template_is_no_part_of_its_fingerprint() -> None:
    other = PromptTemplate("b", "e", PLAIN.template, None, "after_rag_block", {"t": 1}, {"m": 1})

    assert other.template_sha256 == PLAIN.template_sha256


def test_what_a_model_is_told_is_the_fingerprint() -> None:
    others = [replace(PLAIN, system="s"), replace(PLAIN, system=""), replace(PLAIN, template=PLAIN.template + " ")]

    assert len({PLAIN.template_sha256, *(one.template_sha256 for one in others)}) == 4


@pytest.mark.parametrize("text", ["", "alpha", "ação 語 😀"])
def test_the_fingerprint_of_a_block_is_that_of_its_bytes(text: str) -> None:
    assert block_sha256(text) == hashlib.sha256(text.encode()).hexdigest()


def test_no_block_is_an_empty_one() -> None:
    assert block_sha256(None) == block_sha256("")


@pytest.mark.parametrize("text", ["a\ud800", 3, b"a"])
def test_what_is_no_text_has_no_fingerprint(text: Any) -> None:
    with pytest.raises(ContractValueError):
        block_sha256(text)
    with pytest.raises(ContractValueError):
        template_sha256(system=text, template="")
    with pytest.raises(ContractValueError):
        template_sha256(system=None, template=text)


# --- legal templates -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a", "0", "A.b_c-d", "v1.2", "x" * 64])
def test_an_id_of_up_to_64_plain_characters_is_legal(name: str) -> None:
    assert problems(id=name) == []


@pytest.mark.parametrize("name", ["", " ", "\n", None, 3])
def test_an_empty_id_is_a_problem(name: object) -> None:
    assert "'id' is empty" in only_problem(id=name)


@pytest.mark.parametrize("name", ["a b", "a\n", "\na", ".a", "-a", "_a", "á", "x" * 65, "a/b", "a\u200b", "٣"])
def test_another_id_is_not_a_stable_one(name: str) -> None:
    assert "not a stable id" in only_problem(id=name)


@pytest.mark.parametrize("description", ["", " \n", None, 3])
def test_an_empty_description_is_a_problem(description: object) -> None:
    assert "'description' is empty" in only_problem(description=description)


@pytest.mark.parametrize("template", ["", " \n", None, 3])
def test_an_empty_template_is_a_problem_and_ends_the_search(template: object) -> None:
    assert "'template' is empty" in only_problem(template=template, system="{x}", cache_breakpoint="nowhere")


@pytest.mark.parametrize("template", ["{query}", "{rag_block}{query}{rag_block}", "{rag_block }{query}"])
def test_the_block_must_stand_there_exactly_once(template: str) -> None:
    assert "{rag_block}" in only_problem(template=template)


def test_the_question_must_stand_there_and_may_do_so_twice() -> None:
    assert "{query}" in only_problem(template="{rag_block}")
    assert problems(template="{query} {rag_block} {query}") == []


def test_another_placeholder_is_unknown() -> None:
    assert "unknown placeholder {tone}" in only_problem(template="{rag_block}{query}{tone}{tone}")


def test_other_placeholders_are_told_once_each_sorted() -> None:
    told = problems(template="{rag_block}{query} {tone} {a1} {chat_history} {_b} {tone}")

    assert [next(name for name in ("{_b}", "{a1}", "{chat_history}", "{tone}") if name in one) for one in told] == [
        "{_b}",
        "{a1}",
        "{chat_history}",
        "{tone}",
    ]


@pytest.mark.parametrize(
    "name", ["history", "chat_history", "memory", "historico", "histórico_da_conversa", "mensagens", "conversa"]
)
@pytest.mark.parametrize("part", ["template", "system"])
def test_a_placeholder_for_a_conversation_is_conversation_history(name: str, part: str) -> None:
    text = f"{{rag_block}} {{query}} {{{name}}}" if part == "template" else f"Be brief. {{{name}}}"

    told = only_problem(**{part: text})

    assert "conversation history" in told
    assert f"{{{name}}}" in told
    assert "one-shot" in told


@pytest.mark.parametrize("name", ["rag\u200b_block", "que\u0301ry", "ｑｕｅｒｙ", "é", "to\u00adne"])
def test_a_placeholder_that_only_looks_like_one_of_the_two_is_unknown(name: str) -> None:
    assert "unknown placeholder" in only_problem(template=f"{{rag_block}}{{query}}{{{name}}}")


@pytest.mark.parametrize(
    "shape", ['{"answer": "..."}', "{'a': 1}", "{ x }", "{a b}", "{0}", "{}", "{a: 1}", "{a-b}", "{a.b}"]
)
def test_braces_around_anything_else_are_legal(shape: str) -> None:
    assert problems(template=f"{{rag_block}} {{query}} {shape}", system=f"Answer as {shape}.") == []


@pytest.mark.parametrize("name", ["{rag_block}", "{query}", "{name}", "{tone}"])
def test_a_placeholder_in_the_system_text_is_a_problem(name: str) -> None:
    told = only_problem(system=f"You help {name}.")

    assert "'system' contains" in told
    assert name in told


@pytest.mark.parametrize("system", [3, b"x", ["x"]])
def test_a_system_that_is_no_text_is_a_problem(system: object) -> None:
    assert "'system' is of type" in only_problem(system=system)


@pytest.mark.parametrize("mark", ["Assistant: hi", "Assistente: olá", "use the chat history", "<|im_start|>"])
def test_a_conversation_is_a_problem_in_the_template_and_in_the_system_text(mark: str) -> None:
    in_template, in_system = problems(template=f"{PLAIN.template}\n{mark}", system=f"Be brief.\n{mark}")

    assert "'template' contains" in in_template
    assert "'system' contains" in in_system
    assert "one-shot" in in_template
    assert "one-shot" in in_system


def test_all_problems_are_told_in_order() -> None:
    told = prompt_template_problems(
        PromptTemplate("a b", "", "{tone}\nBot: hi", "{x}\nBot: hi", "nowhere", 3, None)  # type: ignore[arg-type]
    )

    heads = [
        "'id'",
        "'description'",
        "'template' has {rag_block}",
        "'template' has no {query}",
        "'template' has the un",
    ]
    heads += ["'system' contains {x}", "'template' contains 'Bot:'", "'system' contains 'Bot:'", "'cache_breakpoint'"]
    heads += ["'decoding'", "'metadata'"]
    assert [one[: len(head)] for one, head in zip(told, heads, strict=True)] == heads


@pytest.mark.parametrize("part", ["description", "template", "system"])
def test_a_lone_surrogate_is_a_problem(part: str) -> None:
    assert "lone surrogate" in only_problem(**{part: "{rag_block}{query}\ud800" if part == "template" else "a\ud800"})


@pytest.mark.parametrize("value", [None, 5, "plain", {}, PromptTemplate])
def test_what_is_no_template_is_told_as_that_alone(value: object) -> None:
    [problem] = prompt_template_problems(value)

    assert type(value).__name__ in problem


# --- cache breakpoints ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("position", ["nowhere", "", None, "NONE", ["none"]])
def test_an_unknown_position_is_a_problem(position: object) -> None:
    assert "is not one of" in only_problem(cache_breakpoint=position)


@pytest.mark.parametrize("system", [None, "", " \n"])
def test_the_end_of_a_system_text_needs_one(system: str | None) -> None:
    assert "no system message" in only_problem(cache_breakpoint="system_end", system=system)
    assert problems(cache_breakpoint="system_end", system="Be brief.") == []


@pytest.mark.parametrize("position", ["before_rag_block", "after_rag_block"])
def test_a_prefix_with_the_question_in_it_is_a_problem_and_both_ways_out_are_told(position: str) -> None:
    told = only_problem(cache_breakpoint=position, template="Q: {query}\n{rag_block}")

    assert all(part in told for part in ("exact prefix", "NOT reordered for you", "variant", "cache_breakpoint='none'"))


@pytest.mark.parametrize("position", CACHE_BREAKPOINT_POSITIONS)
def test_a_block_before_the_question_may_have_any_breakpoint(position: str) -> None:
    assert problems(cache_breakpoint=position, template="{rag_block} {query}", system="Be brief.") == []


def test_no_breakpoint_is_fine_whatever_stands_first() -> None:
    assert problems(template="{query} {rag_block}") == []


# --- raising -------------------------------------------------------------------------------------------------------


def test_a_legal_template_passes_both_checks() -> None:
    PLAIN.validate()
    validate_prompt_template(PLAIN)


def test_both_checks_tell_every_problem() -> None:
    wrong = PromptTemplate("a b", "", "")

    for check in (wrong.validate, lambda: validate_prompt_template(wrong)):
        with pytest.raises(
            PromptTemplateError, match=r"'a b' .*not a stable id.*'description' is empty.*'template' is"
        ):
            check()


def test_the_error_of_a_template_is_one_of_the_contract() -> None:
    with pytest.raises(ConnectorContractError):
        validate_prompt_template("text")


def test_a_list_of_templates_comes_back_as_a_tuple() -> None:
    other = replace(PLAIN, id="other")

    assert validate_prompt_templates([PLAIN, other]) == (PLAIN, other)


@pytest.mark.parametrize(
    ("templates", "told"),
    [
        ([], "at least one"),
        ([PLAIN, "text"], r"\[1\] is of type str"),
        ([PLAIN, replace(PLAIN, id="b"), PLAIN], "'plain' twice, at 0 and at 2"),
        ([replace(PLAIN, description="")], "'description' is empty"),
        (None, "NoneType"),
        (PLAIN, "PromptTemplate"),
        ("text", "str"),
        ({"plain": PLAIN}, "dict"),
    ],
)
def test_a_list_of_templates_that_is_not_legal_is_refused(templates: Any, told: str) -> None:
    with pytest.raises(PromptTemplateError, match=told):
        validate_prompt_templates(templates)


# --- the numbered block --------------------------------------------------------------------------------------------


def test_chunks_are_numbered_with_their_ids() -> None:
    block = render_numbered_rag_block([chunk("a", "alpha"), chunk("b", "beta")])

    assert block == "[1] chunk_id=a\nalpha\n\n[2] chunk_id=b\nbeta"


def test_chunks_may_be_numbered_alone() -> None:
    block = render_numbered_rag_block(iter([chunk("a", "alpha"), chunk("b", "beta")]), include_chunk_ids=False)

    assert block == "[1]\nalpha\n\n[2]\nbeta"


def test_a_chunk_without_an_id_is_given_none() -> None:
    assert render_numbered_rag_block([chunk(None, "alpha")]) == "[1]\nalpha"


def test_no_chunks_are_an_empty_block() -> None:
    assert render_numbered_rag_block([]) == ""


# --- rendering -----------------------------------------------------------------------------------------------------


def test_a_prompt_holds_all_that_it_was_made_from() -> None:
    template = replace(PLAIN, system="Be brief.", decoding={"temperature": 0})

    prompt = render_prompt(template, query="why?", rag_block="alpha", chunk_ids=["a", 2], metadata={"run": 1})  # type: ignore[list-item]

    assert prompt == RenderedPrompt(
        template_id="plain",
        template_sha256=template.template_sha256,
        messages=(PromptMessage("system", "Be brief."), PromptMessage("user", "Context:\nalpha\n\nQ: why?")),
        query="why?",
        rag_block="alpha",
        block_sha256=block_sha256("alpha"),
        chunk_ids=("a", "2"),
        decoding={"temperature": 0},
        cache_breakpoint=None,
        metadata={"run": 1},
    )


def test_a_prompt_shares_no_dict_with_its_template() -> None:
    template = replace(PLAIN, decoding={"temperature": 0})

    assert render_prompt(template, query="", rag_block="").decoding is not template.decoding


def test_what_is_filled_in_is_not_filled_in_again() -> None:
    template = replace(PLAIN, template="{query} {{rag_block}} {query}")

    prompt = render_prompt(template, query="{rag_block}{query}{0}%s", rag_block="{query}{rag_block}")

    assert prompt.user_message.content == "{rag_block}{query}{0}%s {{query}{rag_block}} {rag_block}{query}{0}%s"


@given(query=st.text(), block=st.text())
def test_rendering_is_literal(query: str, block: str) -> None:
    template = replace(PLAIN, template="<{query}|{rag_block}|{query}>")

    prompt = render_prompt(template, query=query, rag_block=block)

    assert prompt.user_message.content == f"<{query}|{block}|{query}>"


@pytest.mark.parametrize("system", [None, "", " \n"])
def test_a_blank_system_text_is_no_message(system: str | None) -> None:
    prompt = render_prompt(replace(PLAIN, system=system), query="why?", rag_block="alpha")

    assert prompt.system_message is None
    assert [message.role for message in prompt.messages] == ["user"]


def test_the_text_of_a_prompt_has_a_blank_line_between_its_messages() -> None:
    prompt = render_prompt(replace(PLAIN, system=" s "), query="q", rag_block="b")

    assert prompt.text == " s \n\nContext:\nb\n\nQ: q"


def test_a_block_may_hold_a_conversation() -> None:
    assert render_prompt(PLAIN, query="What did the bot say?", rag_block="User: hi\nAssistant: hello")


def test_a_template_that_is_not_legal_is_not_rendered() -> None:
    with pytest.raises(PromptTemplateError, match=r"unknown placeholder \{tone\}"):
        render_prompt(replace(PLAIN, template="{rag_block}{query}{tone}"), query="", rag_block="")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"query": None}, "'query' is of type NoneType"),
        ({"rag_block": None}, "'rag_block' is of type NoneType"),
        ({"rag_block": b"a"}, "'rag_block' is of type bytes"),
        ({"rag_block": "\ud800"}, "lone surrogate"),
        ({"chunk_ids": "ab"}, "'chunk_ids' is one text"),
    ],
)
def test_what_is_no_text_is_not_rendered(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ContractValueError, match=told):
        render_prompt(PLAIN, **{"query": "q", "rag_block": "b", **given})


@pytest.mark.parametrize(
    ("position", "expected", "prefix"),
    [
        ("none", None, None),
        ("system_end", PromptCacheBreakpoint("system_end", 0, 5), "Olá 😀"),
        ("before_rag_block", PromptCacheBreakpoint("before_rag_block", 1, 2), "Olá 😀é "),
        ("after_rag_block", PromptCacheBreakpoint("after_rag_block", 1, 6), "Olá 😀é 語1{}"),
    ],
)
def test_the_breakpoint_counts_characters(position: str, expected: object, prefix: str | None) -> None:
    template = PromptTemplate("a", "d", "é {rag_block} {query}", "Olá 😀", position)

    prompt = render_prompt(template, query="q", rag_block="語1{}")

    assert prompt.cache_breakpoint == expected
    assert prompt.cacheable_prefix() == prefix


@pytest.mark.parametrize("position", ["before_rag_block", "after_rag_block"])
def test_without_a_system_text_the_breakpoint_is_in_the_first_message(position: str) -> None:
    prompt = render_prompt(replace(PLAIN, cache_breakpoint=position), query="q", rag_block="b")

    assert prompt.cache_breakpoint is not None
    assert prompt.cache_breakpoint.message_index == 0


@given(first=st.text("ab{}query", max_size=9), second=st.text("ab{}query", max_size=9))
def test_the_prefix_is_the_same_for_every_question(first: str, second: str) -> None:
    template = replace(PLAIN, system="Be brief.", cache_breakpoint="after_rag_block")

    one, other = (render_prompt(template, query=query, rag_block="{query}") for query in (first, second))

    assert one.cacheable_prefix() == other.cacheable_prefix() == "Be brief.Context:\n{query}"


def test_a_prompt_as_a_dict_has_its_ten_fields_and_is_json() -> None:
    template = replace(PLAIN, system="s", cache_breakpoint="after_rag_block", decoding=MappingProxyType({"t": 0}))

    told = render_prompt(template, query="q", rag_block="b", chunk_ids=["a"]).to_dict()

    assert list(told) == [one.name for one in fields(RenderedPrompt)]
    assert told["messages"][0] == {"role": "system", "content": "s"}
    assert told["cache_breakpoint"] == {"position": "after_rag_block", "message_index": 1, "char_offset": 10}
    assert json.loads(json.dumps(told)) == told


def test_a_prompt_without_a_user_message_says_so() -> None:
    prompt = RenderedPrompt("a", "h", (PromptMessage("system", "s"),), "q", "b", "h")

    with pytest.raises(PromptTemplateError, match="no user message"):
        _ = prompt.user_message


# --- one shot ------------------------------------------------------------------------------------------------------


def messages(roles: str) -> list[PromptMessage]:
    return [PromptMessage(role, "x") for role in roles.split()]


@pytest.mark.parametrize("roles", ["user", "system user"])
def test_one_question_is_one_shot(roles: str) -> None:
    assert_one_shot(messages(roles))


@pytest.mark.parametrize(
    ("roles", "told"),
    [
        ("user assistant user", "assistant turn"),
        ("assistant", "assistant turn"),
        ("tool assistant system system", "assistant turn"),
        ("", "0 user message"),
        ("system", "0 user message"),
        ("user user", "2 user message"),
        ("system user system user tool", "2 user message"),
        ("system system user", "2 system messages"),
        ("user system", "system message follows"),
        ("user tool", "'tool'"),
        ("user Assistant", "'Assistant'"),
        ("developer user", "'developer'"),
    ],
)
def test_other_roles_are_refused_and_the_first_reason_is_told(roles: str, told: str) -> None:
    with pytest.raises(PromptTemplateError, match=told):
        assert_one_shot(messages(roles))


@pytest.mark.parametrize("message", [{"role": "user", "content": "x"}, "user", None, SimpleNamespace(role=None)])
def test_what_is_no_message_is_refused(message: Any) -> None:
    with pytest.raises(PromptTemplateError, match=f"message 0 is of type {type(message).__name__}"):
        assert_one_shot([message])
