"""Numbers, dates, shares, money and measures, compared as people read them.

A `Value` is an interval, as wide as its wording is vague, in the base unit of its measure: "1.18
million" and 1,183,505 are one value, and so are "nearly half" and 48 %. A source supports a less
precise claim ("in 1912"); it neither supports nor contradicts a more precise one. The widths are
rounding conventions, checked on the pairs in tests/cases/values (`python tools/gate_values.py`).
quantulum3, dateparser and pint return no intervals.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, product
from typing import NamedTuple

from pincite.text import LEXICON, patterns, words_of
from pincite.text.dates import Day, read_days
from pincite.text.figures import (
    MONTH_NUMBERS,
    ONES,
    ORDINALS,
    SCALES,
    TENS,
    TENTHS,
    count_of,
    fold,
    in_english,
    reads_numbers,
    roman,
)
from pincite.text.languages import identify, of_claim
from pincite.types import Span


@dataclass(frozen=True, slots=True)
class Value:
    """A value and its position."""

    span: Span
    low: float = 0.0  # in the base unit of `measure`; low and high are 0 for a date
    high: float = 0.0
    measure: str = ""  # "length", "share", "money $", "date", …; "" for a bare number
    unit: str = ""  # as in `UNITS`: values in different units are compared more loosely
    dates: tuple[Day, ...] = ()  # of a date; two if day and month may be swapped
    between: tuple[float, float] | None = None  # of its range; years for dates
    sense: int = 0  # 1: that or more, -1: that or less; `low` and `high` are what is usually meant
    weak: bool = False  # may match a claim's value, but is not a value itself: "first", "one"

    @property
    def is_year(self) -> bool:
        """Whether it is a bare year, which may also be a number."""
        is_date = self.measure == "date"
        return is_date and all(d.months is None and d.year is not None for d in self.dates)


class Bounds(NamedTuple):
    """What a number with the word before it means: "nearly half", "over 60"."""

    low: float
    high: float
    sense: int  # see `Value`


# ── Units, and words that limit a number ─────────────────────────────────────────────────────────


class _Unit(NamedTuple):
    """A unit of measure, and what one is in the base unit of the measure."""

    measure: str
    name: str
    factor: float


def _any_of(words: Collection[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


# As shares of the number; "about" also ends at the next number of as many digits.
_KINDS_OF_HEDGE = {
    "about": Bounds(0.9, 1.1, 0),
    "nearly": Bounds(0.9, 1.0, 0),
    "or_more": Bounds(1.0, 1.25, 1),
    "or_less": Bounds(0.75, 1.0, -1),
}
_HEDGES = {
    word: _KINDS_OF_HEDGE[kind]
    for kind, words in LEXICON["hedges"].items()
    for word in words.split("|")
}
_HEDGE = re.compile(rf"(?:^|[\s(])({_any_of(_HEDGES)})\s?(?:a |an |the )?\Z", re.IGNORECASE)
_NEAR = 24  # characters before a number that are searched for a hedge or a name


def bounds_at(text: str, start: int, value: float, width: float, digit: float = math.inf) -> Bounds:
    """Return the bounds of a value at `start`; `digit`: place value of its last digit."""
    match = _HEDGE.search(text, max(0, start - _NEAR), start)
    if match is None:
        return Bounds(value - width, value + width, 0)
    hedge = _HEDGES[match[1].lower()]
    least, most = sorted((value * hedge.low, value * hedge.high))
    if hedge.low < 1 < hedge.high:
        least, most = max(least, value - digit), min(most, value + digit)
    return Bounds(least if hedge.low < 1 else value, most if hedge.high > 1 else value, hedge.sense)


def with_hedge(text: str, value: Value) -> str:
    """Return a value's words with what limits it: "fewer than the 90"."""
    match = _HEDGE.search(text, max(0, value.span.start - _NEAR), value.span.start)
    return text[match.start(1) if match else value.span.start : value.span.end]


