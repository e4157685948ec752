"""Wikipedia pages as HTML, from Parsoid or rendered, to the flat form."""

import html
import re
from dataclasses import replace
from urllib.parse import unquote

from pincite.types import Span
from pincite.wiki.editions import ENGLISH, Edition
from pincite.wiki.flat import BlockKind, Flat, Writer
from pincite.wiki.html.references import Reading
from pincite.wiki.html.tokens import Token, TokenKind, attributes_of, tokens
from pincite.wiki.references import Use
from pincite.wiki.wikitext.render import STYLES

_SKIPPED_TAGS = frozenset({"nav", "head", "title", "button", "audio", "video", "select", "form"})
_SKIPPED = re.compile(
    r"(?:^|\s)(?:navbox\S*|reflist|references|mw-references-wrap|mw-editsection|noprint|hatnote|toc|"
    r"metadata|ambox|mbox-small|sistersitebox|portal\S*|mw-jump-link|catlinks|printfooter|"
    r"mw-indicators|vertical-navbox|sidebar|refbegin|rt|mw-empty-elt|navigation-not-searchable|"
    r"mw-cite-backlink|IPA|shortdescription|mwe-math-fallback-image\S*)(?=\s|$)"
)
_SKIPPED_IDS = frozenset(
    {
        "toc",
        "siteSub",
        "contentSub",
        "jump-to-nav",
        "footer",
        "mw-navigation",
        "mw-panel",
        "mw-head",
        "firstHeading",
        "catlinks",
    }
)
_BLOCKS = frozenset(
    "p div section blockquote ul ol dl center article main body html aside figure hr pre".split()
)
_ITEMS = frozenset({"li", "dd", "dt"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_CAPTIONS = frozenset({"figcaption", "caption"})
_NOTE_ID = re.compile(r"#(cite_note-.+)")


def read_html(source: str, edition: Edition = ENGLISH) -> Flat:
    """The page `source` in the flat form. Never raises on malformed markup."""
    page = _Page(source, edition)
    page.run()
    return page.flat


def page_title(source: str) -> str | None:
    """The title of a page from `<title>`, without the name of the wiki."""
    found = re.search(r"<title[^>]{0,200}>([^<]{1,500})</title>", source[:200_000], re.IGNORECASE)
    if found is None:
        return None
    text = re.sub(r"<[^>]*>", "", html.unescape(found[1]))
    return re.sub(r"\s+[-–—]\s+[^-–—]*(?:Wikipedia|Wiki\w*)[^-–—]*$", "", text).strip() or None


def page_language(source: str) -> str | None:
    """What `<html lang="de">` says."""
    found = re.search(r"<html\b[^>]{0,500}?\slang=[\"']?([\w-]+)", source[:200_000], re.IGNORECASE)
    return found[1] if found else None


def revision_of(source: str) -> str | None:
    """The revision id that Parsoid or the rendered page states."""
    head = source[:200_000]
    found = re.search(r"Special:Redirect/revision/(\d+)", head) or re.search(
        r"[\"']?wgRevisionId[\"']?\s*:\s*(\d+)", head
    )
    return found[1] if found and found[1] != "0" else None


class _Page:
    def __init__(self, source: str, edition: Edition) -> None:
        self.source = source
        self.tokens = tokens(source)
        self.flat = Flat()
        self.reading = Reading(source, self.tokens, edition)
        self.reading.collect(self.flat.definitions)
        self.writer = Writer(self.flat)
        self.lists = 0  # how deep lists are nested

    def run(self) -> None:
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

    def _open(self, token: Token, index: int) -> int | None:
        """Deal with an opening tag; the index of its partner if its content is no text."""
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
        """Note links and tags of type, which a claim's span holds whole or not at all."""
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

    # ── marks ───────────────────────────────────────────────────────────────────────────────────

    def _mark(self, token: Token, index: int, given: dict[str, str]) -> bool:
        """Note a reference or an inline tag that the `<sup>` at `index` is; false for 10²."""
        classes = given.get("class", "")
        partner = token.partner or index
        span = Span(token.start, self.tokens[partner].end)
        if "reference" in classes.split() or "mw:Extension/ref" in given.get("typeof", ""):
            self._reference(index, partner, span)
            return True
        if "Inline-Template" in classes:
            tag = self._tag(index, partner)
            if tag:
                self.writer.out.mark(span, tag=tag)
            return True
        return "noprint" in classes

    def _reference(self, first: int, last: int, span: Span) -> None:
        note = next(filter(None, map(self._note_id, self.tokens[first:last])), None)
        if note is None:  # {{rp}} shows `<sup class="reference">: 12 </sup>`
            pages = self.reading.text(first, last).strip(": \u200a")
            if self.flat.uses and pages:
                self.flat.uses[-1] = replace(self.flat.uses[-1], pages=pages)
            return
        self.writer.out.mark(span, use=len(self.flat.uses))
        self.flat.uses.append(Use(span, note))

    def _note_id(self, token: Token) -> str | None:
        if token.kind is not TokenKind.OPEN or token.name != "a":
            return None
        found = _NOTE_ID.search(attributes_of(token, self.source).get("href", ""))
        return unquote(html.unescape(found[1])) if found else None

    def _tag(self, first: int, last: int) -> str | None:
        tag_of = self.reading.tag_of
        if shown := tag_of(self.reading.text(first, last)):
            return shown
        titles = (
            attributes_of(t, self.source).get("title", "")
            for t in self.tokens[first:last]
            if t.kind is TokenKind.OPEN
        )
        return next(filter(None, (tag_of(t.rpartition(":")[2]) for t in titles)), None)
