"""Parses article addresses: a title, a wikilink or a URL. Makes no request.

A mobile host is mapped to the desktop host; an interwiki prefix selects another wiki; a fragment
names a section.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from pincite.errors import InputError
from pincite.text import patterns
from pincite.wiki.templates import CATEGORY, TABLE

MAX_ADDRESS = 4096  # characters; a title has at most 255 bytes, 765 percent-encoded
MAX_TITLE = 255  # bytes in UTF-8: MediaWiki's limit
_SAFE = "/:;@$!*(),~-._"  # characters that MediaWiki does not percent-encode
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:(?=//)|(?:javascript|data|file|mailto):", re.IGNORECASE)
_BARE_HOST = re.compile(r"(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?/", re.IGNORECASE)
_ID = re.compile(r"[1-9]\d{0,17}")
_LINK = re.compile(r"\[\[(?P<target>[^\[\]|{}<>\n]+)(?:\|[^\[\]\n]*)?\]\]")
_NEVER_IN_TITLES = re.compile(r"[\[\]{}|<>\x00-\x1f\x7f\ufffd]|%[0-9A-Fa-f]{2}")
_SPECIAL_ID = patterns(__file__, "addresses")["special_id"]
_WIKIS = TABLE["wikimedia"]
WIKIMEDIA, LANGUAGES, VARIANTS, SPECIAL = (
    frozenset(_WIKIS[name].split()) for name in ("domains", "languages", "variants", "special")
)
LEADS_TO: Mapping[str, str] = _WIKIS["leads_to"]
PROJECTS = {p: host for host, prefixes in _WIKIS["projects"].items() for p in prefixes}
# "en.m.wikipedia.org", "m.wikidata.org": the parts before and after the m.
MOBILE = re.compile(r"((?:[\w-]+\.)?)m\.([\w-]+\.org)")


@dataclass(frozen=True, slots=True)
class Site:
    """A wiki and its paths; `base` is "https://en.wikipedia.org"."""

    base: str
    scripts: str = "/w"  # path of api.php and index.php
    articles: str = "/wiki/"

    @property
    def host(self) -> str:
        return self.base.partition("://")[2]

    @property
    def api(self) -> str:
        return f"{self.base}{self.scripts}/api.php"

    @property
    def language(self) -> str | None:
        """The language code in the name of a Wikimedia wiki; None for other wikis."""
        first = self.host.partition(".")[0]
        return first if self.is_wikimedia and first in LANGUAGES else None

    @property
    def is_wikimedia(self) -> bool:
        """Whether it is a Wikimedia wiki, whose paths are known."""
        return ".".join(self.host.split(".")[-2:]) in WIKIMEDIA

    def page(self, title: str) -> str:
        return f"{self.base}{self.articles}{quote(title.replace(' ', '_'), safe=_SAFE)}"

    def revision(self, revision_id: str) -> str:
        """The permanent address of a revision."""
        return f"{self.base}{self.scripts}/index.php?oldid={revision_id}"


@dataclass(frozen=True, slots=True)
class ArticleAddress:
    """A page of a wiki: by revision if there is one, else by page id, else by title."""

    site: Site
    title: str | None = None  # with spaces; next to an id, as the address has it, perhaps outdated
    revision_id: str | None = None
    page_id: str | None = None
    section: str = ""

    def __post_init__(self) -> None:
        if not (self.title or self.revision_id or self.page_id):
            raise InputError(f"{self.site.base}: no title, page id or revision id is given.")

    def __str__(self) -> str:
        if self.revision_id:
            return f"revision {self.revision_id} ({self.site.host})"
        return f"{self.title or f'page {self.page_id}'} ({self.site.host})"


def wikipedia(language: str) -> Site:
    """The Wikipedia in a language; raises InputError unless there is an edition in it."""
    if language not in LANGUAGES:
        message = f"Wikipedia has no edition in {language!r}. Expected a code such as en or de."
        raise InputError(message)
    return Site(f"https://{language}.wikipedia.org")


def site_at(url: str) -> Site:
    """The wiki whose scripts are at `url`, as in the setting `wiki`. Raises InputError."""
    parts = _split(url if "//" in url else f"https://{url}", url)
    scripts = re.sub(r"/(?:api|index|rest)\.php.*$|/+$", "", parts.path)
    site = Site(_base(parts))
    if site.is_wikimedia or (not scripts and not parts.path):
        return site
    return replace(site, scripts=scripts, articles=_articles_beside(scripts))


def parse_address(text: str, home: Site) -> ArticleAddress:
    """Parse an address; a bare title belongs to the wiki `home`. Raises InputError for no article.

    >>> parse_address("[[de:Berlin#Lage|die Stadt]]", wikipedia("en")).site.base
    'https://de.wikipedia.org'
    """
    text = text.strip()
    if not text or len(text) > MAX_ADDRESS:
        raise InputError(f"the address has {len(text)} characters; expected 1 to {MAX_ADDRESS}.")
    link = _LINK.fullmatch(text)
    if not link and (scheme := _SCHEME.match(text)):
        if scheme[0].lower() not in ("http:", "https:"):
            raise InputError(f"{_quote(text)} is not a web address. Expected http:// or https://.")
        return _of_url(text, home)
    if not link and (text.startswith("//") or _BARE_HOST.match(text)):
        return _of_url("https://" + text.removeprefix("//"), home)
    name, _, section = (link["target"] if link else text).partition("#")
    site, name = _past_prefixes(name.strip().removeprefix(":"), home)
    return _special(ArticleAddress(site, normal(name), section=section.replace("_", " ").strip()))


def _past_prefixes(name: str, site: Site) -> tuple[Site, str]:
    """Resolve interwiki prefixes: `w:de:Berlin` is `Berlin` in the German Wikipedia."""
    if not site.is_wikimedia:  # other wikis define their own prefixes
        return site, name
    for _ in range(3):
        prefix, colon, rest = name.partition(":")
        prefix = prefix.strip().lower().replace("_", "-")
        if not colon or not rest.strip():
            break
        if prefix in LANGUAGES:
            family = ".".join(site.host.split(".")[-2:]) if site.language else "wikipedia.org"
            site = Site(f"https://{prefix}.{family}")
        elif prefix in PROJECTS:
            site = Site("https://" + PROJECTS[prefix].replace("*", site.language or "en"))
        else:
            break
        name = rest.strip().removeprefix(":")
        if not site.language:  # no language editions: "Commons:" is its own namespace
            break
    return site, name


def normal(title: str) -> str:
    """Normalise white space and underscores as MediaWiki does; keeps the first letter's case.

    Raises InputError for what cannot be a title: empty, too long, or with a forbidden character.
    """
    plain = " ".join(re.sub(r"[_\s\u200e\u200f]+", " ", title).split())
    if bad := _NEVER_IN_TITLES.search(plain):
        raise InputError(f"{_quote(title)} is not a title: titles never contain {bad[0]!r}.")
    if not plain or len(plain.encode("utf-8", "replace")) > MAX_TITLE:
        raise InputError(f"{_quote(title)} is not a title: expected 1 to {MAX_TITLE} bytes.")
    if re.fullmatch(r"\.{1,2}|\.{1,2}/.*|.*/\.{1,2}(/.*)?", plain):
        raise InputError(f"{_quote(title)} is not a title: titles are never relative paths.")
    return plain


def _of_url(url: str, home: Site) -> ArticleAddress:
    parts = _split(url, url)
    if parts.hostname == "w.wiki":
        raise InputError(
            f"{_quote(url)} is a short link. Open it and give the address it leads to."
        )
    query = dict(parse_qsl(parts.query, max_num_fields=100))
    path = unquote(parts.path, errors="replace")
    site, name = _site_and_name(parts, path, home)
    title = query.get("title") or name
    ids = _by_id(query)
    if not ids and not title:
        raise InputError(
            f"{_quote(url)} names no article. Expected /wiki/Title, ?title=, ?curid= or ?oldid=."
        )
    section = unquote(parts.fragment, errors="replace").replace("_", " ").strip()
    plain = normal(title) if title else None
    if plain and not ids:
        return _special(ArticleAddress(site, plain, section=section))
    revision, page = ids.get("oldid"), ids.get("curid")
    return ArticleAddress(site, plain, revision, page, section)


def _by_id(query: dict[str, str]) -> dict[str, str]:
    """The page or revision id in a query; a revision wins; a diff gives its newer one."""
    ids = {key: value for key in ("oldid", "curid") if (value := query.get(key))}
    for key, value in ids.items():
        if not _ID.fullmatch(value):
            raise InputError(f"{key} is {_quote(value)}; expected a number.")
    diff = query.get("diff", "")
    if _ID.fullmatch(diff):
        return {"oldid": diff}
    if diff in ("cur", "0"):
        ids.pop("oldid", None)
    return {"oldid": ids["oldid"]} if "oldid" in ids else ids


def _site_and_name(parts: SplitResult, path: str, home: Site) -> tuple[Site, str]:
    site = home if home.base == _base(parts) else Site(_base(parts))
    script = re.match(r"(/.*)?/(?:index|api)\.php", path)
    if script and site != home and not site.is_wikimedia:
        scripts = script[1] or ""
        site = replace(site, scripts=scripts, articles=_articles_beside(scripts))
    if script := re.match(r".*?/index\.php/(.+)", path):
        return site, script[1]
    first, _, rest = path.lstrip("/").partition("/")
    if path.startswith(site.articles) and (site.articles != "/" or not path.endswith(".php")):
        return site, path[len(site.articles) :]
    if site.is_wikimedia and first in VARIANTS:
        return site, rest
    return site, path[len("/wiki/") :] if path.startswith("/wiki/") else ""


def _articles_beside(scripts: str) -> str:
    """The default article path: as on Wikimedia, else below index.php."""
    return "/wiki/" if scripts in ("/w", "") else f"{scripts}/index.php/"


def _special(address: ArticleAddress) -> ArticleAddress:
    """Resolve `Special:PermanentLink/123`; other special pages are not articles."""
    space, colon, name = (address.title or "").partition(":")
    if not colon or space.strip().lower().replace(" ", "_") not in SPECIAL:
        return address
    if not (match := _SPECIAL_ID.fullmatch(name.strip())):
        raise InputError(f"{address.title!r} is a special page, not an article.")
    revision = match["revision"] or match["diff"]
    return replace(address, title=None, revision_id=revision, page_id=match["page_id"])


def _split(url: str, shown: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise InputError(f"{_quote(shown)} cannot be read as an address: {error}.") from error
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname:
        raise InputError(f"{_quote(shown)} is not a web address. Expected https://host/wiki/Title.")
    if parts.username is not None or parts.password is not None:
        raise InputError("the address contains a user name or a password; remove it.")
    return parts


def _base(parts: SplitResult) -> str:
    """Scheme and host; for Wikimedia wikis, https and the desktop host."""
    host = (parts.hostname or "").rstrip(".")
    if mobile := MOBILE.fullmatch(host):
        host = f"{mobile[1]}{mobile[2]}"
    if Site(f"https://{host}").is_wikimedia:
        match = re.fullmatch(r"www\.([\w-]+\.[\w-]+\.org)", host)  # www.de.wikipedia.org
        return f"https://{LEADS_TO.get(host, match[1] if match else host)}"
    shown = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme.lower()}://{shown}{port}"


def _quote(text: str) -> str:
    return repr(text if len(text) <= 100 else text[:100] + "…")


def category_at(text: str, home: Site) -> tuple[Site, str]:
    """Parse a category; returns its wiki, and its name without the namespace.

    >>> category_at("[[:de:Kategorie:Boxer]]", wikipedia("en"))[1]
    'Boxer'
    """
    address = parse_address(text, home)
    if not address.title:
        raise InputError(f"{text!r} is not a category. Expected a category's name or address.")
    space, colon, name = address.title.partition(":")
    if colon and space.strip().lower().replace(" ", "_") in CATEGORY:
        return address.site, normal(name)
    return address.site, address.title


def addresses_in(lines: Sequence[str], home: Site) -> list[ArticleAddress]:
    """Parse a list of articles, one per line, without duplicates; lines may begin with `*` or `#`.

    Raises InputError with the number of a line that is not an address.
    """
    addresses: list[ArticleAddress] = []
    for number, line in enumerate(lines, 1):
        try:
            addresses.append(parse_address(re.sub(r"^[*#:;]+\s*", "", line), home))
        except InputError as error:
            raise InputError(f"title {number} of the list: {error}") from error
    return list(dict.fromkeys(addresses))
