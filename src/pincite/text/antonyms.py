"""Detects antonyms and replaced figures, which models tend to miss.

A contrast counts only if claim and quote each use one side, so "rose and then fell" is never
contrasted with "fell".
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from pincite.text import LEXICON
from pincite.text import words as wording
from pincite.text.figures import Figure, fold, missing, rivals
from pincite.text.languages import common
from pincite.text.quantities import values

_AXES, _TURNS, _BOUNDS = (
    LEXICON["contraries"][name].split("|") for name in ("axes", "turns", "bounds")
)


def _sides_of(axes: list[str]) -> dict[str, list[tuple[int, int]]]:
    found = dict[str, list[tuple[int, int]]]()
    for number, axis in enumerate(axes):
        for side, words in enumerate(axis.split("/")):
            for word in words.split():
                found.setdefault(word, []).append((number, side))
    return found


# Opposites anywhere; and those that reverse a sentence: "born" and "died" are two facts of one.
_SIDES, _SCALES = _sides_of(_TURNS + _AXES), _sides_of(_TURNS + _BOUNDS)
_TURNED = _sides_of(_TURNS)
_WORD = re.compile(r"(?<![\w'’])[a-z]+(?![\w'’])")  # excludes the "won" of "won't"

# The share of words that may be missing for two sentences to differ only in figures. A larger share
# would contrast "fell in 212 adults" with "fell by 1.8 days" where both are true.
_OTHER_WORDS = 0.1
_BEFORE, _AFTER = re.compile(r"(\w+)\W*\Z"), re.compile(r"\W*(\w+)")


def contrasts(claim: str, quote: str) -> list[tuple[str, str]]:
    """Pairs of a claim's word and its antonym in the quote, in claim order; English only.

    >>> contrasts("Sales rose in May.", "In May sales fell.")
    [('rose', 'fell')]
    """
    if common(claim, quote) != "en":
        return []
    claimed, quoted = _sides(claim), _sides(quote)
    found = []
    for axis, sides in claimed.items():
        others = quoted.get(axis, {})
        if len(sides) == len(others) == 1 and sides.keys() != others.keys():
            found.append((next(iter(sides.values())), next(iter(others.values()))))
    return found


_THAN = re.compile(r"\bthan\b")
_BOUND = 24  # characters from the first word of "no more than 500" to its number


class _Comparison(NamedTuple):
    word: str
    side: int
    left: frozenset[str]  # roots of what is compared, and with what
    right: frozenset[str]


def compare(claim: str, sentence: str) -> tuple[str, str, bool] | None:
    """Return by which words both compare the same two things, and whether they agree.

    They do if both have the same sense and order, or neither: "A exceeds B", "B is below A".

    >>> compare("Tin is above lead.", "Lead is lower than tin."), compare("It rose.", "It fell.")
    (('above', 'lower', True), ('rose', 'fell', False))
    """
    others = _comparisons(sentence)
    for axis, mine in _comparisons(claim).items():
        theirs = others.get(axis, mine)
        swapped = bool(mine.left & theirs.right and mine.right & theirs.left)
        known = theirs.left | theirs.right
        is_about = all(not one or one & known for one in (mine.left, mine.right))
        if swapped or (mine.word != theirs.word and is_about):
            return mine.word, theirs.word, (mine.side == theirs.side) != swapped
    return None


@lru_cache(maxsize=4096)
def _comparisons(text: str) -> dict[int, _Comparison]:
    """Return the last comparison on each axis of which a text has one side only."""
    lower, found = fold(text).lower(), dict[int, list[tuple[int, re.Match[str]]]]()
    for match in _WORD.finditer(lower):
        for axis, side in _SCALES.get(match[0], ()):
            found.setdefault(axis, []).append((side, match))
    bounds = [value.span.start for value in values(text, "en") if value.sense] if found else []
    read = dict[int, _Comparison]()
    for axis, places in found.items():
        side, last = places[-1]
        of_number = any(0 <= n - last.start() <= _BOUND for n in bounds)
        if of_number or any(other != side for other, _ in places):
            continue
        than = _THAN.search(lower, last.end())
        cut = than.start() if than else last.start()
        words = {stem for _, match in places for stem in wording.roots(match[0])}
        left, right = ({*wording.roots(part)} - words for part in (lower[:cut], lower[cut:]))
        read[axis] = _Comparison(last[0], side, frozenset(left - right), frozenset(right - left))
    return read


def reverses_sentence(word: str) -> bool:
    """Whether the antonym of `word` denies all that is said with it, unlike "died" of "born"."""
    return word in _TURNED and not are_events(word)


def are_events(word: str) -> bool:
    """Whether both can happen to a thing in turn: "opened" and "closed"."""
    return _SIDES["opened"][0][0] in dict(_SIDES.get(word.lower(), ()))


def other_figures(claim: str, sentences: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of a claim's figure and the one in its place in an otherwise equal sentence.

    The claim's figure may occur elsewhere in the source, so it is not missing there, and models
    hardly notice a difference if all words match. Empty if any sentence states the claim with its
    figures.

    >>> other_figures("It was seen in 90 women.", ["Of 90 women, 9 fell.", "Seen in 40 women."])
    [('90', '40')]
    """
    same = [each for each in sentences if wording.missing_words(claim, each) <= _OTHER_WORDS]
    if not all(missing(claim, each) for each in same):
        return []
    return next(filter(None, (_replacements(claim, each) for each in same)), [])


def _replacements(claim: str, sentence: str) -> list[tuple[str, str]]:
    return [
        (figure.span.of(claim), other.span.of(sentence))
        for figure in missing(claim, sentence)
        for other in rivals(figure, claim, sentence)
        if _beside(figure, claim) & _beside(other, sentence)
    ]


def _beside(figure: Figure, text: str) -> set[tuple[str, str]]:
    before = _BEFORE.search(text[: figure.span.start])
    after = _AFTER.match(text, figure.span.end)
    found = {("before", before[1].lower())} if before else set()
    return found | ({("after", after[1].lower())} if after else set())


@lru_cache(maxsize=4096)  # each claim meets many quotes, each quote twice
def _sides(text: str) -> dict[int, dict[int, str]]:
    found: dict[int, dict[int, str]] = {}
    for word in _WORD.findall(fold(text).lower()):
        for axis, side in _SIDES.get(word, ()):
            found.setdefault(axis, {}).setdefault(side, word)
    return found
