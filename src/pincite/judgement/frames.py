"""Frames: the words of `force.toml` by which a source weakens a statement, and what they govern.

"Was accused of" opens a frame over what follows it in its clause, "may" over the next verb. A frame
weakens a clause of a claim only if it governs the clause's own predicate, or most of its words
where the sentence lacks the predicate.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from pincite.text import patterns, syntax
from pincite.text import words as wording
from pincite.text.changes import is_superlative
from pincite.text.figures import figures
from pincite.text.finite import finite_verb, lemmas
from pincite.text.words import WORD, stem
from pincite.types import Span

_TABLES = tomllib.loads(Path(__file__).with_name("force.toml").read_text(encoding="utf-8"))
WORDS: Mapping[str, str] = _TABLES["words"]
_CLASS = re.compile(r"<(\w+)>")
_ENDS = re.compile(WORDS["ends"])
_JOINTS = re.compile(f"{WORDS['ends']}|{WORDS['joints']}")
_NEXT_WORD = re.compile(
    rf"(?:\s(?:\w+ly|{'|'.join(WORDS['skipped'].split())})\b)*\s(?P<word>[^\W\d_]+)"
)
_TO = re.compile(" to ")
_COUNTS = frozenset(("number", "percent"))  # kinds of figures that are no dates
SHOWN = 60  # characters of the source in a reason
# The share of a clause's words in a sentence that a frame must govern if that lacks its predicate.
_LEAST_GOVERNED = 0.75
_LEAST_GOVERNED_WITH_FIGURE = 0.5  # if a figure is among the words that it governs
_PAST_AUXILIARIES = frozenset(("was", "were", "had", "did"))
_P = patterns(__file__, "frames", prepositions="|".join(syntax.PREPOSITIONS))

# What part of a sentence the words of a frame qualify, which claims they weaken, and what of these
# they must qualify; `force.toml` describes each.
Reach: TypeAlias = Literal["opens", "precedes", "closes", "within", "throughout", "follows"]
Claims: TypeAlias = Literal["any", "present", "not future", "superlative", "unique"]
Governs: TypeAlias = Literal["words", "past", "value", "infinitive"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a text, and the words of the next one."""

    span: Span
    text: str
    following: str


def sentences(text: str) -> list[Sentence]:
    spans = wording.sentences_of(text)
    words = [span.of(text) for span in spans]
    return list(map(Sentence, spans, words, [*words[1:], ""]))


@dataclass(frozen=True, slots=True)
class Kind:
    """A way to weaken a statement; `force.toml` describes the fields."""

    name: str
    needs: re.Pattern[str] | None = None
    unless: re.Pattern[str] | None = None
    beside: re.Pattern[str] | None = None
    settled: re.Pattern[str] | None = None
    settled_by_words: bool = False
    claims: Claims = "any"
    governs: Governs = "words"
    of_amount: bool = False
    is_own: bool = False

    def may_weaken(self, sentence: Sentence) -> bool:
        """Whether a sentence, with the next one, meets the conditions on its other words."""
        if self.needs and not self.needs.search(f"{sentence.text} {sentence.following}"):
            return False
        barred = (self.unless, self.beside)
        return not any(words and words.search(sentence.text) for words in barred)


@dataclass(frozen=True, slots=True)
class Frame:
    """The words of a kind that have one reach."""

    kind: Kind
    reach: Reach
    words: re.Pattern[str]
    not_after: re.Pattern[str]  # the end of the text before words that weaken nothing: "did not"

    def scope(self, match: re.Match[str]) -> Span:
        """Return what part of a sentence a match of the words weakens; it may be empty."""
        sentence, end = match.string, match.end()
        # "planned to", but not "up to 1990"
        opens_infinitive = self.reach == "opens" and self.kind.governs != "past"
        if self.reach == "precedes" or (opens_infinitive and match[0].endswith("to")):
            following = _NEXT_WORD.match(sentence, end)
            return Span(*following.span("word")) if following else Span(end, end)
        is_whole = self.reach == "throughout" or self.kind.is_own
        # "denied that he stole it and left": the scope goes on behind "and"
        is_whole = is_whole or match[0].lower().endswith(("that", "whether"))
        joint = _ENDS if is_whole else _JOINTS
        ends = (border.end() for border in joint.finditer(sentence))
        start_of_clause = max((place for place in ends if place <= match.start()), default=0)
        if self.reach == "closes":
            return Span(start_of_clause, match.start())
        both_sides = self.reach in ("within", "throughout")
        start = start_of_clause if both_sides else end
        if match[0].endswith(":"):
            return Span(start, len(sentence))
        stop = (_TO if match[0].endswith(" from") else joint).search(sentence, end)
        return Span(start, stop.start() if stop else len(sentence))


