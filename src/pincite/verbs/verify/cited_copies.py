"""Chooses the copy of a cited source to read: a file of the user, stored, live, then archived.

Archives are used sparingly: only if the page itself cannot be read, has a new owner, or does not
support the claim.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from pincite.documents.collection import variants
from pincite.library.private_copies import citation_keys, document_keys
from pincite.retrieval.pinpoint import quoted_span
from pincite.text.dates import stated_date
from pincite.text.hosts import WAYBACK_HOSTS, Snapshot, snapshot_at
from pincite.types import (
    FILE,
    Article,
    Citation,
    CitationResult,
    Copy,
    CopyKind,
    Document,
    Evidence,
    Finding,
    Part,
    Reason,
    Span,
    Unchecked,
    own_digest,
)
from pincite.verbs.verify.report import addresses

if TYPE_CHECKING:
    from pincite.corpora import Corpora
    from pincite.web.sources import WebPages

# `url-status` values of pages that no longer hold what was cited (Help:Citation Style 1). Their
# archived copy is read first. Pages with a new owner are never opened.
OTHER_HANDS = frozenset({"usurped", "unfit"})
NOT_AS_CITED = OTHER_HANDS | {"dead", "deviated", "bot: unknown"}

REMEMBERED = 1_000  # citations with their copies: an article has some hundreds, a dump millions
LIKE_ITS_TITLE = 100  # passages among which a cited work is searched by the words of its title

SourceOf = Callable[[str], Document | Unchecked]  # url → the page, or why there is none


class CitedSource(NamedTuple):
    """The copy that was read for a citation."""

    source: Document | Unchecked
    copy: Copy | None = None  # None: nothing was read
    not_live: Unchecked | None = None  # why an archived copy was read instead of the page


@dataclass(frozen=True, slots=True)
class CitedCopies:
    """The copies available to a run: `given`, `stored`, `in_corpus`, then `web` if enabled."""

    stored: SourceOf | None = None
    web: "WebPages | None" = None
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
        supplied = self._supplied_file(citation)
        if isinstance(supplied, Document):
            kind = CopyKind.OWN if own_digest(supplied.url) else CopyKind.STORED
            return self._report_read(_read_from(kind, supplied))
        other = self._report_read(self._find_copy(citation, written))
        return CitedSource(supplied) if supplied and isinstance(other.source, Unchecked) else other

    def _supplied_file(self, citation: Citation) -> Document | Unchecked | None:
        """Return the user's file, else why the first one that there is cannot be read."""
        why: Unchecked | None = None
        for find in self.given:
            file = find(citation)
            if isinstance(file, Document):
                return file
            why = why or file
        return why

    def _report_read(self, cited: CitedSource) -> CitedSource:
        if isinstance(cited.source, Document):
            self.on_read(cited.source)
        return cited

    def _find_copy(self, citation: Citation, written: str | None) -> CitedSource:
        if local := self._local_copy(citation):
            return local
        urls = _reading_order(citation)
        if not urls:
            return CitedSource(_without_address(citation))
        failures: dict[str, Unchecked] = {}
        for url in urls:  # try the next one only if this one fails
            cited = self._read_address(url, citation)
            if isinstance(cited.source, Unchecked):
                failures[url] = cited.source
            elif cited.copy and cited.copy.kind is CopyKind.ARCHIVED:
                return cited._replace(not_live=failures.get(citation.url or ""))
            else:
                return cited
        why = failures.get(citation.url or "") or failures[urls[0]]
        nearest = self._read_nearest_snapshot(citation, written)
        return nearest._replace(not_live=why) if nearest else CitedSource(why)

    def _local_copy(self, citation: Citation) -> CitedSource | None:
        """Return a readable copy on this machine, preferably of the cited address."""
        for url in addresses(citation):
            stored = self._stored_page(url)
            if isinstance(stored, Document):
                return _read_from(CopyKind.STORED, stored)
        document = self.in_corpus(citation)
        return _read_from(CopyKind.CORPUS, document) if document else None

    def archived_copy(self, citation: Citation, written: str | None = None) -> CitedSource | None:
        """Return an archived copy to compare with the live page; None if there is none."""
        url = citation.archive_url
        cited = self._read_address(url, citation) if url else None
        if cited is None or isinstance(cited.source, Unchecked):
            cited = self._read_nearest_snapshot(citation, written)
        return self._report_read(cited) if cited else None

    def prepare(self, article: Article) -> None:
        """Fetch the pages that will be needed, many hosts at once, then copies of failed ones."""
        if self.web is None:
            return
        cited = [citation for claim in article.claims for citation in claim.citations]
        citations = [citation for citation in cited if citation.url or citation.archive_url]
        firsts = {citation.citation_id: self.first_address(citation) for citation in citations}
        wanted = list(dict.fromkeys(filter(None, firsts.values())))
        is_fetched = dict(zip(wanted, self.web.fetch(wanted), strict=True))
        copies = (
            self._fetch_address(citation.archive_url, citation)
            for citation in citations
            if citation.archive_url
            and is_fetched.get(firsts.get(citation.citation_id) or "") is False
        )
        self.web.fetch([url for url in dict.fromkeys(copies) if url not in is_fetched])

    def copy_at_hand(self, citation: Citation) -> Document | Unchecked:
        """Return the copy that is read without fetching anything, else NOT_SUPPLIED."""
        supplied = self._supplied_file(citation)
        if isinstance(supplied, Document):
            return supplied
        if local := self._local_copy(citation):
            return local.source
        return min(map(self._stored_page, addresses(citation)), key=is_wanted)

    def first_address(self, citation: Citation) -> str | None:
        """Return the first address to fetch; None if nothing needs to be or may be fetched."""
        url = _reading_order(citation)[0]
        if isinstance(self._supplied_file(citation), Document) or self._local_copy(citation):
            return None
        if url == citation.url and citation.url_status in OTHER_HANDS:
            return None
        stored = [self._stored_page(page) for page in (citation.url, url) if page]
        return self._fetch_address(url, citation) if all(map(is_wanted, stored)) else None

    def _fetch_address(self, url: str, citation: Citation) -> str:
        """Return the address to fetch: for an archived copy, the raw page without the frame."""
        snapshot = snapshot_at(url, self._archive_hosts)
        return _raw_url(snapshot, citation) if snapshot else url

    @property
    def _archive_hosts(self) -> tuple[str, ...]:
        wayback = self.web.wayback if self.web else None
        return wayback.hosts if wayback else WAYBACK_HOSTS

    def _read_address(self, url: str, citation: Citation) -> CitedSource:
        stored = self._stored_page(url)
        if isinstance(stored, Document):
            return _read_from(CopyKind.STORED, stored)
        if not is_wanted(stored):
            return CitedSource(stored)
        if url == citation.url and citation.url_status in OTHER_HANDS:
            detail = f"the citation says url-status={citation.url_status}"
            return CitedSource(Unchecked(url, Reason.USURPED, detail))
        return self._read_web(self.web, url, citation) if self.web else CitedSource(stored)

    def _stored_page(self, url: str) -> Document | Unchecked:
        if self.stored is None:
            return Unchecked(url, Reason.NOT_SUPPLIED, "none was given")
        return self.stored(url)

    def _read_web(self, web: "WebPages", url: str, citation: Citation) -> CitedSource:
        snapshot = snapshot_at(url, self._archive_hosts)
        if snapshot:
            return self._read_snapshot(web, snapshot, citation, CopyKind.ARCHIVED)
        page = web.get(url)
        if isinstance(page.source, Unchecked):
            return CitedSource(page.source)
        if url != citation.archive_url:
            return CitedSource(page.source, Copy(CopyKind.LIVE, url, page.source.fetched))
        reached = snapshot_at(page.final_url)  # of an archive whose addresses carry no date
        date = (reached.date if reached else "") or _archive_date(citation)
        return CitedSource(page.source, Copy(CopyKind.ARCHIVED, url, date))

    def _read_snapshot(
        self, web: "WebPages", snapshot: Snapshot, citation: Citation, kind: CopyKind
    ) -> CitedSource:
        """Read an archived copy. A redirect that leaves the archive counts as no copy."""
        page = web.get(_raw_url(snapshot, citation))
        if isinstance(page.source, Unchecked):
            return CitedSource(page.source)
        reached = snapshot_at(page.final_url, self._archive_hosts)
        if reached is None:
            detail = f"{snapshot.url} leads out of the archive, to {page.final_url}"
            return CitedSource(Unchecked(snapshot.url, Reason.REDIRECTS, detail))
        date = reached.date or snapshot.date or _archive_date(citation)
        return CitedSource(page.source, Copy(kind, reached.address, date))

    def _read_nearest_snapshot(self, citation: Citation, written: str | None) -> CitedSource | None:
        """Read the Wayback Machine's copy nearest to the day on which the page was cited."""
        url = citation.url or citation.archive_url
        if not (url and self.web and self.web.wayback):
            return None
        has_new_owner = citation.url_status in OTHER_HANDS  # later copies belong to that owner
        dates = [citation.access_date, citation.date, None if has_new_owner else written]
        near = _timestamp(dates)
        if has_new_owner and not near:
            return None
        snapshot = self.web.wayback.nearest(url, near)
        if snapshot is None:
            return None
        cited = self._read_snapshot(self.web, snapshot, citation, CopyKind.WAYBACK)
        return cited if isinstance(cited.source, Document) else None


