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
from pincite.text.figures import Figure, folded, missing, rivals
from pincite.text.languages import common
from pincite.text.quantities import values

_SIDE_OF = {
    word: (number, side)
    for number, axis in enumerate(LEXICON["contraries"]["axes"].split("|"))
    for side, words in enumerate(axis.split("/"))
    for word in words.split()
}
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


# Axes whose antonyms reverse a sentence wherever they occur. "Later" and "first" may belong to
# another part of it; "born" and "died" are two facts about one person.
_REVERSING = {
    _SIDE_OF[word][0]
    for word in (
        "increase largest won accepted opened destroyed northern eastern majority success enabled "
        "deep acquitted guilty permanent"
    ).split()
}
_RELATIVE = frozenset("more less fewer higher lower lowered most".split())  # more or less of what?


_SCALES = [
    {
        word: sign
        for sign, side in zip((1, -1), scale.split("/"), strict=True)
        for word in side.split()
    }
    for scale in LEXICON["contraries"]["scales"].split("|")
]
_SCALED = re.compile(rf"\b(?:{'|'.join(word for scale in _SCALES for word in scale)})\b")
_THAN = re.compile(r"\bthan\b")
_BOUND = 24  # characters from the first word of "no more than 500" to its number


class _Comparison(NamedTuple):
    word: str
    sign: int
    left: frozenset[str]  # roots of what is compared, and with what
    right: frozenset[str]


def compares(text: str) -> bool:
    """Whether a text has a word of a scale."""
    return bool(_SCALED.search(folded(text).lower()))


def compared(claim: str, sentence: str) -> tuple[str, str, bool] | None:
    """Return by which words both compare the same two things, and whether they agree.

    They do if both have the same sense and order, or neither: "A exceeds B", "B is below A".

    >>> compared("Tin is above lead.", "Lead is lower than tin."), compared("It rose.", "It fell.")
    (('above', 'lower', True), ('rose', 'fell', False))
    """
    for scale in range(len(_SCALES)):
        mine, theirs = _comparison(claim, scale), _comparison(sentence, scale)
        if mine is None or theirs is None:
            continue
        swapped = bool(mine.left & theirs.right) and bool(mine.right & theirs.left)
        sides = (mine.left, theirs.left), (mine.right, theirs.right)
        same = mine.word == theirs.word and not swapped  # says nothing
        if swapped or not (same or any(one and not one & other for one, other in sides)):
            return mine.word, theirs.word, (mine.sign == theirs.sign) != swapped
    return None


@lru_cache(maxsize=4096)
def _comparison(text: str, scale: int) -> _Comparison | None:
    """Return the last comparison on a scale; None if others have the other sense."""
    words, lower = _SCALES[scale], folded(text).lower()
    bounds = [value.span.start for value in values(text, "en") if value.sense]
    found = [
        match
        for match in _WORD.finditer(lower)
        if match[0] in words and not any(0 <= n - match.start() <= _BOUND for n in bounds)
    ]
    if len({words[match[0]] for match in found}) != 1:
        return None
    last = found[-1]
    than = _THAN.search(lower, last.end())
    cut = than.start() if than else last.start()
    left, right = (
        frozenset(wording.roots(_WORD.sub(lambda m: "" if m[0] in words else m[0], part)))
        for part in (lower[:cut], lower[cut:])
    )
    both = left & right
    return _Comparison(last[0], words[last[0]], left - both, right - both)


def reverses_sentence(word: str) -> bool:
    """Whether the antonym of `word` reverses the whole sentence."""
    word = word.lower()
    return word not in _RELATIVE and _SIDE_OF.get(word, (-1, 0))[0] in _REVERSING


def are_events(word: str) -> bool:
    """Whether both can happen to a thing in turn: "opened" and "closed"."""
    return _SIDE_OF.get(word.lower(), (-1, 0))[0] == _SIDE_OF["opened"][0]


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
    return next(filter(None, (_replaced(claim, each) for each in same)), [])


def _replaced(claim: str, sentence: str) -> list[tuple[str, str]]:
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
    for word in _WORD.findall(folded(text).lower()):
        if word in _SIDE_OF:
            axis, side = _SIDE_OF[word]
            found.setdefault(axis, {}).setdefault(side, word)
    return found
