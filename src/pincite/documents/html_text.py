"""Renders a web page as its readers see it: one line per block, cells joined by bars.

Tables of data and lists of terms are written in words first: "Year: 1950; Trams: 312".
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from html import unescape
from itertools import accumulate, chain, groupby, pairwise
from operator import attrgetter
from typing import Any, NamedTuple

from lxml import etree

from pincite.documents import tables
from pincite.documents.markup import Page
from pincite.documents.text import clean_text, one_line
from pincite.text import patterns, word_lists
from pincite.text.tables import cells_of

MAX_ANCHORS = 500  # per page; generated documentation has thousands, one per line
ANCHOR_CHARS = 120  # of the text after an anchor: more than eight words
SECTION_WORDS = 8  # after an anchor: distinguish a section from its entry in a table of contents
HEADING_WORDS = 3  # after an anchor: match where an advertisement follows the heading
MAX_CHARS = 2_000_000  # of a text in which anchors are located; each is searched in all of it
MAX_LINKED = 0.5  # lines with a larger share of linked characters are navigation
MAX_TERM_CHARS = 100  # longer terms of a definition list are sentences
MAX_ROW_LENGTHS = 2  # in a table of data: rows of more lengths lay out a page
_PATTERNS = patterns(__file__, "html")
_TAGS = word_lists(__file__, "words")
_INVISIBLE_TAGS, _INLINE_TAGS = _TAGS["invisible_tags"], _TAGS["inline_tags"]
_CELL_TAGS = frozenset({"td", "th"})
_UNREAD_TAGS = frozenset("script style svg template".split())  # of pages too deep to parse
_COMMENTS_TAGS = frozenset("aside div li ol section ul".split())  # that may hold all comments
_VALUE_TAGS = frozenset("div p ul ol li".split())  # that may contain the value of a term
_SEPARATORS = {**dict.fromkeys(_INLINE_TAGS, ""), **dict.fromkeys(_CELL_TAGS, " ")}  # else "\n"
_SPACES = re.compile(r"\s+")
_TAG = re.compile("<(?P<name>/?[a-zA-Z]*)[^<>]*>?(?P<text>[^<]*)")
_COLOUR = re.compile(r"(?:^|;)\s*(?P<property>color|background(?:-color)?)\s*:\s*(?P<value>[^;]+)")
_WHITE = re.compile(r"white|#fff(fff)?|rgba?\(255,255,255(,1(\.0*)?)?\)|hsl\(.*,100%\)")
_COLOURED = "*[contains(@style, 'color') or @color]"
_ROW_HEADERS = "//tr[count(*)=2]/*[1][self::th[not(@rowspan or @colspan)]][following-sibling::td]"
_LAID_OUT = "@role='presentation' or .//table or .//form or .//h1 or .//h2 or .//h3"
_FOOTNOTE_MARKS = ".//sup[string-length(normalize-space()) < 4]"  # "[a]", "12"
_HAS_EXPONENT = re.compile(r"\b(?:[kcmd]?m|ft|mi|in|s|10)\s?\Z")  # "km", "10": no mark follows


class Container(IntEnum):
    """What a piece of text is part of; of several, the first listed here counts."""

    COMMENTS, HEADLINE, LINK, NONE = range(4)


class Piece(NamedTuple):
    """Text between two tags; begins with a line break or a bar where the first tag causes it."""

    text: str
    container: Container
    anchor: str = ""  # the `id` or `<a name>` of the element that begins here


class Anchor(NamedTuple):
    """A place that an address can name (`#History`)."""

    name: str
    following: str  # the text from there on, of about ANCHOR_CHARS


class Block(NamedTuple):
    """A line of visible text; `linked` is the share of it inside links."""

    text: str
    linked: float = 0.0
    headline: bool = False  # in the page's `<h1>`
    comment: bool = False  # in the readers' comments

    @property
    def is_navigation(self) -> bool:
        return self.linked > MAX_LINKED


class VisibleText(NamedTuple):
    """What readers see of a page, except navigation and footer."""

    text: str
    anchors: Sequence[Anchor] = ()  # the first MAX_ANCHORS, in page order
    blocks: Sequence[Block] = ()


def visible_text(page: Page) -> VisibleText:
    """Render a page; only its text if it is too deep to parse."""
    if page.cut_short:
        return VisibleText(clean_text(without_tags(page.source)))
    pieces, starts = list[Piece](), list[tuple[str, int]]()  # anchors with the number of the piece
    for piece in _visible_pieces(page.tree):
        if piece.anchor and len(starts) < MAX_ANCHORS:
            starts.append((piece.anchor, len(pieces)))
        if piece.text:
            pieces.append(piece)
    anchors = list[Anchor]()
    for name, start in starts:
        following = [piece.text for piece in pieces[start : start + ANCHOR_CHARS]]
        lengths = list(accumulate(len(text.strip()) for text in following))
        enough = bisect_left(lengths, ANCHOR_CHARS) + 1
        anchors.append(Anchor(name, clean_text("".join(following[:enough]))))
    text = clean_text("".join(piece.text for piece in pieces))
    return VisibleText(text, anchors, _blocks(pieces))


def _blocks(pieces: Iterable[Piece]) -> list[Block]:
    lines, blocks = [list[Piece]()], list[Block]()
    for piece in pieces:
        if piece.text.startswith("\n"):
            lines.append([])
        if lines[-1] or not piece.text.isspace():  # no line begins with white space alone
            lines[-1].append(piece)
    for line in filter(None, lines):
        text = " ".join("".join(piece.text for piece in line).split())
        n_linked = sum(len(piece.text) for piece in line if piece.container is Container.LINK)
        parts = {piece.container for piece in line if not piece.text.isspace()}
        is_headline, is_comment = Container.HEADLINE in parts, Container.COMMENTS in parts
        blocks.append(Block(text, n_linked / len(text), is_headline, is_comment))
    return blocks


def _visible_pieces(tree: Any) -> Iterator[Piece]:
    """Yield the text after each tag in document order; some pieces are empty."""
    walk = etree.iterwalk(tree, events=("start", "end"))  # recursion would hit Python's limit
    outermost: dict[Container, Any] = {}  # open element of each kind
    container = Container.NONE
    for event, element in walk:
        tag = element.tag if isinstance(element.tag, str) else ""
        if event == "end":
            if element in outermost.values():
                outermost = {kind: one for kind, one in outermost.items() if one is not element}
                container = min(outermost, default=Container.NONE)
            separator = "" if is_hidden(element, tag) else _SEPARATORS.get(tag, "\n")
            yield Piece(separator + _SPACES.sub(" ", element.tail or ""), container)
        elif is_hidden(element, tag):
            walk.skip_subtree()
        else:
            outermost.setdefault(_container_of(element, tag), element)
            container = min(outermost)
            is_next_cell = tag in _CELL_TAGS and element.getprevious() is not None
            separator = " | " if is_next_cell else _SEPARATORS.get(tag, "\n")
            anchor = element.get("id") or (element.get("name") if tag == "a" else None) or ""
            yield Piece(separator + _SPACES.sub(" ", element.text or ""), container, anchor)


def _container_of(element: Any, tag: str) -> Container:
    if tag in _COMMENTS_TAGS:
        names = (element.get("class") or "", element.get("id") or "")
        is_comments = any(map(_PATTERNS["comments"].search, names))
        return Container.COMMENTS if is_comments else Container.NONE
    return {"h1": Container.HEADLINE, "a": Container.LINK}.get(tag, Container.NONE)


def without_tags(source: str) -> str:
    """Strip tags in one linear pass, for pages too deep to parse."""
    texts, unread = list[str](), ""  # the name of the element whose content is skipped
    for tag in _TAG.finditer(f"<>{source}".replace("\0", "")):  # text may precede the first tag
        name, text = tag["name"].lower(), tag["text"]
        if unread:
            unread = "" if name == f"/{unread}" else unread
        elif name in _UNREAD_TAGS:
            unread = name
        if not unread:
            texts.append(text if name.strip("/") in _INLINE_TAGS else f"\n{text}")
    return unescape("".join(texts))


def is_hidden(element: Any, tag: str) -> bool:
    if tag in _INVISIBLE_TAGS or not tag or element.get("hidden") is not None:
        return True
    return _PATTERNS["hidden"].search(element.get("style") or "") is not None


def drop_hidden(page: Page) -> None:
    """Remove hidden elements: text that no reader sees is not evidence."""
    for element in page.tree.xpath("//body//*[@hidden or @style]"):
        if is_hidden(element, "div") and element.getparent() is not None:
            element.drop_tree()
    for element in page.tree.xpath("//body//template | //body//dialog[not(@open)]"):
        element.drop_tree()


def drop_camouflaged(page: Page) -> None:
    """Remove text in the colour of its background, where inline styles state both.

    A page without a style sheet is white. Style sheets are not evaluated: white text may be on a
    dark photograph, so it is kept.
    """
    styled = page.tree.xpath("boolean(//style | //link[contains(@rel, 'stylesheet')])")
    for element in page.tree.xpath(f"//body//{_COLOURED}"):
        colour = _stated_colour(element, "color")
        around = (_stated_colour(e, "background") for e in (element, *element.iterancestors()))
        background = next(filter(None, around), "" if styled else "white")
        # An element inside that states a colour is judged by itself.
        if colour and colour == background and not element.xpath(f"boolean(.//{_COLOURED})"):
            element.drop_tree()


def _stated_colour(element: Any, what: str) -> str:
    """The colour or background from inline attributes; all spellings of white become "white"."""
    style = _COLOUR.finditer((element.get("style") or "").lower())
    values = [stated["value"] for stated in style if stated["property"].startswith(what)]
    attributes = ("color",) if what == "color" else ("bgcolor", "background")
    value = next(filter(None, (*values[-1:], *map(element.get, attributes))), "")
    colour = re.sub(r"\s+|!important", "", value.lower())
    return "white" if _WHITE.fullmatch(colour) else colour


def join_terms(page: Page) -> None:
    """Write values after their term, in definition lists and two-cell rows: `Built: 1650`."""
    rows = [([header], [header.getnext()]) for header in page.tree.xpath(_ROW_HEADERS)]
    joined = list[Any]()
    for terms, values in chain(_definitions(page.tree), rows):
        if label := _label(terms):
            joined += terms
            for value in values:
                _begin(value, label)
    for term in joined:
        term.drop_tree()


def _definitions(tree: Any) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield the adjacent terms of definition lists, each time with the values that follow them."""
    for parent in dict.fromkeys(term.getparent() for term in tree.iter("dt")):
        runs = groupby(parent.iterchildren("dt", "dd"), key=attrgetter("tag"))
        for (tag, before), (_, after) in pairwise([(tag, list(run)) for tag, run in runs]):
            if tag == "dt":
                yield before, after


