"""Chooses the copy of a cited source to read: a file of the user, stored, live, then archived.

Archives are used sparingly: only if the page itself cannot be read, has a new owner, or does not
support the claim.

A file counts as a citation's copy if a manifest or the page itself says so, if its name is the
citation's number in `pincite claims` (`r7.pdf`), if it states the cited address or DOI, if it has
the name under which a browser saves the address, or if it has the cited title. A file that fits two
sources is not used: a wrong copy would make a correct citation look wrong.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from pincite.documents import body, read
from pincite.documents.body import Format
from pincite.documents.collection import Entry, Loader, Problem, Sources, loose_key
from pincite.errors import attempted
from pincite.library.private_copies import citation_keys
from pincite.report import cells
from pincite.text.dates import stated_date
from pincite.text.hosts import WAYBACK_HOSTS, Snapshot, host_of, snapshot_at
from pincite.text.identifiers import doi_in, doi_of, doi_of_url
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
from pincite.verbs.verify.wording import name_of
from pincite.web.sources import WebPages

# `url-status` values of pages that no longer hold what was cited (Help:Citation Style 1). Their
# archived copy is read first. Pages with a new owner are never opened.
OTHER_HANDS = frozenset({"usurped", "unfit"})
NOT_AS_CITED = OTHER_HANDS | {"dead", "deviated", "bot: unknown"}

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
        if self.stored is None:
            return CitedSource(Unchecked(address, Reason.NOT_SUPPLIED, "none was given"))
        found = self.stored(address)
        copy = _copy(CopyKind.STORED, found) if isinstance(found, Document) else None
        return CitedSource(found, copy)

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


# ── Files of the user ────────────────────────────────────────────────────────────────────────────

HEAD = 3_000  # characters at the start of a text that are searched for its DOI
_NUMBERED = re.compile(r"r([1-9]\d{0,3})(?=[\W_]|$)")
_NAMELESS = frozenset({"index", "default", "download", "article", "document", "home", "main"})
NAME_LETTERS = 6  # minimum length of a URL's last component: many files are called "vol2.pdf"
TITLE_WORDS = 3  # minimum words in a title: many documents are called "Annual report"
SITE_LETTERS = 4  # minimum letters of a word that names a website: not "the", "www", "news.co"
MAX_TITLE_WORDS = 20  # of a page's title with the name of its website
MAX_FILES = 2_000  # read to find a title or DOI; a long article cites a few hundred sources
Key = tuple[str, str]  # kind and value
Progress = Callable[[int, int], None]


class Unmatched(StrEnum):
    """Why a file is not used."""

    NO_MATCH = "no_match"
    SEVERAL = "several"
    UNREADABLE = "unreadable"
    TOO_MANY = "too_many"


SHOWN = 20  # files that are printed of each kind
WHY = {
    Unmatched.NO_MATCH: "matches no citation (name it after one, such as r7%(ending)s)",
    Unmatched.SEVERAL: "matches several citations (name it after one of %(detail)s)",
    Unmatched.UNREADABLE: "no text could be read from it (%(detail)s)",
    Unmatched.TOO_MANY: f"skipped: only the first {MAX_FILES:,} files are read",
}
WHAT_TO_DO = (
    "`pincite claims` prints the numbers of the citations. Or add manifest.jsonl beside the files, "
    'with a line for each: {"url": "https://…", "file": "…"}'
)


class Match(NamedTuple):
    """A file, the citations of the source that it is a copy of, and how that was found."""

    file: str
    citations: Sequence[Citation]
    by: str

    @property
    def ids(self) -> str:
        return ", ".join(citation.citation_id for citation in self.citations)


class Unused(NamedTuple):
    """A file that is not used; `why` is a value of `Unmatched`."""

    file: str
    why: str
    detail: str = ""

    def __str__(self) -> str:
        detail = cells.one_line(self.detail) or "unknown format"
        ending = Path(self.file).suffix.lower()
        return WHY[Unmatched(self.why)] % {"detail": detail, "ending": ending}


@dataclass(frozen=True, slots=True)
class ArticleFiles:
    """The files supplied for an article: those matched with citations, and all by address."""

    sources: Sources
    matches: Sequence[Match] = ()
    unused: Sequence[Unused] = ()
    _paths: Mapping[str, Sequence[Path]] = field(default_factory=dict)  # by key of the source
    _titled: Mapping[str, Loader] = field(default_factory=dict)  # records of collections
    _read: dict[str, Document | Unchecked] = field(default_factory=dict)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Problems with the files; a page saved for another article is none."""
        unnamed = {self.sources.name_of(path) for path in self.sources.unnamed}
        lost = [Problem(each.file, 0, str(each)) for each in self.unused if each.file in unnamed]
        return self.sources.problems(lost)

    def __call__(self, citation: Citation) -> Document | Unchecked | None:
        """Return the file of a citation, or why it cannot be read; None if it has none."""
        keys = [key for key in _source_keys(citation) if key in self._paths]
        if not keys:
            load = self._titled.get(_title(citation.title or ""))
            pages = map(self.sources.get, addresses(citation)) if load else ()
            return load() if load and not any(isinstance(p, Document) for p in pages) else None
        url = next(iter(addresses(citation)), "")
        cached = f"{keys[0]} {url}"
        if cached not in self._read:
            found = [self._document(path, url) for path in self._paths[keys[0]]]
            self._read[cached] = next((d for d in found if isinstance(d, Document)), found[0])
        return self._read[cached]

    def _document(self, path: Path, url: str) -> Document | Unchecked:
        name = self.sources.name_of(path)
        # The address may have another extension, as that of a page saved for "/report.pdf".
        found, _ = body.format_of(body.head_of(path), path.absolute().as_uri(), None)
        kind = next(iter(found.media_types), None)
        entry = Entry(url or f"file:{quote(name)}", path, content_type=kind, meta={FILE: name})
        return entry.read(self.sources.limits)


