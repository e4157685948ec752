"""Which addresses may be connected to: public hosts of the web, and nothing else.

The addresses in articles are not trusted: one that leads into the user's own network must never be
opened, however it is spelled. Names are resolved once, every answer is checked, and the connection
goes to an answer that was checked (`web.wire`), so a name that resolves differently the second time
gains nothing.
"""

import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from urllib.parse import quote, unquote, urlsplit

from pincite.errors import NoSuchHost, UnsafeAddress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], list[str]]  # host, port → addresses as text; OSError if none

PORTS = (80, 443, 8080, 8443)
DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_URL = 4_000  # characters; servers refuse longer ones
RESOLVERS = threading.BoundedSemaphore(64)  # name look-ups under way; a stuck one cannot be ended

# What is not the public internet: IANA's special-purpose registries (RFC 6890 and its updates),
# written out because `ipaddress.is_global` has changed between releases of Python.
_CLOSED_V4 = {
    "0.0.0.0/8": "this network",
    "10.0.0.0/8": "a private network",
    "100.64.0.0/10": "a provider's inner network",
    "127.0.0.0/8": "this machine",
    "168.63.129.16/32": "a cloud's metadata",
    "169.254.0.0/16": "a link-local address or a cloud's metadata",
    "172.16.0.0/12": "a private network",
    "192.0.0.0/24": "a reserved address",
    "192.0.2.0/24": "an example address",
    "192.31.196.0/24": "a reserved address",
    "192.52.193.0/24": "a reserved address",
    "192.88.99.0/24": "a 6to4 relay",
    "192.168.0.0/16": "a private network",
    "192.175.48.0/24": "a reserved address",
    "198.18.0.0/15": "a network for benchmarks",
    "198.51.100.0/24": "an example address",
    "203.0.113.0/24": "an example address",
    "224.0.0.0/4": "a multicast address",
    "240.0.0.0/4": "a reserved or broadcast address",
}
# Of IPv6 only 2000::/3 is handed out. What lies outside (::1, mapped IPv4, NAT64's 64:ff9b::/96,
# fc00::/7 with fd00:ec2::254, fe80::/10, ff00::/8) falls with it.
_GLOBAL_V6 = "2000::/3"
_CLOSED_V6 = {
    "2001::/23": "a reserved address (Teredo, ORCHID, benchmarks)",
    "2001:db8::/32": "an example address",
    "2002::/16": "a 6to4 address",
    "2620:4f:8000::/48": "a reserved address",
    "3fff::/20": "an example address",
}
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_ENDS_IN_NUMBER = re.compile(r"(?:^|\.)(?:\d+|0x[0-9a-f]*)\.?$")


@dataclass(frozen=True, slots=True)
class Target:
    """Where an address leads, before its name is resolved."""

    url: str  # as it is sent, without its fragment
    scheme: str
    host: str  # ASCII, lower case, without brackets
    port: int
    path: str  # with the query

    @property
    def is_name(self) -> bool:
        """Whether the host is a name, not a number."""
        return _literal(self.host) is None

    @property
    def authority(self) -> str:
        """The Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def target_of(url: str, ports: Collection[int] = PORTS) -> Target:
    """The host, port and path of a web address.

    Raises:
        UnsafeAddress: another scheme or port, a password, or no host in one of its usual spellings.

    >>> target_of("HTTPS://Example.org:443/ä?q=1#top").url
    'https://example.org/%C3%A4?q=1'
    """
    url = url.replace("&amp;", "&")  # as wikitext may write it
    shown = url if len(url) <= 200 else url[:200] + "…"
    if len(url) > MAX_URL:
        raise UnsafeAddress(f"{shown} has {len(url)} characters, the limit is {MAX_URL}.", url)
    if any(ord(c) < 0x21 or c in "\\\x7f" for c in url.strip()):
        raise UnsafeAddress(f"{shown!r} holds blanks, backslashes or control characters.", url)
    try:
        parts = urlsplit(url.strip())
        scheme, host, port = parts.scheme.lower(), parts.hostname or "", parts.port
    except ValueError as error:
        raise UnsafeAddress(f"{shown!r} is no address: {error}.", url) from error
    if scheme not in DEFAULT_PORTS:
        raise UnsafeAddress(f"{shown} is no http or https address.", url)
    if "@" in parts.netloc:
        raise UnsafeAddress(f"{shown.replace(parts.netloc, '…')} holds a user or password.", url)
    port = DEFAULT_PORTS[scheme] if port is None else port
    if port not in ports:
        allowed = ", ".join(map(str, sorted(ports)))
        raise UnsafeAddress(f"{shown} asks for port {port}; allowed: {allowed}.", url)
    host = _host(host, shown, url)
    path = _escaped(parts.path) or "/"
    path += f"?{_escaped(parts.query)}" if parts.query else ""
    bare = Target("", scheme, host, port, path)
    return Target(f"{scheme}://{bare.authority}{path}", scheme, host, port, path)


def closed(address: Address, allow: Collection[str] = ()) -> str:
    """Why an address may not be connected to; empty if it may.

    >>> closed(ipaddress.ip_address("169.254.169.254")), closed(ipaddress.ip_address("8.8.8.8"))
    ("a link-local address or a cloud's metadata", '')
    """
    if str(address) in allow:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None or address not in _network(_GLOBAL_V6):
            return "no address of the public IPv6 internet"
        return next((why for net, why in _CLOSED_V6.items() if address in _network(net)), "")
    return next((why for net, why in _CLOSED_V4.items() if address in _network(net)), "")


def safe_addresses(
    target: Target, resolve: Resolve, allow: Collection[str] = (), seconds: float = 10.0
) -> list[str]:
    """The addresses that the host's name has, each of them public; asked for once.

    Raises:
        UnsafeAddress: one of them is not public. The others do not make up for it.
        NoSuchHost: there is none, or not within the time.
    """
    answers = _answers(target, resolve, seconds)
    found = []
    for answer in dict.fromkeys(answers):
        try:
            address = ipaddress.ip_address(answer)
        except ValueError as error:
            raise UnsafeAddress(f"{target.host} resolves to {answer!r}.", target.url) from error
        if why := closed(address, allow):
            what = f"{target.host} is {address}" if answer != target.host else target.host
            raise UnsafeAddress(f"{what}: {why}, not the public web.", target.url)
        found.append(str(address))
    if not found:
        raise NoSuchHost(f"{target.host} has no address.", target.url, of_host=True)
    return found


def system_resolver(host: str, port: int) -> list[str]:
    """What the machine's own resolver says."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [str(entry[4][0]) for entry in found]


