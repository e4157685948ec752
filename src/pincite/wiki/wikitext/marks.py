"""What stands in the text besides text: uses of references, inline tags, notes, captions.

The observer of `render.py` for an article: it notes marks where they stand and puts aside, as
blocks of their own, the texts that hang on a place in another one (notes, captions, parameters).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pincite.wiki.flat import UNREAD, Block, BlockKind, Flat, TextBuilder
from pincite.wiki.references import Use, work_keys
from pincite.wiki.wikitext.render import Renderer, plain
from pincite.wiki.wikitext.sources import read_short, read_sources, read_template
from pincite.wiki.wikitext.templates import (
    HARVARD,
    NOTES,
    REFERENCE_LISTS,
    SHORT_CITATIONS,
    TAGS,
    is_citation,
    is_silent,
)
from pincite.wiki.wikitext.tree import Kind, Node, Parameter, by_name, parameters

# Options of a picture that are no caption: [[File:x.jpg|thumb|left|200px|alt=…|caption]].
_PICTURE_OPTIONS = ("alt=", "link=", "upright", "class=", "lang=", "page=", "thumbtime=", "start=")
# What stands before a number of a page, in the ten languages: <ref name=a details="pp. 4–5" />.
_PAGES = re.compile(
    r"(?:pp?|pages?|pgs?|S|Seiten?|págs?|páginas?|pagg?|pagine|pagina|blz|str|strony|с|стр)\b\.?\s*"
    r"(?=[\divxlc])",
    re.IGNORECASE,
)
_LOOK = 200  # characters around a template that say whether it stands in a sentence
_TAG_PARAMETERS = frozenset("date reason talk cat data fecha datum дата".split())
_BEFORE_REMARKS = tuple(".,;:!?)”\"'>}。，、")
_IN_FLOW = HARVARD | SHORT_CITATIONS | {"r"}


@dataclass(slots=True)
class Marks:
    """Collects into `flat` what `Renderer` comes across; `section` is set by the caller."""

    source: str
    flat: Flat = field(default_factory=Flat)
    section: tuple[str, ...] = ()
    aside: list[Block] = field(default_factory=list)  # blocks to follow the present one

    # ── definitions ─────────────────────────────────────────────────────────────────────────────

    def collect(self, nodes: Sequence[Node]) -> None:
        """Remember what is defined anywhere in `nodes`: named references and full citations."""
        for node in nodes:
            if node.kind is Kind.EXTENSION and node.name == "ref":
                self._define(node, node.attributes, node.parts[0])
            elif node.kind is Kind.TEMPLATE:
                self._collect_template(node)
            for part in node.parts:
                self.collect(part)

    def _collect_template(self, node: Node) -> None:
        if is_citation(node.name):
            work = read_template(node, self.source, node.span)
            for key in work_keys(work.fields):
                self.flat.definitions.works.setdefault(key, work)
        elif node.name in NOTES:
            given = by_name(node, self.source)
            attributes: dict[str, str] = {
                k: plain(given[k].nodes, self.source) for k in ("name", "group") if k in given
            }
            self._define(node, attributes, list(given["1"].nodes) if "1" in given else [])

    def _define(self, node: Node, attributes: dict[str, str], content: list[Node]) -> None:
        if attributes.get("name") and content:
            sources = read_sources(content, self.source, node.span)
            self.flat.definitions.define(attributes.get("group"), attributes["name"], sources)

    # ── what the renderer meets ─────────────────────────────────────────────────────────────────

    def extension(self, node: Node, out: TextBuilder) -> None:
        """Note a use of a reference; put the captions of a gallery aside."""
        if node.name == "ref":
            self._use(out, self._reference(node))
            if self._holds_marks(node.parts[0], notes=True):
                self._note(node.parts[0])
        elif node.name == "gallery":
            self._gallery(node)

    def template(self, name: str, node: Node, out: TextBuilder) -> bool:
        """Deal with tags, short citations, notes and citations; unknown ones with references."""
        if name in TAGS:
            self._tag(name, node, out)
        elif name in _IN_FLOW:
            self._in_flow(name, node, out)
        elif name == "rp":
            self._pages(node)
        elif name in NOTES:
            self._note_template(name, node, out)
        else:
            return name in REFERENCE_LISTS or is_citation(name)
        return True

    def unknown(self, node: Node, out: TextBuilder) -> None:
        """A template whose text is unknown: named parameters with references become blocks.

        Within a sentence it leaves the mark `UNREAD`: without its words the sentence may say
        something else.
        """
        given = parameters(node, self.source)
        if self._is_missed(node, given, out):
            out.rendered(UNREAD, node.span)
        for parameter in given:
            if not self._holds_marks(parameter.nodes):
                continue
            if parameter.named:
                self._parameter(parameter)
            else:
                Renderer(self.source, out, self).render(parameter.nodes)

    def _is_missed(self, node: Node, given: Sequence[Parameter], out: TextBuilder) -> bool:
        """Whether a sentence goes on around the template, and says more with it."""
        if is_silent(node.name) or any(self._holds_marks(p.nodes) for p in given):
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

    def _parameter(self, parameter: Parameter) -> None:
        """Put one parameter aside as a block."""
        out = TextBuilder(lines=True)
        Renderer(self.source, out, self).render(parameter.nodes)
        label = " ".join(parameter.name.replace("_", " ").split())
        self.aside.append(out.block(BlockKind.PARAMETER, section=self.section, label=label))

    def unused(self, given: Sequence[Parameter], out: TextBuilder) -> None:
        """Note the marks in parameters that the template's text does not show."""
        for parameter in given:
            if self._holds_marks(parameter.nodes):
                hidden = TextBuilder()
                Renderer(self.source, hidden, self).render(parameter.nodes)
                for mark in hidden.marks:
                    out.mark(mark.span, mark.use, mark.tag, in_text=mark.in_text)

    def file(self, node: Node) -> None:
        """Put the caption of a picture aside: its last part that is no option."""
        if len(node.parts) < 2:
            return
        part = node.parts[-1]
        start = self.source[part[0].start : part[0].end].strip().lower() if part else ""
        if not start.startswith(_PICTURE_OPTIONS):
            self.aside_text(part, BlockKind.CAPTION)

    def aside_text(self, nodes: Sequence[Node], kind: BlockKind) -> None:
        """Put `nodes` aside as a block of its own, if it holds marks."""
        if self._holds_marks(nodes):
            out = TextBuilder()
            Renderer(self.source, out, self).render(nodes)
            self.aside.append(out.block(kind, section=self.section))

    # ── marks ───────────────────────────────────────────────────────────────────────────────────

    def _use(self, out: TextBuilder, use: Use, *, in_text: bool = False) -> None:
        out.mark(use.span, use=len(self.flat.uses), in_text=in_text)
        self.flat.uses.append(use)

    def _reference(self, node: Node) -> Use:
        name, group = node.attributes.get("name"), node.attributes.get("group")
        sources = read_sources(node.parts[0], self.source, node.span)
        details = _PAGES.sub("", node.attributes.get("details", "").strip())
        return Use(node.span, name or None, group or None, sources, details or None)

    def _tag(self, name: str, node: Node, out: TextBuilder) -> None:
        if name.endswith(" span"):
            given = by_name(node, self.source)
            if shown := given.get("text") or given.get("1"):
                Renderer(self.source, out, self).render(shown.nodes)
        out.mark(node.span, tag=TAGS[name])

    def _in_flow(self, name: str, node: Node, out: TextBuilder) -> None:
        """{{sfn}}, {{harvtxt}} and {{r}} where a reference would stand."""
        if name == "r":
            for parameter in parameters(node, self.source):
                if not parameter.named:
                    use = Use(node.span, plain(parameter.nodes, self.source))
                    self._use(out, use)
            return
        works = read_short(node, self.source, node.span)
        in_text = name in HARVARD and name not in ("harv", "harvs")
        if in_text:
            out.rendered(works[0].text, node.span)  # "Ito 2001 showed that …"
        self._use(out, Use(node.span, sources=works), in_text=in_text)

    def _pages(self, node: Node) -> None:
        if self.flat.uses:
            pages = [plain(p.nodes, self.source) for p in parameters(node, self.source)]
            self.flat.uses[-1].pages = ", ".join(pages) or None

    # ── notes ───────────────────────────────────────────────────────────────────────────────────

    def _note_template(self, name: str, node: Node, out: TextBuilder) -> None:
        """A note with references is a text with claims; {{refn}} with a citation is a reference."""
        given = by_name(node, self.source)
        content = list(given["1"].nodes) if "1" in given else []
        if self._holds_marks(content, notes=True):
            self._note(content)
        elif name in ("refn", "#tag:ref") and (content or "name" in given):
            sources = read_sources(content, self.source, node.span)
            label = plain(given["name"].nodes, self.source) if "name" in given else None
            self._use(out, Use(node.span, label, None, sources))

    def _note(self, nodes: Sequence[Node]) -> None:
        out = TextBuilder()
        Renderer(self.source, out, self).render(nodes)
        self.aside.append(out.block(BlockKind.PARAGRAPH, section=self.section))

    def _gallery(self, node: Node) -> None:
        """One caption a line: `File:x.jpg|caption`."""
        line: list[Node] = []
        for child in [*node.parts[0], Node(Kind.NEWLINE, node.end, node.end)]:
            if child.kind is not Kind.NEWLINE:
                line.append(child)
                continue
            self.aside_text(self._after_pipe(line), BlockKind.CAPTION)
            line = []

    def _after_pipe(self, line: list[Node]) -> list[Node]:
        for index, node in enumerate(line):
            pipe = self.source.find("|", node.start, node.end) if node.kind is Kind.TEXT else -1
            if pipe >= 0:
                return [Node(Kind.TEXT, pipe + 1, node.end), *line[index + 1 :]]
        return []

    def _holds_marks(self, nodes: Sequence[Node], *, notes: bool = False) -> bool:
        """Whether a reference is used in `nodes`; in `notes`, {{harvnb}} is the note itself."""
        return any(self._is_mark(node, notes) for node in _walk(nodes))

    def _is_mark(self, node: Node, notes: bool) -> bool:
        if node.kind is Kind.EXTENSION:
            return node.name == "ref"
        if node.kind is not Kind.TEMPLATE:
            return False
        if notes:
            return node.name in SHORT_CITATIONS or node.name == "r"
        return node.name in _IN_FLOW or node.name in NOTES or node.name in TAGS


def _walk(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        if not (node.kind is Kind.EXTENSION and node.name in ("ref", "references")):
            for part in node.parts:
                yield from _walk(part)
