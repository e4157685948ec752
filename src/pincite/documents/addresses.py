"""When are two addresses the same page? Pure functions that turn an address into a key.

Two keys: `exact` for differences that never matter (http or https, a fragment, tracking), `loose`
for those that rarely do (`www.`, an archive's prefix). A store is asked for the exact key first.
"""

import re
from urllib.parse import quote, unquote_to_bytes, urlsplit

from pincite.text.hosts import original_of

_TRACKING = re.compile(r"(utm_\w+|fbclid|gclid|dclid|msclkid|mc_cid|mc_eid|igshid)(=|$)", re.I)
_DEFAULT_PORTS = {"http": 80, "https": 443}
_ESCAPED_LETTER = re.compile("%(2[de]|3[0-9]|[46][1-9a-f]|[57][0-9a]|5f|7e)", re.IGNORECASE)


def exact_key(url: str) -> str:
    """The address without what never makes a difference.

    >>> exact_key("HTTP://Example.org:80/a%7eb/?utm_source=x#top")
    'example.org/a~b'
    >>> exact_key("https://example.org/?a=1&amp;b=2")
    'example.org?a=1&b=2'
    """
    url = url.strip().replace("&amp;", "&")  # as wikitext may write it
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return url
    if not host:
        return url
    if port and port != _DEFAULT_PORTS.get(parts.scheme):
        host = f"{host}:{port}"
    query = "&".join(p for p in parts.query.split("&") if p and not _TRACKING.match(p))
    path = _escaped(parts.path).rstrip("/")
    return f"{_ascii_host(host)}{path}" + (f"?{_escaped(query)}" if query else "")


def loose_key(url: str) -> str:
    """The exact key of the page itself: without an archive's prefix and without `www.`.

    >>> loose_key("https://web.archive.org/web/20130105/http://www.example.org/a")
    'example.org/a'
    """
    return exact_key(original_of(url)).removeprefix("www.")


def variants(url: str) -> tuple[str, ...]:
    """Addresses under which a crawl may have the page, the given one first.

    >>> variants("http://www.example.org/a")[:3]
    ('http://www.example.org/a', 'https://www.example.org/a', 'http://example.org/a')
    """
    page = original_of(url).split("#")[0]
    scheme, _, rest = page.partition("://")
    bare = rest.removeprefix("www.").rstrip("/")
    first = "www." if rest.startswith("www.") else ""
    hosts = (first, "" if first else "www.")
    schemes = (scheme, "https" if scheme == "http" else "http")
    slashes = ("/", "") if rest.endswith("/") else ("", "/")
    found = (f"{s}://{h}{bare}{end}" for end in slashes for h in hosts for s in schemes)
    return tuple(dict.fromkeys((url, page, *found)))


def _escaped(text: str) -> str:
    """Percent-encoding in one spelling: letters and digits bare, the rest in capitals."""
    bare = _ESCAPED_LETTER.sub(lambda match: unquote_to_bytes(match[0]).decode("ascii"), text)
    capitals = re.sub(r"%[0-9a-fA-F]{2}", lambda match: match[0].upper(), bare)
    return quote(capitals, safe="/%:;=@!$&'()*+,?~[]|", errors="replace")


def _ascii_host(host: str) -> str:
    try:
        return host.encode("idna").decode("ascii") if not host.isascii() else host
    except UnicodeError:
        return host
