"""Which pages must not be suggested, and why.

Every excluded page has a reason. The index leaves out barred sites, so that they take no place
among the candidates; a second word search without exclusions finds which of them would have been
suggested.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.durable import data_path
from pincite.retrieval.copies import n_words, stands_in
from pincite.retrieval.fusion import filter_hits
from pincite.text.dates import stated_date
from pincite.text.hosts import WIKIPEDIA_AND_COPIES, WIKIPEDIA_AND_MIRRORS, is_below, original_of
from pincite.types import COPY_OF, Bar, Claim, Document, Exclusion, Hit, Listing, Reliability

if TYPE_CHECKING:
    from pincite.library.reliability import ReliabilityList

BARRED = frozenset({Reliability.DEPRECATED, Reliability.BLACKLISTED})  # never suggested
LABELS = {
    Reliability.RELIABLE: "generally reliable",
    Reliability.NO_CONSENSUS: "no consensus",
    Reliability.UNRELIABLE: "generally unreliable",
    Reliability.DEPRECATED: "deprecated",
    Reliability.BLACKLISTED: "blacklisted",
    Reliability.MIXED: "judged differently by topic or time",
    Reliability.UNLISTED: "unlisted",
}
# A shorter paragraph may be equal by chance, or because both quote one agency. The value is not
# fitted: 25 words are about a sentence and a half.
MIN_WORDS = 25
MAX_LISTED = 10  # excluded pages listed per finding


@dataclass(frozen=True, slots=True)
class Exclusions:
    """The rules of a run. Without a list, only sites and copies are excluded."""

    sites: Collection[str] = ()  # excluded by the user
    rules: "ReliabilityList | None" = None

    def listing_of(self, url: str | None) -> Listing | None:
        """Return the list's entry for an address; None without a list or an address."""
        return self.rules.listing_of(url) if self.rules and url else None

    def hosts(self) -> tuple[str, ...]:
        """Return the sites that an index can leave out unseen."""
        barred = sorted(self.rules.barred_hosts()) if self.rules else ()
        return (*WIKIPEDIA_AND_MIRRORS, *self.sites, *barred)

    def of_site(self, url: str, title: str = "") -> Exclusion | None:
        """Return why nothing from this site may be suggested; None if it may."""
        if is_below(url, WIKIPEDIA_AND_MIRRORS):
            return Exclusion(url, title, Bar.WIKI)
        if is_below(url, self.sites):
            return Exclusion(url, title, Bar.SITE)
        listing = self.listing_of(url)
        if listing is None or listing.reliability not in BARRED:
            return None
        blacklisted = listing.reliability is Reliability.BLACKLISTED
        detail = f"{listing.name}: {LABELS[listing.reliability]}"
        return Exclusion(url, title, Bar.BLACKLISTED if blacklisted else Bar.DEPRECATED, detail)

    def of_page(self, page: Document, url: str) -> Exclusion | None:
        """Return why a page that was read at `url` may not be suggested."""
        if not (why := self.of_site(url, page.title)) and COPY_OF in page.meta:
            return Exclusion(page.url, page.title, Bar.WIKI, page.meta[COPY_OF])
        return why and replace(why, url=page.url)

    def split(
        self,
        claim: Claim,
        hits: Sequence[Hit],
        seen: Sequence[Hit],
        documents_of: Callable[[Sequence[str]], list[Document | None]] | None,
        written: str | None,
    ) -> tuple[list[Hit], tuple[Exclusion, ...]]:
        """Split candidates into hits that may be suggested and excluded pages with reasons.

        `seen` are hits of a search without exclusions, used only for reasons. `documents_of` gives
        the pages, which may state their origin and date; `written` is the latest date of the
        article's text, ISO.
        """
        urls = list(dict.fromkeys(hit.passage.url for hit in hits))
        pages = dict(zip(urls, documents_of(urls) if documents_of else (), strict=False))
        reasons: dict[str, Exclusion] = {}
        for passage in [hit.passage for hit in (*hits, *seen)]:
            page = pages.get(passage.url) or Document(passage.url, passage.title, "")
            if page.url not in reasons and (why := self.of_page(page, page.url)):
                reasons[page.url] = why
        copying = _copying(claim, [hit for hit in hits if hit.passage.url not in reasons])
        # Sources were opened for this paragraph, so it existed by the first of their access dates.
        opened = [stated_date(citation.access_date or "") for citation in claim.citations]
        existed = min([date for date in (*opened, written) if date], default=None)
        for url in copying:
            if why_copy := _exclude_copy(url, pages.get(url), existed):
                reasons[url] = why_copy
        allowed = filter_hits(hits, lambda hit: hit.passage.url not in reasons)
        return allowed, tuple(list(reasons.values())[:MAX_LISTED])


WITHOUT_LIST = Exclusions()  # Wikipedia and its mirrors, and copies of the article


def copied_from(page: Document, cited: str) -> str:
    """The Wikipedia article, or the site, that a page cited at this address is or copies."""
    sites = (url for url in (page.url, original_of(cited)) if is_below(url, WIKIPEDIA_AND_COPIES))
    return page.meta.get(COPY_OF) or next(sites, "")


def _copying(claim: Claim, hits: Sequence[Hit]) -> list[str]:
    paragraph = f"{claim.before} {claim.text}".strip()
    if n_words(paragraph) < MIN_WORDS:
        return []
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for hit in hits:
        texts[hit.passage.url].append(hit.passage.text)
    return [url for url, of_page in texts.items() if stands_in(paragraph, of_page)]


def _exclude_copy(url: str, document: Document | None, written: str | None) -> Exclusion | None:
    """Exclude a copy; a page older than the paragraph is its source, an undated one is unclear."""
    published = document.published if document else None
    # Use the last possible day: for "2019-05" the 31st.
    if published and written:
        latest = published[:10] + "-12-31"[max(len(published) - 4, 0) :]
        if latest < written[:10]:
            return None
    when = f"published {published}" if published else "of unknown date"
    than = "the article has no date"
    if written:
        than = f"the paragraph dates from {written[:10]} or earlier"
    detail = f"repeats the article's paragraph word for word, {when}; {than}"
    return Exclusion(url, document.title if document else "", Bar.COPY, detail)


# ── Reliability lists ─────────────────────────────────────────────────────────────────────────────


def lists_folder() -> Path:
    return data_path("reliability")


def imported_lists() -> list[str]:
    return sorted(path.stem for path in lists_folder().glob("*.json"))
