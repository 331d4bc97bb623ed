import zipfile
from io import BytesIO

import pytest

from estante.ingest import archive
from estante.model.errors import Unreadable
from tests.ingest.extractors.reading import draft, marked

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
NAMES = (
    f'xmlns:w="{W}" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:r="{OFFICE}" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:o="urn:schemas-microsoft-com:office:office" xmlns:wps="urn:wps"'
)
KINDS = {"header1": "header", "footer1": "footer"}


def style(name: str, shown: str, more: str = "", kind: str = "paragraph") -> str:
    return f'<w:style w:type="{kind}" w:styleId="{name}"><w:name w:val="{shown}"/>{more}</w:style>'


STYLES = "".join(
    [
        '<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>',
        style("Ttulo1", "heading 1", '<w:basedOn w:val="Normal"/>'),
        style("Secao", "Seção", '<w:basedOn w:val="Nivel2"/>'),
        style("Nivel2", "x", '<w:pPr><w:outlineLvl w:val="1"/></w:pPr>'),
        style("Corpo", "heading 3", '<w:pPr><w:outlineLvl w:val="9"/></w:pPr>'),
        style("Laco", "y", '<w:basedOn w:val="Laco"/>'),
        style("Titulo", "Title"),
        style("Lista", "List", '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>'),
        style("Oculto", "o", "<w:rPr><w:vanish/></w:rPr>", "character"),
    ]
)
NUMBERING = """
    <w:abstractNum w:abstractNumId="0">
      <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="Art. %1º"/></w:lvl>
      <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="upperRoman"/><w:lvlText w:val="%1.%2 -"/></w:lvl>
    </w:abstractNum>
    <w:abstractNum w:abstractNumId="1">
      <w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val=""/></w:lvl>
    </w:abstractNum>
    <w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>
    <w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>
    <w:num w:numId="3">
      <w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride>
    </w:num>
"""


def made(body: str, core: str = "", namespace: str = W, **parts: str) -> bytes:
    """A docx with this body and these other parts."""
    relations = "".join(
        f'<Relationship Id="{name}" Type="{OFFICE}/{KINDS.get(name, name)}" Target="{name}.xml"/>' for name in parts
    )
    files = {
        "_rels/.rels": "<Relationships>"
        f'<Relationship Id="a" Type="{OFFICE}/officeDocument" Target="word/document.xml"/>'
        '<Relationship Id="b" Type="x/core-properties" Target="/docProps/core.xml"/></Relationships>',
        "word/_rels/document.xml.rels": f"<Relationships>{relations}</Relationships>",
        "word/document.xml": f"<w:document {NAMES}><w:body>{body}</w:body></w:document>".replace(W, namespace),
        "docProps/core.xml": f'<c xmlns:dc="dc" xmlns:dcterms="dcterms">{core}</c>',
        **{f"word/{name}.xml": f"<w:{name} {NAMES}>{xml}</w:{name}>" for name, xml in parts.items()},
    }
    return zipped(files)


def zipped(files: dict[str, str]) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for name, xml in files.items():
            target.writestr(name, xml)
    return buffer.getvalue()


