"""The part of an abstract that a sentence belongs to, by labels, wording and place."""

import re
from collections.abc import Sequence
from enum import StrEnum
from itertools import dropwhile
from operator import or_

from pincite.verbs.ask.patterns import patterns, words

# Characters of a text that is read as a whole; for a longer one, passages are chosen. The longest
# abstracts in PubMed, in two languages, have about this many.
WHOLE = 6_000

MOST_OF_AN_ABSTRACT = 30  # sentences; in a longer text, their position means nothing
_LABELS, _P = words("words")["labels"], patterns("parts")
OPEN, AIM, TO_DO = _P["open"], _P["aim"], _P["to_do"]
FEWEST_PLACED = 5  # sentences of an abstract in which place says what a sentence is
MOST_CONCLUSIONS = 3  # sentences at the end of an abstract without labels


class Part(StrEnum):
    """The part of its paper that a sentence belongs to, by labels, wording and place."""

    BACKGROUND = "background"
    AIM = "aim"
    METHOD = "method"
    RESULT = "result"  # with its figures
    CONCLUSION = "conclusion"
    OTHER = "other"


_PART_OF = {word: Part(part) for part, listed in words("labels").items() for word in listed}


def parts(sentences: Sequence[str], *, whole: bool = True) -> list[Part]:
    """Return the part that each sentence belongs to, by section labels, else by wording.

    In a `whole` abstract of a study without labels, place decides too: background stands before the
    first aim or method, and conclusions after the last method or figure.
    """
    within: Part | None = None  # of the current section, once one is labelled
    found = list[Part]()
    for sentence in sentences:
        rest = unlabelled(sentence)
        label = sentence[: len(sentence) - len(rest)].lower()
        if label:
            words = re.findall(r"\w+", label)
            known_parts = [_PART_OF[word] for word in words if word in _PART_OF]
            within = known_parts[0] if known_parts else Part.OTHER
            if {Part.METHOD, Part.RESULT} <= set(known_parts):
                within = Part.OTHER
        if within not in (None, Part.OTHER):
            found.append(within)
        elif AIM.match(rest) or TO_DO.match(rest):
            found.append(Part.AIM)
        elif _P["done"].search(rest) and not _P["found"].search(rest):
            found.append(Part.METHOD)
        elif _P["figures"].search(rest):
            found.append(Part.RESULT)
        else:
            found.append(Part.CONCLUSION if _P["concludes"].search(rest) else Part.OTHER)
    of_paper = Part.AIM in found or Part.METHOD in found
    if within is None and whole and of_paper and FEWEST_PLACED <= len(found) <= MOST_OF_AN_ABSTRACT:
        early = (n for n, part in enumerate(found) if part in (Part.AIM, Part.METHOD))
        begins = next(early, 0)
        late = (n for n, part in enumerate(found, 1) if part in (Part.METHOD, Part.RESULT))
        ends = max((*late, begins + 1, len(found) - MOST_CONCLUSIONS))
        past = [
            bool(_P["past"].search(each) and not _P["present"].search(each)) for each in sentences
        ]
        open_ = [bool(OPEN.search(each)) for each in sentences]
        found[:begins] = [Part.BACKGROUND] * begins
        found[ends:] = [
            # "Pain fell. Tea is effective.": results are in the past, conclusions need not be.
            Part.RESULT if past[n] and not all(map(or_, past[n:], open_[n:])) else Part.CONCLUSION
            for n in range(ends, len(found))
        ]
    return found


def unlabelled(sentence: str) -> str:
    """Remove the section label from a sentence of an abstract.

    >>> unlabelled("MAIN RESULTS The rate fell."), unlabelled("Main results: The rate fell.")
    ('The rate fell.', 'The rate fell.')
    """
    label, colon, rest = sentence.partition(": ")
    if colon and (label.isupper() or _LABELS.issuperset(re.findall(r"\w+", label.lower()))):
        return rest
    words = sentence.split()
    return " ".join(dropwhile(lambda word: word.isupper() and word.lower() in _LABELS, words))
