"""Finds another value than a claim's in its place, or the claim's value in the place of another.

"Ask had 41" contradicts "Ask had 43"; "43 in 2021" is not what "in 2011 Ask had 43" says. Values
are figures, dates and cells of tables. In doubt of what the source states them, there is None.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Literal

from pincite.judgement.comparable import ClaimClause, SourceText, direction, is_on_topic, terms_of
from pincite.text import LEXICON, names, patterns, quantities, syntax, tables
from pincite.text.changes import Change, ranks, stated_changes
from pincite.text.finite import finite_verb
from pincite.text.languages import is_english
from pincite.text.paraphrase import with_series_apart
from pincite.text.quantities import Value
from pincite.text.quantities import values as values_of
from pincite.text.words import WORD, roots, sentences_of, stem
from pincite.types import Span, Witness, WitnessKind

# The share of the clause's other words that a sentence must have. Chosen on half of the sets of
# claims/train, which the network never saw (research/refutation.md).
LEAST_REST = 0.75
_SHOWN = 80  # characters of a sentence in a message
_YEAR_DIGITS = 4
_NO_NOUN = syntax.PARTICLES | syntax.AUXILIARIES | {"and", "or", "but", "more"}
_TIME_ROOTS = frozenset("earli lat previou follow next last year befor aft".split())
_P = patterns(__file__, "other_values", prepositions="|".join(syntax.PREPOSITIONS))
_JOINTS = tuple(patterns(__file__, "joints").values())


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

    def is_in_place_of(self, own: "_Mention") -> bool:
        """Whether it says of its text what a claim's value says of its own."""
        return (
            self.direction == own.direction
            and self.role == own.role
            and not self.surroundings().isdisjoint(own.surroundings())
            and (bool(own.value.measure) or _counts_same(own, self))
        )

    def surroundings(self) -> set[str]:
        """Return the roots around the value, up to other values of its kind."""
        span, known = self.value.span, values_of(self.text, self.language)
        alike = [value.span for value in known if value.measure == self.value.measure]
        start = max((other.end for other in alike if other.end <= span.start), default=0)
        end = min((o.start for o in alike if o.start >= span.end), default=len(self.text))
        before, behind = self.text[start : span.start], self.text[span.end : end]
        return {*roots(before)[-3:], *roots(behind)[:2]}

    def predicate(self) -> str:
        """Return the stem of the last verb before the value, else of the first after it; or ""."""
        words = list(WORD.finditer(self.text))
        verbs = [word for n, word in enumerate(words) if _is_main_verb(words, n)]
        before = [verb for verb in verbs if verb.start() <= self.value.span.start]
        nearest = [*before[-1:], *verbs[len(before) :][:1]]
        stems = (roots(verb[0])[0] for verb in nearest if roots(verb[0]))
        root = next(stems, "")
        return _SAME_VERB.get(root, root)


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
                return Witness(WitnessKind.VALUE, own.words, rival.words, span)
    return find_other_cell(clause, source) if source.language == "en" else None


def _rival(own: _Mention, sentence: str, claim: str) -> _Mention | None:
    """Return the only value of a sentence in the place of a claim's; None if it has the claim's."""
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
    unclaimed = [mention for mention in mentions if not any(map(mention.agrees, claimed))]
    rivals = [mention for mention in unclaimed if mention.is_in_place_of(own)]
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
    behind_own = own.text[own.value.span.end :]
    behind_rival = rival.text[rival.value.span.end :]
    if roots(behind_own)[:1] == roots(behind_rival)[:1]:
        return True
    part, whole = _noun_phrase(behind_own), _noun_phrase(behind_rival)
    ends_alike = bool(whole) and part[-len(whole) :] == whole
    return ends_alike and len(part) > len(whole) and own.value.low > rival.value.high


def _noun_phrase(text: str) -> list[str]:
    """Return the words that a text begins with, up to a particle, a name or a punctuation mark."""
    words = _P["punctuation"].split(text)[0].split()
    return list(takewhile(lambda word: word.islower() and word not in _NO_NOUN, words))


