"""The static encoder: what a text's row is, and that nothing but the text decides it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import unicodedata
import zipfile
from importlib.resources import files

import numpy as np
import pytest
from numpy.typing import NDArray

from estante.index import pieces, vocabulary
from estante.index.encoders import static
from estante.index.encoders.static import DIMENSIONS, StaticEncoder
from estante.index.pieces import Pieces
from estante.index.vocabulary import FILE, SHA256
from estante.model.errors import ContractBroken

TEXTS = [
    "O imposto predial e territorial urbano vence em março.",
    "The municipality collects the property tax once a year.",
    "",
    "Uma corrida de bicicletas percorre 120 km da Serra do Mar à costa.",
    "Art. 5º Os servidores públicos têm direito a férias anuais de 30 dias, nos termos da lei nº 1.290/2012.",
    "   \n\t ",
    "backup " * 700,
]


@pytest.fixture(scope="module")
def encoder() -> StaticEncoder:
    return StaticEncoder()


@pytest.fixture
def small() -> Pieces:
    pieces = ["▁", "a", "b", "▁a", "ab", "▁ab", "é"]
    return Pieces(pieces, [-3.0, -4.0, -4.0, -3.5, -5.0, -6.0, -4.0], {ord("ª"): "a", ord("\u200b"): " "})


def bits(rows: NDArray[np.float32]) -> list[bytes]:
    return [row.tobytes() for row in rows]


def nearness(encoder: StaticEncoder, question: str, *passages: str) -> list[float]:
    return [float(x) for x in encoder.passages(passages) @ encoder.queries([question])[0]]


def test_rows_are_float32_and_as_many_as_the_texts(encoder: StaticEncoder) -> None:
    rows = encoder.passages(TEXTS)

    assert rows.dtype == np.float32
    assert rows.shape == (len(TEXTS), DIMENSIONS)
    assert encoder.passages([]).shape == (0, DIMENSIONS)


def test_a_text_with_words_gives_a_unit_row(encoder: StaticEncoder) -> None:
    rows = encoder.passages([text for text in TEXTS if text.strip()])

    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("text", ["", " ", " \n\t\u00a0", "\u200b", "\x00\x07", "漢字", "▁"])
def test_a_text_without_known_pieces_gives_a_zero_row(encoder: StaticEncoder, text: str) -> None:
    assert not encoder.passages([text]).any()


def test_what_no_piece_covers_leaves_the_rest_of_a_text_as_it_is(encoder: StaticEncoder) -> None:
    with_it, without = encoder.passages(["imposto 漢字 predial", "imposto predial"])

    assert bits(with_it[None]) == bits(without[None])


def test_one_by_one_gives_the_same_bits_as_a_batch(encoder: StaticEncoder) -> None:
    batch = encoder.passages(TEXTS)
    one_by_one = np.concatenate([StaticEncoder().passages([text]) for text in TEXTS])

    assert bits(batch) == bits(one_by_one)


def test_the_order_of_a_batch_changes_no_bit(encoder: StaticEncoder) -> None:
    assert bits(encoder.passages(TEXTS[::-1])) == bits(encoder.passages(TEXTS))[::-1]


def test_the_order_of_the_words_changes_no_bit(encoder: StaticEncoder) -> None:
    words = TEXTS[4].split()
    turned, straight = encoder.passages([" ".join(reversed(words)), TEXTS[4]])

    assert bits(turned[None]) == bits(straight[None])


def test_sums_are_exact(encoder: StaticEncoder) -> None:
    table = static._table()
    numbers = table.pieces.numbers(TEXTS[4]).tolist()
    exact = [sum(int(table.weights[n] * 2**24) * int(table.rows[n, column]) for n in numbers) for column in range(8)]

    assert [x * 2**24 for x in static._total(table, TEXTS[4])[:8].tolist()] == exact


def test_questions_and_passages_share_one_space(encoder: StaticEncoder) -> None:
    assert bits(encoder.queries(TEXTS)) == bits(encoder.passages(TEXTS))


def test_composed_and_decomposed_accents_give_the_same_bits(encoder: StaticEncoder) -> None:
    text = "Educação, órgão, pregão e licitação à distância"
    composed, decomposed = encoder.passages([unicodedata.normalize(form, text) for form in ("NFC", "NFD")])

    assert bits(composed[None]) == bits(decomposed[None])


def test_a_soft_hyphen_changes_no_bit(encoder: StaticEncoder) -> None:
    hyphened, plain = encoder.passages(["municipa\u00adlidade", "municipalidade"])

    assert bits(hyphened[None]) == bits(plain[None])


def test_lone_surrogates_do_no_harm(encoder: StaticEncoder) -> None:
    assert np.isfinite(encoder.passages(["imposto \ud800 predial"])).all()


def test_a_very_long_word_gives_a_unit_row(encoder: StaticEncoder) -> None:
    rows = encoder.passages(["QmFzZTY0" * 50_000, "ã" * 300_000])

    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)


def test_long_words_are_not_kept(encoder: StaticEncoder) -> None:
    word = "x" * (pieces.LONGEST_KEPT + 1)
    encoder.passages([word])

    assert word not in static._table().pieces._kept


def test_the_kept_words_have_a_limit(small: Pieces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "KEPT_WORDS", 10)
    for count in range(1, 40):
        small.numbers("a" * count)

    assert len(small._kept) <= 10


def test_a_text_of_many_blocks_equals_the_sum_of_its_words(encoder: StaticEncoder) -> None:
    few = "imposto predial imposto territorial férias"
    many = "\n".join([few] * 10_000)
    assert len(many) > 5 * static.BLOCK

    assert bits(encoder.passages([many])) == bits(encoder.passages([few]))


@pytest.mark.parametrize("text", ["um dois três " * 20_000, "x" * 200_000, "a" * static.BLOCK, ""])
def test_blocks_join_to_the_text(text: str) -> None:
    blocks = list(static._blocks(text))

    assert "".join(blocks) == text
    assert max(map(len, blocks)) <= static.BLOCK + pieces.LONGEST_WORD


def test_words_are_cut_in_the_likeliest_way(small: Pieces) -> None:
    assert small.numbers("ab").tolist() == [5]  # ▁ab, -6, before ▁a + b, -7.5
    assert small.numbers("aab").tolist() == [3, 4]  # ▁a + ab
    assert small.numbers("b a").tolist() == [2, 3]  # a bare word start says nothing and is left out


def test_characters_are_replaced_before_words_are_cut(small: Pieces) -> None:
    assert small.numbers("ª").tolist() == [3]
    assert small.numbers("a\u200ba").tolist() == [3, 3]


def test_many_threads_get_the_same_bits() -> None:
    expected = bits(StaticEncoder().passages(TEXTS))
    found: list[list[bytes]] = []
    threads = [threading.Thread(target=lambda: found.append(bits(StaticEncoder().passages(TEXTS)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [expected] * 8


def test_another_process_gets_the_same_bits(encoder: StaticEncoder) -> None:
    program = (
        "import hashlib; from estante.index.encoders.static import StaticEncoder;"
        f"print(hashlib.sha256(StaticEncoder().passages({TEXTS!r}).tobytes()).hexdigest())"
    )
    for threads, seed in (("1", "1"), ("4", "2")):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "PYTHONHASHSEED": seed, "PYTHONUTF8": "1"}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )

        assert done.stdout.strip() == hashlib.sha256(encoder.passages(TEXTS).tobytes()).hexdigest()


def test_the_weights_are_those_that_the_module_names() -> None:
    data = files("estante.index.encoders").joinpath(FILE).read_bytes()

    assert hashlib.sha256(data).hexdigest() == SHA256
    assert len(data) <= 8_000_000


def test_the_weights_hold_no_pickle() -> None:
    with files("estante.index.encoders").joinpath(FILE).open("rb") as file, zipfile.ZipFile(file) as archive:
        heads = [archive.read(name)[:128] for name in archive.namelist()]

    assert all(head.startswith(b"\x93NUMPY") and b"'|O'" not in head for head in heads)


def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "SHA256", "0" * 64)
    static._read.cache_clear()

    with pytest.raises(ContractBroken, match=FILE):
        StaticEncoder().passages(["a"])


def test_the_space_is_known_without_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "_read", lambda: pytest.fail("the weights were read"))
    space = StaticEncoder().space

    assert (space.dimensions, space.metric, space.normalised) == (DIMENSIONS, "cosine", True)
    assert space.revision == SHA256[:16]


@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("imposto predial", "property tax", "bicycle race"),
        ("férias dos servidores", "employee vacation", "weather forecast"),
        ("instalar o sistema operacional", "install the operating system", "chocolate cake recipe"),
        ("how to change my password", "como alterar a senha", "horário do ônibus escolar"),
    ],
)
def test_a_translation_is_nearer_than_another_subject(
    encoder: StaticEncoder, question: str, near: str, far: str
) -> None:
    nearer, farther = nearness(encoder, question, near, far)

    assert nearer > farther + 0.1


def test_a_word_without_its_accents_stays_near(encoder: StaticEncoder) -> None:
    same, other = nearness(encoder, "educacao publica", "educação pública", "corrida de bicicletas")

    assert same > other