def match_files(
    sources: Sources, article: Article, progress: Progress = lambda done, total: None
) -> ArticleFiles:
    """Find the citation of each file that neither a manifest nor a collection describes."""
    index = _index(article)
    matches, unused = list[Match](), list[Unused]()
    paths: dict[str, list[Path]] = {}
    for n, path in enumerate(sources.single):
        progress(n, len(sources.single))
        name = sources.name_of(path)
        if n >= MAX_FILES:
            unused.append(Unused(name, Unmatched.TOO_MANY))
            continue
        find: Callable[[], Match | Unused] = partial(_match, path, name, index)
        found = attempted(find, partial(_unreadable, name))
        if isinstance(found, Unused):
            unused.append(found)
            continue
        matches.append(found)
        for key in {key for citation in found.citations for key in _source_keys(citation)}:
            paths.setdefault(key, []).append(path)
    progress(len(sources.single), len(sources.single))
    titled: dict[str, dict[str, Loader]] = {}
    for title, url, loader in sources.titles:
        if key := _title(title):
            titled.setdefault(key, {})[url] = loader
    unique = {title: next(iter(of.values())) for title, of in titled.items() if len(of) == 1}
    return ArticleFiles(sources, matches, unused, paths, unique)


def lines(files: ArticleFiles) -> list[str]:
    """Say which file is a copy of which citation, and what to do about the others."""
    sources, lost = files.sources, [each for each in files.warnings if not each.line]
    found = []
    if sources.single or not sources.n_named:
        n_files = cells.n_of(len(sources.single), "file")
        found.append(f"{len(files.matches)} of {n_files} matched to citations.")
    if sources.n_named:
        named = cells.n_of(sources.n_named, "file")
        found.append(f"{named} with records, or named by a manifest.")
    found += _listed(
        f"{match.file} → {match.ids} {cells.shortened(name_of(match.citations[0]), 60)}"
        f" (by {match.by})"
        for match in files.matches
    )
    if lost:
        found.append(f"{cells.n_of(len(lost), 'file')} left out:")
        found += [*_listed(map(str, lost)), WHAT_TO_DO]
    known = {each.file for each in lost}
    if others := [each.file for each in files.unused if each.file not in known]:
        verb = "matches" if len(others) == 1 else "match"
        found.append(f"{cells.n_of(len(others), 'other file')} {verb} no citation:")
        found += _listed(others)
    return found


def _listed(names: Iterable[str]) -> list[str]:
    shown = [f"  {cells.one_line(name)}" for name in names]
    more = len(shown) - SHOWN
    return [*shown[:SHOWN], f"  … and {more} more"] if more > 0 else shown


def _source_keys(citation: Citation) -> list[str]:
    """Keys that two citations of one source share."""
    found = [*map(loose_key, addresses(citation))]
    return found or [*citation_keys(citation)] or [citation.citation_id.partition("-")[0]]


def _index(article: Article) -> dict[Key, list[Citation]]:
    """The citations of an article, by the keys that a file may have."""
    known = {c.citation_id: c for claim in article.claims for c in claim.citations}
    found: dict[Key, list[Citation]] = {}
    for citation in known.values():
        for key in dict.fromkeys(_keys_of(citation)):
            found.setdefault(key, []).append(citation)
    return found


