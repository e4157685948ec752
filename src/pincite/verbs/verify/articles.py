"""Articles from a file or, if the user allows fetching, from a wiki."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pincite.errors import ConfigError, FetchError, FetchingIsOff, InputError
from pincite.library import web_pages
from pincite.settings import Settings
from pincite.text.hosts import host_of
from pincite.types import Article
from pincite.wiki.addresses import (
    ArticleAddress,
    Site,
    addresses_in,
    category_at,
    parse_address,
    site_at,
    wikipedia,
)
from pincite.wiki.api import (
    KEY_VARIABLE,
    ActionApi,
    Page,
    Web,
    WikiError,
    article_of,
    fetch_page,
    latest,
    members,
)
from pincite.wiki.article import read_articles

# A name with one of these endings is a missing file, not a title.
_FILES = tuple(
    ".wiki .wikitext .mediawiki .txt .html .htm .xml .bz2 .gz .json .jsonl .zip .md".split()
)


def is_file(given: str) -> bool:
    """Whether the argument names a file, even a missing one."""
    if given == "-" or given.startswith(("./", "../", "/", "~")):
        return True
    try:
        exists = Path(given).exists()
    except (OSError, ValueError):  # name too long, or it contains a NUL
        exists = False
    return exists or ("://" not in given and given.lower().endswith(_FILES))


def home(settings: Settings) -> Site:
    return site_at(settings.verify.wiki) if settings.verify.wiki else wikipedia(settings.language)


def require_online(settings: Settings, what: str, site: Site, before: str = "") -> None:
    """Raise FetchingIsOff unless fetching is enabled."""
    if not settings.web.online:
        raise FetchingIsOff(f"{before}To fetch {what}, add --online.", site.api)


def api_of(
    site: Site, web: Web, settings: Settings, report: Callable[[str], None] = lambda message: None
) -> ActionApi:
    """The API of a wiki; that of `verify.wiki` is asked with its key.

    Raises:
        ConfigError: the key would be sent without encryption, and not to a private host.
    """
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key or not settings.verify.wiki or site.base != home(settings).base:
        return ActionApi(site, web, tell=report)
    names = {host for host, _ in settings.web.rules.private_hosts}
    if site.base.startswith("http://") and host_of(site.base) not in names:
        raise ConfigError(f"{KEY_VARIABLE} is not sent to {site.base}; use https.")
    return ActionApi(site, web, tell=report, key=key)


@dataclass(frozen=True, slots=True)
class Wikis:
    """The wikis used in a run, with one request at a time to each."""

    web: Web
    settings: Settings
    report: Callable[[str], None] = lambda message: None
    _apis: dict[Site, ActionApi] = field(default_factory=dict)

    def api(self, site: Site) -> ActionApi:
        if site not in self._apis:
            self._apis[site] = api_of(site, self.web, self.settings, self.report)
        return self._apis[site]

    def category(self, text: str, start: Site) -> list[ArticleAddress]:
        site, name = category_at(text, start)
        titles = members(self.api(site), name)
        if not titles:
            raise InputError(f"{site.host} has no articles in category {name!r}. Check the name.")
        return [ArticleAddress(site, title) for title in titles]

    def newest(self, addresses: Sequence[ArticleAddress]) -> list[ArticleAddress]:
        """Pin addresses given by title to their latest revision, if there is one."""
        found = list(addresses)
        for site in dict.fromkeys(address.site for address in addresses):
            places = [
                i
                for i, address in enumerate(addresses)
                if address.site == site and not (address.revision_id or address.page_id)
            ]
            titles = [str(addresses[i].title) for i in places]
            revisions = latest(self.api(site), titles)
            for i, title in zip(places, titles, strict=True):
                if revision := revisions[title]:
                    found[i] = ArticleAddress(site, revision_id=revision)
        return list(dict.fromkeys(found))


def fetch_article(text: str, settings: Settings, report: Callable[[str], None]) -> Article:
    """Fetch the article with this title or address. `report` receives its revision.

    Raises:
        FetchingIsOff: fetching is not enabled.
        InputError: there is no such article; the message lists alternatives.
        FetchError: the wiki did not answer.
    """
    address = parse_address(text, home(settings))
    no_file = "" if "://" in text else f"No file is called {text!r}. "
    require_online(settings, "that article" if no_file else text, address.site, no_file)
    with web_pages.open_web(settings.web) as web:
        try:
            page = fetch_page(api_of(address.site, web, settings, report), address)
        except WikiError as error:
            raise InputError(str(error)) from error
        report(about(page))
        return article_of(page)


def open_article(
    given: str | Path,
    title: str | None,
    settings: Settings,
    report: Callable[[str], None],
    *,
    language: str | None = None,
) -> Article:
    """Open an article from a file or a wiki.

    Args:
        given: a file name; anything else is a title or an address.
        title: which page of a dump; for any other file, its title.
        settings: whether a wiki may be queried, and which.
        report: as in `fetch_article`.
        language: overrides the language of a file.

    Raises:
        InputError: nothing can be read; FetchingIsOff, FetchError: as `fetch_article`.
    """
    if isinstance(given, str) and not is_file(given):
        return fetch_article(given, settings, report)
    otherwise = settings.language
    for article in read_articles(given, title=title, language=language, otherwise=otherwise):
        return article
    raise InputError(f"{given} contains no articles (empty, or only redirects). Check the file.")


def about(page: Page) -> str:
    head = f"{page.title}: revision {page.revision_id} of {page.timestamp[:10]}, {page.site.host}"
    return "\n".join((head, *(f"  {note}" for note in page.notes)))


def list_articles(
    wikis: Wikis, settings: Settings, lines: Sequence[str], category: str | None
) -> list[ArticleAddress]:
    """List the articles named in `lines` or in a category, each with its latest revision."""
    start = home(settings)
    if category:
        site, _ = category_at(category, start)
        require_online(settings, f"the category {category!r}", site)
    found = addresses_in(lines, start)
    for address in found:
        require_online(settings, str(address), address.site)
    try:
        found += wikis.category(category, start) if category else []
        return wikis.newest(found)
    except WikiError as error:
        raise InputError(str(error)) from error


def page_of(
    wikis: Wikis,
    address: ArticleAddress | Path,
    is_done: Callable[[Site, str], bool],
    settings: Settings,
) -> Page | Article | WikiError | FetchError | InputError | None:
    """Fetch one of many articles, or read a file's first.

    Returns None for a page that is already done, the error if it failed.
    """
    if isinstance(address, Path):
        try:
            return open_article(address.expanduser(), None, settings, lambda _: None)
        except InputError as error:
            return error
    if address.revision_id and is_done(address.site, address.revision_id):
        return None
    try:
        page = fetch_page(wikis.api(address.site), address)
    except (WikiError, FetchError) as error:
        return error
    return None if is_done(page.site, page.revision_id) else page
