"""What of a passage is shown around a quote.

Pages come with menus. Text around a quote is shown only if it reads as prose, and a quote that is
itself a menu line is not evidence.
"""

import re
from dataclasses import dataclass
from itertools import dropwhile, groupby

from pincite.report import cells
from pincite.text import tables
from pincite.text.clauses import Standing, standing
from pincite.text.sentences import n_words, sentences
from pincite.types import Evidence, Span

MAX_SHOWN = 450  # characters: five lines of the report, which have about 95 on a screen
MAX_BEFORE = 130  # of them before the quote, so that the highlight comes early
# Ends of prose and of a sentence, in European and East Asian scripts, with closing quotation marks
# and brackets.
_CLOSING = r"[\"'”’»)\]」』）]*$"
_PROSE_END = re.compile(rf"[.!?…:;。！？：；]{_CLOSING}")
_SENTENCE_END = re.compile(rf"[.!?…。！？]{_CLOSING}")
_LABELLED_VALUE = re.compile(r"[^:]{2,40}: [^:]*\d[^:]*")  # "Journey time: 3 min"
_FEW_WORDS = 10  # a menu line has fewer
_MANY_LINES = 4  # this many short lines in a row are a menu or a list of headlines


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A quote with its surrounding text. `whole`: this is the entire passage."""

    head: str
    quote: str
    tail: str
    whole: bool


def excerpt(text: str, quote: Span | None) -> Excerpt | None:
    """Return the quote within at most about five lines; None if no quote can be shown."""
    if quote is None or quote.start == quote.end or in_menu(text, quote):
        return None
    start = _start_of(text, quote)
    end = _end_of(text, quote, limit=start + MAX_SHOWN)
    return Excerpt(
        head=text[start : quote.start].lstrip(),
        quote=quote.of(text),
        tail=text[quote.end : end].rstrip(),
        whole=not text[:start].strip() and not text[end:].strip(),
    )


def _start_of(text: str, quote: Span) -> int:
    """Return where the sentences before the quote begin that are shown with it."""
    line = max(text.rfind("\n", 0, quote.start), text.rfind("\r", 0, quote.start)) + 1
    starts = (line + sentence.start for sentence in sentences(text[line : quote.start]))
    near = (start for start in starts if quote.start - start <= MAX_BEFORE)
    start = min(near, default=quote.start)
    # The rest of an abbreviation is not a sentence: “sp. nov.”
    return quote.start if text[start].islower() else start


def _end_of(text: str, quote: Span, limit: int) -> int:
    """Return where the last sentence behind the quote ends that is within `limit`."""
    line_end = text.find("\n", quote.end)
    behind = sentences(text[quote.end : line_end if line_end >= 0 else None])
    ends = (quote.end + sentence.end for sentence in behind)
    return max((end for end in ends if end <= limit), default=quote.end)


def in_menu(text: str, quote: Span) -> bool:
    """Whether the quote is in a run of short lines that are not sentences, such as a menu.

    Rows of a table do not count: they say which value belongs to which name.
    """
    lines = [Span(*match.span()) for match in re.finditer(r"[^\n\r]+", text) if match[0].strip()]
    quoted = {line for line in lines if line.overlaps(quote)}
    for are_items, run in groupby(lines, key=lambda line: _is_item(line.of(text))):
        items = set(run)
        if are_items and len(items) >= _MANY_LINES and quoted and quoted <= items:
            return True
    return False


def quoted_prose(evidence: Evidence) -> str:
    """Return the quote without headings before it; empty if that is no whole sentence of prose."""
    language = evidence.passage.language or "en"

    def is_prose(line: str) -> bool:
        is_clause = standing(line, language) is Standing.CLAUSE
        return is_clause and not _is_item(line) and bool(_SENTENCE_END.search(line))

    shown = excerpt(evidence.passage.text, evidence.quote)
    if shown is None:
        return ""
    lines = list(dropwhile(lambda line: not is_prose(line), shown.quote.splitlines()))
    return cells.one_line(" ".join(lines)) if all(map(is_prose, lines)) else ""


def _is_item(line: str) -> bool:
    """Whether a line is a heading, or so short that it may be one of a menu."""
    line = line.strip()
    if line.startswith("#"):  # a Markdown heading
        return True
    is_row = "|" in line or bool(tables.cells_of(line)) or bool(_LABELLED_VALUE.fullmatch(line))
    return n_words(line) < _FEW_WORDS and not is_row and not _PROSE_END.search(line)
