"""Services on the web, played by a server on this machine that answers in their formats."""

import gzip
import re
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from support.rows import each_row, rows, text_of
from web.zoo import Writer, Zoo, reply, zoo_server

from pincite.errors import ConfigError
from pincite.references import online
from pincite.references.outcomes import Outcome, Service, Status, ask, decide
from pincite.references.read import Reference
from pincite.references.report import check
from pincite.references.works import Work
from pincite.settings import ReferencesSettings, WebSettings
from pincite.types import Citation, Span
from pincite.web.fetch import FetchCache, WebClient

CASES = "references/online"
LOOKED_UP = f"{CASES}/looked_up"
NAMES = [api.setting or "archive" for api in online.APIS]
NONE = "404 Not Found"
TODAY = date(2026, 1, 1)


class Answers(dict[tuple[str, str], bytes | Writer]):
    """Answers by the beginning of a path; a service in `down` gives its one answer to all."""

    def __init__(self) -> None:
        super().__init__()
        self.served: dict[str, str] = {}
        self.down: dict[str, bytes | Writer] = {}

    def get(self, key: Any, default: Any = None) -> Any:
        host, path = key
        name = host.removesuffix(".test")
        if name in self.down:
            return self.down[name]
        place = name + (path.removeprefix("/") if path.startswith("/?") else path)
        found = [file for begin, file in self.served.items() if place.startswith(begin)]
        if not found and "?" not in path:
            return reply(b"Resource not found.", NONE)
        empty = f"{name}_none.{'xml' if 'efetch' in path else 'json'}"
        return reply(text_of(f"{CASES}/{found[0] if found else empty}").encode())


@pytest.fixture(scope="module")
def zoo() -> Iterator[Zoo]:
    with zoo_server() as server:
        server.pages = Answers()
        yield server


@pytest.fixture
def answers(zoo: Zoo) -> Answers:
    found = zoo.pages
    assert isinstance(found, Answers)
    found.served, found.down = {}, {}
    zoo.requests.clear()
    return found


@pytest.fixture
def client(zoo: Zoo) -> Iterator[WebClient]:
    with zoo.client(longest_crawl_delay=0.0, seconds=0.5, idle_seconds=0.2) as opened:
        yield opened


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[FetchCache]:
    with FetchCache(tmp_path / "cache.sqlite") as opened:
        yield opened


def services(zoo: Zoo, client: WebClient, cache: FetchCache) -> list[Service]:
    pairs = zip(online.APIS, NAMES, strict=True)
    return online.services_of(
        [online.Client(each, zoo.url(f"{name}.test", ""), client, cache) for each, name in pairs]
    )


def citation(given: dict[str, Any]) -> Citation:
    given = {**given, "authors": tuple(given.get("authors", ()))}
    return Citation("r1", Span(0, 0), Span(0, 0), **given)


def outcome(cited: Citation, asked: list[Service], known: Sequence[Work] = ()) -> Outcome:
    sources = [Service("catalogue", lambda _: [*known])] if known else []
    return decide(cited, ask(cited, sources, asked), is_record=True)


def places(zoo: Zoo) -> list[str]:
    return [host.removesuffix(".test") + path.replace("/?", "?") for host, path in zoo.requests]


@each_row(LOOKED_UP)
def test_outcome_and_who_is_asked_once(
    zoo: Zoo, answers: Answers, client: WebClient, tmp_path: Path,
    given: dict[str, Any], served: dict[str, str], status: str, notices: list[list[str]],
    asked: list[str],
) -> None:  # fmt: skip
    answers.served = served
    path = tmp_path / "cache.sqlite"
    with FetchCache(path) as first:
        found = outcome(citation(given), services(zoo, client, first))
    assert found.status == status
    assert [[n.kind, n.doi, n.date, n.stated_by] for n in found.notices] == notices
    pairs = zip(asked, places(zoo), strict=True)
    assert [begin for begin, place in pairs if place.startswith(begin)] == asked
    assert not found.failed
    assert bool(found.archived) == ("archive_copy.json" in served.values())
    sent = places(zoo)
    assert len(set(sent)) == len(sent)
    with FetchCache(path) as second:  # as after a run that was killed
        assert outcome(citation(given), services(zoo, client, second)) == found
    assert places(zoo) == sent


# ── Outages ──────────────────────────────────────────────────────────────────────────────────────


def _slow(connection: socket.socket) -> None:
    connection.recv(65536)
    with suppress(OSError):  # until the client has had enough
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n")
        while True:
            connection.sendall(b" ")
            time.sleep(0.02)


