"""Bytes → characters, when the label may be missing or wrong.

Decision hidden here: whom to believe. A byte order mark first; then UTF-8 if the bytes are valid
UTF-8, because other encodings almost never are by accident; then what the page declares; then
detection. The one file that knows charset_normalizer.
"""

import codecs
import logging
import re

# Python also calls "rot13", "idna" or "unicode_escape" codecs; a page may not choose those.
_CHARACTER_SETS = re.compile(
    r"(utf-(8|16|32)|iso8859|iso2022|cp\d|windows|koi8|mac|gb|hz|big5|euc|shift_jis|johab|ptcp|"
    r"ascii|tis-620|latin)"
)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SEVEN_BIT = ("iso2022", "hz")  # pure ASCII bytes, so they would pass as UTF-8
DETECTION_BYTES = 100_000  # enough for every language; the whole of a long file takes seconds
MIN_SIGNS = 12  # bytes beyond ASCII; with fewer, detection guesses among code pages at random
# A page cut in the middle of a letter, or with a stray byte from an old comment, is still UTF-8.
MAX_STRAY = 0.001
# Above this share of controls and replaced bytes it is no text. Of 256 equally
# frequent bytes, 26 or more are controls in every single-byte encoding, which is 0.10.
MAX_CONTROLS = 0.04
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\ufffd\ufffe\uffff]")


def decoded(data: bytes, *declared: str | None) -> str | None:
    """The characters of `data`, or `None` if it is not text in any encoding.

    `declared` are the labels that came with it, the most trusted first; `None` and names that mean
    nothing are passed over.

    >>> decoded("naïve".encode("latin-1"), "iso-8859-1"), decoded(bytes(range(256)))
    ('naïve', None)
    """
    text = _decode(data, [name for label in declared if (name := _codec(label))])
    if text and len(_CONTROLS.findall(text)) > 2 + MAX_CONTROLS * len(text):
        return None
    return text


def _decode(data: bytes, declared: list[str]) -> str | None:
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data.decode(name, "replace")
    seven_bit = [name for name in declared if name.startswith(_SEVEN_BIT)]
    for name in (*seven_bit, *_two_byte(data), "utf-8", *declared):
        text = _strict(data, name)
        if text is not None:
            return text
    text = data.decode("utf-8", "replace")
    # Nothing but plain ASCII beside the stray bytes is no sign of UTF-8.
    if (
        text.count("\ufffd") <= 1 + MAX_STRAY * len(text)
        and not text.replace("\ufffd", "").isascii()
    ):
        return text
    others = [name for name in declared if not name.startswith("utf")]
    return data.decode(others[0] if others else _detected(data), "replace")


def _strict(data: bytes, name: str) -> str | None:
    try:
        return data.decode(name)
    except UnicodeError:
        return None


def _codec(label: str | None) -> str | None:
    """Python's name for a declared label; Latin-1 is read as cp1252, as browsers do (WHATWG)."""
    try:
        name = codecs.lookup((label or "").strip()).name
    except (LookupError, ValueError):
        return None
    if name in ("iso8859-1", "ascii"):
        return "cp1252"
    return name if _CHARACTER_SETS.match(name) else None


def _two_byte(data: bytes) -> tuple[str, ...]:
    """The kind of UTF-16 if it is that: every other byte of Western text is zero then."""
    head = data[:2000]
    if len(head) < 8 or head.count(0) < len(head) // 4:
        return ()
    even, odd = head[::2].count(0), head[1::2].count(0)
    if min(even, odd) > len(head) // 20:
        return ()
    return ("utf-16-le",) if odd > even else ("utf-16-be",)


def _detected(data: bytes) -> str:
    logging.getLogger("charset_normalizer").addHandler(logging.NullHandler())
    from charset_normalizer import from_bytes

    if sum(byte > 127 for byte in data[:DETECTION_BYTES]) < MIN_SIGNS:
        return "cp1252"
    best = from_bytes(data[:DETECTION_BYTES]).best()
    return best.encoding if best else "cp1252"
