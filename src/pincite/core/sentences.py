"""Where sentences begin and end, as spans.

sentencex (Wikimedia's splitter, rules for some 300 languages) decides inside a line; a line break
always ends a sentence, because extracted pages put headings, list items and table rows on lines of
their own. Decision hidden here: which library splits, and that spans carry no outer white space.
"""

import re
from collections.abc import Iterator

from sentencex import get_sentence_boundaries

from pincite.types import Span

# What the splitter (Rust) cannot take or panics on, each for one character of the same meaning, so
# that offsets stay: half surrogate pairs, and white space of more than one byte.
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")
_OTHER_SPACES = re.compile(r"[^\S\n\r ]")
# The splitter's time grows with the square of a line's quotation marks: 100,000 took 17 s.
_LONGEST = 8_000


def sentences(text: str, language: str = "en") -> list[Span]:
    """Spans of the sentences of `text`, in order, trimmed; lines without words give none.

    >>> [s.of("Dr. Ito won. Twice!") for s in sentences("Dr. Ito won. Twice!")]
    ['Dr. Ito won.', 'Twice!']
    """
    text = _LONE_SURROGATES.sub("\ufffd", text)
    return [span for line in _lines(text) for span in _split_line(text, line, language)]


def trimmed(text: str, span: Span) -> Span:
    """`span` without the white space at its ends; empty at its start if there is nothing else."""
    piece = span.of(text)
    lead = len(piece) - len(piece.lstrip())
    return Span(span.start + lead, span.start + max(lead, len(piece.rstrip())))


def _lines(text: str) -> Iterator[Span]:
    """Lines, and pieces of very long ones."""
    start = 0
    for line in text.splitlines(keepends=True):
        end = start + len(line)
        while end - start > _LONGEST:
            space = text.rfind(" ", start + 1, start + _LONGEST)
            middle = space if space > 0 else start + _LONGEST
            yield Span(start, middle)
            start = middle
        yield Span(start, end)
        start = end


def _split_line(text: str, line: Span, language: str) -> Iterator[Span]:
    line = trimmed(text, line)
    if line.start == line.end:
        return
    for start, end in _boundaries(_OTHER_SPACES.sub(" ", line.of(text)), language):
        span = trimmed(text, Span(line.start + start, line.start + end))
        if span.start < span.end:
            yield span


def _boundaries(line: str, language: str) -> list[tuple[int, int]]:
    try:
        found = get_sentence_boundaries(language, line)
    except BaseException as error:
        # A panic inside Rust is no Exception; a line that causes one is left whole.
        if type(error).__name__ != "PanicException":
            raise
        return [(0, len(line))]
    return [(each["start_index"], each["end_index"]) for each in found]
