"""Rewrites a claim in a source's wording where both state the same value or name.

A network sees tokens: to it "nearly two thirds" and "64 per cent" differ as much as contradictory
values. So whatever `text.quantities` and `text.names` consider equal is written as in the source.
The title is prepended to a passage that says "it" for what the title names.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest

from pincite.text import LEXICON, antonyms, names, patterns, quantities, tables
from pincite.text.changes import agreeing, ranks
from pincite.text.context import DatedTime, referents_in, relative_times
from pincite.text.figures import MONTHS
from pincite.text.languages import is_english
from pincite.text.quantities import values as values_of
from pincite.text.sentences import is_question
from pincite.text.words import is_negated, roots, sentences_of
from pincite.types import Span

_ALONE = 2  # sentences
_BETWEEN = re.compile(r"\bbetween (?:the )?\Z", re.IGNORECASE)


@lru_cache(maxsize=4096)
def in_source_words(source: str, claim: str) -> str:
    """Replace each value and name by the source's wording of it.

    >>> in_source_words("Of the 90 hands 64 per cent were women.", "Nearly two thirds were women.")
    'Nearly 64 per cent were women.'
    >>> in_source_words("Tin is cheaper than lead.", "Lead is dearer than tin.")
    'Tin is cheaper than lead.'
    """
    for span in sentences_of(source):
        if _is_same_comparison(claim, span.of(source)):
            return span.of(source)
    changes = list(_values(source, claim))
    for name, written in names.written_otherwise(claim, source):
        places = re.finditer(rf"\b{re.escape(name)}\b", claim)
        changes += [(Span(*place.span()), written) for place in places]
    rewritten, end = claim, len(claim)
    for span, words in sorted(changes, key=lambda change: change[0].start, reverse=True):
        if span.end <= end:
            rewritten, end = f"{rewritten[: span.start]}{words}{rewritten[span.end :]}", span.start
    return rewritten


def _is_same_comparison(claim: str, sentence: str) -> bool:
    compared = antonyms.compare(claim, sentence)
    if not compared or not compared.agrees:
        return False
    words = {*roots(compared.word), *roots(compared.other)}
    return (
        {*roots(claim)} <= {*roots(sentence)} | words
        and not quantities.unstated_values(claim, sentence)
        and is_negated(claim) == is_negated(sentence)
    )


def verifier_input(
    claim: str,
    passage: str,
    title: str = "",
    page: str = "",
    published: str = "",
    subject: str = "",
) -> tuple[str, str]:
    """The network's input: the claim in the passage's words, and what the passage asserts.

    Of tables, the rows that the claim names, or its `subject`, for which it may have a pronoun;
    `page` has all of them. `published`: its ISO date, by which relative times are read. Other
    languages than English are not rewritten.

    >>> verifier_input("Tea helps.", "We asked whether tea helps. It did not.")
    ('Tea helps.', 'It did not.')
    """
    if not (is_english(claim) and is_english(passage)):
        return claim, passage
    passage = with_dates(with_names(with_series_apart(passage), page), claim, published)
    passage = tables.keep_named_rows(f"{claim} {subject}".strip(), passage, page)
    text = with_derived_values(with_title(title, without_questions(passage, claim), claim), claim)
    return in_source_words(text, claim), text


def with_names(passage: str, page: str) -> str:
    """Write names that a sentence read alone lacks for what stands for them by the page.

    Longer texts have their context. With names in all of them, four of 180 labels of the gate
    change, all for the worse.

    >>> with_names("The canal is old.", "The Orsen Canal links two rivers. The canal is old.")
    'The Orsen Canal is old.'
    """
    if len(sentences_of(passage)) > _ALONE:
        return passage
    text = passage
    for referent in reversed(referents_in(passage, page)):
        name, span = referent.name, referent.span
        if name and name.removeprefix("the ") not in passage:
            if span.start == referent.sentence.start:
                name = f"{name[0].upper()}{name[1:]}"
            text = f"{text[: span.start]}{name}{text[span.end :]}"
    return text


_SCALE = r" (?:thousand|million|billion|per ?cent)\b"
_YEARS = r"(?:1\d|20)\d\d(?:[–/-]\d\d(?:\d\d)?)?(?![.,]?\d)"
_AMOUNT = rf"[£$€]?\d+(?:[.,]\d+)*(?:%|[a-z]{{1,2}}\b)?(?:{_SCALE})?(?! (?:{'|'.join(MONTHS)}))"
_CAPITALS = r"[A-ZÀ-Þ][\w’'-]*(?: [A-ZÀ-Þ][\w’'-]*)*"
_LABEL = rf"(?:{_CAPITALS}|(?<=[Tt]he )[a-z-]+|(?<=, )[a-z-]+)"
_BEFORE_SERIES = r"(?<![\w.,–/-])(?<![Bb]etween )(?<! and )"
_SERIES = [
    re.compile(rf"{_BEFORE_SERIES}({one}(?:, {one})*),? and ({last})(?![\w–/-]| and )")
    for one, last in ((_YEARS, _YEARS), (_AMOUNT, _AMOUNT), (_LABEL, r"(?!the\b)[^\W\d]+"))
]
_RESPECTIVELY, _ALL_OF = re.compile(r",? respectively"), re.compile(r"\b(?:both|each|total|all)\b")
# What happens once to a thing; else two things may share two years.
_ONCE = re.compile(
    rf"\b(?:{'|'.join(' '.join(LEXICON['verbs']['alike'].split(',')[:3]).split())}|born|died)\b"
)


@lru_cache(maxsize=4096)
def with_series_apart(passage: str) -> str:
    """Write a sentence with as many values as years or names as one sentence for each.

    >>> with_series_apart("The east and west gates are 9 and 11 metres wide, respectively.")
    'The east gates are 9 metres wide. The west gates are 11 metres wide.'
    """
    for span in reversed(sentences_of(passage)) if " and " in passage else ():
        sentence = span.of(passage)
        if both := _series_in(sentence):
            first, second = both
            before = sentence[: first.span.start]
            between = sentence[first.span.end : second.span.start]
            rest = _RESPECTIVELY.sub("", sentence[second.span.end :])
            pairs = zip(first.items, second.items, strict=True)
            apart = " ".join(f"{before}{one}{between}{other}{rest}" for one, other in pairs)
            passage = f"{passage[: span.start]}{apart}{passage[span.end :]}"
    return passage


@dataclass(frozen=True, slots=True)
class _Series:
    """Values or names joined by "and": "9, 11 and 12"."""

    span: Span
    items: list[str]

    @classmethod
    def of(cls, match: re.Match[str]) -> "_Series":
        return cls(Span(*match.span()), [*match[1].split(", "), match[2]])

    def with_scale(self, scale: str) -> "_Series":
        """Return the series with a scale that only its last item may have: "2 and 3 million"."""
        if not self.items[-1].endswith(scale):
            return self
        items = [item if item.endswith(scale) else item + scale for item in self.items]
        return replace(self, items=items)


def _series_in(sentence: str) -> tuple[_Series, _Series] | None:
    """Return the two series of a sentence that belong together, in order; None in doubt."""
    years, amounts, labels = (
        [_Series.of(match) for match in series.finditer(sentence)] for series in _SERIES
    )
    starts_of_years = {series.span.start for series in years}
    amounts = [series for series in amounts if series.span.start not in starts_of_years]
    if not amounts and (_RESPECTIVELY.search(sentence) or _ONCE.search(sentence)):
        years, amounts = [], years
    both = sorted([*(years or labels), *amounts], key=lambda series: series.span)
    if len(both) != 2 or len(amounts) != 1 or len(both[0].items) != len(both[1].items):
        return None
    if _ALL_OF.search(sentence):
        return None
    scale = re.search(rf"{_SCALE}\Z", amounts[0].items[-1])
    first, second = (series.with_scale(scale[0]) if scale else series for series in both)
    return first, second


def with_dates(passage: str, claim: str, published: str) -> str:
    """Add the dates that the passage's relative times mean, where the claim states them.

    >>> with_dates("It opened this morning.", "It opened on 14 May 2004.", "2004-05-14")
    'It opened this morning (14 May 2004).'
    """
    for span, day in reversed(stated_times(passage, claim, published)):
        passage = f"{passage[: span.end]} ({day}){passage[span.end :]}"
    return passage


def stated_times(passage: str, claim: str, published: str) -> list[DatedTime]:
    """Return the relative times of a passage that mean a date of the claim."""
    times = relative_times(passage, published) if published else ()
    dates = [value for value in values_of(claim) if value.measure == "date"] if times else []
    return [
        time
        for time in times
        if any(quantities.states(stated, date) for date in dates for stated in values_of(time.date))
    ]


def with_derived_values(passage: str, claim: str) -> str:
    """Add values to the passage that follow from its figures and that the claim states.

    Handles shares, changes, comparisons, ranks and votes, and units and bounds in symbols: a
    network does not calculate.

    >>> with_derived_values("Sales rose from 40 to 80 tonnes.", "Sales doubled.")
    'Sales rose from 40 to 80 tonnes (doubled).'
    >>> with_derived_values("Those of ≥40 kg m-2 lost weight.", "Those of 40 kg/m2 or more did.")
    'Those of 40 kg/m2 or more lost weight.'
    """
    for written, plain in _plainly(passage, claim):
        passage = passage.replace(written, plain)
    passage = _with_plain_bounds(passage, claim)
    finders = (_changes, _ranks, _votes)
    added = dict(place for find in finders for place in find(passage, claim))
    for place in sorted(added, reverse=True):
        passage = f"{passage[:place]}{added[place]}{passage[place:]}"
    return passage


def _changes(passage: str, claim: str) -> Iterator[tuple[int, str]]:
    """Find two values between which is the change that the claim states."""
    for change, other in agreeing(claim, passage):
        if change.words.lower() not in passage.lower():
            yield other.end, f" ({change.words[0].lower()}{change.words[1:]})"


def _ranks(passage: str, claim: str) -> Iterator[tuple[int, str]]:
    """Find the place in an order that the claim states in other words: "only two are larger"."""
    stated = ranks(claim)
    for span in sentences_of(passage) if len(stated) == 1 else ():
        words = stated[0].span.of(claim)
        for other in ranks(span.of(passage)):
            if stated[0].is_same(other) and words.lower() not in passage.lower():
                yield span.start + other.span.end, f" ({words})"


_RESULT = re.compile(r"\b(\d{1,4})(?: ?[-–—] ?| (?:votes )?to )(\d{1,4})\b")
_VOTED = re.compile(r"\bvot|\bcarried\b|\bpassed\b|\bdefeated\b", re.IGNORECASE)
_FOR = re.compile(r"[^.;]{0,60}?\b(?:for|favou?r(?:ed)?|support(?:ed)?)\b", re.IGNORECASE)
_AGAINST = re.compile(r"(?: \w+){0,2}? (?:voted |were |was )?(?:against|opposed)\b")
_NAMED_AGAINST = patterns(__file__, "paraphrase")["named_against"]
_REACH = 200  # characters between the votes for and the votes against


def _votes(passage: str, claim: str) -> Iterator[tuple[int, str]]:
    """Find votes for and against in the passage, as numbers or names.

    The claim states them as a result, which is inserted before the first.
    """
    result = _RESULT.search(claim)
    if result is None or not _VOTED.search(claim) or result[0] in passage:
        return
    counted = [v for v in values_of(passage) if not v.weak and not v.dates and v.low == v.high]
    for votes_for in counted:
        if votes_for.low != float(result[1]) or not _FOR.match(passage, votes_for.span.end):
            continue
        end = votes_for.span.end + _REACH
        votes_against = [v for v in counted if votes_for.span.end < v.span.start < end]
        against = {v.low for v in votes_against if _AGAINST.match(passage, v.span.end)}
        opponents = _NAMED_AGAINST.findall(passage[votes_for.span.end : end])
        against |= {float(len(re.split(r", | and ", names_against))) for names_against in opponents}
        if float(result[2]) in against:
            yield votes_for.span.start, f"{result[0]}, "
            return


_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,9}(?:\.\d+)?"
_UNITS = quantities.UNITS.keys() | {*"mmHg mmol mL dL L IU mEq ng µg mcg".split()}
_UNIT = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
# "≥40 kg/m²", "≤5 mg"; of "a BMI ≥40 lost" only the number.
_BOUND = re.compile(
    rf"([≥≤]) ?((?:{_NUMBER})(?![\d.])(?: ?(?:[^\W\d_]+/[^\W\d_]+[²³23]?|(?:{_UNIT})(?!\w)))?)"
)
_PER = re.compile(r"\b([^\W\d_]{1,3}) ([^\W\d_]{1,2})[-−⁻]([123¹²³])(?!\w)")
_OR = {"≥": "or more", "≤": "or less"}


def _plainly(passage: str, claim: str) -> Iterator[tuple[str, str]]:
    """Pairs of a unit in symbols, and the claim's way of writing it."""
    for match in _PER.finditer(passage):
        power = match[3].translate(str.maketrans("¹²³", "123"))
        plain = f"{match[1]}/{match[2]}{'' if power == '1' else power}"
        if plain in claim.replace("²", "2").replace("³", "3"):
            yield match[0], plain
            passage = passage.replace(match[0], plain)


