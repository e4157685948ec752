"""The web for a run of `verify`, as the settings allow it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from pincite.settings.web import WebSettings
from pincite.verbs.verify.web_candidates import WebCandidates
from pincite.web.cache import FetchCache
from pincite.web.fetch import WebClient
from pincite.web.pages import WebPages
from pincite.web.search import SearxSearch
from pincite.web.sources import FetchStep, WebSources
from pincite.web.wayback import Wayback


def open_web(settings: WebSettings) -> WebClient:
    """The door to the web, as the settings want it; a context manager."""
    return WebClient(settings.rules)


@contextmanager
def web_pages(
    settings: WebSettings, progress: Callable[[FetchStep], None] = lambda step: None
) -> Iterator[WebPages]:
    """Ready to fetch; closes its connections and its cache."""
    with ExitStack() as stack:
        client = stack.enter_context(open_web(settings))
        settings.cache_file.parent.mkdir(parents=True, exist_ok=True)
        cache = stack.enter_context(FetchCache(settings.cache_file))
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
def web_candidates(
    settings: WebSettings, pages: WebPages | None, language: str
) -> Iterator[WebCandidates | None]:
    """What asks a search engine; None where the settings name none, or nothing may be fetched."""
    if pages is None or not settings.search_url:
        yield None
        return
    with (
        FetchCache(settings.cache_file) as cache,
        SearxSearch(settings.search_url, cache, settings.rules) as search,
    ):
        yield WebCandidates(search, pages, settings.search_results, language)
