"""Wikitext as a tree of nodes with exact offsets, in one pass.

Why not an existing parser: mwparserfromhell tries every opening bracket anew, in C, where nothing
can interrupt it: 200 kB of `[http://a ` took it 43 s, 100 kB of `<ref>` 17 s, and articles come
from strangers. It also keeps no offsets. Here every bracket is looked at once; brackets that never
close become text again. The tests compare the two on references, templates and links.

As MediaWiki does, a first pass cuts comments and extension tags out of the text before any bracket
is looked at. Lines (lists, tables, headings) are for `reader.py`.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pincite.types import Span
from pincite.wiki.editions import ENGLISH, Edition, template_name

MAX_DEPTH = 40  # brackets within brackets; deeper ones are text. MediaWiki stops at 40 too.

_TOKEN = re.compile(
    r"<[^\W\d_/]|</|<!--|\{{2,}|\}{2,}|\[\[|\]|\[(?=(?:https?:|ftp:|mailto:)?//|mailto:)|\||\n|'{2,}"
    r"|&(?:[a-zA-Z][a-zA-Z0-9]{1,31}|\#[0-9]{1,7}|\#[xX][0-9a-fA-F]{1,6});"
    r"|__[^\W\d_a-z][^\W\da-z]{1,39}?__|(?<![\w/])(?:https?|ftp)://[^\s<>\[\]{}|\"]+"
)
_VARIANTS = re.compile(r"-\{(?!\{)[^{}\n]*\}-|" + _TOKEN.pattern)  # where scripts are converted
_VARIANT = re.compile(r"(?:([^|]*)\|)?\s*(?:[a-z]{2}(?:-[a-z]+)?\s*:\s*)?([^;|]*)")
_UNSEEN = frozenset("HTD-")  # flags of rules that show nothing
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:[\s/][^<>]*)?)>")
_SPECIAL = re.compile(
    r"<!--|<(/?)(nowiki|pre|math|chem|ce|syntaxhighlight|source|score|hiero|timeline|graph|"
    r"templatedata|imagemap|inputbox|categorytree|mapframe|maplink|ref|references|gallery)"
    r"((?:[\s/][^<>]*)?)>",
    re.IGNORECASE,
)
_EXTENSIONS = frozenset({"ref", "references", "gallery"})
_VISIBLE = frozenset({"nowiki", "math", "chem", "ce"})
_ATTRIBUTE = re.compile(r"([\w:-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_NAME = re.compile(r"\s*([^=\[\]{}<>|]{0,100}?)\s*=")


class Kind(StrEnum):
    """What a node is."""

    TEXT = "text"
    NEWLINE = "newline"
    ENTITY = "entity"
    NOTHING = "nothing"  # comments, quotes for bold, magic words: a reader sees nothing
    VERBATIM = "verbatim"  # nowiki, math: a reader sees the content as it stands
    TEMPLATE = "template"
    LINK = "link"
    EXTERNAL = "external"  # [http://… label]
    URL = "url"  # a bare address
    TAG = "tag"  # one opening or closing HTML tag; names of closing ones begin with "/"
    EXTENSION = "extension"  # ref, references, gallery, with their content in parts[0]


@dataclass(slots=True)
class Node:
    """A piece of the source. `parts`: parameters, link parts or content, each a list of nodes."""

    kind: Kind
    start: int
    end: int
    name: str = ""  # of a tag; of a template the English name of what it does
    parts: list[list["Node"]] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    edition: Edition = ENGLISH  # of a template: whose it is

    @property
    def span(self) -> Span:
        """The range in the source."""
        return Span(self.start, self.end)


def descendants(nodes: list[Node]) -> Iterator[Node]:
    """Every node of the tree in the order of the source, parents before children."""
    for node in nodes:
        yield node
        for part in node.parts:
            yield from descendants(part)


# ── parameters of templates ──────────────────────


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter; unnamed ones are called "1", "2", … as MediaWiki does."""

    name: str
    nodes: Sequence[Node]
    named: bool

    def written(self, source: str) -> str:
        """The value as it stands in the source."""
        return source[self.nodes[0].start : self.nodes[-1].end].strip() if self.nodes else ""


def name_of(node: Node, source: str) -> str:
    """The template's name on its own wiki, as the tables spell it; of {{#tag:ref|…}} "#tag:ref"."""
    raw = "".join(source[n.start : n.end] for n in node.parts[0] if n.kind is not Kind.NOTHING)
    return template_name(raw) if len(raw) <= 300 else ""


