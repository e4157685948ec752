"""The parameters of a template node: names, values, and their plain text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pincite.wiki.editions import template_name
from pincite.wiki.wikitext.nodes import Kind, Node

_NAME = re.compile(r"\s*([^=\[\]{}<>|]{0,100}?)\s*=")


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
