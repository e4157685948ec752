"""What an abstract says of its study, by rules: design, population, patients and effects.

Every value is copied from the paper with its place. What it does not say, or says in words that no
rule knows, stays empty.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pincite.documents.papers import in_own_words
from pincite.text.figures import ONES, SCALES, TENS
from pincite.text.sentences import source_sentences
from pincite.text.syntax import PREPOSITIONS
from pincite.types import Document, Span
from pincite.verbs.ask.abstract import WHOLE, Field, Stated, Study
from pincite.verbs.ask.parts import Part, parts
from pincite.verbs.ask.patterns import patterns

MOST_EFFECTS = 3  # shown of a study; an abstract states its main outcome first
FULL_YEARS = 120.0  # upper end of an age range without one
OLDEST = 90.0  # few people studied are older


_WORDS = "|".join([*TENS, *ONES])
_NOT_TOLD = frozenset({Part.BACKGROUND, Part.AIM, Part.CONCLUSION})
_DESIGNS = patterns("designs").values()
_SECONDARY = next(iter(_DESIGNS))
_P = patterns(
    "studies", words=_WORDS, scales="|".join(SCALES), prepositions="|".join(sorted(PREPOSITIONS))
)


def study_of(document: Document) -> Study:
    """Read the abstract of a document, or its beginning.

    >>> text = "In this trial, 302 women aged 70 to 90 years took it (OR 0.6; 95% CI, 0.4-0.9)."
    >>> study = study_of(Document("https://a.example/", "", text))
    >>> study.patients.text, study.population.text, study.effects[0].text
    ('302 women', 'women aged 70 to 90 years', 'OR 0.6; 95% CI, 0.4-0.9')
    """
    types = document.meta.get("publication_type", "")
    return _read(document.title, document.text[:WHOLE], types, document.language)


@lru_cache(maxsize=1024)  # every format asks, and so does the order of an answer
def _read(title: str, text: str, types: str, language: str | None) -> Study:
    own = in_own_words(text)
    spans = source_sentences(own, language)
    kinds = parts([span.of(own) for span in spans])
    own_ones = (_P["own"].match(own, span.start) for span in spans)
    pairs = zip(spans, kinds, own_ones, strict=True)
    told = [span for span, kind, is_own in pairs if is_own or kind not in _NOT_TOLD]
    found = _Found(title, own, types, told)
    patients, population = found.people()
    return Study(found.design(), population, patients, tuple(found.effects())[:MOST_EFFECTS])


@dataclass(frozen=True, slots=True)
class _Found:
    """Where the rules look: in the sentences of a paper that tell of its own study."""

    title: str
    text: str
    types: str
    told: Sequence[Span]

    def stated(self, start: int, end: int, within: Span, of: Field = "text") -> Stated:
        whole = {"text": self.text, "title": self.title, "publication_type": self.types}[of]
        return Stated(whole[start:end], Span(start, end), within, of)

    def design(self) -> Stated | None:
        """Find the design in the title, else in the publication types, else in the text.

        An analysis of another study's data is no such study, wherever it says so.
        """
        title, types = Span(0, len(self.title)), Span(0, len(self.types))
        for span in self.told if not _SECONDARY.search(self.title) else ():
            match = _SECONDARY.search(self.text, *span)
            if match and _P["about_itself"].search(self.text[span.start : match.start()]):
                return self.stated(*match.span(), span)
        for pattern in _DESIGNS:
            if match := pattern.search(self.title):
                return self.stated(*match.span(), title, "title")
        if match := _P["types"].search(self.types):
            return self.stated(*match.span(), types, "publication_type")
        for pattern in (*_DESIGNS,)[1:]:
            for span in self.told:
                if match := pattern.search(self.text, *span):
                    return self.stated(*match.span(), span)
        return None

    def people(self) -> tuple[Stated | None, Stated | None]:
        """Return how many were studied, and who."""
        counted = (
            (match, span)
            for span in self.told
            if _P["recruits"].search(self.text, *span)
            for match in _P["counted"].finditer(self.text, *span)
            if not _P["unstudied"].match(self.text, match.start(), span.end)
        )
        if (first := next(counted, None)) is None:
            totals = [(m, s) for s in self.told for m in _P["only_n"].finditer(self.text, *s)]
            only = len({match[0] for match, _ in totals}) == 1  # else they may be groups
            return self.stated(*totals[0][0].span(), totals[0][1]) if only else None, self.group()
        match, span = first
        start, end = match.span("n")
        if match["who"]:
            also = _P["also"].match(self.text, match.end(), span.end)  # "… and 1,317 controls"
            start, end = match.start("count"), also.end() if also else match.end("who")
        patients = self.stated(start, end, span)
        return patients, self._described(match, span) or self.group()

    def group(self) -> Stated | None:
        """Find those studied apart from their number, in the title first."""
        title = Span(0, len(self.title))
        for match in _P["group"].finditer(self.title):
            if found := self._described(match, title, "title"):
                return found
        for pattern in (_P["group"], _P["ages"]):
            for span in self.told:
                for match in pattern.finditer(self.text, *span):
                    if found := self._described(match, span):
                        return found
        return None

    def _described(self, match: re.Match[str], within: Span, of: Field = "text") -> Stated | None:
        """Return those studied; None for "patients" without more."""
        if not match["who"] or _P["vague"].fullmatch(match["who"] + match["tail"]):
            return None
        return self.stated(match.start("who"), match.end("tail"), within, of)

    def effects(self) -> Iterator[Stated]:
        """Find ratios and differences; shares of two groups only where there are none."""
        for pattern in (_P["effect"], _P["shares"]):
            any_ = False
            for span in self.told:
                if _P["subgroup"].search(self.text, *span):
                    continue
                for match in pattern.finditer(self.text, *span):
                    any_, (start, end) = True, match.span()
                    closed = match[0].count("(") - match[0].count(")")
                    yield self.stated(start, end + closed if closed < 0 else end, span)
            if any_:
                return


def has_design(question: str, document: Document) -> bool:
    """Whether a document's title or types name the design that a question names, if any."""
    asked = next((pattern for pattern in _DESIGNS if pattern.search(question)), None)
    types = document.meta.get("publication_type", "")
    return not asked or bool(asked.search(f"{document.title}; {types}"))


# ── Ages ─────────────────────────────────────────────────────────────────────────────────────────

_AGES = [
    (words, (float(span.split()[0]), float(span.split()[1])))
    for span, words in patterns("ages").items()
]
MOST_OF_THEM = 0.5
_AROUND_MEAN = 15.0  # years; about two standard deviations in most samples of adults


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
    asked, population = ages(question), study_of(document).population
    studied = (population and ages(population.text)) or ages(document.title)
    if not asked or not studied:
        return None
    (low, high), (least, most) = asked, (min(age, OLDEST) for age in studied)
    if (min(high, most) - max(low, least)) >= MOST_OF_THEM * (most - least):
        return True
    return None if least <= low and min(high, OLDEST) <= most else False
