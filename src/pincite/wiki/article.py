"""An article in, claims with their citations and exact spans out: the door of this room."""

from collections.abc import Iterator
from pathlib import Path

from pincite.types import Article
from pincite.wiki.claims import attach_tags, claims_of, headed
from pincite.wiki.editions import Edition, edition
from pincite.wiki.files import Markup, PageText, page_in, read_pages_of
from pincite.wiki.flat import Flat
from pincite.wiki.html.reader import read_html
from pincite.wiki.references import resolve
from pincite.wiki.wikitext.reader import read_wikitext

MAX_WARNINGS = 100  # a page of broken brackets would otherwise fill a report


def parse_article(
    source: str,
    title: str,
    *,
    markup: Markup = "wikitext",
    revision_id: str | None = None,
    timestamp: str | None = None,
    language: str = "en",
) -> Article:
    """The claims of one page. All spans count code points of `source`.

    Malformed markup never raises: what cannot be understood gives fewer claims and a warning.
    """
    flat = _read(source, markup, edition(language))
    attach_tags(flat.blocks, lambda use, tag: _tag_use(flat, use, tag))
    cited, missing = resolve(flat.uses, flat.definitions)
    heads = [
        f"no claim is made of the heading at character {at.start}" for at in headed(flat.blocks)
    ]
    warnings = list(dict.fromkeys((*flat.warnings, *missing, *heads)))
    if len(warnings) > MAX_WARNINGS:
        more = len(warnings) - MAX_WARNINGS
        warnings = [*warnings[:MAX_WARNINGS], f"and {more} more warnings"]
    return Article(
        title,
        source,
        tuple(claims_of(flat.blocks, cited, title, language)),
        revision_id,
        timestamp,
        language,
        len(flat.uses),
        tuple(warnings),
    )


def _read(source: str, markup: Markup, wiki: Edition) -> Flat:
    return read_html(source, wiki) if markup == "html" else read_wikitext(source, wiki)


def _tag_use(flat: Flat, use: int, tag: str) -> None:
    flat.uses[use].tags = (*flat.uses[use].tags, tag)


def read_articles(
    path: str | Path, *, title: str | None = None, language: str = "en"
) -> Iterator[Article]:
    """The articles of a file, told apart by content; "-" is standard input.

    A dump (plain, .bz2, .gz) gives the page called `title`, or every article that is no redirect;
    so do JSON lines with `title`, `wikitext`, `revid` and `timestamp`. Wikitext and HTML give one
    article; `title` overrides what the page or the file name says.

    Raises:
        InputError: no such file or title, or nothing in it can be read.
    """
    for page in read_pages_of(path, title):
        yield _parsed(page, language)


def article_in(source: str, *, title: str | None = None, language: str = "en") -> Article:
    """The article that a text is: wikitext, or the HTML of a page.

    Raises:
        InputError: there are no words in it.

    >>> article_in("It opened in 1911.<ref>A. Berg</ref>").claims[0].text
    'It opened in 1911.'
    """
    return _parsed(page_in(source, title), language)


def _parsed(page: PageText, language: str) -> Article:
    return parse_article(
        page.source,
        page.title,
        markup=page.markup,
        revision_id=page.revision_id,
        timestamp=page.timestamp,
        language=language,
    )
