"""The web for a run of `verify`, as the settings allow it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from pincite.documents.fetch import WebClient
from pincite.documents.fetch_cache import FetchCache
from pincite.documents.wayback import Wayback
from pincite.documents.web_pages import WebPages
from pincite.documents.web_search import SearxSearch
from pincite.documents.web_sources import FetchStep, WebSources
from pincite.pipeline.settings import Settings
from pincite.pipeline.web_candidates import WebCandidates


def open_web(settings: Settings) -> WebClient:
    """The door to the web, as the settings want it; a context manager."""
    return WebClient(settings.web_rules)


@contextmanager
def web_pages(
    settings: Settings, progress: Callable[[FetchStep], None] = lambda step: None
) -> Iterator[WebPages]:
    """Ready to fetch; closes its connections and its cache."""
    with ExitStack() as stack:
        client = stack.enter_context(open_web(settings))
        settings.web_cache_file.parent.mkdir(parents=True, exist_ok=True)
        cache = stack.enter_context(FetchCache(settings.web_cache_file))
        wayback = None
        if settings.wayback:
            wayback = Wayback(
                client,
                cache,
                api=settings.wayback_api,
                pause=settings.wayback_pause,
                asking=lambda page: progress(FetchStep(page, "sought", 0, 1)),
            )
        yield WebPages(WebSources(client, cache, progress=progress), wayback)


@contextmanager
def web_candidates(settings: Settings, pages: WebPages | None) -> Iterator[WebCandidates | None]:
    """What asks a search engine; None where the settings name none, or nothing may be fetched."""
    if pages is None or not settings.search_url:
        yield None
        return
    with (
        FetchCache(settings.web_cache_file) as cache,
        SearxSearch(settings.search_url, cache, settings.web_rules) as search,
    ):
        yield WebCandidates(search, pages, settings.search_results, settings.language)
