"""Parses a page given as a text."""

from pincite.types import Article
from pincite.wiki.article import Markup, PageText, parse_page


def parse_article(
    source: str,
    title: str,
    *,
    markup: Markup = "wikitext",
    revision_id: str | None = None,
    timestamp: str | None = None,
    language: str | None = "en",
) -> Article:
    return parse_page(PageText(source, title, markup, revision_id, timestamp, language))
