"""HTML as tokens with exact offsets, and which closing tag belongs to which opening one.

Not `lxml`, which keeps no offsets, and not `html.parser`, which looks at the whole rest of the
page again for every `<a ` that does not end (Python 3.11: 150 kB of them run for minutes). This
reader goes over the page once. It follows the standard where a page is cut short: the rest of an
unfinished tag or comment is dropped.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from pincite.types import Span

_OPENING = re.compile(r"<(?:!--|[a-zA-Z]|/[a-zA-Z]|[!?])|&(?:#?\w{1,32});")
_NAME = re.compile(r"</?([a-zA-Z][^\s/>]*)")
_STOP = re.compile(r"[\"'>]")
_ATTRIBUTE = re.compile(r"([^\s=\"'<>/]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+)))?")
_RAW = frozenset({"script", "style", "textarea", "template", "noscript"})
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())


class TokenKind(StrEnum):
    """What a token is."""

    TEXT = "text"
    ENTITY = "entity"
    OPEN = "open"
    CLOSE = "close"


@dataclass(slots=True)
class Token:
    """A piece of the page; `partner` is the index of the tag that closes this one, or None."""

    kind: TokenKind
    start: int
    end: int
    name: str = ""  # lower case
    partner: int | None = None

    @property
    def span(self) -> Span:
        """The range in the source."""
        return Span(self.start, self.end)


def tokens(source: str) -> list[Token]:
    """The tokens of a page, without comments, scripts and styles, with partners set."""
    found = list(_tokens(source))
    waiting: dict[str, list[int]] = {}
    for index, token in enumerate(found):
        if token.kind is TokenKind.OPEN and token.name not in _VOID:
            waiting.setdefault(token.name, []).append(index)
        elif token.kind is TokenKind.CLOSE and waiting.get(token.name):
            found[waiting[token.name].pop()].partner = index
    return found


def attributes_of(token: Token, source: str) -> dict[str, str]:
    """The attributes of an opening tag, names in lower case, entities resolved."""
    name_end = token.start + 1 + len(token.name)
    found = _ATTRIBUTE.findall(source[name_end : token.end - 1])
    return {name.lower(): html.unescape(a or b or c) for name, a, b, c in found}


def _tokens(source: str) -> Iterator[Token]:
    position = 0
    while (found := _OPENING.search(source, position)) is not None:
        start = found.start()
        if start > position:
            yield Token(TokenKind.TEXT, position, start)
        if source[start] == "&":
            yield Token(TokenKind.ENTITY, start, found.end())
            position = found.end()
            continue
        token, position = _markup(source, start)
        if token:
            yield token
    if position < len(source):
        yield Token(TokenKind.TEXT, position, len(source))


def _markup(source: str, start: int) -> tuple[Token | None, int]:
    """The tag at `start` (None for comments and raw elements) and the position after it."""
    if source.startswith("<!--", start):
        return None, _after(source, "-->", start + 4)
    name = _NAME.match(source, start)
    if name is None:
        return None, _after(source, ">", start)
    end = _tag_end(source, name.end())
    if end is None:
        return None, len(source)
    kind = TokenKind.CLOSE if source[start + 1] == "/" else TokenKind.OPEN
    tag = name[1].lower()
    if kind is TokenKind.OPEN and tag in _RAW:
        closing = re.compile(rf"</{tag}", re.IGNORECASE).search(source, end)
        return None, _after(source, ">", closing.start()) if closing else len(source)
    return Token(kind, start, end, tag), end


def _tag_end(source: str, position: int) -> int | None:
    """The position after the `>` that ends a tag; None if the page ends first."""
    while (stop := _STOP.search(source, position)) is not None:
        if stop[0] == ">":
            return stop.end()
        position = source.find(stop[0], stop.end()) + 1
        if not position:
            return None
    return None


def _after(source: str, ending: str, start: int) -> int:
    end = source.find(ending, start)
    return end + len(ending) if end >= 0 else len(source)
