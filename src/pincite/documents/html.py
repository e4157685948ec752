"""Extracts the article from a web page, with headings, anchors and metadata.

trafilatura extracts the article. Text that it dropped between two adjacent blocks, or between the
headline and the first block, is restored: nested lists, leads, captions. Metadata comes from
JSON-LD, meta elements and marked-up elements, most explicit first.
"""

import json
import logging
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from html import unescape
from itertools import accumulate, chain, islice, pairwise
from types import SimpleNamespace
from typing import Any

from lxml import etree

from pincite.documents import outcome, tables
from pincite.documents.body import Body
from pincite.documents.markup import CANONICAL, OG_URL, Page, declared_charset, parse_page
from pincite.documents.notices import Signs
from pincite.documents.text import clean_text, code_of, decode, one_line
from pincite.text import patterns, tables_beside, word_lists
from pincite.text.dates import iso_date
from pincite.text.hosts import host_of
from pincite.text.identifiers import doi_in
from pincite.text.sentences import n_words
from pincite.text.tables import cells_of
from pincite.types import COPY_OF, HEADLINE, WEBSITE, Document, Reason, Unchecked

_WORDS = word_lists(__file__, "words")
_INVISIBLE_TAGS, _INLINE_TAGS = _WORDS["invisible_tags"], _WORDS["inline_tags"]
_CELL_TAGS = frozenset({"td", "th"})
_PATTERNS = patterns(__file__, "html")
_COLOUR = re.compile(r"(?:^|;)\s*(color|background(?:-color)?)\s*:\s*([^;]+)")
_WHITE = re.compile(r"white|#fff(fff)?|rgba?\(255,255,255(,1(\.0*)?)?\)|hsl\(.*,100%\)")
_NOT_FREE = re.compile(r'"isAccessibleForFree"\s*:\s*"?false', re.IGNORECASE)
AFTER_NAME = 120  # characters: more than eight words
TEASER_WORDS = 40  # of another story, below its headline
MIN_STORIES = 2  # in a row of stories
MIN_HEADLINE = 3  # words; menus have shorter links
SEEN_CHARS = 50_000  # covers the teaser and its surroundings; 10 MB of text would take 9 s

_SILENT = logging.NullHandler()
_SPACES = re.compile(r"\s+")
_PARTS = ("comments", "h1", "a")  # containers of a piece of text, in order of precedence
_BLOCK_TAGS = frozenset("aside div li ol section ul".split())
_RAISED = re.compile(r"\b(?:[kcmd]?m|ft|mi|in|s|10)\s?\Z")  # before an exponent
MAX_TERM_CHARS = 100  # longer terms of a definition list are sentences
_VALUE_BLOCKS = frozenset("div p ul ol li".split())  # that may contain the value of a term
Piece = tuple[str, str]  # text, which may begin with a line break, and its container


@dataclass(frozen=True, slots=True)
class Block:
    """A line of visible text; `linked` is the share of it inside links."""

    text: str
    linked: float = 0.0
    headline: bool = False  # in the page's `<h1>`
    comment: bool = False  # in the readers' comments


@dataclass(frozen=True, slots=True)
class Statements:
    """Raw metadata from the head and from marked-up elements."""

    metas: Mapping[str, Sequence[str]] = field(default_factory=dict)  # names as in AUTHOR_METAS
    works: Sequence[Mapping[str, Any]] = ()  # JSON-LD objects of written works
    dates: Sequence[str] = ()  # contents of elements marked as the date


def visible_text(page: Page, most_names: int) -> tuple[str, list[tuple[str, str]], list[Piece]]:
    """Render visible text without navigation and footer: one line per block, cells joined by bars.

    Returns the text, at most `most_names` anchors in order (an `id` or `<a name>`, and the words
    that follow it), and the pieces of the text; no anchors or pieces if the parser gave up.
    """
    if page.cut_short:
        return clean_text(_without_tags(page.source)), [], []
    pieces: list[Piece] = []
    names: list[tuple[str, int]] = []
    for name, piece in _visible_pieces(page.tree):
        if name and len(names) < most_names:
            names.append((name, len(pieces)))
        if piece[0]:
            pieces.append(piece)
    texts = [text for text, _ in pieces]
    named = list[tuple[str, str]]()
    for name, start in names:
        some = texts[start : start + AFTER_NAME]
        lengths = list(accumulate(len(text.strip()) for text in some))
        named.append((name, clean_text("".join(some[: bisect_left(lengths, AFTER_NAME) + 1]))))
    return clean_text("".join(texts)), named, pieces


