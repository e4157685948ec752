"""Detects antonyms, changes, ranks and replaced figures, which models tend to miss.

A contrast counts only if claim and quote each use one side, so "rose and then fell" is never
contrasted with "fell". A change is computed where a text gives its two values.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from pincite.text import LEXICON
from pincite.text import words as wording
from pincite.text.figures import ONES, ORDINALS, TENS, Figure, fold, missing, rivals
from pincite.text.finite import finite_verb, lemmas
from pincite.text.languages import common
from pincite.text.quantities import Value, hedged, values, with_hedge
from pincite.text.syntax import is_participle
from pincite.types import Span

_AXES, _TURNS, _BOUNDS = (
    LEXICON["contraries"][name].split("|") for name in ("axes", "turns", "bounds")
)


def _sides_of(axes: list[str]) -> dict[str, list[tuple[int, int]]]:
    found = dict[str, list[tuple[int, int]]]()
    for number, axis in enumerate(axes):
        for side, words in enumerate(axis.split("/")):
            for word in words.split():
                found.setdefault(word, []).append((number, side))
    return found


# Opposites anywhere; and those that reverse a sentence: "born" and "died" are two facts of one.
_SIDES, _SCALES = _sides_of(_TURNS + _AXES), _sides_of(_TURNS + _BOUNDS)
_TURNED = _sides_of(_TURNS)
_WORD = re.compile(r"(?<![\w'’])[a-z]+(?![\w'’])")  # excludes the "won" of "won't"

# The share of words that may be missing for two sentences to differ only in figures. A larger share
# would contrast "fell in 212 adults" with "fell by 1.8 days" where both are true.
_OTHER_WORDS = 0.1
_BEFORE, _AFTER = re.compile(r"(\w+)\W*\Z"), re.compile(r"\W*(\w+)")


def contrasts(claim: str, quote: str) -> list[tuple[str, str]]:
    """Pairs of a claim's word and its antonym in the quote, in claim order; English only.

    >>> contrasts("Sales rose in May.", "In May sales fell.")
    [('rose', 'fell')]
    """
    if common(claim, quote) != "en":
        return []
    claimed, quoted = _sides(claim), _sides(quote)
    found = []
    for axis, sides in claimed.items():
        others = quoted.get(axis, {})
        if len(sides) == len(others) == 1 and sides.keys() != others.keys():
            found.append((next(iter(sides.values())), next(iter(others.values()))))
    return found


_BOUND = 24  # characters from the first word of "no more than 500" to its number


class _Comparison(NamedTuple):
    word: str
    side: int
    left: frozenset[str]  # roots of what is compared, and with what
    right: frozenset[str]


def compare(claim: str, sentence: str) -> tuple[str, str, bool] | None:
    """Return by which words both compare the same two things, and whether they agree.

    They do if both have the same sense and order, or neither: "A exceeds B", "B is below A".

    >>> compare("Tin is above lead.", "Lead is lower than tin."), compare("It rose.", "It fell.")
    (('above', 'lower', True), ('rose', 'fell', False))
    """
    others = _comparisons(sentence)
    for axis, mine in _comparisons(claim).items():
        theirs = others.get(axis, mine)
        swapped = bool(mine.left & theirs.right and mine.right & theirs.left)
        known = theirs.left | theirs.right
        is_about = all(not one or one & known for one in (mine.left, mine.right))
        if swapped or (mine.word != theirs.word and is_about):
            return mine.word, theirs.word, (mine.side == theirs.side) != swapped
    return None


@lru_cache(maxsize=4096)
def _comparisons(text: str) -> dict[int, _Comparison]:
    """Return the last comparison on each axis of which a text has one side only."""
    lower, found = fold(text).lower(), dict[int, list[tuple[int, re.Match[str]]]]()
    for match in _WORD.finditer(lower[:1] + fold(text)[1:]):  # "Kesslow South" is a name
        for axis, side in _SCALES.get(match[0], ()):
            found.setdefault(axis, []).append((side, match))
    bounds = [value.span.start for value in values(text, "en") if value.sense] if found else []
    read = dict[int, _Comparison]()
    for axis, places in found.items():
        side, last = places[-1]
        of_number = any(0 <= n - last.start() <= _BOUND for n in bounds)
        if of_number or any(other != side for other, _ in places):
            continue
        than = _THAN.search(lower, last.end())
        cut = than.start() if than else last.start()
        words = {stem for _, match in places for stem in wording.roots(match[0])}
        left, right = ({*wording.roots(part)} - words for part in (lower[:cut], lower[cut:]))
        read[axis] = _Comparison(last[0], side, frozenset(left - right), frozenset(right - left))
    return read


def reverses_sentence(word: str) -> bool:
    """Whether the antonym of `word` denies all that is said with it, unlike "died" of "born"."""
    return word in _TURNED and not are_events(word)


def are_events(word: str) -> bool:
    """Whether both can happen to a thing in turn: "opened" and "closed"."""
    return _SIDES["opened"][0][0] in dict(_SIDES.get(word.lower(), ()))


def other_figures(claim: str, sentences: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of a claim's figure and the one in its place in an otherwise equal sentence.

    The claim's figure may occur elsewhere in the source, so it is not missing there, and models
    hardly notice a difference if all words match. Empty if any sentence states the claim with its
    figures.

    >>> other_figures("It was seen in 90 women.", ["Of 90 women, 9 fell.", "Seen in 40 women."])
    [('90', '40')]
    """
    same = [each for each in sentences if wording.missing_words(claim, each) <= _OTHER_WORDS]
    if not all(missing(claim, each) for each in same):
        return []
    return next(filter(None, (_replacements(claim, each) for each in same)), [])


