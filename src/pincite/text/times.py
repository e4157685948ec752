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

from pincite.text import pattern
from pincite.text.figures import ONES
from pincite.text.finite import referents_in
from pincite.text.words import sentences_of
from pincite.types import Span

_WEEKDAYS, _MONTHS = [*day_name], [*month_name][1:]
_MONTH_OF = {name.lower(): n for names in (month_name, month_abbr) for n, name in enumerate(names)}
_MONTH = rf"{'|'.join(_MONTHS)}|(?:{'|'.join([*month_abbr][1:])})\b\.?"
_ANY = pattern(
    __name__, "any", re.VERBOSE, WEEKDAYS=_WEEKDAYS, MONTHS=_MONTHS, MONTH=_MONTH, ONES=ONES
)
_TO_COME = pattern(__name__, "to_come")
_ANCHOR = re.compile(r"\b(?:1[0-9]|20)\d\d\b")  # another year: the time may be relative to it


class Resolved(NamedTuple):
    """A relative time and the date that it means: "14 May 2004", "May 2004" or "2004"."""

    span: Span
    date: str


@lru_cache(maxsize=4096)  # a passage meets several claims
def resolved(text: str, published: str) -> tuple[Resolved, ...]:
    """Return the relative times of a text that was published on an ISO date, which may be partial.

    >>> [each.date for each in resolved("It opened this morning.", "2004-05-14")]
    ['14 May 2004']
    >>> [each.date for each in resolved("It shuts on Friday. It was built last year.", "2004")]
    ['2003']
    """
    parts = re.fullmatch(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?.*", published)
    if not parts or not _ANY.search(text):  # most passages name none: no sentence is cut
        return ()
    year, month, day = (int(part) if part else None for part in parts.groups())
    try:
        now = date(int(year or 0), month or 1, day or 1)
    except ValueError:
        return ()
    exact = 3 if day else 2 if month else 1
    return tuple(_in_sentences(text, now, exact))


def about_passage(about: str, text: str, published: str | None, page: str = "") -> str:
    """Add to what is known of a page the dates and names that its passage leaves to its context."""
    dates = (each.date for each in resolved(text, published or ""))
    names = (each.name for each in referents_in(text, page)) if page else ()
    return " · ".join(filter(None, dict.fromkeys([about, *dates, *names])))


def _in_sentences(text: str, now: date, exact: int) -> Iterator[Resolved]:
    for sentence in sentences_of(text):
        words = sentence.of(text)
        if _ANCHOR.search(words):
            continue
        ahead = bool(_TO_COME.search(words))
        for match in _ANY.finditer(words):
            try:
                meant = _day(match, now, ahead) if exact > 2 else None
                meant = meant or (_month(match, now, ahead) if exact > 1 else None)
            except (ValueError, OverflowError):  # 30 February, a thousand years ago
                continue
            if meant := meant or _year(match, now):
                start = sentence.start + match.start()
                yield Resolved(Span(start, sentence.start + match.end()), meant)


def _day(match: re.Match[str], now: date, ahead: bool) -> str | None:
    for name, days in (("before", -2), ("yesterday", -1), ("today", 0), ("tomorrow", 1)):
        if match[name]:
            return _format(now + timedelta(days))
    if match["ago"] in ("day", "week"):
        return _format(now - timedelta(_count(match) * (7 if match["ago"] == "week" else 1)))
    if name := match["named"] or match["weekday"]:
        which = (match["which"] or "").lower()
        forward = which in ("next", "coming", "this coming") or (ahead and which in ("", "this"))
        days = (
            (_WEEKDAYS.index(name) - now.weekday()) % 7
            if forward
            else (-((now.weekday() - _WEEKDAYS.index(name)) % 7))
        )
        if which == "next":  # the one of the next week
            days = 7 - now.weekday() + _WEEKDAYS.index(name)
        return _format(now + timedelta(days - 7 * (days == 0 and which in ("last", "past"))))
    if number := match["day"] or match["after"]:
        month = _MONTH_OF[(match["month"] or match["first"]).rstrip(".").lower()]
        return _format(_nearest(now, month, int(number), ahead))
    return None


def _month(match: re.Match[str], now: date, ahead: bool) -> str | None:
    if match["ago"] == "month":
        return _of_month(now, -_count(match))
    if match["unit"] == "month":
        return _of_month(now, {"last": -1, "past": -1, "next": 1}.get(match["which"].lower(), 0))
    if name := match["of"] or match["only"]:
        which = (match["which"] or "").lower()
        forward = which in ("next", "coming", "this coming") or (ahead and not which)
        found = _nearest(now.replace(day=1), _MONTH_OF[name.lower()], 1, forward)
        return f"{_MONTHS[found.month - 1]} {found.year}"
    return None


def _year(match: re.Match[str], now: date) -> str | None:
    if match["ago"] == "year":
        return str(now.year - _count(match))
    which = (match["which"] or match["whose"] or "").lower()
    if match["unit"] == "year" or match["whose"]:
        year = now.year + {"last": -1, "past": -1, "next": 1}.get(which, 0)
        return " ".join(filter(None, (match["nth"], match["in"], str(year))))
    return str(now.year) if match["season"] and which == "this" else None


def _nearest(now: date, month: int, day: int, ahead: bool) -> date:
    """Return the first such day from `now` on, or the last one up to it."""
    found = date(now.year, month, day)
    if ahead:
        return found if found >= now else found.replace(year=now.year + 1)
    return found if found <= now else found.replace(year=now.year - 1)


def _of_month(now: date, months: int) -> str:
    year, month = divmod(now.year * 12 + now.month - 1 + months, 12)
    return f"{_MONTHS[month]} {year}"


def _count(match: re.Match[str]) -> int:
    word = match["n"].lower()
    return int(word) if word.isdigit() else 1 + (ONES.index(word) if word in ONES else 0)


def _format(day: date) -> str:
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
