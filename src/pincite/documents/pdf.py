"""Extracts the text of a PDF, with the page of every character.

pdfium measures the characters. This module joins them to lines and parts of lines, writes exponents
as such and drops footnote marks; `columns` orders the lines. Distances are in points.
Run it only in `sandbox`: pdfium is C++ code, and crafted files have crashed it.
"""

import ctypes
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from math import atan2, hypot, pi, prod
from typing import Any, NamedTuple

import pypdfium2
from pypdfium2 import raw

from pincite.documents import columns, page_tables, paragraphs, running_heads
from pincite.documents.body import Body
from pincite.documents.page_lines import Line, Lines, Rule
from pincite.documents.plain import document_of
from pincite.documents.text import one_line
from pincite.text import patterns
from pincite.text.page_numbers import LABELS, PAGES, SCANS
from pincite.types import Document, Reason, Unchecked

_NO_TITLE = patterns(__file__, "pdf")["no_title"]  # defaults of word processors

# A scan may have a stamp or a title in its text layer, and margins that were cut away.
FEW_WORDS, COVERED = 20, 0.5
_LETTERS = re.compile(r"[^\W\d_]{2,}")


def read_pdf(
    body: Body, recognise: Callable[[int, Any], Lines] | None = None
) -> Document | Unchecked:
    """Read the text layer. `recognise` gives the lines of a scan, from its number and page."""
    url, limits = body.url, body.limits
    try:
        pdf = pypdfium2.PdfDocument(body.data)
    except pypdfium2.PdfiumError as error:
        if error.err_code == raw.FPDF_ERR_PASSWORD:
            return Unchecked(url, Reason.ENCRYPTED, "the PDF is password-protected")
        return Unchecked(url, Reason.UNDECODABLE, f"not a readable PDF: {error}")
    pages, rules = list[Lines](), list[Sequence[Rule]]()
    scans, n_chars = list[int](), 0
    for number in range(len(pdf)):
        lines, drawn = _lines_of_page(pdf, number)
        if _is_scan(pdf, number, lines):
            scans.append(number)
            lines = (recognise(number, pdf[number]) if recognise else []) or lines
        n_chars += sum(len(line.text) for line in lines)
        if n_chars > limits.max_chars:
            detail = f"the PDF has more than {limits.max_chars} characters of text"
            return Unchecked(url, Reason.TOO_LARGE, detail)
        pages.append(lines)
        rules.append(drawn)
    ordered = list(map(columns.in_reading_order, running_heads.without_running_heads(pages), rules))
    text, starts = paragraphs.running_text(ordered)
    if not text:
        reason = Reason.UNREADABLE_SCAN if scans else Reason.EMPTY
        return Unchecked(url, reason, f"no text layer in {len(starts)} pages")
    # Use the printed labels, unless two pages share one or the labels just count the pages.
    labels = [one_line(pdf.get_page_label(number)) for number in range(len(pdf))]
    counted = [str(number) for number in range(1, len(labels) + 1)]
    is_labelled = all(labels) and len(set(labels)) == len(labels) and labels != counted
    info = pdf.get_metadata_dict()
    title, author = (one_line(info.get(name)) for name in ("Title", "Author"))
    front = {"title": "" if _NO_TITLE.match(title) else title, "author": author}
    # The creation date of the file is not the publication date.
    if created := re.match(r"(?:D:)?(\d{4})(\d\d)(\d\d)", info.get("CreationDate") or ""):
        front["created"] = "-".join(created.groups())
    meta = {PAGES: json.dumps(starts), LABELS: json.dumps(labels) if is_labelled else ""}
    meta[SCANS] = json.dumps(scans) if scans else ""
    return document_of(body, "pdf", text, front, **meta)


def _is_scan(document: Any, number: int, lines: Lines) -> bool:
    """Whether pictures cover a page, and its text layer has hardly any words."""
    if sum(len(_LETTERS.findall(line.text)) for line in lines) >= FEW_WORDS:
        return False
    try:
        page = document[number]
        bounds = [picture.get_bounds() for picture in pictures_of(page)]
    except pypdfium2.PdfiumError:
        return False
    covered = sum((right - left) * (top - bottom) for left, bottom, right, top in bounds)
    return bool(covered >= COVERED * prod(page.get_size()))


