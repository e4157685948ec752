"""Numbers of a text with what they count: shares, money and measures."""

import re
from collections.abc import Iterator
from itertools import pairwise

from pincite.text.quantities.dates import MONTH_NUMBERS
from pincite.text.quantities.spelt import (
    PLACES,
    SCALES,
    TENS,
    VALUES,
    WORDED,
    any_of,
    count,
    hedged,
    spelt,
)
from pincite.text.quantities.units import FACTORS, UNIT, UNITS
from pincite.text.quantities.value import Value
from pincite.types import Span

_SHORT = {"k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9, "b": 1e9, "tn": 1e12}
_WEAK = frozenset({"one", "zero", "first", "second"})
_SIGNS = {"$": "money $", "€": "money €", "£": "money £", "¥": "money ¥"}
_FRACTIONS = {"half": 50.0, "third": 100 / 3, "quarter": 25.0, "fifth": 20.0, "tenth": 10.0}
_LAST_DIGIT = 0.025  # the most that zeros at the end of a number may hide: 400,000 for 396,400
_SCALED = 0.075  # and the last digit before "million"
_ONE_POINT = 1.0  # percentage point: what "a third" leaves open
_NUMBER = re.compile(
    rf"(?:(?<!\w)|(?=[$€£¥]))(?=[ac-fhmnostuz\d$€£¥−-])"  # where one may begin: twice as fast
    rf"(?P<sign>(?:US|A|C|AU|CA)?[$€£¥]\s?)?(?<![\w.±])(?<!± )(?P<minus>[−-]|\bminus )?"
    rf"(?:(?P<digits>\d{{1,3}}(?:[,\u00a0\u202f ]\d{{3}})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?)"
    rf"(?P<nth>st|nd|rd|th)?"
    rf"|\b(?P<place>(?:(?:{TENS.replace(' ', '|')})-)?(?:{any_of(list(PLACES))}))\b(?!\s+of\b)"
    rf"|\b(?P<words>{WORDED})\b)"
    rf"(?P<gap>[ -]?)(?P<scale>{any_of(list(SCALES))}|(?-i:bn|mn|tn|k|m|b))?(?![a-z])"
    rf"(?P<percent>\s?%|\s?per ?cent\b|\s?percent\b|\spercentage points?\b)?"
    rf"(?:\s(?:of\s)?(?:US|Australian|Canadian|American)(?=\s))?"
    rf"(?:[ -]?(?P<unit>{UNIT})(?![a-z²³])|[ ](?P<letter>(?-i:m|l|g|W|min)|°)(?![\w/²³]))?",
    re.IGNORECASE,
)
_FEET = re.compile(
    r"(?<![\w.])(\d+)\s?(?:ft|feet|foot|′|')\s?(\d{1,2})\s?(?:in\b|inch(?:es)?|″|\")"
)
_SHARE = re.compile(
    rf"\b(?=[adefhnoqstz\d])(?:(?<!first )(?<!second )(?<!other )"
    rf"(?:(?P<n>{any_of(list(VALUES))}|a|an|one|\d)[ -])?(?P<part>half|halves|thirds?|quarters?"
    r"|fifths?|tenths?)\b(?!\s(?:time|back|year|hour|past|to|of an?\s|an?\s|-))(?![-’'])"
    rf"|(?P<a>{any_of(list(VALUES))}|\d{{1,2}})\s(?:in|out of|in every|out of every)\s"
    rf"(?:every\s)?(?P<b>{any_of(list(VALUES))}|\d{{1,3}})\b(?!\s?(?:%|per)))",
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


def feet(text: str) -> Iterator[Value]:
    """Feet and inches together, in metres."""
    for match in _FEET.finditer(text):
        metres = int(match[1]) * 0.3048 + int(match[2]) * 0.0254
        yield Value(Span(*match.span()), metres, metres, "length", "ft")


def shares(text: str) -> Iterator[Value]:
    """Fractions and ratios, in per cent: "two thirds", "one in five"."""
    for match in _SHARE.finditer(text):
        if match["part"]:
            part = match["part"].lower().removesuffix("s").replace("halve", "half")
            n = count(match["n"] or "a")
            if match["n"] is None and part not in ("half", "quarter"):
                continue  # "the fifth of them" counts, and is no share
            percent = n * _FRACTIONS[part]
        else:
            percent = 100 * count(match["a"]) / max(1.0, count(match["b"]))
        if percent <= 100:
            low, high = hedged(text, match.start(), percent, _ONE_POINT)
            yield Value(Span(*match.span()), low, high, "share", "%")


_HALF = re.compile(
    rf"\b(?=[adefhnostz\d])(?:half an? (?P<s1>dozen|{any_of(list(SCALES))})|half an? (?P<u1>{UNIT})"
    rf"|(?P<n>{any_of(list(VALUES))}|an?|\d+) and a half (?P<s2>{any_of(list(SCALES))})?\s?"
    rf"(?P<u2>{UNIT})?"
    rf"|an? (?P<u3>{UNIT}) and a half)\b",
    re.IGNORECASE,
)


_MANY = re.compile(
    r"\b(?=[bdhmt])(?:(?P<tens>tens|dozens|hundreds) of )?"
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


_COUNT = rf"an?|{any_of(list(VALUES))}|\d+"
_TIMES = re.compile(
    rf"\b(?=[adefhnopstz\d])(?:(?P<quarters>three quarters|a quarter) of an hour"
    rf"|(?P<n1>{_COUNT}) (?P<u1>hours?|days?|weeks?|months?|years?) and (?P<n2>{_COUNT}) "
    r"(?P<u2>minutes?|hours?|days?|weeks?|months?)"
    r"|(?:an?|each|every|per|the (?:past|last|next|following|previous|first|same)|following) "
    r"(?P<one>minute|hour|day|week|fortnight|month|year|decade))\b(?! and a half)",
    re.IGNORECASE,
)


def times(text: str) -> Iterator[Value]:
    """Times put together, and single ones, which are weak: "an hour and ten minutes", "a year"."""
    for match in _TIMES.finditer(text):
        if match["quarters"]:
            unit, seconds = "min", 2700.0 if match["quarters"][0] in "tT" else 900.0
        elif match["one"]:
            unit = UNITS[match["one"].lower()][1]
            seconds = FACTORS[unit]
        else:
            unit = UNITS[match["u2"].lower()][1]
            seconds = count(match["n1"]) * FACTORS[UNITS[match["u1"].lower()][1]]
            seconds += count(match["n2"]) * FACTORS[unit]
        yield Value(Span(*match.span()), seconds, seconds, "time", unit, weak=bool(match["one"]))


def halves(text: str) -> Iterator[Value]:
    """Halves: "half a million", "two and a half hours", "a mile and a half"."""
    for match in _HALF.finditer(text):
        scale = (match["s1"] or match["s2"] or "").lower()
        measure, unit = UNITS.get(
            (match["u1"] or match["u2"] or match["u3"] or "").lower(), ("", "")
        )
        n = 0.5 if match["s1"] or match["u1"] else count(match["n"] or "a") + 0.5
        value = n * (12.0 if scale == "dozen" else SCALES.get(scale, 1.0)) * FACTORS.get(unit, 1.0)
        width = 0.0 if scale == "dozen" else _SCALED * value
        low, high = hedged(text, match.start(), value, width)
        yield Value(Span(*match.span()), low, high, measure, unit)


def many(text: str) -> Iterator[Value]:
    """Vague plurals: "dozens" are 24 and more, "tens of thousands" 20,000 to 100,000."""
    for match in _MANY.finditer(text):
        one = _PLURALS[match["word"].lower()] * _PLURALS.get((match["tens"] or "").lower(), 1.0)
        yield Value(Span(*match.span()), 1.9 * one, 10 * one)


def parts_of_wholes(text: str) -> Iterator[Value]:
    """The share that "201 of 300" is, beside its two numbers: it may state one in a claim."""
    for match in _OF_WHOLE.finditer(text):
        part, whole = match["a"] or match["d"], match["b"] or match["c"]
        a, b = (float(digits.replace(",", "")) for digits in (part, whole))
        if 0 < a < b:
            share = 100 * a / b
            yield Value(Span(*match.span()), share - 0.5, share + 0.5, "share", "%", weak=True)


def numbers(text: str) -> Iterator[Value]:
    """Numbers in digits and words, with their scale, currency, unit or per cent sign."""
    for match in _NUMBER.finditer(text):
        number = match["digits"] or match["words"] or match["place"]
        if _SMALL.fullmatch(match["digits"] or "") and _is_named(text, match.start("digits")):
            continue
        end = max(match.end(g) for g in ("digits", "nth", "words", "place", "scale", "percent",
                                         "unit", "letter"))  # fmt: skip
        start = match.start("sign") if match["sign"] else match.start()
        value = _amount(match)
        measure, unit = _measure(match)
        if not measure and _is_age(text, start, end):
            measure, unit = "time", "year"
        exact = value * FACTORS.get(unit, 1.0)
        low, high = hedged(text, start, exact, _width(match, value) * FACTORS.get(unit, 1.0))
        if unit == "°f":
            low, high = ((each - 32) / 1.8 for each in (low, high))
        weak = number.lower() in _WEAK and not (measure or match["scale"])
        yield Value(Span(start, end), low, high, measure, unit, weak=weak)


_AGE = re.compile(
    r"\b(?:aged|age of|at age|ages|turned|lived to(?: be)?(?: only)?(?: about)?)\s\Z", re.IGNORECASE
)
_AGE_AT = re.compile(r"\swhen (?:he|she|they) (?:died|was|were|retired|married|left|became)\b")


def _is_age(text: str, start: int, end: int) -> bool:
    """Whether the words around a bare number say that it is somebody's age."""
    return bool(_AGE.search(text[max(0, start - 30) : start]) or _AGE_AT.match(text, end))


def _amount(match: re.Match[str]) -> float:
    if match["digits"]:
        value = float(_GROUPING.sub("", match["digits"]))
    elif match["place"]:
        *tens, last = match["place"].lower().split("-")
        value = float(PLACES[last] + sum(VALUES[word] for word in tens))
    else:
        value = spelt(match["words"])
    return (-value if match["minus"] and match["unit"] else value) * _scale(match)


def _scale(match: re.Match[str]) -> float:
    scale = match["scale"] or ""
    if scale.lower() in SCALES:
        return SCALES[scale.lower()]
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


def _is_named(text: str, start: int) -> bool:
    """Whether the number at `start` belongs to a name before it."""
    before = _NAMED.search(text, max(0, start - 24), start)
    if before is None:
        return bool(re.search(r"[A-Za-z]-\Z", text[max(0, start - 2) : start]))
    word = before["word"]
    return word.lower() not in _NOT_NAMES and word.lower()[:3] not in MONTH_NUMBERS


def romans(text: str) -> Iterator[Value]:
    """Roman numerals behind a word in lower case: "act III"."""
    for match in _ROMAN.finditer(text):
        numerals = [_ROMANS[letter] for letter in match["roman"]]
        n = numerals[-1] + sum(a if a >= b else -a for a, b in pairwise(numerals))
        yield Value(Span(*match.span()), float(n), float(n), weak=n < 4)
