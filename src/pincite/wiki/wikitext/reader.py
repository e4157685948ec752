"""Wikitext to the flat form: paragraphs, lists, headings, tables and templates as blocks.

The tree (`tree.py`) knows brackets; here the lines decide: what a line begins with says which
block it belongs to.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from pincite.wiki.editions import ENGLISH, Edition
from pincite.wiki.flat import BlockKind, Flat, Writer
from pincite.wiki.wikitext.marks import Marks
from pincite.wiki.wikitext.render import Renderer
from pincite.wiki.wikitext.templates import QUOTES
from pincite.wiki.wikitext.tree import Kind, Node, parse

_COMMENTS = re.compile(r"<!--.*?-->", re.DOTALL)
_HEADING = re.compile(r"(={1,6})[^=\n].*?(={1,6})\s*\Z", re.DOTALL)
_LIST = re.compile(r"[*#:;]+[ \t]*")
_TABLE_OPEN = re.compile(r"[ \t:]*\{\|[^\n]*")
_TABLE_LINE = re.compile(r"[ \t]*(\|\}|\|-[^\n]*|\|\+|\||!)")
_SPLIT = re.compile(r"\|\||!!")
_BLOCK_TAGS = frozenset(
    {"p", "div", "blockquote", "center", "poem", "ul", "ol", "dl", "hr", "section"}
)
_ITEM_TAGS = frozenset({"li", "dd", "dt"})
_CELL_TAGS = frozenset({"td", "th"})
_ONE_LINE = frozenset({BlockKind.ITEM, BlockKind.CAPTION})  # blocks that end with their line
_TO_BLANK = frozenset({BlockKind.PARAGRAPH})  # blocks that end with an empty line


def read_wikitext(source: str, edition: Edition = ENGLISH) -> Flat:
    """The article `source` in the flat form. Never raises on malformed markup."""
    nodes, warnings = parse(source, edition)
    marks = Marks(source)
    marks.flat.warnings.extend(warnings)
    marks.collect(nodes)
    walker = _Walker(source, marks)
    walker.walk(nodes)
    return marks.flat


class _Walker:
    """Goes over the nodes of the page line by line."""

    def __init__(self, source: str, marks: Marks) -> None:
        self.source = source
        self.marks = marks
        self.writer = Writer(marks.flat, marks.aside)
        self.level = 0  # of the present heading

    def walk(self, nodes: Sequence[Node]) -> None:
        """Add the blocks of `nodes`, which begin at the start of a line."""
        line_start = True
        for node in nodes:
            if node.kind is Kind.NEWLINE:
                self._line_end(node)
                line_start = True
            elif line_start:
                line_start = self._line_start(node)
            else:
                self._inline(node)
        self._line_end(Node(Kind.NEWLINE, len(self.source), len(self.source)))
        self._flush()

    def _flush(self, following: BlockKind | None = None) -> None:
        self.writer.flush(following)

    def _render(self, node: Node) -> None:
        self.marks.section = self.writer.section
        Renderer(self.source, self.writer.out, self.marks).node(node)

    # ── lines ───────────────────────────────────────────────────────────────────────────────────

    def _line_end(self, node: Node) -> None:
        kind = self.writer.kind
        if kind is BlockKind.HEADING:
            self._end_heading()
        elif kind in _ONE_LINE or (kind in _TO_BLANK and _blank_after(self.source, node.end)):
            self._flush()
        elif node.end > node.start:
            self.writer.out.literal("\n", node.start)

    def _line_start(self, node: Node) -> bool:
        """Begin a line at `node`; true if what comes next still stands at the line's start."""
        if node.kind is Kind.NOTHING:
            self._render(node)
            return self.source[node.start] == "<"  # a comment, or a tag about transclusion
        if node.kind is not Kind.TEXT:
            self._inline(node)
            return False
        if self._is_table_line(node) or self._begins_heading(node):
            return False
        marker = _LIST.match(self.source, node.start, node.end)
        if marker and not self.writer.tables:
            self._flush(BlockKind.ITEM)
            self.writer.depth = len(marker[0].rstrip())
            node = Node(Kind.TEXT, marker.end(), node.end)
        self._inline(node)
        return False

    def _begins_heading(self, node: Node) -> bool:
        if self.source[node.start] != "=" or self.writer.tables:
            return False
        line_end = self.source.find("\n", node.start)
        line = self.source[node.start : line_end if line_end >= 0 else len(self.source)]
        found = _HEADING.match(_COMMENTS.sub("", line))
        if found is None:
            return False
        self._flush(BlockKind.HEADING)
        self.level = min(len(found[1]), len(found[2]))
        self._inline(Node(Kind.TEXT, node.start + self.level, node.end))
        return True

    def _end_heading(self) -> None:
        """Take the equals signs off the heading's end and close it."""
        out = self.writer.out
        text = "".join(out.chars).rstrip()
        if text.endswith("=" * self.level):
            kept = len(text[: -self.level].rstrip())
            del out.chars[kept:], out.starts[kept:], out.ends[kept:]
            out.marks = [replace(mark, position=min(mark.position, kept)) for mark in out.marks]
        self.writer.end_heading(self.level)

    # ── tables ──────────────────────────────────────────────────────────────────────────────────

    def _is_table_line(self, node: Node) -> bool:
        if opening := _TABLE_OPEN.match(self.source, node.start):
            self.writer.begin_table()
            return opening.end() > node.start
        line = _TABLE_LINE.match(self.source, node.start, node.end) if self.writer.tables else None
        if line is None:
            return False
        rest = Node(Kind.TEXT, line.end(), node.end)
        if line[1] == "|}":
            self.writer.end_table()
            self._inline(rest)
        elif line[1].startswith("|-"):
            self.writer.end_row()
        elif line[1] == "|+":
            self._flush(BlockKind.CAPTION)
            pipe = self.source.find("|", rest.start, rest.end)  # after attributes, as in a cell
            self._inline(Node(Kind.TEXT, max(pipe + 1, rest.start), rest.end))
        else:
            self._begin_cell(rest, heading=line[1] == "!")
        return True

    def _begin_cell(self, rest: Node, *, heading: bool) -> None:
        """Begin a cell at `rest`, whose text may hold attributes and further cells."""
        split = _SPLIT.search(self.source, rest.start, rest.end)
        pipe = self.source.find("|", rest.start, split.start() if split else rest.end)
        self.writer.begin_cell(heading=heading)
        self._cell_text(Node(Kind.TEXT, pipe + 1 if pipe >= 0 else rest.start, rest.end))

    def _cell_text(self, node: Node) -> None:
        """The text of the present cell up to the next `||`, which begins another."""
        for split in _SPLIT.finditer(self.source, node.start, node.end):
            if split[0] == "||" or self.writer.heading_cell:
                self._render(Node(Kind.TEXT, node.start, split.start()))
                rest = Node(Kind.TEXT, split.end(), node.end)
                self._begin_cell(rest, heading=self.writer.heading_cell)
                return
        self._render(node)

    # ── inline ──────────────────────────────────────────────────────────────────────────────────

    def _inline(self, node: Node) -> None:
        in_cell = self.writer.kind is BlockKind.CELL and bool(self.writer.tables)
        if node.kind is Kind.TAG:
            self._tag(node)
        elif node.kind is Kind.TEXT and in_cell:
            self._cell_text(node)
        elif node.kind is Kind.TEMPLATE and self._is_quote(node):
            self._flush()
            self._render(node)
            self._flush()
        else:
            self._render(node)

    def _is_quote(self, node: Node) -> bool:
        in_text = self.writer.kind is BlockKind.PARAGRAPH
        return in_text and node.name in QUOTES

    def _tag(self, node: Node) -> None:
        name, opens = node.name.removeprefix("/"), not node.name.startswith("/")
        kind = self.writer.kind
        if name in ("table", "tr"):
            self._table_tag(name, opens)
        elif name in _CELL_TAGS and self.writer.tables and opens:
            self.writer.begin_cell(heading=name == "th")
        elif name in _ITEM_TAGS and kind is not BlockKind.CELL:
            self._flush(BlockKind.ITEM if opens else None)
            self.writer.depth = 1
        elif name in _BLOCK_TAGS and kind is BlockKind.PARAGRAPH:
            self._flush()
        else:
            self._render(node)

    def _table_tag(self, name: str, opens: bool) -> None:
        if name == "tr":
            self.writer.end_row()
        elif opens:
            self.writer.begin_table()
        else:
            self.writer.end_table()


def _blank_after(source: str, position: int) -> bool:
    """Whether the line at `position` is empty or the last one."""
    end = source.find("\n", position)
    return not source[position : end if end >= 0 else len(source)].strip()
