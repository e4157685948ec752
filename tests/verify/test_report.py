"""Citations counted on their way, by uses and by sources."""

import dataclasses
from typing import Any

import pytest

from pincite.types import (
    Article,
    Citation,
    CitationResult,
    Claim,
    Copy,
    CopyKind,
    Evidence,
    Finding,
    Label,
    Passage,
    Reason,
    Span,
    Unchecked,
)
from pincite.verbs.verify.report import Stage, Tally, coverage_of, stage_of, total

BORNE_OUT = Evidence(Passage("d", "u", "", "text", Span(0, 4)), 0.8, 0.1, 0.1, 1.0)


def cited(url: str | None, at: int = 0, **more: Any) -> Citation:
    place = Span(at, at + 1)
    return dataclasses.replace(Citation("r", place, place, url=url), **more)


def finding(label: Label, *results: tuple[Citation, Evidence | Reason]) -> Finding:
    found = tuple(
        CitationResult(c, Unchecked("", o) if isinstance(o, Reason) else o, Label.UNCHECKED)
        for c, o in results
    )
    claim = Claim("c", "It is so.", citations=tuple(c for c, _ in results))
    return Finding(claim, found, None, label, None, ())


def article(*findings: Finding, n_references: int = 0) -> Article:
    claims = tuple(found.claim for found in findings)
    return Article("T", "", claims, n_references=n_references)


ONE = "https://a.example/1"
FINDINGS = (
    finding(Label.REFUTED, (cited(ONE), BORNE_OUT), (cited(f"{ONE}#part"), BORNE_OUT)),
    finding(Label.SUPPORTED, (cited(ONE), BORNE_OUT), (cited(None, 7), Reason.OFFLINE)),
    finding(Label.UNCHECKED, (cited(None, 7), Reason.OFFLINE), (cited(None, 9), Reason.OFFLINE)),
    finding(Label.UNCHECKED, (cited("https://b.example/"), Reason.DEAD)),
    finding(Label.UNCHECKED, (cited("https://c.example/"), Reason.PAYWALL)),
    finding(Label.UNCHECKED, (cited("https://d.example/"), Reason.LANGUAGE)),
)


def test_uses_and_sources() -> None:
    found = coverage_of(article(*FINDINGS, n_references=12), FINDINGS)
    assert found.references == 12
    assert found.stages == {
        Stage.CITED: Tally(9, 6),
        Stage.ADDRESSED: Tally(6, 4),
        Stage.OBTAINED: Tally(5, 3),
        Stage.READ: Tally(4, 2),
        Stage.JUDGED: Tally(3, 1),
        Stage.FLAGGED: Tally(2, 1),
    }
    assert found.waiting == 0
    assert next(iter(found.reasons.items())) == (Reason.OFFLINE, Tally(3, 2))
    assert found.lost_rows[0][:2] == ("3 (2 sources)", "no web address (book or print)")


def test_copies_are_counted_by_their_kind() -> None:
    found = finding(Label.SUPPORTED, *[(cited(ONE), BORNE_OUT)] * 3, (cited(ONE), Reason.PAYWALL))
    kinds = (CopyKind.ARCHIVED, CopyKind.LIVE, CopyKind.LIVE, CopyKind.STORED)
    results = tuple(
        dataclasses.replace(result, copy=Copy(kind, ONE))
        for result, kind in zip(found.citations, kinds, strict=True)
    )
    counted = coverage_of(article(found), [dataclasses.replace(found, citations=results)])
    assert list(counted.copies.items()) == [
        (CopyKind.LIVE, Tally(2, 1)),
        (CopyKind.ARCHIVED, Tally(1, 1)),
    ]
    assert total([counted, counted]).copies[CopyKind.LIVE] == Tally(4, 2)


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_its_stage(reason: Reason) -> None:
    result = CitationResult(cited(ONE), Unchecked(ONE, reason), Label.UNCHECKED)
    assert stage_of(result, Label.UNCHECKED) in (Stage.ADDRESSED, Stage.OBTAINED, Stage.READ)
    nowhere = dataclasses.replace(result, citation=cited(None))
    assert stage_of(nowhere, Label.UNCHECKED) is Stage.CITED


def test_an_identifier_or_a_copy_counts_as_an_address_does() -> None:
    known = (cited(None, doi="10.1000/1"), cited(None, pmid="7"), cited(None, 7), cited(ONE))
    judged = finding(Label.SUPPORTED, *((each, BORNE_OUT) for each in known))
    found = coverage_of(article(judged), [judged])
    assert found.stages[Stage.ADDRESSED] == found.stages[Stage.OBTAINED] == Tally(4, 4)
