from collections.abc import Callable
from contextlib import suppress

import pytest

from estante.model.errors import Unreadable
from tests.growth import BETWEEN, ratio
from tests.ingest.extractors.reading import draft, marked


def text_of(body: str) -> str:
    return draft("a.html", f"<html><body>{body}</body></html>").text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p>one\n  two&nbsp; <b>bo</b>ld</p><p>three</p>", "one two bold\n\nthree"),
        ("a<br>b<br/>\n c", "a\nb\nc"),
        ("<div>a<div>b</div>c</div>", "a\n\nb\n\nc"),
        ("<ul><li>a<li>b <i>c</i></ul>end", "- a\n- b c\n\nend"),
        ("x<ol start=3><li>a</li><li>b</li></ol>", "x\n\n3. a\n4. b"),
        ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n  - b\n- c"),
        ("<ul><li><p>a</p><p>b</p></li></ul>", "- a\n  b"),
        ("<pre>\n  x = 1\n\n  y</pre>", "  x = 1\n\n  y"),
        ("<dl><dt>word<dd>meaning</dl>", "word\n\nmeaning"),
        ("&lt;b&gt; &amp;amp; &eacute; &#8212;", "<b> &amp; é —"),
        ("<p>unclosed <b>bold <p>next", "unclosed bold\n\nnext"),
        ("H<sub>2</sub>O", "H2O"),
    ],
)
def test_a_page_reads_as_its_reader_sees_it(body: str, text: str) -> None:
    assert text_of(body) == text


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>gone</script>",
        "<style>gone</style>",
        "<noscript>gone</noscript>",
        "<template>gone</template>",
        "<nav>gone</nav>",
        "<header>gone</header>",
        "<footer>gone</footer>",
        "<aside>gone</aside>",
        "<div role=navigation>gone</div>",
        "<select><option>gone</select>",
        "<button>gone</button>",
        "<textarea>gone</textarea>",
        "<svg><text>gone</text></svg>",
        "<!-- gone -->",
        "<a class=headerlink>gone</a>",
        "<dialog>gone</dialog>",
    ],
)
def test_what_is_not_the_page_itself_is_left_out(hidden: str) -> None:
    assert text_of(f"<p>kept</p>{hidden}") == "kept"


@pytest.mark.parametrize(
    "attribute",
    [
        "hidden",
        "aria-hidden=true",
        'style="display: none"',
        'style="color:red;DISPLAY:NONE"',
        "style=visibility:hidden",
        "style=font-size:0",
    ],
)
def test_hidden_text_is_left_out_and_told(attribute: str) -> None:
    found = draft("a.html", f"<p>kept</p><p {attribute}>ignore all <b>of it</b></p>")

    assert found.text == "kept"
    assert found.losses == ("hidden text left out: 13 characters",)


@pytest.mark.parametrize(
    "page",
    [
        "<nav>no</nav><div>no</div><main><header>kept</header></main><div>no</div>",
        "<p>no</p><div role=main>kept</div>",
        "<p>n</p><article>kept</article>",
        "<p>n</p><div class='x document'>kept</div>",
    ],
)
def test_the_main_part_is_the_page(page: str) -> None:
    assert text_of(page) == "kept"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<article>one</article><article>two</article>", "one\n\ntwo"),
        (
            "<p>a long text that is not in it at all</p><article>tiny</article>",
            "a long text that is not in it at all\n\ntiny",
        ),
        ("<main> </main><p>kept</p>", "kept"),
        ("<header><h1>only a header</h1></header>", "only a header"),
        ("<nav>only links</nav>", "only links"),
    ],
)
def test_a_page_without_one_main_part_is_whole(page: str, text: str) -> None:
    assert text_of(page) == text


def test_headings_are_marked_with_their_levels() -> None:
    found = draft("a.html", "<h1>One <i>two</i><a class=headerlink>¶</a></h1><p>x</p><h3><div>Three</div>\nfour</h3>")

    assert marked(found, "heading") == [("One two", "One two", 1), ("Three four", "Three four", 3)]
    assert found.text == "One two\n\nx\n\nThree four"


def test_code_is_marked_with_its_language() -> None:
    found = draft("a.html", '<div class="highlight-python notranslate"><div><pre>x = <b>1</b>\n</pre></div></div>')

    assert marked(found, "code") == [("python", "x = 1", 0)]


def test_a_table_is_one_of_markdown() -> None:
    found = draft(
        "a.html",
        "<table><caption>Gastos</caption><tr><th>a<th>b|c</tr><tr><td><p>1</p><p>2</p><td><ul><li>x<li>y</ul></tr></table>",
    )

    assert found.text == "Gastos\n\n| a | b\\|c |\n| --- | --- |\n| 1 2 | x y |"
    assert marked(found, "table") == [("", "| a | b\\|c |\n| --- | --- |\n| 1 2 | x y |", 0)]


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("<table><tr><td><h2>T</h2>x</td><td>y</td></tr></table>", "T\n\nx\n\ny"),
        ("<table><tr><td>a</td></tr><tr><td>b</td></tr></table>", "a\n\nb"),
        ("<table role=presentation><tr><td>a<td>b</table>", "a\n\nb"),
        (
            "<table><tr><td>a<td><table><tr><td>1<td>2<tr><td>3<td>4</table></table>",
            "a\n\n| 1 | 2 |\n| --- | --- |\n| 3 | 4 |",
        ),
        ("<table><tr><td class=linenos><pre>1</pre><td><pre>x = 1</pre></table>", "x = 1"),
    ],
)
def test_a_table_that_only_puts_things_in_their_places_is_none(table: str, text: str) -> None:
    assert text_of(table) == text


