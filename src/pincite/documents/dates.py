"""Parses dates as journals and citations write them, to the stated precision.

Month names are recognised in English, de, fr, es, it, pt, nl, pl and ru, and as 2024年5月3日.
"""

import datetime
import re
from collections.abc import Iterable
from contextlib import suppress

from pincite.text import entry, pattern

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_OTHERS = {
    name: number
    for number, names in enumerate(entry(__name__, "months").splitlines(), 1)
    for name in names.split()
}
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|2[01]\d\d)(?!\d)")
# Requires a day: "2000-01" may mean a winter as well as a January.
_NUMBERS = re.compile(r"(?<!\d)(1[5-9]\d\d|2[01]\d\d)-(\d\d)-(\d\d)(?!\d)")
_EAST_ASIAN = re.compile(r"(?<!\d)(\d{4})\s*[年/]\s*(\d{1,2})\s*[月/]\s*(?:(\d{1,2})(?!\d))?")
_DAY_FIRST = pattern(__name__, "day_first")
_MONTH = re.compile(r"([^\W\d_]+)\.?(?:\s+(\d{1,2})\b(?!\d))?")
_DAY_BEFORE = re.compile(r"\b(\d{1,2})(?:er|[.ºª°])?\s+(?:de\s+)?$")

_HEAD_CHARS, _HEAD_LINES, _HEAD_WORDS = 1_000, 6, 15
_FULL_DATE = pattern(__name__, "full_date")
_ISSUED = pattern(__name__, "issued", re.IGNORECASE)
_SET_OFF = re.compile(r"[,|·•–—(]\s*(?:[^\W\d_]+day,?\s*)?\Z|\A[^\W\d_]+day,?\s*\Z")
_GOES_ON = re.compile(r"\W|\Z|\s*by\b", re.IGNORECASE)


def iso_date(year: str, month: str = "", day: str = "") -> str:
    """Build an ISO date from parts, to the stated precision; empty without a year.

    >>> iso_date("2019", "Apr"), iso_date("2019", "4", "7"), iso_date("2019", "Feb", "31")
    ('2019-04', '2019-04-07', '2019-02')
    """
    found, number = _YEAR.search(year), _month(month)
    if not found or not number:
        return found[1] if found else ""
    with suppress(ValueError):  # no day, or one that the month does not have
        return datetime.date(int(found[1]), number, int(day)).isoformat()
    return f"{found[1]}-{number:02}"


def stated_date(text: str) -> str:
    """Return the first day, month or year in a free text; empty if there is none.

    >>> stated_date("1998 Dec-1999 Jan"), stated_date("1975 Aug 15-31"), stated_date("2000 Spring")
    ('1998-12', '1975-08-15', '2000')
    >>> stated_date("2 March 2014"), stated_date("2014-03-02T10:15:00Z")
    ('2014-03-02', '2014-03-02')
    >>> stated_date("1er août 2020"), stated_date("3 de mayo de 2021"), stated_date("2024年5月3日")
    ('2020-08-01', '2021-05-03', '2024-05-03')
    """
    if numbers := _NUMBERS.search(text) or _EAST_ASIAN.search(text):
        return iso_date(numbers[1], numbers[2], numbers[3] or "")
    if numbers := _DAY_FIRST.search(text):
        return iso_date(numbers[5], numbers[2] or numbers[4], numbers[1] or numbers[3])
    year = _YEAR.search(text)
    month = next((found for found in _MONTH.finditer(text) if _month(found[1])), None)
    if not year or not month:
        return year[1] if year else ""
    before = _DAY_BEFORE.search(text[: month.start()])
    return iso_date(year[1], month[1], month[2] or (before[1] if before else ""))


def dateline(text: str) -> str:
    r"""Return the day or month that a line at the head of a text gives as the text's own.

    It stands alone, set off by punctuation, or after a word such as "published". The first line is
    a title, which may date what it tells of.

    >>> dateline("Winter ferry\n\nLoch Times, 12 October 2026, by Mary Tull\n\nThe boat sails.")
    '2026-10-12'
    """
    lines = [line.strip() for line in text[:_HEAD_CHARS].splitlines() if line.strip()]
    for n, line in enumerate(lines[:_HEAD_LINES]):
        if len(line.split()) > _HEAD_WORDS:
            return ""
        for match in _FULL_DATE.finditer(line):
            date, before = stated_date(match[0]), line[: match.start()]
            is_own = not before or (n and _SET_OFF.search(before)) or _ISSUED.search(before)
            if len(date) >= len("2026-10") and is_own and _GOES_ON.match(line, match.end()):
                return date
    return ""


def first_date(dates: Iterable[str]) -> str:
    """Return the earliest date; of two that may be the same day, the more precise one.

    >>> first_date(["2019", "2019-03-05", "2019-04", ""])
    '2019-03-05'
    """
    best = ""
    for date in dates:
        n = min(len(date), len(best))
        if date and (not best or date[:n] < best[:n] or (date[:n] == best[:n] and len(date) > n)):
            best = date
    return best


def _month(text: str) -> int:
    """Return 1 to 12, or 0 if `text` is not a month."""
    text = text.strip()
    if text.isascii() and text.isdecimal():
        return int(text) if 1 <= int(text[:3]) <= 12 else 0
    if other := _OTHERS.get(text.lower()):
        return other
    return _MONTHS.index(text[:3].lower()) + 1 if text[:3].lower() in _MONTHS else 0
