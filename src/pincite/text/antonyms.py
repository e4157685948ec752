"""Detects opposite words and replaced figures between a claim and a quote; English only.

Networks tend to miss both. A contrast counts only if claim and quote each use one side of it, so
"rose and then fell" is never contrasted with "fell".
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from pincite.text import LEXICON
from pincite.text import words as wording
from pincite.text.figures import Figure, fold, missing, rivals
from pincite.text.languages import common
from pincite.text.quantities import values

Axis: TypeAlias = int  # the number of a pair of sides such as "rose grew/fell shrank"
Side: TypeAlias = int  # 0 or 1: before or behind the "/"


def _sides_of(axes: list[str]) -> dict[str, list[tuple[Axis, Side]]]:
    """Return the axes of each word, with its side of them."""
    sides = dict[str, list[tuple[Axis, Side]]]()
    for axis, both in enumerate(axes):
        for side, words in enumerate(both.split("/")):
            for word in words.split():
                sides.setdefault(word, []).append((axis, side))
    return sides


_AXES, _TURNS, _BOUNDS = (
    LEXICON["contraries"][name].split("|") for name in ("axes", "turns", "bounds")
)
# Opposites anywhere; and those that reverse a sentence: "born" and "died" are two facts of one.
_SIDES, _TURNED = _sides_of(_TURNS + _AXES), _sides_of(_TURNS)
_SCALES = _sides_of(_TURNS + _BOUNDS)  # opposites that compare
_OPENED = next(axis for axis, _ in _SIDES["opened"])
_WORD = re.compile(r"(?<![\w'’])[a-z]+(?![\w'’])")  # excludes the "won" of "won't"
_THAN = re.compile(r"[^.,;]{0,60}?\bthan\b")
_BOUND = 24  # characters from the first word of "no more than 500" to its number

# The share of words that may be missing for two sentences to differ only in figures. A larger share
# would contrast "fell in 212 adults" with "fell by 1.8 days" where both are true.
_OTHER_WORDS = 0.1
_BEFORE, _AFTER = re.compile(r"(\w+)\W*\Z"), re.compile(r"\W*(\w+)")


def contrasts(claim: str, quote: str) -> list[tuple[str, str]]:
    """Pairs of a claim's word and its antonym in the quote, in claim order.

    >>> contrasts("Sales rose in May.", "In May sales fell.")
    [('rose', 'fell')]
    """
    if common(claim, quote) != "en":
        return []
    pairs, quoted = list[tuple[str, str]](), _words_by_side(quote)
    for axis, sides in _words_by_side(claim).items():
        others = quoted.get(axis, {})
        if len(sides) == len(others) == 1 and sides.keys() != others.keys():
            (word,), (antonym,) = sides.values(), others.values()
            pairs.append((word, antonym))
    return pairs


@lru_cache(maxsize=4096)  # each claim meets many quotes, each quote twice
def _words_by_side(text: str) -> dict[Axis, dict[Side, str]]:
    """Return the first word of a text on each side of each axis."""
    sides = dict[Axis, dict[Side, str]]()
    for word in _WORD.findall(fold(text).lower()):
        for axis, side in _SIDES.get(word, ()):
            sides.setdefault(axis, {}).setdefault(side, word)
    return sides


def reverses_sentence(word: str) -> bool:
    """Whether the antonym of `word` denies all that is said with it, unlike "died" of "born"."""
    return word in _TURNED and not are_events(word)


def are_events(word: str) -> bool:
    """Whether both can happen to a thing in turn: "opened" and "closed"."""
    return any(axis == _OPENED for axis, _ in _SIDES.get(word.lower(), ()))


class Compared(NamedTuple):
    """The words by which a claim and a sentence compare the same two things."""

    word: str
    other: str
    agrees: bool  # both have the same sense and order, or neither: "A exceeds B", "B is below A"


def compare(claim: str, sentence: str) -> Compared | None:
    """Return how both compare the same two things; None if they do not.

    >>> compare("Tin is above lead.", "Lead is lower than tin.")
    Compared(word='above', other='lower', agrees=True)
    """
    in_sentence = _comparisons(sentence)
    for axis, claimed in _comparisons(claim).items():
        stated = in_sentence.get(axis, claimed)
        is_swapped = bool(claimed.left & stated.right and claimed.right & stated.left)
        known = stated.left | stated.right
        is_about = all(not terms or terms & known for terms in (claimed.left, claimed.right))
        if is_swapped or (claimed.word != stated.word and is_about):
            is_same_side = claimed.side == stated.side
            return Compared(claimed.word, stated.word, is_same_side != is_swapped)
    return None


@dataclass(frozen=True, slots=True)
class _Comparison:
    word: str
    side: Side
    left: frozenset[str]  # roots of what is compared, and with what
    right: frozenset[str]


@lru_cache(maxsize=4096)
def _comparisons(text: str) -> dict[Axis, _Comparison]:
    """Return the last comparison on each axis of which a text has one side only."""
    lower, places = fold(text).lower(), dict[Axis, list[tuple[Side, re.Match[str]]]]()
    for match in _WORD.finditer(lower[:1] + fold(text)[1:]):  # "Kesslow South" is a name
        for axis, side in _SCALES.get(match[0], ()):
            places.setdefault(axis, []).append((side, match))
    bounds = [value.span.start for value in values(text, "en") if value.sense] if places else []
    comparisons = dict[Axis, _Comparison]()
    for axis, on_axis in places.items():
        side, last = on_axis[-1]
        is_of_number = any(0 <= start - last.start() <= _BOUND for start in bounds)
        if is_of_number or any(other != side for other, _ in on_axis):
            continue
        than = _THAN.search(lower, last.end())
        cut = than.start() if than else last.start()
        words = {root for _, match in on_axis for root in wording.roots(match[0])}
        left, right = ({*wording.roots(part)} - words for part in (lower[:cut], lower[cut:]))
        comparisons[axis] = _Comparison(
            last[0], side, frozenset(left - right), frozenset(right - left)
        )
    return comparisons


def other_figures(claim: str, sentences: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of a claim's figure and the one in its place in an otherwise equal sentence.

    The claim's figure may occur elsewhere in the source, so it is not missing there, and models
    hardly notice a difference if all words match. Empty if any sentence states the claim with its
    figures.

    >>> other_figures("It was seen in 90 women.", ["Of 90 women, 9 fell.", "Seen in 40 women."])
    [('90', '40')]
    """
    same = [text for text in sentences if wording.missing_words(claim, text) <= _OTHER_WORDS]
    if not all(missing(claim, text) for text in same):
        return []
    return next(filter(None, (_replacements(claim, text) for text in same)), [])


def _replacements(claim: str, sentence: str) -> list[tuple[str, str]]:
    return [
        (figure.span.of(claim), other.span.of(sentence))
        for figure in missing(claim, sentence)
        for other in rivals(figure, claim, sentence)
        if _neighbours(figure, claim) & _neighbours(other, sentence)
    ]


def _neighbours(figure: Figure, text: str) -> set[tuple[str, str]]:
    """Return the words next to a figure, and on which side they are."""
    before = _BEFORE.search(text[: figure.span.start])
    after = _AFTER.match(text, figure.span.end)
    sides = (("before", before), ("after", after))
    return {(side, match[1].lower()) for side, match in sides if match}