def blocks_of(pieces: Iterable[Piece]) -> list[Block]:
    blocks, line = list[Block](), list[Piece]()
    for piece in chain(pieces, [("\n", "")]):
        if line and piece[0][:1] == "\n":
            text = " ".join("".join(words for words, _ in line).split())
            linked = sum(len(words) for words, part in line if part == "a") / max(1, len(text))
            parts = {part for words, part in line if not words.isspace()}
            blocks += [Block(text, linked, "h1" in parts, "comments" in parts)] if text else []
            line = []
        if not piece[0].isspace() or line:
            line.append(piece)
    return blocks


def signs_of(page: Page, title: str, visible: str, blocks: Sequence[Block] = ()) -> Signs:
    scripts = page.tree.xpath("//script")
    described = (s.text or "" for s in scripts if "json" in (s.get("type") or ""))
    not_free = any(_NOT_FREE.search(text) for text in described) or bool(
        page.tree.xpath("//meta[@itemprop='isAccessibleForFree'][starts-with(@content, 'alse', 2)]")
    )
    names = page.tree.xpath("//body//*[not(self::script)]/@class | //body//*/@id")
    walls = (match[0] for name in names if (match := _PATTERNS["paywall_name"].search(name)))
    noscript = one_line(" ".join(page.tree.xpath("//noscript//text()")))
    addresses = page.tree.xpath(f"{CANONICAL} | {OG_URL}")
    n_linked = sum(block.linked * len(block.text) for block in blocks)
    return Signs(
        title,
        next((block.text for block in blocks if block.headline), ""),
        own_text(blocks),
        visible=visible[:SEEN_CHARS],
        n_scripts=len(scripts),
        not_free=not_free,
        paywall_class=next(walls, ""),
        asks_password=bool(page.tree.xpath("//input[@type='password']")),
        linked=n_linked / max(1, sum(len(block.text) for block in blocks)),
        n_stories=sum(b.linked > MAX_LINKED and n_words(b.text) >= MIN_HEADLINE for b in blocks),
        noscript=noscript[:SEEN_CHARS],
        address=one_line(str(next(iter(addresses), ""))),
    )


def own_text(blocks: Sequence[Block]) -> str:
    """The text without lists of links and of other stories: a linked headline and its teaser."""
    teasers = [
        before.linked > MAX_LINKED >= block.linked and n_words(block.text) <= TEASER_WORDS
        for before, block in pairwise([Block(""), *blocks])
    ]
    stories = teasers.count(True) >= MIN_STORIES
    kept = (
        block.text
        for block, teaser in zip(blocks, teasers, strict=True)
        if block.headline or (block.linked <= MAX_LINKED and not (teaser and stories))
    )
    return "\n".join(kept)


def title_of(page: Page) -> str:
    paths = ("//meta[@property='og:title']/@content", "//head/title//text()", "//title//text()")
    titles = (one_line("".join(page.tree.xpath(path)[:1])) for path in paths)
    return next(filter(None, titles), "")


def statements_of(page: Page) -> Statements:
    metas: dict[str, list[str]] = {}
    for meta in page.tree.xpath("//meta[@content]"):
        names = f"{meta.get('name', '')} {meta.get('property', '')} {meta.get('itemprop', '')}"
        for name in names.lower().replace(".", ":").split():  # RDFa allows several in one
            metas.setdefault(name, []).append(meta.get("content"))
    scripts = page.tree.xpath("//script[contains(@type, 'ld+json')]")
    dates = page.tree.xpath("//body//*[@itemprop='datePublished']")
    return Statements(
        metas=metas,
        works=written_works(script.text or "" for script in scripts),
        dates=[element.get("datetime") or element.get("content") or "" for element in dates],
    )


def language_declared(page: Page) -> str | None:
    if lang := page.tree.get("lang") or page.tree.get("xml:lang"):
        return str(lang)
    paths = (
        "/html/body/@lang",
        "//meta[@property='og:locale']/@content",
        "//meta[@http-equiv='content-language' or @http-equiv='Content-Language']/@content",
    )
    return next((str(values[0]) for path in paths if (values := page.tree.xpath(path))), None)