def _units() -> dict[str, _Unit]:
    units = dict[str, _Unit]()
    for measure, names in LEXICON["units"].items():
        for entry in names.split(";"):
            words, factor = entry.split("=")
            forms = [word.replace("_", " ") for word in words.split()]
            # The singular of a time unit names the unit of ages: "year".
            units |= dict.fromkeys(forms, _Unit(measure, forms[0], float(factor)))
    return units


UNITS: Mapping[str, _Unit] = _units()  # by each form of their names
_NO_UNIT = _Unit("", "", 1.0)
_OF_SEVERAL_SIZES = {"gallon": 0.12, "ton": 0.12}  # units, and how far their sizes differ
_LETTERS_WITH_OTHER_MEANINGS = {"m", "l", "g", "w", "min"}
_UNIT = _any_of(sorted(UNITS.keys() - _LETTERS_WITH_OTHER_MEANINGS))
_P = patterns(
    __file__,
    "quantities",
    unit=_UNIT,
    ones=_any_of(ONES),
    digits="|".join(ONES[:9]),
    hours=_any_of(ONES[:12]),
    counted=_any_of([*ONES, *TENS, "zero", "dozen", "hundred", "thousand"]),
    places=_any_of([*ORDINALS, *TENTHS]),
    scales="|".join(SCALES),
)


def _factor(unit: str) -> float:
    return UNITS.get(unit, _NO_UNIT).factor


# ── Readers of the kinds of values, one for each pattern ─────────────────────────────────────────

_QUANTITY_AFTER = re.compile(rf"\s?(?:{_UNIT}|m|ft|people|inhabitants|men|women)\b", re.IGNORECASE)


def _read_dates(text: str) -> Iterator[Value]:
    for span, days in read_days(text):
        words = span.of(text)
        is_bare_year = len(words) == 4 and words.isdecimal()
        if not (is_bare_year and _QUANTITY_AFTER.match(text, span.end)):  # "1500 m" is not a year
            yield Value(span, measure="date", dates=days)


def _time(match: re.Match[str]) -> Value:
    if match["quarters"]:
        unit, n_quarters = UNITS["min"], 3 if match["quarters"][0] in "tT" else 1
        seconds = n_quarters * UNITS["hour"].factor / 4
    elif match["one"]:
        unit = UNITS[match["one"].lower()]
        seconds = unit.factor
    else:
        unit = UNITS[match["unit2"].lower()]
        seconds = count_of(match["n1"]) * UNITS[match["unit1"].lower()].factor
        seconds += count_of(match["n2"]) * unit.factor
    is_weak = bool(match["one"])
    return Value(Span(*match.span()), seconds, seconds, "time", unit.name, weak=is_weak)


_MINUTES = {"half past": 30, "quarter past": 15, "quarter to": -15}
_HALF_DAY, _MORNING = 12 * 60.0, 6 * 60.0  # minutes; "at night" is before or after midnight


def _clock_in_words(match: re.Match[str]) -> Value:
    past = _MINUTES[match["past"].lower().removeprefix("a ")] if match["past"] else 0
    minutes = _in_part_of_day(60 * count_of(match["hour"]) + past, match["part"])
    return _exact(match, minutes, "clock", "clock")


def _clock(match: re.Match[str]) -> Value:
    hours, minutes = int(match["h"] or match["hh"]), int(match["m"] or match["mm"] or 0)
    part = match["half"] or match["part"] or ("night" if match["night"] else "")
    of_day = _in_part_of_day(60 * hours + minutes, part) if part else 60.0 * hours + minutes
    return _exact(match, of_day, "clock", "clock")


def _in_part_of_day(minutes: float, part: str) -> float:
    """Return the minutes since midnight of a time on a clock with twelve hours."""
    minutes, part = minutes % _HALF_DAY, part.lower()
    is_late = part in ("afternoon", "evening", "p") or (part == "night" and minutes >= _MORNING)
    return minutes + _HALF_DAY if is_late else minutes