def _is_of_same_thing(own: _Mention, rival: _Mention, source: SourceText) -> bool:
    """Whether the text around two values says the same of the same thing."""
    value, sentence = own.value, rival.text
    if is_sum(value, sentence) or _is_share_of_others(own, sentence):
        return False
    # "Opened in 1871" beside "closed in 1966", or the year of a photograph.
    is_of_other_verb = own.predicate() not in ("", rival.predicate())
    if is_of_other_verb and not _is_opposite_bound(value, rival.value):
        return False
    if _differs_elsewhere(own, rival):
        return False
    rest = f"{own.text[: value.span.start]} {own.text[value.span.end :]}"
    return is_on_topic(rest, sentence, source, LEAST_REST)


def is_sum(claimed: Value | Change, sentence: str) -> bool:
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
    others = [v for v in values_of(own.text, own.language) if v != own.value and not v.weak]
    return any(
        any(quantities.conflict(v, other) for v in of_sentence)
        and not any(quantities.states(v, other) for v in of_sentence)
        for other in others
    )


def find_other_cell(clause: ClaimClause, source: SourceText) -> Witness | None:
    """Find another value or rank in the first table of which a clause names row and column."""
    for lookup in tables.look_up(clause.text, source.page):
        row = lookup.rows[0]
        start = source.passage.find(row.line)
        other = tables.other_value(lookup) if start >= 0 else None
        if other is None or names.missing(clause.text, source.page):
            continue
        if _is_all_in_row(clause.text, row, source):
            span = Span(start, start + len(row.line))
            return Witness(WitnessKind.VALUE, other.claimed.of(clause.text), other.stated, span)
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


# ── A value that is given for another ────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a text that gives one value of a measure."""

    span: Span
    words: str
    value: Value


def value_of_another(claim: str, passage: str) -> Witness | None:
    """Find a value of the claim that a passage gives for another year, person or part.

    >>> value_of_another("In 2011 Ask had 43.", "Ask had 41 in 2011 and 43 in 2021.").source
    '43 in 2021'
    """
    if not (is_english(claim) and is_english(passage)):
        return None
    if witness := _of_two_years(claim, passage):
        return witness
    claimed = sorted((v for v in values_of(claim) if not v.weak), key=lambda v: v.measure == "date")
    text = with_series_apart(passage)
    spans = [s for s in sentences_of(text) if not tables.cells_of(s.of(text))]
    for value in claimed:
        for first, following in zip(spans, [*spans[1:], *spans[-1:]], strict=True):
            pieces = _pieces(text, Span(first.start, following.end), value, claim)
            if own := _given_for_another(value, claim, claimed, pieces):
                words = value.span.of(claim), own.words.strip(" ,;.")
                return Witness(WitnessKind.OWNER, *words, first if text == passage else None)
    return None


def _of_two_years(claim: str, passage: str) -> Witness | None:
    """Find a value that is given for another year, where one is across two: "2023–24"."""
    wanted = {*_P["two_years"].findall(claim)}
    claimed = [v for v in values_of(claim) if not v.weak and v.measure != "date"]
    if len(wanted) != 1 or not claimed or _P["of_accounts"].search(claim):
        return None
    of_claimed_year, of_another = list[Value](), list[tuple[Value, Span]]()
    for span in sentences_of(passage):
        given = {*_P["two_years"].findall(span.of(passage))}
        is_across = all(second for _, second in given) or any(second for _, second in wanted)
        stated = values_of(span.of(passage)) if given else ()
        found = [v for v in claimed if any(quantities.states(other, v) for other in stated)]
        if given & wanted:
            of_claimed_year += found
        elif is_across:
            of_another += [(value, span) for value in found]
    for value, span in of_another:
        if value not in of_claimed_year:
            source = span.of(passage)[:_SHOWN]
            return Witness(WitnessKind.OWNER, value.span.of(claim), source, span)
    return None


