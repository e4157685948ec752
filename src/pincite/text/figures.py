"""Numbers, years, months and percentages as exact values, by which sentences are ranked.

"1,500" and "fifteen hundred" are one figure; "14 May 1911" and "May 14, 1911" have the same three.
`quantities` compares values as people do, by intervals and units; it shares the words for numbers,
and the rendering of other languages in English, with this module.
"""

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import entry_points
from itertools import pairwise
from operator import itemgetter
from types import ModuleType
from typing import NamedTuple

from pincite.text import LEXICON, patterns
from pincite.types import Span

ONES, TENS, ORDINALS, TENTHS, MONTHS = (
    tuple(LEXICON["numbers"][name].split())
    for name in ("ones", "tens", "ordinals", "tenths", "months")
)
MONTH_NUMBERS = {name.lower()[:3]: n for n, name in enumerate(MONTHS, 1)}
MONTH_NUMBERS |= {name.lower(): n for n, name in enumerate(MONTHS, 1)} | {"sept": 9}
SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_NUMBER_WORDS = {
    **{word: float(n) for words in (ONES, ORDINALS) for n, word in enumerate(words, 1)},
    **{word: 10.0 * n for words in (TENS, TENTHS) for n, word in enumerate(words, 2)},
    "zero": 0.0,
    "dozen": 12.0,
    "hundred": 1e2,
    "thousand": 1e3,
}
# Non-ASCII letters that `re.IGNORECASE` matches to ASCII ones, and digits of other scripts.
_NOT_ASCII = re.compile(r"[ſıİ\u212a]|(?![0-9])\d")
_LETTERS = {"ſ": "s", "ı": "i", "İ": "I", "\u212a": "K"}

