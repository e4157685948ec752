"""A web page → its article: what a reader would call the text, one block a line.

trafilatura finds the article, and is told to rather keep too much: a sentence lost here can never
support a claim. Where it keeps too little of a page (front pages, lists of headings, very short
pages), all visible text but navigation is taken. The one file that knows trafilatura.
"""

import logging
import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import Any

from pincite.documents import outcome
from pincite.documents.body import Body
from pincite.documents.charset import decoded
from pincite.documents.clean import cleaned, one_line
from pincite.documents.html import gaps, markup
from pincite.documents.html.page_metadata import (
    EARLIEST,
    Statements,
    author_of,
    headline_of,
    published_of,
)
from pincite.documents.language import code_of
from pincite.text.identifiers import doi_in
from pincite.text.sentences import n_words
from pincite.types import Document, Reason, Unchecked

# As they are written with colons, in lower case.
DOI_METAS = ("citation_doi", "bepress_citation_doi", "prism:doi", "dc:identifier", "doi")
MAX_ANCHORS = 500  # of a page; generated documentation has some thousand, a name for each line
MAX_CHARS = 2_000_000  # of a text; each name is looked for in all of it
# Words that follow a name: eight tell a section from its line in a table of contents, and the
# first three are left where an advertisement stood behind the heading.
_PROBES = (8, 3)
# trafilatura takes about 0.1 ms an element, and its time grows faster than the page from here on:
# 40,000 paragraphs took 3.5 s, and pages of that size are lists and dumps, not articles.
MAX_ELEMENTS = 40_000
_TABLE_RULE = re.compile(r"---[|\- ]*")
# Below this share of the visible words, and with no more words than the second number, the
# extraction is taken for a failure. Calibrated on Mozilla Readability's 60 cases (see
# tests/documents/test_html_cases.py, which holds recall and F1 for these values).
MIN_SHARE = 0.35
FULL_TEXT_WORDS = 200


def read_html(body: Body) -> Document | Unchecked:
    """The article of a page, or the reason why the page holds none."""
    source = decoded(body.data, body.charset, markup.declared_charset(body.data))
    if source is None:
        return Unchecked(body.url, Reason.UNDECODABLE, "the bytes are no text in any encoding")
    page = markup.parsed(source)
    if page is None:
        return Unchecked(body.url, Reason.EMPTY, "the page has no text")
    markup.drop_camouflaged(page)
    visible, names, pieces = markup.visible(page, MAX_ANCHORS)
    visible = markup.without_banner(visible)
    signs = markup.markup_of(page, markup.title_of(page), visible)
    declared = markup.language_declared(page)
    stated = markup.statements_of(page)
    article = _extracted(page, visible)  # last, since it changes the tree
    running = cleaned(_without_rules(article.text or "")) if article else ""
    running = markup.without_banner(running)
    if _is_failed(running, visible):
        text = visible
    else:
        text = cleaned(gaps.filled(running, markup.blocks_of(pieces), signs.title))
    return outcome.of_page(body.url, text, running, signs) or Document(
        url=body.url,
        title=headline_of(stated) or signs.title or one_line(article.title if article else ""),
        text=text,
        kind="html",
        published=published_of(stated, str(article.date or "") if article else ""),
        fetched=body.fetched,
        language=code_of(declared),
        meta=_meta(article, stated),
        anchors=located(names, text),
    )


def _extracted(page: markup.Page, visible: str) -> Any:
    """What trafilatura finds; `None` where it finds nothing or the page is not worth its time."""
    if page.cut_short or page.n_elements > MAX_ELEMENTS:
        return None
    if n_words(visible) >= outcome.SCRIPTED_WORDS:  # else scripts would show what is hidden
        markup.drop_hidden(page)
    try:
        return _extractor()(
            page.tree,
            favor_recall=True,
            include_comments=False,
            include_tables=True,
            with_metadata=True,
            # Only dates that the page states: the extensive search takes any number in the text.
            # Without the earliest date an archive's page of 1952 would have none.
            date_extraction_params={
                "extensive_search": False,
                "original_date": True,
                "min_date": EARLIEST,
            },
        )
    except ImportError:
        raise
    except Exception:  # hostile markup breaks it in ways it does not list; the visible text remains
        return None


def _without_rules(text: str) -> str:
    """Table rows as `cell | cell`; trafilatura frames them and rules off the first, as Markdown."""
    lines = (line.strip("| ") if line.startswith("|") else line for line in text.split("\n"))
    return "\n".join(line for line in lines if not _TABLE_RULE.fullmatch(line))


def _is_failed(article: str, visible: str) -> bool:
    """Whether the article is so small a part of a page that all visible text is better."""
    n_article, n_visible = n_words(article), n_words(visible)
    return not article or (n_article <= FULL_TEXT_WORDS and n_article < MIN_SHARE * n_visible)


def _meta(article: Any, stated: Statements) -> dict[str, str]:
    site = one_line(article.sitename) if article else ""
    author = author_of(stated, site, str(article.author or "") if article else "")
    dois = (doi_in(text) for name in DOI_METAS for text in stated.metas.get(name, ()))
    doi = next(filter(None, dois), "")
    fields = {"site": site, "author": author, "doi": doi}
    return {name: value for name, value in fields.items() if value}


@cache
def _extractor() -> Any:
    # What they have to say about broken pages would reach the terminal without a handler.
    for name in ("trafilatura", "htmldate", "courlan", "justext"):
        logging.getLogger(name).addHandler(logging.NullHandler())
    from trafilatura import bare_extraction

    return bare_extraction


def located(names: Sequence[tuple[str, str]], text: str) -> dict[str, int]:
    """The offset in `text` of each named place (`#History`) whose following words stand there.

    The extraction keeps no names, so a place is found by the words that follow it in the page as a
    reader sees it. One that cannot be found has no offset.

    Args:
        names: a name and the words that follow it, in the order of the page.
        text: what was extracted of the page.
    """
    if not names or len(text) > MAX_CHARS:
        return {}
    words = [(match[0], match.start()) for match in re.finditer(r"\S+", text)]
    flat = f" {' '.join(word for word, _ in words)} "
    places = [0, *accumulate(len(word) + 1 for word, _ in words)]  # of the spaces before words
    found: dict[str, int] = {}
    reached = 0
    for name, following in names[:MAX_ANCHORS]:
        at = _place(following.split(), flat, reached)
        if at >= 0 and name not in found:
            found[name] = words[bisect_left(places, at)][1]
            reached = at
    return found


def _place(following: Sequence[str], flat: str, reached: int) -> int:
    """Where the words stand from `reached` on, else anywhere; -1 if nowhere."""
    for length in _PROBES:
        if len(following) >= length or length == _PROBES[-1]:
            probe = " ".join(following[:length])
            at = flat.find(f" {probe} ", reached) if probe else -1
            at = flat.find(f" {probe} ") if probe and at < 0 else at
            if at >= 0:
                return at
    return -1
