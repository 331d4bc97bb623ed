"""The encoder of a service, against a real one on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import estante
from estante.contract.references import SecretText
from estante.index.encoders import openai
from estante.index.encoders.openai import OpenAIEncoder
from estante.model.errors import ContractBroken, Denied, EstanteError, SettingsError, Unavailable
from estante.shelf.settings import load
from tests.index.encoders.tiny import Service, service

KEY = SecretText("sk-not-a-real-key")
Answer = tuple[int, dict[str, str], bytes]


@pytest.fixture
def here() -> Iterator[Service]:
    with service() as told:
        yield told


def made(here: Service, **options: object) -> OpenAIEncoder:
    encoder = OpenAIEncoder("words", **{"url": here.url, "dimensions": 12, "api_key": KEY, **options})
    waits: list[float] = []
    encoder._wait = waits.append
    encoder.waits = waits  # type: ignore[attr-defined]
    return encoder


def test_vectors_stand_in_the_order_of_the_texts(here: Service) -> None:
    rows = made(here).passages(["um", "dois", "", "três"])

    alone = [made(here).passages([text])[0] for text in ("um", "dois", "", "três")]
    assert np.allclose(rows, alone)
    assert not rows[2].any()


def test_a_blank_text_is_not_sent(here: Service) -> None:
    made(here).passages(["", " "])

    assert here.requests == []


def test_the_key_and_the_prefixes_are_sent(here: Service) -> None:
    encoder = made(here, query="search_query: ", passage="search_document: ")
    encoder.passages(["a"])
    encoder.queries(["b"])

    assert [one["input"] for one in here.requests] == [["search_document: a"], ["search_query: b"]]
    assert here.requests[0]["model"] == "words"
    assert set(here.keys) == {f"Bearer {KEY}"}


def test_without_a_key_none_is_sent(here: Service) -> None:
    made(here, api_key="").passages(["a"])

    assert here.keys == [""]


def test_a_batch_has_a_limit_of_texts(here: Service) -> None:
    made(here, batch=2).passages(list("abcde"))

    assert [one["input"] for one in here.requests] == [["a", "b"], ["c", "d"], ["e"]]


def test_a_batch_has_a_limit_of_characters(here: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai, "BATCH_CHARACTERS", 10)

    made(here).passages(["a" * 6, "b" * 6, "c" * 4])

    assert [len(one["input"]) for one in here.requests] == [1, 2]


def test_a_long_text_is_cut(here: Service) -> None:
    made(here).passages(["a " * openai.CHARACTERS])

    [sent] = here.requests[0]["input"]
    assert len(sent) == openai.CHARACTERS


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_service_is_asked_again(here: Service, status: int) -> None:
    here.answers = [(status, {}, b"busy"), (status, {}, b"busy")]
    encoder = made(here)

    assert encoder.passages(["a"]).any()
    assert (len(here.requests), len(encoder.waits)) == (3, 2)
    assert all(0 < pause <= 0.5 * 2**n for n, pause in enumerate(encoder.waits))


def test_the_service_says_how_long_to_wait_within_bounds(here: Service) -> None:
    here.answers = [
        (429, {"Retry-After": "2"}, b""),
        (429, {"Retry-After": "9999"}, b""),
        (429, {"Retry-After": "x"}, b""),
    ]
    encoder = made(here)
    encoder.passages(["a"])

    assert encoder.waits[:2] == [2.0, openai.LONGEST_WAIT]
    assert encoder.waits[2] <= 2


def test_two_clients_do_not_come_back_at_the_same_moment() -> None:
    assert len({openai._pause(3, "") for _ in range(20)}) > 10


def test_a_service_that_stays_busy_is_away(here: Service) -> None:
    here.answers = [(503, {}, b"")] * 3

    with pytest.raises(Unavailable, match="answered 503, 3 times"):
        made(here, retries=2).passages(["a"])


def test_a_service_that_is_not_there_is_away() -> None:
    encoder = OpenAIEncoder("words", url="http://127.0.0.1:9/v1", dimensions=3, retries=0)

    with pytest.raises(Unavailable, match="did not answer"):
        encoder.passages(["a"])


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_told_by_its_reference_alone(here: Service, status: int) -> None:
    here.answers = [(status, {}, f"wrong key {KEY}".encode())]

    with pytest.raises(Denied, match=str(status)) as caught:
        made(here).passages(["a"])

    assert "api_key" in caught.value.hint
    assert len(here.requests) == 1


@pytest.mark.parametrize("status", [400, 404, 422])
def test_a_request_that_is_refused_is_not_repeated(here: Service, status: int) -> None:
    here.answers = [(status, {}, b"segredo")]

    with pytest.raises(SettingsError, match=str(status)):
        made(here).passages(["a"])
    assert len(here.requests) == 1


def test_a_redirect_is_not_followed(here: Service) -> None:
    here.answers = [(307, {"Location": "http://elsewhere.example/v1/embeddings"}, b"")]

    with pytest.raises(SettingsError, match="307"):
        made(here).passages(["a"])


@pytest.mark.parametrize(
    "body",
    [
        b"not json",
        b"[]",
        b'{"data": []}',
        b'{"data": null}',
        b'{"data": [{"index": 0, "embedding": [1.0]}]}',
        b'{"data": [{"index": 7, "embedding": [0,0,0,0,0,0,0,0,0,0,0,1]}]}',
        b'{"data": [{"index": 0, "embedding": [NaN,0,0,0,0,0,0,0,0,0,0,1]}]}',
        b'{"data": [{"index": 0, "embedding": "AAAA"}]}',
        b" " * 200_000,
    ],
)
def test_an_answer_that_is_none_is_refused(here: Service, body: bytes) -> None:
    here.answers = [(200, {}, body)]

    with pytest.raises(ContractBroken, match=r"127\.0\.0\.1"):
        made(here).passages(["a"])


@pytest.mark.parametrize("answer", [(401, {}, b""), (400, {}, b""), (503, {}, b""), (200, {}, b"{}")])
def test_no_error_shows_the_key_or_a_text(here: Service, answer: Answer) -> None:
    here.answers = [answer]
    encoder = made(here, retries=0)

    with pytest.raises(EstanteError) as caught:
        encoder.passages(["texto reservado"])

    told = f"{caught.value.message} {caught.value.hint} {caught.value!r} {encoder!r} {encoder.space}"
    assert KEY.removeprefix("sk-") not in told
    assert "reservado" not in told


@pytest.mark.parametrize(
    "url",
    [
        "http://embeddings.example.org/v1",
        "ftp://127.0.0.1/v1",
        "embeddings",
        "https://",
        "https://user:pass@example.org/v1",
        "https://example.org/v1?key=abc",
        "https://example.org:port/v1",
    ],
)
def test_an_address_that_texts_are_not_sent_to_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="url") as caught:
        OpenAIEncoder("words", url=url, dimensions=3)

    assert "pass@" not in caught.value.message


def test_the_dimensions_of_known_models_need_not_be_told() -> None:
    assert OpenAIEncoder("text-embedding-3-small").space.dimensions == 1_536


def test_the_dimensions_of_others_must_be_told(here: Service) -> None:
    with pytest.raises(SettingsError, match="dimensions"):
        OpenAIEncoder("words", url=here.url)


@pytest.mark.parametrize("other", [{"query": "q: "}, {"passage": "p: "}, {"revision": "2"}, {"dimensions": 13}])
def test_whatever_shapes_a_vector_is_part_of_the_space(here: Service, other: dict[str, object]) -> None:
    assert made(here, **other).space != made(here).space


def test_the_key_is_no_part_of_the_space(here: Service) -> None:
    assert made(here, api_key="another").space == made(here).space


def test_a_bookcase_uses_it_with_a_key_by_reference(
    here: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORDS_KEY", KEY)
    told = (
        f'[encoder]\nuse = "openai"\nmodel = "words"\nurl = "{here.url}"\ndimensions = 12\napi_key = "env:WORDS_KEY"\n'
    )
    (tmp_path / "estante.toml").write_text(told, "utf-8")

    with estante.create(tmp_path) as case:
        case.add({"a": "o prazo de férias"})
        assert case.search("férias", mode="dense").hits[0].document_id == "a"

    assert set(here.keys) == {f"Bearer {KEY}"}
    assert KEY not in json.dumps([str(row) for row in load(tmp_path).rows])
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_key_in_plain_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "estante.toml").write_text(f'[encoder]\nuse = "openai"\nmodel = "m"\napi_key = "{KEY}"\n', "utf-8")

    with pytest.raises(SettingsError, match="plain text") as caught:
        load(tmp_path, environ={})
    assert KEY not in caught.value.message


def test_a_key_that_is_not_set_is_told_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORDS_KEY", raising=False)
    told = '[encoder]\nuse = "openai"\nmodel = "text-embedding-3-small"\napi_key = "env:WORDS_KEY"\n'
    (tmp_path / "estante.toml").write_text(told, "utf-8")

    with pytest.raises(SettingsError, match="WORDS_KEY"):
        estante.create(tmp_path)
