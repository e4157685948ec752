"""Numbers, dates, shares, money and measures in the way people read them.

"1.18 million" and 1,183,505 are one value, and so are "nearly half" and 48 %, 10 miles and 16 km,
4 July 1912 and 1912-07-04: two values are equal as far as both state them. A `Value` is therefore
an interval: as wide as its wording is vague, in the base unit of what it measures. A claim that
gives less than the source ("in 1912") is stated by it; one that gives more ("4 July 1912" where
the source has "July 1912") is neither stated nor denied.

The widths are conventions of rounding, checked on the pairs in tests/cases/values
(`python tools/gate_values.py`).
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product

from pincite.text.figures import ORDINALS, folded
from pincite.text.quantities import FACTORS, LOOSE, Day, Value, values
from pincite.types import Span

# ── Comparing ────────────────────────────────────────────────────────────────────────────────────

_OTHER_UNIT = 0.03  # converted values are rounded: 10 miles are "16 km"
_EPSILON = 1e-6
MOST = 100  # values of a claim that are looked for: a claim with more is a table
_NOWHERE = Span(0, 0)


def unstated(claim: str, source: str) -> list[Value]:
    """The values of `claim` that `source` does not state, in order.

    >>> [v.span.of("In 1912 it cost $5 m.") for v in unstated("In 1912 it cost $5 m.", "4/7/1912")]
    ['$5 m']
    >>> unstated("Nearly half of 1.2 million came.", "Of 1,183,505 people 48.1 % came.")
    []
    """
    return list(_unstated(claim, source))


@lru_cache(maxsize=4096)  # asked for as a feature, as a witness and as a reason
def _unstated(claim: str, source: str) -> tuple[Value, ...]:
    wanted = [value for value in values(claim) if not value.weak][:MOST]
    if not wanted:
        return ()
    known = list({replace(value, span=_NOWHERE): value for value in values(source)}.values())
    return tuple(
        value
        for value in wanted
        if not any(states(other, value) for other in known)
        and not _put_together(value, known)
        and not any(holds(value, other) for other in known)
        and not _is_last(value, claim, source)
        and not _derived(value, [*known, *(v for v in wanted if v is not value)])
    )


def states(source: Value, claim: Value) -> bool:
    """Whether the source's value says at least what the claim's says."""
    if "date" in (source.measure, claim.measure):
        if source.measure == claim.measure:
            return any(_contains(c, s) for c, s in product(claim.dates, source.dates))
        number, date = (source, claim) if claim.measure == "date" else (claim, source)
        return date.is_year and number.measure == "" and _same_number(number, _as_number(date))
    return _same_number(source, claim)


def conflict(source: Value, claim: Value) -> bool:
    """Whether two values of one kind cannot both be meant: neither states nor allows the other."""
    if source.weak or claim.weak or source.measure != claim.measure:
        return False
    if holds(claim, source) or holds(source, claim):
        return False
    if any(0 < 2 * value.low < value.high for value in (source, claim)):
        return False  # "dozens" and "thousands" are too vague to deny anything
    if claim.measure == "date":
        return not any(_allows(c, s) for c, s in product(claim.dates, source.dates))
    return not _same_number(source, claim)


def holds(end: Value, value: Value) -> bool:
    """Whether a value lies in the range of which another is an end."""
    if end.between is None or value.weak or value.measure != end.measure:
        return False
    low, high = end.between
    if end.measure == "date":
        return any(d.years and low <= d.years[0] and d.years[1] <= high for d in value.dates)
    slack = _EPSILON * max(abs(low), abs(high))
    return low - slack <= value.low and value.high <= high + slack


_ORDINAL = re.compile(rf"(?:{'|'.join(ORDINALS)}|\d+(?:st|nd|rd|th))\Z", re.IGNORECASE)
_NEXT_WORD = re.compile(r"\s+([^\W\d_]{3,})")


def _is_last(value: Value, claim: str, source: str) -> bool:
    """Whether the source may call what the claim counts the last: "the fourth verse"."""
    noun = _NEXT_WORD.match(claim, value.span.end)
    if not noun or value.measure or not _ORDINAL.search(folded(value.span.of(claim))):
        return False
    said, ordinal = re.escape(noun[1]), rf"\b{_ORDINAL.pattern[:-2]}"
    if re.search(rf"{ordinal}\W+(?:\w+\W+){{0,3}}?{said}\b", source, re.IGNORECASE):
        return False  # "the seventh and last season"
    return bool(re.search(rf"\b(?:last|final) (?:\w+ )?{said}\b", source, re.IGNORECASE))


_POUNDS = {("mass", "lb"), ("money £", "")}  # "18,000 pounds" may be either


def _as_number(year: Value) -> Value:
    first = year.dates[0].years
    assert first
    return replace(year, low=float(first[0]), high=float(first[0]), measure="", dates=())


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
    if one.measure != other.measure:  # a bare number beside one with a unit: as it is written
        one, other = _bare(one), _bare(other)
    slack = _EPSILON * max(abs(one.high), abs(other.high))
    if one.unit != other.unit and one.measure == other.measure and one.measure:
        loose = max(LOOSE.get(one.unit, 0.0), LOOSE.get(other.unit, 0.0), _OTHER_UNIT)
        slack = loose * max(abs(one.high), abs(other.high))
        if one.measure == "temperature":
            slack = 1.0  # degree: a share of a temperature says nothing
    common = min(one.high, other.high) - max(one.low, other.low)
    if one.unit == other.unit and one.low < one.high and other.low < other.high:
        narrower = min(one.high - one.low, other.high - other.low)
        return common > min(slack, narrower / 2)  # 13 % and 14 % only touch, at 13.5 %
    return common >= -slack


def _bare(value: Value) -> Value:
    factor = FACTORS.get(value.unit, 1.0)
    return replace(value, low=value.low / factor, high=value.high / factor)


def _contains(claim: Day, source: Day) -> bool:
    """Whether a source's date gives all that the claim's gives."""
    within = (_within(source.years, claim.years), _within(source.months, claim.months))
    return all(within) and claim.day in (None, source.day)


def _within(inner: tuple[int, int] | None, outer: tuple[int, int] | None) -> bool:
    if outer is None:
        return True
    return inner is not None and outer[0] <= inner[0] and inner[1] <= outer[1]


def _allows(claim: Day, source: Day) -> bool:
    """Whether nothing that both dates give differs."""
    if claim.years and source.years and not _meet(claim.years, source.years):
        return False
    if claim.months and source.months and not _meet(claim.months, source.months):
        return False
    return claim.day is None or source.day is None or claim.day == source.day


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def _put_together(value: Value, known: Sequence[Value]) -> bool:
    """Whether a date's year and its day stand apart: "On 4 July … of that year, 1912"."""
    if value.measure != "date":
        return False
    days = [day for other in known for day in other.dates]
    for wanted in value.dates:
        if not (wanted.years and wanted.months):
            continue
        year, rest = Day(wanted.years), replace(wanted, years=None)
        open_days = [replace(day, years=None) for day in days if not day.years]
        if any(_contains(year, d) for d in days) and any(_contains(rest, d) for d in open_days):
            return True
    return False


