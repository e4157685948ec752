"""An answer made of sentences that stand in the sources: chosen, without repetition, in order.

No model writes here, so nothing is invented; what is said is said by a source, word for word.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pincite.core import wording
from pincite.core.figures import figures

# A sentence that shares more of its content words with one that was chosen repeats it. Sentences
# that differ in a figure or in polarity stay both: they may contradict each other.
REPEATS = 0.6
FEWEST_WORDS, MOST_WORDS = 6, 70  # of a sentence that can stand alone and be read
# What a sentence points at may stand in the one before, which is not there in an extract.
_POINTS_BACK = frozenset("this these those it they he she such both".split())
_ONE_OF_TWO = ("the latter", "the former")


@dataclass(frozen=True, slots=True)
class Quotable:
    """A sentence of a source that may stand in an answer."""

    text: str
    source: int  # place of its document in the order of relevance, from 0
    place: int  # of the sentence in its document, from 0
    relevance: float  # log-odds that it bears on the question


def can_stand_alone(text: str) -> bool:
    """Whether a sentence can be understood without those around it, as far as rules can tell.

    >>> can_stand_alone("The rate fell by 12% in the treated group."), can_stand_alone("It fell.")
    (True, False)
    """
    words = text.split()
    if not FEWEST_WORDS <= len(words) <= MOST_WORDS or text.rstrip()[-1:] not in '.!?)”"':
        return False
    first = words[0].strip("(,").casefold()
    return first not in _POINTS_BACK and " ".join(words[:2]).casefold() not in _ONE_OF_TWO


def chosen(candidates: Sequence[Quotable], most: int, least_relevance: float) -> list[Quotable]:
    """At most `most` sentences that bear on the question and do not repeat each other.

    Taken by relevance, returned in the order of their sources and of their places there.
    """
    found: list[Quotable] = []
    for each in sorted(candidates, key=lambda c: (-c.relevance, c.source, c.place)):
        if len(found) == most or each.relevance < least_relevance:
            break
        if not any(repeats(each.text, other.text) for other in found):
            found.append(each)
    return sorted(found, key=lambda each: (each.source, each.place))


def repeats(one: str, other: str) -> bool:
    """Whether two sentences say the same, in nearly the same words.

    >>> repeats("The rate fell by 12% in women.", "In women the rate fell by 12%.")
    True
    >>> repeats("The rate fell by 12% in women.", "In women the rate fell by 14%.")
    False
    """
    if wording.is_negated(one) != wording.is_negated(other):
        return False
    if {f.key for f in figures(one)} != {f.key for f in figures(other)}:
        return False
    a, b = set(wording.content_words(one)), set(wording.content_words(other))
    return len(a & b) >= REPEATS * min(len(a), len(b)) if a and b else a == b