OUTAGES: dict[str, bytes | Writer] = {
    **{status[:3]: reply(b"{}", status) for status in (
        "202 Accepted", "400 Bad Request", "401 Unauthorized", "403 Forbidden",
        "429 Too Many Requests", "500 Error", "502 Bad Gateway", "503 Unavailable",
    )},
    "retry later": reply(b"", "429 Too Many Requests", Retry_After="3600"),
    "retry now": reply(b"", "503 Unavailable", Retry_After="0"),
    "a web page": reply(b"<html>Sign in to the network</html>"),
    "cut off": reply(b'{"message": {"DOI": "10.1000/a'),
    "too short": reply(b"{}")[:-1],
    "no JSON object": reply(b"[]"),
    "another form": reply(b'{"message": 1, "data": 2, "results": 3, "docs": 4}'),
    "odd items": reply(
        b'{"message": {"items": [7]}, "data": [7], "results": [7], "docs": [7], '
        b'"esearchresult": {"idlist": [7]}, "archived_snapshots": 7}'
    ),
    "nested": reply(b"[" * 50_000),
    "packed wrongly": reply(b"no gzip", Content_Encoding="gzip"),
    "too long": reply(gzip.compress(bytes(online.REPLY_BYTES * 3)), Content_Encoding="gzip"),
    "nothing": reply(b""),
    "elsewhere": reply(b"", "302 Found", Location="http://other.test/"),
    "slow": _slow,
}  # fmt: skip


FULL = ("503",)  # tried with every row; the others with these
FEW = ("doi_of_another_work", "title_in_pubmed", "isbn_of_another_book", "page_of_the_web")


@pytest.mark.parametrize("outage", OUTAGES)
def test_a_service_that_fails_accuses_of_nothing(
    zoo: Zoo, answers: Answers, tmp_path: Path, outage: str
) -> None:
    order = list(Status)
    rules = {"seconds": 0.5, "idle_seconds": 0.05, "body_bytes": online.REPLY_BYTES}
    for n, (label, given, served, status, _, asked) in enumerate(rows(LOOKED_UP)):
        if label not in FEW and outage not in FULL:
            continue
        names = sorted({re.split("[/?]", place)[0] for place in asked})
        answers.served = served
        for broken in names:
            answers.down = {broken: OUTAGES[outage]}
            found = _outcome_during(zoo, tmp_path / f"{n}{broken}.sqlite", given, rules)
            assert not found.status.is_in_doubt or Status(status).is_in_doubt, (label, broken)
            is_milder = order.index(found.status) >= order.index(Status(status))
            assert is_milder or found.status is Status.UNCHECKED, (label, broken)
            assert found.failed, (label, broken)
        answers.down = dict.fromkeys(NAMES, OUTAGES[outage])
        found = _outcome_during(zoo, tmp_path / f"{n}.sqlite", given, rules)
        assert (found.status, bool(found.failed)) == (Status.UNCHECKED, bool(asked)), label
    for ids in ({"doi": "10.1000/a1"}, {"pmid": "77"}):  # only the notices are asked for
        work = Work("Trams of Varde and their drivers", ("Holm, Ida",), (2020,), **ids)  # type: ignore[arg-type]
        given = {"title": work.title, "authors": work.authors, "date": "2020"}
        found = _outcome_during(zoo, tmp_path / f"{ids}.sqlite", given, rules, [work])
        assert (found.status, len(found.failed)) == (Status.AGREES, 1), ids


def _outcome_during(
    zoo: Zoo, path: Path, given: dict[str, Any], rules: dict[str, float], known: Sequence[Work] = ()
) -> Outcome:
    quick = {"longest_crawl_delay": 0.0, "attempts": 2, "first_wait": 0.0}
    with zoo.client(**quick, **rules) as client, FetchCache(path) as cache:
        return outcome(citation(given), services(zoo, client, cache), known)


# ── Runs ─────────────────────────────────────────────────────────────────────────────────────────

TITLES = ("Trams of Varde", "Sleep on ferries", "Towers without stairs", "Trams of Varde")
REFERENCES = [Reference(citation({"title": title, "authors": ("Holm, Ida",)})) for title in TITLES]


