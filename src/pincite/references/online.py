"""Services on the web as sources of works, each with the addresses it is asked at.

Identifiers are asked for first, then titles, then the archive's copy of a page. A record or a
definite miss is cached, so that a run which was stopped goes on where it was. Everything else (a
refusal, a time-out, a reply in another form) is a `FetchError`: it says nothing about a reference.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import quote

from pincite.documents.text import one_line
from pincite.errors import FetchError, FetchingIsOff, FetchStopped
from pincite.references import imports
from pincite.references.imports import try_make
from pincite.references.outcomes import Service
from pincite.references.works import Imported, Notice, NoticeKind, Work, arxiv_of, ids_of
from pincite.settings import ReferencesSettings, WebSettings
from pincite.text import tables_beside
from pincite.text.dates import stated_date
from pincite.text.hosts import original_of, snapshot_at
from pincite.text.identifiers import doi_of
from pincite.types import Citation, Reason
from pincite.web.addresses import Resolve, Target, parse_target, system_resolver
from pincite.web.fetch import DAY, CachedPage, FetchCache, WebClient
from pincite.web.sources import closest_copy

# Seconds between requests to a service. With a contact in the User-Agent, DataCite allows 1,000 in
# five minutes, and Crossref, PubMed and Open Library three a second; without, one or two a second.
PAUSE, PAUSE_WITH_CONTACT = 1.0, 0.35
KEEP_DAYS, KEEP_MISSES_DAYS = 7.0, 1.0  # a notice should be seen within days
MOST_FAILURES = 3  # in a row; then the service is not asked again in this run
REFUSALS = (401, 403, 429)  # so is one that refuses
MISSES = (404, 410)  # of a request that names one record
REPLY_BYTES = 5_000_000  # a record with its references has 1 MB at most
MOST_WORDS, LEAST_WORDS = 32, 2  # of a title that is searched for
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class Api:
    """Where a service is asked."""

    name: str
    setting: str
    ids: Mapping[str, Sequence[str]]  # by kind: the path of its record, and of notices about it
    title: str = ""  # the path that searches for a title; empty: there is none
    numbers: str = ""  # the path of the records whose numbers the search returns
    key: str = ""  # environment variable of the key without which it cannot be searched
    only_books: bool = False
    status: str = ""  # the kind of identifier by which notices about a work are asked for


# ── Answers ──────────────────────────────────────────────────────────────────────────────────────


def read_reply(name: str, body: bytes) -> list[Imported]:
    """Return the records in a service's reply; raises one of MALFORMED for another form."""
    if name in _JSON:
        records_of, make = _JSON[name]
        return [w for record in records_of(json.loads(body)) for w in try_make(make, record, name)]
    return list(_pubmed(body) if name == "PubMed" else _wayback(body))


def _pubmed(body: bytes) -> Iterator[Imported]:
    """Read what efetch returns; its document type keeps it from being parsed as a whole."""
    if b"<PubmedArticleSet" not in body:
        raise ValueError("no PubmedArticleSet")
    for data in re.findall(rb"<PubmedArticle\b.*?</PubmedArticle>", body, re.DOTALL):
        yield from try_make(imports.pubmed_work, data, "PubMed")


def _datacite(record: Mapping[str, Any]) -> Iterator[Work]:
    item = record["attributes"]
    doi, place, publisher = item["doi"].lower(), item.get("container") or {}, item.get("publisher")
    publisher = one_line(publisher.get("name") if isinstance(publisher, dict) else publisher)
    titles = sorted(item["titles"], key=lambda title: bool(title.get("titleType")))
    later = [
        doi_of(str(relation.get("relatedIdentifier"))) or ""
        for relation in item.get("relatedIdentifiers") or ()
        if relation.get("relationType") in ("IsObsoletedBy", "IsPreviousVersionOf")
    ]
    general = (item.get("types") or {}).get("resourceTypeGeneral", "")
    arxiv = arxiv_of(doi)
    yield Work(
        one_line(titles[0]["title"]),
        tuple(filter(None, (one_line(maker.get("name")) for maker in item.get("creators") or ()))),
        (int(item["publicationYear"]),) if item.get("publicationYear") else (),
        one_line(place.get("title")) or publisher,
        doi,
        arxiv=arxiv,
        kind="preprint" if arxiv or general == "Preprint" else general.lower(),
        volume=one_line(place.get("volume")),
        issue=one_line(place.get("issue")),
        pages="-".join(filter(None, (place.get("firstPage"), place.get("lastPage")))),
        publisher=publisher,
        notices=tuple(Notice(NoticeKind.SUPERSEDED, doi, "", "DataCite") for doi in later[:1]),
    )


