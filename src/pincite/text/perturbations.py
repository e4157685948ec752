"""Changes a claim in one place: another figure, another name, a negation added or removed.

A verifier trained without such pairs scores both as true. They are used in training, calibration,
and the metric "how often does the changed claim score lower". The caller provides the random
generator, so that a seed reproduces the changes.

The hard kinds use only words of the source or the claim: an antonym, two names or values swapped,
another value from the same source. Looking for missing words does not detect them.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pincite.text import LEXICON, figures, words
from pincite.types import Span

KINDS = ("number", "date", "name", "negation")
HARD_KINDS = ("contrary", "exchange", "rival")
_STEPS = (-20, -10, -3, -2, -1, 1, 2, 3, 10, 20)
# The first match is negated; after "is" and the like "not" may follow.
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|has been|have been|had been|has|have|had|can|could|will|would|may|might"
    r"|should|must|does|do|did)\b(?! (?:not|no|never)\b)"
)
_NOT = re.compile(r"\b(?:do|does|did) not (?=[a-z])|\b(?:not|never) |\bno (?=[a-z])")


@dataclass(frozen=True, slots=True)
class Swap:
    """A changed claim, the kind of change (one of KINDS), and where the original was changed."""

    text: str
    kind: str
    span: Span


def swap_of(
    kind: str, claim: str, names: Sequence[str], chance: random.Random, evidence: str = ""
) -> Swap | None:
    """Apply one change of `kind`; None if the claim has no place for it.

    Args:
        kind: one of KINDS or HARD_KINDS.
        claim: the claim to change.
        names: names from other claims, as replacements.
        chance: chooses the place and the replacement.
        evidence: the claim's evidence, from which a "rival" is taken.
    """
    if kind == "name":
        return _other_name(claim, names, chance)
    if kind == "rival":
        return _rival(claim, evidence, chance)
    if kind == "negation":
        return negated(claim)
    made = {"contrary": _contrary, "exchange": _exchanged, "number": _other_number}
    return made.get(kind, _other_date)(claim, chance)


def negated(claim: str) -> Swap | None:
    """Insert "not" after the first auxiliary, or remove an existing "not".

    >>> negated("The bridge was opened in 1911.").text
    'The bridge was not opened in 1911.'
    """
    denied = _NOT.search(claim)
    if denied:
        return Swap(
            claim[: denied.start()] + claim[denied.end() :], "negation", Span(*denied.span())
        )
    found = _AUXILIARY.search(claim)
    if not found:
        return None
    end = found.end() if " " not in found[0] else found.start() + found[0].index(" ")
    return Swap(f"{claim[:end]} not{claim[end:]}", "negation", Span(*found.span()))


def _other_number(claim: str, chance: random.Random) -> Swap | None:
    found = [f for f in figures.figures(claim) if f.kind in ("number", "percent")]
    return _moved([f for f in found if not _by_month(claim, f.span)], claim, "number", chance)


def _other_date(claim: str, chance: random.Random) -> Swap | None:
    dates = [f for f in figures.figures(claim) if f.kind == "year" or _by_month(claim, f.span)]
    months = [f for f in figures.figures(claim) if f.kind == "month"]
    if months and (not dates or chance.random() < 0.5):
        span = chance.choice(months).span
        old = span.of(claim)
        new = chance.choice([m for m in figures.MONTHS if m[:3].lower() != old[:3].lower()])
        return Swap(claim[: span.start] + new + claim[span.end :], "date", span)
    return _moved(dates, claim, "date", chance)


def _moved(
    found: Sequence[figures.Figure], claim: str, kind: str, chance: random.Random
) -> Swap | None:
    digits = [(f.span, m) for f in found if (m := re.match(r"\d{1,18}(?!\d)", f.span.of(claim)))]
    if not digits:
        return None
    span, match = chance.choice(digits)
    changed = abs(int(match[0]) + chance.choice(_STEPS))
    if str(changed) == match[0]:  # abs() may restore it: |5 − 10| = 5
        changed += 1
    end = span.start + len(match[0])
    return Swap(claim[: span.start] + str(changed) + claim[end:], kind, Span(span.start, end))


def _other_name(claim: str, others: Sequence[str], chance: random.Random) -> Swap | None:
    own = [name for name in words.names(claim) if name in claim]
    different = [other for other in others if other not in claim]
    if not own or not different:
        return None
    name, new = chance.choice(own), chance.choice(different)
    start = claim.index(name)
    span = Span(start, start + len(name))
    return Swap(claim[:start] + new + claim[span.end :], "name", span)


_CONTRARY = {
    word: other
    for pair in LEXICON["contraries"]["pairs"].split(",")
    for word, other in (pair.split(), pair.split()[::-1])
}
_VALUES = ("number", "percent", "year")
_RUN = re.compile(r"[^\W\d_a-z][\w’.-]*\w(?: [^\W\d_a-z][\w’.-]*\w)*")
_IN_A_NAME = re.compile(r"\w-\Z|[^\W\d_]\Z")
_LOWER_WORD = re.compile(r"(?<![\w-])[a-z]+(?![\w-])")
_ARTICLE = re.compile(r"\b(an?) \Z", re.IGNORECASE)


def _contrary(claim: str, chance: random.Random) -> Swap | None:
    found = [m for m in _LOWER_WORD.finditer(claim) if m[0] in _CONTRARY]
    if not found:
        return None
    match = chance.choice(found)
    start, new = match.start(), _CONTRARY[match[0]]
    if article := _ARTICLE.search(claim, 0, start):
        right = article[1][0] + ("n" if new[0] in "aeiou" else "")
        if right != article[1]:
            start, new = article.start(1), f"{right} {new}"
    text = claim[:start] + new + claim[match.end() :]
    return Swap(text, "contrary", Span(start, match.end()))


# Words between two things whose order does not matter, or that form one name.
_SYMMETRIC = re.compile(
    r"[^\w]*(?:(?:and|or|with|of|in|the|met|married|versus|vs)[^\w]+)*", re.IGNORECASE
)
_JOINING = re.compile(
    r"\b(?:between|both|either|together|marri\w+|met|same|among)\b", re.IGNORECASE
)


def _exchanged(claim: str, chance: random.Random) -> Swap | None:
    if _JOINING.search(claim):
        return None
    alike = [_spans_of_names(claim), *(_spans_of_values(claim, kind) for kind in _VALUES)]
    couples = [couple for spans in alike for couple in _couples(spans, claim)]
    if not couples:
        return None
    one, other = chance.choice(couples)
    middle = claim[one.end : other.start]
    text = claim[: one.start] + other.of(claim) + middle + one.of(claim) + claim[other.end :]
    return Swap(text, "exchange", Span(one.start, other.end))


def _couples(spans: Sequence[Span], claim: str) -> list[tuple[Span, Span]]:
    return [
        (one, other)
        for one, other in pairwise(spans)
        if one.of(claim) != other.of(claim)
        and not _SYMMETRIC.fullmatch(claim[one.end : other.start])
    ]


def _spans_of_names(text: str) -> list[Span]:
    known = set(words.names(text))
    found = []
    for match in _RUN.finditer(text):
        first, _, rest = match[0].partition(" ")
        opens = not words.content_words(first)  # "In Skov"
        if known.intersection((rest if opens else match[0]).split()):
            found.append(Span(match.start() + (len(first) + 1) * opens, match.end()))
    return found


def _spans_of_values(text: str, kind: str) -> list[Span]:
    """Values of a kind, without numbers in names such as X-15."""
    found = (f.span for f in figures.figures(text) if f.kind == kind)
    return [
        span for span in found if not _IN_A_NAME.search(text, max(0, span.start - 2), span.start)
    ]


def _rival(claim: str, evidence: str, chance: random.Random) -> Swap | None:
    """Replace a value or name by another of its kind from the evidence."""
    places: list[tuple[Span, list[str]]] = []
    for kind in _VALUES:
        others = _others(_spans_of_values(evidence, kind), evidence, claim)
        places += [(span, others) for span in _spans_of_values(claim, kind)]
    names = _others(_spans_of_names(evidence), evidence, claim)
    for span in _spans_of_names(claim):
        n_words = len(span.of(claim).split())
        places.append((span, [name for name in names if len(name.split()) == n_words]))
    places = [(span, others) for span, others in places if others]
    if not places:
        return None
    span, others = chance.choice(places)
    return Swap(claim[: span.start] + chance.choice(others) + claim[span.end :], "rival", span)


def _others(spans: Sequence[Span], text: str, claim: str) -> list[str]:
    return sorted({found for span in spans if (found := span.of(text)) not in claim})


def _by_month(claim: str, span: Span) -> bool:
    near = claim[max(0, span.start - 12) : span.start] + " " + claim[span.end : span.end + 12]
    return any(figure.kind == "month" for figure in figures.figures(near))