def _replacements(claim: str, sentence: str) -> list[tuple[str, str]]:
    return [
        (figure.span.of(claim), other.span.of(sentence))
        for figure in missing(claim, sentence)
        for other in rivals(figure, claim, sentence)
        if _beside(figure, claim) & _beside(other, sentence)
    ]


def _beside(figure: Figure, text: str) -> set[tuple[str, str]]:
    before = _BEFORE.search(text[: figure.span.start])
    after = _AFTER.match(text, figure.span.end)
    found = {("before", before[1].lower())} if before else set()
    return found | ({("after", after[1].lower())} if after else set())


@lru_cache(maxsize=4096)  # each claim meets many quotes, each quote twice
def _sides(text: str) -> dict[int, dict[int, str]]:
    found: dict[int, dict[int, str]] = {}
    for word in _WORD.findall(fold(text).lower()):
        for axis, side in _SIDES.get(word, ()):
            found.setdefault(axis, {}).setdefault(side, word)
    return found


# ── Changes ──────────────────────────────────────────────────────────────────────────────────────


class Change(NamedTuple):
    """A change from an earlier value, or from that of another thing: stated, or worked out."""

    span: Span
    words: str
    low: float  # the least and the most that it may be; negative for a fall
    high: float
    measure: str  # "share" of the earlier value, or that of the two values; "any": no amount
    is_computed: bool = False
    than: frozenset[str] = frozenset()  # roots of the other thing, if it is no earlier value
    about: str = ""  # the part of the text that says what it is a change of; "": not known
    end: int = 0  # of the later value

    def agrees(self, other: "Change", slack: float = 0.0) -> bool | None:
        """Whether two changes may be one; None if they are of different things or measures.

        `slack`: the share of this one by which the other may lie outside its interval.
        """
        if self.measure in ("part", "majority"):
            return self._agrees_in_part(other)
        if (
            other.measure == "part"
            or bool(self.than) != bool(other.than)
            or (self.than and not self._is_than(other))
        ):
            return None
        if self.measure != other.measure and "any" not in (self.measure, other.measure):
            return None
        wide = slack * min(abs(self.low), abs(self.high))
        return self.low - wide <= other.high and other.low <= self.high + wide

    def _agrees_in_part(self, other: "Change") -> bool | None:
        """Compare shares of one whole."""
        meets = self.low <= other.high and other.low <= self.high
        known = self.measure == "majority" or other.is_computed
        of_same = not (self.than and other.than) or self.than & other.than
        return meets if other.measure == "part" and other.about and known and of_same else None

    def rest_of(self, claim: str) -> str:
        """Return what else a claim says, without the words that say that something changes."""
        before, after = claim[: self.span.start], claim[self.span.end :]
        after = after.partition(" than ")[0] if self.measure == "any" else after
        return _TURNING.sub(" ", f"{_CARRIED.sub(' ', before)} {after}")

    def _is_than(self, other: "Change") -> bool:
        known = other.than.union(wording.roots(other.about)) | _WHOLE
        return other.than - _WHOLE <= self.than <= known


