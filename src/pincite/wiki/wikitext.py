"""Converts wikitext to the flat form: the visible text, and its references.

`_Walker` assigns lines to blocks, `_Renderer` writes the visible text of nodes, and `_Marks` notes
references, tags, and the notes, captions and parameters that become separate blocks. A reference
can name several works: each citation template and each address is a source.
"""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pincite.text import patterns, word_lists
from pincite.text.identifiers import identifiers_in
from pincite.types import Span
from pincite.wiki import templates
from pincite.wiki.flat import UNREAD, Block, BlockKind, Flat, TextBuilder, Writer
from pincite.wiki.templates import CATEGORY, ENGLISH, TABLE, TAGS, Edition, Source, Use
from pincite.wiki.wikitext_tree import Kind, Node, Parameter, by_name, parameters, parse

# ── lines ──────────────────────

_COMMENTS = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
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


def read_wikitext(source: str, edition: Edition = ENGLISH) -> Flat:
    """Convert an article to the flat form. Never raises on malformed markup."""
    nodes, warnings = parse(source, edition)
    marks = _Marks(source, Flat(warnings=warnings, spaced=edition.spaced))
    marks.collect(nodes)
    _Walker(source, marks).walk(nodes)
    return marks.flat


class _Walker:
    """Assigns the nodes of a page to blocks, line by line."""

    def __init__(self, source: str, marks: "_Marks") -> None:
        self.source = source
        self.marks = marks
        self.writer = Writer(marks.flat, marks.aside)
        self.level = 0  # of the current heading

    def walk(self, nodes: Sequence[Node]) -> None:
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
        self.writer.flush()

    def _render(self, node: Node) -> None:
        self.marks.section = self.writer.section
        _Renderer(self.source, self.writer.out, self.marks).node(node)

    def _line_end(self, node: Node) -> None:
        kind, end = self.writer.kind, self.source.find("\n", node.end)
        blank = not self.source[node.end : end if end >= 0 else len(self.source)].strip()
        if kind is BlockKind.HEADING:
            self._end_heading()
        elif kind in _ONE_LINE or (kind is BlockKind.PARAGRAPH and blank):
            self.writer.flush()
        elif node.end > node.start:
            self.writer.out.literal("\n", node.start)

    def _line_start(self, node: Node) -> bool:
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
            self.writer.flush(BlockKind.ITEM)
            self.writer.depth = len(marker[0].rstrip())
            node = Node(Kind.TEXT, marker.end(), node.end)
        self._inline(node)
        return False

    def _begins_heading(self, node: Node) -> bool:
        if self.source[node.start] != "=" or self.writer.tables:
            return False
        line_end = self.source.find("\n", node.start)
        line = self.source[node.start : line_end if line_end >= 0 else len(self.source)]
        match = _HEADING.match(_COMMENTS.sub("", line))
        if match is None:
            return False
        self.writer.flush(BlockKind.HEADING)
        self.level = min(len(match[1]), len(match[2]))
        self._inline(Node(Kind.TEXT, node.start + self.level, node.end))
        return True

    def _end_heading(self) -> None:
        out = self.writer.out
        text = "".join(out.chars).rstrip()
        if text.endswith("=" * self.level):
            kept = len(text[: -self.level].rstrip())
            del out.chars[kept:], out.starts[kept:], out.ends[kept:]
            out.marks = [replace(mark, position=min(mark.position, kept)) for mark in out.marks]
        self.writer.end_heading(self.level)

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
            self.writer.flush(BlockKind.CAPTION)
            pipe = self.source.find("|", rest.start, rest.end)  # after attributes, as in a cell
            self._inline(Node(Kind.TEXT, max(pipe + 1, rest.start), rest.end))
        else:
            start = self._begin_cell(rest.start, rest.end, heading=line[1] == "!")
            self._cell_text(Node(Kind.TEXT, start, rest.end))
        return True

    def _begin_cell(self, start: int, end: int, *, heading: bool) -> int:
        """Begin a cell; return the start of its text, after optional attributes."""
        split = _SPLIT.search(self.source, start, end)
        self.writer.begin_cell(heading=heading)
        pipe = self.source.find("|", start, split.start() if split else end)
        return max(start, pipe + 1)

    def _cell_text(self, node: Node) -> None:
        start, heading = node.start, self.writer.heading_cell
        for split in _SPLIT.finditer(self.source, node.start, node.end):
            if split[0] == "||" or heading:
                self._render(Node(Kind.TEXT, start, split.start()))
                start = self._begin_cell(split.end(), node.end, heading=heading)
        self._render(Node(Kind.TEXT, start, node.end))

    def _inline(self, node: Node) -> None:
        in_cell = self.writer.kind is BlockKind.CELL and bool(self.writer.tables)
        if node.kind is Kind.TAG:
            self._tag(node)
        elif node.kind is Kind.TEXT and in_cell:
            self._cell_text(node)
        elif node.name in templates.QUOTES and self.writer.kind is BlockKind.PARAGRAPH:
            self.writer.flush()
            self._render(node)
            self.writer.flush()
        else:
            self._render(node)

    def _tag(self, node: Node) -> None:
        name, opens = node.name.removeprefix("/"), not node.name.startswith("/")
        kind = self.writer.kind
        if name == "tr":
            self.writer.end_row()
        elif name == "table" and opens:
            self.writer.begin_table()
        elif name == "table":
            self.writer.end_table()
        elif name in _CELL_TAGS and self.writer.tables and opens:
            self.writer.begin_cell(heading=name == "th")
        elif name in _ITEM_TAGS and kind is not BlockKind.CELL:
            self.writer.flush(BlockKind.ITEM if opens else None)
            self.writer.depth = 1
        elif name in _BLOCK_TAGS and kind is BlockKind.PARAGRAPH:
            self.writer.flush()
        else:
            self._render(node)


