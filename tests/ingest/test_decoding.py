import pytest

from estante.ingest.decoding import decode
from estante.model.errors import EstanteError, Unreadable
from tests.growth import BETWEEN, ratio

PORTUGUESE = "Relação dos órgãos públicos: a licitação não será adiada. Três vezes, só em março."


def test_utf_8_is_certain() -> None:
    found = decode(PORTUGUESE.encode())

    assert (found.text, found.encoding, found.certain) == (PORTUGUESE, "utf-8", True)
    assert found.losses == ()
    assert found.metadata == {}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_decides_and_is_taken_off(encoding: str) -> None:
    found = decode(PORTUGUESE.encode(encoding))

    assert found.text == PORTUGUESE
    assert found.certain


@pytest.mark.parametrize(("mark", "encoding"), [(b"\xfe\xff", "utf-16-be"), (b"\x00\x00\xfe\xff", "utf-32-be")])
def test_a_big_endian_mark_decides(mark: bytes, encoding: str) -> None:
    assert decode(mark + PORTUGUESE.encode(encoding)).text == PORTUGUESE


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_text_without_a_mark_is_known_by_its_nuls(encoding: str) -> None:
    found = decode(PORTUGUESE.encode(encoding))

    assert (found.text, found.encoding, found.certain) == (PORTUGUESE, encoding, False)


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [
        (PORTUGUESE, "cp1252", "windows-1252"),
        ("coração", "cp1252", "windows-1252"),
        ("é\n", "latin-1", "windows-1252"),
        ("EDITAL DE LICITAÇÃO Nº 12 – SÃO JOSÉ", "cp1252", "windows-1252"),
        ("Preço “à vista”: 15,50 € – não é ótimo…", "cp1252", "windows-1252"),
        ("These smart quotes are a “windows” encoding", "cp1252", "windows-1252"),
        ("## können\n\näöüß\n", "latin-1", "windows-1252"),
        (PORTUGUESE, "cp850", "ibm850"),
        ("EDITAL DE LICITAÇÃO SÃO JOSÉ", "cp850", "ibm850"),
        (PORTUGUESE, "mac-roman", "macintosh"),
        ("Однажды, в студеную зимнюю пору, я из лесу вышел", "cp866", "cp866"),
        ("Однажды, в студеную зимнюю пору, я из лесу вышел", "cp1251", "cp1251"),
        ("Однажды, в студеную зимнюю пору, я из лесу вышел", "koi8-r", "koi8-r"),
        ("这是一个中文文本的例子,用于测试编码检测。", "gb18030", "gb18030"),
        ("これは日本語のテキストです。文字コードの判定を試します。", "cp932", "cp932"),
        ("이것은 한국어 텍스트입니다. 문자 인코딩을 테스트합니다.", "cp949", "cp949"),
        ("Supported features are listed below, with their names\r\n" * 5, "cp500", "ibm500"),
    ],
)
def test_an_old_encoding_is_guessed_and_said_to_be(text: str, encoding: str, name: str) -> None:
    found = decode(text.encode(encoding))

    assert (found.text, found.encoding) == (text, name)
    assert found.losses == (f"read as {name} by guess",)
    assert found.metadata == {"encoding": name}


def test_a_file_half_in_utf_8_and_half_in_windows_1252_loses_no_accent() -> None:
    data = f"{PORTUGUESE}\n".encode() + PORTUGUESE.encode("cp1252") + f"\n{PORTUGUESE}".encode()

    found = decode(data)

    assert found.text == "\n".join([PORTUGUESE] * 3)
    assert found.encoding == "utf-8 mixed with windows-1252"


def test_one_broken_byte_late_in_a_file_does_not_spoil_the_rest() -> None:
    data = (PORTUGUESE * 20_000).encode() + b"\xe7\n" + PORTUGUESE.encode()

    assert decode(data).text == PORTUGUESE * 20_000 + "ç\n" + PORTUGUESE


def test_a_file_cut_within_a_letter_is_still_utf_8() -> None:
    found = decode("licitação".encode()[:-2])

    assert (found.text, found.encoding, found.certain) == ("licitaç", "utf-8", False)


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00",
        bytes(range(256)) * 10,
        b"\x00" * 100,
        b"PK\x03\x04\x14\x00\x06\x00\x08\x00" + bytes(range(200)),
        b"text \x00\x00\x01\x02\x03\x04\x05\x06",
    ],
)
def test_binary_data_is_not_text(data: bytes) -> None:
    with pytest.raises(Unreadable, match="not text"):
        decode(data)


def test_a_few_nuls_in_a_long_log_are_no_reason_to_refuse_it() -> None:
    assert decode(b"line of a log\n" * 1000 + b"\0\0\0").text.startswith("line of a log")


def test_coloured_output_of_a_terminal_is_text() -> None:
    assert decode(b"\x1b[31mred\x1b[0m\n" * 10).certain


def test_a_declared_encoding_is_believed_when_it_fits() -> None:
    found = decode("zażółć gęślą jaźń".encode("iso8859-2"), declared="ISO-8859-2")

    assert (found.text, found.certain) == ("zażółć gęślą jaźń", True)


def test_latin_1_on_a_page_means_windows_1252() -> None:
    assert decode("“à vista”".encode("cp1252"), declared="iso-8859-1").text == "“à vista”"


@pytest.mark.parametrize("declared", ["utf-8", "windows-1251", "no-such", "rot13", "unicode_escape", "idna", "\0", ""])
def test_a_declared_encoding_that_does_not_fit_is_not_believed(declared: str) -> None:
    assert decode(PORTUGUESE.encode("cp1252"), declared=declared).text == PORTUGUESE


def test_utf_8_is_not_overruled_by_what_is_declared() -> None:
    assert decode(PORTUGUESE.encode(), declared="iso-8859-1").text == PORTUGUESE


def test_a_japanese_mail_encoding_is_read_when_declared() -> None:
    assert decode("日本語の文書".encode("iso2022_jp"), declared="iso-2022-jp").text == "日本語の文書"


def test_nothing_is_the_empty_text() -> None:
    assert decode(b"").text == ""


def test_every_pair_of_bytes_is_text_or_refused() -> None:
    for high in range(256):
        for low in range(0, 256, 5):
            try:
                decode(bytes([high, low]) * 3)
            except EstanteError:
                continue


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "cp850"])
def test_the_time_to_decode_grows_with_the_size_and_not_with_its_square(encoding: str) -> None:
    line = PORTUGUESE.encode(encoding)

    assert ratio(lambda size: decode(line * size), 5_000_000 // len(line)) < BETWEEN
