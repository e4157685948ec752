"""Which pages must not be suggested, and why: every page that is left out has a reason.

Barred sites are left out by the index, so that they use up no place among the candidates. A search
by words beside it, which leaves nothing out, tells which of them would have been found.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from pincite.documents.dates import stated_date
from pincite.judgement.reliability import BARRED, LABELS, ReliabilityList
from pincite.retrieval.copies import n_words, stands_in
from pincite.retrieval.fusion import kept
from pincite.text.hosts import WIKIPEDIA_AND_MIRRORS, is_below
from pincite.types import Bar, Claim, Document, Exclusion, Hit, Listing, Reliability

# A paragraph that is shorter may be the same by chance, or because both quote one agency. Nothing
# is fitted here: 25 words are about a sentence and a half.
MIN_WORDS = 25
TOLD = 10  # pages that a finding names as left out


@dataclass(frozen=True, slots=True)
class Exclusions:
    """The rules of a run. Without a list, only sites and copies are looked at."""

    sites: Collection[str] = ()  # that the user excluded
    rules: ReliabilityList | None = None

    def listing_of(self, url: str | None) -> Listing | None:
        """What the list says of an address; None without a list or an address."""
        return self.rules.listing_of(url) if self.rules and url else None

    def hosts(self) -> tuple[str, ...]:
        """Sites that an index can leave out without asking."""
        barred = sorted(self.rules.barred_hosts()) if self.rules else ()
        return (*WIKIPEDIA_AND_MIRRORS, *self.sites, *barred)

    def of_site(self, url: str, title: str = "") -> Exclusion | None:
        """Why nothing of this site may be suggested; None if it may."""
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

    def sifted(
        self,
        claim: Claim,
        hits: Sequence[Hit],
        seen: Sequence[Hit],
        documents_of: Callable[[Sequence[str]], list[Document | None]] | None,
        written: str | None,
    ) -> tuple[list[Hit], tuple[Exclusion, ...]]:
        """The hits that may be suggested, and which pages may not, with the reason.

        Args:
            claim: with the sentences before it, which its paragraph begins with.
            hits: the candidates, best first.
            seen: hits of a search that left nothing out, for the reasons only.
            documents_of: for the dates of pages that copy the article.
            written: when the article's text was there at the latest, an ISO date.
        """
        found: dict[str, Exclusion] = {}
        for passage in [hit.passage for hit in (*hits, *seen)]:
            if passage.url not in found and (why := self.of_site(passage.url, passage.title)):
                found[passage.url] = why
        copying = _copying(claim, [hit for hit in hits if hit.passage.url not in found])
        documents = documents_of(copying) if documents_of and copying else [None] * len(copying)
        # The paragraph was there at the latest when its sources were opened, which was for it.
        opened = [stated_date(citation.access_date or "") for citation in claim.citations]
        latest = min([date for date in (*opened, written) if date], default=None)
        for url, document in zip(copying, documents, strict=True):
            if why_copy := _copied(url, document, latest):
                found[url] = why_copy
        allowed = kept(hits, lambda hit: hit.passage.url not in found)
        return allowed, tuple(list(found.values())[:TOLD])


WITHOUT_LIST = Exclusions()  # Wikipedia and its mirrors, and copies of the article


def _copying(claim: Claim, hits: Sequence[Hit]) -> list[str]:
    paragraph = f"{claim.before} {claim.text}".strip()
    if n_words(paragraph) < MIN_WORDS:
        return []
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for hit in hits:
        texts[hit.passage.url].append(hit.passage.text)
    return [url for url, of_page in texts.items() if stands_in(paragraph, of_page)]


def _copied(url: str, document: Document | None, written: str | None) -> Exclusion | None:
    """A page older than the paragraph is its source, not its copy; an undated one may be either."""
    published = document.published if document else None
    # The last day that a date may mean: of "2019-05" it is the 31st.
    if published and written:
        latest = published[:10] + "-12-31"[max(len(published) - 4, 0) :]
        if latest < written[:10]:
            return None
    when = f"published {published}" if published else "of unknown date"
    than = f"the paragraph is of {written[:10]} or older" if written else "the article has no date"
    title = document.title if document else ""
    detail = f"says the article's paragraph in its words, {when}; {than}"
    return Exclusion(url, title, Bar.COPY, detail)
