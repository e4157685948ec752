"""Pages of the web as documents: fetched, read, and each read once."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pincite.types import Document, Fetched, Unchecked
from pincite.web.sources import WebSources, read_fetched
from pincite.web.wayback import Wayback


class WebPage(NamedTuple):
    """A page as a document, or why it cannot be checked, and where it came from."""

    source: Document | Unchecked
    final_url: str  # after redirects; that of the page if nothing came


@dataclass(frozen=True, slots=True)
class WebPages:
    """Pages of the web as documents; each is read once."""

    sources: WebSources
    wayback: Wayback | None = None  # None: it may not be asked
    _read: dict[str, WebPage] = field(default_factory=dict)

    def get(self, url: str) -> WebPage:
        """The page at `url`, or why it cannot be checked."""
        if url not in self._read:
            (outcome,) = self.sources.fetch([url])
            final_url = outcome.final_url if isinstance(outcome, Fetched) else url
            self._read[url] = WebPage(read_fetched(outcome), final_url)
        return self._read[url]

    def fetch(self, urls: Sequence[str]) -> list[bool]:
        """Fetch pages for later, which the cache keeps; whether each one came.

        Raises:
            KeyboardInterrupt: what had come is kept.
        """
        return [isinstance(outcome, Fetched) for outcome in self.sources.fetch(urls)]
