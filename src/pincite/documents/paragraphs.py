"""Joins the ordered lines of a document's pages to paragraphs, across columns and pages."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from pincite.documents.page_lines import (
    ASIDES,
    CAPTION,
    ENDS_SENTENCE,
    INDENT,
    LINE_WORDS,
    PARAGRAPH_GAP,
    Line,
    Lines,
    breaks_early,
    n_words,
)
from pincite.documents.text import clean_text, join_pieces

OTHER_SIZE = 1.08  # ratio of the font sizes of headings, notes and captions to the text's
LAST_LINE_WIDTH = 0.8  # share of its neighbour's width: the last line of a paragraph is shorter
SMALL_CAPITALS = 1.4  # ratio of the sizes of a text and its small capitals
SAME_COLUMN = 40.0  # between the left edges of lines in one column
PROSE_WORDS = 5.0  # a line: of text that may go on with a name or a number
PAGE_BREAK = "\f"
# Match from word starts only, without backtracking: a word of 100,000 letters took 8 s otherwise.
_HYPHEN = re.compile(f"(?<!\\w)(\\w++)[-\u2010\xad]\n({PAGE_BREAK}?)(?=(\\w+))")


class Paragraph(NamedTuple):
    """Lines of one paragraph, or of the part of one in a column."""

    lines: Lines
    usual: float  # the font size of most of the document

    @property
    def size(self) -> float:
        return max(line.size for line in self.lines[:3])  # a line may be in small capitals

    def is_aside(self) -> bool:
        """Whether this is a note, a caption, a heading or a quotation beside the text."""
        small, large = sorted((self.size, self.usual))
        return self._is_float() or large > OTHER_SIZE * small

    def is_small(self) -> bool:
        return self.size * OTHER_SIZE < self.usual and not self._is_float()

    def _is_float(self) -> bool:
        return self.lines[0].is_table or bool(CAPTION.match(self.lines[0].text))

    def is_cut(self) -> bool:
        """Whether it ends within a sentence: without a stop, in a full line of words."""
        last = self.lines[-1]
        if self.is_aside() or ENDS_SENTENCE.search(last.text):
            return False
        width = max(line.right for line in self.lines[-3:]) - last.left
        full = last.right - last.left >= LAST_LINE_WIDTH * width
        return full and n_words([last]) >= LINE_WORDS - 1


def _rest(cut: Paragraph, after: Sequence[Paragraph]) -> int | None:
    """The place of the paragraph that goes on with the sentence in which `cut` ends."""
    n = next((n for n, paragraph in enumerate(after[:ASIDES]) if not paragraph.is_aside()), None)
    if n is None or not cut.is_cut():
        return None
    first = after[n].lines[0].text[0]
    last = cut.lines[-3:]
    is_prose = len(last) > 1 and n_words(last) >= PROSE_WORDS * len(last)
    return n if first.islower() or (is_prose and first.isalnum()) else None


def running_text(pages: Sequence[Lines]) -> tuple[str, list[int]]:
    """Join all pages, each in reading order; returns the text and each page's start offset.

    A page begins with a new paragraph, unless a sentence goes on from the page before.
    """
    sizes = Counter[float]()
    for line in chain(*pages):
        sizes[round(2 * line.size) / 2] += len(line.text)
    usual = sizes.most_common(1)[0][0] if sizes else 0.0
    split = [_with_asides_apart(_paragraphs(page, usual)) for page in pages]
    raw_pages = list[str]()
    for (text, notes), (text_after, _) in pairwise([*split, ([], [])]):
        rest = _rest(text[-1], text_after) if text else None
        ordered = [*text, *notes]
        if rest is not None:  # the notes stand before the paragraph that goes on
            ordered = [*text[:-1], *notes, text[-1]]
            text_after.insert(0, text_after.pop(rest))
        raw = "\n\n".join("\n".join(line.text for line in part.lines) for part in ordered)
        raw_pages.append(raw + ("\n\n" if rest is None else "\n"))
    raw_text = PAGE_BREAK.join(raw_pages)
    words = Counter(re.findall(r"\w+(?:-\w+)*", raw_text.lower()))
    whole = _dehyphenate(raw_text, words).split(PAGE_BREAK)
    gaps = [page[len(page.rstrip("\n ")) :] for page in ("", *whole)]
    return join_pieces(zip(gaps, map(clean_text, whole), strict=False))


def _paragraphs(lines: Lines, usual: float) -> list[Paragraph]:
    pitch, groups = _pitch(lines), [[line] for line in lines[:1]]
    for before, previous, line in zip([*lines[:1], *lines], lines, lines[1:], strict=False):
        if _starts_paragraph(before, previous, line, pitch):
            groups.append([])
        groups[-1].append(line)
    return [Paragraph(group, usual) for group in groups]


def _with_asides_apart(paragraphs: list[Paragraph]) -> tuple[list[Paragraph], list[Paragraph]]:
    """The text with what stood within a sentence moved after it, and the footnotes."""
    text, notes = list[Paragraph](), list[Paragraph]()
    for n, paragraph in enumerate(paragraphs):
        (notes if _is_footnote(paragraphs, n) else text).append(paragraph)
    n = 0
    while n < len(text):
        rest = _rest(text[n], text[n + 1 : n + 1 + ASIDES])
        below = text[n].lines[-1].baseline
        if rest is not None and (rest or below < text[n + 1].lines[0].baseline):
            lines = [*text[n].lines, *text[n + 1 + rest].lines]
            text[n : n + 2 + rest] = [text[n]._replace(lines=lines), *text[n + 1 : n + 1 + rest]]
        else:
            n += 1
    return text, notes


def _is_footnote(paragraphs: Sequence[Paragraph], n: int) -> bool:
    """Whether a small paragraph stands below the text of its column, or of the page."""
    first = paragraphs[n].lines[0]
    above = next((p.lines[-1] for p in reversed(paragraphs[:n]) if not p.is_small()), first)
    below = next((p.lines[0] for p in paragraphs[n + 1 :] if not p.is_small()), above)
    is_last = above.baseline > first.baseline < below.baseline and above.left < first.right
    return is_last and paragraphs[n].is_small()


def _pitch(lines: Lines) -> float:
    """The line distance within paragraphs; 0 if there are no two consecutive lines.

    Uses the lower quartile, since a page of short paragraphs has as many gaps between them as
    within them. Steps below the line height are notes and superscripts.
    """
    pairs = ((a.baseline - b.baseline, b.size) for a, b in pairwise(lines))
    steps = sorted(step for step, size in pairs if step > 0.8 * size)
    return steps[len(steps) // 4] if steps else 0.0


def _starts_paragraph(before: Line, previous: Line, line: Line, pitch: float) -> bool:
    """Whether `line` begins a paragraph; `before` is the line before `previous`."""
    step = previous.baseline - line.baseline
    if step > PARAGRAPH_GAP * pitch or previous.is_table or line.is_table:
        return True
    small, large = sorted((previous, line), key=lambda line: line.size)
    in_capitals = small.text.isupper() and large.size < SMALL_CAPITALS * small.size
    if abs(step) > 1 and large.size > OTHER_SIZE * small.size and not in_capitals:
        return True
    if not ENDS_SENTENCE.search(previous.text):
        return breaks_early(before, previous, line)
    if abs(line.left - previous.left) > SAME_COLUMN:
        return False
    if line.left - previous.left > INDENT:
        return True
    width = max(before.right, line.right) - previous.left
    return previous.right - previous.left < LAST_LINE_WIDTH * width


def _dehyphenate(text: str, words: Counter[str]) -> str:
    """Join hyphenated words, unless they always have a hyphen, and the lines of a paragraph."""

    def mended(match: re.Match[str]) -> str:
        first, page_break, second = match.groups()
        whole, hyphenated = f"{first}{second}".lower(), f"{first}-{second}".lower()
        in_word = second[0].islower() and first[-1].islower()
        is_whole = in_word or f"{first}{second}".isupper()
        keep = not is_whole or (words[hyphenated] and not words[whole])
        return f"{first}-{page_break}" if keep else first + page_break

    return re.sub(r"(?<!\n)\n(?!\n)", " ", _HYPHEN.sub(mended, text))