_MULTIPLES = {"halved": 0.5, "doubled": 2.0, "tripled": 3.0, "trebled": 3.0, "quadrupled": 4.0}
_MULTIPLE = re.compile(rf"\b(?:{'|'.join(_MULTIPLES)})\b", re.IGNORECASE)
_NEARLY = 0.03  # "doubled" covers 1.94 to 2.06 times
_UP, _DOWN = (
    {word for word in side.split() if not re.match("more|less|improve|worse", word)} - {*_MULTIPLES}
    for side in _TURNS[0].split("/")
)
_WORDS = "|".join(sorted(_UP | _DOWN | {"up", "down", "lost"}))
_TURN = rf"(?<!\bmade )(?<!\bmake )\b(?P<turn>{_WORDS})\b"
_TURNING = re.compile(rf"{_TURN}|\bwent\b", re.IGNORECASE)
_HEDGE_WORDS = r"(?:(?:just|only|about|around|some|nearly|almost|over|under|more than) ){0,2}"
_BY = re.compile(
    rf"(?:\b(?:went|gone|go|goes) )?{_TURN}(?: again)?(?: [a-z]+ly)?(?P<by> by| of)?"
    rf" {_HEDGE_WORDS}(?:an? )?\Z",
    re.IGNORECASE,
)
_MORE = re.compile(r"\s(?P<turn>more|higher|greater|larger|fewer|less|lower|smaller)\b")
# "Cut the bill by a third".
_BY_OBJECT = re.compile(
    rf"{_TURN} (?P<object>[^.,;:]{{1,60}}?)(?P<by> by) {_HEDGE_WORDS}(?:an? )?\Z", re.IGNORECASE
)
_CARRIED = re.compile(r"\b(?:put|brought|built|gone|went|come|came)\b(?=[^.,;]*\Z)")
_AMOUNTS = {"more", "fewer", "less"}  # with a bare number: "20 smaller towns" are no change
_FALLS = _DOWN | {"down", "lost", "less"}
_COUNTS = {"gain", "gains", "gained", "lost", "cut"}  # with a bare number: "raised 500" is another
_NO_CHANGE = frozenset({"date", "clock", "time"})
_LARGER = "more|higher|greater|larger|bigger|longer|taller|older|wider|heavier|deeper|dearer"
_SMALLER = "fewer|less|lower|smaller|shorter|younger|narrower|lighter|cheaper"
# "More likely to vote than men", "fewer pupils than in 2019", "below the national average".
_THAN_OTHER = re.compile(
    rf"\b(?:(?P<up>{_LARGER})|{_SMALLER})(?: (?:likely|often|common))?\b(?P<what>[^.,;]{{0,80}}?)"
    r"\bthan (?P<than>(?!any\b|ever\b)[^.,;]+)|\b(?:(?P<above>above)|below) (?P<of>the [^.,;]+)",
    re.IGNORECASE,
)
_WHOLE = frozenset(wording.roots("whole rest other others average"))
# Between two values of one sentence, of which the second is of an earlier time or another thing.
_FROM_BEFORE = r"(?:up|down|(?:rise|fall|increase|drop)\b[^.;:]{0,20})"
_BESIDE = re.compile(
    r",? (?:as )?(?:compared (?:with|to)|against|versus|while|whereas) (?:about )?"
    rf"|,? (?P<was>(?:an? )?{_FROM_BEFORE} from) {_HEDGE_WORDS}"
)
_NEXT = re.compile(r",? and (?=(?:about |some )?[£$€]?\d)")
_PER = re.compile(r"\b(?:per|every|each) \Z")
_AGO = re.compile(
    rf"\b(?:the|an?|\d+|{'|'.join([*ONES, *TENS])}) (?:previous )?(?:year|month|week|decade)s?"
    r" (?:earlier|before|previously|ago)\b|\b(?:last|the previous) (?:year|month|week|decade)\b",
    re.IGNORECASE,
)
_OF_OTHER = re.compile(r"\b(?:in|for|across|of|among|at|the|an?) ", re.IGNORECASE)
# Words for any value: a text that adds no others goes on from the one before.
LEVEL_WORDS = frozenset(
    wording.roots(
        "figure number rate total average mean median amount level share proportion value estimate "
        "stand stood come came reached amounted year earlier before previous previously"
    )
)
_MOST_NEW = 4  # words that name another thing: "the rest of the region"
_TO = re.compile(rf"[^.;:]{{0,40}}\bto {_HEDGE_WORDS}\Z")
_THEN = re.compile(r"[^.;:]{0,30}\b(?:(?:1\d|20)\d\d|earlier|before|previous\w*|last)\b")
_THAN = re.compile(r"[^.,;]{0,60}?\bthan\b")
_FROM = re.compile(rf"\bfrom {_HEDGE_WORDS}\Z")


