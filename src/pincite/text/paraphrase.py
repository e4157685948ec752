"""A claim in a source's own words where both say the same value or name.

A network sees tokens: to it "nearly two thirds" and "64 per cent", 77 °F and 25 °C or "GBS" and
"Guillain-Barré syndrome" differ as much as two values that contradict each other. What rules read
as equal (`text.quantities`, `text.names`) is therefore written as the source writes it before the
network compares the two. A passage from the middle of a page says "it" of what the page's title
names: there the title stands before it. And what only asks is left out, since it says nothing.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import zip_longest

from pincite.text import names, quantities
from pincite.text.quantities import Value
from pincite.text.quantities import values as values_of
from pincite.text.sentences import asks
from pincite.text.words import sentences_of
from pincite.types import Span


def in_words_of(source: str, claim: str) -> str:
    """The claim with the source's wording of each value and name that the source states otherwise.

    >>> in_words_of("Of the 90 hands 64 per cent were women.", "Nearly two thirds were women.")
    'Nearly 64 per cent were women.'
    >>> in_words_of("In all 42 came.", "Between 30 and 50 came.")
    '42 came.'
    >>> in_words_of("It opened in 1889.", "It opened in 1886.")
    'It opened in 1886.'
    """
    return _in_words_of(source, claim)


def as_read(claim: str, passage: str, title: str = "") -> tuple[str, str]:
    """What a network compares: the claim in the passage's words, and what the passage asserts.

    >>> as_read("Tea helps.", "We asked whether tea helps. It did not.")
    ('Tea helps.', 'It did not.')
    """
    text = headed(title, asserted(passage, claim), claim)
    return in_words_of(text, claim), text


def headed(title: str, passage: str, claim: str) -> str:
    """The passage, after its page's title where that names what the passage calls "it".

    >>> headed("Varde Bridge", "It opened in 1911.", "In 1911 Varde had a bridge.")
    'Varde Bridge. It opened in 1911.'
    >>> headed("News", "Varde's bridge opened in 1911.", "In 1911 Varde had a bridge.")
    "Varde's bridge opened in 1911."
    """
    lacking = names.missing(claim, passage) if title else []
    if not lacking or len(names.missing(claim, f"{title}\n{passage}")) == len(lacking):
        return passage
    return f"{title}. {passage}"


def asserted(passage: str, claim: str) -> str:
    """The passage without sentences that only ask, unless the claim itself tells of a question.

    >>> asserted("We asked whether tea helps. It did not.", "Tea helps.")
    'It did not.'
    """
    return passage if asks(claim) else _asserted(passage)


@lru_cache(maxsize=4096)  # one passage is read for each claim of its page
def _asserted(passage: str) -> str:
    kept, end = [], 0
    for span in sentences_of(passage):
        if asks(span.of(passage)):
            kept.append(passage[end : span.start])
            end = span.end
    return "".join([*kept, passage[end:]]).strip() or passage


@lru_cache(maxsize=4096)
def _in_words_of(source: str, claim: str) -> str:
    changes = [*_values(source, claim), *_names(source, claim)]
    rewritten, end = claim, len(claim)
    for span, words in sorted(changes, key=lambda change: change[0].start, reverse=True):
        if span.end <= end:
            rewritten, end = f"{rewritten[: span.start]}{words}{rewritten[span.end :]}", span.start
    return rewritten


def _values(source: str, claim: str) -> Iterator[tuple[Span, str]]:
    said, theirs = source.lower(), [value for value in values_of(source) if not value.weak]
    mine = [value for value in values_of(claim) if not value.weak]
    for value, other in zip_longest(mine, mine[1:]):
        if value.span.of(claim).lower() in said:
            continue
        same = [each for each in theirs if _is_same(each, value)]
        held = [each for each in theirs if quantities.holds(value, each)] if not same else []
        if same:
            yield value.span, _closest(same, value).span.of(source)
        elif held and other and other.between == value.between:
            opening = _BETWEEN.search(claim, 0, value.span.start)
            start = opening.start() if opening else value.span.start
            words = held[0].span.of(source)
            yield Span(start, other.span.end), f"in {words}" if value.dates else words


_BETWEEN = re.compile(r"\bbetween (?:the )?\Z", re.IGNORECASE)


def _is_same(source: Value, claim: Value) -> bool:
    alike = source.measure == claim.measure or {source.measure, claim.measure} == {"share", ""}
    return alike and quantities.states(source, claim)


def _closest(same: list[Value], claim: Value) -> Value:
    return min(same, key=lambda value: abs(value.low - claim.low) + abs(value.high - claim.high))


def _names(source: str, claim: str) -> Iterator[tuple[Span, str]]:
    for name, written in names.written_otherwise(claim, source):
        for match in re.finditer(rf"\b{re.escape(name)}\b", claim):
            yield Span(*match.span()), written
