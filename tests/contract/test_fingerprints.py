"""Fingerprints, digit by digit: stored ones are compared with them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.contract.errors import ConnectorError, ContractValueError
from estante.contract.fingerprints import (
    corpus_fingerprint,
    document_source_fingerprint,
    document_source_identity,
    embedding_fingerprint,
    embedding_fingerprint_payload,
)

ROWS = [
    {"source_identity": "b", "relative_path": "B", "file_type": "md", "source_fingerprint": "2"},
    {"source_identity": "a", "relative_path": "A", "file_type": "txt", "source_fingerprint": "1"},
]


# --- identity ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "identity"),
    [
        ("Archive/Booking_Policy.MD", "archive/booking_policy.md"),
        ("Straße/ÉX.MD", "strasse/éx.md"),
        ("a.txt", "a.txt"),
        ("Zone\\Ficha.md", "zone/ficha.md"),
        # Composed and decomposed letters stay what they are.
        ("e\u0301.md", "e\u0301.md"),
    ],
)
def test_an_identity_is_the_relative_path_with_case_folded(tmp_path: Path, name: str, identity: str) -> None:
    assert document_source_identity(str(tmp_path), str(tmp_path / name)) == identity


def test_a_file_outside_is_known_by_its_base_name(tmp_path: Path) -> None:
    assert document_source_identity(tmp_path / "library", tmp_path / "elsewhere" / "Note.MD") == "note.md"


def test_a_folder_whose_name_only_begins_alike_is_outside(tmp_path: Path) -> None:
    assert document_source_identity(tmp_path / "lib", tmp_path / "library" / "deep" / "a.md") == "a.md"


def test_a_link_is_followed_before_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("x", "utf-8")
    (tmp_path / "alias.md").symlink_to(tmp_path / "real.md")
    (tmp_path / "door").symlink_to(tmp_path, target_is_directory=True)

    assert document_source_identity(tmp_path, tmp_path / "alias.md") == "real.md"
    assert document_source_identity(tmp_path / "door", tmp_path / "real.md") == "real.md"


def test_a_link_that_leads_out_of_the_folder_keeps_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_text("x", "utf-8")
    (tmp_path / "library" / "deep").mkdir(parents=True)
    (tmp_path / "library" / "deep" / "Leave.MD").symlink_to(tmp_path / "elsewhere.md")

    identity = document_source_identity(tmp_path / "library", tmp_path / "library" / "deep" / "Leave.MD")

    assert identity == "leave.md"


def test_dots_in_a_path_do_not_count(tmp_path: Path) -> None:
    assert document_source_identity(tmp_path, tmp_path / "a" / ".." / "b.md") == "b.md"


# --- source -----------------------------------------------------------------------------------------------------


def test_a_source_fingerprint_is_the_one_of_the_contract() -> None:
    assert (
        document_source_fingerprint("md", "hello") == "142d19a76dc6e0ddfe7a47a54fb5d447293d83929c4d5b4fdcf63156480b03fa"
    )


@pytest.mark.parametrize("nothing", [None, ""])
def test_a_source_of_nothing_is_a_lone_border(nothing: str | None) -> None:
    assert document_source_fingerprint(nothing, nothing) == hashlib.sha256(b"\0").hexdigest()


def test_type_and_text_do_not_run_together() -> None:
    assert document_source_fingerprint("md", "x") != document_source_fingerprint("m", "dx")


def test_a_text_that_is_none_is_refused_without_showing_it() -> None:
    with pytest.raises(ConnectorError, match="text of a source has a lone surrogate at character 7") as caught:
        document_source_fingerprint("md", "segredo\ud800")

    assert isinstance(caught.value, ValueError)
    assert "segredo" not in str(caught.value)


# --- corpus -----------------------------------------------------------------------------------------------------


def test_the_fingerprint_of_no_sources_is_that_of_nothing() -> None:
    assert corpus_fingerprint([]) == hashlib.sha256().hexdigest()


def test_a_corpus_fingerprint_is_the_one_of_the_contract() -> None:
    assert corpus_fingerprint(ROWS) == "d19c594282a099b10560cd8fe975251e3a8d2b20ad4479898ac6afb56ad2fa99"


def test_rows_may_come_in_any_order_and_from_any_iterable() -> None:
    assert corpus_fingerprint(iter(ROWS[::-1])) == corpus_fingerprint(ROWS)


def test_rows_of_one_identity_keep_their_order() -> None:
    one, other = ({**row, "source_identity": "same"} for row in ROWS)

    assert corpus_fingerprint([one, other]) != corpus_fingerprint([other, one])


def test_the_identity_orders_and_is_not_counted() -> None:
    renamed = [{**row, "source_identity": f"x{row['source_identity']}"} for row in ROWS]

    assert corpus_fingerprint(renamed) == corpus_fingerprint(ROWS)


@pytest.mark.parametrize("name", ["relative_path", "file_type", "source_fingerprint"])
def test_every_other_field_counts(name: str) -> None:
    assert corpus_fingerprint([{**ROWS[0], name: "other"}, ROWS[1]]) != corpus_fingerprint(ROWS)


@pytest.mark.parametrize("row", [{}, {"relative_path": None}, {"source_identity": None, "file_type": ""}])
def test_what_is_missing_is_empty(row: dict[str, str | None]) -> None:
    assert corpus_fingerprint([row]) == hashlib.sha256(b"\0\0\0").hexdigest()


def test_an_identity_that_is_none_orders_like_one_that_is_missing() -> None:
    assert corpus_fingerprint([{**ROWS[0], "source_identity": None}, ROWS[1]]) == corpus_fingerprint(
        [{key: value for key, value in ROWS[0].items() if key != "source_identity"}, ROWS[1]]
    )


def test_a_field_that_is_no_string_is_refused_by_name() -> None:
    with pytest.raises(ConnectorError, match="file_type of a source must be a string, not int"):
        corpus_fingerprint([{**ROWS[0], "file_type": 3}])


@given(st.lists(st.tuples(st.text(), st.text(), st.text()), unique_by=lambda row: row[0]), st.randoms())
def test_order_never_counts_where_identities_differ(rows: list[tuple[str, str, str]], random: Random) -> None:
    manifest = [{"source_identity": one, "relative_path": two, "file_type": three} for one, two, three in rows]
    shuffled = [*manifest]
    random.shuffle(shuffled)

    assert corpus_fingerprint(shuffled) == corpus_fingerprint(manifest)


# --- embedding --------------------------------------------------------------------------------------------------

BGE = {"provider": "fastembed", "model": "BAAI/bge-small-en-v1.5", "dimensions": 384}


def test_an_embedding_fingerprint_is_the_one_of_the_contract() -> None:
    assert (
        embedding_fingerprint(**BGE)  # type: ignore[arg-type]
        == "e7a794a29253254c645ed3dca24c358917c6f3d68332c648bf718b6c5aa796f5"
    )


def test_the_payload_holds_these_keys_and_no_other() -> None:
    assert embedding_fingerprint_payload(provider="p", model="m", dimensions=3, model_version="7") == {
        "version": 1,
        "provider": "p",
        "model": "m",
        "model_version": "7",
        "configured_dimension": 3,
        "vector_dimension": 3,
        "normalize": True,
        "adapter": "rag-eval.embedding_client.v1",
        "query_purpose": "query",
        "document_purpose": "document",
    }


@pytest.mark.parametrize(
    "change",
    [{"provider": "x"}, {"model": "x"}, {"dimensions": 3}, {"normalize": False}, {"model_version": "2"}],
    ids=str,
)
def test_whatever_changes_the_space_changes_its_fingerprint(change: dict[str, object]) -> None:
    assert embedding_fingerprint(**{**BGE, **change}) != embedding_fingerprint(**BGE)  # type: ignore[arg-type]


def test_unknown_is_neither_normalised_nor_not() -> None:
    told = {embedding_fingerprint(**BGE, normalize=value) for value in (True, False, None)}  # type: ignore[arg-type]

    assert len(told) == 3


def test_a_model_is_told_by_its_name_in_any_alphabet() -> None:
    assert embedding_fingerprint(provider="p", model="é", dimensions=None) == embedding_fingerprint(
        provider="p", model="\u00e9", dimensions=None
    )
    assert embedding_fingerprint(provider="p", model="\ud800", dimensions=None)


def test_an_identity_that_is_no_text_is_refused() -> None:
    with pytest.raises(ContractValueError, match="the source_identity of a source must be a string, not int"):
        corpus_fingerprint([{"source_identity": 1}, {"source_identity": "a"}])