def p(*runs: str, style: str = "", more: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{more}</w:pPr>{''.join(runs)}</w:p>"


def r(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def tc(content: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{content}</w:tc>"


def tbl(*rows: list[str]) -> str:
    joined = "".join(f"<w:tr>{''.join(row)}</w:tr>" for row in rows)
    return f"<w:tbl><w:tblPr/>{joined}</w:tbl>"


def text_of(body: str, **parts: str) -> str:
    return draft("a.docx", made(body, **parts)).text


def test_paragraphs_and_tables_come_in_their_order() -> None:
    body = (
        p(r("one ") + r("two"))
        + tbl([tc(p(r("a"))), tc(p(r("b|c")))], [tc(p(r("1")) + p(r("2"))), tc("")])
        + p(r("end"))
    )

    found = draft("a.docx", made(body))

    assert found.text == "one two\n\n| a | b\\|c |\n| --- | --- |\n| 1 2 |  |\n\nend"
    assert len(marked(found, "table")) == 1


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            p("<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t></w:r>"),
            "a\tb\nc-d",
        ),
        (p("<w:ins>" + r("new") + "</w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del>"), "new"),
        (p("<w:moveTo>" + r("here") + "</w:moveTo><w:moveFrom>" + r("there") + "</w:moveFrom>"), "here"),
        (p("<w:hyperlink>" + r("link") + "</w:hyperlink><w:smartTag>" + r(" tag") + "</w:smartTag>"), "link tag"),
        (p("<w:fldSimple>" + r("7") + "</w:fldSimple><w:r><w:instrText>PAGE</w:instrText></w:r>"), "7"),
        (p("<m:oMath><m:r><m:t>x=1</m:t></m:r></m:oMath>"), "x=1"),
        (p('<w:r><w:sym w:char="F0B7"/></w:r>' + r(" x") + '<w:r><w:sym w:char="zz"/></w:r>'), "• x"),
        (p("<w:r><w:ruby><w:rt>" + r("かん") + "</w:rt><w:rubyBase>" + r("漢") + "</w:rubyBase></w:ruby></w:r>"), "漢"),
        (p(r("a")) + p() + p(r(" ")) + p(r("b")), "a\n\nb"),
    ],
)
def test_what_a_paragraph_shows_is_its_text(body: str, text: str) -> None:
    assert text_of(body) == text


def sdt(content: str) -> str:
    return f"<w:sdt><w:sdtPr><w:alias w:val='no'/></w:sdtPr><w:sdtContent>{content}</w:sdtContent></w:sdt>"


@pytest.mark.parametrize(
    "body",
    [
        sdt(p(r("inside")) + p(r("too"))),
        p(sdt(r("inside"))) + p(r("too")),
        sdt(tbl([tc(p(r("inside"))), tc(p(r("too")))])),
        tbl([tc(p(r("inside"))), tc(p(r("too")))])
        .replace("<w:tr>", "<w:sdt><w:sdtContent><w:tr>")
        .replace("</w:tr>", "</w:tr></w:sdtContent></w:sdt>"),
        tbl([sdt(tc(p(r("inside")))), tc(sdt(p(r("too"))))]),
        sdt(sdt(p(sdt(sdt(r("inside too")))))),
    ],
)
def test_no_text_in_a_content_control_is_lost(body: str) -> None:
    text = text_of(body)

    assert text.count("inside") == 1
    assert text.count("too") == 1


def test_a_text_box_comes_once_and_after_its_paragraph() -> None:
    box = f"<w:txbxContent>{p(r('boxed'))}</w:txbxContent>"
    choice = f"<mc:Choice><w:drawing><wps:txbx>{box}</wps:txbx></w:drawing></mc:Choice>"
    fallback = f"<mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback>"

    assert text_of(
        p(r("before "), f"<w:r><mc:AlternateContent>{choice}{fallback}</mc:AlternateContent></w:r>", r("after"))
    ) == ("before after\n\nboxed")
    assert text_of(p(f"<w:r><mc:AlternateContent><mc:Choice/>{fallback}</mc:AlternateContent></w:r>")) == "boxed"


def test_headings_are_found_by_style_chain_and_own_level() -> None:
    body = (
        p(r("A"), style="Ttulo1")
        + p(r("B"), style="Secao")
        + p(r("C"), more='<w:outlineLvl w:val="2"/>')
        + p(r("not"), style="Corpo")
        + p(r("D"), style="Heading4")
        + p(r("not either"), style="Laco")
        + p(r("nor " * 100), style="Ttulo1")
    )

    assert marked(draft("a.docx", made(body, styles=STYLES)), "heading") == [
        ("A", "A", 1),
        ("B", "B", 2),
        ("C", "C", 3),
        ("D", "D", 4),
    ]


def numbered(number: int, level: int = 0) -> str:
    return f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'