def compile_words(lines: str) -> re.Pattern[str]:
    """Compile whole words in any case; a line is an alternative, `<say>` a form of a class."""
    alternatives = "|".join(with_classes(lines).strip().splitlines())
    return re.compile(rf"\b(?:{alternatives})(?!\w)", re.IGNORECASE)


def with_classes(expression: str) -> str:
    """Write out the classes of an expression: `<page>` as "version", "versions", …."""
    return _CLASS.sub(lambda name: _any_form(_TABLES["classes"][name[1]]), expression)


def _any_form(words: str) -> str:
    return rf"(?:{'|'.join(map(_inflections, words.split()))})\b"


def _inflections(word: str) -> str:
    """Return a pattern of a word's regular forms; some that it matches do not exist."""
    if word.endswith("e"):
        return rf"{word[:-1]}(?:e[sd]?|ing)"
    if word.endswith("y") and word[-2] not in "aeiou":
        return rf"{word[:-1]}(?:y|ies|ied|ying)"
    return rf"{word}(?:e?s|{word[-1]}?(?:ed|ing))?"


def _frames(kinds: Mapping[str, Mapping[str, Any]]) -> Iterator[Frame]:
    """Read tables of `force.toml`; an unknown key or value raises TypeError or ValueError."""
    for name, table in kinds.items():
        fields = dict(table)
        words = {reach: fields.pop(reach) for reach in get_args(Reach) if reach in fields}
        not_after = fields.pop("not_after", {})
        for key in ("needs", "unless", "beside"):
            if key in fields:
                fields[key] = compile_words(fields[key])
        if "settled" in fields:
            fields["settled"] = compile_words(_TABLES["settled"][fields["settled"]])
        kind = Kind(name, **fields)
        if kind.claims not in get_args(Claims) or kind.governs not in get_args(Governs):
            raise ValueError(f"{name}: {kind.claims}, {kind.governs}")
        for reach, lines in words.items():
            before = "|".join(filter(None, (WORDS["undone"], not_after.get(reach))))
            after_words = re.compile(rf"(?:{before})\s+\Z", re.IGNORECASE)
            yield Frame(kind, reach, compile_words(lines), after_words)


FRAMES = tuple(_frames(_TABLES["frames"]))
CORRECTIONS = tuple(_frames(_TABLES["corrections"]))


# ── The clause of a claim, and its terms ─────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Term:
    """A word or a figure in a text."""

    root: str
    span: Span


def terms_in(text: str, scope: Span) -> list[Term]:
    words = [Term(stem(word[0]), Span(*word.span())) for word in WORD.finditer(text, *scope)]
    counts = [
        Term(root, span)
        for root, span in _counts(text)
        if scope.start <= span.start and span.end <= scope.end
    ]
    return sorted([*words, *counts], key=lambda term: term.span.start)


@lru_cache(maxsize=4096)
def roots(text: str) -> frozenset[str]:
    """Return the stems of the content words, and the figures that are no dates."""
    return frozenset([*wording.roots(text), *(root for root, _ in _counts(text))])


def _counts(text: str) -> Iterator[tuple[str, Span]]:
    for figure in figures(text):
        if figure.kind in _COUNTS:
            yield f"{figure.value:g}", figure.span


