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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, product

from pincite.text import LEXICON, entry, list_of, pattern
from pincite.text.figures import (
    MONTH_NUMBERS,
    ONES,
    ORDINALS,
    SCALES,
    TENS,
    TENTHS,
    fold,
    in_english,
    number_in_words,
    reads_numbers,
    roman,
)
from pincite.text.languages import identify, of_claim
from pincite.types import Span


@dataclass(frozen=True, slots=True)
class Day:
    """A date to the stated precision: a range of years for a decade, of months for a season."""

    years: tuple[int, int] | None = None
    months: tuple[int, int] | None = None
    day: int | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """A value and its position."""

    span: Span
    low: float = 0.0  # in the base unit of `measure`; low and high are 0 for a date
    high: float = 0.0
    measure: str = ""  # "length", "share", "money $", "date", …; "" for a bare number
    unit: str = ""  # as in `units`: values in different units are compared more loosely
    dates: tuple[Day, ...] = ()  # of a date; two if day and month may be swapped
    between: tuple[float, float] | None = None  # of its range; years for dates
    sense: int = 0  # 1: that or more, -1: that or less; `low` and `high` are what is usually meant
    weak: bool = False  # may match a claim's value, but is not a value itself: "first", "one"

    @property
    def is_year(self) -> bool:
        """Whether it is a bare year, which may also be a number."""
        return self.measure == "date" and all(
            d.months is None and d.years and d.years[0] == d.years[1] for d in self.dates
        )


_OR_MORE, _OR_LESS = (1.0, 1.25), (0.75, 1.0)
_HEDGES = {
    word: (low, high) for low, high, words in entry(__name__, "hedges") for word in words.split("|")
}