def join_terms(page: Page) -> None:
    """Write values after their term, in definition lists and two-cell rows: `Built: 1650`."""
    terms, label, joined = list[Any](), None, list[Any]()  # None: no value seen yet
    for element in page.tree.iter("dt", "dd"):
        beside = bool(terms) and terms[-1].getparent() is element.getparent()
        if element.tag == "dt":
            terms = [*terms, element] if beside and label is None else [element]
            label = None
        elif beside:
            if label is None and (label := _label(terms)):
                joined += terms
            if label:
                _begin(element, label)
    headers = "//tr[count(*)=2]/*[1][self::th[not(@rowspan or @colspan)]][following-sibling::td]"
    for header in page.tree.xpath(headers):
        if label := _label([header]):
            _begin(header.getnext(), label)
            joined.append(header)
    for element in joined:
        element.drop_tree()


def write_tables(page: Page) -> None:
    """Write the rows of tables of data in words; layout tables and infoboxes are left alone."""
    laid_out = "@role='presentation' or .//table or .//form or .//h1 or .//h2 or .//h3"
    for table in page.tree.xpath(f"//table[not({laid_out})]"):
        for mark in table.xpath(".//sup[string-length(normalize-space()) < 4]"):  # of a footnote
            before = mark.xpath("string(preceding-sibling::text()[1])")
            if not _RAISED.search(before):
                mark.drop_tree()
        grid = tables.grid_of(
            [tables.cell_of(cell, _text_in(cell)) for cell in row if cell.tag in _CELL_TAGS]
            for row in table.iter("tr")
            if not _is_hidden(row, "tr")
        )
        lines = tables.lines_of(grid, " ".join(map(_text_in, table.iterchildren("caption"))))
        longest = max((len(cell.text) for row in grid for cell in row), default=0)
        ragged = len(set(map(len, grid))) > 2
        if ragged or longest > tables.MAX_CELL_CHARS or not any(map(cells_of, lines)):
            continue
        name = table.xpath("string(descendant-or-self::*/@id)")
        table.clear(keep_tail=True)
        table.set("id", name)
        for line in lines:
            etree.SubElement(etree.SubElement(table, "tr"), "td").text = line


def _text_in(element: Any) -> str:
    return "".join(text for _, (text, _) in _visible_pieces(element)).strip("| ")


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
    while len(value) and not (value.text or "").strip() and value[0].tag in _VALUE_BLOCKS:
        value = value[0]
    value.text = f"{label}: {(value.text or '').lstrip()}"


def drop_hidden(page: Page) -> None:
    """Remove hidden elements: text that no reader sees is not evidence."""
    for element in page.tree.xpath("//body//*[@hidden or @style]"):
        if _is_hidden(element, "div") and element.getparent() is not None:
            element.drop_tree()
    for element in page.tree.xpath("//body//template | //body//dialog[not(@open)]"):
        element.drop_tree()


def drop_camouflaged(page: Page) -> None:
    """Remove text in the colour of its background, where inline styles state both.

    A page without a style sheet is white. Style sheets are not evaluated: white text may be on a
    dark photograph, so it is kept.
    """
    styled = page.tree.xpath("boolean(//style | //link[contains(@rel, 'stylesheet')])")
    for element in page.tree.xpath("//body//*[contains(@style, 'color') or @color]"):
        colour = _stated_colour(element, "color")
        grounds = (_stated_colour(e, "background") for e in (element, *element.iterancestors()))
        if not colour or colour != next(filter(None, grounds), "" if styled else "white"):
            continue
        if not element.xpath("boolean(.//*[contains(@style, 'color') or @color])"):
            element.drop_tree()


def _stated_colour(element: Any, what: str) -> str:
    """The colour or background from inline attributes; all spellings of white become "white"."""
    style = (element.get("style") or "").lower()
    stated = [value for name, value in _COLOUR.findall(style) if name.startswith(what)]
    legacy = ("color",) if what == "color" else ("bgcolor", "background")
    value = next(filter(None, (*stated[-1:], *map(element.get, legacy))), "")
    colour = re.sub(r"\s+|!important", "", value.lower())
    return "white" if _WHITE.fullmatch(colour) else colour


