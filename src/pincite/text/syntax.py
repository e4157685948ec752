"""Tokens, finite verbs and possible cuts of a sentence, for splitting claims.

Word lists and endings decide whether a word is certainly a finite verb; one that may be a noun, an
adjective or a participle counts only if its neighbours decide. Offsets refer to the claim. Text in
brackets or quotation marks is skipped.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from pincite.text import words_of
from pincite.types import Span

AUXILIARIES, BE, PARTICIPLES, TRANSITIVE = (
    words_of("verbs", name) for name in ("auxiliaries", "be", "participles", "transitive")
)
_PAST, _EITHER, _MORE_PAST, _NOT_PAST, _PRESENT, _PLURAL_PRESENT, _MAYBE_NOUN, _MODALS = (
    words_of("verbs", name)
    for name in (
        *("past", "either", "more_past", "not_past"),
        *("present", "plural_present", "maybe_noun", "modals"),
    )
)
DETERMINERS, PRONOUNS, PREPOSITIONS, SUBORDINATORS = (
    words_of("particles", name)
    for name in ("determiners", "pronouns", "prepositions", "subordinators")
)
PARTICLES = DETERMINERS | PRONOUNS | PREPOSITIONS | SUBORDINATORS
_BEFORE_NOUN, _BEFORE_INFINITE, _SUBJECTS_ONLY, _OPENERS, _ADVERBS = (
    words_of("particles", name)
    for name in ("before_noun", "before_infinite", "subjects_only", "openers", "adverbs")
)
_COMPLEMENT_OPENERS = DETERMINERS | PREPOSITIONS | PRONOUNS | _OPENERS
_INNER = frozenset({"be", "been", "being", "have"})  # words within a verb: "has been opened"
_LIKE_ADVERB = re.compile(r"[a-z]{3,}ly")


def is_adverb(word: str) -> bool:
    """Whether a word is an adverb that may precede a verb: "later", "finally"."""
    return word in _ADVERBS or bool(_LIKE_ADVERB.fullmatch(word))


def is_participle(word: str) -> bool:
    """Whether a word may follow "was" or "had" as part of the verb."""
    return word in PARTICIPLES or word in _EITHER or _is_regular(word)


def is_finite(word: str, before: str, after: str) -> bool:
    """Whether `word` is certainly a finite verb, given its neighbours ("" at an end).

    >>> is_finite("opened", "bridge", "in"), is_finite("abandoned", "The", "mine")
    (True, False)
    """
    if before.lower() in DETERMINERS | PREPOSITIONS | _BEFORE_INFINITE:
        return False
    if word in AUXILIARIES or word in _PAST:
        return True
    if word in _PRESENT or may_be_past(word):
        alone = before.lower() in _SUBJECTS_ONLY  # "it", "who": followed by their verb
        return (alone or opens_complement(after)) and after != "by"
    return False


def may_be_finite(word: str, before: str, after: str) -> bool:
    """Whether `word` may be a finite verb.

    Unlike `is_finite` it says yes in doubt: a piece without such a word is not a clause.

    >>> may_be_finite("include", "These", "the"), may_be_finite("effects", "nanomolar", "")
    (True, False)
    """
    if word in AUXILIARIES or word in _MODALS:
        return True
    if before.lower() in _BEFORE_NOUN or before.lower() in PREPOSITIONS | _BEFORE_INFINITE:
        return False
    if word in _PAST or word in _MORE_PAST:
        return True
    if len(word) > 3 and word.islower() and word.endswith("s") and after.lower() in _BEFORE_NOUN:
        return True  # "attributes the": it has an object
    if word in _PRESENT or _singular(word) in _PLURAL_PRESENT or word in _PLURAL_PRESENT:
        follows = opens_complement(after) or after.lower() in SUBORDINATORS
        return word not in _MAYBE_NOUN or follows or before.lower() in _SUBJECTS_ONLY
    return bool(before) and may_be_past(word) and after != "by"


def _singular(word: str) -> str:
    """Strip the -s of a present: "tries" to "try"."""
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("shes", "ches", "sses", "oes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") else ""


def third_person(verb: str) -> str:
    """The third person of an infinitive: "carries" for "carry"."""
    if verb == "have":
        return "has"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "sh", "ch", "x", "o")) else f"{verb}s"


def may_be_past(word: str) -> bool:
    """Whether a word has the form of a past tense or participle: "opened", "built"."""
    return word in _PAST or word in _EITHER or _is_regular(word)


def is_sure(word: str, after: str) -> bool:
    """Whether a past form is unambiguous: "became", "reopened the"; but not "built in"."""
    return word in AUXILIARIES or word in _PAST or after.lower() in DETERMINERS


def opens_complement(word: str) -> bool:
    """Whether `word` may begin a verb's complement: "the", "in", "1911", "Varde", "later"."""
    lower = word.lower()
    known = lower in _COMPLEMENT_OPENERS
    return known or is_adverb(lower) or word[:1].isupper() or word[:1].isdigit()


