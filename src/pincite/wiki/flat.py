"""The flat form: an article as blocks of plain text that map each character to the source.

Wikitext and HTML are both converted to it. White space is folded, and what removed templates leave
behind is cleaned up.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import accumulate, compress

from pincite.text import patterns
from pincite.types import Span
from pincite.wiki.templates import Definitions, Use

# Brackets and separators left behind by an inline template that renders as nothing: "Anarchism
# ({{IPAc-en|…}}; from Greek)" must not become "Anarchism (; from Greek)".
DEBRIS = patterns(__file__, "flat")["debris"]
_SPACED_DEBRIS = re.compile(DEBRIS.pattern.replace("[,.;:]", "[,.]"))  # French: "en 1940 ; il"

MAX_TABLES = 20  # nesting depth; more indicates broken markup rather than tables
MAX_LEAD = 1500  # characters of a list's lead-in, which is copied to each item
MAX_ROW = 300  # characters of earlier cells kept as a cell's row
UNREAD = "[…]"  # placeholder for a template with unknown text


def last_words(text: str, limit: int) -> str:
    """The last `limit` characters of a text, without a partial word."""
    if len(text) <= limit:
        return text
    cut = text[-limit:]
    return cut if text[-limit - 1].isspace() else cut.partition(" ")[2] or cut


class BlockKind(StrEnum):
    """The kind of a block; `claims.py` words claims by it."""

    PARAGRAPH = "paragraph"
    ITEM = "item"
    CELL = "cell"
    PARAMETER = "parameter"
    HEADING = "heading"
    CAPTION = "caption"


@dataclass(frozen=True, slots=True)
class Mark:
    """A reference use or an inline tag, placed before the character at `position`."""

    position: int
    span: Span  # of the mark, in the source
    use: int | None = None  # index into `Flat.uses`; None for an inline tag
    in_text: bool = False  # part of the sentence: "Ito (2001) showed that …"
    tag: str | None = None  # canonical name of an inline tag: "citation needed"


@dataclass(frozen=True, slots=True)
class Block:
    """One paragraph, list item, table cell or template parameter, as a reader sees it.

    Character `i` of `text` comes from the source range `starts[i]` to `ends[i]`: one character for
    literal text, the whole entity or template for rendered text.
    """

    kind: BlockKind
    text: str
    starts: Sequence[int]
    ends: Sequence[int]
    marks: tuple[Mark, ...] = ()
    section: tuple[str, ...] = ()
    lead: str = ""  # introduces the block: the paragraph before a list, or the parent item
    lead_span: Span | None = None  # source range of `lead`
    label: str = ""  # name of a parameter
    row: str = ""  # the preceding cells of the same row
    links: tuple[Span, ...] = ()  # inline links and templates: no claim ends in one
    styles: tuple[Span, ...] = ()  # paired inline formatting, and longer templates

    def span(self, start: int, end: int) -> Span:
        """The source range that covers `text[start:end]`; the slice must not be empty.

        It includes each link and template that it touches, and the formatting around it, unless
        that has other words: of `''One. Two.''`, "One." does not include the quotes.
        """
        content = Span(min(self.starts[start:end]), max(self.ends[start:end]))
        content = _extended_to(self.links, content)
        formatted = _extended_to(self.styles, content)
        if content.start <= formatted.start or formatted.end <= content.end:
            return formatted
        shown = range(bisect_left(self.starts, formatted.start), len(self.text))
        others = (n for n in shown if self.ends[n] <= formatted.end and not start <= n < end)
        return content if any(self.text[n].isalnum() for n in others) else formatted


def _extended_to(ranges: Sequence[Span], span: Span) -> Span:
    """Extend `span` by those of the ordered, disjoint `ranges` that contain one of its ends."""
    start, end = span
    first = bisect_left(ranges, (start, 0)) - 1
    if first >= 0 and start < ranges[first].end:
        start, end = ranges[first].start, max(end, ranges[first].end)
    last = bisect_left(ranges, (end, 0)) - 1
    if last >= 0 and end < ranges[last].end:
        end = ranges[last].end
    return Span(start, end)


@dataclass(slots=True)
class TextBuilder:
    """Builds the text of one block. White space is folded; `lines` keeps line breaks."""

    lines: bool = False
    chars: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    links: list[Span] = field(default_factory=list)
    styles: list[Span] = field(default_factory=list)
    opened: dict[str, int] = field(default_factory=dict)  # start of each open formatting tag

    def literal(self, text: str, start: int) -> None:
        """Append `text`, which is literally at `start` in the source."""
        if "\n" in text:  # quote markup ends with its line
            self.opened.pop("''", None)
            self.opened.pop("'''", None)
        if text and text.isprintable() and "  " not in text:  # contains only single spaces
            self._put(text[0], start, start + 1)
            self.chars.extend(text[1:])
            self.starts.extend(range(start + 1, start + len(text)))
            self.ends.extend(range(start + 2, start + len(text) + 1))
            return
        for offset, char in enumerate(text, start):
            self._put(char, offset, offset + 1)

    def rendered(self, text: str, span: Span) -> None:
        for char in text:
            self._put(char, span.start, span.end)

    def mark(
        self, span: Span, use: int | None = None, tag: str | None = None, *, in_text: bool = False
    ) -> None:
        self.marks.append(Mark(len(self.chars), span, use, in_text, tag))

    def link(self, span: Span) -> None:
        if not self.links or self.links[-1].end <= span.start:  # not within another
            self.links.append(span)

    def style(self, name: str, span: Span, *, opens: bool) -> None:
        """Note a formatting tag, or quotes for italics, at `span`: it opens or closes `name`."""
        if opens:
            self.opened.setdefault(name, span.start)
        elif name in self.opened:
            style = Span(self.opened.pop(name), span.end)
            link = self.links[-1] if self.links else Span(0, 0)
            begins_within = link.start < style.start < link.end < style.end
            ends_within = style.start < link.start and style.end < link.end
            if not (begins_within or ends_within):
                self.whole(style)

    def whole(self, span: Span) -> None:
        """Note markup that may contain whole claims, but no part of one."""
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
            char = "\n" if self.lines and char == "\n" else " "
            if self.chars and self.chars[-1] in " \n":
                if char == "\n":
                    self.chars[-1] = char
                return
        elif (
            self.marks
            and self.marks[-1].position == len(self.chars) > 0
            and _needs_space(self.chars[-1], char)
        ):
            self._put(" ", *self.marks[-1].span)
        # The sentence splitter, in Rust, rejects lone surrogates.
        self.chars.append("\ufffd" if "\ud800" <= char <= "\udfff" else char)
        self.starts.append(start)
        self.ends.append(end)

    def block(self, kind: BlockKind, section: tuple[str, ...], *, spaced: bool = False) -> Block:
        """Return the finished block, cleaned and trimmed."""
        text = "".join(self.chars)
        is_blank = not any(map(str.isalnum, text))  # only placeholders of unknown templates
        is_kept = [not is_blank] * len(text)
        n_leading = len(text) - len(text.lstrip())
        margins = [(0, n_leading), (max(n_leading, len(text.rstrip())), len(text))]
        debris = _SPACED_DEBRIS if spaced else DEBRIS
        for start, end in (*margins, *(match.span() for match in debris.finditer(text))):
            is_kept[start:end] = [False] * (end - start)
        new_positions = list(accumulate(is_kept, initial=0))  # by position among all characters
        return Block(
            kind,
            "".join(compress(text, is_kept)),
            list(compress(self.starts, is_kept)),
            list(compress(self.ends, is_kept)),
            tuple(replace(mark, position=new_positions[mark.position]) for mark in self.marks),
            section,
            links=tuple(self.links),
            styles=tuple(self.styles),
        )


def _needs_space(before: str, after: str) -> bool:
    """Whether a mark between two characters stands for a space: `one.<ref/>Two` is "one. Two"."""
    are_cased = before.lower() != before.upper() and after.lower() != after.upper()  # not Chinese
    return are_cased or (before in ".!?" and after.isupper())


@dataclass(slots=True)
class Flat:
    """An article in the flat form."""

    blocks: list[Block] = field(default_factory=list)  # in source order
    uses: list[Use] = field(default_factory=list)  # of references, in source order
    definitions: Definitions = field(default_factory=Definitions)
    warnings: list[str] = field(default_factory=list)
    spaced: bool = False  # a space is written before ; and :
    is_manuscript: bool = False  # plain text, whose title is not the subject of its sentences


@dataclass(slots=True)
class Writer:
    """Writes blocks: `out` is the current one, of kind `kind`; `flush` ends it."""

    flat: Flat
    aside: list[Block] = field(default_factory=list)  # blocks to append after the current one
    section: tuple[str, ...] = ()
    kind: BlockKind = BlockKind.PARAGRAPH
    out: TextBuilder = field(default_factory=TextBuilder)
    depth: int = 1  # nesting depth of the current list item
    heading_cell: bool = False
    headings: list[tuple[int, str]] = field(default_factory=list)  # level and text, outermost first
    tables: list[list[str]] = field(default_factory=list)  # the cells of each table's current row
    items: list[tuple[int, Block]] = field(default_factory=list)  # open list items by depth
    lead: Block | None = None  # the paragraph before a list

    def flush(self, following: BlockKind | None = None) -> None:
        """End the current block and start one of kind `following`."""
        if self.out.chars or self.out.marks or self.kind is BlockKind.CELL:
            self.flat.blocks.append(self._finish())
        self.flat.blocks.extend(self.aside)
        self.aside.clear()
        self.kind = following or BlockKind.PARAGRAPH
        self.out = TextBuilder(lines=self.kind is BlockKind.CELL)

    def _finish(self) -> Block:
        block = self.out.block(self.kind, self.section, spaced=self.flat.spaced)
        if self.kind is BlockKind.ITEM:
            return self._finish_item(block)
        if self.kind is BlockKind.CELL and self.tables:
            row = self.tables[-1]
            preceding = "; ".join(row[-MAX_ROW:])  # each has at least one character
            if block.text:
                row.append(block.text.replace("\n", " "))
            return replace(block, row=last_words(preceding, MAX_ROW))
        self.items.clear()
        if block.text and self.kind is BlockKind.PARAGRAPH:
            self.lead = block
        return block

    def _finish_item(self, block: Block) -> Block:
        """Add what introduces the item: its parent, or the paragraph before the list."""
        while self.items and self.items[-1][0] >= self.depth:
            self.items.pop()
        parent = self.items[-1][1] if self.items else self.lead
        if parent and parent.text:
            start = max(0, len(parent.text) - MAX_LEAD)
            lead_span = parent.span(start, len(parent.text))
            block = replace(block, lead=parent.text[start:], lead_span=lead_span)
        if block.text:
            self.items.append((self.depth, block))
        return block

    def end_heading(self, level: int) -> None:
        title = "".join(self.out.chars).strip()
        while self.headings and self.headings[-1][0] >= level:
            self.headings.pop()
        self.headings.append((level, title))
        self.section = tuple(text for _, text in self.headings if text)
        self.lead = None
        self.flush()

    def begin_table(self) -> None:
        """Open a table, nested in the current cell if there is one."""
        self.flush()
        if len(self.tables) < MAX_TABLES:
            self.tables.append([])

    def end_row(self) -> None:
        self.flush()
        if self.tables:
            self.tables[-1].clear()

    def end_table(self) -> None:
        """Close the innermost table; the enclosing cell continues."""
        self.end_row()
        if self.tables:
            self.tables.pop()
        if self.tables:
            self.flush(BlockKind.CELL)

    def begin_cell(self, *, heading: bool) -> None:
        self.flush(BlockKind.CELL)
        self.heading_cell = heading
