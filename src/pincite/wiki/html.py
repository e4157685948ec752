"""Converts Wikipedia pages in HTML, from Parsoid or rendered, to the flat form.

Its own tokenizer makes one pass: lxml keeps no offsets, and html.parser rescans the rest of the
page for every unfinished `<a `. The content of references is at the end, in `<li
id="cite_note-…">`; templates leave their fields as COinS in `<span class="Z3988" title="…">`.
"""

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from urllib.parse import parse_qs, unquote

from pincite.text import patterns
from pincite.types import Span
from pincite.wiki import templates
from pincite.wiki.flat import BlockKind, Flat, Writer
from pincite.wiki.templates import ENGLISH, TAGS, Definitions, Edition, Source, Use
from pincite.wiki.wikitext import ARCHIVE, STYLES

# ── Tokens ──────────────────────

_OPENING = re.compile(r"<(?:!--|[a-zA-Z]|/[a-zA-Z]|[!?])|&(?:#?\w{1,32});")
_NAME = re.compile(r"</?([a-zA-Z][^\s/>]*)")
_TAG_END = re.compile(r"(?:[^\"'>]++|\"[^\"]*+\"|'[^']*+')*+>")  # beyond quoted values
_ATTRIBUTE = re.compile(r"([^\s=\"'<>/]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+)))?")
_RAW = frozenset({"script", "style", "textarea", "template", "noscript"})
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())


class TokenKind(StrEnum):
    """The kind of a token."""

    TEXT = "text"
    ENTITY = "entity"
    OPEN = "open"
    CLOSE = "close"


@dataclass(slots=True)
class Token:
    """A piece of the page; `partner` is the index of the matching closing tag, or None."""

    kind: TokenKind
    start: int
    end: int
    name: str = ""  # lower case
    partner: int | None = None

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)


def tokens(source: str) -> list[Token]:
    """Tokenize a page and match closing tags; skips comments, scripts and unfinished tags."""
    stream = list(_tokens(source))
    waiting: dict[str, list[int]] = {}
    for index, token in enumerate(stream):
        if token.kind is TokenKind.OPEN and token.name not in _VOID:
            waiting.setdefault(token.name, []).append(index)
        elif token.kind is TokenKind.CLOSE and waiting.get(token.name):
            stream[waiting[token.name].pop()].partner = index
    return stream


def attributes_of(token: Token, source: str) -> dict[str, str]:
    """The attributes of an opening tag, with lower-case names and entities resolved."""
    name_end = token.start + 1 + len(token.name)
    pairs = _ATTRIBUTE.findall(source[name_end : token.end - 1])
    return {name.lower(): html.unescape(a or b or c) for name, a, b, c in pairs}


def _tokens(source: str) -> Iterator[Token]:
    position = 0
    while (match := _OPENING.search(source, position)) is not None:
        start = match.start()
        if start > position:
            yield Token(TokenKind.TEXT, position, start)
        token: Token | None = Token(TokenKind.ENTITY, start, match.end())
        position = match.end()
        if source[start] != "&":
            token, position = _markup(source, start)
        if token:
            yield token
    if position < len(source):
        yield Token(TokenKind.TEXT, position, len(source))


def _markup(source: str, start: int) -> tuple[Token | None, int]:
    if source.startswith("<!--", start):
        return None, _after(source, "-->", start + 4)
    name = _NAME.match(source, start)
    if name is None:
        return None, _after(source, ">", start)
    rest = _TAG_END.match(source, name.end())
    if rest is None:
        return None, len(source)
    end = rest.end()
    kind = TokenKind.CLOSE if source[start + 1] == "/" else TokenKind.OPEN
    tag = name[1].lower()
    if kind is TokenKind.OPEN and tag in _RAW:
        closing = re.compile(rf"</{tag}", re.IGNORECASE).search(source, end)
        return None, _after(source, ">", closing.start()) if closing else len(source)
    return Token(kind, start, end, tag), end


def _after(source: str, ending: str, start: int) -> int:
    end = source.find(ending, start)
    return end + len(ending) if end >= 0 else len(source)


# ── The page ──────────────────────

