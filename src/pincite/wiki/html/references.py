"""The reference lists and bibliographies of an HTML page: definitions by the ids that link to them.

Both Parsoid and the rendered page number references and put their content at the end, in
`<li id="cite_note-…">`. Citation templates leave their class on `<cite>` and their fields as COinS
in `<span class="Z3988" title="…">`.
"""

import html
import re
from collections.abc import Mapping
from urllib.parse import parse_qs, unquote

from pincite.types import Span
from pincite.wiki.editions import Edition
from pincite.wiki.html.tokens import Token, TokenKind, attributes_of
from pincite.wiki.references import Definitions, Source, short_key
from pincite.wiki.wikitext.templates import TAGS, is_citation

# COinS keys (OpenURL, Z39.88-2004) and our template parameters for them, the first present wins.
_COINS = {
    "title": ("rft.atitle", "rft.btitle", "rft.title"),
    "work": ("rft.jtitle", "rft.title"),
    "publisher": ("rft.pub",),
    "date": ("rft.date",),
    "pages": ("rft.pages",),
    "isbn": ("rft.isbn",),
    "last": ("rft.aulast",),
    "first": ("rft.aufirst",),
}
_IDENTIFIERS = {"info:doi/": "doi", "info:pmid/": "pmid"}
_ARCHIVE = re.compile(r"https?://(?:web\.archive\.org|archive\.(?:is|today|ph)|webcitation\.org)/")
_IGNORED = ("mw-cite-backlink", "cite-accessibility-label", "Z3988", "mw-linkback-text", "noprint")
MAX_TOKENS = 2000  # of a reference or a label that are read as its text
_QUOTE = re.compile(r"[“\"]([^”\"]{15,})[”\"]\s*\Z")


class Reading:
    """What a range of tokens says as a reference."""

    def __init__(self, source: str, tokens: list[Token], edition: Edition) -> None:
        self.source = source
        self.tokens = tokens
        self.edition = edition

    def collect(self, definitions: Definitions) -> None:
        """Define every `<li id="cite_note-…">` and every `<cite id="CITEREF…">` of the page."""
        done = {"li": -1, "cite": -1}  # what is nested in itself is read once: hostile pages nest
        for index, token in enumerate(self.tokens):
            if token.kind is not TokenKind.OPEN or index <= done.get(token.name, index):
                continue
            given = attributes_of(token, self.source)
            identity = unquote(given.get("id", ""))
            end = done[token.name] = token.partner or index
            if identity.startswith("cite_note-"):
                definitions.define(None, identity, self._sources(index, end))
            elif identity.startswith("CITEREF"):
                work = self._work(index, self._with_coins(end), Span(token.start, self._end(end)))
                key = short_key([identity.removeprefix("CITEREF")], "").replace(" ", "")
                definitions.works.setdefault(key, work)

    def _end(self, index: int) -> int:
        return self.tokens[index].end

    def _with_coins(self, end: int) -> int:
        """The COinS span stands right after its `<cite>`."""
        following = self.tokens[end + 1 : end + 2]
        if following and following[0].name == "span" and following[0].partner:
            return following[0].partner
        return end

    def _sources(self, first: int, last: int) -> tuple[Source, ...]:
        span = Span(self.tokens[first].start, self._end(last))
        cites = []
        done = first
        for index in range(first + 1, last):
            token = self.tokens[index]
            if token.kind is TokenKind.OPEN and token.name == "cite" and index > done:
                cites.append(index)
                done = token.partner or index
        works = [self._work(i, self._with_coins(self.tokens[i].partner or i), span) for i in cites]
        return tuple(works) if works else (self._work(first, last, span),)

    def _work(self, first: int, last: int, span: Span) -> Source:
        """One work: the class of its `<cite>`, its links, its COinS, its text."""
        fields: dict[str, str] = {}
        tags: list[str] = []
        key = template = None
        for index in range(first, last + 1):
            token = self.tokens[index]
            if token.kind is not TokenKind.OPEN:
                continue
            given = attributes_of(token, self.source)
            classes = given.get("class", "")
            if token.name == "cite":
                template = template or _template_of(classes)
            elif token.name == "a":
                key = key or self._link(index, given, fields)
            elif "Z3988" in classes:
                fields.update({k: v for k, v in _coins(given.get("title", "")).items() if v})
            elif "Inline-Template" in classes and (
                tag := self.tag_of(self.text(index, token.partner))
            ):
                tags.append(tag)
        text = self.text(first, last)
        if quote := _QUOTE.search(text):
            fields.setdefault("quote", quote[1])
        return Source(span, text, template, fields, tuple(tags), key)

    def _link(self, index: int, given: Mapping[str, str], fields: dict[str, str]) -> str | None:
        """Note an external link in `fields`; the key of a link to a full citation."""
        href = given.get("href", "")
        if "#CITEREF" in href:
            name = unquote(href.split("#CITEREF", 1)[1])
            return short_key([name], "").replace(" ", "")
        href = f"https:{href}" if href.startswith("//") else href
        if "external" in given.get("class", "").split() or "mw:ExtLink" in given.get("rel", ""):
            if _ARCHIVE.match(href):
                fields.setdefault("archive-url", href)
            elif "doi.org/" in href:
                fields.setdefault("doi", unquote(href.split("doi.org/", 1)[1]))
            elif "url" not in fields:
                fields["url"] = href
                fields.setdefault("title", self.text(index, self.tokens[index].partner))
        return None

    def tag_of(self, text: str) -> str | None:
        """The canonical name of an inline tag from what it shows: `[failed verification]`."""
        shown = text.strip("[] \u200b").lower()
        return TAGS.get(self.edition.names.get(shown, shown))

    def text(self, first: int, last: int | None) -> str:
        """What a reader sees between two tokens, without back links."""
        pieces: list[str] = []
        index = first
        last = min(first if last is None else last, first + MAX_TOKENS)
        while index < last:
            token = self.tokens[index]
            if token.kind in (TokenKind.TEXT, TokenKind.ENTITY):
                pieces.append(html.unescape(self.source[token.start : token.end]))
            elif token.kind is TokenKind.OPEN and token.partner and index > first:
                classes = attributes_of(token, self.source).get("class", "")
                if any(name in classes for name in _IGNORED):
                    index = token.partner
            index += 1
        return " ".join("".join(pieces).split())


def _template_of(classes: str) -> str | None:
    """`citation web cs1` is {{cite web}}; `citation cs2` is {{citation}}."""
    words = [word for word in classes.split() if word not in ("citation", "cs1", "cs2")]
    name = f"cite {words[0]}" if words else "citation"
    return name if "citation" in classes and is_citation(name) else None


def _coins(title: str) -> dict[str, str]:
    """COinS as template parameters."""
    given = {key: values[0] for key, values in parse_qs(title).items()}
    fields = {
        ours: next((given[k] for k in keys if k in given), "") for ours, keys in _COINS.items()
    }
    for value in parse_qs(title).get("rft_id", []):
        name = next((n for prefix, n in _IDENTIFIERS.items() if value.startswith(prefix)), None)
        if name:
            fields[name] = value.split("/", 1)[1]
        elif value.startswith("http"):
            fields["url"] = value
    return fields
