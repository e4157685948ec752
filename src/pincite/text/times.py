"""Times that a text states relative to its own date: "this morning" on a page of 14 May 2004.

Each is resolved against the date of publication, as exactly as that date is known, and only in a
text without another anchor. In doubt nothing is resolved.
"""

import re
from calendar import day_name, month_abbr, month_name
from collections.abc import Iterator
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple

from pincite.text import patterns
from pincite.text.figures import ONES
from pincite.text.finite import referents_in
from pincite.text.words import sentences_of
from pincite.types import Span

_WEEKDAYS, _MONTHS = [*day_name], [*month_name][1:]
_MONTH_OF = {name.lower(): n for names in (month_name, month_abbr) for n, name in enumerate(names)}
_MONTH = rf"{'|'.join(_MONTHS)}|(?:{'|'.join([*month_abbr][1:])})\b\.?"
_P = patterns(
    __file__, "times", weekdays="|".join(_WEEKDAYS), months="|".join(_MONTHS), month=_MONTH
)
_COMING = frozenset({"next", "coming", "this coming"})
_STEPS = {"last": -1, "past": -1, "next": 1}  # of months or years
_ANCHOR = re.compile(r"\b(?:1[0-9]|20)\d\d\b")  # another year: the time may be relative to it


class Resolved(NamedTuple):
    """A relative time and the date that it means: "14 May 2004", "May 2004" or "2004"."""

    span: Span
    date: str


@lru_cache(maxsize=4096)  # a passage meets several claims
def resolved(text: str, published: str) -> tuple[Resolved, ...]:
    """Return the relative times of a text that was published on an ISO date, which may be partial.

    >>> [time.date for time in resolved("It opened this morning.", "2004-05-14")]
    ['14 May 2004']
    >>> [time.date for time in resolved("It shuts on Friday. It was built last year.", "2004")]
    ['2003']
    """
    parts = re.fullmatch(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?.*", published)
    if not parts or not _P["any"].search(text):  # most passages name none: no sentence is cut
        return ()
    year, month, day = parts.groups()
    try:
        now = date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return ()
    return tuple(_in_sentences(text, now, has_month=bool(month), has_day=bool(day)))


def about_passage(about: str, text: str, published: str | None, page: str = "") -> str:
    """Add to what is known of a page the dates and names that its passage leaves to its context."""
    dates = (time.date for time in resolved(text, published or ""))
    names = (referent.name for referent in referents_in(text, page)) if page else ()
    return " · ".join(filter(None, dict.fromkeys([about, *dates, *names])))


def _in_sentences(text: str, now: date, *, has_month: bool, has_day: bool) -> Iterator[Resolved]:
    for sentence in sentences_of(text):
        words = sentence.of(text)
        if _ANCHOR.search(words):
            continue
        ahead = bool(_P["to_come"].search(words))
        for match in _P["any"].finditer(words):
            try:
                meant = _day(match, now, ahead) if has_day else ""
                if has_month and not meant:
                    meant = _month(match, now, ahead)
            except (ValueError, OverflowError):  # 30 February, a thousand years ago
                continue
            meant = meant or _year(match, now)
            if meant:
                yield Resolved(Span(*match.span()).moved(sentence.start), meant)


def _day(match: re.Match[str], now: date, ahead: bool) -> str:
    """The day of a time such as "on Friday"; empty if it names none. `ahead`: it is to come."""
    for name, days in (("before", -2), ("yesterday", -1), ("today", 0), ("tomorrow", 1)):
        if match[name]:
            return _format(now + timedelta(days))
    if match["ago"] in ("day", "week"):
        return _format(now - timedelta(_count(match) * (7 if match["ago"] == "week" else 1)))
    if name := match["named"] or match["weekday"]:
        return _format(now + timedelta(_days_to(name, (match["which"] or "").lower(), now, ahead)))
    if number := match["day"] or match["after"]:
        month = _MONTH_OF[(match["month"] or match["first"]).rstrip(".").lower()]
        return _format(_nearest(now, month, int(number), ahead))
    return ""


def _days_to(weekday: str, which: str, now: date, ahead: bool) -> int:
    """Days from now to a weekday, negative for one that is past; `which`: "last", "next" or ""."""
    days = _WEEKDAYS.index(weekday) - now.weekday()
    if which == "next":  # the one of the next week
        return 7 + days
    if which in _COMING or (ahead and which in ("", "this")):
        return days % 7
    return -(-days % 7) - (7 if days == 0 and which in ("last", "past") else 0)


def _month(match: re.Match[str], now: date, ahead: bool) -> str:
    """The month of a time such as "last May"; empty if it names none."""
    if match["ago"] == "month":
        return _of_month(now, -_count(match))
    if match["unit"] == "month":
        return _of_month(now, _STEPS.get(match["which"].lower(), 0))
    if name := match["of"] or match["only"]:
        which = (match["which"] or "").lower()
        is_ahead = which in _COMING or (ahead and not which)
        return _of_month(_nearest(now.replace(day=1), _MONTH_OF[name.lower()], 1, is_ahead), 0)
    return ""


def _year(match: re.Match[str], now: date) -> str:
    """The year of a time such as "two years ago"; empty if it names none."""
    if match["ago"] == "year":
        return str(now.year - _count(match))
    which = (match["which"] or match["whose"] or "").lower()
    if match["unit"] == "year" or match["whose"]:
        year = now.year + _STEPS.get(which, 0)
        return " ".join(filter(None, (match["nth"], match["in"], str(year))))
    return str(now.year) if match["season"] and which == "this" else ""


def _nearest(now: date, month: int, day: int, ahead: bool) -> date:
    """Return the first such day from `now` on, or the last one up to it."""
    in_year = date(now.year, month, day)
    if ahead:
        return in_year if in_year >= now else in_year.replace(year=now.year + 1)
    return in_year if in_year <= now else in_year.replace(year=now.year - 1)


def _of_month(now: date, months: int) -> str:
    year, month = divmod(now.year * 12 + now.month - 1 + months, 12)
    return f"{_MONTHS[month]} {year}"


def _count(match: re.Match[str]) -> int:
    word = match["n"].lower()
    return int(word) if word.isdigit() else 1 + (ONES.index(word) if word in ONES else 0)


def _format(day: date) -> str:
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