def is_figure(root: str) -> bool:
    return root[0].isdigit()


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a claim, and the frames by which a sentence may weaken it."""

    text: str
    content: frozenset[str]  # the roots of its words and figures
    without_names: frozenset[str]  # those of them that are in no name
    predicate: str  # the root of its verb, or of the noun behind "is"; "": unknown
    frames: Sequence[Frame]


@lru_cache(maxsize=1024)  # a claim meets many passages
def read_clause(text: str, is_hedged: bool) -> Clause:
    """Read a clause; `is_hedged`: the claim does not state it as a fact."""
    predicate = _predicate(text)
    of_names = {root for name in wording.names(text) for root in roots(name)}
    # A claim that says itself "may" or "planned" is not weakened by these.
    finite_frames = [frame for frame in FRAMES if frame.kind.governs != "infinitive"]
    claimed = {frame.kind.name for frame in finite_frames if frame.words.search(text)}
    applying = [
        frame
        for frame in FRAMES
        if frame.kind.name not in claimed
        and (frame.kind.of_amount or not is_hedged)
        and _IS_CLAIM[frame.kind.claims](text)
        and (frame.kind.beside is None or frame.kind.beside.search(text))
    ]
    root = stem(predicate[0]) if predicate else ""
    return Clause(text, roots(text), roots(text) - of_names, root, applying)


def _predicate(text: str) -> re.Match[str] | None:
    """Return a clause's verb, or the noun behind its "is"."""
    if complement := _P["complement"].search(text):
        return WORD.match(text, complement.start("head"))
    finite = finite_verb(text)
    verb = WORD.match(text, finite.start) if finite and finite.form != "auxiliary" else None
    words = list(WORD.finditer(text))
    # A word before the verb may be the verb instead: "patients" may be one, too.
    for n, word in enumerate(words[1:], 1):
        if verb and word.start() >= verb.start():
            break
        before, after = words[n - 1][0], words[n + 1][0] if n + 1 < len(words) else ""
        if syntax.may_be_finite(word[0], before, after) and word[0] not in syntax.AUXILIARIES:
            return word
    return verb


def _is_present(text: str) -> bool:
    words = text.split()
    is_past = any(word in _PAST_AUXILIARIES or syntax.may_be_past(word) for word in words)
    return bool(_P["now"].search(text)) or not is_past


def _has_superlative(text: str) -> bool:
    return any(
        word in ("most", "least") or (word.endswith(("est", "worst")) and is_superlative(word))
        for word in text.split()
    )


_IS_CLAIM: Mapping[Claims, Callable[[str], bool]] = {
    "any": lambda text: True,
    "present": _is_present,
    "not future": lambda text: "will" not in text.split(),
    "superlative": _has_superlative,
    "unique": lambda text: _has_superlative(text) or bool(_P["unique"].search(text)),
}


# ── What a frame governs ─────────────────────────────────────────────────────────────────────────

# Verbs whose infinitive was done, "managed to", and other words whose infinitive need not be.
_DONE = frozenset(map(stem, WORDS["done"].split()))
_UNDONE_BY = frozenset(WORDS["undone_by"].split())


@dataclass(frozen=True, slots=True)
class Weakening:
    """The words by which a sentence weakens a clause."""

    words: str
    kind: Kind


def weakening_in(sentence: Sentence, clause: Clause) -> Weakening | None:
    """Return the first frame of a sentence that governs a clause, or that follows the sentence."""
    for frame in clause.frames:
        if frame.reach == "follows":
            if match := frame.words.match(sentence.following):
                return Weakening(match[0][:SHOWN], frame.kind)
        elif frame.kind.may_weaken(sentence):
            for match in frame.words.finditer(sentence.text):
                if words := _weakening_words(clause, frame, match):
                    return Weakening(words, frame.kind)
    return None


@dataclass(frozen=True, slots=True)
class _Governed:
    """The terms of a clause that are in a frame's scope in a sentence, at least one, in order."""

    clause: Clause
    sentence: str
    scope: Span
    terms: Sequence[Term]

    @property
    def roots(self) -> frozenset[str]:
        return frozenset(term.root for term in self.terms)

    @property
    def is_word(self) -> bool:
        return self.terms[0].span == self.scope

    @property
    def shared(self) -> frozenset[str]:
        """The clause's words, without names, that the sentence has anywhere."""
        return self.clause.without_names & roots(self.sentence)

    @property
    def only_here(self) -> frozenset[str]:
        """Those that it has among the terms, and neither before the first nor behind the last."""
        start, end = self.terms[0].span.start, self.terms[-1].span.end
        outside = roots(f"{self.sentence[:start]} {self.sentence[end:]}")
        return (self.clause.without_names & self.roots) - outside

    @property
    def has_predicate(self) -> bool:
        return self.clause.predicate in self.only_here


