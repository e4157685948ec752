"""A claim in other words that mean the same: what must not cost it its verdict.

The counterpart of `swaps`: these serve training, and the measure "how often does a rewritten claim
keep its verdict". Chance comes from the caller, so that the same seed gives the same rewrites.
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from pincite.text.figures import MONTHS
from pincite.text.sentences import sentences

MIN_WORDS, MAX_WORDS = 5, 30  # of a sentence that is joined to a claim: neither scrap nor list
SMALLEST_ROUNDED = 10_000  # below it a number may be a year, or counted one by one
_MONTH = "|".join(MONTHS)
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}}) ({_MONTH}),? (\d{{4}})\b")
_MONTH_FIRST = re.compile(rf"\b({_MONTH}) (\d{{1,2}}), (\d{{4}})\b")
_ROUND = re.compile(r"(?<![\w.,$€£-])(\d{1,3}(?:,\d{3})+|\d{5,9})(?![\w%]|[.,-]\d)")
_BOUND = re.compile(r"\b(?:over|than|least|most|exactly|under|below|above|nearly) $", re.IGNORECASE)
_HEDGE = re.compile(r"\b(?:about|around|some|roughly|approximately) $", re.IGNORECASE)
_PERCENT = re.compile(r"(?<=\d) ?%(?!\w)")
_PER_CENT = re.compile(r"(?<=\d) per ?cent\b")
_LENGTH = re.compile(r"(?<![\w.,-])(\d{1,4}(?:\.\d+)?) (km|kilometres|kilometers|miles|mi)\b(?!/)")
_MILE = 1.609344  # kilometres, by definition (1959)
_WORDS = "one two three four five six seven eight nine ten eleven twelve".split()
_SMALL = re.compile(r"(?<![\w.,$€£:/–-])([2-9]|1[0-2]) (?=[a-z]{3,}s\b)(?!(?:percent|years old))")
_SPELT = re.compile(rf"\b({'|'.join(_WORDS[1:])}) (?=[a-z]{{3,}}s\b)")
# A relative clause or a gloss between commas may go: what is left still stands there.
_ADJUNCT = re.compile(
    r", (?:which|who|whose|where)\b[^,;.()]{8,80},(?= (?:is|was|are|were|has|had)\b)"
)
_GLOSS = re.compile(r" \([^()]{1,60}\)")
_LEAD = re.compile(r"^(?:However|Moreover|Furthermore|Additionally|Also|In addition), (?=\w)")
_DATE_LEAD = re.compile(rf"^In ((?:(?:{_MONTH}) )?\d{{4}}), ([A-Z][^.;]*[^.;\s])\.?$")


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A claim in other words, and the kind of change (one of KINDS)."""

    text: str
    kind: str


def rewritten(claim: str, chance: random.Random) -> Rewrite | None:
    """The claim with one change that keeps its meaning; None where it offers no place for any.

    >>> rewritten("It opened on 14 May 1911.", random.Random(1)).text
    'It opened on May 14, 1911.'
    """
    kinds = list(KINDS)
    chance.shuffle(kinds)
    for kind in kinds:
        if found := rewrite_of(kind, claim, chance):
            return found
    return None


def rewrite_of(kind: str, claim: str, chance: random.Random) -> Rewrite | None:
    """The claim with one change of `kind`; None where it offers no place for it."""
    said = KINDS[kind](claim, chance)
    return Rewrite(said, kind) if said and said != claim else None


def joined(claim: str, other: str, chance: random.Random) -> str | None:
    """The claim and a sentence of `other` as one statement; None where none of them suits."""
    suited = [
        text
        for span in sentences(other, "en")
        if MIN_WORDS <= len((text := span.of(other).strip()).split()) <= MAX_WORDS
        and text[0].isupper()
        and text not in claim
        and claim not in text
    ]
    if not suited:
        return None
    parts = [_ended(claim.strip()), _ended(chance.choice(suited))]
    chance.shuffle(parts)
    return " ".join(parts)


def _ended(sentence: str) -> str:
    return sentence if sentence[-1:] in ".!?" else f"{sentence}."


def _date(claim: str, chance: random.Random) -> str:
    said = _DAY_FIRST.sub(lambda m: f"{m[2]} {m[1]}, {m[3]}", claim)
    return said if said != claim else _MONTH_FIRST.sub(lambda m: f"{m[2]} {m[1]} {m[3]}", claim)


def _rounded(claim: str, chance: random.Random) -> str:
    """One large number to two or three digits, and said to be so."""
    found = [
        match
        for match in _ROUND.finditer(claim)
        if int(match[0].replace(",", "")) >= SMALLEST_ROUNDED
        and not _BOUND.search(claim[: match.start()])
    ]
    if not found:
        return claim
    match = chance.choice(found)
    value = int(match[0].replace(",", ""))
    step = 10 ** (len(str(value)) - chance.choice((2, 3)))
    near = round(value / step) * step
    before = claim[: match.start()]
    hedge = "" if _HEDGE.search(before) else "about "
    return f"{before}{hedge}{near:,}{claim[match.end() :]}" if near != value else claim


def _percent(claim: str, chance: random.Random) -> str:
    said = _PERCENT.sub(" percent", claim)
    return said if said != claim else _PER_CENT.sub("%", claim)


def _unit(claim: str, chance: random.Random) -> str:
    """One length in the other of kilometres and miles."""
    found = list(_LENGTH.finditer(claim))
    if not found:
        return claim
    match = chance.choice(found)
    in_km = match[2].startswith("k")
    value = float(match[1]) / _MILE if in_km else float(match[1]) * _MILE
    said = f"{value:.1f}" if value < 10 else f"{value:.0f}"
    unit = "miles" if in_km else "km"
    return f"{claim[: match.start()]}about {said} {unit}{claim[match.end() :]}"


def _spelt(claim: str, chance: random.Random) -> str:
    """Small counts of things in words, or in digits."""
    said = _SMALL.sub(lambda m: f"{_WORDS[int(m[1]) - 1]} ", claim)
    if said != claim:
        return said
    return _SPELT.sub(lambda m: f"{_WORDS.index(m[1]) + 1} ", claim)


def _dropped(claim: str, chance: random.Random) -> str:
    """Without what says more of a thing: the rest is implied by the whole."""
    for pattern, instead in ((_LEAD, ""), (_ADJUNCT, ""), (_GLOSS, "")):
        said = pattern.sub(instead, claim, count=1)
        if said != claim:
            return said[:1].upper() + said[1:]
    return claim


def _moved(claim: str, chance: random.Random) -> str:
    """The date at a sentence's start at its end."""
    match = _DATE_LEAD.match(claim)
    return f"{match[2]} in {match[1]}." if match else claim


KINDS: dict[str, Callable[[str, random.Random], str]] = {
    "date": _date,
    "rounded": _rounded,
    "percent": _percent,
    "unit": _unit,
    "spelt": _spelt,
    "dropped": _dropped,
    "moved": _moved,
}
