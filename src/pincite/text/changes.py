"""Compares changes, shares and ranks: those that a text states, and those that its figures imply.

"It rose from 40 to 80" states no amount, but doubles. English only; rises are positive and falls
negative.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Literal, TypeAlias

from pincite.text import LEXICON, patterns
from pincite.text import words as wording
from pincite.text.figures import ORDINALS, count_of, fold
from pincite.text.finite import finite_verb, lemmas
from pincite.text.quantities import Value, bounds_at, values, with_hedge
from pincite.text.sentences import windows
from pincite.text.syntax import is_participle
from pincite.types import Span

# By an amount ("fell by 5"), without one ("fell"); a share of a whole, or more than half of one.
Kind: TypeAlias = Literal["amount", "direction", "part", "majority"]

_MULTIPLES = {"halved": 0.5, "doubled": 2.0, "tripled": 3.0, "trebled": 3.0, "quadrupled": 4.0}
_MULTIPLE = re.compile(rf"\b(?:{'|'.join(_MULTIPLES)})\b", re.IGNORECASE)
_NEARLY = 0.03  # "doubled" covers 1.94 to 2.06 times
_LEAST = 1e-6  # a smaller change is none
_UP, _DOWN = (
    {word for word in side.split() if not re.match("more|less|improve|worse", word)} - {*_MULTIPLES}
    for side in LEXICON["contraries"]["turns"].split("|")[0].split("/")
)
_FALLS = _DOWN | {"down", "lost", "less"}
_COUNTED = {"gain", "gains", "gained", "lost", "cut"}  # with a number: "raised 500" is no rise
_AMOUNTS = {"more", "fewer", "less"}  # behind a number: "20 smaller towns" are no change
_NO_CHANGE = frozenset({"date", "clock", "time"})  # measures
_LONGEST_BY, _LONGEST_BY_OBJECT = 60, 90  # characters
_MORE = re.compile(r"\s(?P<turn>more|higher|greater|larger|fewer|less|lower|smaller)\b")
_THAN = re.compile(r"[^.,;]{0,60}?\bthan\b")
_THEN = re.compile(r"[^.;:]{0,30}\b(?:(?:1\d|20)\d\d|earlier|before|previous\w*|last)\b")
_LARGER = "more|higher|greater|larger|bigger|longer|taller|older|wider|heavier|deeper|dearer"
_SMALLER = "fewer|less|lower|smaller|shorter|younger|narrower|lighter|cheaper"
_CARRIED = re.compile(r"\b(?:put|brought|built|gone|went|come|came)\b(?=[^.,;]*\Z)")
_WHOLE = frozenset(wording.roots("whole rest other others average"))
_LONGEST_FROM = 24  # characters
_P = patterns(
    __file__,
    "changes",
    turns="|".join(sorted(_UP | _DOWN | {"up", "down", "lost"})),
    larger=_LARGER,
    smaller=_SMALLER,
    ordinal="|".join(ORDINALS[1:]),
)
_NEXT = re.compile(r",? and (?=(?:about |some )?[£$€]?\d)")
_PER = re.compile(r"\b(?:per|every|each) \Z")
_LONGEST_PER = 8  # characters
_OF_OTHER = re.compile(r"\b(?:in|for|across|of|among|at|the|an?) ", re.IGNORECASE)
_MOST_NEW = 4  # words that name another thing: "the rest of the region"
# Words for any value: a text that adds no others goes on from the one before.
LEVEL_WORDS = frozenset(
    wording.roots(
        "figure number rate total average mean median amount level share proportion value estimate "
        "stand stood come came reached amounted year earlier before previous previously"
    )
)
_OF = " of "  # between a share and its whole
_HEAD = 2  # words of a whole that may be its noun
_LONGEST_WHOLE = 60  # characters


@dataclass(frozen=True, slots=True)
class Change:
    """A change from an earlier value or from that of another thing, or a share of a whole."""

    kind: Kind
    span: Span
    words: str  # as they are shown
    low: float  # the least and the most that it may be; of a share, in per cent
    high: float
    measure: str = ""  # of an amount: that of the values, or "share" of the earlier value
    is_computed: bool = False  # from two values, not stated
    than: frozenset[str] = frozenset()  # roots of the other thing or the whole; empty: unknown
    about: str = ""  # the part of the text that says what it is a change of; "": unknown
    end: int = 0  # of the later value, or of the share

    @property
    def is_share(self) -> bool:
        return self.kind in ("part", "majority")

    def agrees(self, other: "Change", slack: float = 0.0) -> bool | None:
        """Whether two changes may be one; None if they are of different things or measures.

        `slack`: the share of this one by which the other may lie outside its interval.
        """
        if self.is_share:
            return self._agrees_in_part(other)
        if other.is_share or bool(self.than) != bool(other.than):
            return None
        known = other.than.union(wording.roots(other.about)) | _WHOLE
        if self.than and not other.than - _WHOLE <= self.than <= known:
            return None
        if self.kind == other.kind == "amount" and self.measure != other.measure:
            return None
        wide = slack * min(abs(self.low), abs(self.high))
        return self.low - wide <= other.high and other.low <= self.high + wide

    def _agrees_in_part(self, other: "Change") -> bool | None:
        is_known = other.kind == "part" and bool(other.about)
        is_sure = self.kind == "majority" or other.is_computed
        is_of_same = not (self.than and other.than) or not self.than.isdisjoint(other.than)
        if not (is_known and is_sure and is_of_same):
            return None
        return self.low <= other.high and other.low <= self.high

    def rest_of(self, claim: str) -> str:
        """Return what else a claim says, without the words that say that something changes."""
        before, after = claim[: self.span.start], claim[self.span.end :]
        if self.kind == "direction":
            after = after.partition(" than ")[0]
        return _P["turning"].sub(" ", f"{_CARRIED.sub(' ', before)} {after}")


def claimed_changes(claim: str) -> tuple[Change, ...]:
    """Return the changes that a claim states with an amount, else its direction, else its share."""
    if stated := stated_changes(claim):
        return stated
    turn = turn_alone(claim)
    return (turn,) if turn else shares(claim)


@lru_cache(maxsize=4096)
def changes_in(text: str) -> tuple[Change, ...]:
    """Return the changes of a sentence, or those that it makes with the next one."""
    if len(wording.sentences_of(text)) > 1:  # in the second, "of them" is a share of the first
        return (*side_by_side(text), *(share for share in shares(text) if not share.than))
    changes = sorted((*stated_changes(text), *computed_changes(text)), key=lambda c: c.span)
    parts = list[Change]()
    for n, change in enumerate(changes):
        before = [c.span.end for c in changes[:n] if c.span.end <= change.span.start]
        after = [c.span.start for c in changes[n:] if c.span.start >= change.span.end]
        is_alone = not before and not after
        about = text if is_alone else text[max(before, default=0) : change.span.end]
        parts.append(replace(change, about=about))
    return (*parts, *side_by_side(text), *shares(text))


def agreeing(claim: str, source: str) -> list[tuple[Change, Change]]:
    """Return the changes of a claim, each with what its source's figures imply that agrees.

    Figures that share fewer words with the claim than others of the source are of another thing.
    """
    if not (changes := claimed_changes(claim)):
        return []
    names = {root for name in wording.names(claim) for root in wording.roots(name)}
    own = {*wording.roots(claim)} - names
    near = [(len(own.intersection(wording.roots(c.about))), c) for c in worked_out(source)]
    most = max((shared for shared, _ in near), default=0)
    nearest = [change for shared, change in near if shared == most > 0]
    return [(change, other) for change in changes for other in nearest if change.agrees(other)]


def follows(claim: str, source: str) -> list[Span]:
    """Return the changes and ranks of a claim that follow from values or ranks of a source."""
    places = ranks(claim)
    others = ranks(source) if places else ()
    return [
        *(change.span for change, _ in agreeing(claim, source)),
        *(rank.span for rank in places if any(map(rank.is_same, others))),
    ]


@lru_cache(maxsize=512)
def worked_out(source: str) -> tuple[Change, ...]:
    """Return all changes that follow from two values of a source."""
    return tuple(
        replace(change, span=change.span.moved(span.start), end=change.end + span.start)
        for span in windows(source, wording.sentences_of(source))
        for change in changes_in(span.of(source))
        if change.is_computed
    )


def without_values(text: str, *some: Value) -> str:
    """Return a text without some of its values, which are in order."""
    for value in reversed(some):
        text = f"{text[: value.span.start]} {text[value.span.end :]}"
    return text


@lru_cache(maxsize=4096)
def stated_changes(text: str) -> tuple[Change, ...]:
    """Return the changes that a text states with an amount, in order.

    >>> [(c.words, c.low, c.measure) for c in stated_changes("It doubled and then lost 34 seats.")]
    [('doubled', 0.94, 'share'), ('lost 34', -34.0, '')]
    """
    text = fold(text)
    may_state = _P["turning"].search(text) or _MORE.search(text)
    amounts = [_by_amount(value, text) for value in values(text, "en")] if may_state else []
    changes = [*filter(None, amounts), *map(_by_multiple, _MULTIPLE.finditer(text))]
    return tuple(sorted(changes, key=lambda change: change.span))


def _by_amount(value: Value, text: str) -> Change | None:
    """Return the change by a value, if a word before or behind it says that it is one."""
    start, end = value.span
    if value.measure in _NO_CHANGE or value.weak:
        return None
    if before := _P["by"].search(text, max(0, start - _LONGEST_BY), start):
        turn = before["turn"].lower()
        is_change = before["by"] or value.measure == "share" or turn in _COUNTED
        return _amount(value, turn, Span(before.start(), end), text) if is_change else None
    if behind := _MORE.match(text, end):
        turn, than = behind["turn"].lower(), _THAN.match(text, behind.end())
        if than and not _THEN.match(text, than.end()):
            return None  # more than another has, not than before
        is_change = than or value.measure or turn in _AMOUNTS
        return _amount(value, turn, Span(start, behind.end()), text) if is_change else None
    by = _P["by_object"].search(text, max(0, start - _LONGEST_BY_OBJECT), start)
    if by is None or is_participle(by["object"].split()[-1]):
        return None  # "rose, helped by 20 visitors"
    change = _amount(value, by["turn"].lower(), Span(by.start("by"), end), text)
    return replace(change, words=f"{by['turn']}{change.words}")


def _amount(value: Value, turn: str, span: Span, text: str) -> Change:
    low, high = value.low, math.inf if value.sense > 0 else value.high
    if value.measure == "share":
        low, high = low / 100, high / 100
    if turn in _FALLS:
        low, high = -high, -low
    return Change("amount", span, span.of(text), low, high, value.measure)


def _by_multiple(match: re.Match[str]) -> Change:
    """Return the change that "doubled" or "nearly halved" states, as a share of the value."""
    text, times = match.string, _MULTIPLES[match[0].lower()]
    whole = max(times, 1 / times)
    low, high, sense = bounds_at(text, match.start(), whole, whole * _NEARLY)
    high = math.inf if sense > 0 else high
    low, high = (1 / high, 1 / low) if times < 1 else (low, high)
    words = with_hedge(text, Value(Span(*match.span())))
    span = Span(match.end() - len(words), match.end())
    return Change("amount", span, words, low - 1, high - 1, "share")


def turn_alone(text: str) -> Change | None:
    """Return the change of a text that states its direction only, as "Visits fell".

    >>> turn_alone("Visits fell in 2024.").high < 0, turn_alone("Visits rose, then fell.")
    (True, None)
    """
    for match in _P["than_other"].finditer(text):
        if compared := _than_other(match):
            return compared
    # "It lost the election" is no fall: these need a number.
    turns = [turn for turn in _turns(text) if turn["turn"].lower() not in _COUNTED]
    falls = {turn["turn"].lower() in _FALLS for turn in turns}
    if len(falls) != 1 or turns[0][0].lower().endswith("er"):
        return None
    return _direction(Span(*turns[0].span()), turns[0][0], is_rise=False in falls)


def _than_other(match: re.Match[str]) -> Change | None:
    """Return the change in "more than in 2019" or "below the average"; None if it is none."""
    text, span, other = match.string, Span(*match.span()), match["than"] or match["of"]
    known = values(other, "en")
    if any(value.span.start == 0 for value in known):
        return None  # "more than 500"
    if any(rank.span.overlaps(span) for rank in ranks(text)):
        return None  # "nowhere is it higher than here"
    is_earlier = known or _P["ago"].search(other)
    end = match.start("what") if match["than"] else span.end
    change = _direction(
        Span(span.start, end), match[0].strip(), is_rise=bool(match["up"] or match["above"])
    )
    return change if is_earlier else replace(change, than=frozenset(wording.roots(other)))


def _direction(span: Span, words: str, *, is_rise: bool) -> Change:
    low, high = (_LEAST, math.inf) if is_rise else (-math.inf, -_LEAST)
    return Change("direction", span, words, low, high)


def turns_both_ways(text: str) -> bool:
    """Whether a text has a rise and a fall: "rose in May and fell by 5 % in June"."""
    return len({turn["turn"].lower() in _FALLS for turn in _turns(text)}) > 1


def _turns(text: str) -> list[re.Match[str]]:
    return [match for match in _P["turning"].finditer(text) if match["turn"]]


@lru_cache(maxsize=4096)
def computed_changes(text: str) -> tuple[Change, ...]:
    """Return what follows from an earlier and a later value of one sentence, twice: as shares too.

    >>> computed_changes("It rose from 1,204 to 2,466.")[0].words
    '1,204 → 2,466: × 2.05'
    """
    changes = list[Change]()
    known = [v for v in values(text, "en") if not v.weak and v.measure not in _NO_CHANGE]
    for earlier, later in pairwise(known):
        start, between = earlier.span.start, Span(earlier.span.end, later.span.start)
        if later.measure and not earlier.measure:
            later = _without_unit(later, text)  # "from 40 to 80 tonnes"
        if earlier.measure != later.measure or min(earlier.low, later.low) <= 0:
            continue
        is_from = _P["from"].search(text, max(0, start - _LONGEST_FROM), start)
        if is_from and _P["to"].match(text, *between) and _P["turning"].search(text):
            changes += _between(earlier, later, text)
    return tuple(changes)


def _without_unit(value: Value, text: str) -> Value:
    """Return the number of a value with a unit; the value itself if it has none in figures."""
    number = re.match(r"[\d.,]*\d", value.span.of(text))
    bare = values(number[0], "en") if number else ()
    return replace(bare[0], span=value.span) if bare else value


def _between(earlier: Value, later: Value, text: str) -> list[Change]:
    """Return the change from one value to another, as a share of the first and as an amount."""
    span = Span(min(earlier.span, later.span).start, max(earlier.span, later.span).end)
    times = (later.low + later.high) / (earlier.low + earlier.high)
    amount = f"× {times:.2f}" if times >= 2 - _NEARLY * 2 else f"{100 * (times - 1):+.0f} %"
    words = f"{earlier.span.of(text)} → {later.span.of(text)}: {amount.replace('-', '−')}"
    low, high = later.low / earlier.high - 1, later.high / earlier.low - 1
    share = Change("amount", span, words, low, high, "share", is_computed=True, end=later.span.end)
    measure = "points" if later.measure == "share" else later.measure
    low, high = later.low - earlier.high, later.high - earlier.low
    return [share, replace(share, low=low, high=high, measure=measure)]


@lru_cache(maxsize=4096)
def side_by_side(text: str) -> tuple[Change, ...]:
    """Return what follows from values of one measure that one or two sentences set side by side.

    Beside the value, the second has only words of the first, and a time or an owner.

    >>> [c.words for c in side_by_side("It has 640 members. In 2020 it had 910.")][:1]
    ['910 → 640: −30 %']
    """
    text, changes = fold(text), list[Change]()
    first, *others = _parts(text)
    about, known = first.of(text), _levels(first, text)
    earlier_parts = {match.end() for match in _P["beside"].finditer(text) if match["was"]}
    for part in others:
        words, is_earlier = part.of(text), part.start in earlier_parts
        values_beside = _pair(known, _levels(part, text), is_earlier=is_earlier)
        if values_beside is None:
            continue
        value, other = values_beside
        new = _new_words(part, other, text) - {*wording.roots(about)} - LEVEL_WORDS
        years, other_years = _years(about), _years(words)
        if not new:
            if is_earlier or _P["ago"].search(words):
                changes += _between(other, value, text)
            elif other_years and years != other_years:
                is_later = bool(years) and years < other_years
                earlier, later = (value, other) if is_later else (other, value)
                changes += _between(earlier, later, text)
        elif not other_years and len(new) <= _MOST_NEW and _OF_OTHER.search(words):
            mark = "<" if value.high < other.low else ">" if value.low > other.high else "≈"
            shown = f"{value.span.of(text)} {mark} {other.span.of(text)}"
            than = frozenset(new)
            changes += [replace(c, words=shown, than=than) for c in _between(other, value, text)]
    return tuple(replace(change, about=about) for change in changes)


def _parts(text: str) -> list[Span]:
    """Cut one or two sentences where another value of the same may be set beside the first."""
    cuts = [Span(span.start, span.start) for span in wording.sentences_of(text)[1:]]
    cuts += [Span(*m.span()) for m in _P["beside"].finditer(text)]
    cuts += [Span(*m.span()) for m in _NEXT.finditer(text, cuts[0].end)] if cuts else []
    edges = [0, *(place for cut in sorted(cuts) for place in cut), len(text)]
    return [Span(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _levels(part: Span, text: str) -> list[Value]:
    """Return the values of a part that are no dates, times ago or rates."""
    ago = [Span(*m.span()) for m in _P["ago"].finditer(text)]
    moved = (replace(v, span=v.span.moved(part.start)) for v in values(part.of(text), "en"))
    return [
        v
        for v in moved
        if not (v.weak or v.measure in ("date", "clock") or any(map(v.span.overlaps, ago)))
        and not _PER.search(text, max(0, v.span.start - _LONGEST_PER), v.span.start)
    ]


def _pair(
    known: Sequence[Value], levels: Sequence[Value], *, is_earlier: bool
) -> tuple[Value, Value] | None:
    """Return the value of a part and the only one before it of its measure; None in doubt.

    Of several before it, an earlier value is that of the last: "rose by 4 to 9, up from 5".
    """
    if len(levels) != 1:
        return None
    other = levels[0]
    if not other.measure and [v.measure for v in known] == ["share"]:
        other = replace(other, measure="share")  # "The figure for England was 61.8."
    same = [value for value in known if value.measure == other.measure]
    if is_earlier:
        same = same[-1:]
    if len(same) != 1 or min(same[0].low, other.low) <= 0:
        return None
    return same[0], other


def _years(text: str) -> list[tuple[int, int]]:
    return [v.dates[0].years for v in values(text, "en") if v.dates and v.dates[0].years]


def _new_words(part: Span, value: Value, text: str) -> set[str]:
    """Return what a part says besides values and times, up to the comma behind its value."""
    end = text.find(", ", value.span.end, part.end)
    words = _P["ago"].sub(" ", text[part.start : end if end > 0 else part.end])
    return {*wording.roots(without_values(words, *values(words, "en")))}


@lru_cache(maxsize=4096)
def shares(text: str) -> tuple[Change, ...]:
    """Return the shares that a text states or its figures imply, in per cent, `than` the whole.

    >>> [(s.words, s.low, *s.than) for s in shares("Of the 80 mills, 11 shut.")]
    [('Of the 80 mills, 11: 14 %', 13.25, 'mil')]
    """
    text = fold(text)
    stated = [
        _share(value, text)
        for value in values(text, "en")
        if value.measure == "share" and not _MORE.match(text, value.span.end)
    ]
    return (*map(_majority, _P["majority"].finditer(text)), *stated)


def _majority(match: re.Match[str]) -> Change:
    text, is_most = match.string, any(match.groups())
    span = Span(match.start("most") if match["most"] else match.start(), match.end())
    low = (50.0 if is_most else 0.0) + _LEAST
    high = (100.0 if is_most else 50.0) - _LEAST
    return Change("majority", span, span.of(text), low, high, than=_noun(text, span.end))


def _share(value: Value, text: str) -> Change:
    words, end = value.span.of(text), value.span.end
    whole = _noun(text, end + len(_OF)) if text.startswith(_OF, end) else frozenset[str]()
    share = Change("part", value.span, words, value.low, value.high, than=whole, end=end)
    if not value.weak:
        return replace(share, about=text) if text.startswith(_OF, end) else share
    # Worked out from two counts: "of the 80 mills, 11".
    shown = f"{words}: {(value.low + value.high) / 2:.0f} %"
    whole = frozenset(wording.roots(words)) or whole or _noun(text, end)
    return replace(share, words=shown, is_computed=True, than=whole, about=text)


def _noun(text: str, start: int) -> frozenset[str]:
    """Return the roots of the noun phrase that starts there: up to its verb or a comma."""
    phrase = re.split(r"[.,;]", text[start : start + _LONGEST_WHOLE])[0]
    verb = finite_verb(phrase)
    return frozenset(wording.roots(phrase[: verb.start] if verb else phrase)[:_HEAD])


_UPWARDS, _DOWNWARDS = (
    {word.removesuffix("er") for word in words.split("|")} for words in (_LARGER, _SMALLER)
)
_LONGEST_OF_SEVERAL = 12  # characters of what `_P["of_several"]` matches
_LEAST_FIELD = 3  # things, of which one may be the first


@dataclass(frozen=True, slots=True)
class Rank:
    """A place in an order: third of 24, the second-largest, one that only two exceed."""

    span: Span
    place: int  # from 1
    order: str  # the stem of "largest" or "larger", "most"; "" where only the place is stated

    def is_same(self, source: "Rank") -> bool:
        """Whether a source states this rank, in this order or without an order."""
        return self.place == source.place and source.order in ("", self.order)


@lru_cache(maxsize=4096)
def ranks(text: str) -> tuple[Rank, ...]:
    """Return the ranks that a text states, in order.

    >>> [(r.place, r.order) for r in ranks("It is the second-tallest; only two are wider than it.")]
    [(2, 'tall'), (3, 'wid')]
    """
    text = fold(text)
    places = [
        *(_rank(m, _place(m["nth"])) for m in _P["superlative"].finditer(text) if _is_rank(m)),
        *(Rank(Span(*m.span()), _place(m["nth"]), "") for m in _P["placed"].finditer(text)),
        *(_rank(m, 1 + int(count_of(m["n"] or "zero"))) for m in _P["exceeded"].finditer(text)),
        *(_rank(m, 1) for m in _P["any_other"].finditer(text)),
    ]
    return tuple(sorted(places, key=lambda rank: rank.span))


def _rank(match: re.Match[str], place: int) -> Rank:
    return Rank(Span(*match.span()), place, (match["order"] or "most").lower())


def _is_rank(superlative: re.Match[str]) -> bool:
    """Whether a superlative is of one thing: not "one of the largest", not "the protest"."""
    start = superlative.start()
    if _P["of_several"].search(superlative.string, max(0, start - _LONGEST_OF_SEVERAL), start):
        return False
    order = superlative["order"]
    return not order or is_superlative(f"{order}est".lower())


def is_superlative(word: str) -> bool:
    """Whether the "est" of a lower-case word is an ending: of "oldest", not of "honest"."""
    return word == "eldest" or word not in lemmas(word).get("ADJ", (word,))


def _place(nth: str | None) -> int:
    """Return the place that "third" or "3rd" means; the first if none is named."""
    nth = (nth or "first").lower()
    return ORDINALS.index(nth) + 1 if nth in ORDINALS else int(nth[:-2])


def place_of(number: float, field: Sequence[float], order: str) -> int | None:
    """Return the place of a number in a field in an order such as "high"; None if unclear."""
    up = order in _UPWARDS | {"most"}
    if len(field) < _LEAST_FIELD or not (up or order in _DOWNWARDS) or field.count(number) != 1:
        return None
    return sorted(field, reverse=up).index(number) + 1
