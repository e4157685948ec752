"""The inhabitants of the zoo: what each answers, and what is to become of it."""

import gzip
import zlib

from web.zoo import (
    ARTICLE,
    GOOD,
    Page,
    after_failures,
    bomb,
    chunked,
    closed_at_once,
    drip,
    drip_headers,
    endless,
    endless_chunks,
    endless_continue,
    endless_headers,
    gzipped,
    mute,
    page,
    reply,
    reset,
    reset_in_body,
    silent,
)

from pincite.types import Reason

R = Reason


def moved(location: str, status: str = "302 Found") -> bytes:
    return reply(b"", status, Location=location)


def status(code: int, name: str = "", body: bytes = b"<p>no</p>", **headers: str) -> bytes:
    return reply(body, f"{code} {name or 'Reason'}", **headers)


TEASER = page(
    f"<article><h1>A bridge</h1><p>{ARTICLE[:300]}</p></article>"
    "<p>Subscribe to continue reading</p>"
)
NOT_FREE = '<script type="application/ld+json">{"isAccessibleForFree": false}</script>'
CONSENT = page("<h1>Before you continue</h1><p>We use cookies. Accept all cookies?</p>")
VENDORS = page(
    "<h1>We value your privacy</h1><p>We and our partners use cookies and process data.</p>"
    + "<p>Store information on a device, select basic advertising, create a profile.</p>" * 8
    + "<p>Manage your privacy settings or accept all cookies. Your privacy choices stay.</p>"
)
LOGIN = page("<form><p>Members</p><input name=u><input type=password name=p></form>", "Members")
SCRIPTED = page("<div id=app></div><script>a()</script><script>b()</script>")
NOSCRIPT = page("<p>Please enable JavaScript to view this page.</p><script>a()</script>")
ROBOT = page("<p>Checking your browser before accessing the site. Just a moment...</p>")
BROKEN_PDF = (
    b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\nxref\n0 99999\ngarbage\nstartxref\n77\n%%EOF"
)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
LATIN = GOOD.replace(b"Varrowmouth", "Värrowmøuth".encode("latin-1"))
DENY = reply(b"User-agent: *\nDisallow: /", Content_Type="text/plain")
DENY_US = reply(b"User-agent: Pincite\nDisallow: /2019/\n\nUser-agent: *\nAllow: /")
ALLOW = reply(b"User-agent: *\nDisallow: /\nAllow: /2019/\nCrawl-delay: 0.01\n")
KEEP = {"Connection": "keep-alive"}

