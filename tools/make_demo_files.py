#!/usr/bin/env python3
"""Make the demo library's files that are not written by hand.

The PDF and DOCX documents, and the text and CSV files in older encodings,
are made from the plain UTF-8 sources in ``tools/demo_sources/``.  Dates and
orders are fixed, so running the script twice gives the same bytes (another
version of fpdf2 or python-docx may give others).

    python tools/make_demo_files.py           # write the files
    python tools/make_demo_files.py --check   # compare, write nothing

The sources of the PDF and DOCX files use a small part of Markdown, one
element a line: ``#``, ``##`` and ``###`` headings, ``- `` list items, ``|``
table rows, ``---`` for a new page, and anything else is a paragraph.
"""

from __future__ import annotations

import argparse
import io
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tools" / "demo_sources"
LIBRARY = ROOT / "src" / "estante" / "demo" / "library"

# source -> (document, kind, language or encoding, date of the document)
FILES = [
    (
        "plano-diretor-ti-2024-2027.md",
        "ti/plano-diretor-ti-2024-2027.pdf",
        "pdf",
        "pt-BR",
        datetime(2024, 1, 18, tzinfo=UTC),
    ),
    (
        "open-data-report-2024.md",
        "reports/open-data-report-2024.pdf",
        "pdf",
        "en",
        datetime(2025, 2, 28, tzinfo=UTC),
    ),
    (
        "manual-do-servidor.md",
        "manual/manual-do-servidor.docx",
        "docx",
        "pt-BR",
        datetime(2025, 2, 3, tzinfo=UTC),
    ),
    (
        "software-procurement.md",
        "policies/software-procurement.docx",
        "docx",
        "en",
        datetime(2024, 5, 2, tzinfo=UTC),
    ),
    ("rotina-de-backup.txt", "ti/rotina-de-backup.txt", "text", "latin-1", None),
    ("taxas-2025.csv", "atendimento/taxas-2025.csv", "text", "cp1252", None),
    ("network-outage.txt", "runbooks/network-outage.txt", "text", "utf-16", None),
]

AUTHOR = {
    "pt-BR": "Prefeitura de Serra do Jequi (município fictício)",
    "en": "Municipality of Serra do Jequi (fictional)",
}


def parse(text: str):
    """Yield (kind, value): heading levels, items, tables, pages, paragraphs."""
    rows: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            cells = [c.strip() for c in line.strip().strip("|").split("|")]
            if not all(c and set(c) <= set("-:") for c in cells):
                rows.append(cells)
            continue
        if rows:
            yield "table", rows
            rows = []
        if not line.strip():
            continue
        if line.strip() == "---":
            yield "page", ""
        elif line.startswith("### "):
            yield "h3", line[4:].strip()
        elif line.startswith("## "):
            yield "h2", line[3:].strip()
        elif line.startswith("# "):
            yield "h1", line[2:].strip()
        elif line.startswith("- "):
            yield "item", line[2:].strip()
        else:
            yield "p", line.strip()


