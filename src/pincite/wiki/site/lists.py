"""Many articles at once: a category's members, a file of titles, and which of them changed."""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import quote_plus

from pincite.errors import InputError
from pincite.wiki.site.addresses import ArticleAddress, Site, normal, parse_address
from pincite.wiki.site.api import ActionApi
from pincite.wiki.site.pages import known_form
from pincite.wiki.templates import CATEGORY

TITLES_AT_ONCE = 50  # the limit for those who are not logged in as a bot
MAX_ENCODED = 3000  # characters of titles in an address, which the fetcher lets have 4000


def members(api: ActionApi, category: str) -> list[str]:
    """The titles of a category's articles, as the wiki sorts them; not those of subcategories.

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
    """The newest revision id of each title, redirects followed; None where there is no page."""
    found: dict[str, str | None] = {}
    for asked in _portions(titles):
        with known_form(api):
            found |= _latest(api, asked)
    return found


def _portions(titles: Sequence[str]) -> Iterator[list[str]]:
    """As many titles at a time as the wiki takes and as an address has room for."""
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
    numbers = {title: ids.get(_led(title, leads)) for title in titles}
    return {title: str(number) if number else None for title, number in numbers.items()}


def _led(title: str, leads: dict[str, str]) -> str:
    for _ in range(4):  # normalised, then redirected; a circle ends
        title = leads.get(title, title)
    return title


def category_at(text: str, home: Site) -> tuple[Site, str]:
    """A category as a person names it: its wiki, and its name without the namespace.

    >>> from pincite.wiki.site.addresses import wikipedia
    >>> category_at("[[:de:Kategorie:Boxer]]", wikipedia("en"))[1]
    'Boxer'

    Raises:
        InputError: it names no category.
    """
    address = parse_address(text, home)
    if not address.title:
        raise InputError(f"{text!r} names no category. Expected its name or its address.")
    space, colon, name = address.title.partition(":")
    if colon and space.strip().lower().replace(" ", "_") in CATEGORY:
        return address.site, normal(name)
    return address.site, address.title


def addresses_in(lines: Sequence[str], home: Site) -> list[ArticleAddress]:
    """The articles of a list, one a line, each once, however it is spelt; `*` and `#` lead lists.

    Raises:
        InputError: a line is no address; names it.
    """
    found: dict[ArticleAddress, None] = {}
    for number, line in enumerate(lines, 1):
        try:
            found[parse_address(re.sub(r"^[*#:;]+\s*", "", line), home)] = None
        except InputError as error:
            raise InputError(f"title {number} of the list: {error}") from error
    return list(found)