# ── marks ──────────────────────

# Picture options that are not the caption: [[File:x.jpg|thumb|left|200px|alt=…|caption]].
_PICTURE_OPTIONS = ("alt=", "link=", "upright", "class=", "lang=", "page=", "thumbtime=", "start=")
_PATTERNS = patterns(__file__, "wikitext", category="|".join(CATEGORY))
_PAGE_FIELDS = TABLE["fields"]["pages"]
_LOOK = 200  # characters around a template that show whether it is within a sentence
_TAG_PARAMETERS = frozenset("date reason talk cat data fecha datum дата".split())
_BEFORE_REMARKS = tuple(".,;:!?)”\"'>}。，、")
_IN_FLOW = templates.HARVARD | templates.SHORT_CITATIONS
_WITH_ADDRESS = _IN_FLOW | templates.ADDRESSED
_NOTES_AND_TAGS = templates.HARVARD | templates.NOTES | TAGS.keys()


@dataclass(slots=True)
class _Marks:
    """Collects references, tags and asides into `flat`; the caller sets `section`."""

    source: str
    flat: Flat
    section: tuple[str, ...] = ()
    aside: list[Block] = field(default_factory=list)  # blocks to append after the current one

    def collect(self, nodes: Sequence[Node]) -> None:
        """Register the definitions in `nodes`: named references and full citations."""
        for node in nodes:
            if node.kind is Kind.EXTENSION and node.name == "ref":
                self._define(node, node.attributes, node.parts[0])
            elif node.kind is Kind.TEMPLATE and templates.is_citation(node.name):
                work = read_template(node, self.source, node.span)
                for key in templates.work_keys(work.fields):
                    self.flat.definitions.works.setdefault(key, work)
            elif node.kind is Kind.TEMPLATE and node.name in templates.NOTES:
                given = by_name(node, self.source)
                named = filter(given.__contains__, ("name", "group"))
                names = {key: plain(given[key].nodes, self.source) for key in named}
                self._define(node, names, given["1"].nodes if "1" in given else [])
            for part in node.parts:
                self.collect(part)

    def _define(self, node: Node, names: Mapping[str, str], content: Sequence[Node]) -> None:
        if names.get("name") and content:
            sources = read_sources(content, self.source, node.span)
            self.flat.definitions.define(names.get("group"), names["name"], sources)

    def extension(self, node: Node, out: TextBuilder) -> None:
        """Note a use of a reference, or the captions of a gallery."""
        if node.name == "ref":
            name, group = node.attributes.get("name"), node.attributes.get("group")
            sources = read_sources(node.parts[0], self.source, node.span)
            details = node.attributes.get("details", "")
            if whole := node.attributes.get("extends"):  # <ref extends=a>p. 5</ref>
                name, sources, details = whole, (), plain(node.parts[0], self.source)
            pages = _PATTERNS["pages"].sub("", details.strip()) or None
            self._use(out, Use(node.span, name or None, group or None, sources, pages))
            if _holds_marks(node.parts[0], notes=True):
                self._note(node.parts[0])
        elif node.name == "gallery":
            self._gallery(node)

    def template(self, name: str, node: Node, out: TextBuilder) -> bool:
        """Note a tag, a short citation, a note or a citation; return whether that is all of it."""
        if name in TAGS:
            self._tag(name, node, out)
        elif name == "r":
            self._named_uses(node, out)
        elif name in _IN_FLOW:
            self._in_flow(name, node, out)
        elif name == "rp":
            if self.flat.uses:
                pages = [plain(p.nodes, self.source) for p in parameters(node, self.source)]
                self.flat.uses[-1].pages = ", ".join(pages) or None
        elif name in templates.NOTES:
            self._note_template(name, node, out)
        else:
            return name in templates.REFERENCE_LISTS or templates.is_citation(name)
        return True

    def unknown(self, node: Node, out: TextBuilder) -> None:
        """Handle a template with unknown text: named parameters with references become blocks.

        Within a sentence it leaves the placeholder `UNREAD`, since the missing words may change the
        sentence's meaning.
        """
        given = parameters(node, self.source)
        if self._is_missed(node, given, out):
            out.rendered(UNREAD, node.span)
        for parameter in given:
            if not _holds_marks(parameter.nodes):
                continue
            if parameter.named:
                content = TextBuilder(lines=True)
                _Renderer(self.source, content, self).render(parameter.nodes)
                label = " ".join(parameter.name.replace("_", " ").split())
                self._add(content, BlockKind.PARAMETER, label)
            else:
                _Renderer(self.source, out, self).render(parameter.nodes)

    def _is_missed(self, node: Node, given: Sequence[Parameter], out: TextBuilder) -> bool:
        """Whether the template is within a sentence and contributes words to it."""
        if templates.is_silent(node.name) or any(_holds_marks(p.nodes) for p in given):
            return False
        before = self.source[max(0, node.start - _LOOK) : node.start].rpartition("\n")[2]
        after = self.source[node.end : node.end + _LOOK].partition("\n")[0].lstrip(" '\"”)")
        if "\n" in self.source[node.start : node.end] or not out.chars:
            return False  # a box
        remark = all(p.name in _TAG_PARAMETERS for p in given) and ":" not in node.name
        if remark and (given or before[-1:].isalnum() or before.endswith(_BEFORE_REMARKS)):
            return False  # {{qualify evidence|date=May 2016}}
        last = "".join(out.chars[-3:]).rstrip(" ”\"'")[-1:]
        ends = last in ".!?。！？" and not (after[:1].islower() or after[:1].isdigit())
        return bool(before.strip(" *#:;|!") or after) and not ends

    def unused(self, given: Sequence[Parameter], out: TextBuilder) -> None:
        """Note the marks in parameters that the rendered template does not show."""
        for parameter in given:
            if _holds_marks(parameter.nodes):
                hidden = TextBuilder()
                _Renderer(self.source, hidden, self).render(parameter.nodes)
                for mark in hidden.marks:
                    out.mark(mark.span, mark.use, mark.tag, in_text=mark.in_text)

    def file(self, node: Node) -> None:
        """Note the caption of a picture: its last part, unless that is an option."""
        if len(node.parts) < 2:
            return
        part = node.parts[-1]
        start = self.source[part[0].start : part[0].end].strip().lower() if part else ""
        if not start.startswith(_PICTURE_OPTIONS):
            self._note(part, BlockKind.CAPTION)

    def _use(self, out: TextBuilder, use: Use, *, in_text: bool = False) -> None:
        out.mark(use.span, use=len(self.flat.uses), in_text=in_text)
        self.flat.uses.append(use)

    def _tag(self, name: str, node: Node, out: TextBuilder) -> None:
        if name.endswith(" span"):
            given = by_name(node, self.source)
            if shown := given.get("text") or given.get("1"):
                _Renderer(self.source, out, self).render(shown.nodes)
        out.mark(node.span, tag=TAGS[name])

    def _in_flow(self, name: str, node: Node, out: TextBuilder) -> None:
        works = read_short(node, self.source, node.span)
        in_text = name in templates.HARVARD and name not in ("harv", "harvs")
        if in_text:
            out.rendered(works[0].text, node.span)  # "Ito 2001 showed that …"
        self._use(out, Use(node.span, sources=works), in_text=in_text)

    def _named_uses(self, node: Node, out: TextBuilder) -> None:
        """The uses in {{r|a|p=3|b|p2=5}}: a parameter with a number belongs to that reference."""
        every = by_name(node, self.source)
        given = {key: plain(p.nodes, self.source) for key, p in every.items()}
        for number, name in enumerate(templates.positional(given), 1):
            suffixes = (str(number), "") if number == 1 else (str(number),)
            keys = [f"{key}{suffix}" for key in _PAGE_FIELDS for suffix in suffixes]
            pages = next(filter(None, map(given.get, keys)), None)
            self._use(out, Use(node.span, name, given.get("group"), pages=pages))

    def _note_template(self, name: str, node: Node, out: TextBuilder) -> None:
        """A note with references is a text with claims; {{refn}} with a citation is a reference."""
        given = by_name(node, self.source)
        content = list(given["1"].nodes) if "1" in given else []
        if _holds_marks(content, notes=True):
            self._note(content)
        elif name in ("refn", "#tag:ref") and (content or "name" in given):
            sources = read_sources(content, self.source, node.span)
            label = plain(given["name"].nodes, self.source) if "name" in given else None
            self._use(out, Use(node.span, label, None, sources))

    def _note(self, nodes: Sequence[Node], kind: BlockKind = BlockKind.PARAGRAPH) -> None:
        """Add a note as a paragraph, or a caption if it has marks."""
        if kind is BlockKind.PARAGRAPH or _holds_marks(nodes):
            out = TextBuilder()
            _Renderer(self.source, out, self).render(nodes)
            self._add(out, kind)

    def _add(self, text: TextBuilder, kind: BlockKind, label: str = "") -> None:
        block = text.block(kind, self.section, spaced=self.flat.spaced)
        self.aside.append(replace(block, label=label))

    def _gallery(self, node: Node) -> None:
        """Note one caption per line: `File:x.jpg|caption`."""
        caption: list[Node] | None = None
        for child in [*node.parts[0], Node(Kind.NEWLINE, node.end, node.end)]:
            if child.kind is Kind.NEWLINE:
                self._note(caption or [], BlockKind.CAPTION)
                caption = None
            elif caption is not None:
                caption.append(child)
            elif child.kind is Kind.TEXT:
                pipe = self.source.find("|", child.start, child.end)
                caption = [Node(Kind.TEXT, pipe + 1, child.end)] if pipe >= 0 else None


