"""The last step of every reader: text in which spans can be counted and words compared.

Decision hidden here: NFC and not NFKC (superscripts and fractions keep their meaning), ligatures
taken apart, invisible characters dropped, one kind of space and one kind of line break.
`cleaned` is idempotent: stored text can be cleaned again without moving a span.
"""

import re
import unicodedata
from functools import cache

_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Control characters, soft hyphens, zero-width spaces, direction marks (they can make a text read
# otherwise than it is stored), byte order marks and non-characters. Joiners (U+200C/D) stay: they
# are letters' business in Persian and the Indic scripts.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")
_SPACES = re.compile("[ \t\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
_ODD_SPACE = re.compile("[\t\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_LIGATURES = dict(enumerate(("ff", "fi", "fl", "ffi", "ffl", "st", "st"), start=0xFB00))
_LIGATURE = re.compile("[\ufb00-\ufb06]")
# Unicode's stream-safe format (UAX #15, section 13). Without it, normalising takes quadratic time:
# 40,000 marks on one letter took 15 s.
MAX_MARKS = 30
_NO_WESTERN_LETTER = re.compile(f"[\u0300-\U0010ffff]{{{MAX_MARKS + 1}}}")  # all marks are up there


def cleaned(text: str) -> str:
    r"""`text` in NFC, without invisible characters, at most one space or blank line in a row.

    >>> cleaned("  Cafe\u0301 \t au\u00a0lait \r\n\r\n\r\nof\ufb01ce\u00ad ")
    'Café au lait\n\noffice'
    """
    is_plain = text.isascii() and text.replace("\n", " ").isprintable()
    if not is_plain:  # most text is, and takes a quarter of the time
        text = _normalized(text)
    if "  " in text:
        text = _SPACES.sub(" ", text)
    text = text.replace(" \n", "\n").replace("\n ", "\n")
    if "\n\n\n" in text:
        text = re.sub(r"\n{3,}", "\n\n", text)
    return text.strip("\n ")


def _normalized(text: str) -> str:
    """NFC, with only characters that can be seen, plain spaces and line feeds.

    The different characters of a text are few, and most texts have none of these: looking at them
    first takes a third of the time.
    """
    signs = "".join(set(text))
    if _BREAKS.search(signs):
        text = _BREAKS.sub("\n", text)
    if _INVISIBLE.search(signs):
        text = _INVISIBLE.sub("", text)
    if not text.isascii():
        if _SURROGATES.search(signs):
            text = _SURROGATES.sub("\ufffd", text)
        if _LIGATURE.search(signs):
            text = _LIGATURE.sub(lambda match: _LIGATURES[ord(match[0])], text)
        if _NO_WESTERN_LETTER.search(text):
            text = _stacked_marks().sub(lambda match: match[0][:MAX_MARKS], text)
        text = unicodedata.normalize("NFC", text)
    return _SPACES.sub(" ", text) if _ODD_SPACE.search(signs) else text


def one_line(text: str | None) -> str:
    """A title, a name, a date: cleaned, with line breaks as spaces; empty for `None`."""
    if not text:
        return ""
    if text.isascii() and text.isprintable():  # most fields of most records
        return " ".join(text.split())
    return " ".join(cleaned(text).split())


@cache
def _stacked_marks() -> re.Pattern[str]:
    """More than MAX_MARKS combining characters in a row."""
    # The four that decompose into marks although they are none themselves (UAX #15).
    marks = [0x0344, 0x0F73, 0x0F75, 0x0F81]
    marks += [point for point in range(0x300, 0x1F000) if unicodedata.combining(chr(point))]
    group = "[" + "".join(map(chr, marks)) + "]"
    return re.compile(f"{group}{{{MAX_MARKS + 1},}}")
