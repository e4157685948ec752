"""Dates to the stated precision: of publications as ISO dates, and in English prose as ranges.

`stated_date` and `date_at_head` return "2014-03-02", "2014-03" or "2014". They know the months in
English, de, fr, es, it, pt, nl, pl and ru, and 2024年5月3日. `read_days` reads English alone, but
also "the late 1880s" and "the spring of 1912".
"""

import datetime
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from pincite.text import LEXICON, patterns
from pincite.text.figures import MONTH_NUMBERS, MONTHS, ORDINALS, TENTHS, number_in_words
from pincite.types import Span

Range: TypeAlias = tuple[int, int]  # both ends included


@dataclass(frozen=True, slots=True)
class Day:
    """A date to the stated precision: a range of years for a decade, of months for a season."""

    years: Range | None = None
    months: Range | None = None
    day: int | None = None

    @property
    def year(self) -> int | None:
        """Its only year; None if it has several, or none is stated."""
        return self.years[0] if self.years and self.years[0] == self.years[1] else None

    def contains(self, other: "Day") -> bool:
        """Whether another date is at least as precise, and lies in this one."""
        return (
            _contains(self.years, other.years)
            and _contains(self.months, other.months)
            and self.day in (None, other.day)
        )

    def may_be(self, other: "Day") -> bool:
        """Whether nothing that both state differs."""
        return (
            _may_meet(self.years, other.years)
            and _may_meet(self.months, other.months)
            and (self.day is None or other.day is None or self.day == other.day)
        )


class StatedDays(NamedTuple):
    """A date in a text, and its readings: two if the order of day and month is unknown."""

    span: Span
    days: tuple[Day, ...]


def _contains(outer: Range | None, inner: Range | None) -> bool:
    if outer is None:
        return True
    return inner is not None and outer[0] <= inner[0] and inner[1] <= outer[1]


def _may_meet(left: Range | None, right: Range | None) -> bool:
    return left is None or right is None or (left[0] <= right[1] and right[0] <= left[1])


# Of languages other than English: 1 for "enero" and "ene".
_OTHER_MONTHS = {
    name: number
    for number, names in enumerate(LEXICON["months"].values(), 1)
    for name in names.split()
}
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|2[01]\d\d)(?!\d)")
# Requires a day: "2000-01" may mean a winter as well as a January.
_NUMBERS = re.compile(r"(?<!\d)(1[5-9]\d\d|2[01]\d\d)-(\d\d)-(\d\d)(?!\d)")
_EAST_ASIAN = re.compile(r"(?<!\d)(\d{4})\s*[年/]\s*(\d{1,2})\s*[月/]\s*(?:(\d{1,2})(?!\d))?")
_P = patterns(__file__, "dates")
_MONTH = re.compile(r"([^\W\d_]+)\.?(?:\s+(\d{1,2})\b(?!\d))?")
_DAY_BEFORE = re.compile(r"\b(\d{1,2})(?:er|[.ºª°])?\s+(?:de\s+)?$")

_HEAD_CHARS, _HEAD_LINES, _HEAD_WORDS = 1_000, 6, 15  # of a text's head, and of a line in it
# A date that is set off from what precedes it, and not followed by more of the sentence.
_SET_OFF = re.compile(r"[,|·•–—(]\s*(?:[^\W\d_]+day,?\s*)?\Z|\A[^\W\d_]+day,?\s*\Z")
_GOES_ON = re.compile(r"\W|\Z|\s*by\b", re.IGNORECASE)


def iso_date(year: str, month: str = "", day: str = "") -> str:
    """Build an ISO date from parts, to the stated precision; empty without a year.

    >>> iso_date("2019", "Apr"), iso_date("2019", "4", "7"), iso_date("2019", "Feb", "31")
    ('2019-04', '2019-04-07', '2019-02')
    """
    match, number = _YEAR.search(year), _month(month)
    if not match or not number:
        return match[1] if match else ""
    with suppress(ValueError):  # no day, or one that the month does not have
        return datetime.date(int(match[1]), number, int(day)).isoformat()
    return f"{match[1]}-{number:02}"


def stated_date(text: str) -> str:
    """Return the first day, month or year in a free text; empty if there is none.

    >>> stated_date("1998 Dec-1999 Jan"), stated_date("1975 Aug 15-31"), stated_date("2000 Spring")
    ('1998-12', '1975-08-15', '2000')
    >>> stated_date("2 March 2014"), stated_date("3 de mayo de 2021"), stated_date("2024年5月3日")
    ('2014-03-02', '2021-05-03', '2024-05-03')
    """
    if numbers := _NUMBERS.search(text) or _EAST_ASIAN.search(text):
        return iso_date(numbers[1], numbers[2], numbers[3] or "")
    if numbers := _P["day_first"].search(text):
        return iso_date(numbers[5], numbers[2] or numbers[4], numbers[1] or numbers[3])
    year = _YEAR.search(text)
    month = next((match for match in _MONTH.finditer(text) if _month(match[1])), None)
    if not year or not month:
        return year[1] if year else ""
    before = _DAY_BEFORE.search(text[: month.start()])
    return iso_date(year[1], month[1], month[2] or (before[1] if before else ""))