def _with_plain_bounds(passage: str, claim: str) -> str:
    """Write "≥40" as "40 or more" where the claim has these words."""

    def plain(match: re.Match[str]) -> str:
        words = _OR[match[1]]
        return f"{match[2]} {words}" if words in claim else match[0]

    return _BOUND.sub(plain, passage)


def with_title(title: str, passage: str, claim: str) -> str:
    """Prepend the page's title if it names what the passage calls "it".

    >>> with_title("Varde Bridge", "It opened in 1911.", "In 1911 Varde had a bridge.")
    'Varde Bridge. It opened in 1911.'
    """
    lacking = names.missing(claim, passage) if title else []
    if not lacking or len(names.missing(claim, f"{title}\n{passage}")) == len(lacking):
        return passage
    return f"{title}. {passage}"


def without_questions(passage: str, claim: str) -> str:
    """Drop sentences that only ask, unless the claim itself is about a question.

    >>> without_questions("We asked whether tea helps. It did not.", "Tea helps.")
    'It did not.'
    """
    return passage if is_question(claim) else _statements(passage)


@lru_cache(maxsize=4096)  # each passage is read for every claim of its page
def _statements(passage: str) -> str:
    kept, end = [], 0
    for span in sentences_of(passage):
        if is_question(span.of(passage)):
            kept.append(passage[end : span.start])
            end = span.end
    return "".join([*kept, passage[end:]]).strip() or passage


def _values(source: str, claim: str) -> Iterator[tuple[Span, str]]:
    """Yield the claim's values, and ranges of two, that the source words otherwise, and how."""
    stated = [value for value in values_of(source) if not value.weak]
    claimed = [value for value in values_of(claim) if not value.weak]
    for value, following in zip_longest(claimed, claimed[1:]):
        if value.span.of(claim).lower() in source.lower():
            continue
        same = [
            other
            for other in stated
            if other.measure == value.measure or {other.measure, value.measure} == {"share", ""}
            if quantities.states(other, value)
        ]
        inside = [other for other in stated if quantities.holds(value, other)]
        if same:
            closest = min(same, key=lambda v: abs(v.low - value.low) + abs(v.high - value.high))
            yield value.span, closest.span.of(source)
        elif inside and following and following.between == value.between:
            opening = _BETWEEN.search(claim, 0, value.span.start)
            start = opening.start() if opening else value.span.start
            words = inside[0].span.of(source)
            yield Span(start, following.span.end), f"in {words}" if value.dates else words
