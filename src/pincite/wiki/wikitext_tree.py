"""Parses wikitext into a tree of nodes with exact offsets, in one pass.

mwparserfromhell keeps no offsets and retries every opening bracket, so that a hostile page can
block it for minutes; the tests compare the two. As in MediaWiki, a first pass cuts out comments and
extension tags. Brackets that never close become text again.
"""

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pincite.text import patterns
from pincite.types import Span
from pincite.wiki.templates import ENGLISH, TABLE, Edition, template_name

MAX_DEPTH = 40  # nesting depth of brackets; deeper ones are text. MediaWiki stops at 40 too.

_PATTERNS = patterns(__file__, "wikitext_tree")
_TOKEN = _PATTERNS["token"]
_VARIANTS = re.compile(r"-\{(?!\{)[^{}\n]*\}-|" + _TOKEN.pattern)  # with script conversion
_VARIANT = re.compile(r"(?:([^|]*)\|)?\s*(?:[a-z]{2}(?:-[a-z]+)?\s*:\s*)?([^;|]*)")
_UNSEEN = frozenset("HTD-")  # flags of rules without visible text
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:[\s/][^<>]*)?)>")
_REF = re.compile(r"<\s?([/\\]?)\s?ref\b", re.IGNORECASE)
_BRACES = re.compile(r"\{\{|\}\}")
_ADDRESS = re.compile(r"(?i:https?|ftp)://[^\s<>\[\]{}|\"]+")
_LINKED = re.compile(r"\[(?i:https?:|ftp:)?//[^\]\n]*\]")
_HERE = frozenset({"noinclude", "onlyinclude"})  # transclusion tags around visible text
_EXTENSIONS = frozenset({"ref", "references", "gallery"})
_TAGS = frozenset(TABLE["html"]["tags"].split())
_VISIBLE = frozenset({"nowiki", "math", "chem", "ce"})
_ATTRIBUTE = re.compile(r"([\w:-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|[\"']?([^\s\"'>]+))")
# Module calls such as {{#invoke:module|function|…}}, as spelled in the ten wikis.
_INVOKED = re.compile(r"#(?:invoke|invoque|invocar|aufrufen|вызвать|呼び出す|調用|调用):\s*(.*)\Z")
_FOOTNOTES = {"harvard citation": "harv", "harvard citation no bracket": "harvnb"}
MAX_NAME = 300  # characters of a template's name
_NAME = re.compile(r"\s*([^=\[\]{}<>|]{0,100}?)\s*=")


class Kind(StrEnum):
    """The kind of a node."""

    TEXT = "text"
    NEWLINE = "newline"
    ENTITY = "entity"
    NOTHING = "nothing"  # comments, quotes for bold, magic words: invisible
    VERBATIM = "verbatim"  # nowiki, math: content is shown as it is
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
    name: str = ""  # of a tag; of a template, its English equivalent
    parts: list[list["Node"]] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    edition: Edition = ENGLISH  # of a template: its language
    local: str = ""  # of a template: its name on its own wiki
    known: dict[str, Any] | None = None  # cached results, which deep nesting would recompute

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    def once(self, key: str, work: Callable[[], Any]) -> Any:
        if self.known is None:
            self.known = {}
        if key not in self.known:
            self.known[key] = work()
        return self.known[key]