def _answers(target: Target, resolve: Resolve, seconds: float) -> list[str]:
    """What `resolve` says, asked in a thread of its own: the C library's call has no time limit."""
    if _literal(target.host):
        return [target.host]
    answers: list[list[str] | Exception] = []

    def ask() -> None:
        try:
            answers.append(resolve(target.host, target.port))
        except Exception as error:  # of any resolver: handed to the thread that waits
            answers.append(error)
        finally:
            RESOLVERS.release()

    why, cause = "too many names are being looked up", None
    if RESOLVERS.acquire(timeout=seconds):
        thread = threading.Thread(target=ask, name="resolve", daemon=True)
        thread.start()
        thread.join(seconds)
        answer = answers[0] if answers else None
        if isinstance(answer, list):
            return answer
        cause = answer
        why = f"no address ({answer})" if answer else f"not resolved within {seconds:g} s"
    raise NoSuchHost(f"{target.host}: {why}.", target.url, of_host=True) from cause


def _host(host: str, shown: str, url: str) -> str:
    """The host in the one spelling that is sent; numbers only as four decimal ones or IPv6.

    `127.1`, `0x7f.1`, `017700000001` and `2130706433` are spellings of 127.0.0.1 to the C library,
    and so are they in full-width digits or behind percent signs.
    """
    if ":" in host:
        address = _literal(host)
        if not isinstance(address, ipaddress.IPv6Address) or address.scope_id is not None:
            raise UnsafeAddress(f"{shown}: {host!r} is no public IPv6 address.", url)
        return str(address)
    host = _ascii(unquote(host), shown, url).lower().removesuffix(".")
    if not host or len(host) > 253:
        raise UnsafeAddress(f"{shown} names no host.", url)
    if _literal(host):
        return host
    if _ENDS_IN_NUMBER.search(host):
        raise UnsafeAddress(f"{shown}: {host!r} is an unusual spelling of a number.", url)
    if not all(map(_LABEL.fullmatch, host.split("."))):
        raise UnsafeAddress(f"{shown}: {host!r} is no host name.", url)
    return host


def _ascii(host: str, shown: str, url: str) -> str:
    if host.isascii():
        return host
    import idna

    try:
        return idna.encode(host, uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError) as error:
        raise UnsafeAddress(f"{shown}: {host!r} is no host name ({error}).", url) from error


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _escaped(text: str) -> str:
    return quote(text, safe="/%:;=@!$&'()*+,?~[]|-._", errors="replace")


@cache
def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network(text)


@dataclass(frozen=True, slots=True)
class WebRules:
    """Politeness and limits. Complete when constructed; `online` is false by default."""

    online: bool = False
    contact: str = ""  # an e-mail or web address, for the administrators of the hosts
    ports: tuple[int, ...] = PORTS
    environment_proxies: bool = False  # whether HTTP_PROXY and the like are used
    # Politeness. A second between requests is what archives and small sites ask for.
    pause: float = 1.0  # seconds between the end of a request and the next to the same host
    longest_crawl_delay: float = 30.0  # of robots.txt; more is taken for this
    at_once: int = 64  # hosts; each has one connection, and threads that wait cost little
    attempts: int = 3  # where a host is busy, failing or unreachable
    first_wait: float = 1.0  # seconds before the second attempt, doubled each time
    longest_wait: float = 60.0  # a host that asks for more counts as busy for now
    redirects: int = 5
    # Limits of one request.
    connect_seconds: float = 10.0
    idle_seconds: float = 15.0  # without a byte
    seconds: float = 60.0  # for everything from the name to the last byte
    body_bytes: int = 10_000_000  # after unpacking: a long PDF; most pages have 100 kB
    header_bytes: int = 32_000
    headers: int = 200
    # Days that the cache keeps pages and failures.
    keep_days: float = 30.0
    keep_failures_days: float = 1.0


DEFAULT_RULES = WebRules()

# The Wayback Machine's availability service, and the seconds between two questions to it. Its
# limits are not published; 15 requests a minute is what is known of another of its services
# (https://github.com/internetarchive/wayback/issues/274).
WAYBACK_API = "https://archive.org/wayback/available"
WAYBACK_PAUSE = 4.0


def proxy_of(target: Target, rules: WebRules) -> str | None:
    """The environment's proxy for this host; None unless the rules allow one."""
    if not rules.environment_proxies:
        return None
    from urllib.request import getproxies, proxy_bypass

    return None if proxy_bypass(target.host) else getproxies().get(target.scheme)
