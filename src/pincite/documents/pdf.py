"""Extracts the text of a PDF, with the page of every character.

`pdf_lines` joins pdfium's characters to lines, `columns` orders them. Distances are in points.
Run it only in `sandbox`: pdfium is C++ code, and crafted files have crashed it.
"""

import ctypes
import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from math import prod
from typing import Any, NamedTuple

import pypdfium2
from pypdfium2 import raw

from pincite.documents import columns, paragraphs, pdf_lines, ruled_tables, running_heads
from pincite.documents.body import Body
from pincite.documents.page_lines import Line, Lines, Rule
from pincite.documents.plain import document_of
from pincite.documents.text import one_line
from pincite.text import patterns
from pincite.text.page_numbers import LABELS, PAGES, SCANS
from pincite.types import Document, Reason, Unchecked

# A scan may have a stamp or a title in its text layer, and margins that were cut away.
FEW_WORDS = 20  # a page with fewer may be a scan
COVERED = 0.5  # the least share of a scan that pictures cover
RULE = 3.0  # the greatest thickness of a rule
MAX_PATHS = 5_000  # of a page; maps have 100,000
BELOW = 100.0  # between lines of turned text; far enough to make each a paragraph
_WORD = re.compile(r"[^\W\d_]{2,}")
_NO_TITLE = patterns(__file__, "pdf")["no_title"]  # defaults of word processors
_DAY = re.compile(r"(?:D:)?(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)")


class _Page(NamedTuple):
    """The lines of a page and their parts, in file order, and the rules that are drawn on it."""

    lines: Lines
    rules: Sequence[Rule]


def read_pdf(
    body: Body, recognise: Callable[[int, Any], Lines] | None = None
) -> Document | Unchecked:
    """Read the text layer. `recognise` gives the lines of a scan, from its number and page."""
    url, max_chars = body.url, body.limits.max_chars
    try:
        pdf = pypdfium2.PdfDocument(body.data)
    except pypdfium2.PdfiumError as error:
        if error.err_code == raw.FPDF_ERR_PASSWORD:
            return Unchecked(url, Reason.ENCRYPTED, "the PDF is password-protected")
        return Unchecked(url, Reason.UNDECODABLE, f"not a readable PDF: {error}")
    pages, scans, n_chars = list[_Page](), list[int](), 0
    for number in range(len(pdf)):
        page = _read_page(pdf, number)
        if _is_scan(pdf, number, page.lines):
            scans.append(number)
            recognised = recognise(number, pdf[number]) if recognise else []
            page = page._replace(lines=recognised or page.lines)
        pages.append(page)
        n_chars += sum(len(line.text) for line in page.lines)
        if n_chars > max_chars:
            detail = f"the PDF has more than {max_chars} characters of text"
            return Unchecked(url, Reason.TOO_LARGE, detail)
    kept = running_heads.without_running_heads([page.lines for page in pages])
    ordered = map(columns.in_reading_order, kept, [page.rules for page in pages])
    text, starts = paragraphs.running_text(list(ordered))
    if not text:
        reason = Reason.UNREADABLE_SCAN if scans else Reason.EMPTY
        return Unchecked(url, reason, f"no text layer in {len(starts)} pages")
    found = {PAGES: starts, LABELS: _labels_of(pdf), SCANS: scans}
    meta = {name: json.dumps(numbers) for name, numbers in found.items() if numbers}
    return document_of(body, "pdf", text, _front_matter_of(pdf), **meta)


def _labels_of(pdf: Any) -> list[str]:
    """The printed page labels; none if two pages share one, or they just count the pages."""
    labels = [one_line(pdf.get_page_label(number)) for number in range(len(pdf))]
    is_count = labels == [str(number) for number in range(1, len(labels) + 1)]
    is_distinct = all(labels) and len(set(labels)) == len(labels)
    return labels if is_distinct and not is_count else []


def _front_matter_of(pdf: Any) -> dict[str, str]:
    info = pdf.get_metadata_dict()
    title, author = (one_line(info.get(name)) for name in ("Title", "Author"))
    front = {"title": "" if _NO_TITLE.match(title) else title, "author": author}
    # The creation date of the file is not the publication date.
    if created := _DAY.match(info.get("CreationDate") or ""):
        front["created"] = "-".join(created.group("year", "month", "day"))
    return front


def _is_scan(pdf: Any, number: int, lines: Lines) -> bool:
    """Whether pictures cover a page, and its text layer has hardly any words."""
    if sum(len(_WORD.findall(line.text)) for line in lines) >= FEW_WORDS:
        return False
    try:
        page = pdf[number]
        bounds = [picture.get_bounds() for picture in pictures_of(page)]
    except pypdfium2.PdfiumError:
        return False
    covered = sum((right - left) * (top - bottom) for left, bottom, right, top in bounds)
    return bool(covered >= COVERED * prod(page.get_size()))


def pictures_of(page: Any) -> Iterator[Any]:
    yield from page.get_objects([raw.FPDF_PAGEOBJ_IMAGE], max_depth=3)


def _read_page(pdf: Any, number: int) -> _Page:
    """A page as the reader of most of its text sees it; empty if it is unreadable.

    Text in another direction is put below: a stamp, a watermark, a sideways table.
    """
    try:
        page = pdf[number]
        text_page = page.get_textpage()
    except pypdfium2.PdfiumError:
        return _Page([], [])
    rules, by_turn = list(_rules_of(page)), pdf_lines.lines_by_turn(text_page)
    text_page.close()
    page.close()
    parts = list[_Page]()
    for turn, lines in by_turn.items():
        seen = [turn.rule(rule) for rule in rules]
        parts.append(_Page(ruled_tables.with_ruled_tables(lines, seen), seen))
    main, *turned = parts
    below = list[Line]()
    baseline = min((line.baseline for line in main.lines), default=0.0)
    for part in turned:
        for line in _lines_below(part):
            baseline -= BELOW
            below.append(line._replace(baseline=baseline, left=0, right=0, size=1))
    return main._replace(lines=[*main.lines, *below])


def _lines_below(turned: _Page) -> Lines:
    """The lines of turned text, in reading order if there is a table, else joined to one."""
    ordered = columns.in_reading_order(turned.lines, turned.rules)
    if not turned.lines or any(line.is_table for line in ordered):
        return ordered
    return [Line(" ".join(line.text for line in turned.lines), 0, 0, 0, 1)]


def _rules_of(page: Any) -> Iterator[Rule]:
    """The straight lines that are drawn on a page: strokes, and filled shapes that are as thin."""
    stroked = ctypes.c_int()
    for path in islice(page.get_objects([raw.FPDF_PAGEOBJ_PATH], max_depth=1), MAX_PATHS):
        try:
            left, bottom, right, top = path.get_bounds()
        except pypdfium2.PdfiumError:
            continue
        raw.FPDFPath_GetDrawMode(path, ctypes.c_int(), stroked)
        if min(right - left, top - bottom) <= RULE:
            yield Rule(left, bottom, right, top)
        elif stroked:  # a rectangle, most often
            yield from (Rule(left, y, right, y) for y in (bottom, top))
            yield from (Rule(x, bottom, x, top) for x in (left, right))