@lru_cache(maxsize=4096)
def stated_changes(text: str) -> tuple[Change, ...]:
    """Return the changes that a text states with an amount, in order.

    >>> [(c.words, c.low, c.measure) for c in stated_changes("It doubled and then lost 34 seats.")]
    [('doubled', 0.94, 'share'), ('lost 34', -34.0, '')]
    """
    text = fold(text)
    known = values(text, "en") if _TURNING.search(text) or _MORE.search(text) else ()
    found = [change for value in known if (change := _stated(value, text))]
    for match in _MULTIPLE.finditer(text):
        times = _MULTIPLES[match[0].lower()]
        whole = max(times, 1 / times)
        low, high, sense = hedged(text, match.start(), whole, whole * _NEARLY)
        high = math.inf if sense > 0 else high
        low, high = (1 / high, 1 / low) if times < 1 else (low, high)
        words = with_hedge(text, Value(Span(*match.span())))
        span = Span(match.end() - len(words), match.end())
        found.append(Change(span, words, low - 1, high - 1, "share"))
    return tuple(sorted(found, key=lambda change: change.span))


def _stated(value: Value, text: str) -> Change | None:
    start, end = value.span.start, value.span.end
    before, after = _BY.search(text, max(0, start - 60), start), _MORE.match(text, end)
    word = before or after
    by = None if word else _BY_OBJECT.search(text, max(0, start - 90), start)
    if by and not is_participle(by["object"].split()[-1]):  # not "rose, helped by 20 visitors"
        word = before = by
    if value.measure in _NO_CHANGE or value.weak or not word:
        return None
    turn, than = word["turn"].lower(), _THAN.match(text, word.end()) if word is after else None
    if than and not _THEN.match(text, than.end()):
        return None  # more than another has, not than before
    if word is after and not (than or value.measure or turn in _AMOUNTS):
        return None
    if word is before and not (before["by"] or value.measure == "share" or turn in _COUNTS):
        return None
    low, high = value.low, math.inf if value.sense > 0 else value.high
    if value.measure == "share":
        low, high = low / 100, high / 100
    if turn in _FALLS:
        low, high = -high, -low
    span = Span(before.start() if before else start, end if before else word.end())
    if word is by:
        words = f"{by['turn']}{text[by.start('by') : end]}"
        return Change(Span(by.start("by"), end), words, low, high, value.measure)
    return Change(span, span.of(text), low, high, value.measure)