def date_at_head(text: str) -> str:
    r"""Return the day or month that a line at the head of a text gives as the text's own.

    It stands alone, set off by punctuation, or after a word such as "published". The first line is
    a title, which may date what it tells of.

    >>> date_at_head("Winter ferry\n\nLoch Times, 12 October 2026, by Mary Tull\n\nThe boat sails.")
    '2026-10-12'
    """
    lines = [line.strip() for line in text[:_HEAD_CHARS].splitlines() if line.strip()]
    for n, line in enumerate(lines[:_HEAD_LINES]):
        if len(line.split()) > _HEAD_WORDS:
            return ""
        for match in _P["full_date"].finditer(line):
            date, before = stated_date(match[0]), line[: match.start()]
            is_own = not before or (n and _SET_OFF.search(before)) or _P["issued"].search(before)
            if len(date) >= len("2026-10") and is_own and _GOES_ON.match(line, match.end()):
                return date
    return ""


def first_date(dates: Iterable[str]) -> str:
    """Return the earliest date; of two that may be the same day, the more precise one.

    >>> first_date(["2019", "2019-03-05", "2019-04", ""])
    '2019-03-05'
    """
    known = filter(None, dates)  # "~" sorts behind what a less precise date lacks
    return min(known, key=lambda date: date.ljust(len("2019-03-05"), "~"), default="")


def _month(text: str) -> int:
    """Return 1 to 12, or 0 if `text` is not a month."""
    text = text.strip()
    if text.isascii() and text.isdecimal():
        return int(text) if 1 <= int(text[:3]) <= 12 else 0
    return _OTHER_MONTHS.get(text.lower()) or MONTH_NUMBERS.get(text[:3].lower(), 0)


_PLACES = "|".join(sorted((*ORDINALS, *TENTHS), key=len, reverse=True))
_PARTS_OF_YEAR = {"early": (1, 5), "mid": (4, 9), "late": (8, 12), "end": (10, 12),
                  "beginning": (1, 3), "start": (1, 3), "spring": (3, 6), "summer": (6, 9),
                  "autumn": (9, 12), "fall": (9, 12)}  # fmt: skip
_PARTS_OF_DECADE = {"early": (0, 4), "mid": (3, 7), "late": (5, 9), "end": (7, 9)}
_FEASTS = {"new year's day": (1, 1), "new year's eve": (12, 31), "christmas day": (12, 25),
           "christmas eve": (12, 24)}  # fmt: skip
_MONTH_NAME = (
    rf"(?:(?:{'|'.join(MONTHS)})\b|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?)"
)
_DATE_FORMS = (
    # "early 1912", "the late 1880s", "the end of 1912"
    r"(?P<part>early|mid|late|(?:the\s)?(?:end|beginning|start|spring|summer|autumn|fall)\s+of)"
    r"(?:\s+in)?[ -](?:the\s)?(?P<part_year>1\d{3}|20\d\d)(?P<of_decade>[’']?s)?\b",
    # "summer 1912"
    r"(?P<season>spring|summer|autumn|fall),?\s(?P<season_year>1\d{3}|20\d\d)\b",
    # "Christmas Eve 1741"
    r"(?P<feast>New Year[’']s (?:Day|Eve)|Christmas (?:Day|Eve))(?:,?\s+(?P<feast_year>\d{4}))?",
    # "1912-03-05"
    r"(?P<iso_year>\d{4})-(?P<iso_month>\d\d)-(?P<iso_day>\d\d)(?!\d)",
    # "5/3/1912", "5.3.1912": which number is the month is unknown
    r"(?<![\d/.])(?P<one>\d{1,2})[/.](?P<other>\d{1,2})[/.](?P<slash_year>\d{4})(?!\d)",
    # "5 March 1912", "the 3rd to 5th day of March"; "11 February 1731/32"
    r"(?:(?P<from>\d{1,2})\s?(?:–|-|to|and)\s?)?(?P<day1>\d{1,2})(?:st|nd|rd|th)?"
    rf"(?:\s+(?:day\s+)?of)?\s+(?P<month1>{_MONTH_NAME})"
    r"(?:,?\s+(?:of\s+)?(?P<year1>\d{4})(?P<next1>/\d{1,2}\b)?)?(?!\d)",
    # "March 5–7, 1912"
    rf"(?P<month2>{_MONTH_NAME})\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:%]|\s?(?:%|per))"
    r"(?:\s?[–-]\s?\d{1,2})?(?:,?\s+(?P<year2>\d{4})(?P<next2>/\d{1,2}\b)?)?(?!\d)",
    # "March 1912"
    rf"(?P<month3>{_MONTH_NAME}),?\s+(?:of\s+)?(?P<year3>\d{{4}})(?!\d)",
    # "March", but not "the army on the march" nor the verb "may"
    r"(?P<month4>January|February|April|June|July|August|September|October|November|December"
    r"|(?-i:March)(?!\s+(?:on|to)\b))\b",
    # "the 1880s"
    r"(?<!\w)(?:the\s+)?(?P<decade>1\d\d0|20\d0)[’']?s\b",
    # "the 5th century BC"
    rf"(?P<century>\d{{1,2}}(?:st|nd|rd|th)|twenty-first|{_PLACES})"
    r"[ -]centur(?:y|ies)\b(?:(?P<bc>\s+BCE?\b)|\s+(?:AD|CE)\b)?",
    # "AD 79", "44 BC"
    r"(?-i:\bAD\s(?P<ad>\d{1,4})|(?<![\w.,/-])(?P<era_year>\d{1,4})\s(?P<era>BCE?|CE|AD))\b",
    # "1998/99"
    r"(?<![\w.,/-])(?P<range_century>1\d|20)(?P<range_start>\d\d)[-–/](?P<range_end>\d\d)(?![-–/\d])",
    # "1912", but not "1912 kg" nor "$1912"
    r"(?<![\w.,$€£¥#])(?P<year>1\d{3}|20\d\d|2100)(?![\w]|[.,]\d|\s?[%°])",
)
# The possible first letters make it three times as fast.
_DATES = re.compile(rf"(?<!\w)(?=[a-fj-ost\d])(?:{'|'.join(_DATE_FORMS)})", re.IGNORECASE)
_MONTH_FORMS = (("month1", "year1", "day1", "next1"), ("month2", "year2", "day2", "next2"))


