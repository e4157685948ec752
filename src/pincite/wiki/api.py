"""Client for the MediaWiki API: one revision of a page, and lists of pages.

An address resolves to a revision id, because the text of a title changes, or to a `Refused` with
the reason. Redirects, moves and protection are reported in `Page.notes`. The caller provides the
HTTP client (`Web`, see `web.fetch`); this module opens no connection.

Etiquette: https://www.mediawiki.org/wiki/API:Etiquette and /wiki/Manual:Maxlag_parameter. With
`maxlag=5` a wiki with lagging replicas returns an error with status 200, so those retries happen
here. The HTTP client retries 429 and 5xx.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Protocol
from urllib.parse import quote_plus, urlencode

from pincite.errors import FetchError, PinciteError
from pincite.text.hosts import seconds_to_wait
from pincite.types import Article
from pincite.wiki.addresses import ArticleAddress, Site
from pincite.wiki.article import parse_article

MAXLAG = 5  # seconds; the recommended value
ATTEMPTS = 5
FIRST_WAIT = 5.0  # seconds, doubled each time; Wikimedia's `Retry-After` for maxlag
LONGEST_WAIT = 120.0  # give up if the wiki asks for more
MAX_CONTINUED = 1000  # requests per listing: 500,000 members of a category
_BUSY = (429, 500, 502, 503, 504)
_REASONS = {  # transient errors, to retry later
    "maxlag": "lags behind",
    "ratelimited": "asks for fewer requests",
    "readonly": "is read-only for now",
}
MAX_CHOICES = 20  # listed of a disambiguation page
NEAREST = 5  # titles suggested for a missing one
_WIKITEXT = ("wikitext", "")
# The first link in a line of a disambiguation page is the article it is about.
_CHOICE = re.compile(r"^[*#:]+[^\[\n]*\[\[:?([^\]\[|#\n]+)", re.MULTILINE)
TITLES_AT_ONCE = 50  # the limit for clients without a bot account
MAX_ENCODED = 3000  # characters of encoded titles in a URL, for which the fetcher allows 4,000


class Reply(Protocol):
    """An HTTP reply; header names are in lower case, the body is decompressed."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def body(self) -> bytes: ...


class Web(Protocol):
    """One GET, retried while the host is busy. Raises FetchError if there is no reply."""

    def get(
        self, url: str, *, accept: str = "*/*", headers: Mapping[str, str] | None = None
    ) -> Reply: ...