# ── Parameters of templates ──────────────────────


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter; unnamed ones are called "1", "2", … as in MediaWiki."""

    name: str
    nodes: Sequence[Node]
    named: bool

    def raw(self, source: str) -> str:
        return source[self.nodes[0].start : self.nodes[-1].end].strip() if self.nodes else ""


def _name_of(node: Node, source: str) -> str:
    """The template's local name, normalised; "#tag:ref" for {{#tag:ref|…}}.

    {{#invoke:cite web||url=…}} is {{cite web|url=…}}: the function name is dropped, unless it says
    which template this is (Module:Footnotes, Module:Cite); then it is the name.
    """
    raw = "".join(source[n.start : n.end] for n in node.parts[0] if n.kind is not Kind.NOTHING)
    name = template_name(raw) if len(raw) <= MAX_NAME else ""
    invoked = _INVOKED.match(name)
    if not invoked or len(node.parts) < 2:  # without a function, {{#invoke:x}} is no template
        return name
    nodes = node.parts.pop(1)
    function = template_name("".join(source[n.start : n.end] for n in nodes))
    module = invoked[1]
    if module == "citation/cs1":
        given = {p.name.lower(): p.raw(source) for p in parameters(node, source)}
        return f"cite {given.get('citationclass', 'web')}".lower()
    if module == "footnotes":
        return _FOOTNOTES.get(function, function)
    return f"cite {function}" if module == "cite" else function or module


def parameters(node: Node, source: str) -> list[Parameter]:
    """All parameters of a template in order, including overridden duplicates."""
    given = []
    count = 0
    for part in node.parts[1:]:
        n = 0  # a name may follow line breaks and comments
        while n < len(part) and (
            part[n].kind in (Kind.NEWLINE, Kind.NOTHING)
            or (part[n].kind is Kind.TEXT and source[part[n].start : part[n].end].isspace())
        ):
            n += 1
        first = part[n] if n < len(part) and part[n].kind is Kind.TEXT else None
        name = _NAME.match(source, first.start, first.end) if first else None
        if name and first:
            rest = Node(Kind.TEXT, name.end(), first.end)
            given.append(Parameter(name[1].strip(), [rest, *part[n + 1 :]], named=True))
        else:
            count += 1
            given.append(Parameter(str(count), part, named=False))
    return given


def by_name(node: Node, source: str) -> dict[str, Parameter]:
    """The parameters of a template by English name; the last duplicate wins.

    If several local names map to one English name, the first non-empty one wins.
    """
    named = dict[str, Parameter]()
    for parameter in parameters(node, source):
        key = node.edition.parameter(node.local, parameter.name)
        other = named.get(key, parameter)
        if other.name == parameter.name or not other.raw(source):
            named[key] = parameter
    return named


# ── What the parser must not look into, and which tag closes which extension ──────────────────────


@dataclass(slots=True)
class Opening:
    """The opening tag of an extension; `close_at` is None if it is self-closing."""

    name: str
    end: int
    attributes: dict[str, str]
    close_at: int | None = None


def read_attributes(text: str) -> dict[str, str]:
    """Parse the attributes of a tag, with lower-case names; the last duplicate wins."""
    pairs = _ATTRIBUTE.findall(text.removesuffix("/"))
    return {
        name.lower(): " ".join(html.unescape(double or single or bare).split())
        for name, double, single, bare in pairs
    }


def _address_in(text: str) -> str:
    """Trim an address as MediaWiki does: trailing punctuation belongs to the sentence."""
    text = text.rstrip(".,;:!?'")
    return text if "(" in text else text.rstrip(")")


class _Protected:
    """Finds ranges hidden from the parser: comments, verbatim tags and pairs of extension tags."""

    def __init__(self, source: str) -> None:
        self.source = source
        # By position in the source, mostly of an opening `<`.
        self.opaque: dict[int, Node] = {}  # comments, nowiki, math, …
        self.extensions: dict[int, Opening] = {}
        self.closers: dict[int, int] = {}  # closing tags: start → end
        self.warnings: list[str] = []
        self.open: dict[str, int] = {}  # extensions without their closing tag so far
        self.never: set[str] = set()  # verbatim tags with no closing tag further on
        self.closed: int | None = None  # the last <ref … />, if nothing was opened since
        position = 0
        while (tag := _PATTERNS["special"].search(source, position)) is not None:
            position = self._special(tag)
        for name in list(self.open):
            self._recover(name, len(source))

    def _special(self, tag: re.Match[str]) -> int:
        start, end = tag.span()
        if tag["broken"]:
            return self._broken(start)
        if tag["closer"]:
            self._close("ref", start, end)
        elif tag[2] is None:
            end = self.source.find("-->", start) + 3
            if end < 3:  # as in MediaWiki, an unclosed comment runs to the end of the page
                end = len(self.source)
                self.warnings.append(f"unclosed comment at character {start}")
            self.opaque[start] = Node(Kind.NOTHING, start, end)
        elif (name := tag[2].lower()) in _HERE:
            self.opaque[start] = Node(Kind.NOTHING, start, end)
        elif name not in _EXTENSIONS:
            return end if tag[1] or tag[3].endswith("/") else self._verbatim(tag, name)
        elif tag[1]:
            self._close(name, start, end)
        elif tag[3].endswith("/"):
            self._itself(name, start, end, tag[3])
        else:
            self._open(name, start, end, read_attributes(tag[3]))
        return end

    def _open(self, name: str, start: int, end: int, attributes: dict[str, str]) -> None:
        self.closed = None
        if name in self.open:
            opening = self.extensions[self.open[name]]
            if not self.source[opening.end : start].strip():  # <ref name=a<ref>, <ref><ref>
                opening.end = end
                opening.attributes |= attributes
                return
            done = self._citation_end(opening.end, start)
            follows = self.source[end : end + 40].lstrip()
            if (
                not attributes
                and done is not None
                and not self.source[done:start].strip()
                and not follows.startswith(("{{", "[", "http", "<"))
            ):  # <ref>{{cite web|…}}<ref> where </ref> was meant
                self._close(name, start, end)
                return
            self._recover(name, start)
        self.extensions[start] = Opening(name, end, attributes)
        self.open[name] = start

    def _itself(self, name: str, start: int, end: int, text: str) -> None:
        attributes = read_attributes(text)
        if name == "ref" and not attributes and name in self.open:
            self._close(name, start, end)  # <ref>…<ref/> where </ref> was meant
            return
        self.extensions[start] = Opening(name, end, attributes)
        self.closed = start if name == "ref" and name not in self.open else None

    def _close(self, name: str, start: int, end: int) -> None:
        self.closers[start] = end
        if name in self.open:
            self.extensions[self.open.pop(name)].close_at = start
        elif name == "ref" and self.closed is not None:
            opening = self.extensions[self.closed]
            if self._citation_end(opening.end, start) is not None:
                opening.close_at = start  # <ref name=a />{{cite web|…}}</ref>
        self.closed = None

    def _broken(self, start: int) -> int:
        tag = _PATTERNS["broken"].match(self.source, start)
        if tag is None:
            return start + len("<ref")
        end = tag.end()
        following = _REF.search(self.source, end)
        at_once = following is not None and following.start() == end
        if following and bool(following[1]) != at_once:  # content, or another opening tag
            self._open("ref", start, end, read_attributes(tag[1]))
        else:
            self._itself("ref", start, end, tag[1])
        return end

    def _recover(self, name: str, limit: int) -> None:
        """Recover from a missing closing tag before `limit`: a leading citation is the content."""
        start = self.open.pop(name)
        opening = self.extensions[start]
        if name == "ref" and (end := self._citation_end(opening.end, limit)) is not None:
            opening.close_at = end
            self.closers.setdefault(end, end)
        self.warnings.append(f"unclosed <{name}> at character {start}")

    def _citation_end(self, start: int, limit: int) -> int | None:
        """The end of the template or address that begins at `start`; None if there is none."""
        while start < limit and self.source[start].isspace():
            start += 1
        if self.source.startswith("{{", start):
            depth = 0
            for brace in _BRACES.finditer(self.source, start, limit):
                depth += 1 if brace[0] == "{{" else -1
                if not depth:
                    return brace.end()
            return None
        if linked := _LINKED.match(self.source, start, limit):
            return linked.end()
        address = _ADDRESS.match(self.source, start, limit)
        return start + len(_address_in(address[0])) if address else None

    def _verbatim(self, tag: re.Match[str], name: str) -> int:
        closing = None
        if name not in self.never:
            closing = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(self.source, tag.end())
        if closing is None:
            self.never.add(name)
            return tag.end()
        kind = Kind.VERBATIM if name in _VISIBLE else Kind.NOTHING
        inner = Node(Kind.TEXT, tag.end(), closing.start())
        self.opaque[tag.start()] = Node(kind, tag.start(), closing.end(), name, [[inner]])
        return closing.end()


# ── The parser ──────────────────────


@dataclass(slots=True)
class _Frame:
    """An open bracket."""

    kind: Kind
    start: int
    width: int  # characters of the opening bracket
    name: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    close_at: int = -1  # position of an extension's closing tag
    parts: list[list[Node]] = field(default_factory=lambda: [[]])
    pipes: list[int] = field(default_factory=list)


def parse(source: str, edition: Edition = ENGLISH) -> tuple[list[Node], list[str]]:
    """Parse `source`; return the nodes, which cover it completely, and warnings."""
    parser = _Parser(source, edition)
    return parser.run(), parser.warnings


class _Parser:
    def __init__(self, source: str, edition: Edition) -> None:
        self.source = source
        self.edition = edition
        self.protected = _Protected(source)
        self.warnings = self.protected.warnings
        self.stack = [_Frame(Kind.TEXT, 0, 0)]

    def run(self) -> list[Node]:
        position = 0
        tokens = _VARIANTS if self.edition.variants else _TOKEN
        while (match := tokens.search(self.source, position)) is not None:
            self._text(position, match.start())
            position = self._piece(match.start(), match.group())
            if self.protected.closers.get(position) == position:  # a missing closing tag
                self._close_extension(position, position)
        self._text(position, len(self.source))
        self._close_down_to(0)
        return self.stack[0].parts[0]

    def _piece(self, start: int, mark: str) -> int:
        match mark[0]:
            case "<":
                return self._tag(start, mark)
            case "|":
                return self._pipe(start)
            case "{":
                return self._open_braces(start, len(mark))
            case "}":
                return self._close_braces(start, len(mark))
            case "[":
                return self._open(Kind.LINK if mark == "[[" else Kind.EXTERNAL, start, len(mark))
            case "]":
                return self._close_square(start)
            case "'":  # two, three and five are italics and bold; extra quotes are text
                extra = {2: 0, 3: 0, 4: 1, 5: 0}.get(len(mark), len(mark) - 5)
                self._text(start, start + extra)
                return self._append(Node(Kind.NOTHING, start + extra, start + len(mark)))
            case "-":
                return self._variants(start, start + len(mark))
            case "\n":
                return self._newline(start)
            case "&":
                return self._append(Node(Kind.ENTITY, start, start + len(mark)))
            case "_":
                return self._append(Node(Kind.NOTHING, start, start + len(mark)))
        return self._append(Node(Kind.URL, start, start + len(_address_in(mark))))

    def _tag(self, start: int, token: str) -> int:
        if start in self.protected.opaque:
            return self._append(self.protected.opaque[start])
        if self.protected.closers.get(start, start) > start:
            return self._close_extension(start, self.protected.closers[start])
        if start in self.protected.extensions:
            return self._open_extension(start, self.protected.extensions[start])
        match = _TAG.match(self.source, start)
        if match is None or match[2].lower() not in _TAGS:  # MediaWiki shows unknown tags
            return self._text(start, start + len(token))
        attributes = read_attributes(match[3])
        name = match[1] + match[2].lower()
        return self._append(Node(Kind.TAG, start, match.end(), name, [], attributes))

    def _open_extension(self, start: int, opening: Opening) -> int:
        end, known = opening.end, (opening.name, opening.attributes)
        if opening.close_at is None or len(self.stack) > MAX_DEPTH:
            return self._append(Node(Kind.EXTENSION, start, end, known[0], [[]], known[1]))
        self.stack.append(_Frame(Kind.EXTENSION, start, end - start, *known, opening.close_at))
        return end

    def _close_extension(self, start: int, end: int) -> int:
        owner = next((f for f in reversed(self.stack) if f.close_at == start), None)
        if owner is None:
            return self._append(Node(Kind.NOTHING, start, end))
        # A citation template without closing braces is still used.
        self._close_down_to(self.stack.index(owner), templates_at=start)
        return self._close(end)

    def _open(self, kind: Kind, start: int, width: int) -> int:
        if len(self.stack) > MAX_DEPTH:
            return self._text(start, start + width)
        self.stack.append(_Frame(kind, start, width))
        return start + width

    def _open_braces(self, start: int, run: int) -> int:
        """Pairs open templates; exactly three open a parameter, which is parsed like a template."""
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
            self._give_up(depth + 1)
            frame = self.stack[-1]
            if frame.width == 3 and end - start == 2:  # `{{{x}}`: a brace, then a template
                frame.width, frame.start = 2, frame.start + 1
                self.stack[-2].parts[-1].append(Node(Kind.TEXT, frame.start - 1, frame.start))
            start = self._close(start + frame.width)
        return self._text(start, end)

    def _close_square(self, start: int) -> int:
        kind, two = self.stack[-1].kind, self.source.startswith("]]", start)
        if kind is Kind.EXTERNAL or (kind is Kind.LINK and two):
            return self._close(start + (1 if kind is Kind.EXTERNAL else 2))
        return self._text(start, start + 1)

    def _pipe(self, start: int) -> int:
        depth = len(self.stack) - 1
        while self.stack[depth].kind is Kind.EXTERNAL:
            depth -= 1
        if self.stack[depth].kind not in (Kind.TEMPLATE, Kind.LINK):
            return self._text(start, start + 1)
        self._give_up(depth + 1)
        self.stack[-1].pipes.append(start)
        self.stack[-1].parts.append([])
        return start + 1

    def _nearest(self, kind: Kind) -> int:
        for depth in range(len(self.stack) - 1, 0, -1):
            if self.stack[depth].kind is kind:
                return depth
            if self.stack[depth].kind is Kind.EXTENSION:
                return 0
        return 0

    def _variants(self, start: int, end: int) -> int:
        match = _VARIANT.match(self.source, start + 2, end - 2)
        if match and (match[1] or "").strip() not in _UNSEEN:
            self._append(Node(Kind.NOTHING, start, match.start(2)))
            self._text(*match.span(2))
            start = match.end(2)
        return self._append(Node(Kind.NOTHING, start, end))

    def _newline(self, start: int) -> int:
        """External links end with their line, internal ones (except files) with the paragraph."""
        blank = self.source.startswith("\n", start + 1)
        depth = len(self.stack)
        while self.stack[depth - 1].kind is Kind.EXTERNAL or (
            blank
            and self.stack[depth - 1].kind is Kind.LINK
            and len(self.stack[depth - 1].parts) < 3
        ):
            depth -= 1
        self._give_up(depth)
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
            node.local, node.edition = _name_of(node, self.source), self.edition
            node.name = self.edition.names.get(node.local, node.local)
        return self._append(node)

    def _close_down_to(self, depth: int, templates_at: int = -1) -> None:
        """Close extensions above `depth`, and templates if `templates_at`; the rest is text."""
        while len(self.stack) - 1 > depth:
            ends = (Kind.EXTENSION, Kind.TEMPLATE) if templates_at >= 0 else (Kind.EXTENSION,)
            lowest = len(self.stack)
            while lowest - 1 > depth and self.stack[lowest - 1].kind not in ends:
                lowest -= 1
            self._give_up(lowest)
            if len(self.stack) - 1 == depth:
                return
            frame = self.stack[-1]
            if frame.kind is Kind.TEMPLATE:
                self.warnings.append(f"unclosed {{{{ at character {frame.start}")
                self._close(templates_at)
            else:
                nodes = frame.parts[-1]
                self._close(nodes[-1].end if nodes else frame.start + frame.width)

    def _give_up(self, depth: int) -> None:
        """Turn the unclosed brackets from `depth` on, and their pipes, back into text."""
        frames = self.stack[depth:]
        del self.stack[depth:]
        for frame in frames:
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