def read_days(text: str) -> Iterator[StatedDays]:
    """Find the dates of an English text that `figures.fold` has folded, in order.

    >>> [stated.days[0] for stated in read_days("in the late 1880s")]
    [Day(years=(1885, 1889), months=None, day=None)]
    """
    for match in _DATES.finditer(text):
        days = _readings(match)
        if days and all(map(_is_real, days)):
            yield StatedDays(Span(*match.span()), tuple(days))
        if match["from"] and days:
            first = replace(days[0], day=int(match["from"]))
            yield StatedDays(Span(*match.span("from")), (first,))
        if match["range_end"]:
            end = Day(_year(match["range_century"] + match["range_end"]))
            yield StatedDays(Span(*match.span("range_end")), (end,))


def _readings(match: re.Match[str]) -> list[Day]:
    if match["part"] or match["season"]:
        return [_part_of_year(match)]
    if match["feast"]:
        month, day = _FEASTS[match["feast"].lower().replace("’", "'")]
        return [Day(_year(match["feast_year"]), (month, month), day)]
    if match["iso_year"]:
        month = int(match["iso_month"])
        return [Day(_year(match["iso_year"]), (month, month), int(match["iso_day"]))]
    if match["slash_year"]:
        one, other, year = int(match["one"]), int(match["other"]), _year(match["slash_year"])
        readings = Day(year, (other, other), one), Day(year, (one, one), other)
        return [day for day in readings if _is_real(day)]
    for month_name, year_name, day_name, next_name in _MONTH_FORMS:
        if match[month_name]:
            stated = _in_month(match[month_name], match[year_name], int(match[day_name]))
            if stated.years is None or not match[next_name]:
                return [stated]
            later = stated.years[0] + 1  # "11 February 1731/32": the year began in March
            return [stated, replace(stated, years=(later, later))]
    if match["month3"] or match["month4"]:
        return [_in_month(match["month3"] or match["month4"], match["year3"])]
    if match["decade"]:
        first = int(match["decade"])
        is_century = first % 100 == 0 and first < 2000
        return [Day((first, first + (100 if is_century else 9)))]
    if match["ad"] or match["era_year"]:
        is_before_christ = (match["era"] or "").startswith("B")
        counted = int(match["ad"] or match["era_year"]) * (-1 if is_before_christ else 1)
        return [Day((counted, counted))]
    if match["century"]:
        word = match["century"].lower()
        n = int(word[:-2] if word[0].isdigit() else number_in_words(word) or 0)
        return [Day((-100 * n, -100 * n + 99) if match["bc"] else (100 * n - 100, 100 * n))]
    return [Day(_year(match["year"] or match["range_century"] + match["range_start"]))]


def _year(digits: str | None) -> Range | None:
    return (int(digits), int(digits)) if digits else None


def _in_month(name: str, year: str | None, day: int | None = None) -> Day:
    month = MONTH_NUMBERS[name.lower().rstrip(".")[:3]]
    return Day(_year(year), (month, month), day)


def _part_of_year(match: re.Match[str]) -> Day:
    """A season or a part of a decade: "early 1912", "the late 1880s", "the spring of 1986"."""
    part = re.sub(r"\s+of|the\s", "", (match["part"] or match["season"]).lower())
    year = int(match["part_year"] or match["season_year"])
    if not match["of_decade"]:
        return Day((year, year), _PARTS_OF_YEAR[part])
    low, high = _PARTS_OF_DECADE.get(part, (0, 9))
    times = 10 if year % 100 == 0 and year < 2000 else 1  # "the early 1800s" means the century
    return Day((year + times * low, year + times * high + times - 1))


def _is_real(day: Day) -> bool:
    return (day.months is None or 1 <= day.months[0] <= 12) and 1 <= (day.day or 1) <= 31