def _any_of(words: Sequence[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


# A number in words. "Five thirty-second ads" are five and thirty, not 35: after a small number only
# "hundred" and the like continue it.
_SCALE = "(?:hundred|thousand|dozen)"
_SMALL_WORDS = rf"(?:(?:{'|'.join(TENS)})(?:[ -](?:{'|'.join(ONES[:9])}))?\b|zero|{_any_of(ONES)})"
_SCALED_WORDS = rf"(?:{_SMALL_WORDS}[ -])?{_SCALE}(?:[ -]{_SCALE})*"
_WORDED = rf"(?:{_SCALED_WORDS}(?:[ -](?:and\s)?{_SCALED_WORDS})*"
_WORDED += rf"(?:[ -](?:and\s)?{_SMALL_WORDS})?|{_SMALL_WORDS}|a(?= (?:million|billion)\b))"
_COUNTED = _any_of([*ONES, *TENS, "zero", "dozen", "hundred", "thousand"])
_PLACES = _any_of([*ORDINALS, *TENTHS])
_HEDGE = re.compile(rf"(?:^|[\s(])({_any_of(list(_HEDGES))})\s?(?:a |an |the )?\Z", re.IGNORECASE)


def _count(words: str) -> float:
    if words.lower() in ("a", "an"):
        return 1.0
    value = number_in_words(words)
    return float(words) if value is None else value


def hedged(
    text: str, start: int, value: float, width: float, digit: float = math.inf
) -> tuple[float, float, int]:
    """Return low, high and sense of a value at `start`; `digit`: place value of its last digit."""
    hedge = _HEDGE.search(text, max(0, start - 24), start)
    low, high = value - width, value + width
    if hedge is None:
        return low, high, 0
    below, above = bounds = _HEDGES[hedge[1].lower()]
    least, most = sorted((value * below, value * above))
    if below < 1 < above:
        least, most = max(least, value - digit), min(most, value + digit)
    sense = {_OR_MORE: 1, _OR_LESS: -1}.get(bounds, 0)
    return (least if below < 1 else value), (most if above > 1 else value), sense


def with_hedge(text: str, value: Value) -> str:
    """Return a value's words with what limits it: "fewer than the 90"."""
    hedge = _HEDGE.search(text, max(0, value.span.start - 24), value.span.start)
    return text[hedge.start(1) if hedge else value.span.start : value.span.end]


def _units() -> tuple[dict[str, tuple[str, str]], dict[str, float]]:
    names, factors = dict[str, tuple[str, str]](), dict[str, float]()
    for line in " ".join(LEXICON["units"]["table"].split()).split("|"):
        measure, units = (part.strip() for part in line.split(":", 1))
        for unit in units.split(";"):
            words, factor = unit.split("=")
            plain = [word.replace("_", " ") for word in words.split()]
            # The singular of a time unit names the unit of ages: "year".
            names |= dict.fromkeys(plain, (measure, plain[0]))
            factors[plain[0]] = float(factor)
    return names, factors


UNITS, FACTORS = _units()
LOOSE = {"gallon": 0.12, "ton": 0.12}  # units with several sizes
# Excludes letters with other meanings.
_NAMES = sorted(set(UNITS) - {"m", "l", "g", "w", "min"}, key=len, reverse=True)
UNIT = "|".join(map(re.escape, _NAMES))

# ── Dates and times of day ──────────────────────

_PARTS_OF_YEAR = {"early": (1, 5), "mid": (4, 9), "late": (8, 12), "end": (10, 12),
                  "beginning": (1, 3), "start": (1, 3), "spring": (3, 6), "summer": (6, 9),
                  "autumn": (9, 12), "fall": (9, 12)}  # fmt: skip
# Groups of `_DATES` with the month, year and day of a form.
_FORMS = (("m1", "y1", "day"), ("m2", "y2", "d2"), ("m3", "y3", ""), ("m4", "", ""))
_PARTS_OF_DECADE = {"early": (0, 4), "mid": (3, 7), "late": (5, 9), "end": (7, 9)}
_FEASTS = {"new year's day": (1, 1), "new year's eve": (12, 31), "christmas day": (12, 25),
           "christmas eve": (12, 24)}  # fmt: skip

_DATES = pattern(__name__, "dates", re.IGNORECASE, PLACES=_PLACES)
_CLOCK = pattern(__name__, "clock", re.IGNORECASE)
_QUANTITY_AFTER = re.compile(rf"\s?(?:{UNIT}|m|ft|people|inhabitants|men|women)\b", re.IGNORECASE)


def _dates(text: str) -> Iterator[Value]:
    for match in _DATES.finditer(text):
        days = _days(match)
        if match["year"] and _QUANTITY_AFTER.match(text, match.end()):
            continue  # "1500 m" is not a year
        if days and all(_is_real(day) for day in days):
            yield Value(Span(*match.span()), measure="date", dates=tuple(days))
        if match["from"] and days:
            first = replace(days[0], day=int(match["from"]))
            yield Value(Span(*match.span("from")), measure="date", dates=(first,))
        if match["short"]:
            end = int(match["ra"] + match["rc"])
            yield Value(Span(*match.span("rc")), measure="date", dates=(Day((end, end)),))


def _days(match: re.Match[str]) -> list[Day]:
    """The possible readings of a date: two if the order of day and month is unknown."""
    if match["part"] or match["season"]:
        return [_part_of_year(match)]
    if match["feast"]:
        month, day = _FEASTS[match["feast"].lower().replace("’", "'")]
        return [Day(_same(match["yf"]), (month, month), day)]
    if match["iso"]:
        return [Day(_same(match["iy"]), _same(match["im"]), int(match["id"]))]
    if match["slash"]:
        one, two, year = int(match["s1"]), int(match["s2"]), _same(match["sy"])
        return [d for d in (Day(year, (two, two), one), Day(year, (one, one), two)) if _is_real(d)]
    for month_name, year_name, day_name in _FORMS:
        if word := match[month_name]:
            number = MONTH_NUMBERS[word.lower().rstrip(".")[:3]]
            day_of_month = int(match[day_name]) if day_name else None
            year = _same(match[year_name]) if year_name else None
            stated = Day(year, (number, number), day_of_month)
            # "11 February 1731/32": the year began in March.
            doubled = year and (match["n1"] or match["n2"])
            later = [replace(stated, years=(year[0] + 1, year[0] + 1))] if year and doubled else []
            return [stated, *later]
    if match["decade"]:
        first = int(match["decade"])
        return [Day((first, first + (100 if first % 100 == 0 and first < 2000 else 9)))]
    if era := match["ad"] or match["ey"]:
        counted = -int(era) if (match["era"] or "").startswith("B") else int(era)
        return [Day((counted, counted))]
    if match["century"]:
        word = match["century"].lower()
        n = int(word[:-2] if word[0].isdigit() else number_in_words(word) or 0)
        return [Day((-100 * n, -100 * n + 99) if match["bc"] else (100 * n - 100, 100 * n))]
    return [Day(_same(match["year"] or match["ra"] + match["rb"]))]


def _same(digits: str | None) -> tuple[int, int] | None:
    """A range of one number."""
    return (int(digits), int(digits)) if digits else None


def _part_of_year(match: re.Match[str]) -> Day:
    """A season or a part of a decade: "early 1912", "the late 1880s", "the spring of 1986"."""
    part = re.sub(r"\s+of|the\s", "", (match["part"] or match["season"]).lower())
    year = int(match["yp"] or match["ys"])
    if match["dp"]:
        low, high = _PARTS_OF_DECADE.get(part, (0, 9))
        times = 10 if year % 100 == 0 and year < 2000 else 1  # "the early 1800s" means the century
        return Day((year + times * low, year + times * high + times - 1))
    return Day((year, year), _PARTS_OF_YEAR[part])


def _is_real(day: Day) -> bool:
    return (day.months is None or 1 <= day.months[0] <= 12) and 1 <= (day.day or 1) <= 31


_CLOCK_IN_WORDS = pattern(__name__, "clock_in_words", re.IGNORECASE, HOURS=_any_of(ONES[:12]))
_MINUTES = {"half past": 30, "quarter past": 15, "quarter to": -15}


def _clock(text: str) -> Iterator[Value]:
    """Times of day, in minutes after midnight: "3 pm", "15:00", "half past two at night"."""
    for match in _CLOCK_IN_WORDS.finditer(text):
        late = match["part"].lower() != "morning"
        past = _MINUTES[match["half"].lower().removeprefix("a ")] if match["half"] else 0
        at = 60.0 * (_count(match["hour"]) % 12 + (12 if late else 0)) + past
        yield Value(Span(*match.span()), at, at, "clock", "clock")
    for match in _CLOCK.finditer(text):
        hours, minutes = int(match["h"] or match["hh"]), int(match["m"] or match["mm"] or 0)
        if match["half"] or match["part"] or match["night"]:
            late = (match["half"] or "").lower() == "p" or match["part"] in ("afternoon", "evening")
            hours = hours % 12 + (12 if late or match["night"] else 0)
        at = float(60 * hours + minutes)
        yield Value(Span(*match.span()), at, at, "clock", "clock")


# ── Numbers ──────────────────────

_SHORT = {"k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9, "b": 1e9, "tn": 1e12}
_WEAK = frozenset({"one", "zero", "first", "second"})
_SIGNS = {"$": "money $", "€": "money €", "£": "money £", "¥": "money ¥"}
_FRACTIONS = {"half": 50.0, "third": 100 / 3, "quarter": 25.0, "fifth": 20.0, "tenth": 10.0}
_LAST_DIGIT = 0.025  # maximum rounding hidden by trailing zeros: 400,000 for 396,400
_SCALED = 0.075  # the same for the last digit before "million"
_ONE_POINT = 1.0  # percentage points: the tolerance of "a third"
_NUMBER = pattern(
    __name__,
    "number",
    re.IGNORECASE,
    TENS=TENS,
    PLACES=_PLACES,
    WORDED=_WORDED,
    SCALES=SCALES,
    UNIT=UNIT,
)
_PARTS = ("digits", "fraction", "nth", "power", "raised", "words", "place", "scale", "percent",
          "unit", "letter")  # fmt: skip
_FEET = pattern(__name__, "feet")
_SHARE = pattern(__name__, "share", re.IGNORECASE, COUNTED=_COUNTED)
_ROMAN = re.compile(r"(?<=[a-z] )(?P<roman>[IVX]{2,}|[VX])\b(?![-’'])")
# A number within a name: "Apollo 11", "Boeing 747", "Route 66", "Article 5", "X-15".
_NAMED = re.compile(r"(?:^|[\s(“\"])(?P<word>[A-Z][\w’']*|No\.|no\.|[A-Z]{1,4})(?:-|\s)\Z")
_SMALL = re.compile(r"\d{1,3}")
_GROUPING = re.compile(r"[,\u00a0\u202f ]")
_AGE = pattern(__name__, "age", re.IGNORECASE)
_AGE_AT = re.compile(r"\swhen (?:he|she|they) (?:died|was|were|retired|married|left|became)\b")
_PEOPLE = re.compile(r"\d+ (?:people|persons|men|women|children|soldiers|workers|passengers)\b")
_NOT_NAMES = frozenset(list_of(__name__, "not_names"))


def _feet(text: str) -> Iterator[Value]:
    for match in _FEET.finditer(text):
        metres = float(match[1]) * 0.3048 + float(match[2]) * 0.0254
        yield Value(Span(*match.span()), metres, metres, "length", "ft")


def _shares(text: str) -> Iterator[Value]:
    for match in _SHARE.finditer(text):
        if match["part"]:
            part = match["part"].lower().removesuffix("s").replace("halve", "half")
            n = _count(match["n"] or "a")
            if match["n"] is None and part not in ("half", "quarter"):
                continue  # "the fifth of them" is an ordinal, not a share
            percent = n * _FRACTIONS[part]
        else:
            percent = 100 * _count(match["a"]) / max(1.0, _count(match["b"]))
        if percent <= 100:
            low, high, sense = hedged(text, match.start(), percent, _ONE_POINT)
            yield Value(Span(*match.span()), low, high, "share", "%", sense=sense)


_HALF = pattern(__name__, "half", re.IGNORECASE, SCALES=SCALES, UNIT=UNIT, COUNTED=_COUNTED)
_MANY = pattern(__name__, "many", re.IGNORECASE)
_PLURALS = {"tens": 10.0, "dozens": 12.0, "hundreds": 1e2, "thousands": 1e3, "millions": 1e6,
            "billions": 1e9}  # fmt: skip
_OF_WHOLE = pattern(__name__, "of_whole", re.IGNORECASE, SMALL_WORDS=_SMALL_WORDS)
_TIMES = pattern(__name__, "times", re.IGNORECASE, COUNTED=_COUNTED)


def _times(text: str) -> Iterator[Value]:
    for match in _TIMES.finditer(text):
        if match["quarters"]:
            unit, seconds = "min", 2700.0 if match["quarters"][0] in "tT" else 900.0
        elif match["one"]:
            unit = UNITS[match["one"].lower()][1]
            seconds = FACTORS[unit]
        else:
            unit = UNITS[match["u2"].lower()][1]
            seconds = _count(match["n1"]) * FACTORS[UNITS[match["u1"].lower()][1]]
            seconds += _count(match["n2"]) * FACTORS[unit]
        yield Value(Span(*match.span()), seconds, seconds, "time", unit, weak=bool(match["one"]))


def _halves(text: str) -> Iterator[Value]:
    for match in _HALF.finditer(text):
        scale = (match["s1"] or match["s2"] or "").lower()
        measure, unit = UNITS.get(
            (match["u1"] or match["u2"] or match["u3"] or "").lower(), ("", "")
        )
        n = 0.5 if match["s1"] or match["u1"] else _count(match["n"] or "a") + 0.5
        value = n * (12.0 if scale == "dozen" else SCALES.get(scale, 1.0)) * FACTORS.get(unit, 1.0)
        width = 0.0 if scale == "dozen" else _SCALED * value
        low, high, sense = hedged(text, match.start(), value, width)
        yield Value(Span(*match.span()), low, high, measure, unit, sense=sense)


def _many(text: str) -> Iterator[Value]:
    """Vague plurals: "dozens" means 24 or more, "tens of thousands" 20,000 to 100,000."""
    for match in _MANY.finditer(text):
        one = _PLURALS[match["word"].lower()] * _PLURALS.get((match["tens"] or "").lower(), 1.0)
        yield Value(Span(*match.span()), 1.9 * one, 10 * one)


def _parts_of_wholes(text: str) -> Iterator[Value]:
    for match in _OF_WHOLE.finditer(text):
        part, whole = match["a"] or match["d"], match["b"] or match["c"]
        a, b = (_count(digits.replace(",", "")) for digits in (part, whole))
        if 0 < a < b:
            share = 100 * a / b
            yield Value(Span(*match.span()), share - 0.5, share + 0.5, "share", "%", weak=True)


def _numbers(text: str) -> Iterator[Value]:
    for match in _NUMBER.finditer(text):
        number = match["digits"] or match["place"] or match["words"]
        if _SMALL.fullmatch(match["digits"] or "") and _is_named(text, match.start("digits")):
            continue
        end = max(map(match.end, _PARTS))
        start = match.start("sign") if match["sign"] else match.start()
        if match["digits"]:
            value = float(_GROUPING.sub("", match["digits"]))
            value += unicodedata.numeric(match["fraction"]) if match["fraction"] else 0.0
        else:
            value = number_in_words(number) or float(number.lower() == "a")
        value *= _scale(match) * (-1 if match["minus"] and match["unit"] else 1)
        if not math.isfinite(value):
            continue
        measure, unit = _measure(match)
        aged = _AGE.search(text[max(0, start - 30) : start]) or _AGE_AT.match(text, end)
        if not measure and aged:
            measure, unit = "time", "year"
        exact = value * FACTORS.get(unit, 1.0)
        width = _width(match, value) * FACTORS.get(unit, 1.0)
        digit = _last_digit(match) * FACTORS.get(unit, 1.0)
        low, high, sense = hedged(text, start, exact, width, digit)
        if unit == "°f":
            low, high = ((each - 32) / 1.8 for each in (low, high))
        weak = number.lower() in _WEAK and not (measure or match["scale"])
        yield Value(Span(start, end), low, high, measure, unit, sense=sense, weak=weak)


def _scale(match: re.Match[str]) -> float:
    scale = match["scale"] or ""
    if power := match["power"] or match["raised"]:  # "10^6" is 10 with the scale 10^5
        exponent = int(unicodedata.normalize("NFKC", power).replace("−", "-"))
        return 10.0 ** (exponent if match["times"] else exponent - 1)
    return SCALES.get(scale.lower(), 1.0 if _is_metres(match) else _SHORT.get(scale, 1.0))


def _is_metres(match: re.Match[str]) -> bool:
    return match["scale"] == "m" and match["gap"] == " " and not match["sign"]


def _measure(match: re.Match[str]) -> tuple[str, str]:
    if match["percent"]:
        return ("points" if match["points"] else "share"), "%"
    if match["sign"]:
        return _SIGNS[match["sign"].strip()[-1]], ""
    if _is_metres(match):
        return "length", "m"
    # "40 kg/m²" and "40 kg m-2" are neither mass nor area, so they are compared as bare numbers.
    name = "" if match["per"] else (match["unit"] or match["letter"] or "").lower()
    measure, unit = UNITS.get(name, ("", ""))
    if measure == "pounds":  # millions of pounds are money
        return ("money £", "") if match["scale"] else ("mass", "lb")
    return measure, "" if measure.startswith("money") else unit


def _last_digit(match: re.Match[str]) -> float:
    """The place value of the last significant digit: 10 of 120, 100,000 of 1.2 million."""
    digits = _GROUPING.sub("", match["digits"] or "")
    if not digits or match["fraction"]:
        return math.inf
    whole, _, decimals = digits.partition(".")
    zeros = 0 if decimals else len(whole) - len(whole.rstrip("0"))
    scale = 1.0 if match["percent"] else _scale(match)
    return float(10.0 ** (zeros - len(decimals)) * scale)


def _width(match: re.Match[str], value: float) -> float:
    """Half the place value of the last written digit."""
    digits = match["digits"] or ""
    scale = 1.0 if match["percent"] else _scale(match)
    if match["percent"] or "." in digits:
        return 0.5 * 10.0 ** -len(digits.partition(".")[2]) * scale
    if scale > 1:
        return min(0.5 * scale, _SCALED * abs(value))
    plain = _GROUPING.sub("", digits)
    zeros = len(plain) - len(plain.rstrip("0"))
    if zeros >= 2 and len(plain) >= 4:
        return min(0.5 * 10.0**zeros, _LAST_DIGIT * abs(value))
    return 0.0


def _is_named(text: str, start: int) -> bool:
    before = _NAMED.search(text, max(0, start - 24), start)
    if before is None:
        return bool(re.search(r"[A-Za-z]-\Z", text[max(0, start - 2) : start]))
    word = before["word"].lower()
    named = word not in _NOT_NAMES and word[:3] not in MONTH_NUMBERS
    return named and not _PEOPLE.match(text, start)


def _romans(text: str) -> Iterator[Value]:
    for match in _ROMAN.finditer(text):
        n = roman(match["roman"])
        yield Value(Span(*match.span()), float(n), float(n), weak=n < 4)


_READERS = (_dates, _times, _clock, _feet, _halves, _many, _shares, _numbers, _romans)


@lru_cache(maxsize=8192)  # a claim meets hundreds of passages, a passage many claims
def values(text: str, language: str | None = None) -> tuple[Value, ...]:
    """The values of `text`, in order, without overlaps; none in a language that is not read.

    >>> [(v.measure, v.low, v.high) for v in values("It is 5 km long, 12 % of it new.")]
    [('length', 5000.0, 5000.0), ('share', 11.5, 12.5)]
    """
    language = language or identify(text) or "en"
    if language != "en":
        return _foreign(text, language)
    text = fold(text)
    found: list[Value] = []
    taken = bytearray(len(text))  # characters used by an earlier parser
    for reader in _READERS:
        known = [v for v in reader(text) if not any(taken[v.span.start : v.span.end])]
        for value in known:
            taken[value.span.start : value.span.end] = b"\1" * (value.span.end - value.span.start)
        found += known
    sound = (v for v in found if math.isfinite(v.low + v.high))
    ranged = _with_ranges(text, sorted(sound, key=lambda value: value.span))
    return tuple(sorted([*ranged, *_parts_of_wholes(text)], key=lambda value: value.span))


def _foreign(text: str, language: str) -> tuple[Value, ...]:
    english, found = in_english(text, language), list[Value]()
    for value in values(english.text, "en"):
        span, unsure = english.original(value.span)
        before = _BEFORE.search(text, max(0, span.start - 24), span.start)
        # After a capital it may be part of a name: "Apollo 11". German has more capitals.
        named = not value.measure and value.low < _FIRST_YEAR and before and before[1].isupper()
        found.append(replace(value, span=span, weak=value.weak or unsure or bool(named)))
    return tuple(found)


_FIRST_YEAR = 1000  # numbers from here on are hardly ever parts of names
_BEFORE = re.compile(r"(?<!\w)([^\W\d_])[\w.]*[\s-]\Z")
_JOINS = re.compile(r"\s?[–-]\s?|\sto\s|\sand\s")
_BEFORE_RANGE = pattern(__name__, "before_range", re.IGNORECASE)


def _with_ranges(text: str, found: Sequence[Value]) -> list[Value]:
    """Mark values that are the ends of one range: "between 70 and 90 metres"."""
    ranged = list(found)
    for n, (one, other) in enumerate(pairwise(found)):
        joined = _JOINS.fullmatch(text, one.span.end, other.span.start)
        before = _BEFORE_RANGE.search(text, max(0, one.span.start - 12), one.span.start)
        if not joined or (before and before["change"]):
            continue
        between = bool(before and before["between"])
        if between if "and" in joined[0] else other.measure not in ("", "date"):
            ranged[n : n + 2] = _ends(one, other)
    return ranged


def _ends(one: Value, other: Value) -> tuple[Value, Value]:
    if one.measure == other.measure == "date":
        first, last = one.dates[0].years, other.dates[0].years
        if not (one.is_year and other.is_year and first and last):
            return one, other
        low, high = float(first[0]), float(last[0])
    else:
        if not one.measure and other.measure != "date" and other.unit != "°f":  # "70 and 90 metres"
            factor = FACTORS.get(other.unit, 1.0)
            low, high = one.low * factor, one.high * factor
            one = replace(one, low=low, high=high, measure=other.measure, unit=other.unit)
        low, high = one.low, other.high
    if one.measure != other.measure or low >= high:
        return one, other
    return replace(one, between=(low, high)), replace(other, between=(low, high))


# ── Comparison ──────────────────────

_OTHER_UNIT = 0.03  # converted values are rounded: 10 miles are "16 km"
_EPSILON = 1e-6
MOST = 100  # values per claim: a claim with more is a table
_NOWHERE = Span(0, 0)


@lru_cache(maxsize=4096)  # used as a feature, for evidence and for reasons
def unstated(
    claim: str, source: str, languages: tuple[str | None, str | None] = (None, None)
) -> tuple[Value, ...]:
    """The values of `claim` that `source` does not state, in order; `languages` are theirs.

    >>> [v.span.of("In 1912 it cost $5 m.") for v in unstated("In 1912 it cost $5 m.", "4/7/1912")]
    ['$5 m']
    >>> unstated("Nearly half of 1.2 million came.", "Of 1,183,505 people 48.1 % came.")
    ()
    """
    theirs = languages[1] or identify(source)
    mine = languages[0] or of_claim(claim, theirs)
    mine, theirs = mine or theirs or "en", theirs or mine or "en"
    wanted = [value for value in values(claim, mine) if not value.weak][:MOST]
    if not wanted or not (reads_numbers(mine) and reads_numbers(theirs)):
        return ()
    found = values(source, theirs)
    known = list({replace(value, span=_NOWHERE): value for value in found}.values())
    # "Four bicycles" do not state "four months".
    measured = [v for v in found if v.measure or not _THINGS.match(source, v.span.end)]
    return tuple(
        value
        for value in wanted
        if not any(states(other, value) for other in (measured if value.unit else known))
        and not _put_together(value, known)
        # Among many years in a page, any one may lie between two others.
        and not (value.measure != "date" and any(holds(value, other) for other in known))
        and not (mine == theirs == "en" and _is_last(value, claim, source))
        and not _derived(value, [*known, *(v for v in wanted if v is not value)])
    )


_THINGS = re.compile(r" (?!was|has|is|as|its|this|less|times)[a-z]+s\b")


def _middle(value: Value) -> float:
    return (value.low + value.high) / 2


def states(source: Value, claim: Value) -> bool:
    """Whether the source's value is at least as specific as the claim's, and agrees with it."""
    if "date" in (source.measure, claim.measure):
        if source.measure == claim.measure:
            return any(_contains(c, s) for c, s in product(claim.dates, source.dates))
        number, date = (source, claim) if claim.measure == "date" else (claim, source)
        if not (date.is_year and number.measure == "" and date.dates[0].years):
            return False
        year = float(date.dates[0].years[0])
        return _same_number(number, replace(date, low=year, high=year, measure="", dates=()))
    return _same_number(source, claim)


def conflict(source: Value, claim: Value) -> bool:
    """Whether two values of one kind are incompatible: neither states nor allows the other."""
    if source.weak or claim.weak or source.measure != claim.measure:
        return False
    if holds(claim, source) or holds(source, claim) or _allow(claim, source):
        return False
    if any(0 < 2 * value.low < value.high for value in (source, claim)):
        return False  # "dozens" and "thousands" are too vague to contradict anything
    if claim.measure == "date":
        return not any(_overlap(c, s) for c, s in product(claim.dates, source.dates))
    return not _same_number(source, claim)


def _allow(one: Value, other: Value) -> bool:
    """Whether a value that says "more than" or "at most" allows the other: 5,000 is over 100."""
    return any(
        (a.sense > 0 and b.low >= a.low) or (a.sense < 0 and b.high <= a.high)
        for a, b in ((one, other), (other, one))
    )


def holds(end: Value, value: Value) -> bool:
    """Whether a value lies in the range with the given end."""
    if end.between is None or value.between or value.weak or value.measure != end.measure:
        return False  # two ranges are compared by their ends
    low, high = end.between
    if end.measure == "date":
        return any(d.years and low <= d.years[0] and d.years[1] <= high for d in value.dates)
    slack = _EPSILON * max(abs(low), abs(high))
    return low - slack <= value.low and value.high <= high + slack


_ORDINAL = re.compile(rf"(?:{'|'.join(ORDINALS)}|\d+(?:st|nd|rd|th))\Z", re.IGNORECASE)
_NEXT_WORD = re.compile(r"\s+([^\W\d_]{3,})")


def _is_last(value: Value, claim: str, source: str) -> bool:
    """Whether the source may call the claim's ordinal "the last": "the fourth verse"."""
    noun = _NEXT_WORD.match(claim, value.span.end)
    if not noun or value.measure or not _ORDINAL.search(fold(value.span.of(claim))):
        return False
    word, ordinal = re.escape(noun[1]), rf"\b{_ORDINAL.pattern[:-2]}"
    if re.search(rf"{ordinal}\W+(?:\w+\W+){{0,3}}?{word}\b", source, re.IGNORECASE):
        return False  # "the seventh and last season"
    return bool(re.search(rf"\b(?:last|final) (?:\w+ )?{word}\b", source, re.IGNORECASE))


_POUNDS = {("mass", "lb"), ("money £", "")}  # "18,000 pounds" may be either


def _same_number(one: Value, other: Value) -> bool:
    if {(one.measure, one.unit), (other.measure, other.unit)} == _POUNDS:
        one, other = (replace(_bare(value), measure="", unit="") for value in (one, other))
    if one.measure != other.measure and "" not in (one.measure, other.measure):
        return False
    if "share" in (one.measure, other.measure) and one.measure != other.measure:
        share, number = (one, other) if one.measure == "share" else (other, one)
        if not 0 < number.low < 1:
            return False
        one, other = share, replace(number, low=100 * number.low, high=100 * number.high, unit="%")
        return min(one.high, other.high) >= max(one.low, other.low)  # "a proportion of 0.47"
    if one.measure != other.measure:  # a bare number beside one with a unit: compared as written
        one, other = _bare(one), _bare(other)
    slack = _EPSILON * max(abs(one.high), abs(other.high))
    if one.unit != other.unit and one.measure == other.measure and one.measure:
        loose = max(LOOSE.get(one.unit, 0.0), LOOSE.get(other.unit, 0.0), _OTHER_UNIT)
        slack = loose * max(abs(one.high), abs(other.high))
        if one.measure == "temperature":
            slack = 1.0  # degree: relative tolerance is meaningless for temperatures
    common = min(one.high, other.high) - max(one.low, other.low)
    if one.unit == other.unit and one.low < one.high and other.low < other.high:
        narrower = min(one.high - one.low, other.high - other.low)
        return common > min(slack, narrower / 2)  # 13 % and 14 % only touch, at 13.5 %
    return common >= -slack


def _bare(value: Value) -> Value:
    factor = FACTORS.get(value.unit, 1.0)
    return replace(value, low=value.low / factor, high=value.high / factor)


def _contains(claim: Day, source: Day) -> bool:
    for inner, outer in ((source.years, claim.years), (source.months, claim.months)):
        if outer and not (inner and outer[0] <= inner[0] and inner[1] <= outer[1]):
            return False
    return claim.day in (None, source.day)


def _overlap(claim: Day, source: Day) -> bool:
    for one, other in ((source.years, claim.years), (source.months, claim.months)):
        if one and other and not (one[0] <= other[1] and other[0] <= one[1]):
            return False
    return claim.day is None or source.day is None or claim.day == source.day


def _put_together(value: Value, known: Sequence[Value]) -> bool:
    """Whether the text gives a date's year and day separately: "On 4 July … of that year, 1912"."""
    days = [day for other in known for day in other.dates]
    open_days = [day for day in days if not day.years]
    return any(
        any(_contains(Day(wanted.years), d) for d in days)
        and any(_contains(replace(wanted, years=None), d) for d in open_days)
        for wanted in value.dates
        if wanted.years and wanted.months
    )


_LONGEST_AGE = 130  # years: a longer time is rarely computed from two dates in a text
_YEAR, _DAY_S, _DAYS_A_MONTH = 31557600.0, 86400.0, 30.44
_LATER = 1.5  # tolerance in days for a time between two dates


def _derived(value: Value, known: Sequence[Value]) -> bool:
    """Whether it follows from others: the time between two dates, or a year computed from one.

    If only the years are known, an age may be one less than their difference.
    """
    given = sorted(
        {d.years[0] for v in known for d in v.dates if d.years and d.years[0] == d.years[1]}
    )
    if value.is_year:
        year = value.dates[0].years
        ages = {round(v.low / _YEAR) for v in known if v.unit == "year"}
        return any(year == (a + n, a + n) or year == (a - n, a - n) for a in given for n in ages)
    if value.measure == "points":  # 10 % to 15 % is 5 points
        shares = [_middle(v) for v in known if v.measure == "share"]
        return any(value.low <= b - a <= value.high for a in shares for b in shares)
    if value.measure != "time":
        return False
    years, high = value.low / _YEAR, value.high / _YEAR
    if value.unit == "year" and 0 < years <= _LONGEST_AGE:
        return any(years - 0.05 <= b - a <= high + 1.05 for a in given for b in given if a < b)
    days = {
        d.months[0] * _DAYS_A_MONTH + d.day for v in known for d in v.dates if d.months and d.day
    }
    low, high = value.low / _DAY_S - _LATER, value.high / _DAY_S + _LATER
    return value.low >= _DAY_S and any(low <= b - a <= high for a in days for b in days if a < b)
