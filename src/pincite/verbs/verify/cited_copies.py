"""Chooses which copy of a cited source to read: stored, then live, then archived.

Archives are used sparingly: only if the page itself cannot be read, has a new owner, or does not
support the claim.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pincite.documents.dates import stated_date
from pincite.text.hosts import WAYBACK_HOSTS, Snapshot, snapshot_at
from pincite.types import (
    FILE,
    Article,
    Citation,
    Copy,
    CopyKind,
    Document,
    Reason,
    Unchecked,
    own_digest,
)
from pincite.verbs.verify.report import addresses
from pincite.web.sources import WebPages

# `url-status` values of pages that no longer hold what was cited (Help:Citation Style 1). Their
# archived copy is read first. Pages with a new owner are never opened.
OTHER_HANDS = frozenset({"usurped", "unfit"})
NOT_AS_CITED = OTHER_HANDS | {"dead", "deviated", "bot: unknown"}

SourceOf = Callable[[str], Document | Unchecked]  # url → the page, or why there is none


class Place(NamedTuple):
    """A place on this machine that stores copies."""

    kind: CopyKind
    get: SourceOf


class CitedSource(NamedTuple):
    """The copy that was read for a citation."""

    source: Document | Unchecked
    copy: Copy | None = None  # None: nothing was read
    not_live: Unchecked | None = None  # why an archived copy was read instead of the page


@dataclass(frozen=True, slots=True)
class CitedCopies:
    """The copies available to a run: `given`, `stored`, `in_corpus`, then `web` if enabled."""

    stored: Sequence[Place]
    web: WebPages | None = None
    # Each returns a file that the user supplied for a citation, or why it cannot be read; or None.
    given: Sequence[Callable[[Citation], Document | Unchecked | None]] = ()
    in_corpus: Callable[[Citation], Document | None] = lambda citation: None
    on_read: Callable[[Document], None] = lambda document: None  # called with each document read

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.web.wayback.warnings if self.web and self.web.wayback else ()

    def read(self, citation: Citation, written: str | None = None) -> CitedSource:
        """Return the copy to judge the citation by, or the reason why there is none.

        `written` (ISO date of the article) selects the archived copy if the citation has no date.
        """
        given = self._given(citation)
        if isinstance(given, Document):
            kind = CopyKind.OWN if own_digest(given.url) else CopyKind.STORED
            return self._report_read(CitedSource(given, _copy(kind, given)))
        found = self._report_read(self._find_copy(citation, written))
        return CitedSource(given) if given and isinstance(found.source, Unchecked) else found

    def _given(self, citation: Citation) -> Document | Unchecked | None:
        why: Unchecked | None = None
        for find in self.given:
            found = find(citation)
            if isinstance(found, Document):
                return found
            why = why or found
        return why

    def _report_read(self, found: CitedSource) -> CitedSource:
        if isinstance(found.source, Document):
            self.on_read(found.source)
        return found

    def _find_copy(self, citation: Citation, written: str | None) -> CitedSource:
        if here := self._here(citation):
            return here
        ordered = _ordered(citation)
        if not ordered:
            what = citation.title or citation.text or citation.template
            if citation.name and not what:
                return CitedSource(Unchecked("", Reason.UNDEFINED, citation.name))
            detail = what or "no address"
            detail += f", ISBN {citation.isbn}" if citation.isbn else ""
            return CitedSource(Unchecked("", Reason.OFFLINE, detail))
        failed: dict[str, Unchecked] = {}
        for address in ordered:  # try the next one only if this one fails
            found = self._at(address, citation)
            if isinstance(found.source, Unchecked):
                failed[address] = found.source
            elif found.copy and found.copy.kind is CopyKind.ARCHIVED:
                return found._replace(not_live=failed.get(citation.url or ""))
            else:
                return found
        first = failed.get(citation.url or "") or failed[ordered[0]]
        nearest = self._nearest(citation, written)
        return nearest._replace(not_live=first) if nearest else CitedSource(first)

    def _here(self, citation: Citation) -> CitedSource | None:
        """Return a readable copy on this machine, preferably of the cited address."""
        for address in addresses(citation):
            if isinstance((stored := self._stored(address)).source, Document):
                return stored
        found = self.in_corpus(citation)
        return CitedSource(found, _copy(CopyKind.CORPUS, found)) if found else None

    def archived(self, citation: Citation, written: str | None = None) -> CitedSource | None:
        """Return an archived copy to compare with the live page; None if there is none."""
        found = self._at(citation.archive_url, citation) if citation.archive_url else None
        if found is None or isinstance(found.source, Unchecked):
            found = self._nearest(citation, written)
        return self._report_read(found) if found else None

    def prepare(self, article: Article) -> None:
        """Fetch the pages that will be needed, many hosts at once, then copies of failed ones."""
        if self.web is None:
            return
        every = (c for claim in article.claims for c in claim.citations)
        citations = [c for c in every if c.url or c.archive_url]
        firsts = {c.citation_id: self.first_address(c) for c in citations}
        wanted = list(dict.fromkeys(filter(None, firsts.values())))
        came = dict(zip(wanted, self.web.fetch(wanted), strict=True))
        copies = (
            self._fetch_address(c.archive_url, c)
            for c in citations
            if c.archive_url and came.get(firsts.get(c.citation_id) or "") is False
        )
        self.web.fetch([url for url in dict.fromkeys(copies) if url not in came])

    def stored_copy(self, citation: Citation) -> Document | Unchecked:
        """Return the stored copy without fetching anything, else NOT_SUPPLIED."""
        if isinstance(given := self._given(citation), Document):
            return given
        if here := self._here(citation):
            return here.source
        failed = [self._stored(url).source for url in addresses(citation)]
        return min(failed, key=is_wanted)

    def first_address(self, citation: Citation) -> str | None:
        """Return the first address to fetch; None if nothing needs to be or may be fetched."""
        address = _ordered(citation)[0]
        if isinstance(self._given(citation), Document) or self._here(citation):
            return None
        if address == citation.url and citation.url_status in OTHER_HANDS:
            return None
        here = [self._stored(url).source for url in (citation.url, address) if url]
        return self._fetch_address(address, citation) if all(map(is_wanted, here)) else None

    def _fetch_address(self, address: str, citation: Citation) -> str:
        """Return the address to fetch: for an archived copy, the raw page without the frame."""
        snapshot = snapshot_at(address, self._hosts)
        return _raw(snapshot, citation) if snapshot else address

    @property
    def _hosts(self) -> tuple[str, ...]:
        wayback = self.web.wayback if self.web else None
        return wayback.hosts if wayback else WAYBACK_HOSTS

    def _at(self, address: str, citation: Citation) -> CitedSource:
        found = self._stored(address)
        if not is_wanted(found.source):
            return found
        if address == citation.url and citation.url_status in OTHER_HANDS:
            detail = f"the citation says url-status={citation.url_status}"
            return CitedSource(Unchecked(address, Reason.USURPED, detail))
        return self._from_web(address, citation) if self.web else found

    def _stored(self, address: str) -> CitedSource:
        """Return the first copy on this machine. A specific failure wins over NOT_SUPPLIED."""
        missing = Unchecked(address, Reason.NOT_SUPPLIED, "none was given")
        for place in self.stored:
            found = place.get(address)
            if isinstance(found, Document):
                return CitedSource(found, _copy(place.kind, found))
            if not is_wanted(found):
                return CitedSource(found)
            if place.kind is CopyKind.STORED:
                missing = found  # it names the folder
        return CitedSource(missing)

    def _from_web(self, address: str, citation: Citation) -> CitedSource:
        assert self.web
        snapshot = snapshot_at(address, self._hosts)
        if snapshot:
            return self._archived(snapshot, citation, CopyKind.ARCHIVED)
        page = self.web.get(address)
        if isinstance(page.source, Unchecked):
            return CitedSource(page.source)
        if address != citation.archive_url:
            return CitedSource(page.source, Copy(CopyKind.LIVE, address, page.source.fetched))
        reached = snapshot_at(page.final_url)  # of an archive whose addresses carry no date
        date = (reached and reached.date) or stated_date(citation.archive_date or "") or None
        return CitedSource(page.source, Copy(CopyKind.ARCHIVED, address, date))

    def _archived(self, snapshot: Snapshot, citation: Citation, kind: CopyKind) -> CitedSource:
        """Read an archived copy. A redirect that leaves the archive counts as no copy."""
        assert self.web
        page = self.web.get(_raw(snapshot, citation))
        if isinstance(page.source, Unchecked):
            return CitedSource(page.source)
        reached = snapshot_at(page.final_url, self._hosts)
        if reached is None:
            detail = f"{snapshot.url} leads out of the archive, to {page.final_url}"
            return CitedSource(Unchecked(snapshot.url, Reason.REDIRECTS, detail))
        date = reached.date or snapshot.date or stated_date(citation.archive_date or "") or None
        return CitedSource(page.source, Copy(kind, reached.address, date))

    def _nearest(self, citation: Citation, written: str | None) -> CitedSource | None:
        """Read the Wayback Machine's copy nearest to the day on which the page was cited."""
        address = citation.url or citation.archive_url
        if not (address and self.web and self.web.wayback):
            return None
        dates = [citation.access_date, citation.date]
        usurped = citation.url_status in OTHER_HANDS  # later copies belong to the new owner
        near = _timestamp(dates if usurped else [*dates, written])
        if usurped and not near:
            return None
        snapshot = self.web.wayback.nearest(address, near)
        found = self._archived(snapshot, citation, CopyKind.WAYBACK) if snapshot else None
        return found if found and isinstance(found.source, Document) else None


def _copy(kind: CopyKind, document: Document) -> Copy:
    file = document.meta.get(FILE, "")
    return Copy(kind, document.url, document.fetched, document.corpus, file)


def _ordered(citation: Citation) -> list[str]:
    found = addresses(citation)
    if citation.url and citation.archive_url and citation.url_status in NOT_AS_CITED:
        found[:2] = [citation.archive_url, citation.url]
    return found


def _raw(snapshot: Snapshot, citation: Citation) -> str:
    """Return the address of the raw archived page; of a calendar, on the citation's date."""
    return snapshot.raw(_timestamp([citation.archive_date, citation.access_date]))


def is_wanted(found: Document | Unchecked) -> bool:
    """Whether to look further: the page was not supplied, and no specific failure is known."""
    return isinstance(found, Unchecked) and found.reason is Reason.NOT_SUPPLIED


def _timestamp(dates: Sequence[str | None]) -> str:
    """Return the first date that can be parsed, in the format of archive URLs; empty if none."""
    digits = (re.sub(r"\D", "", stated_date(date)) for date in dates if date)
    return next(filter(None, digits), "")
