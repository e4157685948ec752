"""The flat form: an article as blocks of plain text that know where each character came from.

Wikitext and HTML are both converted to it, so that sentences, claims and references never see
markup. This module folds white space, keeps the origin of each character, and tidies the text where
a template or a tag has vanished.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from pincite.types import Span
from pincite.wiki.references import Definitions, Use

# Brackets and separators that are left behind when an inline template renders as nothing:
# "Anarchism ({{IPAc-en|…}}; from Greek)" must not read "Anarchism (; from Greek)".
DEBRIS = re.compile(
    r"[ ]?\((?=(?:[\s;,]|\[…\])*\))(?:[\s;,]|\[…\])*\)"
    r"|(?<=[(\[])[\s;,]+(?=\w)|[ ]+(?=\)|[,.;:](?:\s|$))|(?<=\()[ ]+"
)


MAX_TABLES = 20  # tables within tables; a page of `{|` is no page of tables
MAX_LEAD = 1500  # characters that an item of a list is introduced by: each has them
MAX_ROW = 300  # characters of earlier cells that a cell keeps as its row
UNREAD = "[…]"  # stands for a template whose text is not known


def last_words(text: str, limit: int) -> str:
    """The end of a text in at most `limit` characters, without a part of a word.

    >>> last_words("one two three", 10), last_words("one", 10)
    ('two three', 'one')
    """
    if len(text) <= limit:
        return text
    cut = text[-limit:]
    return cut if text[-limit - 1].isspace() else cut.partition(" ")[2] or cut


class BlockKind(StrEnum):
    """What a block is in the article; `claims.py` words a claim by it."""

    PARAGRAPH = "paragraph"
    ITEM = "item"
    CELL = "cell"
    PARAMETER = "parameter"
    HEADING = "heading"
    CAPTION = "caption"


@dataclass(frozen=True, slots=True)
class Mark:
    """A reference use or an inline tag, standing before the character at `position`."""

    position: int
    span: Span  # the mark itself, in the source
    use: int | None = None  # index into `Flat.uses`; None for an inline tag
    in_text: bool = False  # part of the sentence: "Ito (2001) showed that …"
    tag: str | None = None  # canonical name of an inline tag: "citation needed"


@dataclass(frozen=True, slots=True)
class Block:
    """One paragraph, list item, table cell or template parameter, as a reader sees it.

    `starts[i]` and `ends[i]` are the range of the source that character `i` of `text` stands for:
    one character for literal text, the whole entity or template for text that these render.
    """

    kind: BlockKind
    text: str
    starts: Sequence[int]
    ends: Sequence[int]
    marks: tuple[Mark, ...] = ()
    section: tuple[str, ...] = ()
    lead: str = ""  # what introduces the block: the paragraph before a list, the parent item
    lead_span: Span | None = None  # where `lead` stands in the source
    label: str = ""  # of a parameter: its name
    row: str = ""  # the cells of the same row before this one
    links: tuple[Span, ...] = ()  # links and templates within a line: no claim ends in one
    styles: tuple[Span, ...] = ()  # from ''opening'' to closing mark-up of type; longer templates

    def span(self, start: int, end: int) -> Span:
        """The range of the source that covers `text[start:end]`; the slice must not be empty.

        It takes in every link and template that it touches, and the mark-up around what it holds.
        """
        found = Span(min(self.starts[start:end]), max(self.ends[start:end]))
        found = _with_marks(self.links, found)
        grown = _with_marks(self.styles, found)
        if grown.start < found.start and found.end < grown.end:  # lies in one: does it fill it?
            around = range(bisect_left(self.starts, grown.start), len(self.text))
            others = (i for i in around if self.ends[i] <= grown.end and not start <= i < end)
            return found if any(self.text[i].isalnum() for i in others) else grown
        return grown


def _with_marks(marks: Sequence[Span], span: Span) -> Span:
    """`span` and those of `marks` that its ends lie in; they are in order and never overlap."""
    start, end = span
    first = bisect_left(marks, (start, 0)) - 1
    if first >= 0 and start < marks[first].end:
        start, end = marks[first].start, max(end, marks[first].end)
    last = bisect_left(marks, (end, 0)) - 1
    if last >= 0 and end < marks[last].end:
        end = marks[last].end
    return Span(start, end)


@dataclass(slots=True)
class TextBuilder:
    """Collects the plain text of one block. White space folds; with `lines` line breaks stay."""

    lines: bool = False
    chars: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    links: list[Span] = field(default_factory=list)
    styles: list[Span] = field(default_factory=list)
    opened: dict[str, int] = field(default_factory=dict)  # type not yet closed: where it began

    def literal(self, text: str, start: int) -> None:
        """Append `text`, which stands at `start` in the source exactly so."""
        if "\n" in text:  # quotes end with their line
            self.opened.pop("''", None)
            self.opened.pop("'''", None)
        if text and text.isprintable() and "  " not in text:  # its only white space is one " "
            self._put(text[0], start, start + 1)
            self.chars.extend(text[1:])
            self.starts.extend(range(start + 1, start + len(text)))
            self.ends.extend(range(start + 2, start + len(text) + 1))
            return
        for offset, char in enumerate(text, start):
            self._put(char, offset, offset + 1)

    def rendered(self, text: str, span: Span) -> None:
        """Append `text`, which the markup at `span` renders."""
        for char in text:
            self._put(char, span.start, span.end)

    def mark(
        self,
        span: Span,
        use: int | None = None,
        tag: str | None = None,
        *,
        in_text: bool = False,
    ) -> None:
        """Note a reference use or a tag at the present end of the text."""
        self.marks.append(Mark(len(self.chars), span, use, in_text, tag))

    def link(self, span: Span) -> None:
        """Note that a link or a template stands at `span`, before its text is appended."""
        if not self.links or self.links[-1].end <= span.start:  # not within another
            self.links.append(span)

    def style(self, name: str, span: Span, *, opens: bool) -> None:
        """Note a tag of type, or quotes for italics, at `span`: it opens or closes `name`."""
        if opens:
            self.opened.setdefault(name, span.start)
            return
        start = self.opened.pop(name, -1)
        if start < 0 or any(a < start < b < span.end for a, b in self.links[-1:]):
            return
        if self.links and start < self.links[-1].start and span.end < self.links[-1].end:
            return
        self.whole(Span(start, span.end))

    def whole(self, span: Span) -> None:
        """Note mark-up that may hold several claims, but no part of one."""
        while self.styles and self.styles[-1].start >= span.start:
            self.styles.pop()
        if not self.styles or self.styles[-1].end <= span.start:
            self.styles.append(span)

    def quotes(self, span: Span) -> None:
        """Note two quotes for italics, three for bold or five for both."""
        width = span.end - span.start
        for name in ("''", "'''"):
            if width in (len(name), 5):
                self.style(name, span, opens=name not in self.opened)

    def line_break(self, span: Span) -> None:
        """Append a line break (a space, unless line breaks are kept)."""
        self._put("\n", span.start, span.end)

    def _put(self, char: str, start: int, end: int) -> None:
        if char.isspace():
            self._put_space("\n" if self.lines and char == "\n" else " ", start, end)
            return
        if self.marks and self.marks[-1].position == len(self.chars) > 0:
            before, mark = self.chars[-1], self.marks[-1].span
            words = before.lower() != before.upper() and char.lower() != char.upper()  # no Chinese
            if words or (before in ".!?" and char.isupper()):  # `one.<ref/>Two` reads "one. Two"
                self._put_space(" ", mark.start, mark.end)
        # The sentence splitter is Rust and takes no half of a surrogate pair.
        self.chars.append("\ufffd" if "\ud800" <= char <= "\udfff" else char)
        self.starts.append(start)
        self.ends.append(end)

    def _put_space(self, char: str, start: int, end: int) -> None:
        if self.chars and self.chars[-1] in " \n":
            if char == "\n":
                self.chars[-1] = char
            return
        self.chars.append(char)
        self.starts.append(start)
        self.ends.append(end)

    def block(self, kind: BlockKind, **details: object) -> Block:
        """The finished block, tidied and trimmed; `details` are the other fields of `Block`."""
        text = "".join(self.chars)
        blank = not any(char.isalnum() for char in text)  # nothing but marks of unknown templates
        kept = [not blank] * len(text)
        lead = len(text) - len(text.lstrip())
        gone = [(0, lead), (max(lead, len(text.rstrip())), len(text))]
        for start, end in (*gone, *(found.span() for found in DEBRIS.finditer(text))):
            kept[start:end] = [False] * (end - start)
        before = [0]  # before[i]: kept characters among the first i
        for keep in kept:
            before.append(before[-1] + keep)
        marks = tuple(replace(m, position=before[m.position]) for m in self.marks)
        chosen = [i for i, keep in enumerate(kept) if keep]
        return Block(
            kind,
            "".join(text[i] for i in chosen),
            [self.starts[i] for i in chosen],
            [self.ends[i] for i in chosen],
            marks,
            links=tuple(self.links),
            styles=tuple(self.styles),
            **details,  # type: ignore[arg-type]  # checked by Block itself
        )


@dataclass(slots=True)
class Flat:
    """A whole article in the flat form."""

    blocks: list[Block] = field(default_factory=list)  # in the order of the source
    uses: list[Use] = field(default_factory=list)  # of references, in the order of the source
    definitions: Definitions = field(default_factory=Definitions)
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Writer:
    """The block being written is `out`, of kind `kind`; `flush` ends it and begins another."""

    flat: Flat
    aside: list[Block] = field(default_factory=list)  # blocks to follow the present one
    section: tuple[str, ...] = ()
    kind: BlockKind = BlockKind.PARAGRAPH
    out: TextBuilder = field(default_factory=TextBuilder)
    depth: int = 1  # of the present list item
    heading_cell: bool = False
    headings: list[tuple[int, str]] = field(default_factory=list)  # level and text, outermost first
    tables: list[list[str]] = field(default_factory=list)  # of each the cells of its present row
    items: list[tuple[int, Block]] = field(default_factory=list)  # open list items by depth
    lead: Block | None = None  # the paragraph before a list

    def flush(self, following: BlockKind | None = None) -> None:
        """End the present block and what hangs on it; begin one of kind `following`."""
        if self.out.chars or self.out.marks or self.kind is BlockKind.CELL:
            self.flat.blocks.append(self._finished())
        self.flat.blocks.extend(self.aside)
        self.aside.clear()
        self.kind = following or BlockKind.PARAGRAPH
        self.out = TextBuilder(lines=self.kind is BlockKind.CELL)

    def _finished(self) -> Block:
        if self.kind is BlockKind.ITEM:  # introduced by its parent, or the paragraph before
            while self.items and self.items[-1][0] >= self.depth:
                self.items.pop()
            lead, span = _lead_of(self.items[-1][1] if self.items else self.lead)
            block = self.out.block(BlockKind.ITEM, section=self.section, lead=lead, lead_span=span)
            if block.text:
                self.items.append((self.depth, block))
            return block
        if self.kind is BlockKind.CELL and self.tables:
            cells = self.tables[-1]  # each has a character at least
            row = last_words("; ".join(cells[-MAX_ROW:]), MAX_ROW)
            block = self.out.block(BlockKind.CELL, section=self.section, row=row)
            cells.extend([block.text.replace("\n", " ")] if block.text else [])
            return block
        block = self.out.block(self.kind, section=self.section)
        self.items.clear()
        if block.text and self.kind is BlockKind.PARAGRAPH:
            self.lead = block
        return block

    def end_heading(self, level: int) -> None:
        """Close the heading being written: it opens a section."""
        title = "".join(self.out.chars).strip()
        while self.headings and self.headings[-1][0] >= level:
            self.headings.pop()
        self.headings.append((level, title))
        self.section = tuple(text for _, text in self.headings if text)
        self.lead = None
        self.flush()

    def begin_table(self) -> None:
        """Open a table, inside the present cell if there is one."""
        self.flush()
        if len(self.tables) < MAX_TABLES:
            self.tables.append([])

    def end_row(self) -> None:
        """Close the row of the innermost table."""
        self.flush()
        if self.tables:
            self.tables[-1].clear()

    def end_table(self) -> None:
        """Close the innermost table; the cell around it goes on."""
        self.end_row()
        if self.tables:
            self.tables.pop()
        if self.tables:
            self.flush(BlockKind.CELL)

    def begin_cell(self, *, heading: bool) -> None:
        """Open a cell."""
        self.flush(BlockKind.CELL)
        self.heading_cell = heading


def _lead_of(block: Block | None) -> tuple[str, Span | None]:
    if block is None or not block.text:
        return "", None
    start = max(0, len(block.text) - MAX_LEAD)
    return block.text[start:], block.span(start, len(block.text))