def _visible_pieces(tree: Any) -> Iterator[tuple[str, Piece]]:
    """Yield text in document order, each piece with the name of the element it begins, if any."""
    walk = etree.iterwalk(tree, events=("start", "end"))  # recursion would hit Python's limit
    opened: dict[str, Any] = {}  # the outermost open element of each container
    part = ""
    for event, element in walk:
        tag = element.tag if isinstance(element.tag, str) else ""
        hidden = _is_hidden(element, tag)
        if event == "start":
            if hidden:
                walk.skip_subtree()
                continue
            if new := _part_of(element, tag):
                opened.setdefault(new, element)
                part = next(filter(opened.__contains__, _PARTS))
            name = element.get("id") or (element.get("name") if tag == "a" else None) or ""
            yield name, (_separator(tag, element) + _unbroken(element.text), part)
        else:
            if part and element in opened.values():
                opened = {name: one for name, one in opened.items() if one is not element}
                part = next(filter(opened.__contains__, _PARTS), "")
            yield "", (("" if hidden else _separator(tag)) + _unbroken(element.tail), part)


def _part_of(element: Any, tag: str) -> str:
    if tag not in _BLOCK_TAGS:
        return tag if tag in ("a", "h1") else ""
    names = (element.get("class") or "", element.get("id") or "")
    return "comments" if any(map(_PATTERNS["comments"].search, names)) else ""


def _is_hidden(element: Any, tag: str) -> bool:
    if tag in _INVISIBLE_TAGS or not tag or element.get("hidden") is not None:
        return True
    return _PATTERNS["hidden"].search(element.get("style") or "") is not None


def _separator(tag: str, opening: Any = None) -> str:
    if tag in _INLINE_TAGS:
        return ""
    if tag in _CELL_TAGS:
        return " | " if opening is not None and opening.getprevious() is not None else " "
    return "\n"


def _unbroken(text: str | None) -> str:
    if not text or text.isspace():  # true for every second text
        return " " if text else ""
    if "  " not in text and text.isprintable():
        return text
    return _SPACES.sub(" ", text)


def _without_tags(source: str) -> str:
    """Strip tags in one linear pass, for pages too deep to parse."""
    pieces, skipping = [], ""
    for part in source.replace("\0", "").split("<"):
        tag, _, text = part.partition(">")
        name = re.match(r"/?[a-zA-Z]*", tag)
        name_of_tag = name[0].lower() if name else ""
        if skipping:
            skipping = "" if name_of_tag == f"/{skipping}" else skipping
        elif name_of_tag in ("script", "style", "template", "svg"):
            skipping = name_of_tag
        if not skipping:
            pieces.append(text if name_of_tag.strip("/") in _INLINE_TAGS else f"\n{text}")
    return unescape("".join(pieces))


# ── The article ───────────────────────────────────────────────────────────────────────────────────

# Names in lower case, with colons.
DOI_METAS = ("citation_doi", "bepress_citation_doi", "prism:doi", "dc:identifier", "doi")
MAX_ANCHORS = 500  # per page; generated documentation has thousands, one per line
MAX_CHARS = 2_000_000  # of a text; each name is searched in the whole text
# Words following an anchor: eight distinguish a section from its entry in a table of contents; the
# first three match where an advertisement follows the heading.
_PROBES = (8, 3)
# trafilatura takes about 0.1 ms per element, and superlinear time on larger pages: 40,000
# paragraphs took 3.5 s. Such pages are lists and dumps, not articles.
MAX_ELEMENTS = 40_000
_NO_ARTICLE = SimpleNamespace(text="", title="", sitename="", author="", date="")
_TABLE_RULE = re.compile(r"---[|\- ]*")
# An extraction with less than this share of the visible words, and at most FULL_TEXT_WORDS words,
# counts as failed. Calibrated on Mozilla Readability's 60 cases (tools/bench_html.py measures
# recall and F1).
MIN_SHARE = 0.35
FULL_TEXT_WORDS = 200


