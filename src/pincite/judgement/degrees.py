"""Compares the degrees of a claim with its source's: changes, ranks and superlatives.

"It fell by 5 %" is contradicted by another change of the same thing, "the highest" by "the
second-highest". "The first British tractor" does not support "the first tractor": what narrows a
superlative stands before its noun, as its owner, or behind it: "the oldest inn in the county".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pincite.judgement import comparable
from pincite.judgement.comparable import ClaimClause, SourceText, dates_in, is_of_same_time
from pincite.judgement.other_values import LEAST_REST, find_other_cell, is_sum
from pincite.text import LEXICON, changes, names, patterns, quantities
from pincite.text import words as wording
from pincite.text.changes import Change, Rank, ranks
from pincite.text.languages import common
from pincite.text.quantities import values as values_of
from pincite.text.sentences import windows
from pincite.text.syntax import PREPOSITIONS, may_be_finite
from pincite.text.words import WORD, roots
from pincite.types import Span, Witness, WitnessKind

_SLACK = 0.25  # the share of a change by which another must exceed it to contradict it
_OF_RANKS = {"ever", "number"}  # words that any rank may have
_ENDS = PREPOSITIONS.union("to that which who whose with when since and or by as".split())
_MOST_WORDS = 5  # of a noun with what is before it
_WIDE = frozenset(roots(LEXICON["superlatives"]["wide"]))
_P = patterns(__file__, "degrees", ends="|".join(_ENDS - {"of"}))


@dataclass(frozen=True, slots=True)
class _Compared:
    """A change of a source of the same thing as a claim's."""

    change: Change
    sentence: Span
    n_shared: int  # words that it shares with the clause
    agrees: bool


def find_other_change(clause: ClaimClause, source: SourceText) -> Witness | None:
    """Find another change of the same: as stated, or as worked out from two values.

    Of several changes, those count that share the most words with the clause: fewer are of another
    thing. None of them may agree.
    """
    claimed = changes.claimed_changes(clause.text)
    if len(claimed) != 1:
        return None
    compared = list(_compare(claimed[0], clause.text, source))
    most = max((other.n_shared for other in compared), default=0)
    nearest = [other for other in compared if other.n_shared == most]
    if not nearest or any(other.agrees for other in nearest):
        return None
    return Witness(
        WitnessKind.VALUE, claimed[0].words, nearest[0].change.words, nearest[0].sentence
    )


def _compare(change: Change, clause: str, source: SourceText) -> Iterator[_Compared]:
    """Yield the changes of a source that agree with a claim's, or are another one of its thing."""
    topic = change.rest_of(clause)
    for span in windows(source.passage, [sentence.span for sentence in source.sentences]):
        sentence = span.of(source.passage)
        is_mixed = change.kind == "direction" and changes.turns_both_ways(sentence)
        if is_mixed or _P["unreal"].search(sentence):
            continue
        for other in changes.changes_in(sentence):
            agrees = change.agrees(other, _SLACK)
            if agrees is None:
                continue
            is_rival = agrees or (
                not (change.kind == "amount" and is_sum(change, sentence))
                and _is_of_same_topic(topic, change, other, sentence, source)
            )
            if is_rival:
                n_shared = len(set(roots(topic)).intersection(roots(other.about)))
                yield _Compared(other, span, n_shared, agrees)


def _is_of_same_topic(
    topic: str, change: Change, other: Change, sentence: str, source: SourceText
) -> bool:
    """Whether another change is of a claim's topic and times: of the words besides its change."""
    if not other.than:  # "of them" names no whole
        parts = re.split(r"\b", topic)
        topic = "".join(part for part in parts if change.than.isdisjoint(roots(part)))
    if bool(_P["against"].search(topic)) != bool(_P["against"].search(other.about)):
        return False
    if _has_narrower_subject(topic, other, sentence, source):
        return False
    if quantities.unstated_values(topic, f"{source.about}\n{sentence}"):
        return False
    undated = changes.without_values(topic, *(v for v in values_of(topic) if v.measure == "time"))
    if not other.is_computed:
        is_timely = is_of_same_time(topic, sentence, source)
        return is_timely and comparable.is_on_topic(undated, other.about, source, LEAST_REST)
    # What has grown without a stated time has grown lately.
    if dates_in(topic) and comparable.has_other_baseline(topic, sentence):
        return False
    known = changes.LEVEL_WORDS.union(roots(source.about))
    words = " ".join(word for word in WORD.findall(undated) if not known.issuperset(roots(word)))
    return comparable.is_on_topic(words or undated, other.about, source, LEAST_REST)


def _has_narrower_subject(topic: str, change: Change, sentence: str, source: SourceText) -> bool:
    """Whether what changes has more words of its own than of a claim: it is another thing."""
    start = sentence.find(change.about)
    subject = change.about[: max(0, change.span.start - start)]
    wanted, title = set(roots(topic)), set(roots(source.about))
    own = set(roots(changes.without_values(subject, *values_of(subject)))) - title - wanted
    return len(own) > len(wanted.intersection(roots(change.about)))


