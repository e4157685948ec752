"""What in a source says otherwise than a claim, in words that a person can check at a glance.

"Lacks a detail" is not "says the contrary". A passage speaks against a claim only where one of its
sentences says the same of the same thing and differs in one place: another value of the same kind
("source: 1889 · claim: 1886"), a negation of the same predicate, a word that means the contrary,
another name in the same place. Each rule asks that the rest of the clause stands in that sentence
or in what is known of the page, so most passages have no witness; `docs/benchmarks.md` says how
often a witness was right.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pincite.core import contrasts, names, values, wording
from pincite.core.clauses import clauses
from pincite.core.sentences import sentences
from pincite.core.values import Value
from pincite.types import Span

WitnessKind = Literal["value", "name", "negation", "contrary"]


@dataclass(frozen=True, slots=True)
class Witness:
    """A place of the claim and what the source has there instead."""

    kind: WitnessKind
    claim: str  # the words of the claim
    source: str  # the words of the source
    sentence: Span  # in the passage's text: where a person sees it

    def __str__(self) -> str:
        """One line for a person."""
        if self.kind == "negation":
            return f"source: “{self.source}” · claim: “{self.claim}”"
        return f"source: {self.source} · claim: {self.claim}"


# Shares of the clause's other content words that the sentence (with the page's title) must hold.
# Chosen on half of claims/train's sets that the network never saw; docs/benchmarks.md.
_REST_OF_VALUE, _REST_OF_NAME, _REST_OF_TURN = 0.6, 0.75, 0.7
_LEAST_WORDS = 2  # content words beside the value that must be shared
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_NEGATION = re.compile(
    r"\b(?:not|never|cannot|neither|no)\b|n['’]t\b|\b(?:failed|refused|declined) to\b",
    re.IGNORECASE,
)
# "not only", "no fewer than": no denial of what follows.
_NO_DENIAL = re.compile(
    r"\b(?:not (?:only|just|merely|until|all|every|necessarily|least|more|less|fewer|exceed\w*|yet"
    r"|significantly|statistically)"
    r"|no (?:longer|later|sooner|fewer|less|more|doubt|one knows|matter|wonder|\d)|whether or not"
    r"|neither here|if not|or not|nos?\.)",
    re.IGNORECASE,
)
_REACH = 4  # words behind a negation in which its predicate stands


def witness(claim: str, passage: str, about: str = "", page: str = "") -> Witness | None:
    """What of the passage says otherwise; None where nothing does.

    Args:
        claim: the statement.
        passage: what is read.
        about: what is known of the page: title, date.
        page: more text of the same page, in which what the claim says may stand.

    >>> str(witness("The bridge opened in 1886.", "The bridge opened in 1889. It rained."))
    'source: 1889 · claim: 1886'
    >>> witness("The bridge opened in 1886.", "The bridge burnt in 1901.") is None
    True
    """
    return _witness(claim, passage, about, page)


@lru_cache(maxsize=4096)  # asked for as a feature and as a reason
def _witness(claim: str, passage: str, about: str, page: str) -> Witness | None:
    source = f"{about}\n{passage}\n{page}"
    spans = [span for span in sentences(passage) if not wording.is_heading(passage, span)]
    for part in _clauses(claim):
        for rule in (_of_value, _of_negation, _of_contrary, _of_name):
            found = rule(part, claim, source, _Read(passage, tuple(spans), about))
            if found:
                return found
    return None


@dataclass(frozen=True, slots=True)
class _Read:
    passage: str
    spans: tuple[Span, ...]
    about: str


def _clauses(claim: str) -> list[str]:
    found = [clause.text for clause in clauses(claim)]
    return found if len(found) > 1 else [claim]


# ── A value ──────────────────────────────────────────────────────────────────────────────────────


def _of_value(part: str, claim: str, source: str, read: _Read) -> Witness | None:
    absent = values.unstated(part, source)
    if not absent:
        return None
    claimed = values.values(claim)
    for value in absent:
        rest = _without(part, value.span)
        for span in read.spans:
            sentence = span.of(read.passage)
            rival = _rival(value, part, sentence, claimed)
            if rival and _says(rest, sentence, read.about, _REST_OF_VALUE):
                return Witness("value", value.span.of(part), rival.span.of(sentence), span)
    return None


def _rival(value: Value, part: str, sentence: str, claimed: Sequence[Value]) -> Value | None:
    """The one value of the sentence that stands where the claim has `value`."""
    same = [v for v in values.values(sentence) if v.measure == value.measure and not v.weak]
    if any(not values.conflict(v, value) for v in same):
        return None
    rivals = [v for v in same if not any(values.states(v, c) or values.states(c, v) for c in claimed)]
    if value.measure in ("", "share", "clock") or len(rivals) > 1:
        mine = _beside(value.span, part)
        rivals = [v for v in rivals if mine & _beside(v.span, sentence)]
    return rivals[0] if len(rivals) == 1 else None


def _beside(span: Span, text: str) -> set[str]:
    """The content words around a value: the two before and the two behind it."""
    before = wording.content_words(text[max(0, span.start - 40) : span.start])[-2:]
    return {*before, *wording.content_words(text[span.end : span.end + 40])[:2]}


# ── A negation ───────────────────────────────────────────────────────────────────────────────────


def _of_negation(part: str, claim: str, source: str, read: _Read) -> Witness | None:
    mine = _denied(part)
    for span in read.spans:
        sentence = span.of(read.passage)
        theirs = _denied(sentence)
        if bool(mine) == bool(theirs):
            continue
        denial, other = (theirs, part) if theirs else (mine, sentence)
        shared = [d for d in denial if d[1] & set(_stems(other))]
        if shared and _says(_NEGATION.sub(" ", part), sentence, read.about, _REST_OF_TURN):
            words = shared[0][0]
            if theirs:
                return Witness("negation", _like(shared[0][1], part), words, span)
            return Witness("negation", words, _like(shared[0][1], sentence), span)
    return None


def _denied(text: str) -> list[tuple[str, set[str]]]:
    """Each denial: its words, and the stems of what it denies."""
    found = []
    for match in _NEGATION.finditer(text):
        if _NO_DENIAL.match(text, match.start()):
            continue
        words = list(_WORD.finditer(text, match.end(), match.end() + 60))[:_REACH]
        stems = {stem for word in words for stem in _stems(word[0])}
        if stems:
            start = text.rfind(" ", 0, match.start()) + 1 if match[0][0] in "nN'" else match.start()
            found.append((text[start : words[-1].end()], stems))
    return found


def _stems(text: str) -> list[str]:
    """Content words without their endings, so that "opened" is found where "open" stands."""
    return [_ENDING.sub("", word) or word for word in wording.content_words(text, whole=True)]


_ENDING = re.compile(r"(?<=...)(?:(?:ing|ed|es|s|e|ly|d)|(?<=[a-z]{5}).*)\Z")


def _like(stems: set[str], text: str) -> str:
    """The words of `text` with one of the stems."""
    found = [m[0] for m in _WORD.finditer(text) if stems & set(_stems(m[0]))]
    return " ".join(found[:3])


# ── A word that means the contrary ───────────────────────────────────────────────────────────────


def _of_contrary(part: str, claim: str, source: str, read: _Read) -> Witness | None:
    for span in read.spans:
        sentence = span.of(read.passage)
        found = contrasts.contrasts(part, sentence)
        if len(found) != 1 or bool(_denied(part)) != bool(_denied(sentence)):
            continue
        mine, theirs = found[0]
        rest = re.sub(rf"\b{mine}\b", " ", part, flags=re.IGNORECASE)
        if _says(rest, sentence, read.about, _REST_OF_TURN):
            return Witness("contrary", mine, theirs, span)
    return None


# ── A name ───────────────────────────────────────────────────────────────────────────────────────

_SLOTS = frozenset("by in at from to of near for with called named against between on".split())
_RUN = r"[A-ZÀ-Þ][\w’'.-]*(?:\s(?:of\s|the\s|de\s|von\s|van\s)?[A-ZÀ-Þ][\w’'.-]*)*"
_SLOTTED = re.compile(rf"\b(?P<slot>[a-z]+)\s(?:the\s)?(?P<name>{_RUN})")


def _of_name(part: str, claim: str, source: str, read: _Read) -> Witness | None:
    absent = set(names.missing(part, source))
    if not absent:
        return None
    mine = [(slot, name) for slot, name in _slotted(part) if set(_words(name)) & absent]
    if len(mine) != 1:
        return None
    slot, name = mine[0]
    rest = part.replace(name, " ")
    for span in read.spans:
        sentence = span.of(read.passage)
        theirs = [n for s, n in _slotted(sentence) if s == slot and not names.is_in(n, claim)]
        if len(theirs) == 1 and _says(rest, sentence, read.about, _REST_OF_NAME):
            return Witness("name", name, theirs[0], span)
    return None


def _slotted(text: str) -> Iterator[tuple[str, str]]:
    """(the little word before it, name) for each name that has one."""
    for match in _SLOTTED.finditer(text):
        if match["slot"] in _SLOTS and not values.values(match["name"]):
            yield match["slot"], match["name"].rstrip(".,'’")


def _words(text: str) -> list[str]:
    return [match[0] for match in _WORD.finditer(text)]


# ── Of the same thing ────────────────────────────────────────────────────────────────────────────


def _without(text: str, span: Span) -> str:
    return f"{text[: span.start]} {text[span.end :]}"


def _says(rest: str, sentence: str, about: str, share: float) -> bool:
    """Whether the sentence, on its page, holds enough of the other words of the clause.

    Every name of the clause must be there too: of another person another value is true.
    """
    wanted = _stems(rest)
    held = set(wanted) & set(_stems(sentence))
    if len(held) < min(_LEAST_WORDS, len(set(wanted))) or not held:
        return False
    where = f"{about}\n{sentence}"
    known = set(_stems(where))
    n_known = sum(word in known for word in wanted)
    return n_known >= share * len(wanted) and not names.missing(rest, where)