def pictures_of(page: Any) -> Iterator[Any]:
    yield from page.get_objects([raw.FPDF_PAGEOBJ_IMAGE], max_depth=3)


# ── Characters to lines ───────────────────────────────────────────────────────────────────────────

JOINED = "\x02"  # pdfium's hyphen at a line end, when the word goes on in the next line
# In multiples of the font size. Word spaces are 0.25, up to 1 in justified lines; column gaps are 1
# or more. `paragraphs` rejoins false cuts.
GAP = 0.7
LABEL_GAP = 3.0  # after a bullet or a list's number
THIN = 0.15  # less than any word space
NARROWEST = 0.2  # the width of an i
SHIFT, RAISED, OTHER_ROW = 0.1, 0.9, 0.7  # baselines of raised text, its size, and another line's
SAMPLED = 9  # characters that tell how the page is turned
UPRIGHT = (0, 1)  # quarter turns, and -1 for a mirrored page
RULE, MAX_PATHS = 3.0, 5_000  # the thickness of a rule; maps have 100,000 paths
DROP_CAP = 1.7  # the size of a letter that begins a text, in sizes of the text
_MARK = re.compile(r"[\d*†‡§¶]+")
_WORD = re.compile("(?=[^\\s\x02])[^\\s\x02\\d*†‡§¶]*(?P<mark>[\\d*†‡§¶][^\\s\x02]*)?\x02?")
_LABEL = re.compile(r"[•▪●◦‣–—·*-]|\(?\w{1,3}[.)]|\[\d{1,3}\]")
_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_NOTE_MARK = re.compile(r"[\d,;*†‡§¶()\[\]\u2013-]{1,12}")
_POWER = re.compile(r"[-\u2212\u2013+]?\d{1,3}|\d?[+\u2212-]")
# What a power stands on: a ten, another one-digit number, a unit, a variable; or any word, if the
# power has a sign, as in "mol⁻¹" and "Ca²⁺". A raised number after other words is a footnote mark.
_TEN = re.compile(r"(?<![\d.,])(?:10|\d)\Z")
_UNIT = re.compile(r"(?<![^\W\d_])(?:[cdkmµn]?m|mi|ft|yd|s|kg|[^\W\d_])\Z")
_SUPERSCRIPT = str.maketrans("0123456789+-\u2212\u2013", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")


def _lines_of_page(document: Any, number: int) -> tuple[Lines, Sequence[Rule]]:
    """The lines of a page and their parts, in file order, and its rules; empty if unreadable."""
    try:
        page = document[number]
        text_page = page.get_textpage()
    except pypdfium2.PdfiumError:
        return [], []
    content = _Characters(text_page).lines(list(_rules_of(page)))
    text_page.close()
    page.close()
    return content


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


class _Word(NamedTuple):
    """A word, or the part of one on the same baseline."""

    start: int
    end: int
    x: float
    y: float


class _Characters:
    """The characters of a page, turned and mirrored so that most of its text can be read."""

    def __init__(self, text_page: Any) -> None:
        self._page = text_page.raw
        self.text = _text_of(text_page)
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._box = tuple(ctypes.c_double() for _ in range(4))
        self._matrix = raw.FS_MATRIX()
        sample = range(0, len(self.text), max(1, len(self.text) // SAMPLED))
        turns = Counter(self._turn_of(i) for i in sample if self.text[i] > " ")
        self.turn = turns.most_common(1)[0][0] if turns else UPRIGHT

    def origin(self, index: int) -> tuple[float, float]:
        raw.FPDFText_GetCharOrigin(self._page, index, self._x, self._y)
        x, y = self._x.value, self._y.value
        return (x, y) if self.turn == UPRIGHT else self._turn_point(x, y)

    def _turn_point(self, x: float, y: float) -> tuple[float, float]:
        turn, up = self.turn
        return ((x, up * y), (y, -up * x), (-x, -up * y), (-y, up * x))[turn]

    def right(self, index: int) -> float:
        left, right, bottom, top = self._box
        raw.FPDFText_GetCharBox(self._page, index, left, right, bottom, top)
        return (right.value, top.value, -left.value, -bottom.value)[self.turn[0]]

    def size(self, index: int) -> float:
        raw.FPDFText_GetMatrix(self._page, index, self._matrix)
        scale = hypot(self._matrix.c, self._matrix.d)
        return abs(scale * raw.FPDFText_GetFontSize(self._page, index)) or 1.0

    def word(self, word: _Word) -> str:
        text = self.text[word.start : word.end].replace(JOINED, "-").replace("\0", "")
        if text.isascii():
            return text
        # pdfium counts a surrogate pair as two characters; join them.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def lines(self, rules: Sequence[Rule]) -> tuple[Lines, Sequence[Rule]]:
        """The lines of the page and the rules on it, as seen by its reader.

        What is written in another direction stands below: a stamp, a watermark, a sideways table.
        """
        right_to_left = len(_RTL.findall(self.text)) > len(self.text) // 4
        by_turn = {self.turn: list[_Line]()}
        line: _Line | None = None
        for word in self._words():
            if line and line.turn == self.turn:
                if right_to_left and "\n" not in self.text[line.last.end : word.start]:
                    line.append(word, " ")
                    continue
                if line.takes(word):
                    continue
            line = _Line(self, word)
            by_turn.setdefault(line.turn, []).append(line)
        read = list[tuple[Lines, Sequence[Rule]]]()
        for self.turn, group in by_turn.items():
            measured = [line for line in (started.whole() for started in group) if line.text]
            seen = list(map(self._turn_rule, rules))
            read.append((page_tables.with_ruled_tables(measured, seen), seen))
        (lines, rules), *turned = read
        below = min((line.baseline for line in lines), default=0.0)
        for others, their_rules in turned:
            ordered = columns.in_reading_order(others, their_rules)
            if others and not any(other.is_table for other in ordered):
                ordered = [Line(" ".join(other.text for other in others), 0, 0, 0, 1)]
            for other in ordered:
                below -= 100
                lines = [*lines, other._replace(baseline=below, left=0, right=0, size=1)]
        return lines, rules

    def _turn_rule(self, rule: Rule) -> Rule:
        xs, ys = zip(self._turn_point(*rule[:2]), self._turn_point(*rule[2:]), strict=True)
        return Rule(min(xs), min(ys), max(xs), max(ys))

    def _turn_of(self, index: int) -> tuple[int, int]:
        """The direction of writing in quarter turns to the left, and -1 if it is mirrored, or 1."""
        raw.FPDFText_GetMatrix(self._page, index, self._matrix)
        a, b, c, d = (getattr(self._matrix, name) for name in "abcd")
        half_turn = 2 * (raw.FPDFText_GetFontSize(self._page, index) < 0)
        return (round(atan2(b, a) / (pi / 2)) + half_turn) % 4, -1 if a * d < b * c else 1

    def _words(self) -> Iterator[_Word]:
        """The words, cut where digits and marks are raised or lowered; sets `turn` to theirs."""
        height = None
        for match in _WORD.finditer(self.text):
            start, end = match.span()
            x, y = self.origin(start)
            if y != height and (turn := self._turn_of(start)) != self.turn:
                self.turn = turn
                x, y = self.origin(start)
            height = y
            if match["mark"] and end > start + 1:
                marks = list(_MARK.finditer(self.text, start, end))
                shift = SHIFT * self.size(start)
                seen = {mark.end() - 1 for mark in marks}
                if marks[0].start() == start:
                    seen.add(marks[0].end())
                if any(start < i < end and abs(self.origin(i)[1] - y) > shift for i in seen):
                    for i in range(start + 1, end):
                        at = self.origin(i)
                        if abs(at[1] - y) > shift:
                            yield _Word(start, i, x, y)
                            start, x, y = i, *at
            yield _Word(start, end, x, y)


class _Line:
    """A line that is being put together from words."""

    def __init__(self, page: _Characters, word: _Word) -> None:
        self._page, self.last, self.turn = page, word, page.turn
        self._texts, self._lefts = [page.word(word)], [word.x]
        self._left, self._baseline = word.x, word.y
        self._size = page.size(word.start)
        self._shifted = False  # whether the last word is raised or lowered

    def takes(self, word: _Word) -> bool:
        """Append a word if it belongs to this line."""
        before, size = self.last, self._size
        is_label = len(self._texts) == 1 and _LABEL.fullmatch(self._texts[0])
        reach = (LABEL_GAP if is_label else GAP) * size
        rise = word.y - (self._baseline if self._shifted else before.y)
        if abs(rise) > SHIFT * size:
            return self._takes_shifted(word, rise, reach)
        if word.x <= before.x:
            return False
        # Measuring the right edge is costly, and seldom needed.
        certain = word.x - before.x - reach <= NARROWEST * size * (before.end - before.start)
        measured = not certain or self._shifted
        gap = word.x - self._page.right(before.end - 1) if measured else 0.0
        if gap > reach:
            return False
        is_glued = word.start == before.end or (self._shifted and gap < THIN * size)
        self._shifted = False
        self.append(word, "" if is_glued else " ")
        return True

    def _takes_shifted(self, word: _Word, rise: float, reach: float) -> bool:
        gap = word.x - self._page.right(self.last.end - 1)
        if abs(rise) > 2 * self._size or not -2 * THIN * self._size < gap < reach:
            return False
        size, text = self._page.size(word.start), self._page.word(word)
        joint = "" if gap < THIN * self._size else " "
        first = self._texts[0] if len(self._texts) == 1 else ""
        if first.isalpha() and len(first) == 1 and rise > 0 and self._size > DROP_CAP * size:
            self._baseline, self._size, joint = word.y, size, ""
        elif abs(rise) >= OTHER_ROW * self._size:
            return False
        elif first and rise < 0 and self._size < RAISED * size:
            if _NOTE_MARK.fullmatch(first):  # at the beginning of a footnote
                self._texts[0] = joint = ""
            self._baseline, self._size = word.y, size
        else:
            if rise > 0 and size < RAISED * self._size and not joint:
                text = power(self._texts[-1], text)
            self._shifted = True
        self.append(word, joint, text)
        return True

    def append(self, word: _Word, joint: str, text: str | None = None) -> None:
        text = self._page.word(word) if text is None else text
        if joint:
            self._texts.append(text)
            self._lefts.append(word.x)
        else:
            self._texts[-1] += text
        if not self._shifted:
            self._baseline = word.y  # which changes on a page that was scanned askew
        self.last = word

    def whole(self) -> Line:
        right = self._page.right(self.last.end - 1)
        if len(self._texts) > 1 and not self._shifted:  # often begins in bold or small capitals
            self._size = max(self._size, self._page.size(self.last.start))
        # Signs without a code and marks of footnotes are no words.
        words = [
            (text, x) for text, x in zip(self._texts, self._lefts, strict=True) if text.strip()
        ]
        text, lefts = " ".join(text for text, _ in words).strip(), tuple(x for _, x in words)
        return Line(text, self._baseline, self._left, max(right, self._left), self._size, lefts)


def power(base: str, raised: str) -> str:
    """What a raised text reads as: an exponent, nothing for a footnote mark, or itself.

    >>> power("10", "6"), power("km", "2"), power("Ca", "2+"), power("harbour.", "12")
    ('⁶', '²', '²⁺', '')
    """
    if _POWER.fullmatch(raised):
        of_unit = _UNIT.search(base) and raised in "234"
        is_signed = not raised.isdigit() and base[-1:].isalpha()
        if _TEN.search(base) or of_unit or is_signed:
            return raised.translate(_SUPERSCRIPT)
    return "" if _NOTE_MARK.fullmatch(raised) else raised


def _text_of(text_page: Any) -> str:
    """All characters of a page; fetched one by one only if their count disagrees with pdfium's."""
    n_chars = text_page.count_chars()
    buffer = (ctypes.c_ushort * (2 * n_chars + 2))()
    n_written = raw.FPDFText_GetText(text_page, 0, n_chars, buffer)
    text = bytes(buffer)[: 2 * max(n_written - 1, 0)].decode("utf-16-le", "surrogatepass")
    if len(text) != n_chars:  # after a surrogate pair or a character without a code
        codes = (raw.FPDFText_GetUnicode(text_page, i) for i in range(n_chars))
        return "".join(chr(code) if 0 < code < 0x110000 else "\0" for code in codes)
    return text.replace("\ufffe", JOINED)