def find_other_rank(clause: ClaimClause, source: SourceText) -> Witness | None:
    """Find another place in the same order, "the second-highest" for "the highest", or in a table.

    A sentence with the claim's place before that rules it out.
    """
    stated = ranks(clause.text)
    if len(stated) != 1:
        return None
    own, contrary = stated[0], None
    for span, sentence in source.sentences:
        for other in ranks(sentence):
            if other.order not in ("", own.order):
                continue
            if other.place == own.place:
                return None
            if contrary is None and _is_in_same_order(own, clause.text, other, sentence, source):
                words = own.span.of(clause.text), other.span.of(sentence)
                contrary = Witness(WitnessKind.VALUE, *words, span)
    return contrary or find_other_cell(clause, source)


def _is_in_same_order(
    own: Rank, clause: str, other: Rank, sentence: str, source: SourceText
) -> bool:
    """Whether two ranks are among the same things, by what follows them, and at the same time."""
    among = set(roots(_P["field_ends"].split(sentence[other.span.end :])[0]))
    # "The youngest of 24 starters" may come second of 24: the claim must say more of its order.
    names_order = bool(other.order) or own.order == "most"
    if not (names_order or set(roots(clause[own.span.end :])) - among):
        return False
    unordered = set(roots(_P["field"].sub("", clause))) - set(roots(own.span.of(clause)))
    is_stated = unordered - _OF_RANKS <= set(roots(f"{source.about}\n{sentence}"))
    if not (is_stated and among <= set(roots(clause))):
        return False
    is_of_other_date = any(
        all(quantities.conflict(earlier, date) for date in dates_in(clause))
        for earlier in dates_in(sentence[: other.span.start])
    )
    if is_of_other_date or (comparable.denials(sentence) and not comparable.denials(clause)):
        return False
    is_timely = is_of_same_time(clause, sentence, source)
    return is_timely and not names.missing(clause, source.page)


@dataclass(frozen=True, slots=True)
class _Superlative:
    """A first, an only one or a superlative, and what narrows it; sets have roots."""

    span: Span
    word: str  # the root of "oldest"
    head: str  # the root of the noun; "": "the oldest in the county"
    narrows: frozenset[str]
    bounds: frozenset[str]  # what narrows it without adjectives, which say more of its kind
    names: frozenset[str]  # those of names
    is_of_nation: bool  # by an adjective, "Danish", which "Denmark's" may mean too


def narrower(claim: str, passage: str, page: str = "", title: str = "") -> Witness | None:
    """Return what a source says of less than a claim; None if a sentence of the page says all.

    English only. `title`: of the claim's article, whose words narrow the claim too.

    >>> narrower("It was the first tractor.", "It was the first British tractor.").source
    'the first British tractor'
    """
    if common(claim, passage) != "en":
        return None
    page, known = page or passage, frozenset(roots(f"{claim} {title}"))
    for claimed in _superlatives(claim):
        same = [
            (stated, sentence)
            for sentence in (span.of(page) for span in wording.sentences_of(page))
            for stated in _superlatives(sentence)
            if stated.word == claimed.word and stated.head in (claimed.head, "")
        ]
        if same and all(_is_narrower(stated, claimed, known) for stated, _ in same):
            stated, sentence = same[0]
            start = passage.find(sentence)
            place = Span(start, start + len(sentence)) if start >= 0 else None
            words = claimed.span.of(claim), stated.span.of(sentence)
            return Witness(WitnessKind.NARROWER, *words, place)
    return None


def _is_narrower(source: _Superlative, claim: _Superlative, known: frozenset[str]) -> bool:
    lacks, own = source.narrows - known, claim.bounds - source.narrows
    if not own:
        return bool(lacks - _WIDE)
    if own <= claim.names:
        return bool(lacks & source.names) and source.is_of_nation == claim.is_of_nation
    return own.isdisjoint(claim.names) and bool(lacks) and lacks.isdisjoint(source.names)


def _superlatives(text: str) -> Iterator[_Superlative]:
    for match in _P["superlative"].finditer(text):
        # What is only named so need not be unique: "the first dose".
        nouns = list(_nouns(text, match.end()))
        end = nouns[-1].end() if nouns else match.end()
        behind = _P["behind"].match(text, end)
        owner = re.sub(r"['’]s?\Z", "", match["owner"]) if match["owner"][-1] in "s'’" else ""
        around = f"{owner} {behind['what'] if behind else ''}"
        narrows = " ".join([around, *(noun[1] for noun in nouns[:-1])])
        names = " ".join(re.findall(r"\b[A-Z][\w’'-]+", narrows))
        yield _Superlative(
            Span(match.start("owner"), behind.end() if behind else end),
            word=wording.stem(match["word"].split(" ")[-1]),
            head=wording.stem(nouns[-1][1]) if nouns else "",
            narrows=frozenset(roots(narrows)),
            bounds=frozenset(roots(f"{around} {names}")),
            names=frozenset(roots(names)),
            is_of_nation=bool(_P["of_nation"].search(names)),
        )


def _nouns(text: str, start: int) -> Iterator[re.Match[str]]:
    """Yield the words from the end of a superlative to its noun."""
    before = ""
    for _ in range(_MOST_WORDS):
        word = _P["word"].match(text, start)
        if not word or word[1] in _ENDS:
            return
        after = _P["word"].match(text, word.end())
        if before and may_be_finite(word[1], before, after[1] if after else ""):
            return
        yield word
        before, start = word[1], word.end()