def corpus_copies(corpora: "Corpora") -> Callable[[Citation], Document | None]:
    """Find a cited work in corpora: at its address, or by the DOI or PMID that it states."""

    @lru_cache(maxsize=REMEMBERED)
    def find(citation: Citation) -> Document | None:
        urls = [form for url in addresses(citation) for form in variants(url)]
        documents = list(filter(None, corpora.get(urls)))
        title = citation.title or citation.text
        if title and not documents:  # a corpus has no index of identifiers
            (hits,) = corpora.lexical().retrieve([((title, 1.0),)], LIKE_ITS_TITLE)
            alike = corpora.get(list(dict.fromkeys(hit.passage.url for hit in hits)))
            keys = citation_keys(citation)
            documents = [d for d in alike if d and not document_keys(d).isdisjoint(keys)]
        return documents[0] if documents else None

    return find


def is_wanted(source: Document | Unchecked) -> bool:
    """Whether to look further: the page was not supplied, and no specific failure is known."""
    return isinstance(source, Unchecked) and source.reason is Reason.NOT_SUPPLIED


def _read_from(kind: CopyKind, document: Document) -> CitedSource:
    file = document.meta.get(FILE, "")
    copy = Copy(kind, document.url, document.fetched, document.corpus, file)
    return CitedSource(document, copy)