def _pieces(text: str, window: Span, claimed: Value, claim: str) -> list[_Piece]:
    """Cut a part of a text into pieces with one value like a claim's; none if that is uncertain."""
    part, noun = window.of(text), _noun_after(claim, claimed)
    known = [v for v in values_of(part, "en") if v.measure == claimed.measure and not v.weak]
    alike = [value for value in known if _noun_after(part, value) in ("", noun)]
    cuts = [0]
    for value, following in pairwise(alike):
        joints = (joint.search(part, value.span.end, following.span.start) for joint in _JOINTS)
        cuts.append(next((joint.end() for joint in joints if joint), cuts[-1]))
    spans = [Span(start, end) for start, end in pairwise([*cuts, len(part)]) if start < end]
    if len(spans) != len(alike) or any(value.between for value in alike):
        return []
    return [_Piece(s, s.of(part), value) for s, value in zip(spans, alike, strict=True)]


def _noun_after(text: str, value: Value) -> str:
    """Return the stem of what a bare number counts; empty if it is left out."""
    counted = _P["counted"].match(text, value.span.end) if not value.measure else None
    return "" if counted is None or counted["noun"] in syntax.PARTICLES else stem(counted["noun"])


def _given_for_another(
    value: Value, claim: str, claimed: Sequence[Value], pieces: Sequence[_Piece]
) -> _Piece | None:
    """Return the only piece that gives a value, if the claim's words are in one beside it."""
    places = [n for n, piece in enumerate(pieces) if quantities.states(piece.value, value)]
    if len(places) != 1:
        return None
    own = pieces[places[0]]
    like_value = [v for v in claimed if v.measure == value.measure]
    wanted = terms_of(f"{claim[: value.span.start]} {claim[value.span.end :]}")
    for neighbour in pieces[max(0, places[0] - 1) : places[0] + 2]:
        conflicts = all(quantities.conflict(neighbour.value, v) for v in like_value)
        if conflicts and _Contrast.of(wanted, own, neighbour).is_given_for_rival:
            return own
    return None


@dataclass(frozen=True, slots=True)
class _Contrast:
    """A piece with the claim's value, and the rival one beside it, for "In 2011 Ask had 43"."""

    own: _Piece  # "43 in 2021"
    rival: _Piece  # "Ask had 41 in 2011"
    wanted_of_own: frozenset[str]  # roots of the claim that only the first has
    wanted_of_rival: frozenset[str]  # those that only the rival has: "2011"
    instead: frozenset[str]  # what else only the first has: "2021"
    is_complete: bool  # the two have all words of the claim

    @classmethod
    def of(cls, wanted: frozenset[str], own: _Piece, rival: _Piece) -> "_Contrast":
        of_own, of_rival = terms_of(own.words), terms_of(rival.words)
        only_own, only_rival = of_own - of_rival, of_rival - of_own
        parts = wanted & only_own, wanted & only_rival, only_own - wanted
        return cls(own, rival, *parts, is_complete=wanted <= of_own | of_rival)

    @property
    def is_given_for_rival(self) -> bool:
        if not (self.wanted_of_rival and self.instead and self.is_complete):
            return False
        if not (self._is_in_same_slot() or self._are_years()) or self._is_only_another_time():
            return False
        # What stands before may be meant of what follows, too.
        return self.own.span.start < self.rival.span.start or not self.wanted_of_own

    def _is_in_same_slot(self) -> bool:
        """Whether both are behind one preposition: "in Varde", "in Moss"."""
        of_rival = _slots(self.rival.words)
        return any(
            self.instead & terms_of(words) and self.wanted_of_rival & terms_of(of_rival[slot])
            for slot, words in _slots(self.own.words).items()
            if slot in of_rival
        )

    def _are_years(self) -> bool:
        sides = (self.wanted_of_rival, self.instead)
        return all(any(w.isdigit() and len(w) == _YEAR_DIGITS for w in side) for side in sides)

    def _is_only_another_time(self) -> bool:
        """Whether its own words only date it, but not those of the rival: "the year before"."""
        is_time = self.instead <= _TIME_ROOTS or all(word[0].isdigit() for word in self.instead)
        return is_time and not any(word[0].isdigit() for word in self.wanted_of_rival)


def _slots(text: str) -> dict[str, str]:
    """Return the words behind each preposition of a text, and before the first behind ""."""
    first, *rest = _P["preposition"].split(text.lower())
    return {"": first, **dict(zip(rest[::2], rest[1::2], strict=True))}
