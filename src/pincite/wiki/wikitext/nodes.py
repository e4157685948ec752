"""The nodes of a wikitext tree. All offsets count in the page's source."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from pincite.types import Span
from pincite.wiki.editions import ENGLISH, Edition


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