def parameters(node: Node, source: str) -> list[Parameter]:
    """All parameters of a template, in order; the last of a name counts for the reader."""
    found = []
    count = 0
    for part in node.parts[1:]:
        name = _NAME.match(source, part[0].start, part[0].end) if part else None
        if name and part[0].kind is Kind.TEXT:
            rest = Node(Kind.TEXT, name.end(), part[0].end)
            found.append(Parameter(name[1].strip(), [rest, *part[1:]], named=True))
        elif wrapped := _name_after_line(part, source):
            found.append(wrapped)
        else:
            count += 1
            found.append(Parameter(str(count), part, named=False))
    return found


def by_name(node: Node, source: str) -> dict[str, Parameter]:
    """The parameters of a template by their English names; the last of a name counts.

    Of local names for one English name the first that is filled counts.
    """
    template, found = name_of(node, source), dict[str, Parameter]()
    for parameter in parameters(node, source):
        key = node.edition.parameter(template, parameter.name)
        other = found.get(key, parameter)
        if other.name == parameter.name or not other.written(source):
            found[key] = parameter
    return found


def _name_after_line(part: Sequence[Node], source: str) -> Parameter | None:
    """A parameter whose name follows a line break or a comment."""
    for index, node in enumerate(part):
        blank = node.kind is Kind.TEXT and not source[node.start : node.end].strip()
        if node.kind in (Kind.NEWLINE, Kind.NOTHING) or blank:
            continue
        name = _NAME.match(source, node.start, node.end)
        if node.kind is not Kind.TEXT or name is None:
            return None
        rest = Node(Kind.TEXT, name.end(), node.end)
        return Parameter(name[1].strip(), [rest, *part[index + 1 :]], named=True)
    return None


# ── what the parser must not look into, and which tag closes which extension ──────────────────────


@dataclass(slots=True)
class Protected:
    """Keys are positions of an opening `<` in the source."""

    opaque: dict[int, Node] = field(default_factory=dict)  # comments, nowiki, math, …
    extensions: dict[int, int | None] = field(default_factory=dict)  # to the closing tag's `<`
    closers: set[int] = field(default_factory=set)  # closing tags of extensions
    warnings: list[str] = field(default_factory=list)


def read_attributes(text: str) -> dict[str, str]:
    """Attributes of a tag, names in lower case; the last of a name wins.

    >>> read_attributes(' name = "a b" GROUP=n /')
    {'name': 'a b', 'group': 'n'}
    """
    found = _ATTRIBUTE.findall(text.removesuffix("/"))
    return {
        name.lower(): " ".join(html.unescape(double or single or bare).split())
        for name, double, single, bare in found
    }


def find_protected(source: str) -> Protected:
    """Comments, verbatim tags and the pairs of extension tags of `source`."""
    scan = _Scan(source)
    scan.run()
    return scan.found


class _Scan:
    def __init__(self, source: str) -> None:
        self.source = source
        self.found = Protected()
        self.open: dict[str, int] = {}  # extensions that wait for their closing tag
        self.never: set[str] = set()  # verbatim tags with no closing tag further on

    def run(self) -> None:
        position = 0
        while (tag := _SPECIAL.search(self.source, position)) is not None:
            position = self._special(tag)
        for name in list(self.open):
            self._unclosed(name)

    def _special(self, tag: re.Match[str]) -> int:
        if tag[2] is None:
            return self._comment(tag.start())
        name = tag[2].lower()
        if name in _EXTENSIONS:
            self._extension(tag, name)
            return tag.end()
        if tag[1] or tag[3].endswith("/"):
            return tag.end()
        return self._verbatim(tag, name)

    def _comment(self, start: int) -> int:
        end = self.source.find("-->", start) + 3
        if end < 3:  # MediaWiki: an unclosed comment runs to the end of the page
            end = len(self.source)
            self.found.warnings.append(f"unclosed comment at character {start}")
        self.found.opaque[start] = Node(Kind.NOTHING, start, end)
        return end

    def _extension(self, tag: re.Match[str], name: str) -> None:
        start = tag.start()
        if tag[1]:
            self.found.closers.add(start)
            if name in self.open:
                self.found.extensions[self.open.pop(name)] = start
        elif tag[3].endswith("/"):
            self.found.extensions[start] = None
        else:
            if name in self.open:  # someone forgot a closing tag: keep the text in between
                self._unclosed(name)
            self.open[name] = start

    def _unclosed(self, name: str) -> None:
        start = self.open.pop(name)
        self.found.extensions[start] = None
        self.found.warnings.append(f"unclosed <{name}> at character {start}")

    def _verbatim(self, tag: re.Match[str], name: str) -> int:
        closing = None
        if name not in self.never:
            closing = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(self.source, tag.end())
        if closing is None:
            self.never.add(name)
            return tag.end()
        kind = Kind.VERBATIM if name in _VISIBLE else Kind.NOTHING
        content = Span(tag.end(), closing.start())
        inner = Node(Kind.TEXT, *content)
        self.found.opaque[tag.start()] = Node(kind, tag.start(), closing.end(), name, [[inner]])
        return closing.end()


