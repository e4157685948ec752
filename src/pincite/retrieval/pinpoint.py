"""Finds where a citation points in a document, and whether a quote is there.

A citation may point to a page, a section or a highlighted text. That passage is always read, and
wins over one that is hardly better. It is not a filter: editors cite wrong pages, and evidence
elsewhere counts and is reported.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote

from pincite.text.page_numbers import (
    PageRange,
    cited_pages,
    is_time,
    number_at,
    page_labels,
    page_span,
    page_starts,
)
from pincite.text.words import missing_words
from pincite.types import Citation, Document, Evidence, Place, Span

# Log-odds by which the cited passage may be weaker and still be shown. An assumption, small
# compared with the differences between verdicts: no collection says which passage an editor meant.
# It never changes a verdict (`preferred`).
LEANING = 0.25
ADDED = 0.1  # share of a claim's words that the cited page must add to the quote, to be right
SECTION_CHARS = 3_000  # of a section from its anchor on: its end is not known
MAX_DIRECTIVES = 10  # text fragments per address
_DIRECTIVES = ":~:"


@dataclass(frozen=True, slots=True)
class Aim:
    """Where a citation points in one document."""

    spans: tuple[Span, ...]  # empty: it points to a page that the document does not have
    words: str  # "p. 12", "section History", "highlighted text"
    exact: bool  # whether the spans are exact; a section's end is not known

    def meets(self, span: Span) -> bool:
        return any(map(span.overlaps, self.spans))


class TextDirective(NamedTuple):
    """`#:~:text=prefix-,start,end,-suffix`; all but `start` may be empty."""

    prefix: str
    start: str
    end: str
    suffix: str


def aim_of(citation: Citation, document: Document) -> Aim | None:
    """Return where `citation` points in `document`; None if nowhere, or if that is not found.

    The address's fragment takes priority over the template's pages: it was made for this very copy.
    """
    fragment = (citation.url or "").partition("#")[2]
    return (
        _highlighted_place(fragment, document)
        or _page_in_file(fragment, document)
        or _section(fragment, document)
        or _pages(citation.pages or "", document)
    )


def place_of(
    evidence: Evidence, document: Document, aim: Aim | None, claim: str = ""
) -> Place | None:
    """Return the quote's page and whether the citation points there; None if neither is known.

    It also points there if the cited page has the part of the claim that the quote lacks.
    """
    quoted = quoted_span(evidence)
    number = number_at(document, quoted.start)
    if number is None and aim is None:
        return None
    is_elsewhere = aim is not None and aim.exact and not aim.meets(quoted)
    if aim and is_elsewhere and claim:
        is_elsewhere = not _adds(aim, evidence, document, claim)
    return Place(
        page=number.label if number else None,
        printed=number.printed if number else False,
        cited=aim.words if aim else None,
        elsewhere=is_elsewhere,
    )


def _adds(aim: Aim, evidence: Evidence, document: Document, claim: str) -> bool:
    """Whether the cited part of what was read has words of the claim that the quote lacks."""
    passage, quote = evidence.passage, evidence.quoted
    parts = [
        Span(max(aimed.start, piece.start), min(aimed.end, piece.end))
        for aimed in aim.spans
        for piece in passage.pieces or (passage.span,)
    ]
    cited = " ".join(part.of(document.text) for part in parts if part.start < part.end)
    return missing_words(claim, f"{quote} {cited}") <= missing_words(claim, quote) - ADDED


def preferred(evidence: Sequence[Evidence], chosen: Evidence, aim: Aim | None) -> list[Evidence]:
    """Return evidence nearly as good as `chosen` where the citation points, best first.

    Empty if the citation points to `chosen` itself. The caller checks that the verdict stays.
    """
    if aim is None or aim.meets(quoted_span(chosen)):
        return []
    near = [e for e in evidence if e.score >= chosen.score - LEANING and aim.meets(quoted_span(e))]
    return sorted(near, key=lambda e: -e.score)


def quoted_span(evidence: Evidence) -> Span:
    """Return the span in the document of the quote or, without one, of the passage."""
    return evidence.quote_span or evidence.passage.span


def text_directives(fragment: str) -> list[TextDirective]:
    """Return the texts that an address's fragment asks a browser to highlight.

    Source: WICG, URL Fragment Text Directives.

    >>> text_directives("top:~:text=It-,opened%20in,1911")
    [TextDirective(prefix='It', start='opened in', end='1911', suffix='')]
    """
    _, _, directives = fragment.partition(_DIRECTIVES)
    values = [d[5:] for d in directives.split("&") if d.startswith("text=")]
    return [directive for value in values[:MAX_DIRECTIVES] if (directive := _directive(value))]


def _directive(value: str) -> TextDirective | None:
    """Parse `prefix-,start,end,-suffix`; None without a text to highlight."""
    parts = value.split(",")
    prefix = parts.pop(0)[:-1] if parts[0].endswith("-") else ""
    suffix = parts.pop()[1:] if parts and parts[-1].startswith("-") else ""
    if len(parts) not in (1, 2):
        return None
    start = unquote(parts[0]).strip()
    end = unquote(parts[1]).strip() if len(parts) == 2 else ""
    return TextDirective(unquote(prefix), start, end, unquote(suffix)) if start else None


def _highlighted_place(fragment: str, document: Document) -> Aim | None:
    places = (_find(directive, document.text) for directive in text_directives(fragment))
    spans = tuple(span for span in places if span)
    return Aim(spans, "highlighted text", exact=True) if spans else None


def _find(directive: TextDirective, text: str) -> Span | None:
    """Find the first occurrence of a highlighted text, ignoring white space and case.

    It counts even if the words around it differ, such as menus that are not in the text.
    """
    for prefix, suffix in ((directive.prefix, directive.suffix), ("", "")):
        before = f"{_pattern(prefix)}[^\\w]{{0,20}}" if prefix else r"(?<!\w)"
        after = f"[^\\w]{{0,20}}{_pattern(suffix)}" if suffix else r"(?!\w)"
        first = f"{before}({_pattern(directive.start)})"
        start = re.search(first if directive.end else f"{first}{after}", text, re.IGNORECASE)
        if start and not directive.end:
            return Span(*start.span(1))
        if start:
            last = re.compile(f"({_pattern(directive.end)}){after}", re.IGNORECASE)
            end = last.search(text, start.end(1))
            return Span(start.start(1), end.end(1)) if end else None
    return None


def _pattern(words: str) -> str:
    return r"\s+".join(map(re.escape, words.split()))


def _page_in_file(fragment: str, document: Document) -> Aim | None:
    """Resolve `#page=12`, which counts pages of the file, whatever is printed on them."""
    match = re.search(r"(?:^|&)page=([0-9]{1,6})(?:&|$)", fragment.partition(_DIRECTIVES)[0])
    if not match or not 1 <= int(match[1]) <= len(page_starts(document)):
        return None
    span = page_span(document, int(match[1]))
    number = number_at(document, span.start)
    return Aim((span,), f"p. {number.label if number else match[1]}", exact=True)


def _section(fragment: str, document: Document) -> Aim | None:
    name = fragment.partition(_DIRECTIVES)[0]
    for anchor in (name, unquote(name)):
        if (start := document.anchors.get(anchor)) is not None:
            end = min(start + SECTION_CHARS, len(document.text))
            return Aim((Span(start, end),), f"section {anchor}", exact=False)
    return None


def _pages(text: str, document: Document) -> Aim | None:
    """Return the cited pages of a document that has pages; None if they are most of it.

    A paper's template names all of its pages: that locates the paper, not the passage. Page 812 of
    a file of 20 pages without printed numbers means nothing.
    """
    cited, n_pages, printed = cited_pages(text), len(page_starts(document)), page_labels(document)
    labels = printed or [str(number) for number in range(1, n_pages + 1)]
    pages = [page for page, label in enumerate(labels, 1) if _is_cited(label, cited)]
    if not pages and not (cited and printed and not is_time(printed[0])):
        return None
    if (n_pages == 1 and pages) or 2 * len(pages) > max(n_pages, 2):
        return None
    several = len(cited) > 1 or any(isinstance(c, PageRange) and c.first < c.last for c in cited)
    words = f"{'pp.' if several else 'p.'} {', '.join(map(_name_of, cited))}"
    return Aim(tuple(page_span(document, page) for page in pages), words, exact=True)


def _is_cited(label: str, cited: Sequence[PageRange | str]) -> bool:
    number = int(label) if label.isascii() and label.isdigit() else -1
    return label.lower() in cited or any(
        pages.first <= number <= pages.last for pages in cited if isinstance(pages, PageRange)
    )


def _name_of(cited: PageRange | str) -> str:
    if isinstance(cited, str):
        return cited
    return str(cited.first) if cited.first == cited.last else f"{cited.first}–{cited.last}"
