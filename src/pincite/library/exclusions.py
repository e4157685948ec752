"""Which pages must not be suggested, and the reliability lists that decide it.

Every excluded page has a reason. The index leaves out barred sites, so that they take no place
among the candidates; a second word search without exclusions finds which of them would have been
suggested.

Imported lists are JSON files in the user's data folder. Pincite ships none: a list belongs to its
community, it changes, and the right one depends on the wiki. An entry names a domain, or a domain
and the beginning of a path. It covers everything below, up to registered domains: no entry covers
`co.uk`. A longer host wins over a shorter one, then a longer path. Registered domains come from the
ICANN section of the Public Suffix List: an entry for `blogspot.com` is meant for all blogs there.
"""

import ipaddress
import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pincite.durable import data_path
from pincite.errors import ConfigError, InputError
from pincite.retrieval.copies import n_words, stands_in
from pincite.retrieval.fusion import filter_hits
from pincite.text.dates import stated_date
from pincite.text.hosts import (
    WIKIPEDIA_AND_COPIES,
    WIKIPEDIA_AND_MIRRORS,
    host_of,
    is_below,
    original_of,
)
from pincite.types import COPY_OF, Bar, Claim, Document, Exclusion, Hit, Listing, Reliability

BARRED = frozenset({Reliability.DEPRECATED, Reliability.BLACKLISTED})  # never suggested
UNLISTED = Listing(Reliability.UNLISTED)
LABELS = {
    Reliability.RELIABLE: "generally reliable",
    Reliability.NO_CONSENSUS: "no consensus",
    Reliability.UNRELIABLE: "generally unreliable",
    Reliability.DEPRECATED: "deprecated",
    Reliability.BLACKLISTED: "blacklisted",
    Reliability.MIXED: "judged differently by topic or time",
    Reliability.UNLISTED: "unlisted",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A list's rating of one place: `host` or `host/path`, in the form of `place_of`."""

    place: str
    reliability: Reliability
    name: str = ""
    scope: str = ""
    link: str | None = None


@dataclass(frozen=True, slots=True)
class ReliabilityList:
    """Entries, looked up by address."""

    entries: tuple[Entry, ...]
    _by_host: dict[str, list[Entry]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_host: defaultdict[str, list[Entry]] = defaultdict(list)
        for entry in sorted(self.entries, key=lambda e: -len(e.place)):
            by_host[entry.place.partition("/")[0]].append(entry)
        object.__setattr__(self, "_by_host", dict(by_host))

    def listing_of(self, url: str) -> Listing:
        """Return the list's rating of the page at `url`; an archived copy has its original's."""
        host, path = _host_and_path(url)
        top = registered_domain(host)
        while host:
            entries = self._by_host.get(host, ())
            for entry in entries:
                if _covers(entry.place, path):
                    return _listing([e for e in entries if e.place == entry.place])
            host = host.partition(".")[2] if top and host != top else ""
        return UNLISTED

    def barred_hosts(self) -> frozenset[str]:
        """Return the hosts that are barred entirely, which an index can leave out."""
        barred = {
            host
            for host, entries in self._by_host.items()
            if all(entry.reliability in BARRED for entry in entries)
            and any("/" not in entry.place for entry in entries)
        }
        allowed = self._by_host.keys() - barred
        return frozenset(h for h in barred if not any(a.endswith(f".{h}") for a in allowed))


def place_of(text: str) -> str | None:
    """Normalise a domain, or a domain with a path, to the form of entries; None if invalid."""
    text = text.strip()
    host, path = _host_and_path(text if "://" in text else f"http://{text}")
    top = registered_domain(host)
    host = host.removeprefix("www.") if top != host else host
    if not host or (not _is_ip(host) and top is None):
        return None
    return f"{host}/{path}" if path else host


def registered_domain(host: str) -> str | None:
    """Return the registered domain: bbc.co.uk; None for a public suffix or an IP address."""
    if _is_ip(host) or "." not in host:
        return None
    found: str | None = _suffixes().privatesuffix(host)
    return found


@cache
def _suffixes() -> Any:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(only_icann=True)


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _host_and_path(url: str) -> tuple[str, str]:
    url = original_of(url)
    try:
        host = host_of(url).encode("idna").decode("ascii").lower()
        path = urlsplit(url).path
    except (UnicodeError, ValueError):  # an empty or overlong label
        return "", ""
    return host, re.sub("/+", "/", unquote(path)).strip("/").lower()


def _covers(place: str, path: str) -> bool:
    """Whether the entry's path covers this one: by whole segments, or by prefix before a star."""
    wanted = place.partition("/")[2]
    if wanted.endswith("*"):
        return path.startswith(wanted[:-1])
    return not wanted or f"{path}/".startswith(f"{wanted}/")


def _listing(entries: Sequence[Entry]) -> Listing:
    """Combine the entries for one place: the one without a scope decides, else they are mixed."""
    labels = {entry.reliability for entry in entries}
    general = [entry for entry in entries if not entry.scope]
    if labels <= BARRED:
        chosen = max(entries, key=lambda e: e.reliability is Reliability.BLACKLISTED)
    else:
        chosen = (general or entries)[0]
    others = [f"{e.scope or e.name}: {LABELS[e.reliability]}" for e in entries]
    found = Listing(Reliability.MIXED, chosen.name, chosen.place, "", chosen.link, tuple(others))
    if len(labels) > 1 and not labels <= BARRED and len(general) != 1:
        return found
    others.pop(list(entries).index(chosen))
    return replace(found, reliability=chosen.reliability, scope=chosen.scope, others=tuple(others))


# ── Rules of a run ────────────────────────────────────────────────────────────────────────────────

# A shorter paragraph may be equal by chance, or because both quote one agency. The value is not
# fitted: 25 words are about a sentence and a half.
MIN_WORDS = 25
MAX_LISTED = 10  # excluded pages listed per finding


@dataclass(frozen=True, slots=True)
class Exclusions:
    """The rules of a run. Without a list, only sites and copies are excluded."""

    sites: Collection[str] = ()  # excluded by the user
    rules: ReliabilityList | None = None

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
        found: dict[str, Exclusion] = {}
        for passage in [hit.passage for hit in (*hits, *seen)]:
            page = pages.get(passage.url) or Document(passage.url, passage.title, "")
            if page.url not in found and (why := self.of_page(page, page.url)):
                found[page.url] = why
        copying = _copying(claim, [hit for hit in hits if hit.passage.url not in found])
        # Sources were opened for this paragraph, so it existed by the last of their access dates.
        opened = [stated_date(citation.access_date or "") for citation in claim.citations]
        latest = min([date for date in (*opened, written) if date], default=None)
        for url in copying:
            if why_copy := _exclude_copy(url, pages.get(url), latest):
                found[url] = why_copy
        allowed = filter_hits(hits, lambda hit: hit.passage.url not in found)
        return allowed, tuple(list(found.values())[:MAX_LISTED])


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


# ── Imported lists ───────────────────────────────────────────────────────────────────────────────

NONE = "none"  # value of the setting that disables lists
FORM = 1


@dataclass(frozen=True, slots=True)
class StoredList:
    """An imported list, with what a report records about it."""

    name: str
    rules: ReliabilityList
    about: Mapping[str, Any]  # file, sha256, rows, imported

    @property
    def fingerprint(self) -> str:
        """Name, number of rows, date of the import and digest of the file, for a report."""
        n_rows, imported, digest = map(self.about.get, ("rows", "imported", "sha256"))
        return f"{self.name}, {n_rows} rows, {imported}, {str(digest or '')[:12]}"


def lists_folder() -> Path:
    return data_path("reliability")


@dataclass(frozen=True, slots=True)
class ListFile:
    """The entries of a file, its number of rows, and the rows that cannot be matched."""

    entries: tuple[Entry, ...]
    n_rows: int
    without_place: tuple[str, ...]  # names of rows without a site, which cannot be matched


def imported_lists() -> list[str]:
    return sorted(path.stem for path in lists_folder().glob("*.json"))


def chosen_list(name: str, language: str) -> StoredList | None:
    """Load the list of this name; without a name, the language's list if there is one.

    Raises:
        ConfigError: The named list was never imported.
    """
    if name == NONE or (not name and language not in imported_lists()):
        return None
    return load_list(name or language)


def load_list(name: str) -> StoredList:
    """Load an imported list.

    Raises:
        ConfigError: It was never imported.
        InputError: Its file is damaged.
    """
    path = list_file(name)
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        entries = about.pop("entries")
        rules = tuple(Entry(**{**e, "reliability": Reliability(e["reliability"])}) for e in entries)
    except FileNotFoundError as error:
        known = ", ".join(imported_lists()) or "none"
        raise ConfigError(
            f"no reliability list {name!r} was imported; there are: {known}. Import one: pincite "
            f"reliability import FILE --name {name}"
        ) from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is damaged: {error!r}. Import the list again.") from error
    return StoredList(name, ReliabilityList(rules), about)


def list_file(name: str) -> Path:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}", name):
        raise ConfigError(f"a list cannot be called {name!r}; expected letters, digits, - and _.")
    return lists_folder() / f"{name}.json"


# Lists as files, plain or gzipped (docs/reliability.md): the English Wikipedia's "Perennial
# sources" as JSON lines (`id`, `status`, `domain`, `alltext` with the row's wikitext), or JSON
# lines or CSV with `site` and `label`.