def turn_alone(text: str) -> Change | None:
    """Return the change of a text that states its direction only, as "Visits fell".

    >>> turn_alone("Visits fell in 2024.").high < 0, turn_alone("Visits rose, then fell.")
    (True, None)
    """
    for match in _THAN_OTHER.finditer(text):
        other, span = match["than"] or match["of"], Span(*match.span())
        known, places = values(other, "en"), ranks(text)
        if any(not v.span.start for v in known) or any(r.span.overlaps(span) for r in places):
            continue  # "more than 500", "nowhere is it higher than here"
        low, high = (_LEAST, math.inf) if match["up"] or match["above"] else (-math.inf, -_LEAST)
        than = () if known or _AGO.search(other) else wording.roots(other)
        span = Span(span.start, match.start("what") if match["than"] else span.end)
        return Change(span, match[0].strip(), low, high, "any", than=frozenset(than))
    # "It lost the election" is no fall: these need a number.
    turns = (word for word in _TURNING.finditer(text) if word["turn"])
    found = [word for word in turns if word["turn"].lower() not in _COUNTS]
    sides = {word["turn"].lower() in _FALLS for word in found}
    turned = found[0] if len(sides) == 1 else None
    if not turned or turned[0].lower().endswith("er"):
        return None
    low, high = (-math.inf, -_LEAST) if True in sides else (_LEAST, math.inf)
    return Change(Span(*turned.span()), turned[0], low, high, "any")


def turns_both_ways(text: str) -> bool:
    """Whether a text has a rise and a fall: "rose in May and fell by 5 % in June"."""
    return len({w["turn"].lower() in _FALLS for w in _TURNING.finditer(text) if w["turn"]}) > 1


_LEAST = 1e-6  # a smaller change is none


def claimed_changes(claim: str) -> tuple[Change, ...]:
    """Return the changes that a claim states with an amount, else its direction, else its share."""
    turn = turn_alone(claim)
    return stated_changes(claim) or ((turn,) if turn else tuple(shares(claim)))


@lru_cache(maxsize=4096)
def changes_in(text: str) -> tuple[Change, ...]:
    """Return the changes of a sentence, or those that it makes with the next one."""
    if len(wording.sentences_of(text)) > 1:  # in the second, "of them" is a share of the first
        return (*side_by_side(text), *(share for share in shares(text) if not share.than))
    found = sorted((*stated_changes(text), *computed_changes(text)), key=lambda c: c.span)
    parts = list[Change]()
    for n, change in enumerate(found):
        before = [c.span.end for c in found[:n] if c.span.end <= change.span.start]
        after = [c.span.start for c in found[n:] if c.span.start >= change.span.end]
        whole = not before and not after
        about = text if whole else text[max(before, default=0) : change.span.end]
        parts.append(change._replace(about=about))
    return (*parts, *side_by_side(text), *shares(text))


def windows(text: str, sentences: Sequence[Span]) -> Iterator[Span]:
    """Yield each sentence, then each with the next one of its paragraph."""
    yield from sentences
    for one, other in pairwise(sentences):
        if text[one.end : other.start].isspace() and "\n\n" not in text[one.end : other.start]:
            yield Span(one.start, other.end)


def agreeing(claim: str, source: str) -> list[tuple[Change, Change]]:
    """Return the changes of a claim, each with what its source's figures allow that agrees.

    Figures that share fewer words with the claim than others of the source are of another thing.
    """
    if not (changes := claimed_changes(claim)):
        return []
    names = {root for name in wording.names(claim) for root in wording.roots(name)}
    own = {*wording.roots(claim)} - names
    near = [(len(own.intersection(wording.roots(c.about))), c) for c in worked_out(source)]
    most = max((shared for shared, _ in near), default=0)
    same = [change for shared, change in near if shared == most > 0]
    return [(one, other) for one in changes for other in same if one.agrees(other)]


@lru_cache(maxsize=512)
def worked_out(source: str) -> tuple[Change, ...]:
    """Return all changes that follow from two values of a source."""
    return tuple(
        change._replace(span=change.span.moved(span.start), end=change.end + span.start)
        for span in windows(source, wording.sentences_of(source))
        for change in changes_in(span.of(source))
        if change.is_computed
    )


