"""A second opinion beside ours: what it adds, where it is asked, what it may never do."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.judgement import aggregation, fusion
from pincite.judgement.fusion import CAUTIOUS, MOST, JudgedRow
from pincite.types import (
    Citation,
    CitationResult,
    Claim,
    Evidence,
    Failed,
    Finding,
    Label,
    Opinion,
    Passage,
    Reason,
    Span,
    Unchecked,
    Verdict,
)

THRESHOLD = aggregation.THRESHOLD


def found(probability: float | None, *, refuted: float = 0.0, why: Reason = Reason.DEAD) -> Finding:
    """A finding on a claim with one citation, which supports it so far; None: not checked."""
    citation = Citation("r1", Span(0, 1), Span(0, 1))
    if probability is None:
        outcome: Evidence | Unchecked = Unchecked("https://a.example/", why)
    else:
        passage = Passage("d", "https://a.example/", "", "It opened in 1911.", Span(0, 18))
        score = aggregation.log_odds(probability)
        rest = 1 - probability - refuted
        outcome = Evidence(passage, probability, refuted, rest, score)
    label = aggregation.label_of(outcome)
    result = CitationResult(citation, outcome, label)
    score_of_group = aggregation.group_score([result], None)
    return Finding(Claim("c", "It opened."), (result,), None, label, score_of_group, ())


def says(verdict: Verdict, log_ratio: float | None = None) -> Opinion:
    return Opinion(verdict, "m@h", log_ratio=CAUTIOUS[verdict] if log_ratio is None else log_ratio)


@given(st.floats(0.01, 0.99), st.sampled_from(list(Verdict)))
def test_the_posterior_is_bayes_rule(probability: float, verdict: Verdict) -> None:
    fused = fusion.fuse(found(probability), says(verdict), THRESHOLD)
    expected = aggregation.log_odds(probability) + CAUTIOUS[verdict]
    if verdict is Verdict.UNUSABLE:
        expected = aggregation.log_odds(probability)
    assert fused.score == pytest.approx(expected, abs=1e-9)
    support = fused.prob_supported
    assert support == pytest.approx(1 / (1 + math.exp(-expected)), abs=1e-3)


@given(st.floats(0.01, 0.99), st.floats(0, 1), st.sampled_from(list(Verdict)), st.floats(-3, 3))
def test_a_model_never_makes_a_source_contradict(
    probability: float, share: float, verdict: Verdict, log_ratio: float
) -> None:
    before = found(probability, refuted=share * (1 - probability))
    after = fusion.fuse(before, says(verdict, log_ratio), THRESHOLD)
    if after.label is Label.REFUTED:
        assert before.label is Label.REFUTED
    assert {r.label for r in after.citations} == {after.label}


@pytest.mark.parametrize(
    ("probability", "verdict", "label"),
    [
        (0.4, Verdict.NOT_SUPPORTED, Label.NOT_SUPPORTED),
        (0.9, Verdict.NOT_SUPPORTED, Label.SUPPORTED),
        (0.2, Verdict.SUPPORTED, Label.SUPPORTED),
        (0.02, Verdict.SUPPORTED, Label.NOT_SUPPORTED),
        (0.32, Verdict.PARTLY_SUPPORTED, Label.PARTLY_SUPPORTED),
        (0.4, Verdict.UNUSABLE, Label.SUPPORTED),
    ],
)
def test_verdicts_of_both(probability: float, verdict: Verdict, label: Label) -> None:
    fused = fusion.fuse(found(probability), says(verdict), THRESHOLD)
    assert fused.label is label
    assert fusion.relabel(fused, THRESHOLD).label is label


def test_a_failure_changes_nothing_but_is_told() -> None:
    before = found(0.4)
    after = fusion.fuse(before, Failed("server", "gone"), THRESHOLD)
    assert replace(after, opinion=None) == before
    assert isinstance(after.opinion, Failed)


def test_what_could_not_be_read_stays_open_but_a_foreign_source_is_judged() -> None:
    no = says(Verdict.NOT_SUPPORTED)
    assert fusion.fuse(found(None), no, THRESHOLD).label is Label.UNCHECKED
    foreign = found(None, why=Reason.LANGUAGE)
    assert fusion.fuse(foreign, no, THRESHOLD).label is Label.NOT_SUPPORTED
    assert fusion.fuse(foreign, says(Verdict.SUPPORTED), THRESHOLD).label is Label.SUPPORTED


def test_we_are_of_two_minds() -> None:
    for probability, verdict, disagree in (
        (0.9, Verdict.NOT_SUPPORTED, True),
        (0.9, Verdict.PARTLY_SUPPORTED, False),
        (0.1, Verdict.SUPPORTED, True),
        (0.1, Verdict.CONTRADICTED, False),
        (0.1, Verdict.UNUSABLE, False),
    ):
        assert (
            fusion.disagree(fusion.fuse(found(probability), says(verdict), THRESHOLD)) is disagree
        )


def test_the_model_is_asked_in_the_band_worst_first() -> None:
    findings = [found(p) for p in (0.5, None, 0.1, 0.99, 0.001)]
    findings.append(found(None, why=Reason.LANGUAGE))
    assert fusion.worth_asking(findings, (0.05, 0.9)) == [2, 0, 5]
    assert set(fusion.worth_asking(findings, (0.05, 0.9), every=True)) == {0, 2, 3, 4, 5}


def test_measured_verdicts_of_an_honest_model_and_of_one_that_follows_us() -> None:
    ours = [-2.0, -1.0, 0.0, 1.0, 2.0] * 40
    truth = [n % 2 == 0 for n in range(200)]
    right = [JudgedRow(s, Verdict.SUPPORTED if t else Verdict.NOT_SUPPORTED, t)
             for s, t in zip(ours, truth, strict=True)]  # fmt: skip
    good = fusion.measure_verdicts(right)
    assert good.log_ratios[Verdict.SUPPORTED] > 2
    assert good.log_ratios[Verdict.NOT_SUPPORTED] < -2
    assert all(abs(each) <= MOST for each in good.log_ratios.values())
    assert good.counts[Verdict.SUPPORTED] == (100, 0)
    # What repeats our own score, which is right already, adds next to nothing.
    truth = [n % 1000 / 1000 < 1 / (1 + math.exp(-s)) for s in (-2.0, 2.0) for n in range(1000)]
    repeats = [
        JudgedRow(s, Verdict.SUPPORTED if s > 0 else Verdict.NOT_SUPPORTED, t)
        for s, t in zip([-2.0] * 1000 + [2.0] * 1000, truth, strict=True)
    ]
    for verdict in (Verdict.SUPPORTED, Verdict.NOT_SUPPORTED):
        assert abs(fusion.measure_verdicts(repeats).log_ratios[verdict]) < 0.1