def _find(index: Mapping[Key, list[Citation]], name: str, keys: Iterable[Key]) -> Match | Unused:
    """The citation of the first known key, unless its citations name different sources."""
    key = next((key for key in keys if key in index), None)
    if key is None:
        return Unused(name, Unmatched.NO_MATCH)
    if not set.intersection(*({*_source_keys(citation)} for citation in index[key])):
        numbers = ", ".join(citation.citation_id for citation in index[key])
        return Unused(name, Unmatched.SEVERAL, numbers)
    return Match(name, index[key], key[0])


def _match(path: Path, name: str, index: Mapping[Key, list[Citation]]) -> Match | Unused:
    head, uri = body.head_of(path), path.absolute().as_uri()
    kind, label = body.format_of(head, uri, None)
    if not kind.reader:
        return Unused(name, Unmatched.UNREADABLE, label)
    found = _find(index, name, _of_name(path.stem, read.addresses_of(head, uri)))
    if isinstance(found, Match) or kind is Format.IMAGE:  # many are of saved pages
        return found
    document = read.read_file(path)
    if isinstance(document, Unchecked):
        return _unreadable(name, document)
    by_text = _find(index, name, _of_document(document))
    return by_text if isinstance(by_text, Match) or found.why == Unmatched.NO_MATCH else found


def _unreadable(name: str, why: Unchecked) -> Unused:
    return Unused(name, Unmatched.UNREADABLE, why.detail[:200])


def _keys_of(citation: Citation) -> Iterable[Key]:
    """The keys that identify a file as the citation's copy."""
    yield "number", citation.citation_id.removeprefix("r").partition("-")[0]  # r7-2: [7] again
    if doi := doi_of(citation.doi or ""):
        yield "DOI", doi
    for url in addresses(citation):
        yield "address", loose_key(url)
        if doi := doi_of_url(url):
            yield "DOI", doi.lower()
        if name := _saved_as(url):
            yield "file name", name
    if title := _title(citation.title or ""):
        yield "title", title
    for site in _site(citation):
        yield "title and site", f"{' '.join(_words(citation.title or ''))} | {site}"


def _site(citation: Citation) -> Iterable[str]:
    """Words that name a citation's website: those of its name, and of its host."""
    words = (*_words(citation.publisher or ""), *host_of(citation.url or "").split(".")[:-1])
    return {word for word in words if len(word) >= SITE_LETTERS} if citation.title else ()


def _title_and_site(text: str) -> Iterable[Key]:
    """Keys for "Our story | Friends", a page's title that begins with the cited one."""
    words = _words(text)[:MAX_TITLE_WORDS]
    for n in range(2, len(words)):  # "History" alone begins the titles of many pages
        for site in words[n:]:
            yield "title and site", f"{' '.join(words[:n])} | {site}"


def _of_name(stem: str, urls: Sequence[str]) -> Iterable[Key]:
    """Keys from a file's name and from the URLs that it states, most reliable first.

    >>> list(_of_name("r7 Annual report", ["https://port.example/"]))[:2]
    [('number', '7'), ('address', 'port.example')]
    >>> list(_of_name("2019", []))
    []
    """
    if numbered := _NUMBERED.match(stem):
        yield "number", numbered[1]
    for url in urls:
        yield "address", loose_key(url)
    if name := _comparable(stem):
        yield "file name", name
    if title := _title(stem):
        yield "title", title
    yield from _title_and_site(stem)


def _of_document(document: Document) -> Iterable[Key]:
    """Keys from a text: a DOI near its start, and its title with and without the site's name."""
    stated = doi_in(document.meta.get("doi", "") or document.text[:HEAD])
    if stated and (doi := doi_of(stated)):
        yield "DOI", doi
    first = next((line for line in document.text.splitlines() if line.strip()), "")
    for text in (document.title, *re.split(r"\s[|–—-]\s", document.title), first):
        if title := _title(text):
            yield "title", title
    yield from _title_and_site(document.title)


def _saved_as(url: str) -> str:
    """The name under which a browser saves a URL, without extension; empty if too generic.

    >>> _saved_as("https://port.example/reports/Annual%20Review-2019.pdf")
    'annual review 2019'
    """
    try:
        last = unquote(urlsplit(url).path).rstrip("/").rpartition("/")[2]
    except ValueError:
        return ""
    return _comparable(last.rpartition(".")[0] or last)


def _comparable(stem: str) -> str:
    name = " ".join(_words(stem))
    return "" if len(name) < NAME_LETTERS or name in _NAMELESS else name


def _title(text: str) -> str:
    words = _words(text)
    return " ".join(words) if len(words) >= TITLE_WORDS else ""


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", text).casefold()
    return re.findall(r"[^\W_]+", plain)