def _reading_order(citation: Citation) -> list[str]:
    """Return the addresses of a source, those that hold what was cited first."""
    url, archive = citation.url, citation.archive_url
    if url and archive and citation.url_status in NOT_AS_CITED:
        return [archive, *(other for other in addresses(citation) if other != archive)]
    return addresses(citation)


def _without_address(citation: Citation) -> Unchecked:
    named = citation.title or citation.text or citation.template
    if citation.name and not named:
        return Unchecked("", Reason.UNDEFINED, citation.name)
    isbn = f", ISBN {citation.isbn}" if citation.isbn else ""
    return Unchecked("", Reason.OFFLINE, (named or "no address") + isbn)


def _raw_url(snapshot: Snapshot, citation: Citation) -> str:
    """Return the address of the raw archived page; of a calendar, on the citation's date."""
    return snapshot.raw(_timestamp([citation.archive_date, citation.access_date]))


def _archive_date(citation: Citation) -> str | None:
    return stated_date(citation.archive_date or "") or None


def _timestamp(dates: Sequence[str | None]) -> str:
    """Return the first date that can be parsed, in the format of archive URLs; empty if none."""
    digits = (re.sub(r"\D", "", stated_date(date)) for date in dates if date)
    return next(filter(None, digits), "")


# Own copies are used for judging and are never shared. A finding keeps only a short quote of one
# and its SHA-256. The context of the quote is removed from the finding itself, so that no report
# format can leak it.
MAX_OWN_QUOTE = 300  # characters


def only_quotes(finding: Finding) -> Finding:
    """Reduce own copies to their quotes; other findings are returned unchanged."""
    results = tuple(map(_only_quotes_of, finding.citations))
    if all(new is old for new, old in zip(results, finding.citations, strict=True)):
        return finding
    return replace(
        finding,
        citations=results,
        together=finding.together and _quote_of(finding.together),
        missing=_parts_with_quotes(finding.missing),
    )


def _only_quotes_of(result: CitationResult) -> CitationResult:
    outcome = result.outcome
    if isinstance(outcome, Unchecked) or not own_digest(outcome.passage.url):
        return result
    return replace(
        result,
        outcome=_quote_of(outcome),
        clauses=_parts_with_quotes(result.clauses),
        missing=_parts_with_quotes(result.missing),
    )


def _parts_with_quotes(parts: Sequence[Part]) -> tuple[Part, ...]:
    return tuple(
        replace(part, evidence=part.evidence and _quote_of(part.evidence)) for part in parts
    )


def _quote_of(evidence: Evidence) -> Evidence:
    """Reduce the passage to its quote, cut between words."""
    start, words = quoted_span(evidence).start, evidence.quoted
    if len(words) > MAX_OWN_QUOTE:
        cut = words[: MAX_OWN_QUOTE + 1]
        words = cut.rsplit(None, 1)[0] if " " in cut else cut
        words = words[:MAX_OWN_QUOTE]
    span = Span(start, start + len(words))
    passage = replace(evidence.passage, text=words, span=span, about="", pieces=())
    return replace(evidence, passage=passage, quote=Span(0, len(words)) if words else None)
