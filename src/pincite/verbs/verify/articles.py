"""Articles from a file or, if the user allows fetching, from a wiki."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pincite.errors import ConfigError, FetchingIsOff, InputError
from pincite.settings import Settings
from pincite.text.hosts import host_of
from pincite.types import Article
from pincite.wiki import api as wiki
from pincite.wiki.addresses import (
    ArticleAddress,
    Site,
    addresses_in,
    category_at,
    parse_address,
    site_at,
    wikipedia,
)
from pincite.wiki.article import read_articles

# A name with one of these endings is a missing file, not a title.
_FILE_ENDINGS = tuple(
    ".wiki .wikitext .mediawiki .txt .html .htm .xml .bz2 .gz .json .jsonl .zip .md".split()
)


def is_file(given: str) -> bool:
    """Whether the argument names a file, even a missing one."""
    if given == "-" or given.startswith(("./", "../", "/", "~")):
        return True
    exists = os.path.exists(given)  # noqa: PTH110 - a Path refuses names that are too long
    return exists or ("://" not in given and given.lower().endswith(_FILE_ENDINGS))


def home(settings: Settings) -> Site:
    """Return the wiki of titles: the configured one, or Wikipedia in the user's language."""
    return site_at(settings.verify.wiki) if settings.verify.wiki else wikipedia(settings.language)


def require_online(settings: Settings, target: str, site: Site, before: str = "") -> None:
    """Raise FetchingIsOff unless fetching is enabled; `before`: what the message says first."""
    if not settings.web.online:
        raise FetchingIsOff(f"{before}To fetch {target}, add --online.", site.api)


def api_of(
    site: Site, web: wiki.Web, settings: Settings, report: Callable[[str], None]
) -> wiki.ActionApi:
    """Return the API of a wiki; requests to that of `verify.wiki` carry its key, if encrypted."""
    key = os.environ.get(wiki.KEY_VARIABLE, "").strip()
    if not key or not settings.verify.wiki or site.base != home(settings).base:
        return wiki.ActionApi(site, web, tell=report)
    private_hosts = {host for host, _ in settings.web.rules.private_hosts}
    if site.base.startswith("http://") and host_of(site.base) not in private_hosts:
        raise ConfigError(f"{wiki.KEY_VARIABLE} is not sent to {site.base}; use https.")
    return wiki.ActionApi(site, web, tell=report, key=key)


@dataclass(frozen=True, slots=True)
class Wikis:
    """The wikis used in a run, with one request at a time to each."""

    web: wiki.Web
    settings: Settings
    report: Callable[[str], None]
    _apis: dict[Site, wiki.ActionApi] = field(default_factory=dict)

    def api(self, site: Site) -> wiki.ActionApi:
        if site not in self._apis:
            self._apis[site] = api_of(site, self.web, self.settings, self.report)
        return self._apis[site]

    def addresses(self, lines: Sequence[str], category: str | None) -> list[ArticleAddress]:
        """List the articles named in `lines` or in a category, each with its latest revision.

        Raises InputError if there are none, and FetchingIsOff.
        """
        start = home(self.settings)
        if category:
            site, name = category_at(category, start)
            require_online(self.settings, f"the category {category!r}", site)
        addresses = addresses_in(lines, start)
        for address in addresses:
            require_online(self.settings, str(address), address.site)
        try:
            if category:
                titles = wiki.members(self.api(site), name)
                if not titles:
                    raise InputError(
                        f"{site.host} has no articles in category {name!r}. Check the name."
                    )
                addresses += [ArticleAddress(site, title) for title in titles]
            return self._newest(addresses)
        except wiki.WikiError as error:
            raise InputError(str(error)) from error

    def _newest(self, addresses: Sequence[ArticleAddress]) -> list[ArticleAddress]:
        """Pin addresses given by title to their latest revision, if there is one."""
        latest_of: dict[ArticleAddress, ArticleAddress] = {}
        for site in dict.fromkeys(address.site for address in addresses):
            untied = [a for a in addresses if a.site == site and not (a.revision_id or a.page_id)]
            revisions = wiki.latest(self.api(site), [str(address.title) for address in untied])
            for address in untied:
                if revision := revisions[str(address.title)]:
                    latest_of[address] = ArticleAddress(site, revision_id=revision)
        return list(dict.fromkeys(latest_of.get(address, address) for address in addresses))


def fetch_article(text: str, settings: Settings, report: Callable[[str], None]) -> Article:
    """Fetch the article with this title or address. `report` receives its revision.

    Raises FetchingIsOff, FetchError, and InputError (there is none; it lists alternatives).
    """
    address = parse_address(text, home(settings))
    if "://" in text:
        require_online(settings, text, address.site)
    else:
        require_online(settings, "that article", address.site, f"No file is called {text!r}. ")
    from pincite.library.web_pages import open_web

    with open_web(settings.web) as web:
        try:
            page = wiki.fetch_page(api_of(address.site, web, settings, report), address)
        except wiki.WikiError as error:
            raise InputError(str(error)) from error
        report(about(page))
        return wiki.article_of(page)


def open_article(
    given: str | Path,
    title: str | None,
    settings: Settings,
    report: Callable[[str], None],
    *,
    language: str | None = None,
) -> Article:
    """Open an article from a file or a wiki.

    `given` is a file name; anything else is a title or an address. `title` chooses a page of a
    dump, and names the article of any other file. `language` overrides that of a file.

    Raises InputError if nothing can be read, else as `fetch_article`.
    """
    if isinstance(given, str) and not is_file(given):
        return fetch_article(given, settings, report)
    otherwise = settings.language
    pages = read_articles(given, title=title, language=language, otherwise=otherwise)
    if article := next(iter(pages), None):
        return article
    raise InputError(f"{given} contains no articles (empty, or only redirects). Check the file.")


def about(page: wiki.Page) -> str:
    """Name a page with its revision; what the wiki notes of it follows on lines of its own."""
    head = f"{page.title}: revision {page.revision_id} of {page.timestamp[:10]}, {page.site.host}"
    return "\n".join((head, *(f"  {note}" for note in page.notes)))
