"""Splits a document into passages of about 100 words, at sentence boundaries, with exact spans.

SIDE splits its corpus into 100-word passages and cited documents into overlapping ones, so that no
piece of evidence is split (Petroni et al. 2023, Methods).
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from pincite.text.context import about_passage
from pincite.text.languages import CJK, SOUTHEAST, identify
from pincite.text.page_numbers import confidence_in
from pincite.text.sentences import (
    CHARS_A_CJK_WORD,
    CHARS_A_SOUTHEAST_WORD,
    SPACELESS,
    n_words,
    source_sentences,
)
from pincite.types import Document, Passage, Span, Voice, about

PASSAGE_WORDS = 100  # SIDE and Sphere: 100-word passages
WIDE_WORDS = 250  # of what is read around a place, or of a page in another language
PASSAGE_RULE = "sentences-100-v2"  # stored in a corpus's manifest: change it with the rule
_WORD = re.compile(r"\S+")
_WORD_WITHOUT_SPACES = re.compile(
    rf"[{CJK}]{{1,{CHARS_A_CJK_WORD}}}|[{SOUTHEAST}]{{1,{CHARS_A_SOUTHEAST_WORD}}}"
    rf"|[^\s{CJK}{SOUTHEAST}]+"
)
_CHARS_A_WORD = 20  # of running text, including the space: above any language's mean
_LATELY_CUT = 16  # documents whose sentences are cached: an answer has several passages from each


def passages(document: Document) -> list[Passage]:
    """Split a document into passages, each sentence in exactly one; empty if it has no words.

    The corpus stores these, so they do not carry their page's text.
    """
    return _as_passages(document, _windows(document, PASSAGE_WORDS, overlap=False), with_page=False)


def cited_passages(document: Document) -> list[Passage]:
    """The passages of a cited source, which overlap.

    Evidence that is spread over several (13.5 % of the cases that SIDE reported as lacking it,
    Petroni et al. 2023, table 1) is read together: `retrieval.cascade.covering`.
    """
    return windows(document, PASSAGE_WORDS)


def whole(document: Document) -> list[Passage]:
    text = document.text
    return _as_passages(document, [Span(0, len(text))]) if text.strip() else []


def windows(document: Document, n_words: int) -> list[Passage]:
    return _as_passages(document, _windows(document, n_words))


def around(document: Document, span: Span, n_words: int = WIDE_WORDS) -> Span:
    """Extend `span` by whole sentences, alternately after and before, to about `n_words`.

    Covers at least the sentences that `span` touches, and the whole document if it is short.
    """
    n_chars = n_words * _CHARS_A_WORD
    start = document.text.rfind("\n", 0, max(0, span.start - n_chars)) + 1
    end = document.text.find("\n", span.end + n_chars)
    near = document.text[start : end if end >= 0 else len(document.text)]
    units = [Unit(unit.moved(start), n) for unit, n in units_of(near, document.language)]
    within = [n for n, unit in enumerate(units) if unit.span.overlaps(span)]
    if not within:
        return span
    first, last = within[0], within[-1]
    left = n_words - sum(unit.n_words for unit in units[first : last + 1])
    may_grow = True
    while may_grow:
        may_grow = False
        if last + 1 < len(units) and units[last + 1].n_words <= left:
            last, may_grow = last + 1, True
            left -= units[last].n_words
        if first > 0 and units[first - 1].n_words <= left:
            first, may_grow = first - 1, True
            left -= units[first].n_words
    return Span(units[first].span.start, units[last].span.end)


def _as_passages(
    document: Document, spans: Sequence[Span], *, with_page: bool = True
) -> list[Passage]:
    known, cut = about(document.title, document.published, document.meta), list[Passage]()
    page = document.text if with_page else ""
    for span in spans:
        text = span.of(document.text)
        passage = Passage(
            document.doc_id,
            document.url,
            document.title,
            text,
            span,
            about=about_passage(known, text, document.published, page),
            page=page,
            language=identify(text, document.language),
            recognised=confidence_in(document.meta, span),
            published=document.published or "",
            voice=Voice.of(document.meta),
        )
        cut.append(passage)
    return cut


class Unit(NamedTuple):
    """A sentence, or a part of PASSAGE_WORDS words of a longer one."""

    span: Span
    n_words: int


@lru_cache(maxsize=_LATELY_CUT)
def units_of(text: str, language: str | None = None) -> tuple[Unit, ...]:
    """Cut a text into sentences of at most PASSAGE_WORDS words."""
    return tuple(
        piece for sentence in source_sentences(text, language) for piece in _pieces(text, sentence)
    )


def _windows(document: Document, size: int, *, overlap: bool = True) -> list[Span]:
    """Spans of whole sentences with up to `size` words; overlapping ones share about half."""
    units = units_of(document.text, document.language)
    windows: list[Span] = []
    start = 0
    while start < len(units):
        end, n_words = start + 1, units[start].n_words
        while end < len(units) and n_words + units[end].n_words <= size:
            n_words += units[end].n_words
            end += 1
        windows.append(Span(units[start].span.start, units[end - 1].span.end))
        if end == len(units):
            break
        sums = list(accumulate(unit.n_words for unit in units[start:end]))
        # The next window starts halfway.
        start = max(start + bisect_left(sums, sums[-1] / 2), start + 1) if overlap else end
    return windows


def _pieces(text: str, sentence: Span) -> list[Unit]:
    n, word = _count_words(sentence.of(text))
    if n <= PASSAGE_WORDS:  # true for nearly all
        return [Unit(sentence, n)]
    words = [Span(*match.span()) for match in word.finditer(text, sentence.start, sentence.end)]
    pieces = (words[i : i + PASSAGE_WORDS] for i in range(0, len(words), PASSAGE_WORDS))
    return [Unit(Span(piece[0].start, piece[-1].end), len(piece)) for piece in pieces]


def _count_words(text: str) -> tuple[int, re.Pattern[str]]:
    """Return the number of words, and a pattern of them; a name in Chinese is one English word."""
    n = len(text.split())  # white space is the same as for `_WORD`
    if text.isascii() or len(SPACELESS.findall(text)) <= n:
        return n, _WORD
    return n_words(text) + 1, _WORD_WITHOUT_SPACES  # rounded up: a passage's sum is not too low
