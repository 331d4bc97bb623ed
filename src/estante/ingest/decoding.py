"""Bytes to text: which encoding they are in, and how sure that is."""

from __future__ import annotations

import codecs
import re
import string
import unicodedata
from dataclasses import dataclass
from typing import Final

from estante.model.errors import Unreadable

_SAMPLE: Final = 1 << 20
_CLOSE_LOOK: Final = 1 << 16
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Not counted: tab, line ends, form feed, and the backspace and escape of terminals.
_CONTROLS: Final = bytes([*range(0x08), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20), 0x7F])
_EBCDIC: Final = f"{string.ascii_letters}{string.digits} .,-\t\r\n".encode("cp500") + b"\x15"
MIXED: Final = "utf-8 mixed with windows-1252"
# Pages that name the first of each pair mean the second (WHATWG Encoding Standard).
_MEANT: Final = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "tis-620": "cp874",
}
# Python has codecs that are no encodings of text, and some that take quadratic time.
_DECLARABLE: Final = re.compile(
    "cp(?!65001)[0-9]+|iso8859-[0-9]+|koi8-[a-z]|mac-[a-z]+|gb18030|big5[a-z]*|euc_[a-z0-9_]+|iso2022_[a-z0-9_]+|johab"
)
_NAMES: Final = {"cp1252": "windows-1252", "cp850": "ibm850", "mac-roman": "macintosh", "cp500": "ibm500"}
_WESTERN: Final = ("cp1252", "cp850", "mac-roman")
_ESCAPED: Final = re.compile("[\udc80-\udcff]")
_BEYOND_ASCII: Final = re.compile("[^\x00-\x7f\udc80-\udcff]+")
_ESCAPED_RUN: Final = re.compile("[\udc80-\udcff]{3,}")
_OPENING: Final = "\u201c\u2018\u00ab\u00bf\u00a1\u201e"
_CLOSING: Final = "\u201d\u2019\u00bb\u2026"
_SIGNS: Final = (
    "\u2013\u2014\u2022\u00b0\u00ba\u00aa\u00a7\u20ac\u00a3\u00a9\u00ae\u2122\u00b7\u00b1\u00b2\u00b3\u00bd\u00d7"
)
_USUAL: Final = "áàâãäåçéèêëíìîïñóòôõöúùûüßæøÁÀÂÃÄÅÇÉÈÊËÍÌÎÏÑÓÒÔÕÖÚÙÛÜÆØ\u00ba\u00aa"
_OTHERS: Final = (
    "cp1251 koi8_r cp866 iso8859_5 mac_cyrillic cp1253 iso8859_7 cp1255 cp1256 iso8859_6 cp874 "
    "gb18030 big5 cp932 euc_jp cp949"
)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text, the encoding it was read in, and whether that is certain rather than a guess."""

    text: str
    encoding: str
    certain: bool

    @property
    def losses(self) -> tuple[str, ...]:
        """What the report should say: nothing when it is certain."""
        return () if self.certain else (f"read as {self.encoding} by guess",)

    @property
    def metadata(self) -> dict[str, object]:
        """The encoding, when it is worth a mention."""
        return {} if self.encoding == "utf-8" else {"encoding": self.encoding}


def decode(data: bytes, *, declared: str | None = None) -> Decoded:
    """The text in ``data``, by byte order mark, as UTF-8, as ``declared``, or by evidence, in this order.

    The same bytes always give the same text. Raises ``Unreadable`` for what is not text.
    """
    found = _by_mark(data) or _unmarked_wide(data) or _as_utf8(data, declared) or _as_declared(data, declared)
    if found is not None:
        return found
    if _uncommon(data[:_SAMPLE], _CONTROLS) > 0.005:
        raise _not_text()
    return _guessed(data)


def _not_text() -> Unreadable:
    return Unreadable("not text", hint="Leave it out with a pattern, or give it its right suffix.")


def _uncommon(sample: bytes, values: bytes) -> float:
    """The share of these byte values."""
    return 1 - len(sample.translate(None, values)) / len(sample) if sample else 0.0


def _by_mark(data: bytes) -> Decoded | None:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            body = data[len(mark) :]
            try:
                return Decoded(body.decode(encoding), encoding, True)
            except UnicodeDecodeError:
                if encoding != "utf-8" and (text := body.decode(encoding, "replace")).count("\ufffd") * 100 <= len(
                    text
                ):
                    return Decoded(text, encoding, False)
    return None


def _unmarked_wide(data: bytes) -> Decoded | None:
    """UTF-16 or UTF-32 without a mark, by where its NULs stand and by all of it being sensible."""
    sample = data[: _SAMPLE & ~3]
    if b"\0" not in sample:
        return None
    nuls = [sample[at::4].count(0) for at in range(4)]
    quarter = max(1, len(sample) // 4)
    if min(nuls[2:]) > quarter * 0.9 and nuls[0] == 0:
        candidates = ["utf-32-le"]
    elif min(nuls[:2]) > quarter * 0.9 and nuls[3] == 0:
        candidates = ["utf-32-be"]
    else:
        low, high = nuls[0] + nuls[2], nuls[1] + nuls[3]
        candidates = ["utf-16-le"] if low * 10 < high else ["utf-16-be"] if high * 10 < low else []
    for encoding in candidates:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if _sensible_wide(text[:_CLOSE_LOOK]):
            return Decoded(text, encoding, False)
    return None


def _sensible_wide(text: str) -> bool:
    odd = sum(unicodedata.category(char) in ("Cn", "Co", "Cs", "Cc") and char not in "\t\n\r\f" for char in text)
    return odd * 200 <= len(text)


def _as_utf8(data: bytes, declared: str | None) -> Decoded | None:
    if declared is not None and declared.lower().startswith("iso-2022") and b"\x1b" in data:
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data" and error.start > 0 and not data[: error.start].isascii():
            return Decoded(data[: error.start].decode("utf-8"), "utf-8", False)
        return None
    if _uncommon(data, _CONTROLS) > 0.005:
        raise _not_text()
    return Decoded(text, "utf-8", True)


def _as_declared(data: bytes, declared: str | None) -> Decoded | None:
    """As declared, when that gives sensible text: many a page tells the wrong encoding."""
    if declared is None:
        return None
    try:
        encoding = codecs.lookup(declared.strip()).name
        encoding = _MEANT.get(encoding, encoding)
        if not _DECLARABLE.fullmatch(encoding):
            return None
        text = data.decode(encoding)
    except (LookupError, UnicodeError, ValueError):
        return None
    # Mojibake of one byte a letter is full of signs inside words.
    if _sensible_wide(text[:_CLOSE_LOOK]) and _plausibility(_window(data).decode(encoding, "replace")) >= 0:
        return Decoded(text, _NAMES.get(encoding, encoding), True)
    return None


def _window(data: bytes) -> bytes:
    """A part of the data that starts shortly before its first byte that is not UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        start = max(0, error.start - _CLOSE_LOOK // 4)
        return data[start : start + _CLOSE_LOOK]
    return data[:_CLOSE_LOOK]


def _guessed(data: bytes) -> Decoded:
    window = _window(data)
    if _uncommon(window, _EBCDIC) > 0.85 and window.count(b" ") * 50 < window.count(b"\x40"):
        return Decoded(data.decode("cp500"), _NAMES["cp500"], False)
    escaped = window.decode("utf-8", "surrogateescape")
    whole = sum(map(len, _BEYOND_ASCII.findall(escaped)))
    if (foreign := _foreign(data, window, escaped, whole)) is not None:
        return foreign
    scores = {name: _plausibility(window.decode(name, "replace")) for name in _WESTERN}
    # Nearly every such file here was written on Windows; another must be clearly better.
    best = max(_WESTERN, key=lambda name: scores[name] + (0.3 if name == "cp1252" else 0))
    mixed = _plausibility(_mend(escaped)) if whole else -1.0
    if mixed > scores[best]:
        return Decoded(_mend(data.decode("utf-8", "surrogateescape")), MIXED, False)
    if scores[best] < 0:
        raise Unreadable("not text in any encoding that is known here", hint="Save it as UTF-8.")
    return Decoded(data.decode(best, "replace"), _NAMES[best], False)


def _mend(escaped: str) -> str:
    """The text with each byte that was not UTF-8 read as windows-1252."""
    return _ESCAPED.sub(lambda found: bytes([ord(found[0]) - 0xDC00]).decode("cp1252", "replace"), escaped)


def _foreign(data: bytes, window: bytes, escaped: str, whole: int) -> Decoded | None:
    """The text in an encoding of another script; None where the letters beyond ASCII stand alone, as accents do.

    ``whole`` is how many characters in the window are good UTF-8; by chance that happens now and then.
    """
    broken = len(_ESCAPED.findall(escaped))
    in_runs = sum(map(len, _ESCAPED_RUN.findall(escaped)))
    if broken < 8 or in_runs < broken * 0.3 or whole > 2 * broken:
        return None
    # Imported late: it takes longer than most files do.
    from charset_normalizer import from_bytes

    match = from_bytes(window, cp_isolation=_OTHERS.split()).best()
    if match is None:
        return None
    text = data.decode(match.encoding, "replace")
    if text.count("\ufffd") * 100 > len(text):
        return None
    return Decoded(text, match.encoding.replace("_", "-"), False)


def _plausibility(text: str) -> float:
    """From -1 to 1: how well the characters beyond ASCII fit where they stand; 1 when there are none."""
    total, count, length = 0.0, 0, len(text)
    for found in _BEYOND_ASCII.finditer(text):
        for at in range(found.start(), found.end()):
            before = text[at - 1] if at else " "
            after = text[at + 1] if at + 1 < length else " "
            total += _fit(before, text[at], after)
            count += 1
    return total / count if count else 1.0


def _fit(before: str, char: str, after: str) -> float:
    if char == "\ufffd" or unicodedata.category(char)[0] == "C":
        return -1.0
    if char.isalpha():
        return _letter_fit(before, char, after)
    inside = before.isalpha() and after.isalpha()
    if char in _OPENING:
        return -1.0 if before.isalpha() else 1.0
    if char in _CLOSING:
        return -1.0 if inside and char != "\u2019" else 1.0
    if char in _SIGNS:
        return -1.0 if inside else 0.5
    # A no-break space stands between words, but it is also an accented letter of DOS.
    return -0.2 if char == "\xa0" else -1.0 if before.isalpha() or after.isalpha() else -0.1


def _letter_fit(before: str, char: str, after: str) -> float:
    if char.isupper() and before.islower():
        return -1.0
    if char.islower() and before.isupper() and after.isupper():
        return -1.0
    if "\u0370" <= char < "\u1e00" and any(near.isascii() and near.isalpha() for near in (before, after)):
        return -1.0
    return 1.0 if char in _USUAL or char >= "\u0370" else 0.3