_P = patterns(
    __file__,
    "figures",
    scales="|".join(SCALES),
    digits="|".join(ONES[:9]),
    ordinals="|".join(ORDINALS[:10]),
)
# "5m people" and "£5 m" are millions, "1,500 m" are metres.
_SHORT_SCALES, _SIGNS = {"m": 1e6, "bn": 1e9, "k": 1e3}, tuple("$€£¥")
_MONTH = re.compile(rf"\b(?P<month>{'|'.join(MONTHS)}|[A-Z][a-z][a-z])\b")
_ROMANS = {"I": 1, "V": 5, "X": 10}
# Uninformative: "one of", "first of all", "a second time".
_VAGUE = frozenset({"one", "zero", "first", "second"})


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its kind: `number`, `percent`, `year` (1000 to 2100, bare) or `month`."""

    kind: str
    value: float
    span: Span

    @property
    def key(self) -> tuple[str, float]:
        """Equal for equal figures; a year equals a bare number with the same value."""
        return ("number" if self.kind == "year" else self.kind, self.value)


@lru_cache(maxsize=4096)  # a claim meets hundreds of passages, a passage many claims
def figures(text: str) -> tuple[Figure, ...]:
    """The figures of `text`, in order.

    >>> [(f.kind, f.value) for f in figures("On 14 May 1911, 2.5 million came (12 %).")]
    [('number', 14.0), ('month', 5.0), ('year', 1911.0), ('number', 2500000.0), ('percent', 12.0)]
    """
    text = fold(text)
    ends = [
        Figure("year", float(match["century"] + match["end"]), Span(*match.span("end")))
        for match in _P["short_range"].finditer(text)
    ]
    in_ranges = {figure.span for figure in ends}
    numerals = [figure for figure in _numerals(text) if figure.span not in in_ranges]
    in_text = [*numerals, *ends, *_spelt_out(text), *_months(text)]
    return tuple(sorted(in_text, key=lambda figure: figure.span))


def fold(text: str) -> str:
    """Replace letters and digits that patterns match as ASCII; keeps the length."""
    if text.isascii():
        return text
    return _NOT_ASCII.sub(lambda m: _LETTERS.get(m[0]) or str(unicodedata.decimal(m[0])), text)


def roman(letters: str) -> int:
    """The number of a Roman numeral up to 39: other letters do not count."""
    numerals = [_ROMANS[letter] for letter in letters.upper() if letter in _ROMANS]
    return sum(a if a >= b else -a for a, b in pairwise([*numerals, 0]))


def number_in_words(words: str) -> float | None:
    """Parse a number in words, cardinal or ordinal; None if any word is not a number word.

    >>> number_in_words("two thousand three hundred and five"), number_in_words("Twenty-fifth")
    (2305.0, 25.0)
    """
    total, current = 0.0, 0.0
    for word in re.split(r"[\s-]+", words.lower()):
        if word == "and":
            continue
        value = _NUMBER_WORDS.get(word)
        if value is None:
            return None
        if word == "thousand":
            total, current = total + max(1.0, current) * value, 0.0
        elif word in ("hundred", "dozen"):
            current = max(1.0, current) * value
        else:
            current += value
    return total + current


def missing(claim: str, source: str) -> list[Figure]:
    """The figures of `claim` that `source` does not state, in order.

    >>> [f.value for f in missing("It opened in 1913 with two spans.", "Opened 1911: 2 spans")]
    [1913.0]
    """
    stated = {figure.key for figure in figures(source)}
    return [figure for figure in figures(claim) if figure.key not in stated]


def rivals(figure: Figure, claim: str, source: str) -> list[Figure]:
    """Figures of the same kind in `source` that the claim lacks: what the source states instead."""
    stated = {other.key for other in figures(claim)}
    return [
        other for other in figures(source) if other.kind == figure.kind and other.key not in stated
    ]


def _numerals(text: str) -> Iterator[Figure]:
    for match in _P["number"].finditer(text):
        value = float(match["number"].replace(",", ""))
        scale = (match["scale"] or "").lower()
        span = Span(*match.span())
        is_money = text[max(0, match.start() - 2) : match.start()].rstrip().endswith(_SIGNS)
        if scale in ("m", "k") and match.start("scale") > match.end("number") and not is_money:
            scale, span = "", Span(*match.span("number"))
        if not math.isfinite(value):
            continue
        if match["percent"]:
            yield Figure("percent", value, span)
        elif scale:
            yield Figure("number", value * (SCALES | _SHORT_SCALES)[scale], span)
        else:
            number = match["number"]
            is_year = len(number) == 4 and number.isdigit() and "1000" <= number <= "2100"
            yield Figure("year" if is_year else "number", value, span)


def _spelt_out(text: str) -> Iterator[Figure]:
    for match in _P["words"].finditer(text):
        words = match["tens"] or match["word"] or match["ordinal"]
        value = number_in_words(words)
        if value is not None and (match["scale"] or words.lower() not in _VAGUE):
            scale = SCALES[match["scale"].lower()] if match["scale"] else 1.0
            yield Figure("number", value * scale, Span(*match.span()))


def _months(text: str) -> Iterator[Figure]:
    """Month names; "May" and abbreviations only beside a number, since "may" is also a verb."""
    for match in _MONTH.finditer(text):
        word = match["month"].lower()
        near = text[max(0, match.start() - 3) : match.start()] + text[match.end() : match.end() + 3]
        sure = len(word) > 3 and match["month"][0].isupper()
        if word in MONTH_NUMBERS and (sure or any(char.isdigit() for char in near)):
            yield Figure("month", float(MONTH_NUMBERS[word]), Span(*match.span("month")))


# Entry points: modules with `LANGUAGES`, and `in_english(text, language) -> Rendering`. Without one
# (pincite-multilingual) only English is read, as by the network of the verifier.
NUMERALS = "pincite.numerals"


class Piece(NamedTuple):
    """A part of a text that was rendered in English, in order."""

    start: int  # in the rendering
    original: Span
    is_unsure: bool  # whether it may mean something else


class Rendering(NamedTuple):
    """A text in English, and the pieces of which it was made."""

    text: str
    pieces: Sequence[Piece] = ()

    def original(self, span: Span) -> tuple[Span, bool]:
        """The place in the original of a span of `text`, and whether a piece of it is unsure."""
        ends = span.start, span.end - 1
        first, last = (bisect_right(self.pieces, n, key=itemgetter(0)) - 1 for n in ends)
        pieces = self.pieces[first : last + 1]
        place = Span(pieces[0].original.start, pieces[-1].original.end)
        return place, any(piece.is_unsure for piece in pieces)


@cache
def renderer() -> ModuleType | None:
    return next((point.load() for point in entry_points(group=NUMERALS)), None)


def reads_numbers(language: str | None) -> bool:
    """Whether numbers in a text of this language can be read."""
    plugin = renderer() if language and language != "en" else None
    return language == "en" or (plugin is not None and language in plugin.LANGUAGES)


def in_english(text: str, language: str) -> Rendering:
    """Render a text in English, all other words blanked; empty if its language is not read."""
    plugin = renderer()
    rendering: Rendering = plugin.in_english(text, language) if plugin else Rendering("")
    return rendering