def _is_regular(word: str) -> bool:
    return len(word) > 3 and word.endswith("ed") and word.islower() and word not in _NOT_PAST


_TOKEN = re.compile(r"[^\W_]+(?:[’'.,&/-][^\W_]+)*|[^\w\s]|_")
_OPENING, _CLOSING, _QUOTE = "([{“«", ")]}”»", '"'


class Clause(NamedTuple):
    """A clause's span in the claim, and a text of it that can be checked alone."""

    span: Span
    text: str


class Token(NamedTuple):
    """A word or a punctuation mark."""

    word: str
    start: int
    end: int
    inside: bool  # in brackets or quotation marks: never a place to cut


class Verb(NamedTuple):
    """A finite verb group such as "had been closed": token numbers, half-open."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Segment:
    """From token `start` to a cut not yet found; `lead` is an omitted subject."""

    start: int
    lead: str = ""
    relative: bool = False


@dataclass(frozen=True, slots=True)
class Sentence:
    """A tokenized sentence, with precomputed answers for the rules."""

    text: str  # of the claim, to which offsets refer
    tokens: list[Token]
    verbs: list[Verb]
    subordinators: list[int]
    stops: list[int]  # commas, semicolons and conjunctions, and the end
    balanced: bool

    @classmethod
    def read(cls, text: str, span: Span) -> "Sentence":
        tokens, balanced = _tokens(text, span)
        open_ = [(n, t.word.lower()) for n, t in enumerate(tokens) if not t.inside]
        return cls(
            text,
            tokens,
            list(_verbs(tokens)),
            [n for n, word in open_ if word in SUBORDINATORS],
            [*(n for n, word in open_ if word in (",", ";", "and", "but", "while")), len(tokens)],
            balanced,
        )

    def word(self, n: int) -> str:
        """The word at `n`; "" outside the sentence and inside brackets."""
        return self.tokens[n].word if n < len(self.tokens) and not self.tokens[n].inside else ""

    def words(self, start: int, end: int) -> list[str]:
        return [self.word(n) for n in range(start, end)]

    def raw(self, start: int, end: int) -> str:
        return self.text[self.tokens[start].start : self.tokens[end - 1].end]

    def verbs_in(self, start: int, end: int) -> list[Verb]:
        first = bisect_left(self.verbs, (start, 0))
        return self.verbs[first : bisect_left(self.verbs, (end, 0))]

    def subordinate(self, start: int, end: int) -> bool:
        return bisect_left(self.subordinators, start) < bisect_left(self.subordinators, end)

    def next_stop(self, n: int) -> int:
        return self.stops[min(bisect_right(self.stops, n), len(self.stops) - 1)]

    def past_adverbs(self, n: int) -> int:
        while is_adverb(self.word(n)):
            n += 1
        return n

    def clause(self, segment: Segment, end: int) -> Clause:
        """The segment up to token `end`, without trailing punctuation, with its subject."""
        while end > segment.start + 1 and self.tokens[end - 1].word in ".,;:!?–—-…":
            end -= 1
        raw = self.raw(segment.start, end)
        span = Span(self.tokens[segment.start].start, self.tokens[end - 1].end)
        return Clause(span, f"{segment.lead} {raw}" if segment.lead else raw)


def _tokens(text: str, span: Span) -> tuple[list[Token], bool]:
    tokens, depth, quoted = [], 0, False
    for match in _TOKEN.finditer(text, span.start, span.end):
        word = match[0]
        depth += word in _OPENING
        inside = depth > 0 or quoted or word == _QUOTE
        depth -= word in _CLOSING
        quoted ^= word == _QUOTE
        tokens.append(Token(word, match.start(), match.end(), inside))
        if depth < 0:
            break
    return tokens, depth == 0 and not quoted


def _verbs(tokens: list[Token]) -> Iterator[Verb]:
    open_words = [*("" if token.inside else token.word for token in tokens), ""]
    n = 0
    while n < len(tokens):
        before = tokens[n - 1].word if n else ""
        after = tokens[n + 1].word if n + 1 < len(tokens) else ""
        word = tokens[n].word
        if tokens[n].inside or not is_finite(word, before, after):
            n += 1
            continue
        start, n = n, n + 1
        if word in AUXILIARIES:  # adverbs, "been" and a participle may follow
            while not is_participle(word := open_words[n]) and (is_adverb(word) or word in _INNER):
                n += 1
            n += is_participle(open_words[n])
        yield Verb(start, n)
