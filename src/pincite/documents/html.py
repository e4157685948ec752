"""Reads a web page: the article that trafilatura extracts, with anchors and metadata."""

import logging
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from pincite.documents import html_head as head
from pincite.documents import html_text, outcome
from pincite.documents.body import Body
from pincite.documents.html_text import Block, VisibleText
from pincite.documents.lost_blocks import restore_blocks
from pincite.documents.markup import CANONICAL, OG_URL, Page, declared_charset, parse_page
from pincite.documents.notices import Signs
from pincite.documents.text import clean_text, code_of, decode, one_line
from pincite.text import patterns
from pincite.text.hosts import host_of
from pincite.text.sentences import n_words
from pincite.types import COPY_OF, HEADLINE, WEBSITE, Document, Reason, Unchecked

# trafilatura takes about 0.1 ms per element, and superlinear time on larger pages: 40,000
# paragraphs took 3.5 s. Such pages are lists and dumps, not articles.
MAX_ELEMENTS = 40_000
# An extraction with less than this share of the visible words, and at most FULL_TEXT_WORDS words,
# counts as failed. Calibrated on Mozilla Readability's 60 cases (tools/bench_html.py measures
# recall and F1).
MIN_SHARE = 0.35
FULL_TEXT_WORDS = 200
STORY_WORDS = 40  # the most below the headline of another story
MIN_STORIES = 2  # in a row of stories
MIN_HEADLINE_WORDS = 3  # menus have shorter links
SEEN_CHARS = 50_000  # covers the teaser and its surroundings; 10 MB of text would take 9 s
_NOTHING = Document("", "", "", published="", meta={"site": "", "author": ""})
_SILENT = logging.NullHandler()
_TABLE_RULE = re.compile(r"---[|\- ]*")
_PAYWALL_NAME = patterns(__file__, "html")["paywall_name"]
_NOT_FREE = re.compile(r'"isAccessibleForFree"\s*:\s*"?false', re.IGNORECASE)


def read_html(body: Body) -> Document | Unchecked:
    source = decode(body.data, body.charset, declared_charset(body.data))
    if source is None:
        return Unchecked(body.url, Reason.UNDECODABLE, "the bytes are not text in any encoding")
    page = parse_page(source)
    if page is None:
        return Unchecked(body.url, Reason.EMPTY, "the page has no text")
    # Each step sees what those before it left of the tree: writing tables loses the links by which
    # a copy of Wikipedia is recognised, and extraction loses most of the page.
    html_text.drop_camouflaged(page)
    page_title = head.title_of(page)
    origin = outcome.copied_article(page.tree, page_title)
    html_text.write_tables(page)
    html_text.join_terms(page)
    visible, stated = html_text.visible_text(page), head.statements_of(page)
    signs = signs_of(page, page_title, visible)
    extracted = extract(page, visible.text)
    text, n_extracted = visible.text, n_words(extracted.text)
    is_complete = n_extracted > FULL_TEXT_WORDS or n_extracted >= MIN_SHARE * n_words(visible.text)
    if extracted.text and is_complete:
        text = clean_text(restore_blocks(extracted.text, visible.blocks, page_title))
    text = "\n\n".join([text, *head.updates_of(stated, text)]).strip()
    if unreadable := outcome.of_page(body.url, text, extracted.text, signs):
        return unreadable
    # Title and site stay as the page has them: the verifier was calibrated to read them so.
    title = head.headline_of(stated) or page_title or extracted.title
    site = extracted.meta["site"]
    headline = head.headline_of(stated) or signs.headline
    site_name, host = head.site_of(stated), host_of(body.url)
    own_title, own_site = head.title_and_site(title, headline, site_name, host)
    meta = {
        "site": site,
        "author": head.author_of(stated, site, extracted.meta["author"]),
        "doi": head.doi_of(stated),
        "type": head.type_of(stated),
        COPY_OF: origin,
        HEADLINE: own_title if own_title not in (title, site) else "",
        WEBSITE: own_site if own_site not in (title, site) else "",
    }
    return Document(
        url=body.url,
        title=title,
        text=text,
        kind="html",
        published=head.published_of(stated, extracted.published or ""),
        fetched=body.fetched,
        language=code_of(stated.language),
        meta={key: value for key, value in meta.items() if value},
        anchors=html_text.locate_anchors(visible.anchors, text),
    )


