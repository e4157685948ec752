"""Which pages must not be suggested, and the reliability lists that decide it.

Every excluded page has a reason. The index leaves out barred sites, so that they take no place
among the candidates; a second word search without exclusions finds which of them would have been
suggested.

Imported lists are JSON files in the user's data folder. Pincite ships none: a list belongs to its
community, it changes, and the right one depends on the wiki.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pincite.cache_file import data_path
from pincite.documents.dates import stated_date
from pincite.durable import write_text
from pincite.errors import ConfigError, InputError, usable
from pincite.judgement.reliability import BARRED, LABELS, Entry, ReliabilityList
from pincite.retrieval.copies import n_words, stands_in
from pincite.retrieval.fusion import kept
from pincite.text.hosts import WIKIPEDIA_AND_COPIES, WIKIPEDIA_AND_MIRRORS, is_below, original_of
from pincite.types import COPY_OF, Bar, Claim, Document, Exclusion, Hit, Listing, Reliability
from pincite.wiki.addresses import LANGUAGES, wikipedia
from pincite.wiki.reliability import ListFile, read_list

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
            if why_copy := _copied(url, pages.get(url), latest):
                found[url] = why_copy
        allowed = kept(hits, lambda hit: hit.passage.url not in found)
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


def _copied(url: str, document: Document | None, written: str | None) -> Exclusion | None:
    """Exclude a copy; a page older than the paragraph is its source, an undated one is unclear."""
    published = document.published if document else None
    # Use the last possible day: for "2019-05" the 31st.
    if published and written:
        latest = published[:10] + "-12-31"[max(len(published) - 4, 0) :]
        if latest < written[:10]:
            return None
    when = f"published {published}" if published else "of unknown date"
    known = f"the paragraph dates from {written[:10]} or earlier" if written else ""
    than = known or "the article has no date"
    title = document.title if document else ""
    detail = f"repeats the article's paragraph word for word, {when}; {than}"
    return Exclusion(url, title, Bar.COPY, detail)


# ── Imported lists ───────────────────────────────────────────────────────────────────────────────

NONE = "none"  # value of the setting that disables lists
_FORM = 1


@dataclass(frozen=True, slots=True)
class StoredList:
    """An imported list, with what a report records about it."""

    name: str
    rules: ReliabilityList
    about: Mapping[str, Any]  # file, sha256, rows, imported

    @property
    def fingerprint(self) -> str:
        """Name, number of rows, date of the import and digest of the file, for a report."""
        about = self.about
        digest = str(about.get("sha256", ""))[:12]
        return f"{self.name}, {about.get('rows')} rows, {about.get('imported')}, {digest}"


def lists_folder() -> Path:
    return data_path("reliability")


def import_list(path: Path, name: str) -> tuple[ListFile, Path]:
    """Read a list and store it as `name`, replacing an earlier one.

    Its links lead to the Wikipedia called `name`, or the English one.

    Raises:
        InputError: The file cannot be read.
        ConfigError: `name` is not a valid file name.
    """
    kept = _file(name)
    found = read_list(path, wikipedia(name) if name in LANGUAGES else None)
    about = {
        "form": _FORM,
        "file": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "rows": found.n_rows,
        "imported": datetime.now(UTC).date().isoformat(),
        "entries": [asdict(entry) for entry in found.entries],
    }
    with usable(kept, "written"):
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_text(kept, json.dumps(about, ensure_ascii=False, indent=1))
    return found, kept


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
    path = _file(name)
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


def _file(name: str) -> Path:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}", name):
        raise ConfigError(f"a list cannot be called {name!r}; expected letters, digits, - and _.")
    return lists_folder() / f"{name}.json"
