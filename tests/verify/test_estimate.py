"""What a run will do, told before it does it."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from pincite.settings import Settings
from pincite.types import Article, Citation, Claim, Document, Reason, Span, Unchecked
from pincite.verbs.verify.estimate import Estimator, fetching_seconds, lines, together
from pincite.web.addresses import WebRules

ONLINE = WebRules(online=True, pause=1.0, at_once=32)


def article(*urls: str | None) -> Article:
    citations = [Citation("r", Span(i, i + 1), Span(i, i + 1), url=u) for i, u in enumerate(urls)]
    claims = tuple(Claim("c", "It opened in 1911.", citations=(c,)) for c in citations)
    return Article("T", "", claims, n_references=len(urls))


def stored(citation: Citation) -> Document | Unchecked:
    url = citation.url or ""
    if "hand" in url:
        return Document(url, "T", "It opened in 1911.")
    if "gone" in url:
        return Unchecked(url, Reason.DEAD, "HTTP 404")
    return Unchecked(url, Reason.NOT_SUPPLIED)


def host_of(url: str) -> str | None:
    return url.split("/")[2] if url.startswith("https://") else None


def estimator(**changes: Any) -> Estimator:
    def tenth(pairs: Sequence[object]) -> float:
        assert pairs
        return 0.1

    made = Estimator(
        stored=stored,
        seconds_a_pair=tenth,
        of_a_page=10,
        candidates=0,
        rules=ONLINE,
        asked=lambda citation: citation.url,
        is_kept=lambda url: "kept" in url,
        host_of=host_of,
    )
    return dataclasses.replace(made, **changes)


CITED = article(
    *("https://a.example/hand", "https://a.example/kept", "https://a.example/1"),
    *(
        "https://a.example/2",
        "https://b.example/1",
        "https://b.example/1",
        "ftp://c.example/",
        None,
        "https://a.example/gone",
    ),
)


def test_every_source_is_in_one_place() -> None:
    found = estimator().of(CITED)
    assert (found.n_claims, found.n_citations, found.n_with_address) == (9, 9, 8)
    assert found.n_sources == 7
    assert found.n_known_to_fail == 1
    assert (found.n_at_hand, found.n_fetched_before, found.n_to_fetch) == (1, 1, 3)
    assert (found.n_missing, found.n_never_opened) == (0, 1)
    assert found.hosts == {"a.example": 2, "b.example": 1}


def test_offline_nothing_is_to_be_fetched() -> None:
    found = estimator(rules=WebRules()).of(CITED)
    assert (found.n_at_hand, found.n_to_fetch, found.n_missing) == (1, 0, 5)
    assert found.fetching == (0.0, 0.0)
    assert found.judging == pytest.approx((0.5, 1.5))  # one page of ten passages
    assert "give --online" in lines(found, Settings())[0]


def test_an_article_without_claims_takes_no_time() -> None:
    def never(pairs: Sequence[object]) -> float:
        raise AssertionError(pairs)

    found = estimator(seconds_a_pair=never, candidates=50).of(article())
    assert found.seconds == (0.0, 0.0)
    assert "a few seconds" in lines(found, Settings())[1]


def test_a_host_is_asked_slowly_and_many_hosts_at_once() -> None:
    one_host = fetching_seconds([40], ONLINE)
    forty_hosts = fetching_seconds([1] * 40, ONLINE)
    assert one_host[0] == pytest.approx(48.0)
    assert forty_hosts[1] < one_host[0] / 4
    many = fetching_seconds([1] * 3200, ONLINE)  # more hosts than are asked at once
    assert many[0] == pytest.approx(120.0)


def test_many_articles_are_judged_by_a_few() -> None:
    one = estimator().of(CITED)
    found = together([one, one], 20)
    assert (found.n_articles, found.n_citations, found.n_to_fetch) == (20, 180, 60)
    assert found.seconds == pytest.approx([20 * value for value in one.seconds])


def test_a_server_that_may_cost_something_is_named() -> None:
    found = estimator().of(CITED)
    assert "costs nothing" in lines(found, Settings())[1]
    served = Settings.of(verifier="bespoke-minicheck@http://127.0.0.1:1/v1")
    assert "may cost" in lines(found, served)[1]
