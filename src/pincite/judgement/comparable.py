"""Whether a sentence of a source is about the same thing as a clause of a claim.

A sentence can contradict a clause only if it has most of the clause's other words and all of its
names, and states them of the same time. What a negation denies is found here too.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from pincite.text import names, patterns, quantities, tables
from pincite.text.context import referents
from pincite.text.figures import MONTHS
from pincite.text.quantities import Value
from pincite.text.quantities import values as values_of
from pincite.text.sentences import n_words
from pincite.text.words import WORD, is_heading, roots, sentences_of
from pincite.text.words import names as names_in
from pincite.types import Passage, Span

_LONGEST = 45  # words of a sentence: longer ones are lists and menus, or make several statements
_LEAST_SHARED = 2  # content words besides those that differ
_REACH, _REACH_CHARS = 4, 60  # words and characters after a negation that it may deny
_DIRECTION_CHARS = 14  # the longest `direction` with "the"
_BASELINE_CHARS = 40
_P = patterns(__file__, "comparable", months="|".join(MONTHS))
NEGATION = _P["negation"]


@dataclass(frozen=True, slots=True)
class ClaimClause:
    """A clause of a claim."""

    text: str
    claim: str  # all of it
    covered: str  # the words of the claim that the source is cited for


class Assertion(NamedTuple):
    """A sentence that asserts something, and where it stands in its passage."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class SourceText:
    """A passage, the sentences of it that assert something, and what is known around it."""

    passage: str
    sentences: Sequence[Assertion]
    subjects: Mapping[str, str]  # what "It" at the start of a sentence stands for
    about: str  # title and date of the page
    page: str  # the whole page, after `about`
    language: str  # of the passage and the claim

    @classmethod
    def of(cls, passage: Passage, page: str, language: str) -> "SourceText":
        """Read a passage. `page` may be empty: then only the passage is known of it."""
        text, about = passage.text, passage.about
        known = referents(text) if language == "en" else ()
        subjects = {referent.sentence.of(text): referent.names[0] for referent in known}
        page = f"{about}\n{page or text}"
        return cls(text, _assertions(text), subjects, about, page, language)

    def with_context(self, sentence: str) -> str:
        """Return a sentence below the page's title and what its pronoun stands for."""
        return f"{self.about}\n{self.subjects.get(sentence, '')}\n{sentence}"


@lru_cache(maxsize=2048)
def _assertions(passage: str) -> list[Assertion]:
    """Return the sentences that assert something: no headings, questions or overlong text."""
    return [
        sentence
        for sentence in (Assertion(span, span.of(passage)) for span in sentences_of(passage))
        if not is_heading(passage, sentence.span)
        and not tables.cells_of(sentence.text)
        and n_words(sentence.text) <= _LONGEST
        and not _P["asks"].search(sentence.text)
    ]


def is_on_topic(rest: str, sentence: str, source: SourceText, share: float) -> bool:
    """Whether a sentence has a share of a clause's other words, and the page all their names.

    `rest` is the clause without the words that differ. The title counts for the share, but at least
    two words must stand in the sentence itself.
    """
    wanted = roots(rest)
    distinct = set(wanted)
    n_shared = len(distinct.intersection(roots(sentence)))
    if n_shared < max(1, min(_LEAST_SHARED, len(distinct))):
        return False
    known = set(roots(source.with_context(sentence)))
    known.update(root for name in names_in(rest) for root in roots(name))
    n_known = sum(root in known for root in wanted)
    return n_known >= share * len(wanted) and not names.missing(rest, source.page)


def is_of_same_time(clause: str, sentence: str, source: SourceText) -> bool:
    """Whether a sentence is about the same times as a clause: none differs or is missing."""
    if not set(_P["in_month"].findall(clause)) <= set(_P["in_month"].findall(sentence)):
        return False
    unstated = quantities.unstated_values(clause, f"{source.about}\n{sentence}")
    if any(value.dates for value in unstated) or is_of_another_time(clause, sentence):
        return False
    directions = {value.dates: direction(value, sentence) for value in dates_in(sentence)}
    own = {value.dates: direction(value, clause) for value in dates_in(clause)}
    is_same = all(directions.get(dates, word) == word for dates, word in own.items())
    return is_same and not has_other_baseline(clause, sentence)


def is_of_another_time(claim: str, sentence: str) -> bool:
    """Whether both are dated, and none of their dates agree: a fall in 2020, a rise in 2024."""
    own, others = dates_in(claim), dates_in(sentence)
    differ = all(quantities.conflict(other, value) for value in own for other in others)
    return bool(own and others) and differ


def has_other_baseline(claim: str, sentence: str) -> bool:
    """Whether a sentence compares with a time that a claim does not state: "than in 2010".

    The year before is the one that a claim about a year means.
    """
    own, baselines = dates_in(claim), list[Value]()
    for value in dates_in(sentence):
        start = max(0, value.span.start - _BASELINE_CHARS)
        if _P["baseline"].search(sentence, start, value.span.start):
            baselines.append(value)
    if any(quantities.states(baseline, value) for baseline in baselines for value in own):
        return False
    years_after = {year + 1 for year in _years(baselines)}
    return bool(baselines) and years_after.isdisjoint(_years(own))


def direction(value: Value, text: str) -> str:
    """Return the word before a value that sets its role: "until 1971", "by eight", "to eleven"."""
    start, end = max(0, value.span.start - _DIRECTION_CHARS), value.span.start
    match = _P["direction"].search(text, start, end)
    return match[1] if match else ""


def terms_of(text: str) -> frozenset[str]:
    """Return the stems of the content words, and numbers, which have none: "2021"."""
    return frozenset([*roots(text), *_P["number"].findall(text)])


def dates_in(text: str) -> list[Value]:
    """Return the dates of a text."""
    return [value for value in values_of(text) if value.dates]


def _years(dates: Iterable[Value]) -> set[int]:
    return {year for value in dates for day in value.dates for year in day.years or ()}


@dataclass(frozen=True, slots=True)
class Denial:
    """What a negation in a text denies."""

    words: str  # the negation with what it denies, as far as it reaches
    roots: Sequence[str]  # of what it denies; at least one


def denials(text: str) -> list[Denial]:
    """Return what a text denies as a whole: not a part of a number, nor an earlier time."""
    result = []
    for match in NEGATION.finditer(text):
        if _P["no_denial"].match(text, match.start()):
            continue
        if _P["in_part"].search(text, match.end(), match.end() + _REACH_CHARS):
            continue
        raised = _P["raised"].match(text, match.end())
        start = raised.end() if raised else match.end()
        reach = list(WORD.finditer(text, start, start + _REACH_CHARS))[:_REACH]
        while reach and not roots(reach[-1][0]):
            reach.pop()
        denied = [root for word in reach for root in roots(word[0])]
        if not denied:
            continue
        first = match.start()
        if match[0][0] in "nN":  # "n't" is written together with its verb
            first = text.rfind(" ", 0, first) + 1
        result.append(Denial(text[first : reach[-1].end()], denied))
    return result
