"""Which parts of wikitext the parser must not look into, and which tag closes which extension.

MediaWiki cuts comments and extension tags out of the text before it looks at any bracket; so does
this first pass. It runs once over the text, whatever is unclosed.
"""

import html
import re
from dataclasses import dataclass, field

from pincite.types import Span
from pincite.wiki.wikitext.nodes import Kind, Node

_SPECIAL = re.compile(
    r"<!--|<(/?)(nowiki|pre|math|chem|ce|syntaxhighlight|source|score|hiero|timeline|graph|"
    r"templatedata|imagemap|inputbox|categorytree|mapframe|maplink|ref|references|gallery)"
    r"((?:[\s/][^<>]*)?)>",
    re.IGNORECASE,
)
_EXTENSIONS = frozenset({"ref", "references", "gallery"})
_VISIBLE = frozenset({"nowiki", "math", "chem", "ce"})
_ATTRIBUTE = re.compile(r"([\w:-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")


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