def read_html(body: Body) -> Document | Unchecked:
    source = decode(body.data, body.charset, declared_charset(body.data))
    if source is None:
        return Unchecked(body.url, Reason.UNDECODABLE, "the bytes are not text in any encoding")
    page = parse_page(source)
    if page is None:
        return Unchecked(body.url, Reason.EMPTY, "the page has no text")
    drop_camouflaged(page)
    head_title = title_of(page)
    origin = outcome.copied_article(page.tree, head_title)
    write_tables(page)
    join_terms(page)
    seen, names, pieces = visible_text(page, MAX_ANCHORS)
    blocks = blocks_of(pieces)
    signs = signs_of(page, head_title, seen, blocks)
    language, stated = language_declared(page), statements_of(page)
    article = _extraction(page, seen)  # last, because it modifies the tree
    # trafilatura writes table rows and rules in Markdown.
    lines = [e.strip("| ") if e.startswith("|") else e for e in (article.text or "").split("\n")]
    running = clean_text("\n".join(line for line in lines if not _TABLE_RULE.fullmatch(line)))
    n_article, text = n_words(running), seen
    if running and (n_article > FULL_TEXT_WORDS or n_article >= MIN_SHARE * n_words(seen)):
        text = clean_text(restore_blocks(running, blocks, head_title))
    text = "\n\n".join([text, *updates_of(stated, text)]).strip()
    if unreadable := outcome.of_page(body.url, text, running, signs):
        return unreadable
    # Title and site stay as the verifier was calibrated to read them: as the page has them.
    headline, site = headline_of(stated), one_line(article.sitename)
    title = headline or head_title or one_line(article.title)
    own_title, own_site = title_and_site(
        title, headline or signs.headline, site_of(stated), host_of(body.url)
    )
    dois = (doi_in(text) for name in DOI_METAS for text in stated.metas.get(name, ()))
    meta = {
        "site": site,
        "author": author_of(stated, site, str(article.author or "")),
        "doi": next(filter(None, dois), ""),
        "type": type_of(stated),
        COPY_OF: origin,
        HEADLINE: own_title if own_title not in (title, site) else "",
        WEBSITE: own_site if own_site not in (title, site) else "",
    }
    return Document(
        url=body.url,
        title=title,
        text=text,
        kind="html",
        published=published_of(stated, str(article.date or "")),
        fetched=body.fetched,
        language=code_of(language),
        meta={key: value for key, value in meta.items() if value},
        anchors=locate_anchors(names, text),
    )


def _extraction(page: Page, visible: str) -> Any:
    """Return trafilatura's result; one without text if the page is not for it."""
    if page.cut_short or sum(1 for _ in page.tree.iter()) > MAX_ELEMENTS:
        return _NO_ARTICLE
    if n_words(visible) >= outcome.SCRIPTED_WORDS:  # otherwise scripts would reveal hidden text
        drop_hidden(page)
    # Without a handler, their warnings about broken pages would reach the terminal.
    for name in ("trafilatura", "htmldate", "courlan", "justext"):
        logging.getLogger(name).addHandler(_SILENT)
    from trafilatura import bare_extraction

    # Only dates that the page states: the extensive search accepts any number in the text. Without
    # the minimum, an archived page of 1952 would have no date.
    dates = {"extensive_search": False, "original_date": True, "min_date": EARLIEST}
    try:
        extracted = bare_extraction(
            page.tree,
            favor_recall=True,
            include_comments=False,
            include_tables=True,
            with_metadata=True,
            date_extraction_params=dates,
        )
    except Exception:  # hostile markup raises undocumented errors; fall back to the visible text
        return _NO_ARTICLE
    return extracted or _NO_ARTICLE


def locate_anchors(names: Sequence[tuple[str, str]], text: str) -> dict[str, int]:
    """Return the offset in `text` of each anchor (`#History`).

    The extraction drops anchors, so each is located by the words that follow it in the visible
    page; those not found are omitted. `names` has both, in page order.
    """
    if not names or len(text) > MAX_CHARS:
        return {}
    words = [(match[0], match.start()) for match in re.finditer(r"\S+", text)]
    flat = f" {' '.join(word for word, _ in words)} "
    places = [0, *accumulate(len(word) + 1 for word, _ in words)]  # of the spaces before words
    offsets: dict[str, int] = {}
    reached = 0
    for name, following in names[:MAX_ANCHORS]:
        at = _place_after(following.split(), flat, reached)
        if at >= 0 and name not in offsets:
            offsets[name] = words[bisect_left(places, at)][1]
            reached = at
    return offsets