class WikiError(PinciteError):
    """The wiki failed to answer; `code` is `not_mediawiki`, `busy`, or the wiki's own code."""

    exit_code = 9

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True)
class ActionApi:
    """The Action API of one wiki. Requests are serial."""

    site: Site
    web: Web
    sleep: Callable[[float], None] = time.sleep
    tell: Callable[[str], None] = lambda message: None  # called with messages about waits
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def query(self, **parameters: object) -> dict[str, Any]:
        """Send one query; parameters with None are omitted.

        Raises:
            WikiError, FetchError
        """
        given = {key: str(value) for key, value in parameters.items() if value is not None}
        fixed = {"format": "json", "formatversion": "2", "maxlag": str(MAXLAG)}
        url = f"{self.site.api}?{urlencode({'action': 'query', **given, **fixed})}"
        with self._turn:
            return self._asked(url)

    def pages_of(self, **parameters: object) -> Iterator[dict[str, Any]]:
        more: dict[str, object] = {}
        for _ in range(MAX_CONTINUED):
            reply = self.query(**{**parameters, **more})
            yield reply
            more = reply.get("continue") or {}
            if not isinstance(more, dict) or not more:
                return
        message = f"{self.site.host} sends a listing without end; gave up."
        raise WikiError(message, "endless")

    def html(self, revision_id: str) -> str:
        url = f"{self.site.base}{self.site.scripts}/rest.php/v1/revision/{revision_id}/html"
        with self._turn:
            reply = self._got(url, "text/html")
        if reply.status != 200:
            message = f"{self.site.host} gives no HTML of revision {revision_id}: {_status(reply)}"
            raise WikiError(message, "no_html")
        return reply.body.decode("utf-8", "replace")

    def _asked(self, url: str) -> dict[str, Any]:
        for attempt in range(ATTEMPTS):
            reply = self._got(url, "application/json")
            parsed = self._parsed(reply)
            error = parsed.get("error")
            if not isinstance(error, dict):
                return parsed
            code, info = str(error.get("code", "unknown")), str(error.get("info", ""))
            if code not in _REASONS or attempt == ATTEMPTS - 1:
                raise self._error(code, info)
            self._wait(reply, attempt, _REASONS[code])
        raise AssertionError

    def _got(self, url: str, accept: str) -> Reply:
        try:
            return self.web.get(url, accept=accept)
        except FetchError as error:
            error.args = (f"while requesting an article from {self.site.host}: {error}",)
            raise

    def _wait(self, reply: Reply, attempt: int, why: str) -> None:
        asked = seconds_to_wait(reply.headers.get("retry-after", ""))
        seconds = FIRST_WAIT * 2**attempt if asked is None else asked
        if seconds > LONGEST_WAIT:
            message = (
                f"{self.site.host} {why} and asks to wait {seconds:.0f} seconds. Try again later; "
                "finished work is kept."
            )
            raise WikiError(message, "busy")
        self.tell(f"{self.site.host} {why}; waiting {seconds:.0f} s")
        self.sleep(seconds)

    def _parsed(self, reply: Reply) -> dict[str, Any]:
        if reply.status in (401, 403, 451):
            message = (
                f"{self.site.api} refuses: {_status(reply)}. Setting a contact address may help."
            )
            raise WikiError(message, "refused")
        if reply.status in _BUSY:
            raise WikiError(f"{self.site.host} is busy: {_status(reply)}. Try again later.", "busy")
        try:
            parsed = json.loads(reply.body)
        except (ValueError, RecursionError):
            parsed = None
        known = {"query", "batchcomplete", "error", "continue"}
        if reply.status != 200 or not isinstance(parsed, dict) or not known & parsed.keys():
            message = (
                f"{self.site.api} is not a MediaWiki API ({_status(reply)}). Expected a "
                "wiki's address; if its scripts are elsewhere, set wiki to their folder."
            )
            raise WikiError(message, "not_mediawiki")
        return parsed

    def _error(self, code: str, info: str) -> WikiError:
        said = re.sub(r"\s+", " ", info)[:300]
        if code in _REASONS:
            message = f"{self.site.host} {_REASONS[code]} after {ATTEMPTS} attempts: "
            return WikiError(f"{message}{said} Try again later.", code)
        if code == "readapidenied":
            message = f"{self.site.host} can only be read by its members. {said}"
            return WikiError(message, code)
        return WikiError(f"{self.site.host} answered with an error: {code}: {said}", code)


def _status(reply: Reply) -> str:
    kind = reply.headers.get("content-type", "no type").partition(";")[0]
    return f"HTTP {reply.status}, {kind}, {len(reply.body)} bytes"


# ── one page ──────────────────────


class NoPage(StrEnum):
    """Why an address has no article."""

    MISSING = "missing"  # no page has this title or id
    MISSING_REVISION = "missing_revision"  # no such revision, or its page was deleted
    HIDDEN = "hidden"  # the text of this revision was deleted
    INVALID = "invalid"  # no page can have this title
    DISAMBIGUATION = "disambiguation"  # a list of articles
    INTERWIKI = "interwiki"  # leads to another wiki
    NOT_WIKITEXT = "not_wikitext"  # a script, a data item
    WIKI = "wiki"  # the wiki failed to answer: see `Refused.code`


@dataclass(frozen=True, slots=True)
class Page:
    """One revision of a page; `notes` are for people, in order of events."""

    site: Site
    title: str
    page_id: str
    revision_id: str
    timestamp: str
    wikitext: str
    language: str
    notes: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        return self.site.revision(self.revision_id)


@dataclass(frozen=True, slots=True)
class Refused:
    """Why there is no article, with similar titles or the pages of a disambiguation."""

    address: ArticleAddress
    reason: NoPage
    message: str
    choices: tuple[str, ...] = ()
    code: str = ""  # for `NoPage.WIKI`: the code of the `WikiError`

    def __str__(self) -> str:
        if not self.choices:
            return self.message
        lead = "It lists" if self.reason is NoPage.DISAMBIGUATION else "Near it"
        return f"{self.message} {lead}: {'; '.join(self.choices)}."


def fetch_page(api: ActionApi, address: ArticleAddress) -> Page | Refused:
    """Fetch the article at an address, or return why there is none.

    Raises:
        FetchError: there was no reply.
    """
    try:
        with known_form(api):
            return _fetched(api, address)
    except WikiError as error:
        return Refused(address, NoPage.WIKI, str(error), code=error.code)


@contextmanager
def known_form(api: ActionApi) -> Iterator[None]:
    """Convert errors in reading unexpected JSON to WikiError."""
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        message = f"{api.site.api} answers in an unexpected form: {error!r}"
        raise WikiError(message[:300], "not_mediawiki") from error