_LONGEST_AGE = 130  # years: what is longer is hardly reckoned from two dates in a text
_YEAR, _DAY_S, _DAYS_A_MONTH = 31557600.0, 86400.0, 30.44
_LATER = 1.5  # days by which a time between two dates may be counted otherwise


def _derived(value: Value, known: Sequence[Value]) -> bool:
    """Whether it follows from others: the time between two dates, or a year so many years away.

    Where only the years are known an age may be one less than their difference.
    """
    given = sorted(
        {d.years[0] for v in known for d in v.dates if d.years and d.years[0] == d.years[1]}
    )
    if value.is_year:
        year = value.dates[0].years
        ages = {round(v.low / _YEAR) for v in known if v.unit == "year"}
        return any(year == (a + n, a + n) or year == (a - n, a - n) for a in given for n in ages)
    if value.measure == "points":  # from 10 % to 15 % are 5
        shares = [(v.low + v.high) / 2 for v in known if v.measure == "share"]
        return any(value.low <= b - a <= value.high for a in shares for b in shares)
    if value.measure != "time":
        return False
    years, high = value.low / _YEAR, value.high / _YEAR
    if value.unit == "year" and 0 < years <= _LONGEST_AGE:
        return any(years - 0.05 <= b - a <= high + 1.05 for a in given for b in given if a < b)
    days = {n for v in known for d in v.dates if (n := _day_of_year(d)) is not None}
    low, high = value.low / _DAY_S - _LATER, value.high / _DAY_S + _LATER
    return value.low >= _DAY_S and any(low <= b - a <= high for a in days for b in days if a < b)


def _day_of_year(day: Day) -> float | None:
    return day.months[0] * _DAYS_A_MONTH + day.day if day.months and day.day else None