@lru_cache(maxsize=4096)
def computed_changes(text: str) -> tuple[Change, ...]:
    """Return what follows from an earlier and a later value of one sentence, twice: as shares too.

    >>> computed_changes("It rose from 1,204 to 2,466.")[0].words
    '1,204 → 2,466: × 2.05'
    """
    found = list[Change]()
    known = [v for v in values(text, "en") if not v.weak and v.measure not in _NO_CHANGE]
    for one, other in pairwise(known):
        gap = one.span.end, other.span.start
        if other.measure and not one.measure:
            other = _without_unit(other, text)  # "from 40 to 80 tonnes"
        if one.measure != other.measure or min(one.low, other.low) <= 0:
            continue
        start = one.span.start
        is_from = _TO.match(text, *gap) and _FROM.search(text, max(0, start - 24), start)
        if is_from and _TURNING.search(text):
            found += _computed(one, other, text)
    return tuple(found)


@lru_cache(maxsize=4096)
def side_by_side(text: str) -> tuple[Change, ...]:
    """Return what follows from values of one measure that one or two sentences set side by side.

    Beside the value, the second has only words of the first, and a time or an owner.

    >>> [c.words for c in side_by_side("It has 640 members. In 2020 it had 910.")][:1]
    ['910 → 640: −30 %']
    >>> side_by_side("Rents are £640 in Varde, compared with £710 in Moss.")[0].words
    '£640 < £710'
    """
    text, found = fold(text), list[Change]()
    first, *others = _parts(text)
    about, known = first.of(text), _levels(first, text)
    for part in others:
        words, levels = part.of(text), _levels(part, text)
        if len(levels) == 1 and not levels[0].measure and [v.measure for v in known] == ["share"]:
            levels = [replace(levels[0], measure="share")]  # "The figure for England was 61.8."
        same = [v for v in known for other in levels if v.measure == other.measure]
        was = any(m["was"] and m.end() == part.start for m in _BESIDE.finditer(text))
        same = same[-1:] if was else same
        if not len(levels) == len(same) == 1 or min(same[0].low, levels[0].low) <= 0:
            continue
        one, other = same[0], levels[0]
        new = _new_words(part, other, text) - {*wording.roots(about)} - LEVEL_WORDS
        dates, times = (
            [d.years for v in values(each, "en") for d in v.dates[:1] if d.years]
            for each in (about, words)
        )
        ago = was or _AGO.search(words)
        if (times or ago) and not new:
            pair = (one, other) if dates and dates < times and not ago else (other, one)
            if ago or times != dates:
                found += (change._replace(about=about) for change in _computed(*pair, text))
        elif not times and 0 < len(new) <= _MOST_NEW and _OF_OTHER.search(words):
            mark = "<" if one.high < other.low else ">" if one.low > other.high else "≈"
            shown = f"{one.span.of(text)} {mark} {other.span.of(text)}"
            for change in _computed(other, one, text):
                found.append(change._replace(words=shown, than=frozenset(new), about=about))
    return tuple(found)


