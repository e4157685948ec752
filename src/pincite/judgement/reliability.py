"""Finds the most specific entry of a reliability list for an address.

An entry names a domain, or a domain and the beginning of a path. It covers everything below, up to
registered domains: no entry covers `co.uk`. A longer host wins over a shorter one, then a longer
path. Registered domains come from the ICANN section of the Public Suffix List: an entry for
`blogspot.com` is meant for all blogs there.
"""

import ipaddress
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any
from urllib.parse import unquote, urlsplit

from pincite.text.hosts import host_of, original_of
from pincite.types import Listing, Reliability

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
        allowed = {host for host in self._by_host if host not in barred}
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
