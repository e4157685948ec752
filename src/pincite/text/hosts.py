"""The hosts of web addresses, the archives and mirrors among them, and how long one asks to wait.

Wikipedia and its copies support all claims of the article (circular sourcing): the large ones of
"Wikipedia:Mirrors and forks"; others are recognised by what they say. The Wayback Machine's
addresses are `/web/TIME/PAGE`: `TIME` has up to 14 digits, `*` is a calendar, and the suffix `id_`
selects the original page. archive.today uses `/TIME/PAGE`, or a short name.
"""

import re
import time
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from urllib.parse import unquote, urlsplit

from pincite.text import patterns, tables_beside

WIKIPEDIA_AND_COPIES = tuple(tables_beside(__file__)["wikis"]["wikipedia_and_copies"].split())
# With other wikis, which are never suggested either.
WIKIPEDIA_AND_MIRRORS = (*WIKIPEDIA_AND_COPIES, *tables_beside(__file__)["wikis"]["others"].split())


def host_of(url: str) -> str:
    """The lower-case host of a URL without port; empty if it has none or is invalid."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:  # such as an IPv6 address without a closing bracket
        return ""


def is_below(url: str, hosts: Collection[str]) -> bool:
    """Whether the URL's host is one of `hosts` or a subdomain."""
    if not hosts:
        return False
    labels = host_of(url).split(".")
    return any(".".join(labels[i:]) in hosts for i in range(len(labels)))


def without_folder(url: str) -> str:
    """The name of a local or uploaded file; any other address unchanged.

    >>> without_folder("file:///home/ada/two%20words.pdf"), without_folder("https://a.example/x")
    ('two words.pdf', 'https://a.example/x')
    """
    scheme, _, path = url.partition(":")
    is_file = scheme.lower() in ("file", "upload") and not path.endswith("/")
    return unquote(path.partition("#")[0].rpartition("/")[2]) if is_file else url


_P = patterns(__file__, "hosts")


def is_front(url: str) -> bool:
    """Whether a URL is that of a site's front page.

    >>> is_front("https://a.example/en/"), is_front("https://a.example/en/mill")
    (True, False)
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return bool(parts.netloc) and not parts.query and _P["front"].fullmatch(parts.path) is not None


WAYBACK_HOSTS = ("archive.org",)  # includes subdomains
_MOST_ARCHIVES = 3  # that contain copies of each other's copies
_NEWEST = "2"  # as a time: the Wayback Machine resolves it to the latest copy


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The parsed address of an archived copy."""

    url: str  # as given
    page: str  # address of the original page
    time: str  # digits, the year first; empty if the address has no time
    base: str = ""  # of a Wayback Machine, up to `/web/`; empty for other archives

    @property
    def date(self) -> str | None:
        """ISO date of the copy; None if the address only asks for the nearest one."""
        if len(self.time) < 14:
            return None
        return f"{self.time[:4]}-{self.time[4:6]}-{self.time[6:8]}"

    @property
    def address(self) -> str:
        return f"{self.base}{self.time}/{self.page}" if self.base and self.time else self.url

    def raw(self, near: str = "") -> str:
        """The address of the original page content, without the archive's banner where possible.

        `near` has digits of a time, the year first, for an address without one.

        >>> snapshot_at("http://web.archive.org/web/2014/http:/a.example/x").raw()
        'https://web.archive.org/web/2014id_/http://a.example/x'
        """
        if not self.base:
            return self.url
        return f"{self.base}{self.time or near or _NEWEST}id_/{self.page}"


def snapshot_at(url: str, hosts: Collection[str] = WAYBACK_HOSTS) -> Snapshot | None:
    """Parse an archive's address; None for other addresses and for short names.

    `hosts` are those of Wayback Machines, including their subdomains.
    """
    url = url.strip()
    if (match := _P["wayback"].match(url)) and is_below(url, hosts):
        base = match["base"]
        if is_below(url, WAYBACK_HOSTS):  # it redirects http to https
            base = re.sub("^http:", "https:", base, flags=re.IGNORECASE)
        return Snapshot(url, _with_scheme(match["page"]), match["time"] or "", base)
    if match := _P["today"].match(url):
        return Snapshot(url, _with_scheme(match["page"]), re.sub(r"\D", "", match["time"]))
    return None


def original_of(url: str, hosts: Collection[str] = WAYBACK_HOSTS) -> str:
    """The address of the page itself, without an archive's prefix."""
    for _ in range(_MOST_ARCHIVES):
        if snapshot := snapshot_at(url, hosts):
            url = snapshot.page
    return url


def _with_scheme(url: str) -> str:
    """Restore a slash (`http:/example.org`) or scheme lost by prefixing."""
    if match := re.match(r"(https?):/+", url, re.IGNORECASE):
        return f"{match[1]}://{url[match.end() :]}"
    return f"http://{url}"


_SECONDS = re.compile(r"\d+(\.\d+)?", re.ASCII)  # the RFC requires integers; some send fractions
_LONGEST = 1e9  # seconds: 31 years, a cap for absurd values


def seconds_to_wait(retry_after: str, now: float | None = None) -> float | None:
    """Parse `Retry-After` (RFC 9110, §10.2.3) to seconds; None if it is invalid.

    `now` is in seconds since 1970.

    >>> seconds_to_wait("120"), seconds_to_wait("Thu, 01 Jan 1970 00:01:00 GMT", now=0.0)
    (120.0, 60.0)
    """
    text = retry_after.strip()
    if _SECONDS.fullmatch(text):
        return min(float(text), _LONGEST)
    try:
        until = parsedate_to_datetime(text)
        # A date without a zone is in GMT, as in all of HTTP, not in the local zone.
        seconds = until.replace(tzinfo=until.tzinfo or UTC).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, seconds - (time.time() if now is None else now))
