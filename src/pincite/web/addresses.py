"""Restricts connections to public web hosts, and to private ones that the user names.

Addresses in articles are untrusted: none may lead into the user's own network, however it is
spelled, unless `web.private_hosts` names exactly this host. A name is resolved once, every result
is checked, and the connection goes to a checked result (`web.connection`), so DNS rebinding does
not work.
"""

import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

import idna

from pincite.errors import FetchError
from pincite.types import Reason

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], list[str]]  # host, port → addresses; OSError if none
PrivateHosts = frozenset[tuple[str, int | None]]  # None: the ports allowed for all hosts

PORTS = (80, 443, 8080, 8443)
DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_URL = 4_000  # characters; servers refuse longer ones

# Addresses outside the public internet: IANA's special-purpose registries (RFC 6890 and updates),
# multicast and Azure's metadata; written out because `ipaddress.is_global` differs between Python
# releases. Only 2000::/3 is allocated in IPv6.
_CLOSED = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12
192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16
192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
::/3 4000::/2 8000::/1 2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20
"""
_CLOSED_NETWORKS = tuple(map(ipaddress.ip_network, _CLOSED.split()))
# Of these, the ones that a host of the user's own network may have: never metadata or multicast.
_PRIVATE = "10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 172.16.0.0/12 192.168.0.0/16 ::1/128 fc00::/7"
_PRIVATE_NETWORKS = tuple(map(ipaddress.ip_network, _PRIVATE.split()))
_METADATA = "100.100.100.200 fd00:ec2::254 fd20:ce::254".split()  # of Alibaba, AWS and Google
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_unsafe = partial(FetchError, reason=Reason.UNSAFE_ADDRESS)
_not_allowed = partial(FetchError, reason=Reason.NOT_ALLOWED)
_PASSWORD = re.compile(r"//[^/?#]*@")
_ENDS_IN_NUMBER = re.compile(r"(?:^|\.)(?:\d+|0x[0-9a-f]*)\.?$")


@dataclass(frozen=True, slots=True)
class Target:
    """A parsed web address, before its host is resolved."""

    scheme: str
    host: str  # ASCII, lower case, without brackets
    port: int
    path: str  # including the query

    @property
    def url(self) -> str:
        """The address as sent, without the fragment."""
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def is_name(self) -> bool:
        return _literal(self.host) is None

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


class Response(NamedTuple):
    """A complete reply; `url` is the final address, after redirects."""

    status: int
    url: str
    headers: Mapping[str, str]  # names in lower case; repeated ones are joined by ", "
    body: bytes  # decompressed; empty for errors and redirects
    redirected: bool = False


def parse_target(
    url: str, ports: Collection[int] = PORTS, private_hosts: PrivateHosts = frozenset()
) -> Target:
    """Parse a web address; one of `private_hosts` may have the port that is named with it.

    Raises FetchError for another scheme or port, a password, or an unusually spelled host.
    """
    url = url.replace("&amp;", "&")  # wikitext may escape it
    shown = _PASSWORD.sub("//…@", url)
    shown = shown if len(shown) <= 200 else shown[:200] + "…"
    if len(url) > MAX_URL:
        raise _unsafe(f"{shown} has {len(url)} characters; the limit is {MAX_URL}.", url)
    if any(ord(c) < 0x21 or c in "\\\x7f" for c in url.strip()):
        raise _unsafe(f"{shown!r} contains spaces, backslashes or control characters.", url)
    try:
        parts = urlsplit(url.strip())
        scheme, host, port = parts.scheme.lower(), parts.hostname or "", parts.port
    except ValueError as error:
        raise _unsafe(f"{shown!r} is not an address: {error}.", url) from error
    if scheme not in DEFAULT_PORTS:
        raise _unsafe(f"{shown} is not an http or https address.", url)
    if "@" in parts.netloc:
        raise _unsafe(f"{shown} contains a user name or password.", url)
    port = DEFAULT_PORTS[scheme] if port is None else port
    host = _host(host, shown, url)
    if port not in ports and (host, port) not in private_hosts:
        allowed = ", ".join(map(str, sorted(ports)))
        what = f"{shown} has port {port}; allowed: {allowed} (web.ports)"
        raise _not_allowed(f"{what}, and that of a host in web.private_hosts.", url)
    path = _escape(parts.path) or "/"
    path += f"?{_escape(parts.query)}" if parts.query else ""
    return Target(scheme, host, port, path)


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet."""
    has_scope = isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None
    return not has_scope and not any(address in network for network in _CLOSED_NETWORKS)


def private_host(text: str) -> tuple[str, int | None]:
    """Parse HOST or HOST:PORT; raises ValueError or FetchError for others, such as ranges.

    >>> private_host("Wiki.corp.example:8080"), private_host("10.0.0.7")
    (('wiki.corp.example', 8080), ('10.0.0.7', None))
    """
    parts = urlsplit(f"//{text}")
    if parts.netloc != text or parts.username is not None:
        raise ValueError(f"{text!r} is not a host.")
    return _host(parts.hostname or "", text, text), parts.port