def _place_after(following: Sequence[str], flat: str, reached: int) -> int:
    for length in _PROBES:
        if following and (len(following) >= length or length == _PROBES[-1]):
            probe = f" {' '.join(following[:length])} "
            for start in (reached, 0):
                if (at := flat.find(probe, start)) >= 0:
                    return at
    return -1


# ── What the extractor left out between two blocks ────────────────────────────────────────────────

# Calibrated on the development half of Mozilla Readability's cases (`tools/bench_html.py`).
N_GRAM = 4  # words that identify a block
MIN_WORDS = 5  # shorter blocks are labels: "Share", "Read more", a photographer's name
NEAR = 2  # lines ahead within which a label matches; labels repeat elsewhere
MAX_LINKED = 0.5  # blocks with a larger share of linked words are navigation
MAX_LEAD_WORDS = 120  # between headline and article; more is a list of other stories
ABOVE, NOWHERE = -1, -2  # positions before the article: below its headline; not near it yet
# A character of a script without spaces counts as a word.
_WORD = re.compile("[\u3040-\u30ff\u3400-\u9fff]|[^\\W\u3040-\u30ff\u3400-\u9fff]+")
Places = dict[tuple[str, ...], int]


def restore_blocks(article: str, blocks: Sequence[Block], title: str) -> str:
    """Restore blocks that `article` lacks between adjacent lines.

    `blocks` are all blocks in page order; a block equal to `title` counts as the headline.
    """
    lines = article.split("\n")
    places = _places(lines)
    lost: dict[int, list[str]] = {}  # by the preceding line; ABOVE: before the first
    for before, after, texts in _gaps(blocks, places, _words(title)):
        if _is_lost(before, after, texts, lines):
            lost.setdefault(before, []).extend(texts)
    whole = ([line, *lost.get(n, ())] for n, line in enumerate(lines))
    return "\n".join(chain(lost.get(ABOVE, ()), *whole))


def _gaps(
    blocks: Sequence[Block], places: Places, title: list[str]
) -> Iterator[tuple[int, int, list[str]]]:
    """Yield (line before, line after, unmatched text between them)."""
    before, gap = NOWHERE, list[str]()
    for block in blocks:
        words = _words(block.text)
        long = len(words) >= MIN_WORDS
        place = _place(words, places) if long or before >= 0 else None
        if block.comment:
            before, gap = NOWHERE, []
        elif place and (long or before <= place[0] <= before + NEAR):
            if gap and before != NOWHERE:
                yield before, place[0], gap
            before, gap = place[1], []
        # The title may end with the site's name.
        elif before < 0 and (
            block.headline
            or (words == title[: len(words)] and len(words) >= min(3, len(title)) > 0)
        ):
            before, gap = ABOVE, []
        elif long and block.linked <= MAX_LINKED:
            gap.append(block.text)


def _is_lost(before: int, after: int, texts: list[str], lines: list[str]) -> bool:
    """Whether the lines are adjacent, and text above them is not a list of other stories."""
    is_cut = any(len(_words(line)) >= MIN_WORDS for line in lines[before + 1 : after])
    is_lead = before != ABOVE or sum(len(_words(text)) for text in texts) <= MAX_LEAD_WORDS
    return before <= after and not is_cut and is_lead


def _places(lines: list[str]) -> Places:
    """Map each n-gram to the first line with it; short lines are mapped whole."""
    words, at = list[str](), list[int]()
    places: Places = {}
    for n, line in enumerate(lines):
        here = _words(line)
        words += here
        at += [n] * len(here)
        if 0 < len(here) < N_GRAM:
            places.setdefault(tuple(here), n)
    for gram, n in zip(_n_grams(words), at, strict=False):
        places.setdefault(gram, n)
    return places


def _place(words: list[str], places: Places) -> tuple[int, int] | None:
    """The first and last line that contain a block, if most of its words match."""
    grams = list(_n_grams(words)) or [tuple(words)]
    known = Counter(map(places.__getitem__, filter(places.__contains__, grams)))
    if 2 * known.total() < len(grams):
        return None
    most = max(known.values())  # the others may share a recurring phrase
    held = [line for line, n in known.items() if 2 * n >= most]
    return min(held), max(held)


