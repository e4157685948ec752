"""What a reader sees of wikitext nodes, written into a `TextBuilder`.

Everything that is more than text (references, tags, captions, templates that hold references) is
offered to an `Observer` first; without one it vanishes, which gives the plain text of a field.
"""

import html
import re
from collections.abc import Sequence
from typing import Protocol

from pincite.wiki.editions import CATEGORY, FILE
from pincite.wiki.flat import TextBuilder
from pincite.wiki.wikitext.templates import COMPUTED, PATTERNS, QUOTES, computed
from pincite.wiki.wikitext.tree import Kind, Node, Parameter, by_name

_WITH_COLON = ("formatnum:", "lc:", "uc:", "ucfirst:", "lcfirst:")
_PIECE = re.compile(r"\{([\w*]+(?:/\w+)*)\}|\[([^\]]*)\]|([^{\[]+|.)", re.DOTALL)
_BREAKS = frozenset({"br", "li", "p", "tr", "td", "th", "div", "dd", "dt", "ul", "ol"})
_BREAKS |= {f"/{name}" for name in _BREAKS if name != "br"}
_LIST_MARKER = re.compile(r"[*#:;]+\s*")
_FIRST = ("1", "text", "quote", "content", "title")  # what {{quote|text=…}} calls its first one
_FILE = re.compile(rf"\s*(?:{'|'.join(FILE)})\s*:", re.IGNORECASE)
# A prefix before the colon that links to another namespace or wiki. Language codes are short and
# lower case; titles that begin so ("e.g.: …") are not linked in this way.
_HIDDEN = re.compile(
    rf"\s*(?:(?i:{'|'.join(CATEGORY)})\s*:|"
    r"(?!doi:)(?:[a-z]{2,3}|[a-z]{2,3}-[a-z-]{2,12}|simple):\S)"
)
# Tags that open and close within a line of text: a claim's span holds both or none.
STYLES = frozenset(
    "i b em strong small big sub sup span u s del ins abbr cite q code tt var kbd font dfn mark "
    "bdi bdo samp strike".split()
)
_ITEMS = re.compile(r"(?:ubl|unbulleted list|ublist|vunblist|hlist|flowlist|plainlist|.*\blist\Z)")
_LONGEST = 500  # characters of a template that stands in a text; a longer one holds texts
_OTHER_WIKI = re.compile(
    r"\s*:?(?:(?:w|wikt|wiktionary|s|wikisource|c|commons|d|m|meta|b|n|q|v|voy|wikipedia|wp|[a-z]{2,3}):(?=\S))?",
    re.IGNORECASE,
)


class Observer(Protocol):
    """Sees what is more than text, at the place in the text where it stands."""

    def extension(self, node: Node, out: TextBuilder) -> None:
        """A ref, a list of references or a gallery."""

    def template(self, name: str, node: Node, out: TextBuilder) -> bool:
        """A template; true if there is nothing more to render."""

    def unknown(self, node: Node, out: TextBuilder) -> None:
        """A template whose text is not known."""

    def unused(self, given: Sequence[Parameter], out: TextBuilder) -> None:
        """Parameters of a rendered template that its text does not show."""

    def file(self, node: Node) -> None:
        """A link to a picture, perhaps with a caption."""


