"""Changes a claim in one place: another figure, another name, a negation added or removed.

A verifier trained without such pairs scores both as true. The caller provides the random generator,
so that a seed reproduces the changes. The hard kinds use only words of the source or the claim: an
antonym, two names or values swapped, another value from the same source. Looking for missing words
does not detect them.
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
class Perturbation:
    """A changed claim, the kind of change (one of KINDS), and where the original was changed."""

    text: str
    kind: str
    span: Span


def perturb(
    kind: str, claim: str, names: Sequence[str], chance: random.Random, evidence: str = ""
) -> Perturbation | None:
    """Apply a change of one of KINDS or HARD_KINDS; None if the claim has no place for it.

    `names` of other claims replace a name; `chance` chooses the place and the replacement. A
    "rival" is taken from the claim's evidence.
    """
    if kind == "name":
        return _other_name(claim, names, chance)
    if kind == "rival":
        return _rival(claim, evidence, chance)
    if kind == "negation":
        return negate(claim)
    functions = {"contrary": _contrary, "exchange": _exchange, "number": _other_number}
    return functions.get(kind, _other_date)(claim, chance)


def _replace(claim: str, span: Span, words_: str, kind: str) -> Perturbation:
    return Perturbation(claim[: span.start] + words_ + claim[span.end :], kind, span)


def negate(claim: str) -> Perturbation | None:
    """Insert "not" after the first auxiliary, or remove an existing "not".

    >>> negate("The bridge was opened in 1911.").text
    'The bridge was not opened in 1911.'
    """
    if denial := _NOT.search(claim):
        return _replace(claim, Span(*denial.span()), "", "negation")
    auxiliary = _AUXILIARY.search(claim)
    if not auxiliary:
        return None
    first, space, rest = auxiliary[0].partition(" ")
    return _replace(claim, Span(*auxiliary.span()), f"{first} not{space}{rest}", "negation")


def _other_number(claim: str, chance: random.Random) -> Perturbation | None:
    numbers = [f for f in figures.figures(claim) if f.kind in ("number", "percent")]
    spans = [f.span for f in numbers if not _by_month(claim, f.span)]
    return _shift_number(spans, claim, "number", chance)


def _other_date(claim: str, chance: random.Random) -> Perturbation | None:
    quantities = figures.figures(claim)
    dates = [f.span for f in quantities if f.kind == "year" or _by_month(claim, f.span)]
    months = [f.span for f in quantities if f.kind == "month"]
    if months and (not dates or chance.random() < 0.5):
        span = chance.choice(months)
        old = span.of(claim)[:3].lower()
        new = chance.choice([m for m in figures.MONTHS if m[:3].lower() != old])
        return _replace(claim, span, new, "date")
    return _shift_number(dates, claim, "date", chance)


def _shift_number(
    spans: Sequence[Span], claim: str, kind: str, chance: random.Random
) -> Perturbation | None:
    """Change the number that one of the spans begins with by a few."""
    digits = [(s.start, m[0]) for s in spans if (m := re.match(r"\d{1,18}(?!\d)", s.of(claim)))]
    if not digits:
        return None
    start, number = chance.choice(digits)
    changed = abs(int(number) + chance.choice(_STEPS))
    if str(changed) == number:  # abs() may restore it: |5 − 10| = 5
        changed += 1
    return _replace(claim, Span(start, start + len(number)), str(changed), kind)


def _by_month(claim: str, span: Span) -> bool:
    near = claim[max(0, span.start - 12) : span.start] + " " + claim[span.end : span.end + 12]
    return any(figure.kind == "month" for figure in figures.figures(near))


def _other_name(claim: str, others: Sequence[str], chance: random.Random) -> Perturbation | None:
    own = [name for name in words.names(claim) if name in claim]
    different = [other for other in others if other not in claim]
    if not own or not different:
        return None
    name, new = chance.choice(own), chance.choice(different)
    start = claim.index(name)
    return _replace(claim, Span(start, start + len(name)), new, "name")


# ── Hard kinds ──────────────────────

_CONTRARY = {
    word: other
    for pair in LEXICON["contraries"]["pairs"].split(",")
    for word, other in (pair.split(), pair.split()[::-1])
}
_VALUES = ("number", "percent", "year")
_RUN = re.compile(r"[^\W\d_a-z][\w’.-]*\w(?: [^\W\d_a-z][\w’.-]*\w)*")
_IN_A_NAME = re.compile(r"\w-\Z|[^\W\d_]\Z")
_LOWER_WORD = re.compile(r"(?<![\w-])[a-z]+(?![\w-])")
_ARTICLE = re.compile(r"\b(an?) \Z", re.I)
# Words between two things whose order does not matter, or that form one name.
_SYMMETRIC = re.compile(r"[^\w]*(?:(?:and|or|with|of|in|the|met|married|versus|vs)[^\w]+)*", re.I)
_JOINING = re.compile(r"\b(?:between|both|either|together|marri\w+|met|same|among)\b", re.I)


def _contrary(claim: str, chance: random.Random) -> Perturbation | None:
    matches = [m for m in _LOWER_WORD.finditer(claim) if m[0] in _CONTRARY]
    if not matches:
        return None
    match = chance.choice(matches)
    start, new = match.start(), _CONTRARY[match[0]]
    if article := _ARTICLE.search(claim, 0, start):
        right = article[1][0] + ("n" if new[0] in "aeiou" else "")
        if right != article[1]:
            start, new = article.start(1), f"{right} {new}"
    return _replace(claim, Span(start, match.end()), new, "contrary")


def _exchange(claim: str, chance: random.Random) -> Perturbation | None:
    if _JOINING.search(claim):
        return None
    alike = [_names(claim), *(_values(claim, kind) for kind in _VALUES)]
    couples = [
        (one, other)
        for spans in alike
        for one, other in pairwise(spans)
        if one.of(claim) != other.of(claim)
        and not _SYMMETRIC.fullmatch(claim[one.end : other.start])
    ]
    if not couples:
        return None
    one, other = chance.choice(couples)
    exchanged = other.of(claim) + claim[one.end : other.start] + one.of(claim)
    return _replace(claim, Span(one.start, other.end), exchanged, "exchange")


def _rival(claim: str, evidence: str, chance: random.Random) -> Perturbation | None:
    """Replace a value or name by another of its kind from the evidence."""

    def others(spans: Sequence[Span]) -> list[str]:
        return sorted({text for span in spans if (text := span.of(evidence)) not in claim})

    places: list[tuple[Span, list[str]]] = []
    for kind in _VALUES:
        values = others(_values(evidence, kind))
        places += [(span, values) for span in _values(claim, kind)]
    names = others(_names(evidence))
    for span in _names(claim):
        n_words = len(span.of(claim).split())
        places.append((span, [name for name in names if len(name.split()) == n_words]))
    places = [(span, choices) for span, choices in places if choices]
    if not places:
        return None
    span, choices = chance.choice(places)
    return _replace(claim, span, chance.choice(choices), "rival")


def _names(text: str) -> list[Span]:
    known = set(words.names(text))
    spans = []
    for match in _RUN.finditer(text):
        first, _, rest = match[0].partition(" ")
        opens = not words.content_words(first)  # "In Skov"
        if known.intersection((rest if opens else match[0]).split()):
            spans.append(Span(match.start() + (len(first) + 1) * opens, match.end()))
    return spans


def _values(text: str, kind: str) -> list[Span]:
    """Values of a kind, without numbers in names such as X-15."""
    spans = [f.span for f in figures.figures(text) if f.kind == kind]
    return [s for s in spans if not _IN_A_NAME.search(text, max(0, s.start - 2), s.start)]