def article_of(page: Page, html: str | None = None) -> Article:
    article = parse_article(
        page.wikitext if html is None else html,
        page.title,
        markup="wikitext" if html is None else "html",
        revision_id=page.revision_id,
        timestamp=page.timestamp,
        language=page.language,
    )
    return replace(article, url=page.url, warnings=(*page.notes, *article.warnings))


def _fetched(api: ActionApi, address: ArticleAddress) -> Page | Refused:
    if address.revision_id:  # a revision is meant literally; a title or id may redirect
        named: dict[str, object] = {"revids": address.revision_id}
    elif address.page_id:
        named = {"pageids": address.page_id, "redirects": 1}
    else:
        named = {"titles": address.title, "redirects": 1}
    reply = api.query(
        prop="revisions|info|pageprops",
        inprop="protection",
        ppprop="disambiguation",
        rvprop="ids|timestamp|content",
        rvslots="main",
        meta="siteinfo",
        siprop="general",
        **named,
    )
    query = reply.get("query") or {}
    if not isinstance(query, dict):
        raise WikiError(f"{api.site.host} answers in an unknown form.", "not_mediawiki")
    if query.get("badrevids"):
        message = (
            f"there is no revision {address.revision_id} on {address.site.host}: the number is "
            "wrong, or its page was deleted."
        )
        return Refused(address, NoPage.MISSING_REVISION, message)
    if query.get("interwiki"):
        link = query["interwiki"][0]
        message = f"{link.get('title', address.title)!r} leads to another wiki, {link.get('iw')!r}."
        return Refused(address, NoPage.INTERWIKI, f"{message} Give its address there.")
    pages = query.get("pages")
    if not isinstance(pages, list) or not pages or not isinstance(pages[0], dict):
        if address.page_id:
            return _missing(api, address, {})
        raise WikiError(f"{api.site.host} gives no page for {address}.", "not_mediawiki")
    page = pages[0]
    if page.get("invalid"):
        why = str(page.get("invalidreason") or "the title is invalid")
        message = f"{api.site.host} has no page for {address.title!r}: {why}"
        return Refused(address, NoPage.INVALID, message)
    if page.get("missing"):
        return _missing(api, address, page)
    return _read(api, address, query, page)


def _read(
    api: ActionApi, address: ArticleAddress, query: dict[str, Any], page: dict[str, Any]
) -> Page | Refused:
    title = str(page.get("title", ""))
    revision = (page.get("revisions") or [{}])[0]
    slot = (revision.get("slots") or {}).get("main", revision)
    if revision.get("texthidden") or slot.get("texthidden"):
        message = f"revision {revision.get('revid')} of {title!r} was deleted by administrators."
        return Refused(address, NoPage.HIDDEN, message)
    model = str(slot.get("contentmodel", ""))
    if model not in _WIKITEXT:
        message = f"{title!r} holds {model}, not an article's text."
        return Refused(address, NoPage.NOT_WIKITEXT, message)
    if not isinstance(slot.get("content"), str) or not str(revision.get("revid", "")).isdecimal():
        raise WikiError(f"{api.site.host} gives no text of {title!r}.", "not_mediawiki")
    if "disambiguation" in (page.get("pageprops") or {}):
        listed = dict.fromkeys(
            c.strip().replace("_", " ") for c in _CHOICE.findall(slot["content"])
        )
        message = f"{title!r} is a disambiguation page, not an article. Choose one."
        return Refused(address, NoPage.DISAMBIGUATION, message, tuple(listed)[:MAX_CHOICES])
    current = str(page.get("lastrevid")) == str(revision["revid"])
    return Page(
        api.site,
        title,
        str(page.get("pageid", "")),
        str(revision["revid"]),
        str(revision.get("timestamp", "")),
        slot["content"],
        _language(api.site, query, page),
        tuple(_notes(address, query, page, current)),
    )


def _language(site: Site, query: dict[str, Any], page: dict[str, Any]) -> str:
    """The language of the page, else of the wiki, as an ISO 639 code without script."""
    general = query.get("general") or {}
    given = page.get("pagelanguage") or general.get("lang") or site.language or "en"
    code = str(given).lower()
    return "en" if code == "simple" or code.startswith("en-") else code.partition("-")[0]