class Renderer:
    """Writes nodes of `source` into `out`."""

    def __init__(self, source: str, out: TextBuilder, observer: Observer | None = None) -> None:
        self.source = source
        self.out = out
        self.observer = observer

    def render(self, nodes: Sequence[Node]) -> None:
        """Append what a reader sees of `nodes`."""
        for node in nodes:
            self.node(node)

    def node(self, node: Node) -> None:
        """Append what a reader sees of one node."""
        match node.kind:
            case Kind.TEXT | Kind.URL:
                self._text(node)
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
            case Kind.EXTENSION if self.observer:
                self.observer.extension(node, self.out)

    def _text(self, node: Node) -> None:
        start = node.start
        at_line_start = not self.out.chars or self.out.chars[-1] == "\n"
        marker = _LIST_MARKER.match(self.source, start, node.end)
        if marker and at_line_start and self.out.lines:
            start = marker.end()
        self.out.literal(self.source[start : node.end], start)

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
            if self.observer:
                self.observer.file(node)
            return
        if _HIDDEN.match(target) or first is None:
            return
        self.out.link(node.span)
        if len(node.parts) > 1:
            self.render([n for part in node.parts[1:] for n in part])
        else:
            prefix = _OTHER_WIKI.match(target)
            start = first.start + (prefix.end() if prefix else 0)
            self.out.literal(self.source[start : first.end], start)
            self.render(node.parts[0][1:])

    def _external(self, node: Node) -> None:
        """The label: what follows the address, which ends at the first space."""
        self.out.link(node.span)
        for index, child in enumerate(node.parts[0]):
            space = None
            if child.kind is Kind.TEXT:
                space = re.compile(r"\s").search(self.source, child.start, child.end)
            if space:
                rest = Node(Kind.TEXT, space.end(), child.end)
                self.render([rest, *node.parts[0][index + 1 :]])
                return

    # ── templates ───────────────────────────────────────────────────────────────────────────────

    def _template(self, node: Node) -> None:
        name = node.name
        self._note(name, node)
        if self.observer and self.observer.template(name, node, self.out):
            return
        given, used = by_name(node, self.source), set[str]()
        if pattern := _pattern_of(node):
            used = self._pattern(pattern, node, given)
        elif (text := self._computed(name, given)) is not None:
            self.out.rendered(text, node.span)
        elif name.startswith(_WITH_COLON):
            self._after_colon(node)
        else:
            if self.observer:
                self.observer.unknown(node, self.out)
            return
        if self.observer:
            self.observer.unused([p for key, p in given.items() if key not in used], self.out)

    def _computed(self, name: str, given: dict[str, Parameter]) -> str | None:
        if name not in COMPUTED:
            return None
        return computed(name, {key: plain(p.nodes, self.source) for key, p in given.items()})

    def _after_colon(self, node: Node) -> None:
        """{{formatnum:1234}} reads "1234"."""
        start = self.source.index(":", node.start) + 1
        for child in node.parts[0]:
            if child.end > start and child.kind is Kind.TEXT:
                child = Node(Kind.TEXT, max(child.start, start), child.end)
            self.render([child] if child.end > start else [])

    def _note(self, name: str, node: Node) -> None:
        """A template in a line of text is part of it like a link; others hold texts themselves."""
        source = self.source[node.start : node.end]
        if name in QUOTES or name.startswith("infobox"):
            return
        if "\n" not in source and len(source) <= _LONGEST and not _ITEMS.match(name):
            self.out.link(node.span)
        else:
            self.out.whole(node.span)

    def _pattern(self, pattern: str, node: Node, given: dict[str, Parameter]) -> set[str]:
        """Render `pattern`; the names of the parameters it has shown."""
        used: set[str] = set()
        for number, optional, literal in _PIECE.findall(pattern):
            if literal:
                self.out.rendered(literal, node.span)
            elif number:
                used |= self._numbered(number, node, given)
            elif any(n in given and given[n].nodes for n in re.findall(r"\{(\d)\}", optional)):
                used |= self._pattern(optional, node, given)
        return used

    def _numbered(self, number: str, node: Node, given: dict[str, Parameter]) -> set[str]:
        if number != "*":
            names = _FIRST if number == "1" else number.split("/")
            name = next((n for n in names if n in given and given[n].nodes), None)
            if name is None:
                return set()
            self.render(given[name].nodes)
            return {name}
        shown = [p for p in given.values() if not p.named]
        for index, parameter in enumerate(shown):
            if index:
                self._between(node.name, node)
            self.render(parameter.nodes)
        return {p.name for p in shown}

    def _between(self, name: str, node: Node) -> None:
        """What stands between the items of a list template; formulas are written without."""
        if not name.startswith("chem"):
            self.out.rendered("\n" if self.out.lines else ", ", node.span)


def _pattern_of(node: Node) -> str | None:
    """What a reader sees of a template whose text is known; its own wiki's word counts first."""
    shown = node.edition.shown.get(node.name)
    if shown or node.name in COMPUTED:
        return shown
    tells = node.name.startswith("lang-") or node.name.endswith(" span")
    return PATTERNS.get(node.name) or ("{1}" if tells else None)


def plain(nodes: Sequence[Node], source: str) -> str:
    """The text that a reader sees of `nodes`, without references, on one line."""
    out = TextBuilder()
    Renderer(source, out).render(nodes)
    return "".join(out.chars).strip()