PAGES = [
    # What can be read.
    Page("plain", reply(), None),
    Page("keep-alive", reply(**KEEP), None),
    Page("gzip", reply(gzipped(), Content_Encoding="gzip"), None),
    Page(
        "gzip-members",
        reply(gzipped(GOOD[:900]) + gzipped(GOOD[900:]), Content_Encoding="gzip"),
        None,
    ),
    Page("deflate", reply(zlib.compress(GOOD), Content_Encoding="deflate"), None),
    Page("deflate-bare", reply(zlib.compress(GOOD)[2:-4], Content_Encoding="deflate"), None),
    Page("identity", reply(Content_Encoding="identity"), None),
    Page("chunked", chunked(), None),
    Page("chunked-trailers", chunked(end=b"0\r\nX-Sum: 1\r\n\r\n"), None),
    Page("chunked-gzip", chunked(gzipped(), Content_Encoding="gzip"), None),
    Page("no-length", reply(Content_Length=""), None),
    Page("http10", reply(Content_Length="").replace(b"HTTP/1.1", b"HTTP/1.0"), None),
    Page("continue-first", b"HTTP/1.1 100 Continue\r\n\r\n" + reply(), None),
    Page("hints-first", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + reply(), None),
    Page("no-reason", reply().replace(b"200 OK", b"200 "), None),
    Page("no-type", reply(Content_Type=""), None),
    Page("wrong-type", reply(Content_Type="text/plain"), None),
    Page("odd-type", reply(Content_Type='a/b; charset="latin-9'), None),
    Page("wrong-charset", reply(LATIN, Content_Type="text/html; charset=utf-8"), None),
    Page("no-such-charset", reply(Content_Type="text/html; charset=klingon-8"), None),
    Page("short-length", reply(GOOD, Content_Length=str(len(GOOD) - 20)), None),
    Page(
        "bytes-after",
        reply(GOOD + b"HTTP/1.1 666 smuggled\r\n\r\n", Content_Length=str(len(GOOD)), **KEEP),
        None,
    ),
    Page("twice-the-length", reply(X=f"1\r\nContent-Length: {len(GOOD)}"), None),
    Page("other-2xx", reply(status="203 Non-Authoritative"), None),
    Page(
        "plain-text", reply(b"A bridge was opened in 1911. " * 20, Content_Type="text/plain"), None
    ),
    Page("moved-once", moved("/b"), None, elsewhere=(("/b", reply()),)),
    Page(
        "moved-for-good",
        moved("/new/place.html", "308 Permanent"),
        None,
        elsewhere=(("/new/place.html", reply()),),
    ),
    Page(
        "chain-of-5",
        moved("/1"),
        None,
        elsewhere=(*((f"/{n}", moved(f"/{n + 1}")) for n in range(1, 5)), ("/5", reply())),
    ),
    Page(
        "utf8-location",
        moved("/gr\xc3\xb6\xc3\x9fe x"),
        None,
        elsewhere=(("/gr%C3%B6%C3%9Fe%20x", reply()),),
    ),
    Page("busy-once", after_failures(1, status(503, Retry_After="0")), None),
    Page("reset-once", after_failures(1, b""), None),
    Page("robots-allow", reply(), None, robots=ALLOW),
    Page("robots-html", reply(), None, robots=reply(page("<p>Not here</p>"))),
    Page("robots-rubbish", reply(), None, robots=reply(b"\xff\xfe\0\0:::\nDisallow\n" * 50)),
    Page("robots-403", reply(), None, robots=status(403)),
    Page("robots-loop", reply(), None, robots=moved("/robots.txt")),
    # Gone.
    Page("404", status(404), R.DEAD),
    Page("410", status(410), R.DEAD),
    Page("404-endless", b"HTTP/1.1 404 No\r\n\r\n" + b"x" * 300_000, R.DEAD),
    Page("404-bad-gzip", status(404, body=b"rubbish", Content_Encoding="gzip"), R.DEAD),
    Page("soft-404-title", reply(page("<p>Sorry.</p>", "Page not found")), R.SOFT_404),
    Page("soft-404-text", reply(page("<h1>404</h1><p>Nothing here.</p>", "Example")), R.SOFT_404),
    Page("soft-404-german", reply(page("<h1>Seite nicht gefunden</h1>", "Zeitung")), R.SOFT_404),
    Page("front-page", moved("/", "301 Moved"), R.FRONT_PAGE, elsewhere=(("/", reply()),)),
    Page("front-page-en", moved("/en/"), R.FRONT_PAGE, elsewhere=(("/en/", reply()),)),
    Page("nohost", reply(), R.NO_HOST),
    # Not for us.
    Page("401", status(401), R.REFUSED),
    Page("402", status(402), R.PAYWALL),
    Page("403", status(403), R.REFUSED),
    Page("418", status(418), R.REFUSED),
    Page("429", status(429), R.REFUSED),
    Page("429-for-long", status(429, Retry_After="86400"), R.REFUSED),
    Page("429-until", status(429, Retry_After="Fri, 31 Dec 2100 23:59:59 GMT"), R.REFUSED),
    Page("451", status(451), R.REFUSED),
    Page("500", status(500), R.REFUSED),
    Page("503-rubbish", status(503, Retry_After="soon"), R.REFUSED),
    Page("999", status(999), R.REFUSED),
    Page("robot-check", reply(ROBOT), R.REFUSED),
    Page("paywall", reply(TEASER), R.PAYWALL),
    Page("paywall-declared", reply(page(f"<p>{ARTICLE[:500]}</p>", head=NOT_FREE)), R.PAYWALL),
    Page("consent", reply(CONSENT), R.CONSENT),
    Page("consent-vendors", reply(VENDORS), R.CONSENT),
    Page(
        "consent-moved",
        moved("/consent?back=1"),
        R.CONSENT,
        elsewhere=(("/consent?back=1", reply()),),
    ),
    Page("login", reply(LOGIN), R.LOGIN),
    Page("login-moved", moved("/login?next=x"), R.LOGIN, elsewhere=(("/login?next=x", reply()),)),
    Page("robots-deny", reply(), R.ROBOTS, robots=DENY),
    Page("robots-deny-us", reply(), R.ROBOTS, robots=DENY_US),
    Page("robots-503", reply(), R.ROBOTS, robots=status(503)),
    Page(
        "robots-after-moving",
        moved("/closed/b"),
        R.ROBOTS,
        robots=reply(b"User-agent: *\nDisallow: /closed/"),
    ),
    # Nothing to read.
    Page("204", status(204, body=b""), R.EMPTY),
    Page("205", status(205, body=b""), R.EMPTY),
    Page("empty", reply(b""), R.EMPTY),
    Page("scripted", reply(SCRIPTED), R.EMPTY),
    Page("noscript", reply(NOSCRIPT), R.EMPTY),
    Page("png", reply(PNG, Content_Type="image/png"), R.UNSUPPORTED_TYPE),
    Page("png-as-html", reply(PNG), R.UNSUPPORTED_TYPE),
    Page("broken-pdf", reply(BROKEN_PDF, Content_Type="application/pdf"), R.UNDECODABLE),
    Page("html-as-pdf", reply(Content_Type="application/pdf"), None),
    Page("not-gzip", reply(GOOD, Content_Encoding="gzip"), R.UNDECODABLE),
    Page("brotli-unasked", reply(b"\x8b\x07\x80abc", Content_Encoding="br"), R.UNDECODABLE),
    Page("packed-twice", reply(gzipped(), Content_Encoding="gzip, gzip"), R.UNDECODABLE),
    # Cut short, or without end.
    Page("206", status(206, body=GOOD), R.TRUNCATED),
    Page("cut", reply(GOOD, Content_Length=str(len(GOOD) + 500)), R.TRUNCATED),
    Page("cut-chunks", chunked(end=b""), R.TRUNCATED),
    Page("cut-gzip", reply(gzipped()[:-40], Content_Encoding="gzip"), R.TRUNCATED),
    Page("reset-in-body", reset_in_body, R.TRUNCATED),
    Page("gzip-bomb", reply(bomb(40), Content_Encoding="gzip"), R.TOO_LARGE),
    Page("deflate-bomb", reply(bomb(40, "zlib"), Content_Encoding="deflate"), R.TOO_LARGE),
    Page(
        "gzip-file-bomb",
        reply(gzip.compress(bomb(40)), Content_Type="application/gzip"),
        R.UNSUPPORTED_TYPE,
    ),
    Page("long", reply(b"", Content_Length="99999999999"), R.TOO_LARGE),
    Page("endless", endless, R.TOO_LARGE),
    Page("endless-chunks", endless_chunks, R.TOO_LARGE),
    Page("endless-headers", endless_headers, R.TOO_LARGE),
    Page("huge-header", reply(X_Pad="z" * 50_000), R.TOO_LARGE),
    Page("many-headers", reply(**{f"X_{n}": "1" for n in range(500)}), R.TOO_LARGE),
    Page("endless-continue", endless_continue, R.TOO_LARGE),
    Page("drip", drip, R.TIMED_OUT),
    Page("drip-headers", drip_headers, R.TIMED_OUT),
    Page("silent", silent, R.TIMED_OUT),
    Page("mute", mute, R.TIMED_OUT),
    # Leading nowhere.
    Page("loop", moved("/b"), R.REDIRECTS, elsewhere=(("/b", moved("/2019/05/a-bridge.html")),)),
    Page("self-loop", moved("/2019/05/a-bridge.html"), R.REDIRECTS),
    Page(
        "chain-of-6",
        moved("/1"),
        R.REDIRECTS,
        elsewhere=tuple((f"/{n}", moved(f"/{n + 1}")) for n in range(1, 9)),
    ),
    Page("to-metadata", moved("http://169.254.169.254/latest/meta-data/"), R.UNSAFE_ADDRESS),
    Page("to-octal", moved("http://0177.0.0.1/"), R.UNSAFE_ADDRESS),
    Page("to-inner-name", moved("http://inner.test:{port}/"), R.UNSAFE_ADDRESS),
    Page("to-file", moved("file:///etc/passwd"), R.UNSAFE_ADDRESS),
    Page("to-script", moved("javascript:alert(1)"), R.UNSAFE_ADDRESS),
    Page("to-password", moved("http://a:b@plain.test/"), R.UNSAFE_ADDRESS),
    Page("to-ssh", moved("http://plain.test:22/"), R.UNSAFE_ADDRESS),
    Page("to-rubbish", moved("http://[::1/"), R.UNSAFE_ADDRESS),
    Page("inner", reply(), R.UNSAFE_ADDRESS),
    Page("304", status(304, body=b""), R.UNREACHABLE),
    Page("300", status(300), R.UNREACHABLE),
    Page("302-nowhere", status(302), R.UNREACHABLE),
    Page("reset", reset, R.UNREACHABLE),
    Page("closed", closed_at_once, R.UNREACHABLE),
    Page("not-http", b"SSH-2.0-OpenSSH_9.6\r\n", R.UNREACHABLE),
    Page("http-09", b"<html>no headers here</html>\n", R.UNREACHABLE),
    Page("bad-status", b"HTTP/1.1 abc OK\r\n\r\n", R.UNREACHABLE),
    Page("bad-length", reply(Content_Length="-5"), R.UNREACHABLE),
    Page("two-lengths", reply(X=f"1\r\nContent-Length: {len(GOOD) - 1}"), R.UNREACHABLE),
    Page("tls-on-http", reply(), R.UNREACHABLE, scheme="https"),
]