def _books(item: Mapping[str, Any]) -> Iterator[Work]:
    """Read a work, and the edition that was asked for, whose title may be a translation."""
    years = [item.get("first_publish_year"), *sorted(item.get("publish_year") or ())]
    for book in (item, *(item.get("editions") or {}).get("docs", ())):
        yield Work(
            ": ".join(filter(None, (one_line(book["title"]), one_line(book.get("subtitle"))))),
            tuple(item.get("author_name") or ()),
            tuple(dict.fromkeys(int(year) for year in years if year)),
            isbns=imports.isbns_of(item.get("isbn") or ()),
            kind="book",
            publisher=next(iter(item.get("publisher") or ()), ""),
        )


def _wayback(body: bytes) -> Iterator[Work]:
    closest = closest_copy(body)
    if closest is None:
        raise ValueError("no archived_snapshots")
    url = str(closest.get("url"))
    if closest.get("available") is True and closest.get("status") == "200" and snapshot_at(url):
        yield Work("", url=url, kind="webpage", source="Wayback Machine")


def _numbers(body: bytes) -> list[str]:
    return [number for number in json.loads(body)["esearchresult"]["idlist"] if number.isdecimal()]


# Where a reply has its records (alone, if one was asked for), and what reads one.
_JSON: Mapping[str, tuple[Callable[[Any], Sequence[Any]], Callable[[Any], Iterable[Imported]]]] = {
    "Crossref": (lambda reply: reply["message"].get("items", [reply["message"]]), imports.crossref),
    "DataCite": (
        lambda reply: reply["data"] if isinstance(reply["data"], list) else [reply["data"]],
        _datacite,
    ),
    "Open Library": (lambda reply: reply["docs"], _books),
    "OpenAlex": (lambda reply: reply.get("results", [reply]), imports.openalex),
}
APIS = tuple(Api(**row) for row in tables_beside(__file__)["services"])


# ── Asking ───────────────────────────────────────────────────────────────────────────────────────


class Client:
    """Asks one service, answers from the cache first; not thread-safe."""

    def __init__(self, api: Api, base: str, client: WebClient, cache: FetchCache) -> None:
        self.api, self._base = api, base.rstrip("/")
        self._client, self._cache = client, cache
        self._host = parse_target(base, client.rules.ports).host
        self.key = os.environ.get(api.key, "") if api.key else ""
        self._down: FetchError | None = None
        self._failures = 0  # in a row

    def by_ids(self, citation: Citation) -> list[Work] | None:
        """Return the records of its identifiers; None if the service has none of their kinds."""
        paths = self.api.ids
        pairs = [(paths[kind], value) for kind, value in _ids(citation) if kind in paths]
        works = list[Work]()
        for (record, *notices), value in pairs:
            records = self._records(record.format(quote(value, safe="")))
            works += records
            for path in notices if records else ():
                about = self._records(path.format(quote(value, safe="")))
                works += [notice for notice in about if not notice.title]
        return works if pairs else None

    def notices(self, citation: Citation) -> list[Work] | None:
        """Return the notices about a work, or its record; None without an identifier."""
        kind = self.api.status
        if not (value := dict(ids_of(citation)).get(kind)):
            return None
        return self._records(self.api.ids[kind][-1].format(quote(value, safe="")))

    def by_title(self, citation: Citation) -> list[Work] | None:
        """Return records with a title like its own; None if it cannot be searched for."""
        template = citation.template or ""
        words = re.findall(r"\w+", citation.title or "")[:MOST_WORDS]
        is_page = bool(citation.url) and ("web" in template or "news" in template)
        is_other = self.api.only_books and bool(template) and "book" not in template
        if len(words) < LEAST_WORDS or is_page or is_other:
            return None
        first = next(iter(citation.authors), "")
        family = first.partition(",")[0] if "," in first else first.rpartition(" ")[2]
        given = {"title": " ".join(words), "author": family}
        given["year"] = stated_date(citation.date or "")[:4]
        path = self.api.title.format_map({name: quote(v) for name, v in given.items()})
        if not self.api.numbers:
            return self._records(path)
        numbers = self._answer(path, _numbers)
        return self._records(self.api.numbers.format(",".join(numbers))) if numbers else []

    def _records(self, path: str) -> list[Work]:
        return self._answer(path, self._readable)

    def _readable(self, body: bytes) -> list[Work]:
        records = read_reply(self.api.name, body)
        if not (works := list(filter(None, records))) and records:
            raise ValueError("no record is as documented")
        return works

    def _answer(self, path: str, read: Callable[[bytes], list[_T]]) -> list[_T]:
        """Read the reply to a request; empty for a miss. Raises FetchError for another failure."""
        url = self._base + path
        page = self._cache.get(url)
        if not page and self._down:
            raise self._down
        try:
            body = page.body if page else self._body(url)
            answers = read(body) if body else []
        except (FetchStopped, FetchingIsOff):
            raise
        except (FetchError, *imports.MALFORMED) as error:
            raise self._failure(error) from error
        if not page:
            self._failures, days = 0, KEEP_DAYS if answers else KEEP_MISSES_DAYS
            self._cache.put(CachedPage(url, url, 200, body).lasting(days * DAY))
        return answers

    def _body(self, url: str) -> bytes:
        key = f"{'&' if '?' in url else '?'}api_key={quote(self.key)}" if self.key else ""
        reply = self._client.get(url + key, accept="application/json, */*;q=0.5", check=self._check)
        if reply.status in MISSES and "?" not in url:
            return b""
        if reply.status != 200 or not reply.body:
            raise FetchError("", reason=Reason.REFUSED, status=reply.status)
        return reply.body

    def _check(self, target: Target) -> None:
        if target.host != self._host:
            raise FetchError(f"a redirect to {target.host}", reason=Reason.REDIRECTS)

    def _failure(self, error: Exception) -> FetchError:
        """The failure without the request's address, which has the title and the key."""
        self._failures += 1
        failure = FetchError("its reply is not as documented", reason=Reason.UNDECODABLE)
        if isinstance(error, FetchError):
            what = f"HTTP {error.status}" if error.status else str(error.reason)
            failure = FetchError(what, "", error.reason, error.status, of_host=error.of_host)
        is_lasting = failure.of_host or failure.status in REFUSALS
        if is_lasting or self._failures >= MOST_FAILURES:
            self._down = failure
        return failure


