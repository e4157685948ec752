"""A document cut into passages: about 100 words each, on sentence boundaries, with exact spans.

SIDE cuts its corpus into 100-word passages and shows cited documents in overlapping ones, so that
no piece of evidence is cut in two (Petroni et al. 2023, Methods). A passage is whole sentences
where it can be; a sentence longer than a passage is cut between words.
"""

import re
from collections.abc import Sequence

from pincite.core.sentences import sentences
from pincite.types import Document, Passage, Span

PASSAGE_WORDS = 100  # SIDE and Sphere: 100-word passages
PASSAGE_RULE = "sentences-100-v1"  # stands in a corpus's manifest: change it with the rule
_WORD = re.compile(r"\S+")


def passages(document: Document, overlap: bool = False) -> list[Passage]:
    """The passages of a document in order; none if it has no words.

    With `overlap`, a passage starts again about half-way through the one before: what a corpus
    keeps once, a cited source shows twice, so that evidence at a border is seen whole.
    """
    language = document.language or "en"
    units = [
        part
        for sentence in sentences(document.text, language)
        for part in _pieces(document.text, sentence)
    ]
    doc_id = document.doc_id
    return [
        Passage(doc_id, document.url, document.title, span.of(document.text), span)
        for span in _windows(units, overlap)
    ]


def _windows(units: Sequence[tuple[Span, int]], overlap: bool) -> list[Span]:
    """Runs of units (span, number of words) of at most PASSAGE_WORDS words, at least one unit."""
    windows: list[Span] = []
    start = 0
    while start < len(units):
        end, n_words = start + 1, units[start][1]
        while end < len(units) and n_words + units[end][1] <= PASSAGE_WORDS:
            n_words += units[end][1]
            end += 1
        windows.append(Span(units[start][0].start, units[end - 1][0].end))
        if end == len(units):
            break
        start = _half_way(units, start, end) if overlap else end
    return windows


def _half_way(units: Sequence[tuple[Span, int]], start: int, end: int) -> int:
    """The unit at which the second half of `units[start:end]` begins; always after `start`."""
    half, n_words = sum(n for _, n in units[start:end]) / 2, 0
    for position in range(start, end):
        n_words += units[position][1]
        if n_words >= half:
            return max(position, start + 1)
    return end


def _pieces(text: str, sentence: Span) -> list[tuple[Span, int]]:
    """The sentence with its number of words, cut between words where it is too long."""
    words = [Span(m.start(), m.end()) for m in _WORD.finditer(text, sentence.start, sentence.end)]
    return [
        (
            Span(words[i].start, words[min(i + PASSAGE_WORDS, len(words)) - 1].end),
            min(PASSAGE_WORDS, len(words) - i),
        )
        for i in range(0, len(words), PASSAGE_WORDS)
    ]
