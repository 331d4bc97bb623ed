import gzip
import json
from pathlib import Path

import pytest

from estante.ingest.language import language_of, primary
from tests.growth import BETWEEN, ratio


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("O processo deve ser encaminhado à secretaria até o fim do mês.", "pt"),
        ("nao foi possivel abrir o arquivo solicitado", "pt"),
        ("como fazer um bolo de cenoura", "pt"),
        ("Contrato de prestação de serviços", "pt"),
        ("Esta página descreve os ficheiros que o utilizador pode guardar no ecrã.", "pt"),
        ("Licitação pública", "pt"),
        ("contrato de prestación de servicios", "es"),
        ("Los documentos deben presentarse antes del plazo", "es"),
        ("El usuario puede guardar los archivos en la carpeta", "es"),
        ("The user can save files in the folder of the project", "en"),
        ("Terms of service", "en"),
        ("Le chat est dans la maison avec les enfants", "fr"),
        ("Der Hund ist im Haus und schläft", "de"),
        ("L’homme qu’il a vu n’est pas celui d’hier", "fr"),
        ("L'uomo che ha visto c'era anche all'inizio", "it"),
        ("Il gatto è nella casa con i bambini", "it"),
        ("Привет, как у вас дела сегодня?", "ru"),
        ("これは日本語の文章です", "ja"),
        ("这是一个中文文本", "zh"),
        ("이것은 한국어 문장입니다", "ko"),
        ("مرحبا بالعالم", "ar"),
        ("שלום עולם", "he"),
        ("Καλημέρα κόσμε", "el"),
        ("สวัสดีชาวโลก", "th"),
        ("नमस्ते दुनिया", "hi"),
        ("Це українська мова, її знають усі", "uk"),
        ("Ово је ћирилица, а ту су и ђаци који је уче", "sr"),
        ("این یک متن فارسی است که برای آزمایش نوشته شده است", "fa"),
        ("Հայերեն լեզու", "hy"),
        ("தமிழ் மொழி", "ta"),
        ("De kat zit op de mat en het is mooi weer vandaag in Nederland want de zon schijnt", "nl"),
        ("Det er en fin dag, og vi vil ikke blive hjemme, men gå en tur efter at vi har spist", "da"),
        ("Det er en fin dag, og vi vil ikke bli hjemme, men gå en tur etter at vi har spist på hytta", "no"),
        ("Det är en fin dag och vi vill inte stanna hemma, men vi går ut när vi har ätit", "sv"),
        ("Kto pierwszy ten lepszy, a kto ostatni ten trąba i nic na to nie poradzimy, bo jest już po", "pl"),
        ("To je velmi pěkný den, a když se podíváš z okna, tak uvidíš, že na ulici nikdo není", "cs"),
        ("Aceasta este o zi frumoasă și nu vreau să stau în casă, pentru că afară este soare", "ro"),
        ("Ez egy szép nap, és nem akarok itthon maradni, mert süt a nap, hogy kint legyek", "hu"),
        ("Tämä on kaunis päivä, ja minä en ole kotona, mutta hän on siellä, kun aurinko paistaa, että se", "fi"),
        ("Bu çok güzel bir gün ve ben evde kalmak için değil, daha çok gezmek için buradayım", "tr"),
        ("Ini adalah hari yang indah dan saya tidak ingin di rumah karena ada banyak orang untuk bertemu", "id"),
        ("Aquest és un dia molt bonic i no vull quedar-me a casa, però també hi ha feina amb els altres", "ca"),
    ],
)
def test_a_short_text_is_told(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "12345 67,8 %",
        "x",
        "a,b,c,d\na,b,c,d\nl,n,s,d\n",
        "Це беларуская мова, яе ўсе ведаюць і любяць ўсёй душой, дзень добры",
        "Đây là một ngày đẹp trời và tôi không muốn ở nhà vì có nhiều người để gặp",
        "یہ اردو زبان کا ایک جملہ ہے جو ٹیسٹ کے لیے ہے",
        "Kto pierwszy ten lepszy",
    ],
)
def test_what_is_not_one_of_ours_is_unsure(text: str) -> None:
    assert language_of(text) == "und"


def test_the_middle_and_the_end_of_a_long_text_count() -> None:
    code = "xyzzy = foo(bar) + 1;\n" * 500
    prose = "A lei diz que os órgãos públicos não podem fazer isso sem uma licitação. " * 2000

    assert language_of(code + prose) == "pt"


def test_a_portuguese_text_about_a_program_is_portuguese() -> None:
    text = "Para instalar, use o comando:\n\n    apt install python3-pip\n\nDepois abra o arquivo README."

    assert language_of(text) == "pt"


def test_the_time_does_not_grow_with_the_square_of_the_text() -> None:
    text = "O processo deve ser encaminhado à secretaria até o fim do mês. "

    assert language_of(text * 320_000) == "pt"
    assert ratio(lambda size: language_of(text * size), 40_000) < BETWEEN


@pytest.mark.parametrize(
    ("tag", "language"),
    [("pt-BR", "pt"), ("EN_us.UTF-8", "en"), (" fr ", "fr"), ("zh-Hant-TW", "zh"), ("", ""), ("C", ""), ("a b", "")],
)
def test_the_language_of_a_tag_is_its_first_part(tag: str, language: str) -> None:
    assert primary(tag) == language


@pytest.mark.parametrize(
    ("corpus", "language", "whole", "start"),
    [
        ("debdesc-pt_BR", "pt", 0.99, 0.96),
        ("libreoffice-help-pt-BR", "pt", 0.99, 0.95),
        ("debdesc-en", "en", 0.99, 0.97),
        ("python-doc", "en", 0.99, 0.80),
    ],
)
def test_real_texts_are_told(data: Path, corpus: str, language: str, whole: float, start: float) -> None:
    path = data / "corpora" / f"{corpus}.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"outside data is absent: {path}")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line, _ in zip(lines, range(5000), strict=False)]

    wholes = [language_of(text) for text in texts]
    starts = [language_of(text[:60]) for text in texts if len(text) >= 60]

    assert wholes.count(language) >= whole * len(wholes)
    assert starts.count(language) >= start * len(starts)