def _exact(match: re.Match[str], value: float, measure: str, unit: str) -> Value:
    return Value(Span(*match.span()), value, value, measure, unit)


def _feet(match: re.Match[str]) -> Value:
    metres = float(match[1]) * _factor("ft") + float(match[2]) * _factor("inch")
    return _exact(match, metres, "length", "ft")


def _half(match: re.Match[str]) -> Value:
    is_half_of_one = match["scale1"] or match["unit1"]  # "half a million", "half a mile"
    number = 0.5 if is_half_of_one else count_of(match["n"] or "a") + 0.5
    scale = (match["scale1"] or match["scale2"] or "").lower()
    name = match["unit1"] or match["unit2"] or match["unit3"] or ""
    unit = UNITS.get(name.lower(), _NO_UNIT)
    value = number * (12.0 if scale == "dozen" else SCALES.get(scale, 1.0)) * unit.factor
    width = 0.0 if scale == "dozen" else _HIDDEN_BEFORE_SCALE * value
    return _estimate(match, value, width, unit.measure, unit.name)


def _estimate(match: re.Match[str], value: float, width: float, measure: str, unit: str) -> Value:
    """Return a value with the bounds that the word before it sets."""
    low, high, sense = bounds_at(match.string, match.start(), value, width)
    return Value(Span(*match.span()), low, high, measure, unit, sense=sense)


_PLURALS = {"tens": 10.0, "dozens": 12.0, "hundreds": 1e2, "thousands": 1e3, "millions": 1e6,
            "billions": 1e9}  # fmt: skip


def _plural(match: re.Match[str]) -> Value:
    """Vague plurals: "dozens" means 24 or more, "tens of thousands" 20,000 to 100,000."""
    one = _PLURALS[match["word"].lower()] * _PLURALS.get((match["tens"] or "").lower(), 1.0)
    return Value(Span(*match.span()), 1.9 * one, 10 * one)


_FRACTIONS = {"half": 50.0, "third": 100 / 3, "quarter": 25.0, "fifth": 20.0, "tenth": 10.0}
_ONE_POINT = 1.0  # percentage points: the tolerance of "a third"


def _share(match: re.Match[str]) -> Value | None:
    if match["part"]:
        part = match["part"].lower().removesuffix("s").replace("halve", "half")
        if match["n"] is None and part not in ("half", "quarter"):
            return None  # "the fifth of them" is an ordinal, not a share
        percent = count_of(match["n"] or "a") * _FRACTIONS[part]
    else:
        percent = 100 * count_of(match["some"]) / max(1.0, count_of(match["all"]))
    return _estimate(match, percent, _ONE_POINT, "share", "%") if percent <= 100 else None


def _part_of_whole(match: re.Match[str]) -> Value | None:
    """A share that follows from two numbers, weak: "201 of the 300" states 67 %."""
    part = count_of((match["part1"] or match["part2"]).replace(",", ""))
    whole = count_of((match["whole1"] or match["whole2"]).replace(",", ""))
    if not 0 < part < whole:
        return None
    share = 100 * part / whole
    return Value(Span(*match.span()), share - 0.5, share + 0.5, "share", "%", weak=True)


