"""Dates, seasons, decades and centuries of a text, and times of day."""

import re
from collections.abc import Iterator
from dataclasses import replace

from pincite.text.figures import MONTHS
from pincite.text.quantities.spelt import HOURS, PLACES, VALUES, any_of
from pincite.text.quantities.units import UNIT
from pincite.text.quantities.value import Day, Value
from pincite.types import Span

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
MONTH_NUMBERS = {name.lower()[:3]: n for n, name in enumerate(MONTHS, 1)} | {"sept": 9}

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
# Each pattern of many words begins with the letters that these may begin with: three times as fast.
_DATES = re.compile(
    rf"(?<!\w)(?=[a-fj-ost\d])(?:(?P<part>early|mid|late|(?:the\s)?(?:end|beginning|start|spring|summer|autumn|fall)\s+of)"
    rf"(?:\s+in)?[ -](?:the\s)?(?P<yp>1\d{{3}}|20\d\d)(?P<dp>[’']?s)?\b"
    rf"|(?P<season>spring|summer|autumn|fall),?\s(?P<ys>1\d{{3}}|20\d\d)\b"
    rf"|(?P<feast>New Year[’']s (?:Day|Eve)|Christmas (?:Day|Eve))(?:,?\s+(?P<yf>\d{{4}}))?"
    rf"|(?P<iso>(?P<iy>\d{{4}})-(?P<im>\d\d)-(?P<id>\d\d))(?!\d)"
    rf"|(?<![\d/.])(?P<slash>(?P<s1>\d{{1,2}})[/.](?P<s2>\d{{1,2}})[/.](?P<sy>\d{{4}}))(?!\d)"
    rf"|(?:(?P<from>\d{{1,2}})\s?(?:–|-|to|and)\s?)?{_DAY}(?:\s+(?:day\s+)?of)?\s+"
    rf"(?P<m1>{_MONTH})(?:,?\s+(?:of\s+)?(?P<y1>\d{{4}}))?(?!\d)"
    rf"|(?P<m2>{_MONTH})\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:%]|\s?(?:%|per))"
    rf"(?:\s?[–-]\s?(?P<d3>\d{{1,2}}))?(?:,?\s+(?P<y2>\d{{4}}))?(?!\d)"
    rf"|(?P<m3>{_MONTH}),?\s+(?:of\s+)?(?P<y3>\d{{4}})(?!\d)"
    rf"|(?P<m4>January|February|April|June|July|August|September|October|November|December"
    rf"|(?-i:March)(?!\s+(?:on|to)\b))\b"  # "the army on the march" is no month
    rf"|(?<!\w)(?:the\s+)?(?P<decade>1\d\d0|20\d0)[’']?s\b"
    rf"|(?P<century>\d{{1,2}}(?:st|nd|rd|th)|{any_of([*PLACES, 'twenty-first'])})"
    rf"[ -]centur(?:y|ies)\b(?P<bc>\s+BC)?"
    rf"|(?<![\w.,/-])(?P<short>(?P<ra>1\d|20)(?P<rb>\d\d)[-–/](?P<rc>\d\d))(?![-–/\d])"
    rf"|(?<![\w.,$€£¥#])(?P<year>1\d{{3}}|20\d\d|2100)(?![\w]|[.,]\d|\s?[%°]))",
    re.IGNORECASE,
)
_CLOCK = re.compile(
    r"(?=\d)(?:(?<![\w:.,])(?P<h>\d{1,2})(?:[:.](?P<m>[0-5]\d))?(?:\s?(?P<half>[ap])\.?m\b\.?"
    r"|(?: o'clock)? (?:in the (?P<part>morning|afternoon|evening)|(?P<night>at night)))"
    r"|(?<![\w:.,])(?P<hh>[01]?\d|2[0-3]):(?P<mm>[0-5]\d)(?![\d:]))",
    re.IGNORECASE,
)


def dates(text: str) -> Iterator[Value]:
    """Dates as far as they are given: days, months, years, seasons, decades, centuries."""
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
        return (first, first + (100 if first % 100 == 0 and first < 2000 else 9))
    word = match["century"].lower()
    n = int(word[:-2]) if word[0].isdigit() else 21 if "-" in word else PLACES[word]
    return (-100 * n, -100 * n + 99) if match["bc"] else (100 * n - 100, 100 * n)


def _year(digits: str | None) -> tuple[int, int] | None:
    return (int(digits), int(digits)) if digits else None


def _one(digits: str) -> tuple[int, int]:
    return (int(digits), int(digits))


def _month(word: str) -> tuple[int, int]:
    n = MONTH_NUMBERS[word.lower().rstrip(".")[:3]]
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


_QUANTITY_AFTER = re.compile(rf"\s?(?:{UNIT}|m|ft|people|inhabitants|men|women)\b", re.IGNORECASE)


def _is_quantity(match: re.Match[str]) -> bool:
    """Whether a unit follows four digits: "1500 m" is no year."""
    return bool(_QUANTITY_AFTER.match(match.string, match.end()))


_CLOCK_IN_WORDS = re.compile(
    rf"\b(?=[aefhnoqst])"
    rf"(?:(?P<half>half past|(?:a )?quarter (?:past|to)) )?(?P<hour>{any_of(HOURS)})\b"
    r"(?: o'clock)?(?= (?:(?:in the|on (?:the )?\w+|that|this|yesterday|at) )?"
    r"(?P<part>morning|afternoon|evening|night)\b)",
    re.IGNORECASE,
)
_MINUTES = {"half past": 30, "quarter past": 15, "quarter to": -15}


def clock(text: str) -> Iterator[Value]:
    """Times of day, in minutes after midnight: "3 pm", "15:00", "half past two at night"."""
    for match in _CLOCK_IN_WORDS.finditer(text):
        late = match["part"].lower() != "morning"
        past = _MINUTES[match["half"].lower().removeprefix("a ")] if match["half"] else 0
        at = 60.0 * (VALUES[match["hour"].lower()] % 12 + (12 if late else 0)) + past
        yield Value(Span(*match.span()), at, at, "clock", "clock")
    for match in _CLOCK.finditer(text):
        hours, minutes = int(match["h"] or match["hh"]), int(match["m"] or match["mm"] or 0)
        if match["half"] or match["part"] or match["night"]:
            late = (match["half"] or "").lower() == "p" or match["part"] in ("afternoon", "evening")
            hours = hours % 12 + (12 if late or match["night"] else 0)
        at = float(60 * hours + minutes)
        yield Value(Span(*match.span()), at, at, "clock", "clock")
