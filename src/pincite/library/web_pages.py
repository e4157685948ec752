"""Web access for a run, as the settings allow: cited pages, and search results.

A search engine names pages, and the fetcher gets them. They are processed like a corpus's hits:
passages, exclusion rules, verifier. `verify` searches for claims that their sources do not support,
`check` for the readings that it judges.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from pincite.library.exclusions import Exclusions
from pincite.protocols import WebSearch
from pincite.retrieval import cascade, fusion
from pincite.retrieval.filters import Facts, Filters
from pincite.settings import WebSettings
from pincite.text import words
from pincite.text.hosts import is_below
from pincite.text.passages import passages
from pincite.types import Bar, Claim, Document, Exclusion, Hit, Reason, Unchecked, WebResult
from pincite.web.fetch import FetchCache, WebClient
from pincite.web.sources import FetchStep, SearxSearch, Wayback, WebPages, WebSources

PASSAGES = 4  # per page, for the verifier; the best one nearly always shares most words


class FoundOnline(NamedTuple):
    """The pages that a search named for a claim: each is in one of the three."""

    hits: list[Hit]  # passages of pages that were read, most words shared with the claim first
    unread: tuple[Unchecked, ...] = ()  # could not be fetched or read
    excluded: tuple[Exclusion, ...] = ()


@dataclass(frozen=True, slots=True)
class WebCandidates:
    """Web pages as candidates for claims."""

    search: WebSearch
    pages: WebPages
    n_pages: int = 5  # fetched per claim
    language: str = ""  # requested language of pages
    filters: Filters = field(default_factory=Filters)  # the same as for a corpus
    _documents: dict[str, Document] = field(default_factory=dict)  # read so far, by address

    def of(self, claim: Claim, cited: Collection[str], exclusions: Exclusions) -> FoundOnline:
        """Return passages of the pages found, the unreadable pages, and the excluded pages.

        `cited`: addresses that the claim cites already, so they are no candidates. Pages of
        excluded sites are not fetched.
        """
        asked = [fusion.web_query(claim)]
        (pages,) = self.search.search(asked, 2 * self.n_pages, self.language)
        new = [page for page in pages if page.url not in cited]
        named = [(page, self._exclude_address(page, exclusions)) for page in new]
        barred = [why for _, why in named if why]
        wanted = [page.url for page, why in named if not why][: self.n_pages]
        self.pages.fetch(wanted)
        read, unread = list[Document](), list[Unchecked]()
        for page in map(self.pages.get, wanted):
            if isinstance(page.source, Unchecked):
                unread.append(page.source)
            elif why := self._exclude_page(page.source, page.final_url, exclusions):
                barred.append(why)
            else:
                read.append(page.source)
        self._documents.update((document.url, document) for document in read)
        cut = [(document.url, passages(document)) for document in read]
        unread += [Unchecked(url, Reason.EMPTY) for url, texts in cut if not texts]
        best = [
            (words.overlap(claim.text, passage.text), passage)
            for _, texts in cut
            for passage in cascade.worth_reading(claim.text, texts, PASSAGES)
        ]
        best.sort(key=lambda pair: (-pair[0], pair[1].passage_id))
        hits = [Hit(passage, score, rank) for rank, (score, passage) in enumerate(best, 1)]
        return FoundOnline(hits, tuple(unread), tuple(barred))

    def get(self, urls: Sequence[str]) -> list[Document | None]:
        return [self._documents.get(url) for url in urls]

    def _exclude_address(self, page: WebResult, exclusions: Exclusions) -> Exclusion | None:
        """Return why a page is not worth fetching, judging by its address alone."""
        if excluded := exclusions.of_site(page.url, page.title):
            return excluded
        passes = not self.filters.domains or is_below(page.url, self.filters.domains)
        return None if passes else self._excluded_by_filter(page.url, page.title)

    def _exclude_page(self, page: Document, url: str, exclusions: Exclusions) -> Exclusion | None:
        """Return why a page that was read is not used; `url`: its address after redirects."""
        if excluded := exclusions.of_page(page, url):
            return excluded
        passes = self.filters.accepts(Facts.of(page))
        return None if passes else self._excluded_by_filter(page.url, page.title)

    def _excluded_by_filter(self, url: str, title: str) -> Exclusion:
        return Exclusion(url, title, Bar.FILTER, str(self.filters))


def open_web(settings: WebSettings) -> WebClient:
    return WebClient(settings.rules)


@contextmanager
def web_pages(
    settings: WebSettings, progress: Callable[[FetchStep], None] = lambda step: None
) -> Iterator[WebPages]:
    """Yield the page fetcher; closes its connections and its cache."""
    with ExitStack() as stack:
        client = stack.enter_context(open_web(settings))
        cache = stack.enter_context(FetchCache(settings.cache_file))
        wayback = None
        if settings.wayback:
            wayback = Wayback(
                client,
                cache,
                api=settings.wayback_api,
                pause=settings.wayback_pause,
                on_request=lambda page: progress(FetchStep(page, "archive", 0, 1)),
            )
        yield WebPages(WebSources(client, cache, progress=progress), wayback)


@contextmanager
def web_candidates(
    settings: WebSettings, pages: WebPages | None, language: str, filters: Filters
) -> Iterator[WebCandidates | None]:
    """Yield the web search; None if it is not configured, or nothing may be fetched."""
    if pages is None or not settings.search_url:
        yield None
        return
    with (
        FetchCache(settings.cache_file) as cache,
        SearxSearch(settings.search_url, cache, settings.rules) as search,
    ):
        yield WebCandidates(search, pages, settings.search_results, language, filters)
