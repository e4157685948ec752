"""Finds another value in the place of a claim's: a figure or date, a cell, a change or a rank.

Each rule takes a clause of a claim and a source. It returns the claim's value, the source's, and
the sentence; None if the source does not state another value of the same thing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from pincite.judgement.comparable import (
    ClaimClause,
    SourceText,
    dates_in,
    denials,
    direction,
    has_other_baseline,
    is_of_same_time,
    is_on_topic,
)
from pincite.text import LEXICON, names, patterns, quantities, syntax, tables
from pincite.text.changes import (
    LEVEL_WORDS,
    Change,
    Rank,
    changes_in,
    claimed_changes,
    ranks,
    stated_changes,
    turns_both_ways,
    without_values,
)
from pincite.text.finite import finite_verb
from pincite.text.quantities import Value
from pincite.text.quantities import values as values_of
from pincite.text.sentences import windows
from pincite.text.words import WORD, roots
from pincite.types import Span, Witness, WitnessKind

# The share of the clause's other words that a sentence must have. Chosen on half of the sets of
# claims/train, which the network never saw (research/refutation.md).
_LEAST_REST = 0.75
_SLACK = 0.25  # the share of a change by which another must exceed it to contradict it
_NO_NOUN = syntax.PARTICLES | syntax.AUXILIARIES | {"and", "or", "but", "more"}
_P = patterns(__file__, "other_values")


def _witness(claimed: str, stated: str, sentence: Span) -> Witness:
    return Witness(WitnessKind.VALUE, claimed, stated, sentence)


@dataclass(frozen=True, slots=True)
class _Mention:
    """A value, and the text that states it."""

    value: Value
    text: str
    language: str

    @property
    def words(self) -> str:
        return quantities.with_hedge(self.text, self.value)

    @property
    def direction(self) -> str:
        return direction(self.value, self.text)

    @property
    def role(self) -> Literal["level", "change", "rank"]:
        """Whether it says how much something is, by how much it changes, or its place."""
        span = self.value.span
        if any(change.span.overlaps(span) for change in stated_changes(self.text)):
            return "change"
        is_rank = any(rank.span.overlaps(span) for rank in ranks(self.text))
        return "rank" if is_rank else "level"

    def agrees(self, other: Value) -> bool:
        return quantities.states(self.value, other) or quantities.states(other, self.value)

    def surroundings(self) -> set[str]:
        """Return the roots around the value, up to other values of its kind."""
        span = self.value.span
        alike = values_of(self.text, self.language)
        others = [v.span for v in alike if v.measure == self.value.measure]
        start = max((other.end for other in others if other.end <= span.start), default=0)
        end = min((o.start for o in others if o.start >= span.end), default=len(self.text))
        before, behind = self.text[start : span.start], self.text[span.end : end]
        return {*roots(before)[-3:], *roots(behind)[:2]}

    def predicate(self) -> str:
        """Return the stem of the last verb before the value, else of the first after it; or ""."""
        words = list(WORD.finditer(self.text))
        verbs = [word for n, word in enumerate(words) if _is_main_verb(words, n)]
        before = [verb for verb in verbs if verb.start() <= self.value.span.start]
        nearest = [*before[-1:], *verbs[len(before) :][:1]]
        stems = (roots(verb[0])[0] for verb in nearest if roots(verb[0]))
        stem = next(stems, "")
        return _SAME_VERB.get(stem, stem)


_SAME_VERB = {
    stem: group.split()[0]
    for group in LEXICON["verbs"]["alike"].split(",")
    for stem in roots(group)
}


def _is_main_verb(words: list[re.Match[str]], n: int) -> bool:
    word = words[n][0]
    before = words[n - 1][0] if n else ""
    after = words[n + 1][0] if n + 1 < len(words) else ""
    is_verb = syntax.is_participle(word) or syntax.is_finite(word, before, after)
    return is_verb and word not in syntax.AUXILIARIES


def find_other_value(clause: ClaimClause, source: SourceText) -> Witness | None:
    """Find another value in a sentence, else in the cell of a table that the clause names."""
    languages = (source.language, source.language)
    for value in tables.unstated_values(clause.text, source.page, languages):
        if value.span.of(clause.text) not in clause.covered:
            continue
        own = _Mention(value, clause.text, source.language)
        for span, sentence in source.sentences:
            rival = _rival(own, sentence, clause.claim)
            if rival and _is_of_same_thing(own, rival, source):
                return _witness(own.words, rival.words, span)
    return _find_other_cell(clause, source) if source.language == "en" else None


def _rival(own: _Mention, sentence: str, claim: str) -> _Mention | None:
    """Return the only value of a sentence in the role of a claim's; None if it has the claim's."""
    value, language = own.value, own.language
    mentions = [
        _Mention(other, sentence, language)
        for other in values_of(sentence, language)
        if other.measure == value.measure and not other.weak
    ]
    if not all(quantities.conflict(mention.value, value) for mention in mentions):
        return None
    for mention in mentions:
        if _is_opposite_bound(value, mention.value):
            return mention
    if any(_is_same_in_thousands(own, mention) for mention in mentions):
        return None
    claimed = values_of(claim, language)
    rivals = [
        mention
        for mention in mentions
        if not any(map(mention.agrees, claimed))
        and mention.direction == own.direction
        and mention.role == own.role
        and not mention.surroundings().isdisjoint(own.surroundings())
        and (value.measure or _counts_same(own, mention))
    ]
    return rivals[0] if len(rivals) == 1 else None


def _is_opposite_bound(value: Value, rival: Value) -> bool:
    """Whether one is less and the other more than a number: "over 90", "fewer than the 90"."""
    return value.sense * rival.sense < 0 and (value.low == rival.high or value.high == rival.low)


def _is_same_in_thousands(own: _Mention, rival: _Mention) -> bool:
    """Whether "1.240 m" and "1240 m" are one number, if the texts are not English after all."""
    written = own.value.span.of(own.text), rival.value.span.of(rival.text)
    digits = {_P["no_digit"].sub("", number) for number in written}
    return any(map(_P["thousands"].search, written)) and len(digits) == 1


def _counts_same(own: _Mention, rival: _Mention) -> bool:
    """Whether two bare numbers count the same: "77 lifts" are not "8 escalators".

    What narrows the claim's noun makes it a part of what the source counts, which is no more than
    the whole: "90 new lifts" are too many beside "77 lifts".
    """
    own_noun = own.text[own.value.span.end :]
    rival_noun = rival.text[rival.value.span.end :]
    if roots(own_noun)[:1] == roots(rival_noun)[:1]:
        return True
    narrow, wide = _noun_phrase(own_noun), _noun_phrase(rival_noun)
    is_part = 0 < len(wide) < len(narrow) and narrow[-len(wide) :] == wide
    return is_part and own.value.low > rival.value.high


def _noun_phrase(text: str) -> list[str]:
    """Return the words that a text begins with, up to a particle, a name or a punctuation mark."""
    words = _P["punctuation"].split(text)[0].split()
    return list(takewhile(lambda word: word.islower() and word not in _NO_NOUN, words))


def _is_of_same_thing(own: _Mention, rival: _Mention, source: SourceText) -> bool:
    """Whether the text around two values says the same of the same thing."""
    value, sentence = own.value, rival.text
    if _is_sum(value, sentence) or _is_share_of_others(own, sentence):
        return False
    # "Opened in 1871" beside "closed in 1966", or the year of a photograph.
    is_of_other_verb = own.predicate() not in ("", rival.predicate())
    if is_of_other_verb and not _is_opposite_bound(value, rival.value):
        return False
    if _differs_elsewhere(own, rival):
        return False
    rest = f"{own.text[: value.span.start]} {own.text[value.span.end :]}"
    return is_on_topic(rest, sentence, source, _LEAST_REST)


def _is_sum(claimed: Value | Change, sentence: str) -> bool:
    """Whether a claim adds up what a sentence divides: "200 jobs in Varde and 100 in Moss"."""
    parts = [v for v in values_of(sentence) if v.measure == claimed.measure and not v.weak]
    low, high = sorted((abs(claimed.low), abs(claimed.high)))
    meets = sum(part.low for part in parts) <= high and low <= sum(part.high for part in parts)
    return meets and len(parts) > 1 and high > 0


def _is_share_of_others(own: _Mention, sentence: str) -> bool:
    """Whether a sentence lacks what a share of things does: "22 % of the boats are wooden"."""
    verb = finite_verb(own.text) if own.value.measure == "share" else None
    if verb is None or verb.start < own.value.span.end:
        return False
    return not set(roots(own.text[verb.start :])) <= set(roots(sentence))


def _differs_elsewhere(own: _Mention, rival: _Mention) -> bool:
    """Whether another value of the clause differs too; then the topic is a different one."""
    of_sentence = [v for v in values_of(rival.text, rival.language) if v != rival.value]
    for other in values_of(own.text, own.language):
        if other == own.value or other.weak:
            continue
        differs = any(quantities.conflict(v, other) for v in of_sentence)
        if differs and not any(quantities.states(v, other) for v in of_sentence):
            return True
    return False


def _find_other_cell(clause: ClaimClause, source: SourceText) -> Witness | None:
    """Find another value or rank in the first table of which a clause names row and column."""
    for lookup in tables.look_up(clause.text, source.page):
        row = lookup.rows[0]
        start = source.passage.find(row.line)
        other = tables.other_value(lookup) if start >= 0 else None
        if other is None or names.missing(clause.text, source.page):
            continue
        if _is_all_in_row(clause.text, row, source):
            span = Span(start, start + len(row.line))
            return _witness(other.claimed.of(clause.text), other.stated, span)
    return None


def _is_all_in_row(clause: str, row: tables.Row, source: SourceText) -> bool:
    """Whether a table has a clause's words but for one, such as "inhabitants" or a verb.

    A word that narrows what is counted must not be new: "3 primary schools for girls".
    """
    known = set(roots(f"{source.about}\n{row.caption}\n{row.line}"))
    new = [word for word in WORD.finditer(clause) if not known.issuperset(roots(word[0]))]
    if len(new) != 1:
        return not new
    before, after = clause[: new[0].start()], WORD.search(clause, new[0].end())
    if _P["qualifies"].search(before):
        return False
    headers = {root for header in row.cells for root in roots(header)}
    narrows_header = after is not None and not headers.isdisjoint(roots(after[0]))
    return not (_P["figure_before"].search(before) and narrows_header)


def find_other_change(clause: ClaimClause, source: SourceText) -> Witness | None:
    """Find another change of the same: as stated, or as worked out from two values.

    Of several changes, those count that share the most words with the clause: fewer are of another
    thing. None of them may agree.
    """
    changes = claimed_changes(clause.text)
    if len(changes) != 1:
        return None
    compared = list(_compare_changes(changes[0], clause.text, source))
    most = max((n_shared for n_shared, _ in compared), default=0)
    nearest = [contrary for n_shared, contrary in compared if n_shared == most]
    return nearest[0] if nearest and all(nearest) else None


def _compare_changes(
    change: Change, clause: str, source: SourceText
) -> Iterator[tuple[int, Witness | None]]:
    """Yield how many words of a clause each change of a source shares, and how it contradicts.

    None: it agrees. A change of something else is left out.
    """
    rest = change.rest_of(clause)
    for span in windows(source.passage, [sentence.span for sentence in source.sentences]):
        sentence = span.of(source.passage)
        is_mixed = change.kind == "direction" and turns_both_ways(sentence)
        if is_mixed or _P["unreal"].search(sentence):
            continue
        for other in changes_in(sentence):
            agrees = change.agrees(other, _SLACK)
            if agrees is None:
                continue
            n_shared = len(set(roots(rest)).intersection(roots(other.about)))
            if agrees:
                yield n_shared, None
                continue
            compared_with = frozenset[str]() if other.than else change.than  # "of them"
            words = re.split(r"\b", rest)
            own = "".join(word for word in words if compared_with.isdisjoint(roots(word)))
            is_sum = change.kind == "amount" and _is_sum(change, sentence)
            if not is_sum and _is_change_of(own, other, sentence, source):
                yield n_shared, _witness(change.words, other.words, span)


def _is_change_of(rest: str, change: Change, sentence: str, source: SourceText) -> bool:
    """Whether a change is of the subject and the times of a claim's other words."""
    if bool(_P["against"].search(rest)) != bool(_P["against"].search(change.about)):
        return False
    start = sentence.find(change.about)
    subject = change.about[: max(0, change.span.start - start)]
    title, wanted = set(roots(source.about)), set(roots(rest))
    others = set(roots(without_values(subject, *values_of(subject)))) - title - wanted
    if len(others) > len(wanted.intersection(roots(change.about))):
        return False  # the source's subject is narrower, or another one
    if quantities.unstated_values(rest, f"{source.about}\n{sentence}"):
        return False
    words = without_values(rest, *(v for v in values_of(rest) if v.measure == "time"))
    if change.is_computed:
        # What has grown without a stated time has grown lately.
        is_timely = not (dates_in(rest) and has_other_baseline(rest, sentence))
        known = LEVEL_WORDS | title
        words = " ".join(w for w in WORD.findall(words) if not known.issuperset(roots(w))) or words
    else:
        is_timely = is_of_same_time(rest, sentence, source)
    return is_timely and is_on_topic(words, change.about, source, _LEAST_REST)


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
                contrary = _witness(own.span.of(clause.text), other.span.of(sentence), span)
    return contrary or _find_other_cell(clause, source)


def _is_in_same_order(
    own: Rank, clause: str, other: Rank, sentence: str, source: SourceText
) -> bool:
    """Whether two ranks are among the same things, by what follows them, and at the same time."""
    field = set(roots(_P["field_ends"].split(sentence[other.span.end :])[0]))
    measured = set(roots(clause[own.span.end :])) - field
    if not (other.order or own.order == "most" or measured):
        return False  # "the youngest of 24 starters" may come second of 24
    wanted = set(roots(_P["field"].sub("", clause)))
    wanted -= {*roots(own.span.of(clause)), "ever", "number"}
    if not (wanted <= set(roots(f"{source.about}\n{sentence}")) and field <= set(roots(clause))):
        return False
    is_of_other_date = any(
        all(quantities.conflict(earlier, date) for date in dates_in(clause))
        for earlier in dates_in(sentence[: other.span.start])
    )
    if is_of_other_date or (denials(sentence) and not denials(clause)):
        return False
    is_timely = is_of_same_time(clause, sentence, source)
    return is_timely and not names.missing(clause, source.page)