def _parts(text: str) -> list[Span]:
    """Cut one or two sentences where another value of the same may be set beside the first."""
    cuts = [Span(span.start, span.start) for span in wording.sentences_of(text)[1:]]
    cuts += [Span(*m.span()) for m in _BESIDE.finditer(text)]
    cuts += [Span(*m.span()) for m in _NEXT.finditer(text, cuts[0].end)] if cuts else []
    edges = [0, *(place for cut in sorted(cuts) for place in cut), len(text)]
    return [Span(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _levels(part: Span, text: str) -> list[Value]:
    ago = [Span(*m.span()) for m in _AGO.finditer(text)]
    moved = (replace(v, span=v.span.moved(part.start)) for v in values(part.of(text), "en"))
    return [
        v
        for v in moved
        if not (v.weak or v.measure in ("date", "clock") or any(map(v.span.overlaps, ago)))
        and not _PER.search(text, max(0, v.span.start - 8), v.span.start)
    ]


def _new_words(part: Span, value: Value, text: str) -> set[str]:
    """Return what a part says besides values and times, up to the comma behind its value."""
    end = text.find(", ", value.span.end, part.end)
    words = _AGO.sub(" ", text[part.start : end if end > 0 else part.end])
    return {*wording.roots(without(words, *values(words, "en")))}


def without(text: str, *some: Value) -> str:
    """Return a text without some of its values, which are in order."""
    for value in reversed(some):
        text = f"{text[: value.span.start]} {text[value.span.end :]}"
    return text


def _without_unit(value: Value, text: str) -> Value:
    """Return the number of a value with a unit; the value itself if it has none in figures."""
    number = re.match(r"[\d.,]*\d", value.span.of(text))
    bare = values(number[0], "en") if number else ()
    return replace(bare[0], span=value.span) if bare else value


def _computed(earlier: Value, later: Value, text: str) -> Iterator[Change]:
    span = Span(min(earlier.span, later.span).start, max(earlier.span, later.span).end)
    times = (later.low + later.high) / (earlier.low + earlier.high)
    amount = f"× {times:.2f}" if times >= 2 - _NEARLY * 2 else f"{100 * (times - 1):+.0f} %"
    words = f"{earlier.span.of(text)} → {later.span.of(text)}: {amount.replace('-', '−')}"
    low, high = later.low / earlier.high - 1, later.high / earlier.low - 1
    change = Change(span, words, low, high, "share", is_computed=True, end=later.span.end)
    yield change
    measure = "points" if later.measure == "share" else later.measure
    low, high = later.low - earlier.high, later.high - earlier.low
    yield change._replace(low=low, high=high, measure=measure)


# ── Shares ───────────────────────────────────────────────────────────────────────────────────────

_MAJORITY = re.compile(
    r"(?:\A|[,;] |\bthat )(?P<most>most)(?: of)?(?= )|\b(?P<more>most of)(?= )"
    r"|\b(?:the|a) (?:[a-z]+ )?(?:(?P<majority>majority)|minority) of(?= )",
    re.IGNORECASE,
)
_HEAD = 2  # words of a whole that may be its noun


@lru_cache(maxsize=4096)
def shares(text: str) -> tuple[Change, ...]:
    """Return the shares that a text states or its figures allow, in per cent, `than` the whole.

    >>> [(s.words, s.low, *s.than) for s in shares("Of the 80 mills, 11 shut.")]
    [('Of the 80 mills, 11: 14 %', 13.25, 'mil')]
    """
    text, found = fold(text), list[Change]()
    for match in _MAJORITY.finditer(text):
        low = 50.0 if any(match.groups()) else 0.0
        span = Span(match.start("most") if match["most"] else match.start(), match.end())
        low, high = low + _LEAST, low + 50 - _LEAST
        found.append(Change(span, span.of(text), low, high, "majority", than=_noun(text, span.end)))
    for value in values(text, "en"):
        if value.measure == "share" and not _MORE.match(text, value.span.end):
            words, end = value.span.of(text), value.span.end
            shown = f"{words}: {(value.low + value.high) / 2:.0f} %" if value.weak else words
            of, limits = text.startswith(" of ", end), (value.low, value.high)
            about = text if value.weak or of else ""  # a share of what?
            whole = frozenset(wording.roots(words)) if value.weak else frozenset[str]()
            whole = whole or (_noun(text, end + 3 * of) if of or value.weak else whole)
            found.append(Change(value.span, shown, *limits, "part", value.weak, whole, about, end))
    return tuple(found)


def _noun(text: str, start: int) -> frozenset[str]:
    """Return the roots of the noun phrase that starts there: up to its verb or a comma."""
    phrase = re.split(r"[.,;]", text[start : start + 60])[0]
    verb = finite_verb(phrase)
    return frozenset(wording.roots(phrase[: verb.start] if verb else phrase)[:_HEAD])


# ── Ranks ────────────────────────────────────────────────────────────────────────────────────────


class Rank(NamedTuple):
    """A place in an order: third of 24, the second-largest, one that only two exceed."""

    span: Span
    place: int
    order: str  # the stem of "largest" or "larger"; "" where only the place is stated

    def is_same(self, other: "Rank") -> bool:
        return self.place == other.place and other.order in ("", self.order)


_ORDINAL = "|".join(ORDINALS[1:])
_COUNT = "|".join(ONES)
_SUPERLATIVE = re.compile(
    rf"\b(?:the|its|their|his|her)(?:\s+(?P<nth>{_ORDINAL}|[2-9](?:nd|rd|th)))?[ -]+"
    r"(?:(?P<order>[a-z]{2,}(?=est\b))est|(?P<most>most) [a-z]+)\b",
    re.IGNORECASE,
)
_PLACED = re.compile(
    rf"\b(?:ranked|came|finished|placed|was|is) (?P<nth>first|{_ORDINAL}|\d{{1,4}}(?:st|nd|rd|th))"
    r"(?= (?:out )?of \S)",  # the size of the field is no place
    re.IGNORECASE,
)
_EXCEEDED = re.compile(
    rf"\b(?:no other|nowhere|(?:only|just) (?P<n>{_COUNT}))\b[^.,;]{{1,60}}?\b"
    r"(?:as (?P<much>much|many)|(?P<more>more)|(?P<order>[a-z]{2,}(?=er\b))er)\b"
    r"(?=[^.;]{0,80} (?:as|than) )",
    re.IGNORECASE,
)
_ANY_OTHER = re.compile(
    r"\b(?:(?P<more>more)|(?P<order>[a-z]{2,}(?=er\b))er)\b[^.,;]{0,60}?\bthan any(?:where|one)?"
    r" (?:other|else)\b",
    re.IGNORECASE,
)
_UPWARDS, _DOWNWARDS = (
    {word.removesuffix("er") for word in words.split("|")} for words in (_LARGER, _SMALLER)
)
_LEAST_FIELD = 3  # things, of which one may be the first
_OF_SOME = re.compile(r"\b(?:one|some|two|three|many|several|among|\d+)(?: of)? \Z", re.IGNORECASE)


def place_of(number: float, field: Sequence[float], order: str) -> int | None:
    """Return the place of a number in a field in an order such as "high"; None if unclear."""
    up = order in _UPWARDS | {"most"}
    if len(field) < _LEAST_FIELD or not (up or order in _DOWNWARDS) or field.count(number) != 1:
        return None
    return sorted(field, reverse=up).index(number) + 1


def follows(claim: str, source: str) -> list[Span]:
    """Return the changes and ranks of a claim that follow from values or ranks of a source."""
    places = ranks(claim)
    others = ranks(source) if places else ()
    return [
        *(change.span for change, _ in agreeing(claim, source)),
        *(rank.span for rank in places if any(map(rank.is_same, others))),
    ]


@lru_cache(maxsize=4096)
def ranks(text: str) -> tuple[Rank, ...]:
    """Return the ranks that a text states, in order.

    >>> [rank[1:] for rank in ranks("It is the second-tallest; only two are wider than it.")]
    [(2, 'tall'), (3, 'wid')]
    """
    text, found = fold(text), list[Rank]()
    forms = _SUPERLATIVE, _PLACED, _EXCEEDED, _ANY_OTHER
    for match in (m for form in forms for m in form.finditer(text)):
        if match.re is _SUPERLATIVE and _OF_SOME.search(
            text, max(0, match.start() - 12), match.start()
        ):
            continue
        parts = match.groupdict()
        if match.re is _SUPERLATIVE and parts["order"]:
            word = f"{parts['order']}est".lower()
            if word in lemmas(word).get("ADJ", (word,)) and word != "eldest":
                continue  # "the second protest"
        if match.re is _EXCEEDED:
            place = 1 + (ONES.index(parts["n"].lower()) + 1 if parts["n"] else 0)
        else:
            nth = (parts.get("nth") or "first").lower()
            place = ORDINALS.index(nth) + 1 if nth in ORDINALS else int(nth[:-2])
        more = parts.get("most") or parts.get("more") or parts.get("much")
        order = (parts.get("order") or ("most" if more else "")).lower()
        found.append(Rank(Span(*match.span()), place, order))
    return tuple(sorted(found))
