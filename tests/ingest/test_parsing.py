"""PDF, Word and RTF files as plain texts, for the frozen-chunk kit."""

from __future__ import annotations

import io
from pathlib import Path

import docx
import fpdf
import pytest

from estante.contract.loading import UnreadableSources, load_documents
from estante.ingest.parsing import docx_text, pdf_text, rtf_text


def pdf(*pages: str) -> bytes:
    made = fpdf.FPDF()
    made.set_font("Helvetica")
    for text in pages:
        made.add_page()
        if text:
            made.cell(text=text)
    return bytes(made.output())


def word(*paragraphs: str, cell: str = "") -> bytes:
    made = docx.Document()
    for text in paragraphs:
        made.add_paragraph(text)
    if cell:
        made.add_table(1, 1).cell(0, 0).text = cell
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


def test_one_lf_stands_between_two_pages() -> None:
    assert pdf_text(pdf("First page", "", "Third page", "")) == "First page\n\nThird page\n"


def test_a_pdf_without_text_is_blank() -> None:
    assert pdf_text(pdf("", "")).strip() == ""


def test_a_word_document_keeps_its_paragraphs_and_its_tables() -> None:
    assert docx_text(word("Um", "Dois", cell="Três")) == "Um\n\nDois\n\nTrês"


def test_a_word_document_without_text_is_blank() -> None:
    assert docx_text(word()) == ""


def test_an_rtf_file_gives_its_text_with_every_kind_of_character() -> None:
    assert rtf_text(rb"{\rtf1\ansi Ol\'e1 \u8364? fim\par \u-10179?\u-8704? x}") == "Olá € fim\n😀 x"


@pytest.mark.parametrize("data", [b"", b"no such file", b"{\\rtf1 \\u99999999? }"])
def test_what_is_no_rtf_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="no RTF file that can be read"):
        rtf_text(data)


def test_a_folder_of_every_kind_is_loaded(tmp_path: Path) -> None:
    files = {
        "a.pdf": pdf("Página"),
        "b.docx": word("Texto"),
        "c.rtf": rb"{\rtf1 Texto}",
        "d.md": b"# Texto",
        "e.pdf": pdf(""),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)

    loaded = load_documents(tmp_path)

    assert [one.file_type for one in loaded] == ["pdf", "docx", "rtf", "md", "pdf"]
    assert [one.content for one in loaded] == ["Página", "Texto", "Texto", "# Texto", ""]
    assert loaded.blank == ["e.pdf"]


def test_damaged_files_are_told_by_name_and_the_others_are_loaded(tmp_path: Path) -> None:
    for name in ("a.pdf", "b.docx", "c.rtf", "empty.pdf", "ok.md"):
        (tmp_path / name).write_bytes(b"" if name == "empty.pdf" else b"no such file")
    (tmp_path / "d.rtf").write_bytes(b"{\\rtf1 ol\xe1}")

    with pytest.raises(UnreadableSources) as told:
        load_documents(tmp_path)

    assert [one.filename for one in told.value.loaded] == ["ok.md"]
    reasons = dict(told.value.skipped)
    assert list(reasons) == ["a.pdf", "b.docx", "c.rtf", "d.rtf", "empty.pdf"]
    assert reasons["a.pdf"].startswith("damaged: no PDF")
    assert reasons["b.docx"].startswith("damaged: no zip file")
    assert reasons["c.rtf"].startswith("damaged: no RTF")
    assert reasons["d.rtf"].startswith("not UTF-8 (at byte 9)")
    assert "nothing in it" in reasons["empty.pdf"]
