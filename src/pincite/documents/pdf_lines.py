"""Joins the characters of a PDF page to words and lines, as pdfium measures them.

Exponents are written as such, and footnote marks dropped. Places are those that the reader of a
text sees, however it is turned on its page. Distances are in points, or in font sizes.
"""

import ctypes
import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from math import atan2, hypot, pi
from typing import Any, NamedTuple

from pypdfium2 import raw

from pincite.documents.page_lines import Line, Lines, Rule

JOINED = "\x02"  # pdfium's hyphen at a line end, when the word goes on in the next line
NO_CODE = "\0"  # stands for a character without a code
N_SAMPLED = 9  # characters that tell how the page is turned
# These are in font sizes. Word spaces are 0.25, up to 1 in justified lines; column gaps are 1 or
# more. `paragraphs` rejoins false cuts.
GAP = 0.7  # the most between words of a line
LABEL_GAP = 3.0  # the most after a bullet or a list's number
THIN = 0.15  # less than any word space
NARROWEST = 0.2  # the width of an i
SHIFT = 0.1  # the most between baselines of words that are neither raised nor lowered
OTHER_LINE = 0.7  # the least between baselines of two lines
RAISED = 0.9  # the most size of raised text, in sizes of the text beside it
DROP_CAP = 1.7  # the least size of a letter that begins a text, in sizes of the text
_MARK = re.compile(r"[\d*†‡§¶]+")
# "harbour.12" has a mark; a word ends at white space, or behind the hyphen at a line end.
_WORD = re.compile(r"(?=[^\s\x02])[^\s\x02\d*†‡§¶]*(?P<from_mark>[\d*†‡§¶][^\s\x02]*)?\x02?")
_LABEL = re.compile(r"[•▪●◦‣–—·*-]|\(?\w{1,3}[.)]|\[\d{1,3}\]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_NOTE_MARK = re.compile(r"[\d,;*†‡§¶()\[\]\u2013-]{1,12}")
_POWER = re.compile(r"[-\u2212\u2013+]?\d{1,3}|\d?[+\u2212-]")
# What a power stands on: a ten, another one-digit number, a unit, a variable; or any word, if the
# power has a sign, as in "mol⁻¹" and "Ca²⁺". A raised number after other words is a footnote mark.
_TEN = re.compile(r"(?<![\d.,])(?:10|\d)\Z")
_UNIT = re.compile(r"(?<![^\W\d_])(?:[cdkmµn]?m|mi|ft|yd|s|kg|[^\W\d_])\Z")
_SUPERSCRIPT = str.maketrans("0123456789+-\u2212\u2013", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")


class Turn(NamedTuple):
    """How text is turned on its page."""

    quarters: int = 0  # to the left
    is_mirrored: bool = False

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Where a point of the page is for a reader who has turned the page to read the text."""
        right, up = ((x, y), (y, -x), (-x, -y), (-y, x))[self.quarters]
        return right, -up if self.is_mirrored else up

    def rule(self, rule: Rule) -> Rule:
        (x1, y1), (x2, y2) = self.point(rule.left, rule.bottom), self.point(rule.right, rule.top)
        return Rule(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))


class Word(NamedTuple):
    """A word, or the part of one on the same baseline."""

    text: str
    start: int  # its first character in the page's text
    end: int
    left: float
    baseline: float
    turn: Turn


class Characters:
    """The characters of a page and their measures."""

    def __init__(self, text_page: Any) -> None:
        self._page = text_page.raw
        self.text = _text_of(text_page)

    def word(self, start: int, end: int, turn: Turn) -> Word:
        text = self.text[start:end].replace(JOINED, "-").replace(NO_CODE, "")
        if not text.isascii():  # pdfium counts a surrogate pair as two characters; join them
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return Word(text, start, end, *self.origin(start, turn), turn)

    def origin(self, index: int, turn: Turn) -> tuple[float, float]:
        """The left end of a character's baseline."""
        x, y = ctypes.c_double(), ctypes.c_double()
        raw.FPDFText_GetCharOrigin(self._page, index, x, y)
        return turn.point(x.value, y.value)

    def rise(self, index: int, word: Word) -> float:
        """How much higher than a word's baseline a character's is."""
        return self.origin(index, word.turn)[1] - word.baseline

    def right_end(self, word: Word) -> float:
        left, right = ctypes.c_double(), ctypes.c_double()
        bottom, top = ctypes.c_double(), ctypes.c_double()
        raw.FPDFText_GetCharBox(self._page, word.end - 1, left, right, bottom, top)
        # A mirrored page is upside down, so that right remains right.
        return (right.value, top.value, -left.value, -bottom.value)[word.turn.quarters]

    def font_size(self, index: int) -> float:
        matrix = self._matrix(index)
        scale = hypot(matrix.c, matrix.d)
        return abs(scale * raw.FPDFText_GetFontSize(self._page, index)) or 1.0

    def turn_of(self, index: int) -> Turn:
        matrix = self._matrix(index)
        quarters = round(atan2(matrix.b, matrix.a) / (pi / 2))
        if raw.FPDFText_GetFontSize(self._page, index) < 0:  # which turns each letter by a half
            quarters += 2
        return Turn(quarters % 4, is_mirrored=matrix.a * matrix.d < matrix.b * matrix.c)

    def usual_turn(self) -> Turn:
        sample = range(0, len(self.text), max(1, len(self.text) // N_SAMPLED))
        turns = Counter(self.turn_of(index) for index in sample if self.text[index] > " ")
        return turns.most_common(1)[0][0] if turns else Turn()

    def _matrix(self, index: int) -> Any:
        matrix = raw.FS_MATRIX()
        raw.FPDFText_GetMatrix(self._page, index, matrix)
        return matrix


def _text_of(text_page: Any) -> str:
    """All characters of a page; fetched one by one only if their count disagrees with pdfium's."""
    n_chars = text_page.count_chars()
    buffer = (ctypes.c_ushort * (2 * n_chars + 2))()
    n_written = raw.FPDFText_GetText(text_page, 0, n_chars, buffer)
    text = bytes(buffer)[: 2 * max(n_written - 1, 0)].decode("utf-16-le", "surrogatepass")
    if len(text) != n_chars:  # after a surrogate pair or a character without a code
        codes = (raw.FPDFText_GetUnicode(text_page, i) for i in range(n_chars))
        return "".join(chr(code) if 0 < code < 0x110000 else NO_CODE for code in codes)
    return text.replace("\ufffe", JOINED)


def lines_by_turn(text_page: Any) -> dict[Turn, Lines]:
    """The parts of a page's lines, in file order; those that are turned as most text come first."""
    page = Characters(text_page)
    usual = page.usual_turn()
    is_right_to_left = len(_RIGHT_TO_LEFT.findall(page.text)) > len(page.text) // 4
    by_turn: dict[Turn, list[_Line]] = {usual: []}
    for turn, words in groupby(_words(page, usual), key=lambda word: word.turn):
        line: _Line | None = None
        for word in words:
            # `takes` expects a line's next word on the right.
            if line and is_right_to_left and "\n" not in page.text[line.last.end : word.start]:
                line.append(word, is_glued=False)
            elif not (line and line.takes(word)):
                line = _Line(page, word)
                by_turn.setdefault(turn, []).append(line)
    finished = {turn: [line.finished() for line in lines] for turn, lines in by_turn.items()}
    return {turn: [line for line in lines if line.text] for turn, lines in finished.items()}


def _words(page: Characters, turn: Turn) -> Iterator[Word]:
    """The words, cut where digits and marks are raised or lowered; `turn` is that of most."""
    baseline = None
    for match in _WORD.finditer(page.text):
        word = page.word(*match.span(), turn)
        # Words on one baseline have one turn, which is costly to measure.
        if word.baseline != baseline and (own_turn := page.turn_of(word.start)) != turn:
            turn = own_turn
            word = page.word(*match.span(), turn)
        baseline = word.baseline
        yield from _parts(page, word) if match["from_mark"] else [word]


def _parts(page: Characters, word: Word) -> Iterator[Word]:
    """The parts of a word that has a mark or digit, by baseline: "10" and "6" of 10⁶."""
    shift = SHIFT * page.font_size(word.start)
    # Few characters tell: the last of each mark, and the first after a mark at the beginning.
    marks = list(_MARK.finditer(page.text, word.start, word.end))
    probed = {mark.end() - 1 for mark in marks} - {word.start}
    if marks[0].start() == word.start:
        probed |= {marks[0].end()} - {word.end}
    if any(abs(page.rise(i, word)) > shift for i in probed):
        for i in range(word.start + 1, word.end):
            if abs(page.rise(i, word)) > shift:
                yield page.word(word.start, i, word.turn)
                word = page.word(i, word.end, word.turn)
    yield word


class _Line:
    """A line that is being put together from words of one turn."""

    def __init__(self, page: Characters, word: Word) -> None:
        self._page, self.last = page, word
        self._words = [word]  # the text of one has those that follow without a space, as in "10⁶"
        self._baseline = word.baseline  # of the last word that is neither raised nor lowered
        self._size = page.font_size(word.start)
        self._is_shifted = False  # whether the last word is raised or lowered

    def takes(self, word: Word) -> bool:
        """Append a word if it belongs to this line."""
        is_label = len(self._words) == 1 and _LABEL.fullmatch(self._words[0].text)
        reach = (LABEL_GAP if is_label else GAP) * self._size
        if abs(word.baseline - self._baseline) > SHIFT * self._size:
            return self._takes_shifted(word, reach)
        if word.left <= self.last.left:
            return False
        # Measuring the right end is costly; behind a short word, the gap is in reach in any case.
        narrowest = NARROWEST * self._size * (self.last.end - self.last.start)
        is_in_reach = word.left - self.last.left - reach <= narrowest
        gap = 0.0 if is_in_reach and not self._is_shifted else self._gap_before(word)
        if gap > reach:
            return False
        is_glued = word.start == self.last.end or (self._is_shifted and gap < THIN * self._size)
        self._is_shifted = False
        self.append(word, is_glued)
        return True

    def _takes_shifted(self, word: Word, reach: float) -> bool:
        """Append a word that is raised or lowered if it belongs to this line."""
        gap, rise = self._gap_before(word), word.baseline - self._baseline
        if abs(rise) > 2 * self._size or not -2 * THIN * self._size < gap < reach:
            return False
        size, first = self._page.font_size(word.start), self._words[0].text
        is_second = len(self._words) == 1 and first != ""
        is_letter = is_second and len(first) == 1 and first.isalpha()
        # The large "T" of "The council met" is two lines high.
        after_drop_cap = is_letter and rise > 0 and self._size > DROP_CAP * size
        if abs(rise) >= OTHER_LINE * self._size and not after_drop_cap:
            return False
        after_raised = is_second and rise < 0 and self._size < RAISED * size  # "¹ See page 4."
        after_mark = after_raised and bool(_NOTE_MARK.fullmatch(first))
        is_glued = after_drop_cap or after_mark or gap < THIN * self._size
        is_raised = rise > 0 and size < RAISED * self._size  # "10⁶", "harbour.¹²"
        if after_mark:
            self._words = [self._words[0]._replace(text="")]
        if after_drop_cap or after_raised:  # the line is on this word's baseline
            self._baseline, self._size = word.baseline, size
        else:
            self._is_shifted = True
            if is_raised and is_glued:
                word = word._replace(text=power(self._words[-1].text, word.text))
        self.append(word, is_glued)
        return True

    def _gap_before(self, word: Word) -> float:
        return word.left - self._page.right_end(self.last)

    def append(self, word: Word, is_glued: bool) -> None:
        if is_glued:
            before = self._words[-1]
            self._words[-1] = before._replace(text=before.text + word.text)
        else:
            self._words.append(word)
        if not self._is_shifted:
            self._baseline = word.baseline  # which changes on a page that was scanned askew
        self.last = word

    def finished(self) -> Line:
        left, right, size = self._words[0].left, self._page.right_end(self.last), self._size
        if len(self._words) > 1 and not self._is_shifted:  # often begins in bold, small capitals
            size = max(size, self._page.font_size(self.last.start))
        # Signs without a code and marks of footnotes are no words.
        words = [word for word in self._words if word.text.strip()]
        text, lefts = " ".join(word.text for word in words), tuple(word.left for word in words)
        return Line(text.strip(), self._baseline, left, max(right, left), size, lefts)


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
