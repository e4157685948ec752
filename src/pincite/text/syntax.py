"""A sentence as the splitting of claims reads it: words, finite verbs, and where it may be cut.

Offsets count in the claim that the sentence stands in; what is inside of brackets or quotation
marks is read over, since nothing there may be cut.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from pincite.text import verbs
from pincite.types import Span

_TOKEN = re.compile(r"[^\W_]+(?:[’'.,&/-][^\W_]+)*|[^\w\s]|_")
_OPENING, _CLOSING, _QUOTE = "([{“«", ")]}”»", '"'


class Clause(NamedTuple):
    """Where a clause stands in the claim, and a text of it that can be judged by itself."""

    span: Span
    text: str


class Token(NamedTuple):
    """A word or a mark of punctuation."""

    word: str
    start: int
    end: int
    inside: bool  # of brackets or quotation marks: never a place to cut


class Verb(NamedTuple):
    """A finite verb with what belongs to it, "had been closed": token numbers, half-open."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Segment:
    """From token `start` to a cut not yet found; `lead` is the subject that is left out."""

    start: int
    lead: str = ""
    relative: bool = False


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as tokens, with what the rules ask for at every step worked out once."""

    text: str  # the claim's: offsets count in it
    tokens: list[Token]
    verbs: list[Verb]
    subordinators: list[int]
    stops: list[int]  # commas, semicolons and conjunctions, and the end
    balanced: bool

    @classmethod
    def read(cls, text: str, span: Span) -> "Sentence":
        """The sentence that `span` covers in `text`."""
        tokens, balanced = _tokens(text, span)
        open_ = [(n, t.word.lower()) for n, t in enumerate(tokens) if not t.inside]
        return cls(
            text,
            tokens,
            list(_verbs(tokens)),
            [n for n, word in open_ if word in verbs.SUBORDINATORS],
            [*(n for n, word in open_ if word in (",", ";", "and", "but", "while")), len(tokens)],
            balanced,
        )

    def word(self, n: int) -> str:
        """A word that may be judged; "" outside of the sentence and inside of brackets."""
        return self.tokens[n].word if n < len(self.tokens) and not self.tokens[n].inside else ""

    def raw(self, start: int, end: int) -> str:
        """The text from token `start` to before token `end`, as it stands."""
        return self.text[self.tokens[start].start : self.tokens[end - 1].end]

    def verbs_in(self, start: int, end: int) -> list[Verb]:
        """The finite verbs that begin in a range of tokens."""
        first = bisect_left(self.verbs, (start, 0))
        return self.verbs[first : bisect_left(self.verbs, (end, 0))]

    def subordinate(self, start: int, end: int) -> bool:
        """Whether a "that", "which" or "when" stands in a range of tokens."""
        return bisect_left(self.subordinators, start) < bisect_left(self.subordinators, end)

    def next_stop(self, n: int) -> int:
        """The first comma, semicolon or conjunction behind token `n`, or the end."""
        return self.stops[min(bisect_right(self.stops, n), len(self.stops) - 1)]

    def past_adverbs(self, n: int) -> int:
        """The first token from `n` on that is no adverb."""
        while verbs.is_adverb(self.word(n)):
            n += 1
        return n

    def clause(self, segment: Segment, end: int) -> Clause:
        """The segment up to token `end` without the punctuation there, with its subject."""
        while end > segment.start + 1 and self.tokens[end - 1].word in ".,;:!?–—-…":
            end -= 1
        raw = self.raw(segment.start, end)
        span = Span(self.tokens[segment.start].start, self.tokens[end - 1].end)
        return Clause(span, f"{segment.lead} {raw}" if segment.lead else raw)


def _tokens(text: str, span: Span) -> tuple[list[Token], bool]:
    """The tokens, and whether brackets and quotation marks are balanced."""
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
    n = 0
    while n < len(tokens):
        before = tokens[n - 1].word if n else ""
        after = tokens[n + 1].word if n + 1 < len(tokens) else ""
        word = tokens[n].word
        if tokens[n].inside or not verbs.is_finite(word, before, after):
            n += 1
            continue
        end = _end_of_group(tokens, n + 1) if word in verbs.AUXILIARIES else n + 1
        yield Verb(n, end)
        n = end


def _end_of_group(tokens: list[Token], n: int) -> int:
    """Behind the adverbs, "been" and the like, and the participle that follow an auxiliary."""
    while n < len(tokens) and not tokens[n].inside:
        word = tokens[n].word
        if verbs.is_participle(word):
            return n + 1
        if not verbs.is_adverb(word) and word not in ("be", "been", "being", "have"):
            return n
        n += 1
    return n
