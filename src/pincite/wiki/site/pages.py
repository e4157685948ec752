"""From an address to one revision of an article, or to a clear reason why there is none.

Every article ends at a revision id: a title means another text tomorrow. What happened on the way
(a redirect, a move, a protection) is told in `Page.notes`.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from pincite.types import Article
from pincite.wiki.article import parse_article
from pincite.wiki.site.addresses import ArticleAddress, Site
from pincite.wiki.site.api import ActionApi, WikiError

MAX_CHOICES = 20  # of a disambiguation page
NEAREST = 5  # titles that are named when one is missing
_WIKITEXT = ("wikitext", "")
# A line of a disambiguation page leads with the article that it is about.
_CHOICE = re.compile(r"^[*#:]+[^\[\n]*\[\[:?([^\]\[|#\n]+)", re.MULTILINE)


class NoPage(StrEnum):
    """Why an address gives no article."""

    MISSING = "missing"  # no page has this title or id
    MISSING_REVISION = "missing_revision"  # no such revision, or its page was deleted
    HIDDEN = "hidden"  # the text of this revision was deleted
    INVALID = "invalid"  # the wiki says that nothing can be called that
    DISAMBIGUATION = "disambiguation"  # a list of articles
    INTERWIKI = "interwiki"  # leads to another wiki
    NOT_WIKITEXT = "not_wikitext"  # a script, a data item
    WIKI = "wiki"  # the wiki did not answer as asked: see `Refused.code`


@dataclass(frozen=True, slots=True)
class Page:
    """One revision of a page. `notes` are for a person, in the order of what happened."""

    site: Site
    title: str
    page_id: str
    revision_id: str
    timestamp: str
    wikitext: str
    language: str
    current: bool = True  # whether it was the newest when it was asked for
    notes: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """The address of this very revision."""
        return self.site.revision(self.revision_id)


@dataclass(frozen=True, slots=True)
class Refused:
    """No article, why, and what it may be instead: titles that are near, or pages of a list."""

    address: ArticleAddress
    reason: NoPage
    message: str
    choices: tuple[str, ...] = ()
    code: str = ""  # for `NoPage.WIKI`: of `WikiError`

    def __str__(self) -> str:
        """One message for a person."""
        if not self.choices:
            return self.message
        lead = "It lists" if self.reason is NoPage.DISAMBIGUATION else "Near it"
        return f"{self.message} {lead}: {'; '.join(self.choices)}."


def fetch_page(api: ActionApi, address: ArticleAddress) -> Page | Refused:
    """The article at an address. Everything a wiki may say ends as one of the two.

    Raises:
        FetchError: no reply came at all.
    """
    try:
        with known_form(api):
            return _fetched(api, address)
    except WikiError as error:
        return Refused(address, NoPage.WIKI, str(error), code=error.code)


@contextmanager
def known_form(api: ActionApi) -> Iterator[None]:
    """A reply that is JSON of another form than MediaWiki's ends as a WikiError."""
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        message = f"{api.site.api} answers in a form that MediaWiki's has not: {error!r}"
        raise WikiError(message[:300], "not_mediawiki") from error


def article_of(page: Page, html: str | None = None) -> Article:
    """Its claims, with the revision on record; from the wikitext, unless its HTML is given."""
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
    reply = api.query(
        prop="revisions|info|pageprops",
        inprop="protection",
        ppprop="disambiguation",
        rvprop="ids|timestamp|content",
        rvslots="main",
        meta="siteinfo",
        siprop="general",
        **_named(address),
    )
    query = reply.get("query") or {}
    if not isinstance(query, dict):
        raise WikiError(f"{api.site.host} answers in an unknown form.", "not_mediawiki")
    if query.get("badrevids"):
        return _no_revision(address)
    if query.get("interwiki"):
        return _elsewhere(address, query["interwiki"])
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


