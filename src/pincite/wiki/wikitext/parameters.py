"""The parameters of a template node: names, values, and their plain text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pincite.wiki.wikitext.nodes import Kind, Node
from pincite.wiki.wikitext.templates import template_name

_NAME = re.compile(r"\s*([^=\[\]{}<>|]{0,100}?)\s*=")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter; unnamed ones are called "1", "2", … as MediaWiki does."""

    name: str
    nodes: Sequence[Node]
    named: bool


def name_of(node: Node, source: str) -> str:
    """The template's name as the tables spell it; of {{#tag:ref|…}} "#tag:ref"."""
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