def _notes(
    address: ArticleAddress, query: dict[str, Any], page: dict[str, Any], current: bool
) -> list[str]:
    title = str(page.get("title"))
    notes = [
        f"{r['from']!r} is a redirect to {r['to']!r}"
        + (f", section {r['tofragment']!r}" if r.get("tofragment") else "")
        for r in query.get("redirects") or []
    ]
    asked = address.title
    if address.revision_id and asked and asked[:1].upper() + asked[1:] != title:
        notes.append(f"revision {address.revision_id} belongs to {title!r}: {asked!r} was moved")
    if page.get("redirect"):
        notes.append(f"{title!r} is a redirect: this revision has no claims of its own")
    levels = sorted(
        {str(p.get("level")) for p in page.get("protection") or [] if p.get("type") == "edit"}
    )
    if levels:
        notes.append(f"{title!r} is protected: only {', '.join(levels)} may edit it")
    if not current:
        notes.append(f"an old revision: the newest is {page.get('lastrevid')}")
    return notes


def _missing(api: ActionApi, address: ArticleAddress, page: dict[str, Any]) -> Refused:
    """A missing page, with its log entries and similar titles."""
    title = str(page.get("title") or address.title or "")
    if not title:
        message = f"{api.site.host} has no page with the id {address.page_id}."
        return Refused(address, NoPage.MISSING, message)
    fate = _fate(api, title)
    message = f"{api.site.host} has no page {title!r}{fate}."
    return Refused(address, NoPage.MISSING, message, tuple(nearest(api, title)))


def _fate(api: ActionApi, title: str) -> str:
    """The move or deletion log's entry; empty if there is none."""
    try:
        reply = api.query(
            list="logevents", letitle=title, leprop="type|details|timestamp", lelimit=5
        )
    except WikiError:
        return ""
    for event in (reply.get("query") or {}).get("logevents") or []:
        day = str(event.get("timestamp", ""))[:10]
        target = (event.get("params") or {}).get("target_title")
        if event.get("type") == "move" and target:
            return f": it was moved to {target!r} on {day}"
        if event.get("type") == "delete" and event.get("action", "delete") == "delete":
            return f": it was deleted on {day}"
    return ""


def nearest(api: ActionApi, title: str) -> list[str]:
    """Titles with a similar spelling, else with the same beginning."""
    asked: Sequence[dict[str, object]] = (
        {"list": "prefixsearch", "pssearch": title, "pslimit": NEAREST, "psprofile": "fuzzy"},
        {"list": "prefixsearch", "pssearch": title.partition(" (")[0], "pslimit": NEAREST},
        {"list": "search", "srsearch": title, "srlimit": NEAREST, "srprop": ""},
    )
    for parameters in asked:
        try:
            query = api.query(**parameters).get("query") or {}
        except WikiError:
            continue
        if found := query.get(str(parameters["list"])):
            return [str(row.get("title")) for row in found][:NEAREST]
    return []


# ── many pages ──────────────────────


def members(api: ActionApi, category: str) -> list[str]:
    """The titles of a category's articles in the wiki's order, without subcategories.

    Raises:
        WikiError, FetchError
    """
    found: dict[str, None] = {}
    listing = api.pages_of(
        list="categorymembers",
        cmtitle=f"Category:{category}",
        cmtype="page",
        cmnamespace=0,
        cmlimit=500,
        cmprop="title",
    )
    with known_form(api):
        for reply in listing:
            rows = (reply.get("query") or {}).get("categorymembers") or []
            found |= dict.fromkeys(str(row["title"]) for row in rows)
    return list(found)


def latest(api: ActionApi, titles: Sequence[str]) -> dict[str, str | None]:
    """The newest revision id of each title, after redirects; None if there is no page."""
    found: dict[str, str | None] = {}
    for asked in _portions(titles):
        with known_form(api):
            found |= _latest(api, asked)
    return found


def _portions(titles: Sequence[str]) -> Iterator[list[str]]:
    portion: list[str] = []
    length = 0
    for title in titles:
        size = len(quote_plus(title)) + len("%7C")
        if portion and (len(portion) == TITLES_AT_ONCE or length + size > MAX_ENCODED):
            yield portion
            portion, length = [], 0
        portion.append(title)
        length += size
    if portion:
        yield portion


def _latest(api: ActionApi, titles: Sequence[str]) -> dict[str, str | None]:
    query = api.query(titles="|".join(titles), redirects=1, prop="info").get("query") or {}
    leads = {
        str(step["from"]): str(step["to"])
        for kind in ("normalized", "redirects")
        for step in query.get(kind) or []
    }
    ids = {str(page["title"]): page.get("lastrevid") for page in query.get("pages") or []}
    found: dict[str, str | None] = {}
    for title in titles:
        name = title
        for _ in range(4):  # normalised, then redirected; bounded because redirects may loop
            name = leads.get(name, name)
        found[title] = str(ids[name]) if ids.get(name) else None
    return found
