import threading

import pytest
from fpdf import FPDF

from estante.ingest.extractors import pdf
from estante.ingest.extractors.pdf import PdfExtractor
from estante.model.content import Item
from estante.model.errors import Unreadable
from tests.ingest.extractors.reading import draft, marked


def made(*pages: str, title: str = "", outline: dict[int, list[str]] | None = None, password: str = "") -> bytes:
    """A PDF of these pages, a line each; ``outline`` has the entries that lead to each page."""
    document = FPDF()
    document.set_font("helvetica", size=12)
    if title:
        document.set_title(title)
    if password:
        document.set_encryption(owner_password="owner", user_password=password)
    for number, page in enumerate(pages):
        document.add_page()
        for entry in (outline or {}).get(number, []):
            document.start_section(entry)
        for line in page.split("\n"):
            document.cell(0, 8, line, new_x="LMARGIN", new_y="NEXT")
    return bytes(document.output())


def test_pages_are_joined_and_marked() -> None:
    found = draft("a.pdf", made("Primeira página\nlinha dois", "Segunda página"))

    assert found.text == "Primeira página\nlinha dois\n\nSegunda página"
    assert marked(found, "page") == [
        ("1", "Primeira página\nlinha dois", 0),
        ("2", "Segunda página", 0),
    ]
    assert found.metadata["pages"] == 2


@pytest.mark.parametrize(
    ("property_", "title"),
    [("Plano Diretor", "Plano Diretor"), ("untitled", "Ata da reunião"), ("Microsoft Word - x.doc", "Ata da reunião")],
)
def test_the_title_is_the_property_if_it_is_one(property_: str, title: str) -> None:
    assert draft("a.pdf", made("Ata da reunião\ntexto", title=property_)).title == title


def test_a_page_without_text_is_told_and_has_no_place() -> None:
    found = draft("a.pdf", made("um", "", "três", ""))

    assert found.losses == ("pages 2, 4: no text layer",)
    assert [label for label, _, _ in marked(found, "page")] == ["1", "3"]


def test_a_file_without_any_text_is_taken_for_a_scan() -> None:
    with pytest.raises(Unreadable, match=r"no text layer in 2 pages \(a scan\?\)"):
        draft("a.pdf", made("", ""))


def test_the_outline_gives_headings_where_their_lines_stand() -> None:
    data = made(
        "Relatório\n1. Introdução\ntexto", "Conclusão\nfim", outline={0: ["Introdução", "Não está"], 1: ["Conclusão"]}
    )

    found = draft("a.pdf", data)

    assert marked(found, "heading") == [("1. Introdução", "1. Introdução", 1), ("Conclusão", "Conclusão", 1)]


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("a distri-\nbuição dos", "a distribuição dos"),
        ("deve encaminhar-\nse ao", "deve encaminhar-se ao"),
        ("o guarda-chuva e o guarda-\nchuva", "o guarda-chuva e o guarda-chuva"),
        ("state-of-the-\nart", "state-of-the-art"),
        ("nome: Castro-\nAlves", "nome: Castro-Alves"),
    ],
)
def test_a_word_cut_at_a_line_end_is_whole_again_and_a_hyphen_that_belongs_stays(lines: str, text: str) -> None:
    assert draft("a.pdf", made(lines)).text == text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("\ufb01m de o\ufb03cial", "fim de official"),
        ("one\r\ntwo \xa0three", "one\ntwo three"),
        ("a\x00b\x07c\ufffe", "abc-"),
        ("\ufefb", "لا"),
        ("e\u0301", "é"),
        ("اإلنتاجية", "الإنتاجية"),
    ],
)
def test_letters_come_as_letters_and_controls_not_at_all(page: str, text: str) -> None:
    assert pdf._cleaned([page]) == [text]


def test_one_endless_word_takes_no_long_time() -> None:
    assert pdf._cleaned(["a" * 300_000 + "\ufffe", "a-" * 100_000])[0].startswith("aaa")


def test_an_encrypted_file_says_so() -> None:
    with pytest.raises(Unreadable, match="encrypted: needs a password"):
        draft("a.pdf", made("segredo", password="x"))


@pytest.mark.parametrize(
    "data", [b"%PDF-1.7\n", b"not a pdf", b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF"]
)
def test_a_damaged_file_says_so(data: bytes) -> None:
    with pytest.raises(Unreadable, match="damaged"):
        draft("a.pdf", data)


def test_an_empty_file_says_so() -> None:
    with pytest.raises(Unreadable, match="there is nothing in it"):
        draft("a.pdf", b"")


def test_a_file_of_too_many_pages_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "MOST_PAGES", 2)

    with pytest.raises(Unreadable, match="3 pages, more than 2"):
        draft("a.pdf", made("a", "b", "c"))


def test_a_file_that_takes_too_long_is_given_up() -> None:
    times = iter(range(0, 1000, 50))
    data = made("a", "b", "c", "d")
    item = Item(source="s", uri="a.pdf", media_type="application/pdf", revision="1", read=lambda: data)

    with pytest.raises(Unreadable, match="given up at page 2"):
        list(PdfExtractor(seconds=70, clock=lambda: float(next(times))).drafts(item, data))


def test_many_threads_read_at_the_same_time() -> None:
    data = made(*[f"página {number}" for number in range(30)])
    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(draft("a.pdf", data).text)) for _ in range(8)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(texts) == 8
    assert len(set(texts)) == 1