@pytest.mark.parametrize(
    ("head", "body", "title"),
    [
        ("<title>Guia — Site</title>", "<h1>Guia</h1>x", "Guia"),
        ("<title>Guia do site</title>", "<h1>Bem-vindo</h1>x", "Guia do site"),
        ("<title> </title>", "<h1>Guia ¶</h1>x", "Guia"),
        ("", "x", "pagina"),
        ("<title>untitled</title>", "x", "pagina"),
    ],
)
def test_the_title_is_without_the_name_of_the_site(head: str, body: str, title: str) -> None:
    assert draft("a/pagina.html", f"<head>{head}</head><body>{body}</body>").title == title


def test_metadata_are_those_of_the_page() -> None:
    page = (
        '<meta name="Description" content="  Um  guia "><meta name=keywords content="a, b">'
        '<meta name=robots content=no><meta name=author content=""><p>x'
    )

    assert draft("a.html", page).metadata == {"description": "Um guia", "keywords": "a, b"}


@pytest.mark.parametrize(
    ("lang", "text", "language"),
    [
        ("pt-BR", "O processo deve ser encaminhado à secretaria", "pt"),
        ("en", "O processo deve ser encaminhado à secretaria", ""),
        ("pt-BR", "xyz", "pt"),
        ("", "O processo", ""),
        ("???", "O processo", ""),
    ],
)
def test_the_language_is_believed_unless_the_text_is_in_another(lang: str, text: str, language: str) -> None:
    assert draft("a.html", f'<html lang="{lang}"><p>{text}').language == language


@pytest.mark.parametrize(
    ("page", "encoding"),
    [
        ("<meta charset=iso-8859-1><p>não “é”", "cp1252"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=windows-1252"><p>não “é”', "cp1252"),
        ('<?xml version="1.0" encoding="ISO-8859-1"?><html><p>não é</p></html>', "latin-1"),
        ("<meta charset=iso-8859-1><p>não “é”", "utf-8"),
        ("<meta charset=utf-8><p>não “é”", "cp1252"),
        ("<p>não “é”", "utf-16"),
        ("<p>não “é”", "utf-8-sig"),
        ("<meta charset=no-such-thing><p>não “é”", "cp1252"),
    ],
)
def test_the_encoding_is_what_fits_whatever_the_page_says(page: str, encoding: str) -> None:
    assert draft("a.html", page.encode(encoding)).text.startswith("não ")


def test_elements_that_close_themselves_in_xml_hold_nothing() -> None:
    page = '<?xml version="1.0"?><html><head><script src="x"/><title/></head><body><div/><p>kept</p></body></html>'

    assert draft("a.xhtml", page).text == "kept"


@pytest.mark.parametrize("data", [b"", b"<html><body> </body></html>", b"<script>x</script>"])
def test_a_page_without_text_is_unreadable(data: bytes) -> None:
    with pytest.raises(Unreadable):
        draft("a.html", data)


def test_ten_thousand_elements_deep_is_read() -> None:
    assert draft("a.html", "<div>" * 10_000 + "x" + "</div>" * 10_000).text == "x"


def refusal(page: str) -> None:
    with pytest.raises(Unreadable, match="nested too deeply or with too many attributes"):
        draft("a.html", page)


@pytest.mark.parametrize(
    "page",
    [
        lambda size: "<div>" * size + "x",
        lambda size: "<div>" * (size // 3) + "<p>a</p>" * 3 * size,
        lambda size: "<p " + " ".join(f"a{number}=1" for number in range(size)) + ">x",
        lambda size: "<p " + "".join(f'a{number}="1"' for number in range(size)) + ">x",
    ],
)
def test_a_page_that_would_take_the_parser_minutes_is_refused_at_once(page: Callable[[int], str]) -> None:
    assert ratio(lambda size: refusal(page(size)), 60_000) < BETWEEN


@pytest.mark.parametrize(
    "page",
    [
        lambda size: "<ul><li>" * size + "x",
        lambda size: "<table><tr><td>x" * (size // 2),
        lambda size: "<b><p>" * size + "x",
        lambda size: "<select>" + "<option>a" * 6 * size + "</select>x",
        lambda size: "<b>" * (size // 16) + "<p></b>" * (size // 16) + "x",
        lambda size: "<" * 12 * size + "x",
        lambda size: "<!--" * 6 * size + "-->x",
        lambda size: "<p a='" * 2 * size + "'>x",
        lambda size: "<table>" + "<tr>" + "<td>a" * (size // 3) + "<tr><td>b" * (size // 3),
    ],
)
def test_the_time_for_a_hostile_page_does_not_grow_with_its_square(page: Callable[[int], str]) -> None:
    def read(size: int) -> None:
        with suppress(Unreadable):  # The larger ones may be refused.
            draft("a.html", page(size))

    assert ratio(read, 1_000) < BETWEEN
