"""The web for a run of `verify`, as the settings allow it: cited pages, and better sources.

Better sources from the web at large: a search engine names pages, the fetcher gets them. What it
finds goes the way of a corpus's hits: passages, rules of exclusion, verifier. A claim is sent to
the engine only where its own sources fail it.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from pincite.protocols import WebSearch
from pincite.retrieval import cascade, queries
from pincite.settings.web import WebSettings
from pincite.text import words
from pincite.text.passages import passages
from pincite.types import Claim, Document, Exclusion, Hit
from pincite.verbs.verify.exclusions import Exclusions
from pincite.web.cache import FetchCache
from pincite.web.fetch import WebClient
from pincite.web.pages import WebPages
from pincite.web.search import SearxSearch
from pincite.web.sources import FetchStep, WebSources
from pincite.web.wayback import Wayback

PASSAGES = 4  # of each page that the verifier reads; the best of a page nearly always share most


@dataclass(frozen=True, slots=True)
class WebCandidates:
    """Pages of the web as candidates for claims."""

    search: WebSearch
    pages: WebPages
    n_pages: int = 5  # fetched for a claim
    language: str = ""  # of the pages that are asked for
    _read: dict[str, Document] = field(default_factory=dict)

    def of(
        self, claim: Claim, cited: Collection[str], exclusions: Exclusions
    ) -> tuple[list[Hit], list[Exclusion]]:
        """Passages of the pages found, those first that share most with the claim.

        `cited`: addresses that are no candidates, because the claim has them already. Sites that
        may not be suggested are not fetched, and named.
        """
        asked = [queries.web_query(claim)]
        (found,) = self.search.search(asked, 2 * self.n_pages, self.language)
        named = [(page, exclusions.of_site(page.url, page.title)) for page in found]
        barred = [why for _, why in named if why]
        wanted = [page.url for page, why in named if not why and page.url not in cited]
        self.pages.fetch(wanted[: self.n_pages])
        came = [self.pages.get(url).source for url in wanted[: self.n_pages]]
        documents = [document for document in came if isinstance(document, Document)]
        self._read.update((document.url, document) for document in documents)
        best = [
            (words.shared(claim.text, passage.text), passage)
            for document in documents
            for passage in cascade.worth_reading(claim.text, passages(document), PASSAGES)
        ]
        best.sort(key=lambda pair: (-pair[0], pair[1].passage_id))
        return [Hit(passage, score, rank) for rank, (score, passage) in enumerate(best, 1)], barred

    def get(self, urls: Sequence[str]) -> list[Document | None]:
        """Pages that were found before."""
        return [self._read.get(url) for url in urls]


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
