"""Reliability lists: a wiki's ratings of sources, imported from files and looked up by address.

Imported lists are JSON files in the user's data folder. Pincite ships none: a list belongs to its
community, it changes, and the right one depends on the wiki. An entry names a domain, or a domain
and the beginning of a path. It covers everything below, up to registered domains: no entry covers
`co.uk`. A longer host wins over a shorter one, then a longer path. Registered domains come from the
ICANN section of the Public Suffix List: an entry for `blogspot.com` is meant for all blogs there.
"""

import csv
import gzip
import hashlib
import io
import ipaddress
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pincite.durable import write_text
from pincite.errors import ConfigError, InputError, usable
from pincite.library.exclusions import BARRED, LABELS, imported_lists, lists_folder
from pincite.text.hosts import host_of, original_of
from pincite.types import Listing, Reliability
from pincite.wiki.addresses import LANGUAGES, Site, wikipedia

UNLISTED = Listing(Reliability.UNLISTED)


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
    domain: str | None = _suffixes().privatesuffix(host)
    return domain


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
    mixed = Listing(Reliability.MIXED, chosen.name, chosen.place, "", chosen.link, tuple(others))
    if len(labels) > 1 and not labels <= BARRED and len(general) != 1:
        return mixed
    others.pop(list(entries).index(chosen))
    return replace(mixed, reliability=chosen.reliability, scope=chosen.scope, others=tuple(others))


# ── Stored lists ──────────────────────────────────────────────────────────────────────────────────


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


def load_list(name: str) -> StoredList:
    """Load a list; raises ConfigError if it was never imported, InputError if it is damaged."""
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


# ── Import ────────────────────────────────────────────────────────────────────────────────────────

# Lists as files, plain or gzipped (docs/reliability.md): the English Wikipedia's "Perennial
# sources" as JSON lines (`id`, `status`, `domain`, `alltext` with the row's wikitext), or JSON
# lines or CSV with `site` and `label`.
MAX_FILE = 50_000_000  # bytes, decompressed; the English list has 1 MB
_CODES = {
    "gr": Reliability.RELIABLE,
    "nc": Reliability.NO_CONSENSUS,
    "gu": Reliability.UNRELIABLE,
    "d": Reliability.DEPRECATED,
    "b": Reliability.BLACKLISTED,
    "m": Reliability.MIXED,
}
_LABELS = [str(r) for r in Reliability if r is not Reliability.UNLISTED]
_USES = re.compile(r"\{\{\s*WP:RSPUSES\s*\|([^{}]*)\}\}", re.IGNORECASE)
_BLACKLISTED = re.compile(r"\{\{\s*WP:RSPSTATUS\s*\|[^{}]*\bb\s*=\s*y", re.IGNORECASE)
_PLAIN = ("site", "label", "name", "scope", "link")


@dataclass(frozen=True, slots=True)
class ListFile:
    """The entries of a file, its number of rows, and the rows that cannot be matched."""

    entries: tuple[Entry, ...]
    n_rows: int
    without_place: tuple[str, ...]  # names of rows without a site, which cannot be matched


def import_list(path: Path, name: str) -> tuple[ListFile, Path]:
    """Read a list and store it as `name`, replacing an earlier one.

    Its links lead to the Wikipedia called `name`, or the English one.

    Raises:
        InputError: The file cannot be read.
        ConfigError: `name` is not a valid file name.
    """
    kept = list_file(name)
    content = read_list(path, wikipedia(name) if name in LANGUAGES else None)
    about = {
        "form": 1,
        "file": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "rows": content.n_rows,
        "imported": datetime.now(UTC).date().isoformat(),
        "entries": [asdict(entry) for entry in content.entries],
    }
    with usable(kept, "written"):
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_text(kept, json.dumps(about, ensure_ascii=False, indent=1))
    return content, kept


