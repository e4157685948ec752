"""The few lines of a passage that a report shows: the marked sentence and what stands around it.

Pages bring menus along. What stands around a quote is shown only where it reads as text, and a
quote that is itself a line of a menu is no evidence of anything.
"""

import re
from dataclasses import dataclass

from pincite.text.sentences import sentences
from pincite.types import Span

NONE = "no single sentence of it says this"  # under any verdict: a passage may, as a whole
# A line of the report has about 95 characters on a screen: five lines of them.
MAX_SHOWN = 450
MAX_BEFORE = 130  # characters of them before the quote, so that the mark comes first
_PROSE = re.compile(r"[.!?…:;][\"'”’»)\]]*$")
_FEW_WORDS = 10  # a line of a menu has fewer
_MANY_LINES = 4  # that many short lines in a row are a menu or a list of headlines


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A quote with what stands around it; `whole` if that is the passage."""

    head: str
    quote: str
    tail: str
    whole: bool


def excerpt(text: str, quote: Span | None) -> Excerpt | None:
    r"""The quote within at most about five lines; None if there is none that could be shown.

    >>> text = "Home\nNews\nThe mill opened in 1911. It burned in 1952.\nLog in"
    >>> found = excerpt(text, Span(10, 34))
    >>> found.head, found.quote, found.tail
    ('', 'The mill opened in 1911.', ' It burned in 1952.')
    """
    if quote is None or quote.start == quote.end or in_menu(text, quote):
        return None
    first, last = _paragraph(text, quote)
    start = _from_sentence(text, Span(first, quote.start))
    room = max(0, MAX_SHOWN - (quote.end - start))
    end = _to_sentence(text, Span(quote.end, last), room)
    return Excerpt(
        head=text[start : quote.start].lstrip(),
        quote=quote.of(text),
        tail=text[quote.end : end].rstrip(),
        whole=not text[:start].strip() and not text[end:].strip(),
    )


def in_menu(text: str, quote: Span) -> bool:
    """Whether the quote is one of several short lines in a row that are no sentences.

    Rows of a table are not: they say which value belongs to which name.
    """
    lines = _lines(text)
    places = [n for n, line in enumerate(lines) if line.overlaps(quote)]
    if not places or not all(_is_item(lines[n].of(text)) for n in places):
        return False
    first, last = places[0], places[-1]
    while first > 0 and _is_item(lines[first - 1].of(text)):
        first -= 1
    while last + 1 < len(lines) and _is_item(lines[last + 1].of(text)):
        last += 1
    return last - first + 1 >= _MANY_LINES


def _is_item(line: str) -> bool:
    line = line.strip()
    if line.startswith("#"):  # a heading in Markdown's way
        return True
    return len(line.split()) < _FEW_WORDS and "|" not in line and not _PROSE.search(line)


def _lines(text: str) -> list[Span]:
    found = [Span(*match.span()) for match in re.finditer(r"[^\n\r]+", text)]
    return [line for line in found if line.of(text).strip()]


def _paragraph(text: str, quote: Span) -> tuple[int, int]:
    first = max(text.rfind("\n", 0, quote.start), text.rfind("\r", 0, quote.start)) + 1
    last = text.find("\n", quote.end)
    return first, len(text) if last < 0 else last


def _from_sentence(text: str, span: Span) -> int:
    """Where the last sentences of the span begin that have room before the quote."""
    start = span.end
    for sentence in reversed(sentences(span.of(text))):
        if span.end - (span.start + sentence.start) > MAX_BEFORE:
            break
        start = span.start + sentence.start
    # The rest of an abbreviation is no sentence: “sp. nov.”
    return span.end if text[start : start + 1].islower() else start


def _to_sentence(text: str, span: Span, room: int) -> int:
    """Where the first sentences of the span end that fit into `room` characters."""
    end = span.start
    for sentence in sentences(span.of(text)):
        if sentence.end > room:
            break
        end = span.start + sentence.end
    return end
