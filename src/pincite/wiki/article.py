"""An article in, claims with their citations and exact spans out: the door of this room."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pincite.documents.text import code_of, detect
from pincite.text.sentences import n_words
from pincite.types import Article
from pincite.wiki.claims import VALUES, attach_tags, claims_of
from pincite.wiki.files import MAX_PAGE, MAX_WIKITEXT, Markup, PageText, page_in, read_pages_of
from pincite.wiki.flat import BlockKind, Flat
from pincite.wiki.html import read_html
from pincite.wiki.references import resolve
from pincite.wiki.templates import edition
from pincite.wiki.wikitext import read_wikitext

_THE = re.compile(r"\bthe\b", re.IGNORECASE)
_SHARE_OF_THE = 0.03  # of the words; in English prose it is 5 to 7 %
MAX_WARNINGS = 100  # a page of broken brackets would otherwise fill a report


def parse_article(
    source: str,
    title: str,
    *,
    markup: Markup = "wikitext",
    revision_id: str | None = None,
    timestamp: str | None = None,
    language: str | None = "en",
) -> Article:
    """The claims of one page. All spans count code points of `source`.

    Malformed markup never raises: what cannot be understood gives fewer claims and a warning.
    `language` says whose templates, dates and sentences these are; None: see `parse_page`.
    """
    return parse_page(PageText(source, title, markup, revision_id, timestamp, language))


def parse_page(page: PageText, otherwise: str = "en") -> Article:
    """The same of a page from a file.

    Its language is the one that the file states, or else that the words are clearly in, or else
    `otherwise`. One that is too long has no claims and says so in `unread`.
    """
    source, title = page.source, page.title
    limit = MAX_PAGE if page.markup == "html" else MAX_WIKITEXT
    if len(source) > limit:
        warning = f"the page has {len(source):,} characters and is not read; the limit is {limit:,}"
        return Article(
            title,
            source,
            (),
            page.revision_id,
            page.timestamp,
            page.language or otherwise,
            warnings=(warning,),
            markup=page.markup,
            unread="too_long",
        )
    flat, language = _read(page, otherwise)
    attach_tags(flat.blocks, lambda use, tag: _tag_use(flat, use, tag))
    cited, missing = resolve(flat.uses, flat.definitions)
    claims = claims_of(flat.blocks, cited, title, language, source)
    met = {citation.span for claim in claims for citation in claim.citations}
    in_values = {mark.use for block in flat.blocks if block.kind in VALUES for mark in block.marks}
    lost = [n for n, use in enumerate(flat.uses) if use.span not in met]
    without = [  # in headings, and where nothing is said
        f"no claim is made for the reference at character {flat.uses[n].span.start}"
        for n in lost
        if n not in in_values
    ]
    if n_values := len(in_values.intersection(lost)):
        kind = "references in table cells and infobox values that are no sentences"
        without.append(f"{kind}, without a claim: {n_values}")
    warnings = list(dict.fromkeys((*flat.warnings, *missing, *without)))
    if len(warnings) > MAX_WARNINGS:
        more = len(warnings) - MAX_WARNINGS
        warnings = [*warnings[:MAX_WARNINGS], f"and {more} more warnings"]
    return Article(
        title,
        source,
        tuple(claims),
        page.revision_id,
        page.timestamp,
        language,
        len(flat.uses),
        tuple(warnings),
        markup=page.markup,
    )


def _read(page: PageText, otherwise: str) -> tuple[Flat, str]:
    """The flat form, and the language it is in."""
    read = read_html if page.markup == "html" else read_wikitext
    known = code_of(page.language) or page.language
    flat = read(page.source, edition(known or otherwise))
    if known:
        return flat, known
    known = _detected(flat) or otherwise
    if edition(known) != edition(otherwise):
        flat = read(page.source, edition(known))
    return flat, known


def _detected(flat: Flat) -> str | None:
    """The language of the paragraphs, if their beginning and their middle are in one."""
    text = " ".join(b.text for b in flat.blocks if b.kind is BlockKind.PARAGRAPH)
    if len(_THE.findall(text)) >= _SHARE_OF_THE * n_words(text) > 0:
        return "en"  # without loading the model
    found = {detect(text), detect(text[len(text) // 2 :])} - {None}
    return found.pop() if len(found) == 1 else None


def _tag_use(flat: Flat, use: int, tag: str) -> None:
    flat.uses[use].tags = (*flat.uses[use].tags, tag)


def read_articles(
    path: str | Path,
    *,
    title: str | None = None,
    language: str | None = None,
    otherwise: str = "en",
) -> Iterator[Article]:
    """The articles of a file, told apart by content; "-" is standard input.

    A dump (plain, .bz2, .gz) gives the page called `title`, or every article that is no redirect;
    so do JSON lines with `title`, `wikitext`, `revid` and `timestamp`. Wikitext and HTML give one
    article; `title` overrides what the page or the file name says, `language` what it says of
    that. For `otherwise` see `parse_page`.

    Raises:
        InputError: no such file or title, or nothing in it can be read.
    """
    for page in read_pages_of(path, title):
        yield parse_page(replace(page, language=language) if language else page, otherwise)


def article_in(source: str, *, title: str | None = None, otherwise: str = "en") -> Article:
    """The article that a text is: wikitext, or the HTML of a page.

    Its language is the one that its words are clearly in, or `otherwise`.

    Raises:
        InputError: there are no words in it.

    >>> article_in("It opened in 1911.<ref>A. Berg</ref>").claims[0].text
    'It opened in 1911.'
    """
    return parse_page(page_in(source, title), otherwise)