def make_pdf(text: str, language: str, date: datetime) -> bytes:
    from fpdf import FPDF
    from fpdf.enums import XPos, YPos

    class Document(FPDF):
        def footer(self):
            self.set_y(-15)
            self.set_font("Helvetica", "", 8)
            word = "Página" if language.startswith("pt") else "Page"
            self.cell(0, 8, f"{word} {self.page_no()}", align="C")

    elements = list(parse(text))
    pdf = Document(format="A4")
    # The core fonts know Windows-1252: Portuguese letters, dashes and quotes.
    pdf.core_fonts_encoding = "cp1252"
    pdf.set_creation_date(date)
    pdf.set_title(next(v for k, v in elements if k == "h1"))
    pdf.set_author(AUTHOR[language])
    pdf.set_lang(language)
    pdf.set_producer("")
    pdf.set_margins(22, 20, 22)
    pdf.set_auto_page_break(True, margin=22)
    pdf.add_page()

    def block(
        value: str,
        size: float,
        style: str = "",
        height: float = 6.0,
        indent: float = 0.0,
        before: float = 0.0,
        after: float = 1.5,
    ):
        pdf.ln(before)
        pdf.set_font("Helvetica", style, size)
        pdf.set_x(pdf.l_margin + indent)
        pdf.multi_cell(pdf.epw - indent, height, value, align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        pdf.ln(after)

    for kind, value in elements:
        if kind == "page":
            pdf.add_page()
        elif kind == "h1":
            block(value, 18, "B", 9, after=3)
        elif kind == "h2":
            block(value, 14, "B", 8, before=3)
        elif kind == "h3":
            block(value, 11.5, "B", 7, before=1)
        elif kind == "item":
            block("\u2022 " + value, 11, "", 6, indent=5, after=0.5)
        elif kind == "table":
            pdf.set_font("Helvetica", "B", 10)
            natural = [max(map(pdf.get_string_width, column)) + 4 for column in zip(*value, strict=True)]
            spare = (pdf.epw - sum(natural)) / len(natural)
            widths = [width + spare for width in natural]
            pdf.ln(1)
            for n, row in enumerate(value):
                pdf.set_font("Helvetica", "B" if n == 0 else "", 10)
                for width, cell in zip(widths, row, strict=True):
                    pdf.cell(width, 7, cell, border=1)
                pdf.ln(7)
            pdf.ln(3)
        else:
            block(value, 11)
    return bytes(pdf.output())


def make_docx(text: str, language: str, date: datetime) -> bytes:
    import docx
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    document = docx.Document()
    elements = list(parse(text))
    for kind, value in elements:
        if kind in ("h1", "h2", "h3"):
            document.add_heading(value, level=int(kind[1]))
        elif kind == "item":
            document.add_paragraph(value, style="List Bullet")
        elif kind == "page":
            document.add_page_break()
        elif kind == "table":
            table = document.add_table(rows=0, cols=len(value[0]))
            table.style = "Table Grid"
            for row in value:
                for cell, content in zip(table.add_row().cells, row, strict=True):
                    cell.text = content
            document.add_paragraph("")
        else:
            document.add_paragraph(value)

    run_properties = document.styles["Normal"].element.get_or_add_rPr()
    for old in run_properties.findall(qn("w:lang")):
        run_properties.remove(old)
    lang = OxmlElement("w:lang")
    lang.set(qn("w:val"), language if "-" in language else "en-GB")
    run_properties.append(lang)

    naive = date.replace(tzinfo=None)
    properties = document.core_properties
    properties.title = next(v for k, v in elements if k == "h1")
    properties.author = AUTHOR[language]
    properties.last_modified_by = AUTHOR[language]
    properties.comments = ""
    properties.created = properties.modified = naive
    properties.language = language
    properties.revision = 1

    first = io.BytesIO()
    document.save(first)
    # The same zip again, entries in a fixed order and with a fixed time.
    result = io.BytesIO()
    with zipfile.ZipFile(first) as old, zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as new:
        names = sorted(old.namelist(), key=lambda n: (n != "[Content_Types].xml", n))
        for name in names:
            if name == "docProps/thumbnail.jpeg":
                continue
            data = old.read(name)
            if name == "_rels/.rels":
                data = without_thumbnail(data)
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            new.writestr(entry, data, compresslevel=9)
    return result.getvalue()


def without_thumbnail(rels: bytes) -> bytes:
    """The package's relations without the template's preview picture."""
    from lxml import etree

    root = etree.fromstring(rels)
    for relation in list(root):
        if relation.get("Target", "").endswith("thumbnail.jpeg"):
            root.remove(relation)
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)


def make_text(text: str, encoding: str) -> bytes:
    if encoding == "utf-16":  # little-endian with its mark, on every machine
        return b"\xff\xfe" + text.encode("utf-16-le")
    return text.encode(encoding)


def make(source: str, kind: str, option: str, date: datetime | None) -> bytes:
    text = (SOURCES / source).read_text(encoding="utf-8")
    if kind == "pdf":
        return make_pdf(text, option, date)
    if kind == "docx":
        return make_docx(text, option, date)
    return make_text(text, option)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the files in the library; write nothing")
    arguments = parser.parse_args()
    different = 0
    for source, document, kind, option, date in FILES:
        data = make(source, kind, option, date)
        path = LIBRARY / document
        if path.exists() and path.read_bytes() == data:
            print(f"same     {document} ({len(data)} bytes)")
            continue
        different += 1
        if arguments.check:
            print(f"differs  {document}")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            print(f"written  {document} ({len(data)} bytes)")
    return 1 if arguments.check and different else 0


if __name__ == "__main__":
    sys.exit(main())
