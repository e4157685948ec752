"""Which pages to watch: categories, PagePile and PetScan lists, and the wiki's recent changes."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple
from urllib.parse import urlencode

from pincite.errors import InputError
from pincite.wiki.addresses import category_at
from pincite.wiki.api import MAX_CONTINUED, ActionApi, Web, WikiError, members

PAGEPILE = "https://pagepile.toolforge.org/api.php"
PETSCAN = "https://petscan.wmcloud.org/"


@dataclass(frozen=True, slots=True)
class Watched:
    """What of a wiki is watched, besides single pages. Lists are read again at each start."""

    categories: tuple[tuple[str, int], ...] = ()  # with the namespace of their pages
    piles: tuple[int, ...] = ()
    queries: tuple[int, ...] = ()  # of PetScan
    drafts: tuple[int, ...] = ()  # namespaces, all of whose pages are watched
    new_in: tuple[int, ...] = ()  # namespaces whose new pages are watched
    namespaces: tuple[int, ...] = (0,)  # whose changes are read

    @classmethod
    def of_json(cls, text: str | None) -> "Watched":
        stored = json.loads(text or "{}")
        stored["categories"] = map(tuple, stored.get("categories", ()))
        return cls(**{name: tuple(values) for name, values in stored.items()})

    def __or__(self, other: "Watched") -> "Watched":
        names = [part.name for part in fields(self)]
        both = {name: {*getattr(self, name), *getattr(other, name)} for name in names}
        return Watched(**{name: tuple(sorted(values)) for name, values in both.items()})

    def titles(self, api: ActionApi) -> list[str]:
        wiki = f"{api.site.language}wiki" if api.site.host.endswith(".wikipedia.org") else ""
        titles: list[str] = []
        for category, namespace in self.categories:
            titles += members(api, category_at(category, api.site)[1], namespace)
        for number in self.piles:
            titles += page_pile(api.web, number, wiki.replace("-", "_"))
        for number in self.queries:
            titles += pet_scan(api.web, number)
        for namespace in self.drafts:
            titles += in_namespace(api, namespace)
        return titles


class Changes(NamedTuple):
    """One reply of the wiki's recent changes; pages have the titles that they have at its end."""

    titles: tuple[str, ...]  # created, edited, moved, deleted or restored
    # Created, with their namespaces; without redirects, which would add the pages they lead to.
    new: tuple[tuple[str, int], ...]
    moves: tuple[tuple[str, str], ...]  # titles before and after, in order
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


def in_namespace(api: ActionApi, namespace: int) -> list[str]:
    """The titles of all pages of a namespace, such as 118, the drafts of English Wikipedia."""
    asked = {"apnamespace": namespace, "aplimit": 500, "apfilterredir": "nonredirects"}
    batches = listing(api, "allpages", **asked)
    return [str(row["title"]) for rows in batches for row in rows if "title" in row]


def changes(api: ActionApi, read_to: str, namespaces: Iterable[int]) -> Iterator[Changes]:
    """What changed since the last time, oldest first, in replies that say how far each reaches.

    That is a time and the numbers of the changes at that time, which must not come twice.
    """
    since, *seen = read_to.split("|")
    asked = {"rcdir": "newer", "rcstart": since, "rclimit": 500, "rctype": "edit|new|log"}
    asked |= {"rcprop": "ids|title|timestamp|redirect|loginfo"}
    asked["rcnamespace"] = "|".join(map(str, sorted(namespaces)))
    for rows in listing(api, "recentchanges", **asked):
        titles, new, moves = dict[str, None](), dict[str, int](), list[tuple[str, str]]()
        for row in rows:
            at, title = str(row.get("timestamp", "")), row.get("title")
            number = str(row.get("rcid"))
            if at > since:
                since, seen = at, []
            if not title or number in seen:
                continue
            if at == since:
                seen.append(number)
            titles[title] = None
            if row.get("type") == "new" and not row.get("redirect"):
                new[title] = row.get("ns", 0)
            to = (row.get("logparams") or {}).get("target_title")
            if row.get("logtype") == "move" and to:
                moves.append((title, to))
                titles[to] = None
                if title in new:
                    new[to] = new.pop(title)
        yield Changes(tuple(titles), tuple(new.items()), tuple(moves), "|".join([since, *seen]))


def page_pile(web: Web, number: int, database: str) -> list[str]:
    """The titles of a PagePile; `database` is the name of the wiki's, such as enwiki."""
    asked = {"id": number, "action": "get_data", "doit": 1, "format": "json"}
    pile = _json(web, f"{PAGEPILE}?{urlencode(asked)}")
    if database and pile.get("wiki", database) != database:
        raise InputError(f"PagePile {number} lists pages of {pile['wiki']}, not of {database}.")
    return _titles(pile.get("pages"), f"PagePile {number}")


def pet_scan(web: Web, number: int) -> list[str]:
    reply = _json(web, f"{PETSCAN}?{urlencode({'psid': number, 'format': 'json', 'doit': 1})}")
    rows = reply.get("pages")
    if rows is None:  # its form for old tools
        parts = reply.get("*") or [{}]
        rows = ((parts[0] if isinstance(parts, list) else {}).get("a") or {}).get("*")
    return _titles(rows, f"PetScan query {number}")


def _json(web: Web, url: str) -> dict[str, Any]:
    reply = web.get(url, accept="application/json")
    try:
        content = json.loads(reply.body)
    except (ValueError, RecursionError):
        content = None
    if reply.status != 200 or not isinstance(content, dict):
        raise InputError(f"{url} sent no list (HTTP {reply.status}). Check its number.")
    return content


def _titles(rows: object, source: str) -> list[str]:
    if not isinstance(rows, list):
        raise InputError(f"{source} has no list of pages.")
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