def _holds_marks(nodes: Sequence[Node], *, notes: bool = False) -> bool:
    """Whether a reference is used in `nodes`; within `notes`, {{harvnb}} is the note itself."""
    return any(_holds_mark(node, notes) for node in nodes)


def _holds_mark(node: Node, notes: bool) -> bool:
    name, parts = node.name, node.parts
    if node.kind is Kind.EXTENSION and name in ("ref", "references"):
        return name == "ref"
    if node.kind is Kind.TEMPLATE and (name in templates.SHORT_CITATIONS or name == "r"):
        return True
    if node.kind is Kind.TEMPLATE and not notes and name in _NOTES_AND_TAGS:
        return True
    return bool(parts) and node.once(
        f"marks {notes}", lambda: any(_holds_marks(part, notes=notes) for part in parts)
    )


# ── what a reader sees ──────────────────────

_WITH_COLON = ("formatnum:", "lc:", "uc:", "ucfirst:", "lcfirst:")
_PIECE = re.compile(r"\{([\w*]+(?:/\w+)*)\}|\[([^\]]*)\]|([^{\[]+|.)", re.DOTALL)
_LOCAL = re.compile(r"(month|decimal)(\d)")
_BREAKS = frozenset({"br", "li", "p", "tr", "td", "th", "div", "dd", "dt", "ul", "ol"})
_BREAKS |= {f"/{name}" for name in _BREAKS if name != "br"}
_LIST_MARKER = re.compile(r"[*#:;]+\s*")
_FIRST = ("1", "text", "quote", "content", "title")  # names of the first, as in {{quote|text=…}}
_FILE = re.compile(rf"\s*(?:{'|'.join(templates.FILE)})\s*:", re.IGNORECASE)
STYLES = word_lists(__file__, "words")["styles"]
_ITEMS = re.compile(r"(?:ubl|unbulleted list|ublist|vunblist|hlist|flowlist|plainlist|.*\blist\Z)")
_SPACE = re.compile(r"\s")
_LONGEST = 500  # characters of an inline template; a longer one contains texts


