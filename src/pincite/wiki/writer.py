"""Writes blocks: knows the section, the list item and the table cell that text belongs to.

Shared by wikitext and HTML, which differ only in how they say where these begin and end.
"""

from dataclasses import dataclass, field

from pincite.types import Span
from pincite.wiki.flat import Block, BlockKind, Flat, TextBuilder, last_words

MAX_TABLES = 20  # tables within tables; a page of `{|` is no page of tables
MAX_LEAD = 1500  # characters that an item of a list is introduced by: each has them
MAX_ROW = 300  # characters of earlier cells that a cell is handed on with


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
        if self.kind is BlockKind.ITEM:
            return self._item()
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

    def _item(self) -> Block:
        """A list item, introduced by its parent item or by the paragraph before the list."""
        while self.items and self.items[-1][0] >= self.depth:
            self.items.pop()
        lead, span = _lead_of(self.items[-1][1] if self.items else self.lead)
        block = self.out.block(BlockKind.ITEM, section=self.section, lead=lead, lead_span=span)
        if block.text:
            self.items.append((self.depth, block))
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
