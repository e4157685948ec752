"""Client for the MediaWiki API: one revision of a page, and lists of pages.

The caller provides the HTTP client (`Web`, see `web.fetch`), which makes one request at a time to
a host, and retries 429 and 5xx. With `maxlag=5` a wiki with lagging replicas returns an error with
status 200, so those retries happen here (https://www.mediawiki.org/wiki/Manual:Maxlag_parameter).
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote_plus, urlencode

from pincite.errors import FetchError, PinciteError
from pincite.text.hosts import seconds_to_wait
from pincite.types import Article
from pincite.wiki.addresses import ArticleAddress, Site
from pincite.wiki.article import PageText, parse_page

if TYPE_CHECKING:
    from pincite.web.addresses import Response

KEY_VARIABLE = "PINCITE_WIKI_KEY"  # of the wiki in the setting `verify.wiki`, and no other
# The client joins repeated headers by commas, which dates contain, too.
_SET_COOKIE = re.compile(r"(?:^|, )([^=;,\s]+)=([^;,]*)")
MAXLAG = 5  # seconds; the recommended value
ATTEMPTS = 5
FIRST_WAIT = 5.0  # seconds, doubled each time; Wikimedia's `Retry-After` for maxlag
LONGEST_WAIT = 120.0  # give up if the wiki asks for more
MAX_CONTINUED = 1000  # requests per listing: 500,000 members of a category
_REASONS = {  # transient errors, to retry later
    "maxlag": "lags behind",
    "ratelimited": "asks for fewer requests",
    "readonly": "is read-only for now",
}
MAX_CHOICES = 20  # listed of a disambiguation page
NEAREST = 5  # titles suggested for a missing one
# The first link in a line of a disambiguation page is the article it is about.
_CHOICE = re.compile(r"^[*#:]+[^\[\n]*\[\[:?([^\]\[|#\n]+)", re.MULTILINE)
TITLES_AT_ONCE = 50  # the limit for clients without a bot account
MAX_ENCODED = 3000  # characters of encoded titles in a URL, for which the fetcher allows 4,000


class Web(Protocol):
    """One request, retried while the host is busy. Raises FetchError if there is no reply."""

    def get(
        self, url: str, *, accept: str = "*/*", headers: Mapping[str, str] | None = None
    ) -> "Response": ...

    def post(
        self, url: str, form: Mapping[str, str], *, headers: Mapping[str, str] | None = None
    ) -> "Response": ...


class WikiError(PinciteError):
    """There is no article, or the wiki failed to answer.

    `code` is "missing", "missing_revision", "hidden", "invalid", "disambiguation", "interwiki",
    "not_wikitext", "not_mediawiki", "busy", "refused", "login", or the wiki's own code.
    """

    exit_code = 9

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class ActionApi:
    """The Action API of one wiki.

    `key` logs in to a wiki that only members can read: an owner-only OAuth 2 access token, or
    NAME@BOT:PASSWORD of a bot password.
    """

    site: Site
    web: Web
    sleep: Callable[[float], None] = time.sleep
    tell: Callable[[str], None] = lambda message: None  # called with messages about waits
    key: str = field(default="", repr=False)
    _login: dict[str, str] = field(default_factory=dict, repr=False)  # headers of requests

    def query(self, **parameters: object) -> dict[str, Any]:
        """Send one query; parameters with None are omitted. Raises WikiError or FetchError."""
        if self.key and not self._login:
            self._log_in()
        try:
            return self._query(parameters)
        except WikiError as error:
            if error.code != "readapidenied" or "cookie" not in self._login:
                raise
        self._login.clear()  # the session has ended
        self._log_in()
        return self._query(parameters)

    def _log_in(self) -> None:
        """Log in (https://www.mediawiki.org/wiki/API:Login). Raises WikiError or FetchError."""
        name, _, password = self.key.partition(":")
        if "@" not in name or not password:
            self._login["authorization"] = f"Bearer {self.key}"
            return
        cookies: dict[str, str] = {}
        token = ""
        for form in ({"action": "query", "meta": "tokens", "type": "login"}, {"action": "login"}):
            if token:
                form |= {"lgname": name, "lgpassword": password, "lgtoken": token}
            form |= {"format": "json", "formatversion": "2"}
            sent = {"cookie": "; ".join(map("=".join, cookies.items()))} if cookies else {}
            reply = self.web.post(self.site.api, form, headers=sent)
            cookies |= _SET_COOKIE.findall(reply.headers.get("set-cookie", ""))
            with _expected_form(self):
                answer = self._parse(reply)
                token = token or answer["query"]["tokens"]["logintoken"]
        result = answer.get("login") or {}
        if result.get("result") != "Success":
            why = str(result.get("reason") or result.get("result"))[:300]
            raise WikiError(f"{self.site.host} refuses the login of {name}: {why}", "login")
        self._login["cookie"] = "; ".join(map("=".join, cookies.items()))

    def _query(self, parameters: Mapping[str, object]) -> dict[str, Any]:
        given = {key: str(value) for key, value in parameters.items() if value is not None}
        fixed = {"format": "json", "formatversion": "2", "maxlag": str(MAXLAG)}
        url = f"{self.site.api}?{urlencode({'action': 'query', **given, **fixed})}"
        host = self.site.host
        for attempt in range(ATTEMPTS):
            try:
                reply = self.web.get(url, accept="application/json", headers=self._login)
            except FetchError as error:
                error.args = (f"while requesting an article from {host}: {error}",)
                raise
            parsed = self._parse(reply)
            failure = parsed.get("error")
            if not isinstance(failure, dict):
                return parsed
            code = str(failure.get("code", "unknown"))
            info = re.sub(r"\s+", " ", str(failure.get("info", "")))[:300]
            if code == "readapidenied":
                step = f"Set verify.wiki and the variable {KEY_VARIABLE}."
                raise WikiError(f"{host} can only be read by its members. {step}", code)
            if code not in _REASONS:
                raise WikiError(f"{host} answered with an error: {code}: {info}", code)
            why = _REASONS[code]
            if attempt == ATTEMPTS - 1:
                break
            stated = seconds_to_wait(reply.headers.get("retry-after", ""))
            seconds = FIRST_WAIT * 2**attempt if stated is None else stated
            if seconds > LONGEST_WAIT:
                message = f"{host} {why} and asks to wait {seconds:.0f} seconds. Try again later."
                raise WikiError(message, "busy")
            self.tell(f"{host} {why}; waiting {seconds:.0f} s")
            self.sleep(seconds)
        raise WikiError(f"{host} {why} after {ATTEMPTS} attempts: {info} Try again later.", code)

    def _parse(self, reply: "Response") -> dict[str, Any]:
        kind = reply.headers.get("content-type", "no type").partition(";")[0]
        status = f"HTTP {reply.status}, {kind}, {len(reply.body)} bytes"
        if reply.status in (401, 403, 451):
            message = f"{self.site.api} refuses: {status}. Setting a contact address may help."
            raise WikiError(message, "refused")
        if reply.status in (429, 500, 502, 503, 504):
            raise WikiError(f"{self.site.host} is busy: {status}. Try again later.", "busy")
        try:
            parsed = json.loads(reply.body)
        except (ValueError, RecursionError):
            parsed = None
        known = {"query", "batchcomplete", "error", "continue", "login"}
        if reply.status != 200 or not isinstance(parsed, dict) or not known & parsed.keys():
            message = (
                f"{self.site.api} is not a MediaWiki API ({status}). Expected a wiki's address; "
                "if its scripts are elsewhere, set wiki to their folder."
            )
            raise WikiError(message, "not_mediawiki")
        return parsed


@contextmanager
def _expected_form(api: ActionApi) -> Iterator[None]:
    """Convert errors in reading unexpected JSON to WikiError."""
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        message = f"{api.site.api} answers in an unexpected form: {error!r}"
        raise WikiError(message[:300], "not_mediawiki") from error


@dataclass(frozen=True, slots=True)
class Page:
    """One revision of a page; `notes` are for people, in order of events."""

    site: Site
    title: str
    revision_id: str
    timestamp: str
    wikitext: str
    language: str
    notes: tuple[str, ...] = ()
    page_id: str = ""  # stays the same when the page is moved
    namespace: int = 0


def article_of(page: Page) -> Article:
    known = (page.revision_id, page.timestamp, page.language)
    article = parse_page(PageText(page.wikitext, page.title, "wikitext", *known))
    url = page.site.revision(page.revision_id)
    warnings = (*page.notes, *article.warnings)
    return replace(article, url=url, warnings=warnings, page_id=page.page_id or None)


def fetch_page(api: ActionApi, address: ArticleAddress) -> Page:
    """Fetch the article at an address.

    Raises WikiError if there is none, with similar titles or those of a disambiguation page, and
    FetchError if there was no reply.
    """
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
    with _expected_form(api):
        query = reply.get("query") or {}
        return _page(api, address, query, _existing_page(api, address, query))


def _existing_page(
    api: ActionApi, address: ArticleAddress, query: dict[str, Any]
) -> dict[str, Any]:
    host = api.site.host
    if query.get("badrevids"):
        message = (
            f"there is no revision {address.revision_id} on {host}: the number is wrong, or its "
            "page was deleted."
        )
        raise WikiError(message, "missing_revision")
    if query.get("interwiki"):
        link = query["interwiki"][0]
        message = f"{link.get('title', address.title)!r} leads to another wiki, {link.get('iw')!r}."
        raise WikiError(f"{message} Give its address there.", "interwiki")
    pages = query.get("pages") or ([{"missing": True}] if address.page_id else [])
    if not pages:
        raise WikiError(f"{host} returned no page for {address}.", "not_mediawiki")
    page: dict[str, Any] = pages[0]
    if page.get("invalid"):
        why = str(page.get("invalidreason") or "the title is invalid")
        raise WikiError(f"{host} has no page for {address.title!r}: {why}", "invalid")
    if page.get("missing"):
        title = str(page.get("title") or address.title or "")
        if not title:
            raise WikiError(f"{host} has no page with the id {address.page_id}.", "missing")
        message = f"{host} has no page {title!r}."
        raise WikiError(message + _title_list("Similar titles", nearest(api, title)), "missing")
    return page


def _page(
    api: ActionApi, address: ArticleAddress, query: dict[str, Any], page: dict[str, Any]
) -> Page:
    title, host = str(page.get("title", "")), api.site.host
    revision = (page.get("revisions") or [{}])[0]
    slot = (revision.get("slots") or {}).get("main", revision)
    if revision.get("texthidden") or slot.get("texthidden"):
        message = f"revision {revision.get('revid')} of {title!r} was deleted by administrators."
        raise WikiError(message, "hidden")
    if (model := str(slot.get("contentmodel", ""))) not in ("wikitext", ""):
        raise WikiError(f"{title!r} contains {model}, not an article's text.", "not_wikitext")
    if not isinstance(slot.get("content"), str) or not str(revision.get("revid", "")).isdecimal():
        raise WikiError(f"{host} returned no text for {title!r}.", "not_mediawiki")
    if "disambiguation" in (page.get("pageprops") or {}):
        links = (link.strip().replace("_", " ") for link in _CHOICE.findall(slot["content"]))
        choices = list(dict.fromkeys(links))[:MAX_CHOICES]
        message = f"{title!r} is a disambiguation page, not an article. Choose one."
        raise WikiError(message + _title_list("It lists", choices), "disambiguation")
    # The language of the page, else of the wiki, as an ISO 639 code without script.
    general = query.get("general") or {}
    given = page.get("pagelanguage") or general.get("lang") or api.site.language or "en"
    code = str(given).lower()
    language = "en" if code == "simple" or code.startswith("en-") else code.partition("-")[0]
    return Page(
        api.site,
        title,
        str(revision["revid"]),
        str(revision.get("timestamp", "")),
        slot["content"],
        language,
        tuple(_notes(address, query, page, str(revision["revid"]))),
        str(page.get("pageid", "")),
        int(page.get("ns", 0)),
    )


def _title_list(lead: str, titles: Sequence[str]) -> str:
    return f" {lead}: {'; '.join(titles)}." if titles else ""


def _notes(
    address: ArticleAddress, query: dict[str, Any], page: dict[str, Any], revision_id: str
) -> Iterator[str]:
    title, wanted = str(page.get("title")), address.title
    for redirect in query.get("redirects") or []:
        section = redirect.get("tofragment")
        note = f"{redirect['from']!r} is a redirect to {redirect['to']!r}"
        yield note + (f", section {section!r}" if section else "")
    if address.revision_id and wanted and wanted[:1].upper() + wanted[1:] != title:
        yield f"revision {address.revision_id} belongs to {title!r}: {wanted!r} was moved"
    if page.get("redirect"):
        yield f"{title!r} is a redirect: this revision has no claims of its own"
    protection = page.get("protection") or []
    if levels := {str(limit.get("level")) for limit in protection if limit.get("type") == "edit"}:
        yield f"{title!r} is protected: only {', '.join(sorted(levels))} may edit it"
    if str(page.get("lastrevid")) != revision_id:
        yield f"an old revision: the newest is {page.get('lastrevid')}"


def nearest(api: ActionApi, title: str) -> list[str]:
    """Titles with a similar spelling, else pages that the wiki's search finds."""
    similar = {"list": "prefixsearch", "pssearch": title, "psprofile": "fuzzy"}
    for asked in (similar, {"list": "search", "srsearch": title, "srprop": ""}):
        limit = {"pslimit" if "pssearch" in asked else "srlimit": NEAREST}
        try:
            reply = api.query(**asked, **limit)
        except WikiError:
            return []
        if rows := (reply.get("query") or {}).get(asked["list"]):
            return [str(row.get("title")) for row in rows]
    return []


def members(api: ActionApi, category: str, namespace: int = 0) -> list[str]:
    """The titles of a category's pages in the wiki's order, without subcategories."""
    titles: dict[str, None] = {}
    following: dict[str, object] = {}
    for _ in range(MAX_CONTINUED):
        reply = api.query(
            list="categorymembers",
            cmtitle=f"Category:{category}",
            cmtype="page",
            cmnamespace=namespace,
            cmlimit=500,
            cmprop="title",
            **following,
        )
        with _expected_form(api):
            rows = (reply.get("query") or {}).get("categorymembers") or []
            titles |= dict.fromkeys(str(row["title"]) for row in rows)
            following = dict(reply.get("continue") or {})
        if not following:
            return list(titles)
    raise WikiError(f"{api.site.host} sends an endless listing; gave up.", "endless")


def latest(api: ActionApi, titles: Sequence[str]) -> dict[str, str | None]:
    """The newest revision id of each title, after redirects; None if there is no page."""
    revisions: dict[str, str | None] = {}
    for portion in _portions(titles):
        reply = api.query(titles="|".join(portion), redirects=1, prop="info")
        with _expected_form(api):
            query = reply.get("query") or {}
            steps = [*(query.get("normalized") or []), *(query.get("redirects") or [])]
            leads = {str(step["from"]): str(step["to"]) for step in steps}
            ids = {str(page["title"]): page.get("lastrevid") for page in query.get("pages") or []}
        for title in portion:
            name = title
            for _ in range(4):  # normalised, then redirected; bounded because redirects may loop
                name = leads.get(name, name)
            revisions[title] = str(ids[name]) if ids.get(name) else None
    return revisions


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
