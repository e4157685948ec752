"""Cited pages from the web for a run of `verify`, when the user allows it.

The pages of an article are fetched together before its claims are judged, many hosts at once; the
pipeline then asks for one after the other and finds them in the cache. What a page's own address
does not give (an archived copy, a DOI) is fetched when it is asked for.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from pincite.documents.fetch import WebClient
from pincite.documents.fetch_cache import FetchCache
from pincite.documents.fetch_rules import WebRules
from pincite.documents.web_sources import FetchStep, WebSources, read_fetched
from pincite.pipeline.settings import Settings
from pincite.types import Article, Document, Reason, Unchecked

SourceOf = Callable[[str], Document | Unchecked]


def open_web(settings: Settings) -> WebClient:
    """The door to the web, as the settings want it; a context manager."""
    return WebClient(settings.web_rules)


@dataclass(frozen=True, slots=True)
class WebPages:
    """Pages of the web as documents; each is read once."""

    sources: WebSources
    rules: WebRules
    _read: dict[str, Document | Unchecked] = field(default_factory=dict)

    def get(self, url: str) -> Document | Unchecked:
        """The page at `url`, or why it cannot be checked."""
        if url not in self._read:
            (outcome,) = self.sources.fetch([url])
            self._read[url] = read_fetched(outcome)
        return self._read[url]

    def prepare(self, article: Article, stored: SourceOf) -> None:
        """Fetch what the article cites and `stored` does not have; the cache keeps it.

        Raises:
            KeyboardInterrupt: what had come is kept.
        """
        cited = [c.url for claim in article.claims for c in claim.citations if c.url]
        self.sources.fetch([url for url in dict.fromkeys(cited) if is_wanted(stored(url))])


def is_wanted(found: Document | Unchecked) -> bool:
    """Whether the web is to be asked: nobody supplied the page, and nobody knows why not."""
    return isinstance(found, Unchecked) and found.reason is Reason.NOT_SUPPLIED


@contextmanager
def web_pages(
    settings: Settings, progress: Callable[[FetchStep], None] = lambda step: None
) -> Iterator[WebPages]:
    """Ready to fetch; closes its connections and its cache."""
    with ExitStack() as stack:
        client = stack.enter_context(open_web(settings))
        settings.web_cache_file.parent.mkdir(parents=True, exist_ok=True)
        cache = stack.enter_context(FetchCache(settings.web_cache_file))
        yield WebPages(WebSources(client, cache, progress=progress), client.rules)
