"""A second opinion beside ours: what it adds, where it is asked, what it may never do."""

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.judgement import decide, fusion
from pincite.judgement.fusion import CAUTIOUS, MOST, JudgedRow
from pincite.settings import JudgeSettings
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

THRESHOLD = decide.THRESHOLD


def found(probability: float | None, *, refuted: float = 0.0, why: Reason = Reason.DEAD) -> Finding:
    """A finding on a claim with one citation, which supports it so far; None: not checked."""
    citation = Citation("r1", Span(0, 1), Span(0, 1))
    if probability is None:
        outcome: Evidence | Unchecked = Unchecked("https://a.example/", why)
    else:
        passage = Passage("d", "https://a.example/", "", "It opened in 1911.", Span(0, 18))
        score = decide.log_odds(probability)
        rest = 1 - probability - refuted
        outcome = Evidence(passage, probability, refuted, rest, score)
    label = decide.label_of(outcome)
    result = CitationResult(citation, outcome, label)
    score_of_group = decide.group_score([result], None)
    return Finding(Claim("c", "It opened."), (result,), None, label, score_of_group, ())


def says(verdict: Verdict, log_ratio: float | None = None) -> Opinion:
    return Opinion(verdict, "m@h", log_ratio=CAUTIOUS[verdict] if log_ratio is None else log_ratio)


@given(st.floats(0.01, 0.99), st.sampled_from(list(Verdict)))
def test_the_posterior_is_bayes_rule(probability: float, verdict: Verdict) -> None:
    fused = fusion.fuse(found(probability), says(verdict), THRESHOLD)
    expected = decide.log_odds(probability) + CAUTIOUS[verdict]
    if verdict is Verdict.UNUSABLE:
        expected = decide.log_odds(probability)
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


def test_a_model_is_not_quoted_as_saying_that_a_scan_contradicts() -> None:
    typed = found(0.1)
    (result,) = typed.citations
    assert isinstance(result.outcome, Evidence)
    scan = replace(result.outcome, passage=replace(result.outcome.passage, recognised=97))
    scanned = replace(typed, citations=(replace(result, outcome=scan),))
    for finding, verdict in ((typed, Verdict.CONTRADICTED), (scanned, Verdict.NOT_SUPPORTED)):
        fused = fusion.fuse(finding, says(Verdict.CONTRADICTED), THRESHOLD)
        assert isinstance(fused.opinion, Opinion)
        assert fused.opinion.verdict is verdict


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


@given(st.sampled_from([each for each in Verdict if each != "partly_supported"]), st.booleans())
def test_outside_the_band_an_unmeasured_verdict_changes_no_label(
    verdict: Verdict, low: bool
) -> None:
    judge = JudgeSettings()
    before = found(judge.low - 0.01 if low else judge.high + 0.01)
    assert fusion.fuse(before, says(verdict), THRESHOLD).label is before.label


@pytest.mark.parametrize("log_ratio", [-2.0, -0.1, 0.1, 2.0])
def test_a_model_that_reads_alone_decides_whatever_it_was_measured_to_add(
    log_ratio: float,
) -> None:
    foreign = found(None, why=Reason.LANGUAGE)
    for verdict, label in (
        (Verdict.SUPPORTED, Label.SUPPORTED),
        (Verdict.PARTLY_SUPPORTED, Label.PARTLY_SUPPORTED),
        (Verdict.NOT_SUPPORTED, Label.NOT_SUPPORTED),
    ):
        assert fusion.fuse(foreign, says(verdict, log_ratio), THRESHOLD).label is label


def judged(ours: float, model: float, n: int = 400) -> list[JudgedRow]:
    """Rows of which each is right for a share, independently, with our scores at -2 or 1."""
    chance = random.Random(7)
    rows = []
    for number in range(n):
        truth = number % 2 == 0
        own = 1.0 if (chance.random() < ours) is truth else -2.0
        says_so = (chance.random() < model) is truth
        verdict = Verdict.SUPPORTED if says_so else Verdict.NOT_SUPPORTED
        rows.append(JudgedRow(own, verdict, truth))
    return rows


@pytest.mark.parametrize(("ours", "model"), [(0.7, 0.9), (0.9, 0.7), (0.8, 0.8), (0.8, 0.5)])
def test_a_measured_model_and_we_are_as_often_right_as_the_better_one(
    ours: float, model: float
) -> None:
    alone, by_model, both = fusion.shares_right(judged(ours, model), THRESHOLD)
    assert [alone, by_model] == pytest.approx([ours, model], abs=0.05)
    assert both >= max(alone, by_model) - 0.01


def test_a_verdict_that_is_wrong_less_than_half_the_time_is_followed() -> None:
    # The likelihood would leave a probability of 0.4, which is above the threshold.
    rows = [JudgedRow(0.0, Verdict.NOT_SUPPORTED, n % 5 < 2) for n in range(50)]
    added = fusion.measure_verdicts(rows)[Verdict.NOT_SUPPORTED]
    assert added < decide.log_odds(THRESHOLD)


def test_without_rows_a_verdict_adds_the_cautious_value() -> None:
    assert fusion.measure_verdicts([]) == CAUTIOUS


def test_a_model_that_only_misleads_adds_nothing() -> None:
    rows = [JudgedRow(-1.0 if n % 3 else 2.0, Verdict.SUPPORTED, n % 3 == 0) for n in range(30)]
    assert set(fusion.measure_verdicts(rows).values()) == {0.0}


@given(st.lists(st.tuples(st.floats(-9, 9), st.sampled_from(list(Verdict)), st.booleans())))
def test_both_label_as_many_rows_right_as_we_alone(
    rows: list[tuple[float, Verdict, bool]],
) -> None:
    judged_rows = [JudgedRow(*row) for row in rows]
    added, cut = fusion.measure_verdicts(judged_rows), decide.log_odds(THRESHOLD)
    both = sum((s + added[verdict] >= cut) == truth for s, verdict, truth in judged_rows)
    assert both >= sum((s >= cut) == truth for s, _, truth in judged_rows)


@given(st.lists(st.tuples(st.floats(-9, 9), st.sampled_from(list(Verdict)), st.booleans())))
def test_what_a_verdict_adds_is_bounded(rows: list[tuple[float, Verdict, bool]]) -> None:
    added = fusion.measure_verdicts([JudgedRow(*row) for row in rows])
    assert all(abs(each) <= MOST for each in added.values())