def test_list_items_have_their_numbers() -> None:
    body = (
        p(r("um"), more=numbered(1))
        + p(r("sub"), more=numbered(1, 1))
        + p(r("sub"), more=numbered(1, 1))
        + p(r("dois"), style="Lista")
        + p(r("sub"), more=numbered(1, 1))
        + p(r("ponto"), more=numbered(2))
        + p(r("sete"), more=numbered(3))
        + p(r("nenhum"), style="Lista", more=numbered(0))
        + p(r("sem lista"), more=numbered(99))
    )

    assert text_of(body, numbering=NUMBERING, styles=STYLES) == (
        "Art. 1º um\n  1.I - sub\n  1.II - sub\nArt. 2º dois\n  2.I - sub\n- ponto\nArt. 7º sete\n\nnenhum\n- sem lista"
    )


def test_a_numbered_heading_keeps_its_number() -> None:
    found = draft(
        "a.docx", made(p(r("Do objeto"), style="Ttulo1", more=numbered(1)), numbering=NUMBERING, styles=STYLES)
    )

    assert marked(found, "heading") == [("Art. 1º Do objeto", "Art. 1º Do objeto", 1)]


def test_merged_cells_come_once() -> None:
    body = tbl(
        [tc(p(r("wide")), '<w:gridSpan w:val="2"/>'), tc(p(r("c")))],
        [tc(p(r("tall")), '<w:vMerge w:val="restart"/>'), tc(p(r("x"))), tc(p(r("y")))],
        [tc(p(r("covered")), "<w:vMerge/>"), tc(p(r("z"))), tc("")],
    )

    assert text_of(body) == "| wide |  | c |\n| --- | --- | --- |\n| tall | x | y |\n|  | z |  |"


def test_a_table_in_a_cell_is_part_of_its_text() -> None:
    inner = tbl([tc(p(r("1"))), tc(p(r("2")))], [tc(p(r("3"))), tc(p(r("4")))])

    assert text_of(tbl([tc(p(r("a")) + inner + p()), tc(p(r("b")))])) == "| a 1 2; 3 4 | b |\n| --- | --- |"


def test_a_frame_of_one_column_is_no_table() -> None:
    found = draft("a.docx", made(tbl([tc(p(r("T"), style="Ttulo1") + p(r("x")))], [tc(p(r("y")))]), styles=STYLES))

    assert found.text == "T\n\nx\n\ny"
    assert marked(found, "heading") == [("T", "T", 1)]


def test_a_deleted_row_is_left_out() -> None:
    body = tbl([tc(p(r("a"))), tc(p(r("b")))], [tc(p(r("c"))), tc(p(r("d")))])
    before, _, after = body.rpartition("<w:tr>")

    assert text_of(f"{before}<w:tr><w:trPr><w:del/></w:trPr>{after}") == "| a | b |\n| --- | --- |"


def test_notes_stand_at_the_end_with_their_numbers() -> None:
    body = p(
        r("text"), '<w:r><w:footnoteReference w:id="5"/></w:r>', r(" and"), '<w:r><w:endnoteReference w:id="2"/></w:r>'
    )
    notes = f'<w:footnote w:id="0">{p(r("separator"))}</w:footnote><w:footnote w:id="5">{p(r("foot"))}</w:footnote>'

    found = draft("a.docx", made(body, footnotes=notes, endnotes=f'<w:endnote w:id="2">{p(r("end"))}</w:endnote>'))

    assert found.text == "text[1] and[2]\n\n[1] foot\n\n[2] end"
    assert marked(found, "heading") == []


def test_page_headers_come_once_and_bare_page_numbers_not_at_all() -> None:
    section = '<w:sectPr><w:headerReference r:id="header1"/><w:footerReference r:id="footer1"/></w:sectPr>'

    found = draft(
        "a.docx",
        made(
            p(r("body")) + p(more=section) + section,
            header1=p(r("Prefeitura"), style="Ttulo1"),
            footer1=p(r("Prefeitura")) + p(r("12")),
            styles=STYLES,
        ),
    )

    assert found.text == "body\n\nPrefeitura"
    assert marked(found, "heading") == []