def safe_addresses(
    target: Target,
    resolve: Resolve,
    allow: Collection[str] = (),
    private_hosts: PrivateHosts = frozenset(),
    seconds: float = 10.0,
) -> list[str]:
    """Resolve the host once, and check that all of its addresses are public, or allowed.

    One of `private_hosts` may have addresses of private networks. Raises FetchError if an address
    is not public, there is none, or no answer in time.
    """
    results = _resolve(target, resolve, seconds)
    is_named = not private_hosts.isdisjoint({(target.host, None), (target.host, target.port)})
    addresses = []
    for result in dict.fromkeys(results):
        try:
            address = ipaddress.ip_address(result)
        except ValueError as error:
            raise _unsafe(f"{target.host} resolves to {result!r}.", target.url) from error
        if str(address) not in allow and not is_public(address):
            what = f"{target.host} ({address})" if result != target.host else target.host
            if str(address) in _METADATA or not any(address in net for net in _PRIVATE_NETWORKS):
                raise _unsafe(f"{what} is not an address of the public web.", target.url)
            if not is_named:
                step = "If it is yours, name it in web.private_hosts."
                raise _not_allowed(f"{what} is on a private network. {step}", target.url)
        addresses.append(str(address))
    if not addresses:
        raise FetchError(f"{target.host} has no address.", target.url, Reason.NO_HOST, of_host=True)
    return addresses


def system_resolver(host: str, port: int) -> list[str]:
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [str(entry[4][0]) for entry in entries]


def _resolve(target: Target, resolve: Resolve, seconds: float) -> list[str]:
    """Call `resolve` in a thread, because the C library's call has no timeout."""
    if _literal(target.host):
        return [target.host]
    results: list[list[str] | Exception] = []

    def look_up() -> None:
        try:
            results.append(resolve(target.host, target.port))
        except Exception as error:  # from any resolver: passed to the waiting thread
            results.append(error)

    thread = threading.Thread(target=look_up, name="resolve", daemon=True)
    thread.start()
    thread.join(seconds)
    result = results[0] if results else None
    if isinstance(result, list):
        return result
    why = f"no address ({result})" if result else f"not resolved within {seconds:g} s"
    raise FetchError(f"{target.host}: {why}.", target.url, Reason.NO_HOST, of_host=True) from result


def _host(host: str, shown: str, url: str) -> str:
    """Normalise the host; numeric hosts must be dotted-quad IPv4 or IPv6.

    The C library also reads `127.1`, `0x7f.1`, `017700000001` and `2130706433` as 127.0.0.1, and
    the same in full-width digits or percent-encoded.
    """
    if ":" in host:
        address = _literal(host)
        if not isinstance(address, ipaddress.IPv6Address) or address.scope_id is not None:
            raise _unsafe(f"{shown}: {host!r} is not a public IPv6 address.", url)
        return str(address)
    try:
        host = unquote(host)
        host = host if host.isascii() else idna.encode(host, uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError) as error:
        raise _unsafe(f"{shown}: {host!r} is not a host name ({error}).", url) from error
    host = host.lower().removesuffix(".")
    if not host or len(host) > 253:
        raise _unsafe(f"{shown} has no host.", url)
    if _literal(host):
        return host
    if _ENDS_IN_NUMBER.search(host):
        raise _unsafe(f"{shown}: {host!r} is an unusual spelling of a number.", url)
    if not all(map(_LABEL.fullmatch, host.split("."))):
        raise _unsafe(f"{shown}: {host!r} is not a host name.", url)
    return host


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _escape(text: str) -> str:
    return quote(text, safe="/%:;=@!$&'()*+,?~[]|-._", errors="replace")


@dataclass(frozen=True, slots=True)
class WebRules:
    """Politeness and limits; `online` is false by default."""

    online: bool = False
    contact: str = ""  # an e-mail or web address for the hosts' administrators
    ports: tuple[int, ...] = PORTS
    private_hosts: PrivateHosts = frozenset()  # of the user's own network
    ca_file: str = ""  # of certificates to trust besides the system's
    environment_proxies: bool = False  # whether to use HTTP_PROXY and the like
    # Politeness. Archives and small sites ask for a second between requests.
    pause: float = 1.0  # seconds between the end of a request and the next to the same host
    longest_crawl_delay: float = 30.0  # of robots.txt; larger values are capped
    at_once: int = 64  # hosts; each has one connection, and waiting threads are cheap
    attempts: int = 3  # if a host is busy, failing or unreachable
    first_wait: float = 1.0  # seconds before the second attempt, doubled each time
    longest_wait: float = 60.0  # a host that asks for more counts as busy
    redirects: int = 5
    # Limits of one request.
    connect_seconds: float = 10.0
    idle_seconds: float = 15.0  # without a byte
    seconds: float = 60.0  # total, from name resolution to the last byte
    body_bytes: int = 10_000_000  # after decompression: a long PDF; most pages have 100 kB
    # Days that the cache keeps pages and failures.
    keep_days: float = 30.0
    keep_failures_days: float = 1.0


DEFAULT_RULES = WebRules()

# The Wayback Machine's availability service, and the seconds between two requests to it. Its limits
# are not published; another of its services allows 15 requests a minute
# (https://github.com/internetarchive/wayback/issues/274).
WAYBACK_API = "https://archive.org/wayback/available"
WAYBACK_PAUSE = 4.0


def proxy_of(target: Target, rules: WebRules) -> str | None:
    """The environment's proxy for this host; None unless the rules allow proxies."""
    if not rules.environment_proxies:
        return None
    from urllib.request import getproxies, proxy_bypass

    return None if proxy_bypass(target.host) else getproxies().get(target.scheme)
