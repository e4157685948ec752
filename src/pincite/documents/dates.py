"""Dates as journals state them: numbers or names of months, ranges, seasons, or only a year.

An ISO date says no more than is stated: "2019 Apr" is 2019-04, "2000 Spring" is 2000.
"""

import datetime
import re
from collections.abc import Iterable

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|2[01]\d\d)(?!\d)")
# With its day only: "2000-01" is as often a winter as a January.
_NUMBERS = re.compile(r"(?<!\d)(1[5-9]\d\d|2[01]\d\d)-(\d\d)-(\d\d)(?!\d)")
_MONTH = re.compile(rf"\b({'|'.join(_MONTHS)})[a-z]*\.?(?:\s+(\d{{1,2}})\b(?!\d))?", re.IGNORECASE)
_DAY_BEFORE = re.compile(r"\b(\d{1,2})\s+$")


def iso_date(year: str, month: str = "", day: str = "") -> str:
    """An ISO date to the precision that is stated, from parts; empty without a year.

    >>> iso_date("2019", "Apr"), iso_date("2019", "4", "7"), iso_date("2019", "Feb", "31")
    ('2019-04', '2019-04-07', '2019-02')
    """
    found = _YEAR.search(year)
    if not found:
        return ""
    number = _month(month)
    if not number:
        return found[1]
    if not day:
        return f"{found[1]}-{number:02}"
    try:
        return datetime.date(int(found[1]), number, int(day)).isoformat()
    except ValueError:
        return f"{found[1]}-{number:02}"


def stated_date(text: str) -> str:
    """The first day, month or year that a free text states; empty if it states none.

    >>> stated_date("1998 Dec-1999 Jan"), stated_date("1975 Aug 15-31"), stated_date("2000 Spring")
    ('1998-12', '1975-08-15', '2000')
    >>> stated_date("2 March 2014"), stated_date("2014-03-02T10:15:00Z")
    ('2014-03-02', '2014-03-02')
    """
    if numbers := _NUMBERS.search(text):
        return iso_date(numbers[1], numbers[2], numbers[3])
    year, month = _YEAR.search(text), _MONTH.search(text)
    if not year:
        return ""
    if not month:
        return year[1]
    before = _DAY_BEFORE.search(text[: month.start()])
    return iso_date(year[1], month[1], month[2] or (before[1] if before else ""))


def first_date(dates: Iterable[str]) -> str:
    """The earliest of ISO dates; of two that may mean the same day the more precise one.

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
    """1 to 12; 0 for what is no month."""
    text = text.strip()
    if text.isascii() and text.isdecimal():
        return int(text) if 1 <= int(text[:3]) <= 12 else 0
    return _MONTHS.index(text[:3].lower()) + 1 if text[:3].lower() in _MONTHS else 0
