"""What every encoder promises: each registered one is held to the same facts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from estante.index.encoding import ENCODERS, blend_of
from estante.model.ports import Encoder
from tests.index.encoders.tiny import fastembed_model, onnx_folder, service, static_folder

NAMES = sorted(ENCODERS.builtins)
Request = pytest.FixtureRequest


def served(folder: Path, request: Request) -> dict[str, object]:
    """A service on this machine, until the encoder's tests are done."""
    running = service()
    told = running.__enter__()
    told.dimensions = 64
    request.addfinalizer(lambda: running.__exit__(None, None, None))
    return {"model": "words", "url": told.url, "dimensions": told.dimensions}


def absent(folder: Path, request: Request) -> dict[str, object]:
    pytest.importorskip("sentence_transformers", reason="it brings two gigabytes, and is tested where it is installed")
    return {"path": str(folder)}


CASES: dict[str, Callable[[Path, Request], dict[str, object]]] = {
    "static": lambda folder, _: {},
    "e5": lambda folder, _: {"models": folder / "models", "threads": 1},
    "use": lambda folder, _: {"threads": 1},
    "bge-m3": lambda folder, _: {"path": str(onnx_folder(folder, 1_024)), "threads": 1},
    "model2vec": lambda folder, _: {"path": str(static_folder(folder / "model"))},
    "fastembed": lambda folder, _: {"model": fastembed_model(), "path": str(onnx_folder(folder, 64)), "threads": 1},
    "sentence-transformers": absent,
    "openai": served,
}
"""What each is made with, in a folder of its own: real weights where a package brings them, else a tiny model."""

TEXTS = [
    "O servidor tem direito a trinta dias de férias por ano.",
    "Employees are entitled to thirty days of annual leave.",
    "A licitação foi aberta em março de 2024.",
    "",
    "x",
    "palavra " * 3_000,
    "日本語 🦜 \u200b",
]
EMPTY = ["", " \n\t", "\x00", "\ufeff"]


def test_every_registered_encoder_is_held_to_these_facts() -> None:
    assert sorted(CASES) == NAMES


@pytest.fixture(params=NAMES, scope="module")
def encoder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    options = CASES[request.param](tmp_path_factory.mktemp(request.param), request)
    made: Encoder = ENCODERS.load(request.param)(**options)
    return made


def both(encoder: Encoder, texts: Sequence[str]) -> list[NDArray[np.float32]]:
    return [encoder.passages(texts), encoder.queries(texts)]


def test_the_space_says_what_a_vector_is_and_stays_the_same(encoder: Encoder) -> None:
    space = encoder.space

    assert space == encoder.space
    assert space.model
    assert space.revision
    assert (space.metric, space.normalised) == ("cosine", True)


def test_rows_are_float32_one_for_each_text(encoder: Encoder) -> None:
    for rows in both(encoder, TEXTS):
        assert (rows.dtype, rows.shape) == (np.float32, (len(TEXTS), encoder.space.dimensions))


def test_no_texts_give_no_rows(encoder: Encoder) -> None:
    for rows in both(encoder, []):
        assert rows.shape == (0, encoder.space.dimensions)


def test_every_row_is_finite_and_of_unit_length_or_zero(encoder: Encoder) -> None:
    for rows in both(encoder, [*TEXTS, *EMPTY]):
        assert np.isfinite(rows).all()
        lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
        assert all(length == 0 or abs(length - 1) < 1e-4 for length in lengths)


def test_an_empty_text_gives_a_zero_row(encoder: Encoder) -> None:
    for rows in both(encoder, EMPTY):
        assert not rows.any()


def test_a_text_of_words_does_not_give_a_zero_row(encoder: Encoder) -> None:
    for rows in both(encoder, TEXTS[:3]):
        assert rows.any(axis=1).all()


def test_a_row_does_not_depend_on_what_it_is_encoded_with(encoder: Encoder) -> None:
    for together, encode in zip(both(encoder, TEXTS), (encoder.passages, encoder.queries), strict=True):
        alone = np.concatenate([encode([text]) for text in TEXTS])
        assert np.abs(together - alone).max() < 1e-4


def test_the_same_texts_give_the_same_bits(encoder: Encoder) -> None:
    assert encoder.passages(TEXTS).tobytes() == encoder.passages(TEXTS).tobytes()


def test_a_passage_on_the_subject_is_nearer_than_one_on_another(encoder: Encoder) -> None:
    rows = encoder.passages(TEXTS[:3])

    for question, nearest in [("quantos dias de férias tem o servidor?", 0), ("quando abriu a licitação?", 2)]:
        assert int((rows @ encoder.queries([question])[0]).argmax()) == nearest


def test_threads_get_the_same_rows(encoder: Encoder) -> None:
    wanted, found = encoder.passages(TEXTS[:4]).tobytes(), []

    threads = [threading.Thread(target=lambda: found.append(encoder.passages(TEXTS[:4]).tobytes())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [wanted] * 4


@pytest.mark.parametrize("name", NAMES)
def test_there_is_a_blend_for_its_vectors(name: str) -> None:
    trust = blend_of(name)

    assert 0 <= trust.most <= 1
    assert 0 < trust.enough <= 1