def _n_grams(words: list[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(words[n:] for n in range(N_GRAM)), strict=False)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


# ── What the head states ──────────────────────────────────────────────────────────────────────────

EARLIEST = "1800-01-01"  # digitised newspapers carry the date of the issue
# Names with colons, in lower case. Those of libraries and journals come first: catalogues fill them
# in, while `author` often comes from a template.
AUTHOR_METAS = ("citation_author", "dc:creator", "dcterms:creator")
DATE_METAS = tables_beside(__file__)["words"]["date_metas"].split()
# schema.org types of written works, unlike `Person`, `VideoObject` or `Product`.
_WRITTEN = re.compile(r"(Article|Posting|Report|Review|WebPage|CreativeWork|Book|Thesis)$")
_UNSPECIFIC = ("WebPage", "CreativeWork", "Article", "Organization")
_NOT_A_NAME = re.compile(r"https?:|www\.|//|^/|[\\@{}<>=|\d]")
_DASHES = " ,–—-"
_ISO = re.compile(r"(\d{4})(?:-(\d\d?)(?:-(\d\d?))?|/(\d\d?)/(\d\d?)|(\d\d)(\d\d))?(?!\d)")
_SEPARATOR = re.compile(r"\s*(?:\||::)\s*|\s+[-–—·•«»]\s+|:\s+")  # in the title of a page
_OPINION_SECTIONS = _WORDS["opinion_sections"]
MIN_SITE_LETTERS = 3  # "bbc"; shorter labels of a host are no names
MAX_AUTHOR_CHARS = 80  # longer values are sentences: "Jane Doe is a reporter who …"
MAX_UPDATES = 2_000  # of a live blog
MAX_AUTHORS = 20  # papers of large collaborations list thousands


def author_of(stated: Statements, site: str, guess: str = "") -> str:
    """The authors' names, joined by "; "; empty if there are none.

    Catalogue metadata comes first, then bodies named in JSON-LD; `guess` is trafilatura's result
    from JSON-LD, other meta elements and bylines, cut at "and".
    """
    authors = (work.get("author") for work in stated.works)
    named = (a for a in authors if isinstance(a, dict) and "Organization" in str(a.get("@type")))
    bodies = [str(author.get("name") or "") for author in named]
    sites = {_letters(name) for name in (site, *stated.metas.get("og:site_name", ()))}
    for source in (*(stated.metas.get(name, ()) for name in AUTHOR_METAS), bodies, [guess]):
        names = [_name(piece) for text in source for piece in one_line(text).split(";")]
        names = [name for name in names if name and _letters(name) not in sites]
        if names:
            return "; ".join(list(dict.fromkeys(names))[:MAX_AUTHORS])
    return ""


def headline_of(stated: Statements) -> str:
    """The JSON-LD headline; empty if it is truncated or there are several (a front page)."""
    titles = {one_line(unescape(str(work.get("headline") or ""))) for work in stated.works} - {""}
    headline = titles.pop() if len(titles) == 1 else ""
    return "" if headline.endswith(("…", "...")) else headline


def updates_of(stated: Statements, shown: str) -> list[str]:
    """The entries of a live blog that only its JSON-LD has, each with headline and time."""
    blogs = (work for work in stated.works if "LiveBlogPosting" in _types_of(work))
    lists = [blog.get("liveBlogUpdate") for blog in blogs]
    entries = chain.from_iterable(some if isinstance(some, list) else [some] for some in lists)
    texts = []
    for entry in islice(entries, MAX_UPDATES):
        parts = entry if isinstance(entry, dict) else {}
        said = (str(parts.get(key) or "") for key in ("headline", "datePublished", "articleBody"))
        lines = [clean_text(_without_tags(f">{unescape(part)}")) for part in said]
        if lines[-1] and lines[-1] not in shown:
            texts.append("\n".join(filter(None, lines)))
    return texts


def site_of(stated: Statements) -> str:
    """The name of the site, or the publisher of the page's first written work."""
    publishers = (work.get("publisher") for work in stated.works)
    named = (str(body.get("name") or "") for body in publishers if isinstance(body, dict))
    return next(filter(None, map(one_line, (*stated.metas.get("og:site_name", ()), *named))), "")


def title_and_site(title: str, headline: str, site: str, host: str) -> tuple[str, str]:
    """Split "Bridge opens - News - Varde Gazette" into its title and the name of the site.

    A part names the site if the page or its host does, or if without it the headline is left.
    """
    if _letters(title) == _letters(headline):
        return title, site
    label = max(host.removeprefix("www.").split(".")[:-1], key=len, default="")
    known = [name for name in map(_site_letters, (site, label)) if len(name) >= MIN_SITE_LETTERS]
    for break_ in reversed(list(_SEPARATOR.finditer(title))):
        front, back = title[: break_.start()], title[break_.end() :]
        first, last = _site_letters(front), _site_letters(back)
        if first in known:
            return back, site or front
        if break_[0].strip() == ":":
            continue
        if headline and _letters(front) == _letters(headline):
            return front, site or _SEPARATOR.split(back)[-1]
        if last and any(last.startswith(name) or name.startswith(last) for name in known):
            title, site = front, site or back
    return title, site


def type_of(stated: Statements) -> str:
    """The schema.org types of the page's first written work, its publisher and its section."""
    work = next(iter(stated.works), {})
    publisher = work.get("publisher")
    of_publisher = _types_of(publisher) if isinstance(publisher, dict) else []
    names = [*_types_of(work), *of_publisher]
    sections = (one_line(text).lower() for text in stated.metas.get("article:section", ()))
    names += ["OpinionNewsArticle"] * any(section in _OPINION_SECTIONS for section in sections)
    specific = (name for name in names if isinstance(name, str) and name not in _UNSPECIFIC)
    return "; ".join(map(one_line, specific))[:MAX_AUTHOR_CHARS]


def published_of(stated: Statements, guess: str = "") -> str | None:
    """The ISO publication date as precise as stated, not in the future; else the `guess`."""
    texts = [str(work.get("datePublished") or "") for work in stated.works]
    texts += [text for name in DATE_METAS for text in stated.metas.get(name, ())]
    texts += [*stated.dates, guess]
    days = (iso_day(text) for text in texts)
    today = date.today().isoformat()
    in_time = (d for d in days if d and EARLIEST[: len(d)] <= d <= today[: len(d)])
    return next(in_time, None)


def iso_day(text: str) -> str:
    """The ISO date at the beginning of a text; empty if there is none.

    >>> iso_day("2015-04-30T07:19:58"), iso_day("2015/4/3"), iso_day("20150430"), iso_day("2015-04")
    ('2015-04-30', '2015-04-03', '2015-04-30', '2015-04')
    """
    match = _ISO.match(text.strip())
    return iso_date(*filter(None, match.groups())) if match else ""


def _name(text: str) -> str:
    name = _PATTERNS["introduced"].sub("", text.strip(_DASHES), count=1).strip(_DASHES)
    is_other = _NOT_A_NAME.search(name) or _PATTERNS["not_a_person"].fullmatch(name)
    is_name = len(name) <= MAX_AUTHOR_CHARS and not is_other and any(map(str.isalpha, name))
    return name if is_name else ""


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _site_letters(name: str) -> str:
    return _letters(name.lower().removeprefix("the "))


def written_works(scripts: Iterable[str]) -> list[Mapping[str, Any]]:
    """The JSON-LD objects of written works, also in lists and graphs; skips invalid scripts."""
    works = list[Mapping[str, Any]]()
    for script in scripts:
        try:
            parsed = json.loads(_without_cdata(script), strict=False)
        except (ValueError, RecursionError):
            continue
        for outer in parsed if isinstance(parsed, list) else [parsed]:
            inner = outer.get("@graph") if isinstance(outer, dict) else None
            things = inner if isinstance(inner, list) else [outer]
            objects = (thing for thing in things if isinstance(thing, dict))
            works += [o for o in objects if any(_WRITTEN.search(str(t)) for t in _types_of(o))]
    return works


def _without_cdata(text: str) -> str:
    """Strip the `<![CDATA[ … ]]>` of XHTML pages."""
    if "<![CDATA[" not in text:
        return text
    inner = text.partition("<![CDATA[")[2].rpartition("]]>")[0].strip()
    return inner.removeprefix("*/").removesuffix("/*").removesuffix("//")


def _types_of(thing: Mapping[str, Any]) -> list[Any]:
    types = thing.get("@type")
    return types if isinstance(types, list) else [types]