@dataclass(slots=True)
class _Renderer:
    """Writes the visible text of nodes into `out`."""

    source: str
    out: TextBuilder
    marks: _Marks | None = None

    def render(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            self.node(node)

    def node(self, node: Node) -> None:
        match node.kind:
            case Kind.TEXT | Kind.URL:
                line_start = not self.out.chars or self.out.chars[-1] == "\n"
                marker = _LIST_MARKER.match(self.source, node.start, node.end)
                start = marker.end() if marker and line_start and self.out.lines else node.start
                self.out.literal(self.source[start : node.end], start)
            case Kind.NEWLINE:
                self.out.literal("\n", node.start)
            case Kind.ENTITY:
                self.out.rendered(html.unescape(self.source[node.start : node.end]), node.span)
            case Kind.VERBATIM:
                self.render(node.parts[0])
            case Kind.LINK:
                self._link(node)
            case Kind.EXTERNAL:
                self._external(node)
            case Kind.TAG | Kind.NOTHING:
                self._tag(node)
            case Kind.TEMPLATE:
                self._template(node)
            case Kind.EXTENSION:
                if self.marks:
                    self.marks.extension(node, self.out)

    def _tag(self, node: Node) -> None:
        if self.source.startswith("''", node.start):
            self.out.quotes(node.span)
        elif node.name in _BREAKS:
            self.out.line_break(node.span)
        elif node.name.startswith("/") and node.name[1:] in STYLES:
            self.out.style(node.name[1:], node.span, opens=False)
        elif node.name in STYLES:
            self.out.style(node.name, node.span, opens=True)
        if node.name == "sup" and self.out.chars and self.out.chars[-1].isdigit():
            self.out.rendered("^", node.span)  # 10<sup>6</sup> is not 106

    def _link(self, node: Node) -> None:
        first = node.parts[0][0] if node.parts[0] else None
        target = self.source[first.start : first.end] if first else ""
        if _FILE.match(target):
            if self.marks:
                self.marks.file(node)
            return
        if _PATTERNS["hidden"].match(target) or first is None:
            return
        self.out.link(node.span)
        if len(node.parts) > 1:
            self.render([n for part in node.parts[1:] for n in part])
        else:
            prefix = _PATTERNS["other_wiki"].match(target)
            start = first.start + (prefix.end() if prefix else 0)
            self.out.literal(self.source[start : first.end], start)
            self.render(node.parts[0][1:])

    def _external(self, node: Node) -> None:
        """Render the label: the text after the address, which ends at the first space."""
        self.out.link(node.span)
        for index, child in enumerate(node.parts[0]):
            space = _SPACE.search(self.source, child.start, child.end)
            if child.kind is Kind.TEXT and space:
                rest = Node(Kind.TEXT, space.end(), child.end)
                self.render([rest, *node.parts[0][index + 1 :]])
                return

    def _template(self, node: Node) -> None:
        name, written = node.name, self.source[node.start : node.end]
        if name not in templates.QUOTES and not name.startswith("infobox"):
            inline = "\n" not in written and len(written) <= _LONGEST and not _ITEMS.match(name)
            # Inline templates are part of the text, like a link; others contain texts themselves.
            (self.out.link if inline else self.out.whole)(node.span)
        if self.marks and self.marks.template(name, node, self.out):
            return
        given, used, text = by_name(node, self.source), set[str](), None
        if name in templates.COMPUTED:
            texts = {key: plain(p.nodes, self.source) for key, p in given.items()}
            text = node.once("text", lambda: templates.computed_text(name, texts))
        is_wrapper = name.startswith("lang-") or name.endswith(" span")
        default = templates.PATTERNS.get(name, "{1}" if is_wrapper else "")
        # The local wiki's own comes first.
        if pattern := node.edition.shown.get(name, "" if name in templates.COMPUTED else default):
            used = self._pattern(pattern, node, given)
        elif text is not None:
            self.out.rendered(text, node.span)
        elif name.startswith(_WITH_COLON):
            self._after_colon(node)
        else:
            if self.marks:
                self.marks.unknown(node, self.out)
            return
        if self.marks:
            self.marks.unused([p for key, p in given.items() if key not in used], self.out)

    def _after_colon(self, node: Node) -> None:
        """{{formatnum:1234}} becomes "1234"."""
        start = self.source.index(":", node.start) + 1
        for child in (child for child in node.parts[0] if child.end > start):
            text = child.kind is Kind.TEXT
            self.node(Node(Kind.TEXT, max(child.start, start), child.end) if text else child)

    def _pattern(self, pattern: str, node: Node, given: dict[str, Parameter]) -> set[str]:
        used: set[str] = set()
        for number, optional, literal in _PIECE.findall(pattern):
            if literal:
                self.out.rendered(literal, node.span)
            elif number:
                used |= self._show_numbered(number, node, given)
            elif any(n in given and given[n].nodes for n in re.findall(r"\{(\d)\}", optional)):
                used |= self._pattern(optional, node, given)
        return used

    def _show_numbered(self, number: str, node: Node, given: dict[str, Parameter]) -> set[str]:
        if (local := _LOCAL.fullmatch(number)) and (parameter := given.get(local[2])):
            written = node.edition.written(local[1], plain(parameter.nodes, self.source))
            self.out.rendered(written, node.span)
            return {parameter.name}
        if number != "*":
            names = _FIRST if number == "1" else number.split("/")
            name = next((n for n in names if n in given and given[n].nodes), None)
            if name is None:
                return set()
            self.render(given[name].nodes)
            return {name}
        shown = [p for p in given.values() if not p.named]
        for index, parameter in enumerate(shown):
            if index and not node.name.startswith("chem"):  # chemical formulas have no separators
                self.out.rendered("\n" if self.out.lines else ", ", node.span)
            self.render(parameter.nodes)
        return {p.name for p in shown}


def plain(nodes: Sequence[Node], source: str) -> str:
    """The visible text of `nodes` on one line, without references."""
    out = TextBuilder()
    _Renderer(source, out).render(nodes)
    return "".join(out.chars).strip()


# ── What a reference says ──────────────────────

ARCHIVE = _PATTERNS["archive"]
_WEB = re.compile(r"https?://", re.IGNORECASE)
_URLS = TABLE["fields"]["url"]
_STAMP = re.compile(r"\d{8,14}\Z")  # of the Wayback Machine: year to second
_MANY = re.compile(r"[1-9]a1\Z")
_OF_COPY = ("archive-url", "archive-date")
_WORKS = ("work", "website", "journal", "newspaper", "publisher")
_BARE = re.compile(r"(?<![\w./@])www\.[\w-]+\.[^\s<>\[\]{}|\"]+", re.IGNORECASE)


def read_sources(nodes: Sequence[Node], source: str, span: Span) -> tuple[Source, ...]:
    """Parse the works in a reference's content; `span` is the reference's position.

    Empty only if the content is. Content without template or address is one source with only a
    text.
    """
    text = plain(nodes, source)
    tags = tuple(dict.fromkeys(_tags(nodes, source)))
    works: list[Source] = []
    # Dead links come last: they repeat an address.
    for node in sorted(_work_nodes(nodes, source), key=_is_dead_link):
        for work in _works_of(node, source, span):
            known = {w.fields.get(key) for w in works for key in ("url", "archive-url")}
            if (place := _archived_by(node, work, works)) is not None:
                stated = {k: v for k, v in work.fields.items() if k in _OF_COPY}
                copy = {"archive-url": work.fields["url"]} | stated
                works[place] = replace(works[place], fields=copy | dict(works[place].fields))
            elif not (_is_dead_link(node) and work.fields.get("url") in known):
                works.append(work)
    if not works and nodes:  # {{Greenwood&Earnshaw2nd}} is known by its name only
        own = next((n for n in nodes if n.kind is Kind.TEMPLATE and n.name not in TAGS), None)
        name = own.local if own and not text else ""
        works = [Source(span, f"{{{{{name}}}}}", name) if name else Source(span, text)]
    if len(works) == 1 and works[0].template is None and text:
        works = [replace(works[0], text=text, fields=_identifiers(text) | dict(works[0].fields))]
    return tuple(replace(work, tags=tags) for work in works)


def _is_dead_link(node: Node) -> bool:
    """Whether it is {{toter Link|url=…}} or similar: a tag that may be the only sign of a work."""
    return node.kind is Kind.TEMPLATE and TAGS.get(node.name) == "dead link"


def _works_of(node: Node, source: str, span: Span) -> tuple[Source, ...]:
    """The works that a template or link names: several for some short citations."""
    if node.kind is not Kind.TEMPLATE:
        address = _address(node, source)
        title = plain([node], source) if node.kind is Kind.EXTERNAL else ""
        return (Source(span, title or address, None, {"url": address, "title": title}),)
    if node.name in _IN_FLOW:
        return read_short(node, source, span)
    return (read_template(node, source, span),)


def read_short(node: Node, source: str, span: Span) -> tuple[Source, ...]:
    """Parse a short citation ({{sfn}}, {{harvnb}}) as sources that refer to works by key.

    One source, or several for {{sfnm|1a1=Ito|1y=2001|2a1=Rao|2y=2002}}.
    """
    given = {key: plain(p.nodes, source) for key, p in by_name(node, source).items()}
    works = [given]
    if node.name == "sfnm":
        numbers = sorted({key[0] for key in given if _MANY.match(key)})
        works = [_one_of_many(given, number) for number in numbers] or works
    return tuple(_short(work, node.local, span) for work in works)


def _one_of_many(given: Mapping[str, str], number: str) -> dict[str, str]:
    work = {key[1:]: value for key, value in given.items() if key.startswith(number) and value}
    words = [work[f"a{i}"] for i in range(1, 5) if f"a{i}" in work] + [work.get("y", "")]
    pages = {key: work[key] for key in ("p", "pp", "loc") if key in work}
    return {str(i): word for i, word in enumerate(words, 1)} | pages


def _short(given: Mapping[str, str], name: str, span: Span) -> Source:
    words = [given[key] for key in map(str, range(1, 7)) if given.get(key)]
    page = given.get("p") or given.get("pp") or given.get("loc")
    key = templates.short_key(words[:-1], words[-1]) if words else ""
    if given.get("ref"):
        key = templates.short_key([given["ref"].removeprefix("CITEREF")], "")
    shown = " ".join(words) + (f", {page}" if page else "")
    return Source(span, shown, name, given, short_key=key)


def read_template(node: Node, source: str, span: Span) -> Source:
    """Parse a citation template, with parameters in plain text by English names."""
    given = {key: _value(key, p, source) for key, p in by_name(node, source).items()}
    given = templates.translate(given) if node.edition.parameters else given
    url, stamp = given.get("url", ""), given.get("date", "")
    if node.name in templates.ARCHIVES and url and not ARCHIVE.match(url) and _STAMP.match(stamp):
        # {{wayback|url=http://a.example|date=20130501000000}}
        day = f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}"
        copy = f"{templates.WAYBACK}{stamp}/{url}"
        given |= {"archive-url": copy, "archive-date": day, "date": ""}
    if not any(map(given.get, (*_URLS, "doi", "DOI"))):
        given["url"] = templates.address_of(node.name, given) or ""
    people = given.get("last") or given.get("last1") or given.get("author") or given.get("author1")
    date = given.get("date") or given.get("year")
    titles = [given.get("chapter"), given.get("title")]
    work = next(filter(None, map(given.get, _WORKS)), None)
    text = ". ".join(part for part in (people, date, *titles, work) if part)
    return Source(span, text, node.local, given)