def extract(page: Page, visible: str) -> Document:
    """Let trafilatura read a page, of which this is the visible text; changes the tree."""
    if page.cut_short or sum(1 for _ in page.tree.iter()) > MAX_ELEMENTS:
        return _NOTHING
    if n_words(visible) >= outcome.SCRIPTED_WORDS:  # otherwise scripts would reveal hidden text
        html_text.drop_hidden(page)
    # Without a handler, their warnings about broken pages would reach the terminal.
    for name in ("trafilatura", "htmldate", "courlan", "justext"):
        logging.getLogger(name).addHandler(_SILENT)
    from trafilatura import bare_extraction

    # Only dates that the page states: the extensive search accepts any number in the text. Without
    # the minimum, an archived page of 1952 would have no date.
    dates = {"extensive_search": False, "original_date": True, "min_date": head.EARLIEST}
    try:
        found: Any = bare_extraction(
            page.tree,
            favor_recall=True,
            include_comments=False,
            include_tables=True,
            with_metadata=True,
            date_extraction_params=dates,
        )
    except Exception:  # hostile markup raises undocumented errors
        found = None
    if found is None:
        return _NOTHING
    # Rows and rules of tables are in Markdown: "| Year | Trams |", "|---|---|".
    lines = [e.strip("| ") if e.startswith("|") else e for e in (found.text or "").split("\n")]
    text = clean_text("\n".join(line for line in lines if not _TABLE_RULE.fullmatch(line)))
    title, site = (one_line(str(name or "")) for name in (found.title, found.sitename))
    meta = {"site": site, "author": str(found.author or "")}  # JSON-LD may state numbers
    return Document("", title, text, published=str(found.date or ""), meta=meta)


def signs_of(page: Page, title: str, visible: VisibleText) -> Signs:
    blocks = visible.blocks
    scripts = page.tree.xpath("//script")
    linked_data = (s.text or "" for s in scripts if "json" in (s.get("type") or ""))
    is_free = page.tree.xpath("//meta[@itemprop='isAccessibleForFree']/@content")
    not_free = any(map(_NOT_FREE.search, linked_data)) or "false" in map(str.lower, is_free)
    n_linked = sum(block.linked * len(block.text) for block in blocks)
    names = page.tree.xpath("//body//*[not(self::script)]/@class | //body//*/@id")
    walls = (match[0] for name in names if (match := _PAYWALL_NAME.search(name)))
    noscript = one_line(" ".join(page.tree.xpath("//noscript//text()")))
    addresses = page.tree.xpath(f"{CANONICAL} | {OG_URL}")
    return Signs(
        title=title,
        headline=next((block.text for block in blocks if block.headline), ""),
        text=own_text(blocks),
        linked=n_linked / max(1, sum(len(block.text) for block in blocks)),
        n_stories=sum(b.is_navigation and n_words(b.text) >= MIN_HEADLINE_WORDS for b in blocks),
        visible=visible.text[:SEEN_CHARS],
        asks_password=bool(page.tree.xpath("//input[@type='password']")),
        n_scripts=len(scripts),
        not_free=not_free,
        paywall_class=next(walls, ""),
        noscript=noscript[:SEEN_CHARS],
        address=one_line(str(next(iter(addresses), ""))),
    )


def own_text(blocks: Sequence[Block]) -> str:
    """The text without lists of links and of other stories: a linked headline and its teaser."""
    teasers = [
        above.is_navigation and not block.is_navigation and n_words(block.text) <= STORY_WORDS
        for above, block in pairwise([Block(""), *blocks])
    ]
    has_stories = teasers.count(True) >= MIN_STORIES
    kept = (
        block.text
        for block, is_teaser in zip(blocks, teasers, strict=True)
        if block.headline or not (block.is_navigation or (is_teaser and has_stories))
    )
    return "\n".join(kept)