_SKIPPED_TAGS = frozenset({"nav", "head", "title", "button", "audio", "video", "select", "form"})
_SKIPPED = patterns(__file__, "html")["skipped"]
_SKIPPED_IDS = frozenset(
    "toc siteSub contentSub jump-to-nav footer mw-navigation mw-panel mw-head firstHeading "
    "catlinks".split()
)
_BLOCKS = frozenset(
    "p div section blockquote ul ol dl center article main body html aside figure hr pre".split()
)
_ITEMS = frozenset({"li", "dd", "dt"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_CAPTIONS = frozenset({"figcaption", "caption"})
_WIKI = "Wiki|Википедия|[维維]基百科"
_NOTE_ID = re.compile(r"#(cite_note-.+)")
_REVISION = re.compile(r"(?:Special:Redirect/revision/|wgRevisionId[\"']?\s*:\s*)(\d+)")


def read_html(source: str, edition: Edition = ENGLISH) -> Flat:
    """Convert a page to the flat form. Never raises on malformed markup."""
    return _Page(source, edition).run()


_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{1,500})</title>", re.IGNORECASE)
_HEADING = re.compile(r"<h1\b[^>]{0,500}>(.{1,1000}?)</h1>", re.IGNORECASE | re.DOTALL)


def page_title(source: str) -> str | None:
    """The page's `<title>`, without the name of the wiki; else its first heading."""
    match = _TITLE.search(source[:200_000]) or _HEADING.search(source[:200_000])
    if match is None:
        return None
    text = " ".join(html.unescape(re.sub(r"<[^>]*>", "", match[1])).split())
    return re.sub(rf"\s+[-–—]\s+[^-–—]*(?:{_WIKI})[^-–—]*$", "", text).strip() or None


def page_language(source: str) -> str | None:
    match = re.search(r"<html\b[^>]{0,500}?\slang=[\"']?([\w-]+)", source[:200_000], re.IGNORECASE)
    return match[1] if match else None


def revision_of(source: str) -> str | None:
    match = _REVISION.search(source[:200_000])
    return match[1] if match and match[1] != "0" else None


class _Page:
    """Writes the blocks of a page in one pass over its tokens."""

    def __init__(self, source: str, edition: Edition) -> None:
        self.source = source
        self.edition = edition
        self.tokens = tokens(source)
        self.flat = Flat(spaced=edition.spaced)
        self.references = _References(source, self.tokens, edition)
        self.references.collect(self.flat.definitions)
        self.writer = Writer(self.flat)
        self.lists = 0  # nesting depth of lists

    def run(self) -> Flat:
        index = 0
        while index < len(self.tokens):
            token = self.tokens[index]
            if token.kind is TokenKind.TEXT:
                self.writer.out.literal(self.source[token.start : token.end], token.start)
            elif token.kind is TokenKind.ENTITY:
                text = html.unescape(self.source[token.start : token.end])
                self.writer.out.rendered(text, token.span)
            elif token.kind is TokenKind.CLOSE:
                self._close(token)
            elif skipped_to := self._open(token, index):
                index = skipped_to
            index += 1
        self.writer.flush()
        return self.flat

    def _open(self, token: Token, index: int) -> int | None:
        given = attributes_of(token, self.source)
        classes = given.get("class", "")
        if token.name == "sup" and token.partner and self._mark(token, index, given):
            return token.partner
        skipped = token.name in _SKIPPED_TAGS or _SKIPPED.search(classes)
        if token.partner and (skipped or given.get("id") in _SKIPPED_IDS):
            return token.partner
        if token.name in _HEADINGS:
            self.writer.flush(BlockKind.HEADING)
        elif token.name in ("td", "th"):
            self.writer.begin_cell(heading=token.name == "th")
        else:
            self._style(token)
            self._open_block(token)
        return None

    def _style(self, token: Token) -> None:
        out = self.writer.out
        if token.name == "a" and token.partner:
            out.link(Span(token.start, self.tokens[token.partner].end))
        elif token.name in STYLES:
            out.style(token.name, token.span, opens=token.kind is TokenKind.OPEN)

    def _open_block(self, token: Token) -> None:
        writer = self.writer
        in_cell = writer.kind is BlockKind.CELL and bool(writer.tables)
        if token.name == "table":
            writer.begin_table()
        elif token.name == "tr":
            writer.end_row()
        elif token.name in _CAPTIONS:
            writer.flush(BlockKind.CAPTION)
        elif token.name == "br" or (in_cell and token.name in _BLOCKS | _ITEMS):
            writer.out.line_break(token.span)
        elif token.name in _ITEMS:
            writer.flush(BlockKind.ITEM)
            writer.depth = max(self.lists, 1)
        elif token.name in _BLOCKS:
            self.lists += token.name in ("ul", "ol", "dl")
            writer.flush()
        elif token.name == "sup" and writer.out.chars and writer.out.chars[-1].isdigit():
            writer.out.rendered("^", token.span)

    def _close(self, token: Token) -> None:
        writer = self.writer
        self._style(token)
        if token.name in _HEADINGS and writer.kind is BlockKind.HEADING:
            writer.end_heading(int(token.name[1]))
        elif token.name == "table":
            writer.end_table()
        elif token.name == "tr":
            writer.end_row()
        elif writer.kind is BlockKind.CELL:
            if token.name in _BLOCKS | _ITEMS:
                writer.out.line_break(token.span)
        elif token.name in _BLOCKS | _ITEMS | _CAPTIONS:
            self.lists -= token.name in ("ul", "ol", "dl") and self.lists > 0
            writer.flush()

    def _mark(self, token: Token, index: int, given: dict[str, str]) -> bool:
        """Note the reference or inline tag in the `<sup>` at `index`; false for 10²."""
        classes = given.get("class", "")
        partner = token.partner or index
        span = Span(token.start, self.tokens[partner].end)
        if "reference" in classes.split() or "mw:Extension/ref" in given.get("typeof", ""):
            self._reference(index, partner, span)
            return True
        shown = self.references.text(index, partner)
        inline = "Inline-Template" in classes or (self.edition != ENGLISH and shown[:1] == "[")
        if inline:
            tag_of, inside = self.references.tag_of, self.tokens[index:partner]
            opened = (attributes_of(t, self.source) for t in inside if t.kind is TokenKind.OPEN)
            titles = (given.get("title", "").rpartition(":")[2] for given in opened)
            if tag := next(filter(None, map(tag_of, (shown, *titles))), None):
                self.writer.out.mark(span, tag=tag)
        return inline or "noprint" in classes

    def _reference(self, first: int, last: int, span: Span) -> None:
        note = next(filter(None, map(self._note_id, self.tokens[first:last])), None)
        if note is None:  # {{rp}} renders as `<sup class="reference">: 12 </sup>`
            pages = self.references.text(first, last).strip(": \u200a")
            if self.flat.uses and pages.strip(","):  # in French, a comma parts references
                self.flat.uses[-1] = replace(self.flat.uses[-1], pages=pages)
            return
        self.writer.out.mark(span, use=len(self.flat.uses))
        self.flat.uses.append(Use(span, note))

    def _note_id(self, token: Token) -> str | None:
        if token.kind is not TokenKind.OPEN or token.name != "a":
            return None
        match = _NOTE_ID.search(attributes_of(token, self.source).get("href", ""))
        return unquote(html.unescape(match[1])) if match else None


# ── References ──────────────────────

# COinS keys (OpenURL, Z39.88-2004) and our template parameters; the first present wins.
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
_DUBLIN_CORE = {  # German and Polish addresses
    "title": ("rft.title",),
    "publisher": ("rft.publisher",),
    "date": ("rft.date",),
    "url": ("rft.identifier",),
}
_IDENTIFIERS = {"info:doi/": "doi", "info:pmid/": "pmid"}
_IGNORED = ("mw-cite-backlink", "cite-accessibility-label", "Z3988", "mw-linkback-text", "noprint")
MAX_TOKENS = 2000  # of a reference or label, read as text
_WORKS = frozenset({"citation", "cite", "ouvrage"})  # classes of a whole citation
_QUOTE = re.compile(r"[“\"]([^”\"]{15,})[”\"]\s*\Z")


class _References:
    """Reads a page's reference lists and bibliographies, and the text of token ranges."""

    def __init__(self, source: str, tokens: list[Token], edition: Edition) -> None:
        self.source = source
        self.tokens = tokens
        self.edition = edition
        self.local = edition != ENGLISH
        self.works: set[str] = set()  # ids of full citations

    def collect(self, definitions: Definitions) -> None:
        """Define every `<li id="cite_note-…">` and every `<cite id="CITEREF…">` of the page."""
        done = {"li": -1, "cite": -1}  # nested ones are read once: hostile pages nest
        done |= {"span": -1} if self.local else {}
        notes: list[tuple[str, int, int]] = []
        for index, token in enumerate(self.tokens):
            if token.kind is not TokenKind.OPEN or index <= done.get(token.name, index):
                continue
            given = attributes_of(token, self.source)
            identity = unquote(given.get("id", ""))
            if token.name == "span" and not self._is_work(token, given):
                continue
            end = done[token.name] = token.partner or index
            if identity.startswith("cite_note-"):
                notes.append((identity, index, end))
            elif identity.startswith("CITEREF") or (identity and self._is_work(token, given)):
                self.works.add(identity)
                span = Span(token.start, self.tokens[end].end)
                work = self._work(index, self._with_coins(end), span)
                definitions.works.setdefault(_key(identity), work)
        for identity, index, end in notes:  # these may link to works
            definitions.define(None, identity, self._sources(index, end))

    def _is_work(self, token: Token, given: Mapping[str, str]) -> bool:
        """Whether it is a whole citation; in other editions, a mere `<cite>` is a title."""
        if not self.local:
            return token.name == "cite"
        classes = given.get("class", "").split()
        return token.name in ("cite", "span") and not _WORKS.isdisjoint(classes)

    def _with_coins(self, end: int) -> int:
        """Include the COinS span that directly follows a `<cite>`."""
        following = self.tokens[end + 1 : end + 2]
        if following and following[0].name == "span" and following[0].partner:
            return following[0].partner
        return end

    def _sources(self, first: int, last: int) -> tuple[Source, ...]:
        span = Span(self.tokens[first].start, self.tokens[last].end)
        works, done = [], first
        for index in range(first + 1, last):
            token = self.tokens[index]
            if token.kind is not TokenKind.OPEN or index <= done:
                continue
            if self._is_work(token, attributes_of(token, self.source) if self.local else {}):
                done = token.partner or index
                works.append(self._work(index, self._with_coins(done), span))
        return tuple(works) or (self._work(first, last, span),)

    def _work(self, first: int, last: int, span: Span) -> Source:
        fields: dict[str, str] = {}
        tags: list[str] = []
        key = template = None
        for index in range(first, last + 1):
            token = self.tokens[index]
            if token.kind is not TokenKind.OPEN:
                continue
            given = attributes_of(token, self.source)
            classes = given.get("class", "")
            if token.name == "cite" and "citation" in classes:  # "citation web cs1": {{cite web}}
                words = [w for w in classes.split() if w not in ("citation", "cs1", "cs2")]
                name = f"cite {words[0]}" if words else "citation"
                template = template or (name if templates.is_citation(name) else None)
            elif token.name == "a":
                key = key or self._link(index, given, fields)
            elif "Z3988" in classes:
                coins = _coins(given.get("title", ""), people=self.local)
                fields.update({k: v for k, v in coins.items() if v})
            elif "Inline-Template" in classes:
                tags.append(self.tag_of(self.text(index, token.partner)) or "")
        text = self.text(first, last)
        if quote := _QUOTE.search(text):
            fields.setdefault("quote", quote[1])
        return Source(span, text, template, fields, tuple(filter(None, tags)), key)

    def _link(self, index: int, given: Mapping[str, str], fields: dict[str, str]) -> str | None:
        href = given.get("href", "")
        fragment = unquote(href.partition("#")[2])
        if fragment.startswith("CITEREF") or fragment in self.works:
            return _key(fragment)
        href = f"https:{href}" if href.startswith("//") else href
        if "external" in given.get("class", "").split() or "mw:ExtLink" in given.get("rel", ""):
            if ARCHIVE.match(href):
                fields.setdefault("archive-url", href)
                if self.local:  # of a dead link, the title may link to the copy
                    fields.setdefault("title", self.text(index, self.tokens[index].partner))
            elif "doi.org/" in href:
                fields.setdefault("doi", unquote(href.split("doi.org/", 1)[1]))
            elif "url" not in fields:
                fields["url"] = href
                fields.setdefault("title", self.text(index, self.tokens[index].partner))
        return None

    def tag_of(self, text: str) -> str | None:
        shown = re.split(r"\s\d", text.strip("[] \u200b").lower())[0]  # "unsourced for 12 days"
        return TAGS.get(self.edition.names.get(shown, shown))

    def text(self, first: int, last: int | None) -> str:
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


def _key(name: str) -> str:
    name = name.removeprefix("CITEREF").removeprefix("CITAREF")  # the latter in Spanish
    return templates.short_key([name], "").replace(" ", "")


def _coins(title: str, *, people: bool) -> dict[str, str]:
    """`people`: also those in one parameter."""
    given = parse_qs(title)
    known = _DUBLIN_CORE if "info:ofi/fmt:kev:mtx:dc" in given.get("rft_val_fmt", ()) else _COINS
    fields = {
        ours: next((given[k][0] for k in keys if k in given), "") for ours, keys in known.items()
    }
    if ARCHIVE.match(fields.get("url", "")):
        fields["archive-url"] = fields.pop("url")
    if people and not fields.get("last"):
        names = given.get("rft.au") or given.get("rft.creator") or []
        fields |= templates.translate({"people": "; ".join(names)})
    for value in given.get("rft_id", []):
        name = next((n for prefix, n in _IDENTIFIERS.items() if value.startswith(prefix)), None)
        if name:
            fields[name] = value.split("/", 1)[1]
        elif value.startswith("http"):
            fields["url"] = value
    return fields
