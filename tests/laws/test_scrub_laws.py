"""What holds of scrubbing, whatever the text."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from estante.security.scrub import mask, scrub, scrub_value

TOKEN = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA2cD4eF6"
secrets = st.sampled_from(
    [
        TOKEN,
        "AKIAQ3EGRT5YH7JK9LMN",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r",
        "glpat-aB3dE5gH7jK9mN1pabcd",
        "AIzaSyaB3dE5gH7jK9mN1pQ3sT5vW7xY9zA2cD4",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\n-----END PRIVATE KEY-----",
    ]
)
bits = st.sampled_from(
    [
        "senha: ",
        "password=",
        "token",
        "://",
        "u:",
        "p4ss@",
        "host/",
        "Bearer ",
        "eyJ",
        ".",
        "-----BEGIN ",
        "PRIVATE KEY-----",
        "\n",
        " ",
        '"',
        "'",
        "█",
        "\u200b",
        "İ",
        "é",
        "abc123",
        "Casa@2024",
        "é ",
        "=",
        ":",
        "sk-",
        "aB3dE5gH7jK9mN1pQ3sT",
        "&",
        "xoxb-",
        "cookie: a=",
    ]
)
texts = st.lists(st.one_of(bits, secrets, st.text(max_size=8)), max_size=25).map("".join)


@given(texts)
def test_scrubbing_keeps_length_and_line_breaks(text: str) -> None:
    clean, _ = scrub(text)

    assert len(clean) == len(text)
    assert [n for n, char in enumerate(clean) if char == "\n"] == [n for n, char in enumerate(text) if char == "\n"]


@given(texts)
def test_scrubbing_again_changes_nothing(text: str) -> None:
    clean, _ = scrub(text)

    assert scrub(clean) == (clean, ())


@given(texts)
def test_redactions_are_in_order_apart_and_say_exactly_what_changed(text: str) -> None:
    clean, redactions = scrub(text)

    assert all(earlier.span.end <= later.span.start for earlier, later in pairwise(redactions))
    rebuilt, last = "", 0
    for redaction in redactions:
        start, end = redaction.span.start, redaction.span.end
        rebuilt += text[last:start] + mask(text[start:end])
        last = end
    assert clean == rebuilt + text[last:]


@given(st.text(max_size=40), secrets, st.text(max_size=40))
def test_a_secret_is_masked_wherever_it_stands(before: str, secret: str, after: str) -> None:
    clean, _ = scrub(f"{before} {secret} {after}")

    assert secret not in clean


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), texts),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
        max_leaves=8,
    )
)
def test_scrubbing_metadata_again_changes_nothing(value: object) -> None:
    clean = scrub_value(value)

    assert scrub_value(clean) == clean
