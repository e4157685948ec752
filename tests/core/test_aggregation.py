import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.core import aggregation
from pincite.types import (
    Citation,
    CitationResult,
    Claim,
    Evidence,
    Finding,
    Label,
    Passage,
    Reason,
    Span,
    Unchecked,
)

DEAD = Unchecked("https://gone.example/", Reason.DEAD, "HTTP 404")


def evidence(score: float, refuted: float = 0.0, url: str = "https://a.example/") -> Evidence:
    supported = 1 / (1 + math.exp(-score))
    passage = Passage("d", url, "T", "text", Span(0, 4))
    return Evidence(passage, supported, refuted, 1 - supported - refuted, score)


def result(outcome: Evidence | Unchecked) -> CitationResult:
    citation = Citation("r1", Span(0, 1), Span(0, 1))
    return CitationResult(citation, outcome, aggregation.label_of(outcome))


def finding(label: Label, score: float | None, text: str = "c") -> Finding:
    return Finding(Claim(text, text), (), None, label, score, ())


def test_document_score_is_the_maximum_and_the_first_of_equals() -> None:
    first, second = evidence(2.0, url="https://1.example/"), evidence(2.0, url="https://2.example/")
    assert aggregation.best([evidence(1.0), first, second]) is first
    assert aggregation.best([]) is None


@pytest.mark.parametrize(
    ("outcome", "label"),
    [
        (evidence(0.21), Label.SUPPORTED),
        (evidence(0.19), Label.NOT_SUPPORTED),
        (evidence(-2.0, refuted=0.6), Label.REFUTED),
        (DEAD, Label.UNCHECKED),
    ],
)
def test_labels(outcome: Evidence | Unchecked, label: Label) -> None:
    assert aggregation.label_of(outcome) is label


def test_one_supporting_citation_carries_its_group() -> None:
    group = [result(evidence(-3.0)), result(evidence(1.0))]
    assert aggregation.group_label(group, None) is Label.SUPPORTED
    assert aggregation.group_score(group, None) == 1.0


def test_sources_that_support_only_together_support() -> None:
    group = [result(evidence(-1.0)), result(evidence(-1.5))]
    assert aggregation.group_label(group, evidence(0.5)) is Label.SUPPORTED
    assert aggregation.group_score(group, evidence(0.5)) == 0.5


def test_an_unchecked_member_leaves_a_failing_group_open() -> None:
    group = [result(evidence(-3.0)), result(DEAD)]
    assert aggregation.group_label(group, None) is Label.UNCHECKED


def test_nothing_checked_has_no_score() -> None:
    assert aggregation.group_score([result(DEAD)], None) is None
    assert aggregation.group_label([], None) is Label.UNCHECKED


def test_worst_first_and_unchecked_apart() -> None:
    findings = [
        finding(Label.SUPPORTED, 3.0),
        finding(Label.UNCHECKED, None),
        finding(Label.NOT_SUPPORTED, -1.0),
        finding(Label.REFUTED, -2.0),
        finding(Label.SUPPORTED, 0.5),
    ]
    assert [f.score for f in aggregation.ranked(findings)] == [-2.0, -1.0, 0.5, 3.0, None]


@given(st.lists(st.sampled_from([-1.0, 0.0]), max_size=8))
def test_ties_keep_the_order_of_the_article(scores: list[float]) -> None:
    findings = [finding(Label.NOT_SUPPORTED, s, f"{n}") for n, s in enumerate(scores)]
    ranked = aggregation.ranked(findings)
    assert [f.claim.text for f in ranked] == [
        f.claim.text for s in (-1.0, 0.0) for f in findings if f.score == s
    ]


def test_suggestions_outrank_support_and_come_from_different_pages() -> None:
    candidates = [
        evidence(2.0, url="https://x.example/1"),
        evidence(3.0, url="https://x.example/1"),
        evidence(2.5, url="https://y.example/"),
        evidence(0.4, url="https://z.example/"),
        evidence(-1.0, url="https://w.example/"),
    ]
    found = aggregation.suggestions(candidates, existing=0.5, k=3)
    assert [s.evidence.score for s in found] == [3.0, 2.5]
    assert [s.gain for s in found] == [2.5, 2.0]


def test_a_candidate_that_fails_itself_is_no_better_source() -> None:
    assert aggregation.suggestions([evidence(-1.0)], existing=-5.0, k=3) == []
    assert aggregation.suggestions([evidence(-1.0)], existing=None, k=3) == []


def test_records_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        evidence(1.0).score = 2.0  # type: ignore[misc]


def test_passages_of_a_group_are_chosen_to_complete_each_other() -> None:
    claim = "It closed in 1952 and was reopened by Ingrid Holm in 1973."

    def judged(text: str, score: float) -> Evidence:
        return dataclasses.replace(
            evidence(score), passage=Passage("d", "u", "", text, Span(0, len(text)))
        )

    first = [judged("Reopened by Ingrid Holm in 1973.", 1.0)]
    second = [judged("The reopening of 1973.", 0.5), judged("It closed in 1952.", -2.0)]
    chosen = aggregation.complementary(claim, [second, first])
    assert [p.text for p in chosen] == ["Reopened by Ingrid Holm in 1973.", "It closed in 1952."]
    assert aggregation.complementary(claim, []) == []
