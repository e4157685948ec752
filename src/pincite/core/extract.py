"""An answer made of sentences that stand in the sources: chosen, without repetition, in order.

No model writes here, so nothing is invented; what is said is said by a source, word for word.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pincite.core import wording
from pincite.core.figures import figures

# A sentence that shares more of its content words with one that was chosen repeats it. Sentences
# that differ in a figure or in polarity stay both: they may contradict each other.
REPEATS = 0.75
FEWEST_WORDS, MOST_WORDS = 6, 70  # of a sentence that can stand alone and be read
# What a sentence points at may stand in the one before, which is not there in an extract.
_POINTS_BACK = frozenset("this these those it they he she such both latter former".split())
_POINT_BACK_TOGETHER = frozenset({("the", "latter"), ("the", "former"), ("the", "same")})
# Words of the labels that open a section of an abstract, with a colon behind them or without.
_LABELS = frozenset(
    "abstract aim aims and background conclusion conclusions context data design discussion "
    "findings hypothesis importance interpretation intervention interventions introduction "
    "limitations main measure measures method methods objective objectives of outcome outcomes "
    "participants patients primary purpose rationale relevance result results setting settings "
    "significance study the".split()
)
# What a study set out to do says nothing of what it found.
_AIM = re.compile(
    r"(?:the|our|its)\s+(?:main |primary |present |overall )*"
    r"(?:aims?|purposes?|objectives?|goals?)\s+(?:of|was|were|is)\b"
    r"|(?:in this study,? )?we (?:aimed|sought|set out|hypothesi[sz]ed|(?:investigated|examined|"
    r"evaluated|assessed|asked|tested|determined|studied) (?:whether|if|how|the))\b",
    re.IGNORECASE,
)


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
    >>> can_stand_alone("To test whether the rate falls in the treated group.")
    False
    """
    words = text.split()
    if not FEWEST_WORDS <= len(words) <= MOST_WORDS or text.rstrip()[-1:] not in '.!?)”"':
        return False
    first, second = (word.strip("(,").casefold() for word in words[:2])
    # "To test whether it falls." is the aim of an abstract, and states nothing; "To test this, we
    # measured it." does.
    if (first == "to" and "," not in text) or _AIM.match(text):
        return False
    return first not in _POINTS_BACK and (first, second) not in _POINT_BACK_TOGETHER


def unlabelled(sentence: str) -> str:
    """A sentence of an abstract without the label of its section.

    >>> unlabelled("RESULTS: The rate fell."), unlabelled("MAIN RESULTS The rate fell.")
    ('The rate fell.', 'The rate fell.')
    >>> unlabelled("DNA repair fell in both groups.")
    'DNA repair fell in both groups.'
    """
    label, colon, rest = sentence.partition(": ")
    if colon and label.isupper():
        return rest
    words = sentence.split()
    n_label = 0
    while n_label < len(words) and words[n_label].isupper() and words[n_label].lower() in _LABELS:
        n_label += 1
    return " ".join(words[n_label:])


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
