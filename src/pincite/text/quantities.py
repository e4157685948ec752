"""The numbers, dates, shares, money and measures of a text, each with the interval that it means.

Dates, seasons and decades come first, then clocks, shares and numbers with what they count; what
belongs to a name ("Apollo 11", "X-15") is no value.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from pincite.text.figures import MONTHS
from pincite.text.units import FACTORS, UNITS
from pincite.types import Span

# ── What a value is ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Day:
    """A date as far as it is given: a range of years for a decade, of months for a season."""

    years: tuple[int, int] | None = None
    months: tuple[int, int] | None = None
    day: int | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """Where a value stands and what it says."""

    span: Span
    low: float = 0.0  # in the base unit of `measure`; both 0 of a date
    high: float = 0.0
    measure: str = ""  # "length", "share", "money $", "date", …; "" of a bare number
    unit: str = ""  # as `text.units` names it: values in different units are compared more loosely
    dates: tuple[Day, ...] = ()  # of a date; two where day and month may be exchanged
    weak: bool = False  # may state a claim's value, but is not one by itself: "first", "one"

    @property
    def is_year(self) -> bool:
        """Whether it is a bare year, which may as well be a number."""
        return self.measure == "date" and all(
            d.months is None and d.years and d.years[0] == d.years[1] for d in self.dates
        )


# ── Reading ──────────────────────────────────────────────────────────────────────────────────────

_ONES = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
_ONES += " sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_ORDINALS += " thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
_TENTHS = "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth"
_VALUES = {word: n for n, word in enumerate(_ONES.split(), 1)}
_VALUES |= {word: 10 * n for n, word in enumerate(_TENS.split(), 2)}
_VALUES |= {"zero": 0, "dozen": 12, "hundred": 100, "thousand": 1000}
_PLACES = {word: n for n, word in enumerate(_ORDINALS.split(), 1)}
_PLACES |= {word: 10 * n for n, word in enumerate(_TENTHS.split(), 2)}
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SHORT = {"k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9, "b": 1e9, "tn": 1e12}
_WEAK = frozenset({"one", "zero", "first", "second"})
_PARTS_OF_YEAR = {
    "early": (1, 5),
    "mid": (4, 9),
    "late": (8, 12),
    "end": (10, 12),
    "beginning": (1, 3),
    "start": (1, 3),
    "spring": (3, 6),
    "summer": (6, 9),
    "autumn": (9, 12),
    "fall": (9, 12),
}
_PARTS_OF_DECADE = {"early": (0, 4), "mid": (3, 7), "late": (5, 9), "end": (7, 9)}
_FEASTS = {"new year's day": (1, 1), "new year's eve": (12, 31), "christmas day": (12, 25),
           "christmas eve": (12, 24)}  # fmt: skip
_MONTHS = {name.lower()[:3]: n for n, name in enumerate(MONTHS, 1)} | {"sept": 9}

_SIGNS = {"$": "money $", "€": "money €", "£": "money £", "¥": "money ¥"}
_FRACTIONS = {"half": 50.0, "third": 100 / 3, "quarter": 25.0, "fifth": 20.0, "tenth": 10.0}
_ABOUT = "about around approximately roughly some circa c. ca. ca ~ estimated approx. approx"
_ALMOST = "nearly almost approaching"
_BELOW = "under below"
_ABOVE = (
    "over,above,exceeding,upwards of,more than,at least,no fewer than,no less than,in excess of"
)
_ABOVE += ",as many as,well over,just over,greater than"
_HEDGES = {
    **dict.fromkeys(_ABOUT.split(), (0.9, 1.1)),
    **dict.fromkeys(_ABOVE.split(","), (1.0, 1.25)),
    **dict.fromkeys([*_ALMOST.split(), "just under", "close to", "just short of"], (0.9, 1.0)),
    **dict.fromkeys(
        [*_BELOW.split(), "less than", "fewer than", "up to", "at most", "no more than"],
        (0.75, 1.0),
    ),
}
_LAST_DIGIT = 0.025  # the most that zeros at the end of a number may hide: 400,000 for 396,400
_SCALED = 0.075  # and the last digit before "million"
_ONE_POINT = 1.0  # percentage point: what "a third" leaves open


def _any(words: Sequence[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_DATES = re.compile(
    rf"\b(?P<part>early|mid|late|(?:the\s)?(?:end|beginning|start|spring|summer|autumn|fall)\s+of)"
    rf"(?:\s+in)?[ -](?:the\s)?(?P<yp>1\d{{3}}|20\d\d)(?P<dp>[’']?s)?\b"
    rf"|\b(?P<season>spring|summer|autumn|fall),?\s(?P<ys>1\d{{3}}|20\d\d)\b"
    rf"|\b(?P<feast>New Year[’']s (?:Day|Eve)|Christmas (?:Day|Eve))(?:,?\s+(?P<yf>\d{{4}}))?"
    rf"|\b(?P<iso>(?P<iy>\d{{4}})-(?P<im>\d\d)-(?P<id>\d\d))(?!\d)"
    rf"|(?<![\d/.])(?P<slash>(?P<s1>\d{{1,2}})[/.](?P<s2>\d{{1,2}})[/.](?P<sy>\d{{4}}))(?!\d)"
    rf"|\b(?:(?P<from>\d{{1,2}})\s?(?:–|-|to|and)\s?)?{_DAY}(?:\s+(?:day\s+)?of)?\s+"
    rf"(?P<m1>{_MONTH})(?:,?\s+(?:of\s+)?(?P<y1>\d{{4}}))?(?!\d)"
    rf"|\b(?P<m2>{_MONTH})\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:%]|\s?(?:%|per))"
    rf"(?:\s?[–-]\s?(?P<d3>\d{{1,2}}))?(?:,?\s+(?P<y2>\d{{4}}))?(?!\d)"
    rf"|\b(?P<m3>{_MONTH}),?\s+(?:of\s+)?(?P<y3>\d{{4}})(?!\d)"
    rf"|\b(?P<m4>January|February|April|June|July|August|September|October|November|December"
    rf"|March(?!\s+(?:on|to)\b))\b"
    rf"|(?<!\w)(?:the\s+)?(?P<decade>1\d\d0|20\d0)[’']?s\b"
    rf"|\b(?P<century>\d{{1,2}}(?:st|nd|rd|th)|{_any([*_PLACES, 'twenty-first'])})"
    rf"[ -]centur(?:y|ies)\b(?P<bc>\s+BC)?"
    rf"|(?<![\w.,/-])(?P<short>(?P<ra>1\d|20)(?P<rb>\d\d)[-–/](?P<rc>\d\d))(?![-–/\d])"
    rf"|(?<![\w.,$€£¥#])(?P<year>1\d{{3}}|20\d\d|2100)(?![\w]|[.,]\d|\s?[%°])",
    re.IGNORECASE,
)
_CLOCK = re.compile(
    r"(?<![\w:.,])(?P<h>\d{1,2})(?:[:.](?P<m>[0-5]\d))?(?:\s?(?P<half>[ap])\.?m\b\.?"
    r"|(?: o'clock)? (?:in the (?P<part>morning|afternoon|evening)|(?P<night>at night)))"
    r"|(?<![\w:.,])(?P<hh>[01]?\d|2[0-3]):(?P<mm>[0-5]\d)(?![\d:])",
    re.IGNORECASE,
)
_UNIT = _any([unit for unit in UNITS if unit not in ("m", "l", "g", "w", "min")])
_NUMBER = re.compile(
    rf"(?P<sign>(?:US|A|C|AU|CA)?[$€£¥]\s?)?(?<![\w.±])(?<!± )(?P<minus>[−-]|\bminus )?"
    rf"(?:(?P<digits>\d{{1,3}}(?:[,\u00a0\u202f ]\d{{3}})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?)"
    rf"(?P<nth>st|nd|rd|th)?"
    rf"|\b(?P<place>(?:(?:{_TENS.replace(' ', '|')})-)?(?:{_any(list(_PLACES))}))\b(?!\s+of\b)"
    rf"|\b(?P<words>(?:{_any(list(_VALUES))})(?:[ -](?:and\s)?(?:{_any(list(_VALUES))}))*)\b)"
    rf"(?P<gap>[ -]?)(?P<scale>{_any(list(_SCALES))}|(?-i:bn|mn|tn|k|m|b))?(?![a-z])"
    rf"(?P<percent>\s?%|\s?per ?cent\b|\s?percent\b|\spercentage points?\b)?"
    rf"(?:\s(?:of\s)?(?:US|Australian|Canadian|American)(?=\s))?"
    rf"(?:[ -]?(?P<unit>{_UNIT})(?![a-z²³])|[ ](?P<letter>(?-i:m|l|g|W|min)|°)(?![\w/²³]))?",
    re.IGNORECASE,
)
_FEET = re.compile(
    r"(?<![\w.])(\d+)\s?(?:ft|feet|foot|′|')\s?(\d{1,2})\s?(?:in\b|inch(?:es)?|″|\")"
)
_SHARE = re.compile(
    rf"\b(?:(?P<n>{_any(list(_VALUES))}|a|an|one|\d)[ -])?(?P<part>half|halves|thirds?|quarters?"
    r"|fifths?|tenths?)\b(?!\s(?:time|back|year|hour|past|to|of an?\s|an?\s|-))(?![-’'])"
    rf"|\b(?P<a>{_any(list(_VALUES))}|\d{{1,2}})\s(?:in|out of|in every|out of every)\s"
    rf"(?:every\s)?(?P<b>{_any(list(_VALUES))}|\d{{1,3}})\b(?!\s?(?:%|per))",
    re.IGNORECASE,
)
_ROMAN = re.compile(r"(?<=[a-z] )(?P<roman>[IVX]{2,}|[VX])\b(?![-’'])")
_ROMANS = {"I": 1, "V": 5, "X": 10}
# A number that belongs to a name: "Apollo 11", "Boeing 747", "Route 66", "Article 5", "X-15".
_NAMED = re.compile(r"(?:^|[\s(“\"])(?P<word>[A-Z][\w’']*|No\.|no\.|[A-Z]{1,4})(?:-|\s)\Z")
_SMALL = re.compile(r"\d{1,3}")
_NOT_NAMES = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday population total age aged "
    "in on at by of the a an from to and or but with for after before since until about over under "
    "its his her their some only just when where while as is was were are has had than between "
    "nearly almost around approximately roughly more less fewer all both these those this that "
    "it he she they we there then later early mid late circa another other further".split()
)


def values(text: str) -> list[Value]:
    """The values of `text` in order of their place; none of two overlap.

    >>> [(v.measure, v.low, v.high) for v in values("It is 5 km long, 12 % of it new.")]
    [('length', 5000.0, 5000.0), ('share', 11.5, 12.5)]
    """
    return list(_values(text))


@lru_cache(maxsize=8192)  # a claim meets hundreds of passages, a passage many claims
def _values(text: str) -> tuple[Value, ...]:
    found: list[Value] = []
    taken = bytearray(len(text))  # places that an earlier reader has read
    for reader in (_dates, _clock, _feet, _halves, _many, _shares, _numbers, _romans):
        known = [v for v in reader(text) if not any(taken[v.span.start : v.span.end])]
        for value in known:
            taken[value.span.start : value.span.end] = b"\1" * (value.span.end - value.span.start)
        found += known
    return tuple(sorted([*found, *_parts_of_wholes(text)], key=lambda value: value.span))


def _dates(text: str) -> Iterator[Value]:
    for match in _DATES.finditer(text):
        days = _days(match)
        if match["year"] and _is_quantity(match):
            continue
        if days and all(_is_real(day) for day in days):
            yield Value(Span(*match.span()), measure="date", dates=tuple(days))
        if match["from"] and days:
            first = replace(days[0], day=int(match["from"]))
            yield Value(Span(*match.span("from")), measure="date", dates=(first,))
        if match["short"]:
            end = int(match["ra"] + match["rc"])
            yield Value(Span(*match.span("rc")), measure="date", dates=(Day((end, end)),))


def _days(match: re.Match[str]) -> list[Day]:
    """What a date may mean: one day, or two where the order of day and month is not known."""
    if match["part"] or match["season"]:
        return [_part_of_year(match)]
    if match["feast"]:
        month, day = _FEASTS[match["feast"].lower().replace("’", "'")]
        return [Day(_year(match["yf"]), (month, month), day)]
    if match["iso"]:
        return [Day(_year(match["iy"]), _one(match["im"]), int(match["id"]))]
    if match["slash"]:
        one, two, year = int(match["s1"]), int(match["s2"]), _year(match["sy"])
        return [d for d in (Day(year, (two, two), one), Day(year, (one, one), two)) if _is_real(d)]
    if match["m1"]:
        return [Day(_year(match["y1"]), _month(match["m1"]), int(match["day"]))]
    if match["m2"]:
        return [Day(_year(match["y2"]), _month(match["m2"]), int(match["d2"]))]
    if match["m3"]:
        return [Day(_year(match["y3"]), _month(match["m3"]))]
    if match["m4"]:
        return [Day(None, _month(match["m4"]))]
    if match["decade"] or match["century"]:
        return [Day(_years(match))]
    return [Day(_year(match["year"] or match["ra"] + match["rb"]))]


def _years(match: re.Match[str]) -> tuple[int, int]:
    """A decade's years, or a century's, which "the 1800s" are too."""
    if match["decade"]:
        first = int(match["decade"])
        return (first, first + (99 if first % 100 == 0 and first < 2000 else 9))
    word = match["century"].lower()
    n = int(word[:-2]) if word[0].isdigit() else 21 if "-" in word else _PLACES[word]
    return (-100 * n, -100 * n + 99) if match["bc"] else (100 * n - 100, 100 * n)


def _year(digits: str | None) -> tuple[int, int] | None:
    return (int(digits), int(digits)) if digits else None


def _one(digits: str) -> tuple[int, int]:
    return (int(digits), int(digits))


def _month(word: str) -> tuple[int, int]:
    n = _MONTHS[word.lower().rstrip(".")[:3]]
    return (n, n)


def _part_of_year(match: re.Match[str]) -> Day:
    """A season or a part of a decade: "early 1912", "the late 1880s", "the spring of 1986"."""
    part = re.sub(r"\s+of|the\s", "", (match["part"] or match["season"]).lower())
    year = int(match["yp"] or match["ys"])
    if match["dp"]:
        low, high = _PARTS_OF_DECADE.get(part, (0, 9))
        times = 10 if year % 100 == 0 and year < 2000 else 1  # "the early 1800s" are of a century
        return Day((year + times * low, year + times * high + times - 1))
    return Day((year, year), _PARTS_OF_YEAR[part])


def _is_real(day: Day) -> bool:
    return (day.months is None or 1 <= day.months[0] <= 12) and 1 <= (day.day or 1) <= 31


_QUANTITY_AFTER = re.compile(rf"\s?(?:{_UNIT}|m|ft|people|inhabitants|men|women)\b", re.IGNORECASE)


def _is_quantity(match: re.Match[str]) -> bool:
    """Whether a unit follows four digits: "1500 m" is no year."""
    return bool(_QUANTITY_AFTER.match(match.string, match.end()))


def _clock(text: str) -> Iterator[Value]:
    for match in _CLOCK.finditer(text):
        hours, minutes = int(match["h"] or match["hh"]), int(match["m"] or match["mm"] or 0)
        if match["half"] or match["part"] or match["night"]:
            late = (match["half"] or "").lower() == "p" or match["part"] in ("afternoon", "evening")
            hours = hours % 12 + (12 if late or match["night"] else 0)
        at = float(60 * hours + minutes)
        yield Value(Span(*match.span()), at, at, "clock", "clock")


def _feet(text: str) -> Iterator[Value]:
    for match in _FEET.finditer(text):
        metres = int(match[1]) * 0.3048 + int(match[2]) * 0.0254
        yield Value(Span(*match.span()), metres, metres, "length", "ft")


def _shares(text: str) -> Iterator[Value]:
    for match in _SHARE.finditer(text):
        if match["part"]:
            part = match["part"].lower().removesuffix("s").replace("halve", "half")
            n = _count(match["n"] or "a")
            if match["n"] is None and part not in ("half", "quarter"):
                continue  # "the fifth of them" counts, and is no share
            percent = n * _FRACTIONS[part]
        else:
            percent = 100 * _count(match["a"]) / max(1.0, _count(match["b"]))
        if percent <= 100:
            low, high = _hedged(text, match.start(), percent, _ONE_POINT)
            yield Value(Span(*match.span()), low, high, "share", "%")


_HALF = re.compile(
    rf"\b(?:half an? (?P<s1>{_any(list(_SCALES))})|half an? (?P<u1>{_UNIT})"
    rf"|(?P<n>{_any(list(_VALUES))}|an?|\d+) and a half (?P<s2>{_any(list(_SCALES))})?\s?"
    rf"(?P<u2>{_UNIT})?"
    rf"|an? (?P<u3>{_UNIT}) and a half)\b",
    re.IGNORECASE,
)
_MANY = re.compile(
    r"\b(?:(?P<tens>tens|dozens|hundreds) of )?"
    r"(?P<word>dozens|hundreds|thousands|millions|billions)\b",
    re.IGNORECASE,
)
_PLURALS = {"tens": 10.0, "dozens": 12.0, "hundreds": 1e2, "thousands": 1e3, "millions": 1e6,
            "billions": 1e9}  # fmt: skip
_OF_WHOLE = re.compile(
    r"(?<![\w.,])(?P<a>\d[\d,]*)(?:\s\w+)?\s(?:of|out of)\s(?:the\s|a total of\s|all\s)?"
    r"(?P<b>\d[\d,]*)(?![\w.]|,\d)"
    r"|\b[Oo]f\s(?:the\s)?(?P<c>\d[\d,]*)\s(?:[^\W\d]+,?\s){1,6}?"
    r"(?P<d>\d[\d,]*)(?![\w.]|,\d)"
)


def _halves(text: str) -> Iterator[Value]:
    """Halves: "half a million", "two and a half hours", "a mile and a half"."""
    for match in _HALF.finditer(text):
        scale = (match["s1"] or match["s2"] or "").lower()
        measure, unit = UNITS.get(
            (match["u1"] or match["u2"] or match["u3"] or "").lower(), ("", "")
        )
        n = 0.5 if match["s1"] or match["u1"] else _count(match["n"] or "a") + 0.5
        value = n * _SCALES.get(scale, 1.0) * FACTORS.get(unit, 1.0)
        low, high = _hedged(text, match.start(), value, _SCALED * value)
        yield Value(Span(*match.span()), low, high, measure, unit)


def _many(text: str) -> Iterator[Value]:
    """Vague plurals: "dozens" are 24 and more, "tens of thousands" 20,000 to 100,000."""
    for match in _MANY.finditer(text):
        one = _PLURALS[match["word"].lower()] * _PLURALS.get((match["tens"] or "").lower(), 1.0)
        yield Value(Span(*match.span()), 1.9 * one, 10 * one)


def _parts_of_wholes(text: str) -> Iterator[Value]:
    """The share that "201 of 300" is, beside its two numbers: it may state one in a claim."""
    for match in _OF_WHOLE.finditer(text):
        part, whole = match["a"] or match["d"], match["b"] or match["c"]
        a, b = (float(digits.replace(",", "")) for digits in (part, whole))
        if 0 < a < b:
            share = 100 * a / b
            yield Value(Span(*match.span()), share - 0.5, share + 0.5, "share", "%", weak=True)


def _count(word: str) -> float:
    return 1.0 if word.lower() in ("a", "an") else float(_VALUES.get(word.lower(), 0) or word)


def _numbers(text: str) -> Iterator[Value]:
    for match in _NUMBER.finditer(text):
        number = match["digits"] or match["words"] or match["place"]
        if _SMALL.fullmatch(match["digits"] or "") and _is_named(text, match.start("digits")):
            continue
        end = max(match.end(g) for g in ("digits", "nth", "words", "place", "scale", "percent",
                                         "unit", "letter"))  # fmt: skip
        start = match.start("sign") if match["sign"] else match.start()
        value = _amount(match)
        measure, unit = _measure(match)
        if not measure and _AGE.search(text[max(0, start - 12) : start]):
            measure, unit = "time", "year"
        exact = value * FACTORS.get(unit, 1.0)
        low, high = _hedged(text, start, exact, _width(match, value) * FACTORS.get(unit, 1.0))
        if unit == "°f":
            low, high = ((each - 32) / 1.8 for each in (low, high))
        weak = number.lower() in _WEAK and not (measure or match["scale"])
        yield Value(Span(start, end), low, high, measure, unit, weak=weak)


_AGE = re.compile(r"\b(?:aged|age of|at age|ages)\s\Z", re.IGNORECASE)


def _amount(match: re.Match[str]) -> float:
    if match["digits"]:
        value = float(_GROUPING.sub("", match["digits"]))
    elif match["place"]:
        *tens, last = match["place"].lower().split("-")
        value = float(_PLACES[last] + sum(_VALUES[word] for word in tens))
    else:
        value = _spelt(match["words"])
    return (-value if match["minus"] and match["unit"] else value) * _scale(match)


def _spelt(words: str) -> float:
    """A number in words: "two thousand three hundred and five" → 2305.

    >>> _spelt("twenty-five"), _spelt("two hundred and six")
    (25.0, 206.0)
    """
    total, current = 0.0, 0.0
    for word in re.split(r"[ -]+", words.lower()):
        if word == "and":
            continue
        if word in ("hundred", "dozen"):
            current = max(1.0, current) * _VALUES[word]
        elif word == "thousand":
            total, current = total + max(1.0, current) * 1000, 0.0
        else:
            current += _VALUES[word]
    return total + current


def _scale(match: re.Match[str]) -> float:
    scale = match["scale"] or ""
    if scale.lower() in _SCALES:
        return _SCALES[scale.lower()]
    if _is_metres(match):
        return 1.0
    return _SHORT.get(scale, 1.0)


def _is_metres(match: re.Match[str]) -> bool:
    """Whether an "m" apart from the number, and no money, is metres: "1,500 m"."""
    return match["scale"] == "m" and match["gap"] == " " and not match["sign"]


def _measure(match: re.Match[str]) -> tuple[str, str]:
    if match["percent"]:
        return "share", "%"
    if match["sign"]:
        return _SIGNS[match["sign"].strip()[-1]], ""
    if _is_metres(match):
        return "length", "m"
    name = (match["unit"] or match["letter"] or "").lower()
    measure, unit = UNITS.get(name, ("", ""))
    if measure == "pounds":  # money where there are millions of them
        return ("money £", "") if match["scale"] else ("mass", "lb")
    return measure, "" if measure.startswith("money") else unit


def _width(match: re.Match[str], value: float) -> float:
    """Half of what the last digit that is written stands for."""
    digits = match["digits"] or ""
    if match["percent"]:
        return 0.5 * 10.0 ** -len(digits.partition(".")[2])
    scale = _scale(match)
    if "." in digits:
        return 0.5 * 10.0 ** -len(digits.partition(".")[2]) * scale
    if match["scale"] and scale > 1:
        return min(0.5 * scale, _SCALED * abs(value))
    plain = _GROUPING.sub("", digits)
    zeros = len(plain) - len(plain.rstrip("0"))
    if zeros >= 2 and len(plain) >= 4:
        return min(0.5 * 10.0**zeros, _LAST_DIGIT * abs(value))
    return 0.0


_GROUPING = re.compile(r"[,\u00a0\u202f ]")
_HEDGE = re.compile(rf"(?:^|[\s(])({_any(list(_HEDGES))})\s?(?:a |an |the )?\Z", re.IGNORECASE)


def _hedged(text: str, start: int, value: float, width: float) -> tuple[float, float]:
    """The interval of a value with the word before it: "about", "more than", "nearly"."""
    hedge = _HEDGE.search(text, max(0, start - 24), start)
    low, high = value - width, value + width
    if hedge is None:
        return low, high
    below, above = _HEDGES[hedge[1].lower()]
    least, most = sorted((value * below, value * above))
    return (least if below < 1 else value), (most if above > 1 else value)


def _is_named(text: str, start: int) -> bool:
    """Whether the number at `start` belongs to a name before it."""
    before = _NAMED.search(text, max(0, start - 24), start)
    if before is None:
        return bool(re.search(r"[A-Za-z]-\Z", text[max(0, start - 2) : start]))
    word = before["word"]
    return word.lower() not in _NOT_NAMES and word.lower()[:3] not in _MONTHS


def _romans(text: str) -> Iterator[Value]:
    for match in _ROMAN.finditer(text):
        numerals = [_ROMANS[letter] for letter in match["roman"]]
        n = numerals[-1] + sum(a if a >= b else -a for a, b in pairwise(numerals))
        yield Value(Span(*match.span()), float(n), float(n), weak=n < 4)
