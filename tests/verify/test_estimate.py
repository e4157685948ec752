"""The work of a run, estimated before it begins."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from support.rows import each_row

from pincite.settings import Settings
from pincite.types import Article, Citation, Claim, Document, Reason, Span, Unchecked
from pincite.verbs.verify.cited_copies import CitedCopies
from pincite.verbs.verify.estimate import Estimate, describe, estimate_article, fetching_seconds
from pincite.web.addresses import WebRules

ONLINE = WebRules(online=True, pause=1.0, at_once=32)


def article(*urls: str | None) -> Article:
    citations = [Citation("r", Span(i, i + 1), Span(i, i + 1), url=u) for i, u in enumerate(urls)]
    claims = tuple(Claim("c", "It opened in 1911.", citations=(c,)) for c in citations)
    return Article("T", "", claims, n_references=len(urls))


def stored(url: str) -> Document | Unchecked:
    if "hand" in url:
        return Document(url, "T", "It opened in 1911.")
    return Unchecked(url, Reason.DEAD if "gone" in url else Reason.NOT_SUPPLIED)


def estimate(article: Article, *, online: bool = True, settings: Any = None) -> Estimate:
    sources = SimpleNamespace(
        is_cached=lambda url: "kept" in url,
        host_of=lambda url: url.split("/")[2] if url.startswith("https://") else None,
    )
    web: Any = SimpleNamespace(sources=sources, wayback=None) if online else None
    copies = CitedCopies(stored, web)

    def tenth(pairs: Sequence[object]) -> float:
        assert pairs
        return 0.1

    return estimate_article(article, copies, tenth, settings or Settings(), candidates=0)


A = "https://a.example"
CITED = article(f"{A}/hand", f"{A}/kept", f"{A}/1", f"{A}/2", "https://b.example/1",
                "https://b.example/1", "ftp://c.example/", None, f"{A}/gone")  # fmt: skip


def test_every_source_is_in_one_place() -> None:
    found = estimate(CITED)
    assert (found.claims, found.citations, found.sources) == (9, 9, 7)
    assert (found.at_hand, found.to_fetch, found.missing) == (2, 3, 1)
    assert found.hosts == {"a.example": 2, "b.example": 1}


def test_nothing_is_fetched_offline() -> None:
    found = estimate(CITED, online=False)
    assert (found.at_hand, found.to_fetch, found.missing) == (1, 0, 5)
    assert found.seconds_of_fetching == (0.0, 0.0)
    per_page = 0.1 * (1 + Settings().retrieval.read)
    assert found.seconds_of_judging == pytest.approx((0.5 * per_page, 1.5 * per_page))


def test_an_article_without_claims_takes_no_time() -> None:
    found = estimate(article())  # measures no pairs
    assert found.seconds_of_judging == (0.0, 0.0)


def test_hosts_are_fetched_in_parallel_and_pages_of_a_host_in_sequence() -> None:
    one_host = fetching_seconds([40], ONLINE)
    forty_hosts = fetching_seconds([1] * 40, ONLINE)
    assert one_host[0] == pytest.approx(48.0)
    assert forty_hosts[1] < one_host[0] / 4
    many = fetching_seconds([1] * 3200, ONLINE)  # more hosts than are fetched from at once
    assert many[0] == pytest.approx(120.0)


@each_row("verify/estimate/servers_that_may_cost_something_are_named")
def test_servers_that_may_cost_something_are_named(changes: dict[str, str], words: str) -> None:
    settings = Settings.of(**changes)
    assert words in describe(estimate(CITED, settings=settings), settings)[1]