def _value(name: str, parameter: Parameter, source: str) -> str:
    for node in parameter.nodes if name == "ref" else ():
        if node.kind is Kind.TEMPLATE and node.name in ("harvid", "sfnref"):  # {{harvid|Ito|2001}}
            return " ".join(plain(p.nodes, source) for p in parameters(node, source) if not p.named)
    text = plain(parameter.nodes, source)
    if name.endswith("url") and not _WEB.match(text):  # de: |Online=[https://a.example Online]
        links = (n for n in parameter.nodes if n.kind in (Kind.EXTERNAL, Kind.URL))
        return next((_address(link, source) for link in links), text)
    return text


def _work_nodes(nodes: Sequence[Node], source: str) -> Iterator[Node]:
    for node in nodes:
        if node.kind in (Kind.EXTERNAL, Kind.URL):
            yield node
            continue
        parts = node.parts
        if node.kind is Kind.TEMPLATE:
            addressed = any(p.name == "url" for p in parameters(node, source))
            if addressed or node.name in _WITH_ADDRESS or templates.is_citation(node.name):
                yield node
                continue
            parts = parts[1:]
            if node.name in TAGS:  # es: {{enlace roto|1={{cita web|…}}|2=http://…}}
                parts = parts[:1] if _is_dead_link(node) else []
        yield from (n for part in parts for n in _work_nodes(part, source))


