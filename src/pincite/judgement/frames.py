"""Frames: the words of `force.toml` by which a source weakens a statement, and what they govern.

"Was accused of" opens a frame over what follows it in its clause, "may" over the next verb. An
allegation goes on in the sentences that "it" or "the group" says after it. A correction takes back
what its frame governs, if the rest of the page does not state it.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from pincite.judgement.attribution import subject_name
from pincite.text import patterns
from pincite.text import words as wording
from pincite.text.figures import figures
from pincite.text.quantities import conflict, values
from pincite.types import Span, Witness, WitnessKind

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
_MOST_CORRECTIONS = 20  # of a page
_P = patterns(__file__, "corrections")

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
_ALLEGED = [
    frame for frame in FRAMES if frame.kind.name == "allegation" and frame.reach != "precedes"
]
ALLEGATION = _ALLEGED[0].kind
_SPEAKS, _GOES_ON, _DISPUTED = (
    re.compile(with_classes(WORDS[name])) for name in ("speaks", "goes_on", "disputed")
)


@lru_cache(maxsize=64)
def allegations(page: str) -> Mapping[str, str]:
    """Return the sentences in which an allegation goes on, with the words that began it.

    In the past perfect, they go on too. What anyone says is alleged where there is a dispute.
    """
    openers = dict[str, str]()
    for paragraph in page.split("\n"):
        is_disputed = bool(_DISPUTED.search(paragraph))
        opener, waiting = "", list[str]()
        for span in wording.sentences_of(paragraph):
            sentence = span.of(paragraph)
            speaks = bool(_SPEAKS.search(sentence))
            is_alleged = any(frame.words.search(sentence) for frame in _ALLEGED)
            if opener and _GOES_ON.search(sentence):
                openers |= dict.fromkeys([*waiting, sentence], opener)
                waiting = []
            elif is_alleged or (is_disputed and speaks):
                opener, waiting = sentence[:SHOWN], []
            elif speaks:
                opener, waiting = "", []
            elif opener:
                waiting.append(sentence)
    return openers


# ── What a frame governs ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Term:
    """A word or a figure in a text."""

    root: str
    span: Span


def terms_in(text: str, scope: Span) -> list[Term]:
    words = [
        Term(wording.stem(word[0]), Span(*word.span()))
        for word in wording.WORD.finditer(text, *scope)
    ]
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


# ── What a page takes back: "An earlier version gave 1877 as the year." ───────────────────────────


@dataclass(frozen=True, slots=True)
class _Correction:
    """What a page takes back, the words that show it, and whether the page wrote that itself."""

    scope: Span
    shown: Span
    is_own: bool


def find_correction(claim: str, passage: str, page: str) -> Witness | None:
    """Return where a page corrects a claim's figure or name, if it has it nowhere else."""
    # "At first, 40 were counted": the claim says so itself.
    is_first = any(frame.words.search(claim) for frame in CORRECTIONS if not frame.kind.is_own)
    for correction in _corrections(page):
        if (correction.is_own or not is_first) and _takes_back(correction, claim, page):
            words = correction.shown.of(page)
            at = passage.find(words)
            place = Span(at, at + len(words)) if at >= 0 else None
            return Witness(WitnessKind.WEAKER, "", words[:SHOWN], place)
    return None


def _takes_back(correction: _Correction, claim: str, page: str) -> bool:
    """Whether a correction has a figure, else a name, else all words, that the rest lacks."""
    scope = correction.scope
    withdrawn, rest = scope.of(page), f"{page[: scope.start]} {page[scope.end :]}"
    if wanted := _keys(claim):
        return not (wanted & _keys(withdrawn)) <= _keys(rest)
    names = {*wording.names(claim), *subject_name(claim).split()}
    if any(name in withdrawn and name not in rest for name in names):
        return True
    has_all = [roots(claim) <= roots(text) for text in (withdrawn, rest)]
    return correction.is_own and has_all == [True, False]


def _keys(text: str) -> set[tuple[str, float]]:
    return {figure.key for figure in figures(text)}


@lru_cache(maxsize=64)  # each passage of a page is read with the page
def _corrections(page: str) -> list[_Correction]:
    corrections = list[_Correction]()
    for sentence in sentences(page):
        at = sentence.span.start
        for frame in CORRECTIONS:
            is_own, is_marked = frame.kind.is_own, frame.kind.may_weaken(sentence)
            for match in frame.words.finditer(sentence.text):
                scope = frame.scope(match)
                if is_marked or (is_own and _has_rival(scope, sentence)):
                    shown = Span(at + match.start(), sentence.span.end)
                    corrections.append(_Correction(scope.moved(at), shown, is_own))
    return corrections[:_MOST_CORRECTIONS]


def _has_rival(scope: Span, sentence: Sentence) -> bool:
    """Whether the clause behind a scope repeats it with another value: "It cost 41 million"."""
    stated, rest = scope.of(sentence.text), f"{sentence.text[scope.end :]} {sentence.following}"
    if rest.startswith(","):
        return False
    clause = _P["clause_end"].split(rest.strip(" ;,"))[0]
    words = {root for root in roots(clause) if not is_figure(root)}
    if 2 * len(words & roots(stated)) < max(1, len(words)):
        return False
    return any(conflict(value, other) for value in values(stated) for other in values(clause))