def _label(terms: Sequence[Any]) -> str:
    """Join terms; empty if they are long, hidden, structured, or link targets."""
    for element in (inner for term in terms for inner in term.iter()):
        if element not in terms and element.tag not in _INLINE_TAGS:
            return ""
        if any(element.get(name) is not None for name in ("style", "hidden", "id")):
            return ""
    label = ", ".join(one_line(term.text_content()).rstrip(": ") for term in terms)
    return label if len(label) <= MAX_TERM_CHARS else ""


def _begin(value: Any, label: str) -> None:
    while len(value) and not (value.text or "").strip() and value[0].tag in _VALUE_TAGS:
        value = value[0]
    value.text = f"{label}: {(value.text or '').lstrip()}"


def write_tables(page: Page) -> None:
    """Write the rows of tables of data in words; layout tables and infoboxes are left alone."""
    for table in page.tree.xpath(f"//table[not({_LAID_OUT})]"):
        for mark in table.xpath(_FOOTNOTE_MARKS):
            if not _HAS_EXPONENT.search(mark.xpath("string(preceding-sibling::text()[1])")):
                mark.drop_tree()
        grid = tables.grid_of(
            [tables.cell_of(cell, _text_in(cell)) for cell in row if cell.tag in _CELL_TAGS]
            for row in table.iter("tr")
            if not is_hidden(row, "tr")
        )
        lines = tables.lines_of(grid, " ".join(map(_text_in, table.iterchildren("caption"))))
        longest_cell = max((len(cell.text) for row in grid for cell in row), default=0)
        is_regular = len({len(row) for row in grid}) <= MAX_ROW_LENGTHS
        if is_regular and longest_cell <= tables.MAX_CELL_CHARS and any(map(cells_of, lines)):
            anchor = table.xpath("string(descendant-or-self::*/@id)")
            table.clear(keep_tail=True)
            table.set("id", anchor)
            for line in lines:
                etree.SubElement(etree.SubElement(table, "tr"), "td").text = line


def _text_in(element: Any) -> str:
    return "".join(piece.text for piece in _visible_pieces(element)).strip("| ")


def locate_anchors(anchors: Sequence[Anchor], text: str) -> dict[str, int]:
    """Return the offset in `text` of each anchor (`#History`); those not found are omitted."""
    if not anchors or len(text) > MAX_CHARS:
        return {}
    words = list(re.finditer(r"\S+", text))
    spaced = f" {' '.join(word[0] for word in words)} "
    spaces = [0, *accumulate(len(word[0]) + 1 for word in words)]  # before each word of `spaced`
    offsets = dict[str, int]()
    reached = 0  # anchors are in page order
    for name, following in anchors:
        after = following.split()
        section = after[:SECTION_WORDS] if len(after) >= SECTION_WORDS else []
        probes = filter(None, (section, after[:HEADING_WORDS]))
        tries = ((f" {' '.join(probe)} ", start) for probe in probes for start in (reached, 0))
        found = (spaced.find(probe, start) for probe, start in tries)
        at = next((place for place in found if place >= 0), None)
        if at is not None and name not in offsets:
            offsets[name] = words[bisect_left(spaces, at)].start()
            reached = at
    return offsets
