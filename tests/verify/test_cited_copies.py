"""Which copy of a cited source is read, and what a page that changed makes of a finding."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from verify.test_verify import WordVerifier
from web.zoo import Zoo, page, reply, zoo_server

from pincite.corpora import Corpora
from pincite.corpus.engines import EmbeddedCorpus
from pincite.types import (
    Article,
    Citation,
    Claim,
    Copy,
    CopyKind,
    Document,
    Evidence,
    Finding,
    Label,
    Reason,
    Span,
    Unchecked,
)
from pincite.verbs.verify.cited_copies import CitedCopies, CitedSource, SourceOf, corpus_copies
from pincite.verbs.verify.pipeline import VerifyPipeline
from pincite.web.fetch import FetchCache, WebClient, WebRules
from pincite.web.sources import Wayback, WebPages, WebSources

TIME = "20140305101500"
FILLER = "The town has a market every week, and its library lends books to all who ask for them."
THEN = "The bridge opened in 1911."
NOW = "A page on something else."


@pytest.fixture
def zoo() -> Iterator[Zoo]:
    with zoo_server() as server:
        yield server


@dataclasses.dataclass
class Web:
    """Pages of today and copies of then, by name, and the copies as a run has them."""

    zoo: Zoo
    cache: FetchCache
    wayback: bool = False

    def live(self, name: str, text: str | None, status: str = "404 Not Found") -> str:
        self.zoo.pages["live.test", f"/{name}"] = _page(text) if text else reply(b"", status)
        return self.zoo.url("live.test", f"/{name}")

    def archived(self, name: str, text: str | None, time: str = TIME) -> str:
        raw = f"/web/{time}id_/{self.zoo.url('live.test', f'/{name}')}"
        answer = _page(text) if text else reply(b"", "404 Not Found")
        path = raw.replace("id_", "")
        self.zoo.pages |= {("web.archive.test", at): answer for at in (raw, path)}
        return self.zoo.url("web.archive.test", path)

    def named(self, name: str, near: str, url: str) -> None:
        """What the service says of a page."""
        closest = {"status": "200", "available": True, "url": url, "timestamp": TIME}
        body = json.dumps({"archived_snapshots": {"closest": closest}}).encode()
        page = f"http%3A%2F%2Flive.test%3A{self.zoo.port}%2F{name}"
        asked = f"/wayback/available?url={page}&timestamp={near}"
        self.zoo.pages["archive.test", asked] = reply(body)

    def copies(self, stored: SourceOf | None = None) -> CitedCopies:
        rules = WebRules(online=True, ports=(80, self.zoo.port), pause=0.0, first_wait=0.01)
        client = WebClient(rules, resolve=self.zoo.resolve, allow={"127.0.0.1"})
        api = self.zoo.url("archive.test", "/wayback/available")
        wayback = Wayback(client, self.cache, api=api, pause=0.0) if self.wayback else None
        return CitedCopies(stored, WebPages(WebSources(client, self.cache), wayback))

    def pipeline(self) -> VerifyPipeline:
        return VerifyPipeline(WordVerifier(), self.copies(), threshold=0.55)

    def asked(self, host: str = "") -> list[str]:
        return [
            f"{at}{path}"
            for at, path in self.zoo.requests
            if path != "/robots.txt" and (at == host or not host)
        ]


@pytest.fixture
def web(zoo: Zoo, tmp_path: Path) -> Iterator[Web]:
    with FetchCache(tmp_path / "cache.sqlite") as cache:
        yield Web(zoo, cache)


def _page(text: str) -> bytes:
    return reply(page(f"<article><p>{text} {FILLER}</p></article>"))


def citation(url: str | None = None, archive: str | None = None, **more: Any) -> Citation:
    number = more.pop("n", 1)
    return Citation(f"r{number}", Span(0, 1), Span(0, 1), url=url, archive_url=archive, **more)


def shown(found: CitedSource) -> tuple[object, ...]:
    """What was read (THEN, NOW, or the reason why nothing was), of which kind, of which day."""
    source, copy = found.source, found.copy
    if isinstance(source, Unchecked):
        return (source.reason,)
    assert copy
    said = next((text for text in (THEN, NOW) if text in source.text), source.text)
    return (said, copy.kind, copy.date)


ARCHIVED, WAYBACK = ((THEN, kind, "2014-03-05") for kind in (CopyKind.ARCHIVED, CopyKind.WAYBACK))


def test_an_archived_copy_stands_in_for_a_dead_page(web: Web) -> None:
    web.wayback = True  # then the host of the service is known as a Wayback Machine
    url, archive = web.live("a", None), web.archived("a", THEN)
    found = web.copies().read(citation(url, archive, archive_date="5 March 2014"))
    assert shown(found) == ARCHIVED
    assert found.copy
    assert found.copy.url == archive
    assert found.not_live
    assert found.not_live.reason is Reason.DEAD
    assert web.asked("web.archive.test")[-1].startswith(f"web.archive.test/web/{TIME}id_/")
    assert web.asked("archive.test") == []
    alone = web.copies().read(citation(archive))
    assert (shown(alone), alone.not_live) == (ARCHIVED, None)


@pytest.mark.parametrize("status", ["dead", "usurped", "unfit", "deviated", "bot: unknown"])
def test_a_page_that_is_not_as_cited_is_read_from_the_archive(web: Web, status: str) -> None:
    cited = citation(web.live("a", NOW), web.archived("a", THEN), url_status=status)
    web.wayback = True
    assert shown(web.copies().read(cited))[0] == THEN
    assert web.asked("live.test") == []
    web.archived("a", None)
    raw = web.zoo.url("web.archive.test", f"/web/{TIME}id_/{web.zoo.url('live.test', '/a')}")
    kept = web.cache.get(raw)
    assert kept
    web.cache.put(dataclasses.replace(kept, expires=0.0))
    other_hands = status in ("usurped", "unfit")
    assert shown(web.copies().read(cited))[0] == (Reason.USURPED if other_hands else NOW)
    assert bool(web.asked("live.test")) is not other_hands


def test_a_stored_copy_comes_before_all_others(web: Web) -> None:
    url = web.live("a", NOW)
    stored = Document(url, "", "Stored.", fetched="2020-01-02")
    for status in (None, "dead", "usurped"):
        cited = citation(url, web.archived("a", THEN), url_status=status)
        found = web.copies(lambda _: stored).read(cited)
        assert shown(found) == ("Stored.", CopyKind.STORED, "2020-01-02")
    assert web.asked() == []


def test_a_copy_that_leads_out_of_the_archive_is_none(web: Web) -> None:
    web.wayback = True
    archive = web.archived("a", THEN)
    raw = archive.replace(TIME, f"{TIME}id_").partition(f":{web.zoo.port}")[2]
    there = web.live("b", THEN)
    web.zoo.pages["web.archive.test", raw] = reply(b"", "302 Found", Location=there)
    found = web.copies().read(citation(web.live("a", None), archive))
    assert shown(found) == (Reason.DEAD,)


def test_the_wayback_machine_is_asked_last_and_for_the_access_date(web: Web) -> None:
    url = web.live("a", None)
    web.named("a", "20140302", web.archived("a", THEN))
    cited = citation(url, access_date="2 March 2014", date="2010-01-01")
    assert shown(web.copies().read(cited)) == (Reason.DEAD,)
    assert web.asked("archive.test") == []  # it is off
    web.wayback = True
    found = web.copies().read(cited, "2026-01-01T00:00:00Z")
    assert shown(found) == WAYBACK
    assert found.not_live
    assert found.not_live.reason is Reason.DEAD


def test_without_an_access_date_other_dates_are_asked_for(web: Web) -> None:
    web.wayback = True
    copies = web.copies()
    copies.read(citation(web.live("a", None), date="May 2010"), "2026-01-01T00:00:00Z")
    copies.read(citation(web.live("b", None)), "2026-01-01T00:00:00Z")
    copies.read(citation(web.live("c", None)))
    asked = [path.partition("url=")[2] for path in web.asked("archive.test")]
    assert [path.partition("timestamp=")[2] for path in asked] == ["201005", "20260101", ""]


def test_what_came_after_a_page_was_usurped_is_not_read(web: Web) -> None:
    web.wayback = True
    url = web.live("a", NOW)
    web.named("a", "20140302", web.archived("a", THEN))
    dated = citation(url, url_status="usurped", access_date="2014-03-02")
    assert shown(web.copies().read(dated, "2026-01-01")) == WAYBACK
    undated = web.copies().read(citation(url, url_status="usurped"), "2026-01-01")
    assert shown(undated) == (Reason.USURPED,)
    assert len(web.asked("archive.test")) == 1


def test_a_named_copy_inside_the_network_is_never_opened(web: Web) -> None:
    web.wayback = True
    url = web.live("a", None)
    inner = web.zoo.url("inner.archive.test", f"/web/{TIME}/{url}")
    web.named("a", "2014", inner)  # resolves to 10.0.0.7
    assert shown(web.copies().read(citation(url, access_date="2014"))) == (Reason.DEAD,)
    assert web.asked("inner.archive.test") == []


def test_an_archive_that_refuses_is_left_alone(web: Web) -> None:
    copies = web.copies()
    for n in range(3):
        archive = web.archived(f"{n}", THEN)
        path = archive.partition(f":{web.zoo.port}")[2]
        web.zoo.pages["web.archive.test", path] = reply(b"", "429 Too Many Requests")
        cited = citation(web.live(f"{n}", None), archive)
        assert isinstance(copies.read(cited).source, Unchecked)
    assert len(web.asked("web.archive.test")) == 3  # attempts for the first page only


def test_a_calendar_stands_for_the_day_on_which_the_page_was_archived(web: Web) -> None:
    web.wayback = True
    page = web.zoo.url("live.test", "/a")
    web.archived("a", THEN)
    moved = reply(b"", "302 Found", Location=f"/web/{TIME}id_/{page}")
    web.zoo.pages["web.archive.test", f"/web/20140302id_/{page}"] = moved
    archive = web.zoo.url("web.archive.test", f"/web/*/{page}")
    found = web.copies().read(citation(web.live("a", None), archive, access_date="2 March 2014"))
    assert shown(found) == ARCHIVED
    assert found.copy
    assert found.copy.url == archive.replace("*", TIME)


# ── Changed since cited ──────────────────────────────────────────────────────────────────────────


def finding(web: Web, *citations: Citation, text: str = THEN) -> Finding:
    return web.pipeline().finding(Claim("c", text, citations=citations), "2026-01-01")


def test_a_page_that_changed_is_judged_as_it_was_cited(web: Web) -> None:
    web.wayback = True
    found = finding(web, citation(web.live("a", NOW), web.archived("a", THEN)))
    (result,) = found.citations
    assert (found.label, result.label) == (Label.SUPPORTED, Label.SUPPORTED)
    assert found.source_changed
    assert isinstance(result.outcome, Evidence)
    assert result.outcome.quoted == THEN
    assert result.copy
    assert (result.copy.kind, result.copy.date) == (CopyKind.ARCHIVED, "2014-03-05")
    assert result.changed
    assert result.changed.copy.kind is CopyKind.LIVE
    assert result.changed.label is Label.NOT_SUPPORTED
    assert NOW in result.changed.evidence.passage.text


def test_a_claim_that_is_supported_costs_no_archive_anything(web: Web) -> None:
    web.wayback = True
    other = citation(web.live("b", NOW), web.archived("b", THEN), n=2)
    found = finding(web, citation(web.live("a", THEN), web.archived("a", NOW)), other)
    assert (found.label, found.source_changed) == (Label.SUPPORTED, False)
    assert {path.partition("/")[0] for path in web.asked()} == {"live.test"}


@pytest.mark.parametrize("archived", [NOW, None, "The bridge was painted."])
def test_a_copy_that_bears_out_no_more_changes_nothing(web: Web, archived: str | None) -> None:
    found = finding(web, citation(web.live("a", NOW), web.archived("a", archived)))
    (result,) = found.citations
    assert (found.label, result.changed) == (Label.NOT_SUPPORTED, None)
    assert result.copy
    assert result.copy.kind is CopyKind.LIVE


def test_the_page_of_a_doi_is_no_later_version_of_the_page(web: Web) -> None:
    web.wayback = True
    doi = web.zoo.url("live.test", "/doi")
    web.live("doi", NOW)
    web.named("a", "2014", web.archived("a", THEN))
    copies = web.copies(lambda url: Unchecked(url, Reason.DEAD, "HTTP 404"))
    live = CitedSource(Document(doi, "", NOW), Copy(CopyKind.LIVE, doi))

    class Doi(CitedCopies):
        def read(self, citation: Citation, written: str | None = None) -> CitedSource:
            return live

    pipeline = dataclasses.replace(web.pipeline(), copies=Doi(copies.stored, copies.web))
    cited = citation(web.live("a", None), access_date="2014")
    found = pipeline.finding(Claim("c", THEN, citations=(cited,)))
    assert found.label is Label.NOT_SUPPORTED
    assert web.asked("archive.test") == []


def test_a_passage_that_still_stands_has_not_changed(web: Web) -> None:
    """Two readings of one text may differ; that is no news about the page."""

    class Fickle(WordVerifier):
        def _evidence(self, claim: Claim, passage: Any) -> Evidence:
            archived = "/web/" in passage.url
            supported = 0.9 if archived else 0.1
            return Evidence(passage, supported, 0.0, 1 - supported, 4 * supported - 2)

    web.wayback = True
    cited = citation(web.live("a", THEN), web.archived("a", THEN))
    pipeline = dataclasses.replace(web.pipeline(), verifier=Fickle())
    found = pipeline.finding(Claim("c", THEN, citations=(cited,)))
    assert found.label is Label.NOT_SUPPORTED
    assert not found.source_changed


# ── Fetched beforehand ───────────────────────────────────────────────────────────────────────────


def test_what_will_be_needed_is_fetched_beforehand(web: Web) -> None:
    web.wayback = True
    citations = (
        citation(web.live("fine", THEN), web.archived("fine", THEN), n=1),
        citation(web.live("gone", None), web.archived("gone", THEN), n=2),
        citation(web.live("dead", NOW), web.archived("dead", THEN), n=3, url_status="dead"),
        citation(web.live("spam", NOW), n=4, url_status="usurped"),
        citation(None, web.archived("alone", THEN), n=5),
    )
    claims = tuple(Claim(str(n), THEN, citations=(c,)) for n, c in enumerate(citations))
    web.copies().prepare(Article("Bridge", "", claims))
    raw = f"web.archive.test/web/{TIME}id_/{web.zoo.url('live.test')}"
    asked = set(web.asked())
    pages = {"live.test/fine", "live.test/gone", f"{raw}gone", f"{raw}dead", f"{raw}alone"}
    assert asked == pages
    web.zoo.requests.clear()
    found = [finding(web, c) for c in citations]
    assert web.asked("live.test") == web.asked("web.archive.test") == []
    assert [f.label for f in found] == [
        *[Label.SUPPORTED] * 3,
        Label.UNCHECKED,
        Label.SUPPORTED,
    ]


FERRIES = "Rope ferries of the upper Holm"
PAPER = Document(
    "https://pubmed.ncbi.nlm.nih.gov/77/",
    FERRIES,
    "The ferry of Holm carried 40 carts a day in 1911.",
    meta={"doi": "10.1000/Holm.1", "pmid": "77"},
)
OTHER_PAPER = Document(
    "https://holm.example/b", FERRIES, "A ferry.", meta={"doi": "10.1000/holm.2"}
)


@pytest.mark.parametrize(
    ("known", "found"),
    [
        ({"doi": "10.1000/HOLM.2", "text": f"Berg A. {FERRIES}. 1999."}, OTHER_PAPER.url),
        ({"pmid": "77"}, PAPER.url),
        ({"url": "http://www.holm.example/b"}, OTHER_PAPER.url),
        ({"doi": "10.1000/holm.3", "title": FERRIES}, None),
    ],
)
def test_a_cited_work_is_found_in_the_corpus(
    tmp_path: Path, known: dict[str, str], found: str | None
) -> None:
    citation = Citation("r1", Span(0, 1), Span(0, 1), **known)  # type: ignore[arg-type]
    with EmbeddedCorpus.create(tmp_path / "c", None) as corpus:
        corpus.add([OTHER_PAPER, PAPER])
        copy = corpus_copies(Corpora({"c": corpus}))(citation)
    assert (copy and copy.url) == found
