"""Where sentences begin and end, as spans.

sentencex (Wikimedia's splitter, rules for some 300 languages) decides inside a line; a line break
always ends a sentence, because extracted pages put headings, list items and table rows on lines of
their own. Decision hidden here: which library splits, and that spans carry no outer white space.
"""

import re
from collections.abc import Iterator

from sentencex import get_sentence_boundaries

from pincite.types import Span

_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


def sentences(text: str, language: str = "en") -> list[Span]:
    """Spans of the sentences of `text`, in order, trimmed; lines without words give none.

    >>> [s.of("Dr. Ito won. Twice!") for s in sentences("Dr. Ito won. Twice!")]
    ['Dr. Ito won.', 'Twice!']
    """
    text = _LONE_SURROGATES.sub("\ufffd", text)  # the splitter is Rust, which has no such thing
    return [span for line in _lines(text) for span in _split_line(text, line, language)]


def trimmed(text: str, span: Span) -> Span:
    """`span` without the white space at its ends; empty at its start if there is nothing else."""
    piece = span.of(text)
    lead = len(piece) - len(piece.lstrip())
    return Span(span.start + lead, span.start + max(lead, len(piece.rstrip())))


def _lines(text: str) -> Iterator[Span]:
    start = 0
    for line in text.splitlines(keepends=True):
        yield Span(start, start + len(line))
        start += len(line)


def _split_line(text: str, line: Span, language: str) -> Iterator[Span]:
    line = trimmed(text, line)
    if line.start == line.end:
        return
    for found in get_sentence_boundaries(language, line.of(text)):
        span = Span(line.start + found["start_index"], line.start + found["end_index"])
        span = trimmed(text, span)
        if span.start < span.end:
            yield span