def _weakening_words(clause: Clause, frame: Frame, match: re.Match[str]) -> str:
    """Return the words of a frame, up to the predicate that it governs; "" if it governs none."""
    sentence, start = match.string, match.start()
    if frame.kind.governs == "infinitive":
        start = _start_of_undone(sentence[:start])
    if start < 0 or frame.not_after.search(sentence[:start]):
        return ""
    scope = frame.scope(match)
    terms = [term for term in terms_in(sentence, scope) if term.root in clause.content]
    if not terms or not _governs(frame.kind, _Governed(clause, sentence, scope, terms)):
        return ""
    last = next((term for term in terms if term.root == clause.predicate), terms[0])
    start, end = min(start, scope.start), max(match.end(), last.span.end)
    if end - start > SHOWN:
        end = match.end()
    return sentence[start:end].strip()[-SHOWN:]


def _start_of_undone(before: str) -> int:
    """Return where the word that governs "to" starts; -1 if it says that it was done."""
    governor = _P["governor"].search(before)
    if governor is None:
        return -1
    word = governor["word"].lower()
    kinds = lemmas(word)
    is_third_person = word.endswith("s") and "NOUN" not in kinds
    may_be_verb = is_third_person or syntax.is_participle(word) or syntax.may_be_past(word)
    is_undone = may_be_verb and stem(word) not in _DONE and "VERB" in kinds
    return governor.start() if is_undone or word in _UNDONE_BY else -1


def _governs(kind: Kind, governed: _Governed) -> bool:
    """Whether what a frame governs is the clause, not only some of its words."""
    if kind.beside:
        return _has_most_objects(governed, kind.beside)
    if kind.claims == "present" and not _is_no_longer(governed):
        return False
    return _IS_GOVERNED[kind.governs](governed)


def _has_most_objects(governed: _Governed, verb: re.Pattern[str]) -> bool:
    """Whether it is what the claim says was won: "nominated for the prize", "won the prize"."""
    text = governed.clause.text
    match = verb.search(text)
    objects = roots(text[match.end() :]) if match else frozenset[str]()
    return len(objects & governed.roots) > len(objects) / 2


def _is_no_longer(governed: _Governed) -> bool:
    """Whether half of a clause's words in a sentence are governed, and no verb there is present."""
    n_shared = len(governed.clause.content & roots(governed.sentence))
    is_half = governed.is_word or 2 * len(governed.roots) >= n_shared
    return is_half and not _P["now"].search(governed.scope.of(governed.sentence))


def _is_governed_by_words(governed: _Governed) -> bool:
    """Whether it has the clause's verb, or most of its words where the sentence lacks that."""
    shared, only_here = governed.shared, governed.only_here
    if governed.clause.predicate in shared:
        return governed.has_predicate
    if governed.is_word:
        return bool(only_here)
    has_figure = any(map(is_figure, only_here))
    share = _LEAST_GOVERNED_WITH_FIGURE if has_figure else _LEAST_GOVERNED
    has_all_figures = not any(map(is_figure, shared - only_here))
    return has_all_figures and len(only_here) >= max(1, share * len(shared))


def _is_governed_value(governed: _Governed) -> bool:
    """Whether it has a figure of the clause as well, or its verb: no "mayor" in "is the mayor"."""
    if any(map(is_figure, governed.only_here)):
        return _is_governed_by_words(governed)
    complement = _P["complement"].search(governed.clause.text)
    is_action = not complement or syntax.is_participle(complement["head"])
    is_in_sentence = governed.clause.predicate in governed.shared
    return governed.has_predicate and is_in_sentence and is_action


def _is_governed_past(governed: _Governed) -> bool:
    """Whether what a claim says in the present is in the past tense: "chaired", "was the mayor"."""
    clause, sentence, scope = governed.clause, governed.sentence, governed.scope
    if clause.predicate and not governed.has_predicate:
        return False
    claimed = terms_in(clause.text, Span(0, len(clause.text)))
    verbs = [term.span.of(clause.text) for term in claimed if term.root == clause.predicate]
    if _P["perfect"].search(clause.text) or any(map(syntax.may_be_past, verbs)):
        return False
    if not clause.predicate:
        return bool(_P["has"].search(clause.text) and _P["had"].search(scope.of(sentence)))
    places = [term.span for term in governed.terms if term.root == clause.predicate]
    return any(
        syntax.may_be_past(place.of(sentence))
        or _P["were"].search(sentence[scope.start : place.start])
        for place in places
    )


_IS_GOVERNED: Mapping[Governs, Callable[[_Governed], bool]] = {
    "words": _is_governed_by_words,
    "past": _is_governed_past,
    "value": _is_governed_value,
    "infinitive": lambda governed: governed.has_predicate,
}
