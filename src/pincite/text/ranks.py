"""Reads ranks: a place in an order, such as "the second-largest" or "only two are higher"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pincite.text.figures import ONES, ORDINALS, fold
from pincite.text.finite import lemmas
from pincite.types import Span

LARGER = "more|higher|greater|larger|bigger|longer|taller|older|wider|heavier|deeper|dearer"
SMALLER = "fewer|less|lower|smaller|shorter|younger|narrower|lighter|cheaper"
_UPWARDS, _DOWNWARDS = (
    {word.removesuffix("er") for word in words.split("|")} for words in (LARGER, SMALLER)
)
_ORDINAL = "|".join(ORDINALS[1:])
_SUPERLATIVE = re.compile(  # "the third-largest", "its most popular"
    rf"\b(?:the|its|their|his|her)(?:\s+(?P<nth>{_ORDINAL}|[2-9](?:nd|rd|th)))?[ -]+"
    r"(?:(?P<order>[a-z]{2,}(?=est\b))est|most [a-z]+)\b",
    re.IGNORECASE,
)
_PLACED = re.compile(  # "came third of 24": the size of the field is no place
    rf"\b(?:ranked|came|finished|placed|was|is) (?P<nth>first|{_ORDINAL}|\d{{1,4}}(?:st|nd|rd|th))"
    r"(?= (?:out )?of \S)",
    re.IGNORECASE,
)
_EXCEEDED = re.compile(  # "only two towns are larger than it", "nowhere costs as much as this"
    rf"\b(?:no other|nowhere|(?:only|just) (?P<n>{'|'.join(ONES)}))\b[^.,;]{{1,60}}?\b"
    r"(?:as (?:much|many)|more|(?P<order>[a-z]{2,}(?=er\b))er)\b"
    r"(?=[^.;]{0,80} (?:as|than) )",
    re.IGNORECASE,
)
_ANY_OTHER = re.compile(  # "higher than any other"
    r"\b(?:more|(?P<order>[a-z]{2,}(?=er\b))er)\b[^.,;]{0,60}?\bthan any(?:where|one)?"
    r" (?:other|else)\b",
    re.IGNORECASE,
)
_OF_SEVERAL = re.compile(
    r"\b(?:one|some|two|three|many|several|among|\d+)(?: of)? \Z", re.IGNORECASE
)
_LONGEST_OF_SEVERAL = 12  # characters of what `_OF_SEVERAL` matches
_LEAST_FIELD = 3  # things, of which one may be the first


@dataclass(frozen=True, slots=True)
class Rank:
    """A place in an order: third of 24, the second-largest, one that only two exceed."""

    span: Span
    place: int  # from 1
    order: str  # the stem of "largest" or "larger", "most"; "" where only the place is stated

    def is_same(self, source: "Rank") -> bool:
        """Whether a source states this rank, in this order or without an order."""
        return self.place == source.place and source.order in ("", self.order)


@lru_cache(maxsize=4096)
def ranks(text: str) -> tuple[Rank, ...]:
    """Return the ranks that a text states, in order.

    >>> [(r.place, r.order) for r in ranks("It is the second-tallest; only two are wider than it.")]
    [(2, 'tall'), (3, 'wid')]
    """
    text = fold(text)
    found = [
        *(_rank(m, _place(m["nth"])) for m in _SUPERLATIVE.finditer(text) if _is_rank(m)),
        *(Rank(Span(*m.span()), _place(m["nth"]), "") for m in _PLACED.finditer(text)),
        *(_rank(m, 1 + _count(m["n"])) for m in _EXCEEDED.finditer(text)),
        *(_rank(m, 1) for m in _ANY_OTHER.finditer(text)),
    ]
    return tuple(sorted(found, key=lambda rank: rank.span))


def _rank(match: re.Match[str], place: int) -> Rank:
    return Rank(Span(*match.span()), place, (match["order"] or "most").lower())


def _is_rank(superlative: re.Match[str]) -> bool:
    """Whether a superlative is of one thing: not "one of the largest", not "the protest"."""
    start = superlative.start()
    if _OF_SEVERAL.search(superlative.string, max(0, start - _LONGEST_OF_SEVERAL), start):
        return False
    order = superlative["order"]
    return not order or is_superlative(f"{order}est".lower())


def is_superlative(word: str) -> bool:
    """Whether the "est" of a lower-case word is an ending: of "oldest", not of "honest"."""
    return word == "eldest" or word not in lemmas(word).get("ADJ", (word,))


def _place(nth: str | None) -> int:
    """Return the place that "third" or "3rd" means; the first if none is named."""
    nth = (nth or "first").lower()
    return ORDINALS.index(nth) + 1 if nth in ORDINALS else int(nth[:-2])


def _count(number: str | None) -> int:
    return ONES.index(number.lower()) + 1 if number else 0


def place_of(number: float, field: Sequence[float], order: str) -> int | None:
    """Return the place of a number in a field in an order such as "high"; None if unclear."""
    up = order in _UPWARDS | {"most"}
    if len(field) < _LEAST_FIELD or not (up or order in _DOWNWARDS) or field.count(number) != 1:
        return None
    return sorted(field, reverse=up).index(number) + 1