def test_comments_stand_at_the_end_without_their_authors() -> None:
    comment = f'<w:comment w:id="0" w:author="Fulano">{p(r("rever isto"))}</w:comment>'

    assert text_of(p(r("body")), comments=comment) == "body\n\nrever isto"


def test_hidden_text_is_left_out_and_told() -> None:
    body = p(
        r("shown"), r(" secret", "<w:vanish/>"), r("!", '<w:vanish w:val="0"/>'), r("x y", '<w:rStyle w:val="Oculto"/>')
    )

    found = draft("a.docx", made(body, styles=STYLES))

    assert found.text == "shown!"
    assert found.losses == ("hidden text left out: 8 characters",)


def test_embedded_things_are_told() -> None:
    found = draft("a.docx", made(p(r("x"), "<w:r><w:object><o:OLEObject/></w:object></w:r>") + "<w:altChunk/>"))

    assert found.losses == ("embedded objects not read: 1", "embedded documents not read: 1")


@pytest.mark.parametrize(
    ("core", "body", "title"),
    [
        ("<dc:title>Edital 12</dc:title>", p(r("A"), style="Titulo"), "Edital 12"),
        ("<dc:title>Documento1</dc:title>", p(r("x")) + p(r("A"), style="Titulo"), "A"),
        ("", p(r("B"), style="Secao") + p(r("A"), style="Ttulo1"), "A"),
        ("", p(r("B"), style="Secao"), "B"),
        ("", p(r("x")), "edital"),
    ],
)
def test_the_title_is_what_the_document_calls_itself(core: str, body: str, title: str) -> None:
    assert draft("x/edital.docx", made(body, core, styles=STYLES)).title == title


def test_metadata_are_dates_and_no_persons() -> None:
    core = (
        "<dc:creator>Fulano</dc:creator><dcterms:created>2024-05-01T10:00:00Z</dcterms:created>"
        "<dcterms:modified>yesterday</dcterms:modified>"
    )

    assert draft("a.docx", made(p(r("x")), core)).metadata == {"created": "2024-05-01T10:00:00Z"}


def test_the_strict_kind_of_docx_is_read() -> None:
    assert draft("a.docx", made(p(r("estrito")), namespace=STRICT)).text == "estrito"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "there is nothing in it"),
        (b"PK\x03\x04 nothing", "damaged"),
        (b"plain text", "damaged"),
        (made(p(r(" "))), "no text in it"),
        (zipped({"a.txt": "x"}), "there is no Word document"),
        (zipped({"word/document.xml": "<a><b></a>"}), "no XML"),
        (zipped({"word/document.xml": ""}), "no XML"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 WordDocument", "old Word file"),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        draft("a.docx", data)


def test_an_entity_bomb_is_refused() -> None:
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<!DOCTYPE x [<!ENTITY e0 "ha">{levels}]><w:document {NAMES}><w:body>{p(r("&e11;"))}</w:body></w:document>'

    with pytest.raises(Unreadable, match=r"document type|no XML"):
        draft("a.docx", zipped({"word/document.xml": bomb}))


def test_a_file_from_outside_is_not_pulled_in(tmp_path: object) -> None:
    leak = f'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]><w:document {NAMES}>{p(r("&e;"))}</w:document>'

    with pytest.raises(Unreadable, match="document type"):
        draft("a.docx", zipped({"word/document.xml": leak}))


def test_a_part_that_swells_is_refused_before_it_is_unpacked() -> None:
    with pytest.raises(Unreadable, match="unpacks beyond bounds"):
        draft("a.docx", zipped({"word/document.xml": " " * 20_000_000}))


def test_too_many_entries_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_ENTRIES", 3)

    with pytest.raises(Unreadable, match="unpacks beyond bounds"):
        draft("a.docx", made(p(r("x"))))


def test_tables_nested_beyond_reason_are_refused_and_do_not_overflow() -> None:
    with pytest.raises(Unreadable, match="no XML"):
        draft("a.docx", made("<w:tbl><w:tr><w:tc>" * 400 + p(r("x")) + "</w:tc></w:tr></w:tbl>" * 400))