# ── the parser ──────────────────────


@dataclass(slots=True)
class _Frame:
    """An opened bracket, whose end is not yet seen."""

    kind: Kind
    start: int
    width: int  # characters of the opening bracket
    name: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    close_at: int = -1  # where the closing tag of an extension stands
    parts: list[list[Node]] = field(default_factory=lambda: [[]])
    pipes: list[int] = field(default_factory=list)


def parse(source: str, edition: Edition = ENGLISH) -> tuple[list[Node], list[str]]:
    """The nodes of `source` from its first character to its last, and what was broken in it."""
    parser = _Parser(source, find_protected(source), edition)
    return parser.run(), parser.warnings


class _Parser:
    def __init__(self, source: str, protected: Protected, edition: Edition) -> None:
        self.source = source
        self.edition = edition
        self.protected = protected
        self.warnings = list(protected.warnings)
        self.stack = [_Frame(Kind.TEXT, 0, 0)]

    def run(self) -> list[Node]:
        position = 0
        tokens = _VARIANTS if self.edition.variants else _TOKEN
        while (found := tokens.search(self.source, position)) is not None:
            self._text(position, found.start())
            position = self._piece(found.start(), found.group())
        self._text(position, len(self.source))
        while len(self.stack) > 1:
            self._give_up()
        return self.stack[0].parts[0]

    def _piece(self, start: int, mark: str) -> int:
        """Deal with the token at `start`; the position after it."""
        if mark[0] == "<":
            return self._tag(start, mark)
        if mark[0] in "{}[]|":
            return self._bracket(start, mark)
        if mark[0] == "'":
            return self._quotes(start, len(mark))
        if mark[0] == "-":
            return self._variants(start, start + len(mark))
        if mark == "\n":
            return self._newline(start)
        kind = {"&": Kind.ENTITY, "_": Kind.NOTHING}.get(mark[0], Kind.URL)
        if kind is Kind.URL:
            mark = mark.rstrip(".,;:!?'")  # as MediaWiki: a full stop ends the sentence
            mark = mark if "(" in mark else mark.rstrip(")")
        return self._append(Node(kind, start, start + len(mark)))

    # ── tags ────────────────────────────────────────────────────────────────────────────────────

    def _tag(self, start: int, token: str) -> int:
        if start in self.protected.opaque:
            return self._append(self.protected.opaque[start])
        found = _TAG.match(self.source, start)
        if found is None:
            return self._text(start, start + len(token))
        if start in self.protected.closers:
            return self._close_extension(start, found.end())
        name = found[1] + found[2].lower()
        if start in self.protected.extensions:
            return self._open_extension(found, name)
        attributes = read_attributes(found[3])
        return self._append(Node(Kind.TAG, start, found.end(), name, [], attributes))

    def _open_extension(self, found: re.Match[str], name: str) -> int:
        close_at = self.protected.extensions[found.start()]
        attributes = read_attributes(found[3])
        if close_at is None or len(self.stack) > MAX_DEPTH:
            node = Node(Kind.EXTENSION, *found.span(), name, [[]], attributes)
            return self._append(node)
        self.stack.append(
            _Frame(Kind.EXTENSION, found.start(), len(found[0]), name, attributes, close_at)
        )
        return found.end()

    def _close_extension(self, start: int, end: int) -> int:
        owner = next((f for f in reversed(self.stack) if f.close_at == start), None)
        if owner is None:
            return self._append(Node(Kind.NOTHING, start, end))
        while self.stack[-1] is not owner:
            # A citation template whose braces were forgotten still says what it says.
            if self.stack[-1].kind is Kind.TEMPLATE:
                self.warnings.append(f"unclosed {{{{ at character {self.stack[-1].start}")
                self._close(start)
            else:
                self._give_up()
        return self._close(end)

    # ── brackets ────────────────────────────────────────────────────────────────────────────────

    def _bracket(self, start: int, mark: str) -> int:
        if mark == "|":
            return self._pipe(start)
        if mark[0] == "{":
            return self._open_braces(start, len(mark))
        if mark[0] == "}":
            return self._close_braces(start, len(mark))
        if mark[0] == "[":
            kind = Kind.LINK if mark == "[[" else Kind.EXTERNAL
            return self._open(kind, start, len(mark))
        return self._close_square(start)

    def _open(self, kind: Kind, start: int, width: int) -> int:
        if len(self.stack) > MAX_DEPTH:
            return self._text(start, start + width)
        self.stack.append(_Frame(kind, start, width))
        return start + width

    def _open_braces(self, start: int, run: int) -> int:
        """Pairs open templates; exactly three open a parameter, which reads like a template."""
        if run == 3:
            return self._open(Kind.TEMPLATE, start, 3)
        end = start + run
        start = self._text(start, start + run % 2)
        pairs = min((end - start) // 2, max(MAX_DEPTH + 1 - len(self.stack), 0))
        start = self._text(start, end - 2 * pairs)
        while start < end:
            start = self._open(Kind.TEMPLATE, start, 2)
        return end

    def _close_braces(self, start: int, run: int) -> int:
        end = start + run
        while end - start >= 2 and (depth := self._nearest(Kind.TEMPLATE)):
            while len(self.stack) - 1 > depth:
                self._give_up()
            frame = self.stack[-1]
            if frame.width == 3 and end - start == 2:  # `{{{x}}`: a brace, then a template
                frame.width, frame.start = 2, frame.start + 1
                self.stack[-2].parts[-1].append(Node(Kind.TEXT, frame.start - 1, frame.start))
            start = self._close(start + frame.width)
        return self._text(start, end)

    def _close_square(self, start: int) -> int:
        top = self.stack[-1]
        if top.kind is Kind.EXTERNAL:
            return self._close(start + 1)
        if top.kind is Kind.LINK and self.source.startswith("]]", start):
            return self._close(start + 2)
        return self._text(start, start + 1)

    def _pipe(self, start: int) -> int:
        depth = len(self.stack) - 1
        while self.stack[depth].kind is Kind.EXTERNAL:
            depth -= 1
        if self.stack[depth].kind not in (Kind.TEMPLATE, Kind.LINK):
            return self._text(start, start + 1)
        while len(self.stack) - 1 > depth:
            self._give_up()
        self.stack[-1].pipes.append(start)
        self.stack[-1].parts.append([])
        return start + 1

    def _nearest(self, kind: Kind) -> int:
        """Index of the innermost open bracket of `kind` inside the present extension; 0: none."""
        for depth in range(len(self.stack) - 1, 0, -1):
            if self.stack[depth].kind is kind:
                return depth
            if self.stack[depth].kind is Kind.EXTENSION:
                return 0
        return 0

    # ── the rest ────────────────────────────────────────────────────────────────────────────────

    def _quotes(self, start: int, run: int) -> int:
        """Two, three and five quotes are italics and bold; what is over stays as text."""
        extra = {2: 0, 3: 0, 4: 1, 5: 0}.get(run, run - 5)
        self._text(start, start + extra)
        return self._append(Node(Kind.NOTHING, start + extra, start + run))

    def _variants(self, start: int, end: int) -> int:
        """Of a word in several scripts the first one."""
        found = _VARIANT.match(self.source, start + 2, end - 2)
        if found and (found[1] or "").strip() not in _UNSEEN:
            self._append(Node(Kind.NOTHING, start, found.start(2)))
            self._text(*found.span(2))
            start = found.end(2)
        return self._append(Node(Kind.NOTHING, start, end))

    def _newline(self, start: int) -> int:
        """External links end with their line, internal ones (but for files) with the paragraph."""
        while self.stack[-1].kind is Kind.EXTERNAL:
            self._give_up()
        if self.source.startswith("\n", start + 1):
            while self.stack[-1].kind is Kind.LINK and len(self.stack[-1].parts) < 3:
                self._give_up()
        return self._append(Node(Kind.NEWLINE, start, start + 1))

    def _append(self, node: Node) -> int:
        self.stack[-1].parts[-1].append(node)
        return node.end

    def _text(self, start: int, end: int) -> int:
        if start >= end:
            return end
        nodes = self.stack[-1].parts[-1]
        if nodes and nodes[-1].kind is Kind.TEXT and nodes[-1].end == start:
            nodes[-1].end = end
            return end
        return self._append(Node(Kind.TEXT, start, end))

    def _close(self, end: int) -> int:
        frame = self.stack.pop()
        node = Node(frame.kind, frame.start, end, frame.name, frame.parts, frame.attributes)
        if frame.kind is Kind.TEMPLATE:
            local = name_of(node, self.source)
            node.name, node.edition = self.edition.names.get(local, local), self.edition
        return self._append(node)

    def _give_up(self) -> None:
        """The innermost bracket never closes: it and its pipes are text after all."""
        frame = self.stack.pop()
        if frame.kind is Kind.TEMPLATE:
            self.warnings.append(f"unclosed {{{{ at character {frame.start}")
        self._text(frame.start, frame.start + frame.width)
        for part, pipe in zip(frame.parts, [*frame.pipes, -1], strict=True):
            for node in part:
                if node.kind is Kind.TEXT:
                    self._text(node.start, node.end)
                else:
                    self._append(node)
            if pipe >= 0:
                self._text(pipe, pipe + 1)
