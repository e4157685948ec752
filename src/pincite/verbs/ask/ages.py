"""Ages of those studied, by rules: are they those that a question asks for?"""

import re
from functools import lru_cache

from pincite.documents.papers import in_own_words
from pincite.text import patterns
from pincite.text.sentences import source_sentences
from pincite.types import Document
from pincite.verbs.ask.parts import WHOLE, Part, parts

FULL_YEARS = 120.0  # upper end of an age range without one
OLDEST = 90.0  # few people studied are older
MOST_OF_THEM = 0.5
_AROUND_MEAN = 15.0  # years; about two standard deviations in most samples of adults
_NOT_TOLD = frozenset({Part.BACKGROUND, Part.AIM, Part.CONCLUSION})
_P = patterns(__file__, "populations", re.IGNORECASE)
_AGES = [
    (words, (float(span.split()[0]), float(span.split()[1])))
    for span, words in patterns(__file__, "ages", re.IGNORECASE).items()
]


def ages(text: str) -> tuple[float, float] | None:
    """Return the range of ages that a text names; None if it names none.

    >>> ages("adults aged 50 to 84 years"), ages("over 65 years of age"), ages("older people")
    ((50.0, 84.0), (65.0, 120.0), (60.0, 120.0))
    """
    for match in _P["age"].finditer(text):
        found = {name: float(value) for name, value in match.groupdict().items() if value}
        if "low" in found and found["low"] < found["high"]:
            return found["low"], found["high"]
        if least := found.get("over") or found.get("above") or found.get("from"):
            return least, FULL_YEARS
        if "under" in found:
            return 0.0, found["under"]
        if "mean" in found:
            return max(0.0, found["mean"] - _AROUND_MEAN), found["mean"] + _AROUND_MEAN
    return next((span for words, span in _AGES if words.search(text)), None)


def without_ages(question: str) -> str:
    """Remove the words for an age from a question: a study may state its ages in figures."""
    for words, _ in _AGES:
        question = words.sub(" ", question)
    return _P["age"].sub(" ", question)


def fits(question: str, document: Document) -> bool | None:
    """Whether most of a study's ages are those asked for.

    None if question or study names none, or if the study includes all of them among others.
    """
    asked = ages(question)
    studied = asked and (ages(document.title) or _studied(document.text[:WHOLE], document.language))
    if not asked or not studied:
        return None
    (low, high), (least, most) = asked, (min(age, OLDEST) for age in studied)
    if (min(high, most) - max(low, least)) >= MOST_OF_THEM * (most - least):
        return True
    return None if least <= low and min(high, OLDEST) <= most else False


@lru_cache(maxsize=1024)  # asked for each sentence of an abstract
def _studied(text: str, language: str | None) -> tuple[float, float] | None:
    """Return the ages that the sentences on the study's own people name."""
    own = in_own_words(text)
    told = [span.of(own) for span in source_sentences(own, language)]
    of_study = (s for s, part in zip(told, parts(told), strict=True) if part not in _NOT_TOLD)
    found = (ages(sentence) for sentence in of_study if _P["recruits"].search(sentence))
    return next(filter(None, found), None)