def _named(address: ArticleAddress) -> dict[str, object]:
    """A revision is wanted itself; a title or an id may redirect."""
    if address.revision_id:
        return {"revids": address.revision_id}
    if address.page_id:
        return {"pageids": address.page_id, "redirects": 1}
    return {"titles": address.title, "redirects": 1}


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
        return _disambiguation(address, title, slot["content"])
    current = str(page.get("lastrevid")) == str(revision["revid"])
    return Page(
        api.site,
        title,
        str(page.get("pageid", "")),
        str(revision["revid"]),
        str(revision.get("timestamp", "")),
        slot["content"],
        _language(api.site, query, page),
        current,
        tuple(_notes(address, query, page, current)),
    )


def _language(site: Site, query: dict[str, Any], page: dict[str, Any]) -> str:
    """Of the page, else of the wiki; a code of ISO 639, without its script."""
    general = query.get("general") or {}
    given = page.get("pagelanguage") or general.get("lang") or site.language or "en"
    code = str(given).lower()
    return "en" if code == "simple" or code.startswith("en-") else code.partition("-")[0]


def _notes(
    address: ArticleAddress, query: dict[str, Any], page: dict[str, Any], current: bool
) -> list[str]:
    """What a person should know about how the article was found."""
    title = str(page.get("title"))
    notes = [
        f"{r['from']!r} is a redirect to {r['to']!r}" + _at_section(r)
        for r in query.get("redirects") or []
    ]
    asked = address.title
    if address.revision_id and asked and _first_upper(asked) != title:
        notes.append(f"revision {address.revision_id} belongs to {title!r}: {asked!r} was moved")
    if page.get("redirect"):
        notes.append(f"{title!r} is a redirect: this revision has no claims of its own")
    levels = sorted({str(p.get("level")) for p in page.get("protection") or [] if _is_edit(p)})
    if levels:
        notes.append(f"{title!r} is protected: only {', '.join(levels)} may edit it")
    if not current:
        notes.append(f"an old revision: the newest is {page.get('lastrevid')}")
    return notes


def _at_section(redirect: dict[str, Any]) -> str:
    return f", section {redirect['tofragment']!r}" if redirect.get("tofragment") else ""


def _first_upper(title: str) -> str:
    return title[:1].upper() + title[1:]


def _is_edit(protection: dict[str, Any]) -> bool:
    return protection.get("type") == "edit"


def _no_revision(address: ArticleAddress) -> Refused:
    message = (
        f"there is no revision {address.revision_id} on {address.site.host}: the number is wrong, "
        "or its page was deleted."
    )
    return Refused(address, NoPage.MISSING_REVISION, message)


def _elsewhere(address: ArticleAddress, links: Any) -> Refused:
    link = links[0] if isinstance(links, list) and links else {}
    message = f"{link.get('title', address.title)!r} leads to another wiki, {link.get('iw')!r}."
    return Refused(address, NoPage.INTERWIKI, f"{message} Give its address there.")


def _disambiguation(address: ArticleAddress, title: str, text: str) -> Refused:
    listed = dict.fromkeys(found.strip().replace("_", " ") for found in _CHOICE.findall(text))
    message = f"{title!r} is a disambiguation page, not an article. Choose one."
    return Refused(address, NoPage.DISAMBIGUATION, message, tuple(listed)[:MAX_CHOICES])


def _missing(api: ActionApi, address: ArticleAddress, page: dict[str, Any]) -> Refused:
    """No such page: what the logs say became of it, and what is called nearly so."""
    title = str(page.get("title") or address.title or "")
    if not title:
        message = f"{api.site.host} has no page with the id {address.page_id}."
        return Refused(address, NoPage.MISSING, message)
    fate = _fate(api, title)
    message = f"{api.site.host} has no page {title!r}{fate}."
    return Refused(address, NoPage.MISSING, message, tuple(nearest(api, title)))


def _fate(api: ActionApi, title: str) -> str:
    """What the log of moves and deletions says; empty if nothing, or if the wiki does not tell."""
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
    """Titles that are spelt nearly so, else that begin so; nothing if the wiki does not tell."""
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