def _ids(citation: Citation) -> list[tuple[str, str]]:
    """Its identifiers; without one the page's address, unless its host may be an inner one."""
    page = original_of(citation.url or "").partition("#")[0]
    if not (ids := ids_of(citation)):
        with suppress(FetchError):
            target = parse_target(page)
            ids = [("url", page)] if target.is_name and "." in target.host else []
    return ids


def services_of(clients: Sequence[Client]) -> list[Service]:
    """The services as they are asked: identifiers, notices, titles, archived pages."""
    titled = [client for client in clients if client.api.title]
    searched = [client for client in titled if client.key or not client.api.key]
    stating = [client for client in clients if client.api.status]
    archives = [client for client in clients if not client.api.title]
    return [
        *(Service(client.api.name, client.by_ids) for client in titled),
        *(Service(client.api.name, client.notices, is_status=True) for client in stating),
        *(Service(client.api.name, client.by_title, is_search=True) for client in searched),
        *(Service(client.api.name, client.by_ids, is_search=True) for client in archives),
    ]


@contextmanager
def open_services(
    settings: ReferencesSettings, web: WebSettings, resolve: Resolve = system_resolver
) -> Iterator[list[Service]]:
    """Yield the services whose address is set. One of the user's own network may be asked too."""
    bases = {api: getattr(settings, api.setting or "archive", web.wayback_api) for api in APIS}
    targets = {api: parse_target(base, range(1, 65_536)) for api, base in bases.items() if base}
    standard = ReferencesSettings()
    allowed = list[str]()
    for api, target in targets.items():
        if api.setting and bases[api] != getattr(standard, api.setting):
            with suppress(OSError):  # a name that does not resolve fails when it is asked
                allowed += resolve(target.host, target.port)
    rules = replace(
        web.rules,
        pause=0.0,
        ports=tuple({*web.rules.ports, *(target.port for target in targets.values())}),
        body_bytes=REPLY_BYTES,
    )
    pause = PAUSE_WITH_CONTACT if web.contact else PAUSE
    with (
        WebClient(rules, resolve=resolve, allow=allowed) as client,
        FetchCache(web.cache_file) as cache,
    ):
        for api, target in targets.items():
            client.set_pause(target.host, pause if api.setting else web.wayback_pause)
        yield services_of([Client(api, bases[api], client, cache) for api in targets])