def read_list(path: Path, site: Site | None = None) -> ListFile:
    """Read a list; its links lead to the wiki `site`, the English Wikipedia by default.

    Raises InputError with the line if the file is missing, too large, or has an unknown row format.
    """
    entries: dict[Entry, None] = {}
    nameless, n_rows = [], 0
    for number, row in _rows(path):
        n_rows += 1
        try:
            perennial = "status" in row and "id" in row
            of_row = list(_perennial(row, site or wikipedia("en")) if perennial else _plain(row))
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path}, row {number}: {error}. Expected site and label, or id and status of a "
                f"wiki's list; labels are {', '.join(_LABELS)}."
            ) from error
        entries |= dict.fromkeys(of_row)
        if not of_row:
            nameless.append(str(row.get("id") or row.get("name") or row.get("site")))
    if not n_rows:
        raise InputError(f"{path} is empty. Expected a list of sites with labels.")
    return ListFile(tuple(entries), n_rows, tuple(nameless))


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    text = _text(path)
    if text.lstrip().startswith("{"):
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise InputError(f"{path}, line {number} is not JSON: {error}.") from error
                yield number, row
        return
    reader = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    if not {"site", "label"} <= set(reader.fieldnames or ()):
        message = f"{path} begins with {text[:60]!r}. Expected JSON lines, or CSV with a header of "
        raise InputError(message + ", ".join(_PLAIN) + ".")
    yield from enumerate(reader, 2)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            packed = file.peek(2)[:2] == b"\x1f\x8b"
            stream = gzip.GzipFile(fileobj=file) if packed else file
            content = stream.read(MAX_FILE + 1)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read: {reason}.") from error
    if len(content) > MAX_FILE:
        raise InputError(f"{path} has more than {MAX_FILE:,} bytes; lists of sites are shorter.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 at byte {error.start}. Convert it first.") from error


def _plain(row: Mapping[str, Any]) -> Iterator[Entry]:
    label = str(row["label"]).strip().lower().replace(" ", "_").replace("-", "_")
    reliability = _CODES.get(label) or Reliability(label)
    place = place_of(str(row["site"]))
    if place is None:
        raise ValueError(f"{row['site']!r} is not a site")
    name, scope, link = (str(row.get(key) or "").strip() for key in ("name", "scope", "link"))
    if link and not link.startswith(("http://", "https://")):
        raise ValueError(f"the link {link[:60]!r} is not a web address")
    yield Entry(place, reliability, name or place, scope, link or None)


def _perennial(row: Mapping[str, Any], site: Site) -> Iterator[Entry]:
    """Parse a row of the perennial sources: an entry for every site in its last cell."""
    name, source = str(row["id"]), str(row.get("alltext") or "")
    reliability = _CODES[str(row["status"])]
    if _BLACKLISTED.search(source):
        reliability = Reliability.BLACKLISTED
    named = [str(row.get("domain") or "")]
    named += [use for cell in _USES.findall(source) for use in cell.split("|")]
    places = dict.fromkeys(filter(None, (place_of(text) for text in named if text.strip())))
    scope, link = _scope(row, name), _discussion(row, name, site)
    name = re.sub(r"\s*\([^()]*\)$", "", name) if scope else name
    for place in places:
        yield Entry(place, reliability, name, scope, link)


def _scope(row: Mapping[str, Any], name: str) -> str:
    """The scope of a row: a part in brackets, or in the name after the source's own."""
    qualifier = str(row.get("content_qualifier") or "").strip()
    if qualifier:
        return qualifier.strip("()") if qualifier.count("(") == 1 else qualifier
    source, plain = (re.sub(r"\s*\(.*\)$", "", text) for text in (str(row.get("name") or ""), name))
    return plain.removeprefix(source).strip() if source and plain.startswith(source) else ""


def _discussion(row: Mapping[str, Any], name: str, site: Site) -> str:
    """The newest discussion on the noticeboard, else the row itself."""
    notices = [n for n in row.get("rsnl") or () if str(n.get("notice_id", "")).isdecimal()]
    page, section = "Wikipedia:Reliable sources/Perennial sources", name
    if notices:
        newest = sorted(notices, key=lambda n: (bool(n.get("rfc")), int(n["notice_id"])))[-1]
        page = f"Wikipedia:Reliable sources/Noticeboard/Archive {newest['notice_id']}"
        section = str(newest["notice_title"])
    anchor = section.strip().replace(" ", "_")
    anchor = re.sub(r"[\s\"<>\[\]{}|\\^`%]", lambda c: f"%{ord(c[0]):02X}", anchor)
    return site.page(page) + (f"#{anchor}" if anchor else "")