_SHORT_SCALES = {"k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9, "b": 1e9, "tn": 1e12}
_SIGNS = {"$": "money $", "€": "money €", "£": "money £", "¥": "money ¥"}
_WEAK = frozenset({"one", "zero", "first", "second"})
_HIDDEN_BY_ZEROS = 0.025  # maximum rounding, as a share of the number: 400,000 for 396,400
_HIDDEN_BEFORE_SCALE = 0.075  # the same for the last digit before "million"
_GROUPS = ("digits", "fraction", "nth", "power", "raised", "words", "place", "scale", "percent",
           "unit", "letter")  # fmt: skip
_GROUPING = re.compile(r"[,\u00a0\u202f ]")
_AGE_AT = re.compile(r"\swhen (?:he|she|they) (?:died|was|were|retired|married|left|became)\b")
_LONGEST_AGE_WORDS = 30  # characters
# A number within a name: "Apollo 11", "Boeing 747", "Route 66", "Article 5", "X-15".
_NAME_BEFORE = re.compile(r"(?:^|[\s(“\"])(?P<word>[A-Z][\w’']*|No\.|no\.|[A-Z]{1,4})(?:-|\s)\Z")
_NO_NAMES = words_of("numbers", "no_names")
_PEOPLE = re.compile(r"\d+ (?:people|persons|men|women|children|soldiers|workers|passengers)\b")


class _Numeral(NamedTuple):
    """The number in a match of the pattern `number`, without its sign and unit."""

    digits: str  # without separators; "" if it is in words
    fraction: float  # 0.5 in "6½"
    words: str  # "two hundred and six", "twenty-fifth"
    scale: float  # 1e6 for "million" and for "× 10⁶"
    is_percent: bool

    @classmethod
    def of(cls, match: re.Match[str]) -> "_Numeral":
        fraction = unicodedata.numeric(match["fraction"]) if match["fraction"] else 0.0
        digits, words = _GROUPING.sub("", match["digits"] or ""), match["place"] or match["words"]
        return cls(digits, fraction, words or "", _scale(match), bool(match["percent"]))

    @property
    def value(self) -> float:
        number = float(self.digits) + self.fraction if self.digits else count_of(self.words)
        return number * self.scale

    def rounding(self) -> tuple[float, float]:
        """How far the exact number may lie from this one, and the place of its last digit.

        Zeros at the end do not count: 0 and 10 for 120, 50,000 and 100,000 for 1.2 million.
        """
        whole, _, decimals = self.digits.lstrip("0").partition(".")
        n_zeros = 0 if decimals else len(whole) - len(whole.rstrip("0"))
        scale = 1.0 if self.is_percent else self.scale
        digit = 10.0 ** (n_zeros - len(decimals)) * scale
        width = 0.0
        if self.is_percent or decimals:
            width = 0.5 * 10.0 ** -len(decimals) * scale
        elif scale > 1:
            width = min(0.5 * scale, _HIDDEN_BEFORE_SCALE * self.value)
        elif n_zeros >= 2 and len(self.digits) >= 4:
            width = min(0.5 * 10.0**n_zeros, _HIDDEN_BY_ZEROS * self.value)
        return width, digit if self.digits and not self.fraction else math.inf


def _numeral(match: re.Match[str]) -> Value | None:
    text, numeral = match.string, _Numeral.of(match)
    if re.fullmatch(r"\d{1,3}", match["digits"] or "") and _is_in_name(text, match.start("digits")):
        return None
    value = numeral.value * (-1 if match["minus"] and match["unit"] else 1)
    if not math.isfinite(value):
        return None
    start = match.start("sign") if match["sign"] else match.start()
    end = max(map(match.end, _GROUPS))
    measure, unit = _measure(match)
    before = text[max(0, start - _LONGEST_AGE_WORDS) : start]
    if not measure and (_P["age"].search(before) or _AGE_AT.match(text, end)):
        measure, unit = "time", "year"
    factor, (width, digit) = _factor(unit), numeral.rounding()
    low, high, sense = bounds_at(text, start, value * factor, width * factor, digit * factor)
    if unit == "°f":
        low, high = (low - 32) / 1.8, (high - 32) / 1.8
    is_weak = numeral.words.lower() in _WEAK and not (measure or match["scale"])
    return Value(Span(start, end), low, high, measure, unit, sense=sense, weak=is_weak)


def _scale(match: re.Match[str]) -> float:
    scale = match["scale"] or ""
    if power := match["power"] or match["raised"]:  # "10^6" is 10 with the scale 10^5
        exponent = int(unicodedata.normalize("NFKC", power).replace("−", "-"))
        return 10.0 ** (exponent if match["times"] else exponent - 1)
    if _is_metres(match):
        return 1.0
    return SCALES.get(scale.lower(), _SHORT_SCALES.get(scale, 1.0))


def _is_metres(match: re.Match[str]) -> bool:
    """Whether "m" is no million: "5 m", but not "5m" or "$5 m"."""
    return match["scale"] == "m" and match["gap"] == " " and not match["sign"]


def _measure(match: re.Match[str]) -> tuple[str, str]:
    """The measure and unit of a number, as in `Value`."""
    if match["percent"]:
        return ("points" if match["points"] else "share"), "%"
    if match["sign"]:
        return _SIGNS[match["sign"].strip()[-1]], ""
    if _is_metres(match):
        return "length", "m"
    # "40 kg/m²" and "40 kg m-2" are neither mass nor area, so they are compared as bare numbers.
    name = "" if match["per"] else (match["unit"] or match["letter"] or "").lower()
    unit = UNITS.get(name, _NO_UNIT)
    if unit.measure == "pounds":  # millions of pounds are money
        return ("money £", "") if match["scale"] else ("mass", "lb")
    return unit.measure, "" if unit.measure.startswith("money") else unit.name


def _is_in_name(text: str, start: int) -> bool:
    before = _NAME_BEFORE.search(text, max(0, start - _NEAR), start)
    if before is None:
        return bool(re.search(r"[A-Za-z]-\Z", text[max(0, start - 2) : start]))
    word = before["word"].lower()
    is_name = word not in _NO_NAMES and word[:3] not in MONTH_NUMBERS
    return is_name and not _PEOPLE.match(text, start)


_ROMAN = re.compile(r"(?<=[a-z] )(?P<roman>[IVX]{2,}|[VX])\b(?![-’'])")


def _roman_numeral(match: re.Match[str]) -> Value:
    n = roman(match["roman"])
    return Value(Span(*match.span()), float(n), float(n), weak=n < 4)


# ── All values of a text ─────────────────────────────────────────────────────────────────────────

# In this order: what one has read is no value for those after it.
_READERS: Sequence[tuple[re.Pattern[str], Callable[[re.Match[str]], Value | None]]] = (
    (_P["times"], _time),
    (_P["clock_in_words"], _clock_in_words),
    (_P["clock"], _clock),
    (_P["feet"], _feet),
    (_P["half"], _half),
    (_P["many"], _plural),
    (_P["share"], _share),
    (_P["number"], _numeral),
    (_ROMAN, _roman_numeral),
)


@lru_cache(maxsize=8192)  # a claim meets hundreds of passages, a passage many claims
def values(text: str, language: str | None = None) -> tuple[Value, ...]:
    """The values of `text`, in order, without overlaps; none in a language that is not read.

    >>> [(v.measure, v.low, v.high) for v in values("It is 5 km long, 12 % of it new.")]
    [('length', 5000.0, 5000.0), ('share', 11.5, 12.5)]
    """
    language = language or identify(text) or "en"
    if language != "en":
        return _in_other_language(text, language)
    text = fold(text)
    known: list[Value] = []
    taken = bytearray(len(text))  # characters used by an earlier reader
    read = (filter(None, map(reader, form.finditer(text))) for form, reader in _READERS)
    for candidates in (_read_dates(text), *read):
        new = [v for v in candidates if not any(taken[v.span.start : v.span.end])]
        for value in new:
            taken[value.span.start : value.span.end] = b"\1" * (value.span.end - value.span.start)
        known += new
    finite = (value for value in known if math.isfinite(value.low + value.high))
    ranged = _with_ranges(text, sorted(finite, key=lambda value: value.span))
    of_wholes = filter(None, map(_part_of_whole, _P["part_of_whole"].finditer(text)))
    return tuple(sorted([*ranged, *of_wholes], key=lambda value: value.span))


_FIRST_YEAR = 1000  # numbers from here on are hardly ever parts of names
_CAPITAL_BEFORE = re.compile(r"(?<!\w)([^\W\d_])[\w.]*[\s-]\Z")


def _in_other_language(text: str, language: str) -> tuple[Value, ...]:
    english, known = in_english(text, language), list[Value]()
    for value in values(english.text, "en"):
        span, is_unsure = english.original(value.span)
        before = _CAPITAL_BEFORE.search(text, max(0, span.start - _NEAR), span.start)
        # After a capital it may be part of a name: "Apollo 11". German has more capitals.
        is_small = not value.measure and value.low < _FIRST_YEAR
        may_be_name = is_small and before is not None and before[1].isupper()
        known.append(replace(value, span=span, weak=value.weak or is_unsure or may_be_name))
    return tuple(known)


_JOINS = re.compile(r"\s?[–-]\s?|\sto\s|\sand\s")
_LONGEST_BEFORE_RANGE = 12  # characters


def _with_ranges(text: str, known: Sequence[Value]) -> list[Value]:
    """Mark values that are the ends of one range: "between 70 and 90 metres"."""
    ranged = list(known)
    for n, (left, right) in enumerate(pairwise(known)):
        join = _JOINS.fullmatch(text, left.span.end, right.span.start)
        start = max(0, left.span.start - _LONGEST_BEFORE_RANGE)
        before = _P["before_range"].search(text, start, left.span.start)
        if not join or (before and before["change"]):
            continue
        if "and" in join[0]:
            is_range = bool(before and before["between"])
        else:
            is_range = right.measure not in ("", "date")
        if is_range:
            ranged[n : n + 2] = _ends(left, right)
    return ranged


def _ends(left: Value, right: Value) -> tuple[Value, Value]:
    """Give two values their range; unchanged if they are no ends of one."""
    if left.measure == right.measure == "date":
        if not (left.is_year and right.is_year):
            return left, right
        low, high = float(left.dates[0].year or 0), float(right.dates[0].year or 0)
    else:
        if not left.measure and right.measure != "date" and right.unit != "°f":  # "70 and 90 km"
            low, high = (end * _factor(right.unit) for end in (left.low, left.high))
            left = replace(left, low=low, high=high, measure=right.measure, unit=right.unit)
        low, high = left.low, right.high
    if left.measure != right.measure or low >= high:
        return left, right
    return replace(left, between=(low, high)), replace(right, between=(low, high))


# ── Values of a claim and its source ─────────────────────────────────────────────────────────────

_CONVERTED = 0.03  # converted values are rounded: 10 miles are "16 km"
_CONVERTED_DEGREE = 1.0  # a relative tolerance is meaningless for temperatures
_EPSILON = 1e-6
MOST = 100  # values per claim: a claim with more is a table
_NOWHERE = Span(0, 0)
_THINGS = re.compile(r" (?!was|has|is|as|its|this|less|times)[a-z]+s\b")


@lru_cache(maxsize=4096)  # used as a feature, for evidence and for reasons
def unstated_values(
    claim: str, source: str, languages: tuple[str | None, str | None] = (None, None)
) -> tuple[Value, ...]:
    """The values of `claim` that `source` does not state, in order.

    `languages`: of the claim and of the source, if they are known.

    >>> unstated_values("Nearly half of 1.2 million came.", "Of 1,183,505 people 48.1 % came.")
    ()
    """
    source_language = languages[1] or identify(source)
    language = languages[0] or of_claim(claim, source_language) or source_language or "en"
    source_language = source_language or language
    wanted = [value for value in values(claim, language) if not value.weak][:MOST]
    if not wanted or not (reads_numbers(language) and reads_numbers(source_language)):
        return ()
    in_source = values(source, source_language)
    known = list({replace(value, span=_NOWHERE): value for value in in_source}.values())
    # "Four bicycles" do not state "four months".
    of_no_things = [v for v in in_source if v.measure or not _THINGS.match(source, v.span.end)]
    is_english = language == source_language == "en"

    def is_stated(value: Value) -> bool:
        if any(states(other, value) for other in (of_no_things if value.unit else known)):
            return True
        if _is_put_together(value, known):
            return True
        # Among many years in a page, any one may lie between two others.
        if value.measure != "date" and any(holds(value, other) for other in known):
            return True
        if is_english and _is_last(value, claim, source):
            return True
        return _follows(value, [*known, *(other for other in wanted if other is not value)])

    return tuple(value for value in wanted if not is_stated(value))


def states(source: Value, claim: Value) -> bool:
    """Whether the source's value is at least as specific as the claim's, and agrees with it."""
    if source.measure == claim.measure == "date":
        return any(c.contains(s) for c, s in product(claim.dates, source.dates))
    if "date" not in (source.measure, claim.measure):
        return _is_same_number(source, claim)
    number, date = (source, claim) if claim.measure == "date" else (claim, source)
    if not date.is_year or number.measure:
        return False
    year = float(date.dates[0].year or 0)
    return _is_same_number(number, replace(date, low=year, high=year, measure="", dates=()))


def conflict(source: Value, claim: Value) -> bool:
    """Whether two values of one kind are incompatible: neither states nor allows the other."""
    if source.weak or claim.weak or source.measure != claim.measure:
        return False
    if holds(claim, source) or holds(source, claim):
        return False
    if _allows(claim, source) or _allows(source, claim):
        return False
    if any(0 < 2 * value.low < value.high for value in (source, claim)):
        return False  # "dozens" and "thousands" are too vague to contradict anything
    if claim.measure == "date":
        return not any(c.may_be(s) for c, s in product(claim.dates, source.dates))
    return not _is_same_number(source, claim)


def _allows(limit: Value, value: Value) -> bool:
    """Whether a value that says "more than" or "at most" allows another: 5,000 is over 100."""
    is_above = limit.sense > 0 and value.low >= limit.low
    return is_above or (limit.sense < 0 and value.high <= limit.high)


def holds(end: Value, value: Value) -> bool:
    """Whether a value lies in the range with the given end."""
    if end.between is None or value.between or value.weak or value.measure != end.measure:
        return False  # two ranges are compared by their ends
    low, high = end.between
    if end.measure == "date":
        return any(d.years and low <= d.years[0] and d.years[1] <= high for d in value.dates)
    slack = _EPSILON * max(abs(low), abs(high))
    return low - slack <= value.low and value.high <= high + slack


_ORDINAL = rf"(?:{'|'.join(ORDINALS)}|\d+(?:st|nd|rd|th))"
_ENDS_IN_ORDINAL = re.compile(rf"{_ORDINAL}\Z", re.IGNORECASE)
_NEXT_WORD = re.compile(r"\s+([^\W\d_]{3,})")


def _is_last(value: Value, claim: str, source: str) -> bool:
    """Whether the source may call the claim's ordinal "the last": "the fourth verse"."""
    noun = _NEXT_WORD.match(claim, value.span.end)
    if not noun or value.measure or not _ENDS_IN_ORDINAL.search(fold(value.span.of(claim))):
        return False
    word = re.escape(noun[1])
    if re.search(rf"\b{_ORDINAL}\W+(?:\w+\W+){{0,3}}?{word}\b", source, re.IGNORECASE):
        return False  # "the seventh and last season"
    return bool(re.search(rf"\b(?:last|final) (?:\w+ )?{word}\b", source, re.IGNORECASE))


_POUNDS = {("mass", "lb"), ("money £", "")}  # "18,000 pounds" may be either


def _is_same_number(left: Value, right: Value) -> bool:
    if {(left.measure, left.unit), (right.measure, right.unit)} == _POUNDS:
        left, right = (replace(_as_written(value), measure="", unit="") for value in (left, right))
    if left.measure != right.measure:
        if "" not in (left.measure, right.measure):
            return False
        if "share" in (left.measure, right.measure):
            return _is_proportion(left, right) if right.measure else _is_proportion(right, left)
        left, right = _as_written(left), _as_written(right)
    common = min(left.high, right.high) - max(left.low, right.low)
    slack = _tolerance(left, right)
    if left.unit == right.unit and left.low < left.high and right.low < right.high:
        narrower = min(left.high - left.low, right.high - right.low)
        return common > min(slack, narrower / 2)  # 13 % and 14 % only touch, at 13.5 %
    return common >= -slack


def _is_proportion(number: Value, share: Value) -> bool:
    """Whether a bare number between 0 and 1 is a share: "a proportion of 0.47"."""
    if not 0 < number.low < 1:
        return False
    return min(share.high, 100 * number.high) >= max(share.low, 100 * number.low)


def _tolerance(left: Value, right: Value) -> float:
    """How far two numbers may lie apart, in the base unit of their measure."""
    largest = max(abs(left.high), abs(right.high))
    if left.unit == right.unit or left.measure != right.measure or not left.measure:
        return _EPSILON * largest
    if left.measure == "temperature":
        return _CONVERTED_DEGREE
    sizes = (_OF_SEVERAL_SIZES.get(value.unit, 0.0) for value in (left, right))
    return max(*sizes, _CONVERTED) * largest


def _as_written(value: Value) -> Value:
    """A value in its own unit, to be compared with a bare number."""
    if value.unit == "°f":
        return replace(value, low=value.low * 1.8 + 32, high=value.high * 1.8 + 32)
    factor = _factor(value.unit)
    return replace(value, low=value.low / factor, high=value.high / factor)


def _is_put_together(value: Value, known: Sequence[Value]) -> bool:
    """Whether the text gives a date's year and day separately: "On 4 July … of that year, 1912"."""
    days = [day for other in known for day in other.dates]
    without_year = [day for day in days if not day.years]
    return any(
        any(Day(wanted.years).contains(day) for day in days)
        and any(replace(wanted, years=None).contains(day) for day in without_year)
        for wanted in value.dates
        if wanted.years and wanted.months
    )


_LONGEST_AGE = 130  # years: a longer time is rarely computed from two dates in a text
_DAYS_A_MONTH = 30.44
# Tolerances for a time between two dates, in days and years. If only the years are known, an age
# may be one less than their difference.
_DAYS_OFF, _YEARS_LESS, _YEARS_MORE = 1.5, 0.05, 1.05


def _follows(value: Value, known: Sequence[Value]) -> bool:
    """Whether a value can be computed from others: a difference, or a year by an age."""
    days = [day for other in known for day in other.dates]
    years = {day.year for day in days if day.year is not None}
    if value.measure == "points":  # 10 % to 15 % is 5 points
        shares = [(other.low + other.high) / 2 for other in known if other.measure == "share"]
        return any(value.low <= b - a <= value.high for a, b in product(shares, shares))
    if value.is_year:
        ages = {round(other.low / _factor("year")) for other in known if other.unit == "year"}
        return any(abs((value.dates[0].year or 0) - year) in ages for year in years)
    if value.measure != "time":
        return False
    if value.unit == "year" and 0 < value.low / _factor("year") <= _LONGEST_AGE:
        return _is_between_years(value, years)
    return value.low >= _factor("day") and _is_between_days(value, days)


def _is_between_years(time: Value, years: Collection[int]) -> bool:
    low = time.low / _factor("year") - _YEARS_LESS
    high = time.high / _factor("year") + _YEARS_MORE
    return any(low <= b - a <= high for a, b in product(years, years) if a < b)


def _is_between_days(time: Value, days: Sequence[Day]) -> bool:
    """Whether a time lies between two days that may be of one year."""
    low, high = time.low / _factor("day") - _DAYS_OFF, time.high / _factor("day") + _DAYS_OFF
    in_year = {
        (day.months[0] * _DAYS_A_MONTH + day.day, day.years)
        for day in days
        if day.months and day.day
    }
    return any(
        a < b and low <= b - a <= high and (None in (years, other_years) or years == other_years)
        for (a, years), (b, other_years) in product(in_year, in_year)
    )