def test_a_run_that_was_stopped_asks_nothing_again(
    zoo: Zoo, answers: Answers, client: WebClient, cache: FetchCache
) -> None:
    def stop(step: str, done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    first = check(REFERENCES, [], TODAY, stop, services(zoo, client, cache))
    assert (first.stopped, len(first.results)) == (True, 2)
    second = check(REFERENCES, [], TODAY, services=services(zoo, client, cache))
    assert [each.outcome.status for each in second.results] == [Status.UNVERIFIED] * len(TITLES)
    assert len(places(zoo)) == len(set(places(zoo))) == 4 * len(set(TITLES))


@pytest.mark.parametrize(("status", "requests"), [("403 Forbidden", 1), ("202 Accepted", 3)])
def test_a_service_that_refuses_or_keeps_failing_is_left_alone(
    zoo: Zoo, answers: Answers, client: WebClient, cache: FetchCache, status: str, requests: int
) -> None:
    answers.down = {"crossref": reply(b"{}", status)}
    report = check(REFERENCES * 3, [], TODAY, services=services(zoo, client, cache))
    assert all(each.outcome.failed for each in report.results)
    assert sum(host == "crossref.test" for host, _ in zoo.requests) == requests


def test_failures_are_not_cached(
    zoo: Zoo, answers: Answers, client: WebClient, cache: FetchCache
) -> None:
    answers.down = dict.fromkeys(NAMES, reply(b"{}", "503 Unavailable"))
    cited = REFERENCES[0].citation
    assert outcome(cited, services(zoo, client, cache)).status is Status.UNCHECKED
    answers.down = {}
    answers.served = {"crossref/works?rows=5": "crossref_list.json"}
    with zoo.client(longest_crawl_delay=0.0) as later:
        assert outcome(cited, services(zoo, later, cache)).work


DOI, ASKED_BY_DOI = {"doi": "10.1000/a1"}, "crossref/works?rows=20"


@pytest.mark.parametrize(
    ("ids", "served", "status", "asked"),
    [
        (DOI, "crossref_notices.json", Status.RETRACTED, ASKED_BY_DOI),
        (DOI, "crossref_erratum.json", Status.CORRECTED, ASKED_BY_DOI),
        (DOI, "crossref_none.json", Status.AGREES, ASKED_BY_DOI),
        ({"pmid": "4001"}, "pubmed_records.xml", Status.RETRACTED, "pubmed/efetch"),
        ({"pmid": "77"}, "pubmed_none.xml", Status.AGREES, "pubmed/efetch"),
    ],
)
@pytest.mark.parametrize("year", ["2020", "2011"])  # the other differs from the record
def test_the_standing_of_a_work_in_the_catalogue_is_asked_for_once(
    zoo: Zoo, answers: Answers, client: WebClient, cache: FetchCache,
    ids: dict[str, str], served: str, status: Status, asked: str, year: str,
) -> None:  # fmt: skip
    work = Work("Trams of Varde and their drivers", ("Holm, Ida",), (2020,), **ids)  # type: ignore[arg-type]
    cited = citation({"title": work.title, "authors": work.authors, "date": year})
    answers.served = {asked: served}
    for _ in range(2):
        local, asking = Service("catalogue", lambda _: [work]), services(zoo, client, cache)
        found = check([Reference(cited)], [local], TODAY, services=asking).results[0].outcome
        known = [status, *[Status.DIFFERS] * (year == "2011")]
        assert found.status == min(known, key=list(Status).index)
    assert [place[: len(asked)] for place in places(zoo)] == [asked]


def test_the_key_is_sent_and_stays_out_of_cache_and_report(
    zoo: Zoo, answers: Answers, client: WebClient, cache: FetchCache,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("OPENALEX_API_KEY", "s3cret")
    answers.down = {"openalex": reply(b"{}")}
    found = outcome(REFERENCES[0].citation, services(zoo, client, cache))
    assert next(path for host, path in zoo.requests if "openalex" in host).endswith("=s3cret")
    assert "s3cret" not in str(found)
    answers.down, answers.served = {}, {"openalex/works?": "openalex_list.json"}
    found = outcome(REFERENCES[2].citation, services(zoo, client, cache))
    urls = cache.rows("SELECT url FROM fetched_pages")
    assert any("openalex" in url for (url,) in urls)
    assert "s3cret" not in str([cache.stored(url) for (url,) in urls])


@pytest.mark.parametrize(("contact", "pause"), [("", 1.0), ("me@example.org", 0.35)])
def test_each_service_has_its_pause_and_a_mirror_may_be_in_the_own_network(
    zoo: Zoo, answers: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    contact: str, pause: float,
) -> None:  # fmt: skip
    pauses = dict[str, float]()

    class Client(WebClient):
        def set_pause(self, host: str, seconds: float) -> None:
            pauses[host] = seconds

    monkeypatch.setattr(online, "WebClient", Client)
    web = WebSettings(online=True, contact=contact, cache=str(tmp_path / "web.sqlite"))
    chosen = ReferencesSettings(crossref=zoo.url("crossref.test", ""), datacite="")
    with online.open_services(chosen, web, zoo.resolve) as found:
        assert found[0].lookup(citation({"doi": "10.1000/a1"})) == []
    assert pauses == {
        **dict.fromkeys(("crossref.test", "openlibrary.org", "api.openalex.org"), pause),
        "eutils.ncbi.nlm.nih.gov": pause,
        "archive.org": web.wayback_pause,
    }


@pytest.mark.parametrize("address", ["crossref", "https://x.example/?q="])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ConfigError):
        ReferencesSettings(crossref=address)