def _address(node: Node, source: str) -> str:
    address = source[node.start : node.end]
    if node.kind is Kind.EXTERNAL:
        address = source[node.start + 1 : node.end - 1].split(maxsplit=1)[0]
    return f"https:{address}" if address.startswith("//") else address


def _archived_by(node: Node, link: Source, works: Sequence[Source]) -> int | None:
    """The index of the work, usually the last, that `link` is only an archive link of."""
    url = link.fields.get("url", "")
    if node.name in templates.ARCHIVES and "archive-url" in link.fields:  # it states its original
        return next((n for n, w in enumerate(works) if w.fields.get("url", url) == url), None)
    last = works[-1] if works and url else None
    linked = bool(ARCHIVE.match(url)) and link.template is None
    copies = last and (node.name in templates.ARCHIVES or (linked and last.short_key is None))
    return len(works) - 1 if copies else None


def _tags(nodes: Sequence[Node], source: str) -> Iterator[str]:
    for node in nodes:
        if node.kind is Kind.TEMPLATE and node.name in TAGS:
            yield TAGS[node.name]
        for part in node.parts:
            yield from _tags(part, source)


def _identifiers(text: str) -> dict[str, str]:
    bare = _BARE.search(text)
    return identifiers_in(text) | ({"url": bare[0].rstrip(".,;:!?)")} if bare else {})
