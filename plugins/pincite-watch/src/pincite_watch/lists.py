"""Which pages to watch: categories, PagePile and PetScan lists, and the wiki's recent changes."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from pincite.errors import InputError
from pincite.wiki.api import MAX_CONTINUED, ActionApi, Web, WikiError

PAGEPILE = "https://pagepile.toolforge.org/api.php"
PETSCAN = "https://petscan.wmcloud.org/"


class Changes(NamedTuple):
    """One reply of the wiki's recent changes."""

    titles: tuple[str, ...]  # created, edited, moved, deleted or restored
    new: tuple[str, ...]  # created; without redirects, which would add the pages they lead to
    read_to: str  # where the next request begins


def listing(api: ActionApi, name: str, **parameters: object) -> Iterator[list[Mapping[str, Any]]]:
    """The rows of a list, reply by reply. Raises WikiError or FetchError."""
    following: dict[str, object] = {}
    for _ in range(MAX_CONTINUED):
        reply = api.query(list=name, **parameters, **following)
        rows = (reply.get("query") or {}).get(name) or []
        if not all(isinstance(row, dict) for row in rows):
            raise WikiError(f"{api.site.api} answers in an unexpected form.", "not_mediawiki")
        yield rows
        following = dict(reply.get("continue") or {})
        if not following:
            return
    raise WikiError(f"{api.site.host} sends an endless listing; gave up.", "endless")


def members(api: ActionApi, category: str, namespace: int = 0) -> list[str]:
    """The titles of a category's pages."""
    asked = {"cmtitle": f"Category:{category}", "cmtype": "page", "cmnamespace": namespace}
    found = listing(api, "categorymembers", **asked, cmlimit=500, cmprop="title")
    return [str(row["title"]) for rows in found for row in rows if "title" in row]


def in_namespace(api: ActionApi, namespace: int) -> list[str]:
    """The titles of all pages of a namespace, such as 118, the drafts of English Wikipedia."""
    asked = {"apnamespace": namespace, "aplimit": 500, "apfilterredir": "nonredirects"}
    found = listing(api, "allpages", **asked)
    return [str(row["title"]) for rows in found for row in rows if "title" in row]


def changes(api: ActionApi, since: str, namespaces: frozenset[int]) -> Iterator[Changes]:
    """What changed since a time, oldest first, in replies that each say how far they reach.

    A change at the very time where a reply ends may come twice.
    """
    asked = {"rcdir": "newer", "rcstart": since, "rclimit": 500, "rctype": "edit|new|log"}
    asked |= {"rcprop": "title|timestamp|redirect"}
    asked["rcnamespace"] = "|".join(map(str, sorted(namespaces)))
    for rows in listing(api, "recentchanges", **asked):
        named = [row for row in rows if row.get("title")]
        since = max([since, *(str(row["timestamp"]) for row in rows if row.get("timestamp"))])
        new = [r for r in named if r.get("type") == "new" and not r.get("redirect")]
        titles, created = (tuple(str(row["title"]) for row in rows) for rows in (named, new))
        yield Changes(titles, created, since)


def page_pile(web: Web, number: int, database: str) -> list[str]:
    """The titles of a PagePile; `database` is the name of the wiki's, such as enwiki."""
    asked = {"id": number, "action": "get_data", "doit": 1, "format": "json"}
    found = _json(web, f"{PAGEPILE}?{urlencode(asked)}")
    if database and found.get("wiki", database) != database:
        raise InputError(f"PagePile {number} lists pages of {found['wiki']}, not of {database}.")
    return _titles(found.get("pages"), f"PagePile {number}")


def pet_scan(web: Web, number: int) -> list[str]:
    """The titles of a saved PetScan query."""
    found = _json(web, f"{PETSCAN}?{urlencode({'psid': number, 'format': 'json', 'doit': 1})}")
    rows = found.get("pages")
    if rows is None:  # its form for old tools
        parts = found.get("*") or [{}]
        rows = ((parts[0] if isinstance(parts, list) else {}).get("a") or {}).get("*")
    return _titles(rows, f"PetScan query {number}")


def _json(web: Web, url: str) -> dict[str, Any]:
    reply = web.get(url, accept="application/json")
    try:
        found = json.loads(reply.body)
    except (ValueError, RecursionError):
        found = None
    if reply.status != 200 or not isinstance(found, dict):
        raise InputError(f"{url} sent no list (HTTP {reply.status}). Check its number.")
    return found


def _titles(rows: object, what: str) -> list[str]:
    if not isinstance(rows, list):
        raise InputError(f"{what} has no list of pages.")
    titles: list[str] = []
    for row in rows:
        title = row
        if isinstance(row, dict):
            title = row.get("page_title") or row.get("title")
            space = row.get("nstext") or row.get("page_namespace_text") or ""
            title = f"{space}:{title}" if space and title else title
        if isinstance(title, str) and title.strip():
            titles.append(title.replace("_", " ").strip())
    return titles
