"""The numbers, dates, shares, money and measures of a text, each with the interval that it means.

Dates, seasons and decades come first, then clocks, shares and numbers with what they count; what
belongs to a name ("Apollo 11", "X-15") is no value.
"""

from functools import lru_cache

from pincite.text.quantities import dates, numbers
from pincite.text.quantities.value import Value

_READERS = (dates.dates, numbers.times, dates.clock, numbers.feet, numbers.halves, numbers.many,
            numbers.shares, numbers.numbers, numbers.romans)  # fmt: skip


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
    for reader in _READERS:
        known = [v for v in reader(text) if not any(taken[v.span.start : v.span.end])]
        for value in known:
            taken[value.span.start : value.span.end] = b"\1" * (value.span.end - value.span.start)
        found += known
    return tuple(sorted([*found, *numbers.parts_of_wholes(text)], key=lambda value: value.span))
