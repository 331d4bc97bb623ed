"""Cut and damaged files: each extractor reads them or says why not, and raises nothing else."""

import random
import zipfile
from collections.abc import Iterator
from io import BytesIO

import pytest
from fpdf import FPDF
from hypothesis import given
from hypothesis import strategies as st

from estante.model.errors import EstanteError
from tests.ingest.extractors.reading import drafts

TEXT = "# Título\n\nO texto; com “aspas”, números 1,5 e <b>marcas</b>.\n\n| a |\n|---|\n| 1 |\n\n```x\ny\n```\n"
PAGE = (
    '<?xml version="1.0"?><html lang="pt"><head><meta charset="utf-8"><title>Título</title></head>'
    "<body><main><h1>Título</h1><p hidden>x</p><ul><li>um<ol><li>dois</ol></ul><table><tr><th>a<th>b<tr><td>1<td>2"
    "</table><pre><code>x</code></pre>"
)
WORDS = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
DOCUMENT = (
    f'<w:document xmlns:w="{WORDS}"><w:body><w:p><w:pPr><w:pStyle w:val="Heading1"/><w:outlineLvl w:val="0"/><w:numPr>'
    '<w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>Título'
    '</w:t></w:r><w:ins><w:r><w:t>novo</w:t></w:r></w:ins></w:p><w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/>'
    "<w:vMerge/></w:tcPr><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:sym w:char='F0B7'/><w:t>b</w:t>"
    "</w:r></w:p></w:tc></w:tr></w:tbl><w:sdt><w:sdtContent><w:p><w:r><w:t>dentro</w:t></w:r></w:p></w:sdtContent></w:sdt></w:body>"
    "</w:document>"
)


def packed(document: bytes) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        target.writestr("word/document.xml", document)
    return buffer.getvalue()


def printed() -> bytes:
    document = FPDF()
    document.set_font("helvetica", size=12)
    document.add_page()
    document.start_section("Título")
    document.cell(0, 8, "Título")
    return bytes(document.output())


SAMPLES = {
    "a.txt": TEXT.encode(),
    "b.txt": TEXT.encode("utf-16"),
    "c.txt": TEXT.encode("cp1252"),
    "a.md": b"---\ntitle: x\n---\n" + TEXT.encode(),
    "a.csv": b'a;b\n"1;\n2";"3"\n' + TEXT.encode(),
    "a.rst": b"T\xc3\xadtulo\n=======\n\nOne\n---\n",
    "a.html": PAGE.encode(),
    "a.xhtml": PAGE.encode("utf-16"),
    "a.pdf": printed(),
    "a.docx": packed(DOCUMENT.encode()),
}


def damaged(data: bytes, seed: str, times: int) -> Iterator[bytes]:
    """The data cut, with bits turned, and with pieces taken out, put twice or replaced by noise."""
    chance = random.Random(seed)
    for number in range(times):
        spoilt = bytearray(data)
        at = chance.randrange(len(data))
        end = min(len(data), at + chance.randrange(1, 60))
        if number % 4 == 0:
            del spoilt[at:]
        elif number % 4 == 1:
            for _ in range(chance.choice((1, 4, 30))):
                spoilt[chance.randrange(len(spoilt))] ^= 1 << chance.randrange(8)
        elif number % 4 == 2:
            spoilt[at:end] = spoilt[at:end] * chance.choice((0, 2, 50))
        else:
            spoilt[at:end] = chance.randbytes(end - at)
        yield bytes(spoilt)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_damaged_file_is_read_or_refused(name: str) -> None:
    for data in damaged(SAMPLES[name], name, 200):
        try:
            drafts(name, data)
        except EstanteError:
            continue


def test_a_sound_package_around_damaged_xml_is_read_or_refused() -> None:
    for data in damaged(DOCUMENT.encode(), "xml", 400):
        try:
            drafts("a.docx", packed(data))
        except EstanteError:
            continue


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.csv", "a.html", "a.rst", "a.org", "a.adoc"])
@given(text=st.text(st.sampled_from("ab# \n\t-=*`|>[]()<!/\"';,&é́1.~_\\{}\r\0\ufeff"), max_size=200))
def test_any_text_is_read_or_refused_and_keeps_the_laws(name: str, text: str) -> None:
    try:
        drafts(name, text)
    except EstanteError:
        return


@pytest.mark.parametrize("name", SAMPLES)
def test_the_same_bytes_give_the_same_drafts(name: str) -> None:
    assert drafts(name, SAMPLES[name]) == drafts(name, SAMPLES[name])
