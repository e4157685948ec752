"""A second opinion beside ours: what it may change, and what it may never do."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.judgement import aggregation, decide
from pincite.types import (
    NO_TRUST,
    Citation,
    CitationResult,
    Claim,
    DecidedBy,
    Evidence,
    Failed,
    Finding,
    Label,
    Opinion,
    Passage,
    Readout,
    Reason,
    Span,
    Trust,
    Unchecked,
    Verdict,
)

THRESHOLD = decide.THRESHOLD
PASSED = Trust(refuses=True)
SURE = Trust(refuses=True, contradicts=True)
PROVEN = Trust(refuses=True, confirms=True)
TRUSTS = st.sampled_from([PASSED, SURE, PROVEN])
VERDICTS = st.sampled_from(list(Verdict))


def finding(
    probability: float | None, *, refuted: float = 0.0, why: Reason = Reason.DEAD
) -> Finding:
    """A finding on a claim with one citation; a probability of None: not checked."""
    citation = Citation("r1", Span(0, 1), Span(0, 1))
    outcome: Evidence | Unchecked = Unchecked("https://a.example/", why)
    if probability is not None:
        passage = Passage("d", "https://a.example/", "", "It opened in 1911.", Span(0, 18))
        rest = 1 - probability - refuted
        outcome = Evidence(passage, probability, refuted, rest, decide.log_odds(probability))
    label = decide.label_of(outcome)
    result = CitationResult(citation, outcome, label)
    score = decide.group_score([result], None)
    return Finding(Claim("c", "It opened."), (result,), None, label, score, ())


def says(verdict: Verdict, trust: Trust = PASSED) -> Opinion:
    return Opinion(verdict, "m@h", trust=trust)


@given(st.floats(0.01, 0.99), VERDICTS, TRUSTS)
def test_a_refusal_by_either_side_stands(
    probability: float, verdict: Verdict, trust: Trust
) -> None:
    ours = finding(probability)
    both = decide.with_opinion(ours, says(verdict, trust))
    refused = verdict in (Verdict.NOT_SUPPORTED, Verdict.CONTRADICTED, Verdict.PARTLY_SUPPORTED)
    if refused or (ours.label is not Label.SUPPORTED and not trust.confirms):
        assert both.label is not Label.SUPPORTED
    if both.label is Label.REFUTED:
        assert trust.contradicts
    assert {result.label for result in both.citations} == {both.label}
    assert both.score == ours.score, "what the network says is kept"
    assert aggregation.relabel(both, THRESHOLD) == both


@given(st.floats(0.01, 0.99) | st.none(), VERDICTS)
def test_a_model_that_did_not_pass_changes_no_label(
    probability: float | None, verdict: Verdict
) -> None:
    ours = finding(probability, why=Reason.LANGUAGE)
    both = decide.with_opinion(ours, says(verdict, NO_TRUST))
    assert (both.label, both.decided_by) == (ours.label, DecidedBy.PINCITE)


@pytest.mark.parametrize(
    ("probability", "refuted", "verdict", "trust", "label", "by"),
    [
        (0.9, 0.0, Verdict.SUPPORTED, PASSED, Label.SUPPORTED, "both"),
        (0.9, 0.0, Verdict.NOT_SUPPORTED, PASSED, Label.NOT_SUPPORTED, "model"),
        (0.9, 0.0, Verdict.PARTLY_SUPPORTED, PASSED, Label.PARTLY_SUPPORTED, "model"),
        (0.9, 0.0, Verdict.CONTRADICTED, PASSED, Label.NOT_SUPPORTED, "model"),
        (0.9, 0.0, Verdict.CONTRADICTED, SURE, Label.REFUTED, "model"),
        (0.1, 0.0, Verdict.SUPPORTED, PASSED, Label.DISPUTED, "model"),
        (0.1, 0.0, Verdict.SUPPORTED, PROVEN, Label.SUPPORTED, "model"),
        (0.1, 0.0, Verdict.PARTLY_SUPPORTED, PASSED, Label.NOT_SUPPORTED, "pincite"),
        (0.1, 0.0, Verdict.NOT_SUPPORTED, PASSED, Label.NOT_SUPPORTED, "both"),
        (0.1, 0.6, Verdict.NOT_SUPPORTED, PASSED, Label.REFUTED, "pincite"),
        (0.1, 0.6, Verdict.SUPPORTED, PASSED, Label.DISPUTED, "model"),
        (0.9, 0.0, Verdict.UNUSABLE, PASSED, Label.SUPPORTED, "pincite"),
    ],
)
def test_labels_of_both(
    probability: float, refuted: float, verdict: Verdict, trust: Trust, label: Label, by: str
) -> None:
    both = decide.with_opinion(finding(probability, refuted=refuted), says(verdict, trust))
    assert (both.label, both.decided_by) == (label, by)


def test_a_model_is_not_quoted_as_saying_that_a_scan_contradicts() -> None:
    typed = finding(0.1)
    (result,) = typed.citations
    assert isinstance(result.outcome, Evidence)
    scan = replace(result.outcome, passage=replace(result.outcome.passage, recognised=97))
    scanned = replace(typed, citations=(replace(result, outcome=scan),))
    for one, verdict in ((typed, Verdict.CONTRADICTED), (scanned, Verdict.NOT_SUPPORTED)):
        both = decide.with_opinion(one, says(Verdict.CONTRADICTED, SURE))
        assert isinstance(both.opinion, Opinion)
        assert both.opinion.verdict is verdict


def test_a_failure_changes_nothing_but_is_reported() -> None:
    ours = finding(0.4)
    both = decide.with_opinion(ours, Failed("server", "gone"))
    assert replace(both, opinion=None) == ours
    assert isinstance(both.opinion, Failed)


def test_an_unread_source_stays_open_but_a_foreign_one_is_judged() -> None:
    no = says(Verdict.NOT_SUPPORTED)
    assert decide.with_opinion(finding(None), no).label is Label.UNCHECKED
    foreign = finding(None, why=Reason.LANGUAGE)
    assert decide.with_opinion(foreign, no).label is Label.NOT_SUPPORTED
    assert decide.with_opinion(foreign, says(Verdict.SUPPORTED)).label is Label.SUPPORTED


@given(st.floats(-9, 9), VERDICTS, TRUSTS)
def test_a_model_never_raises_the_support_of_a_passage(
    support: float, verdict: Verdict, trust: Trust
) -> None:
    passage = Passage("d", "", "", "It opened.", Span(0, 10))
    alone = decide.weighed(Evidence(passage, 0.0, 0.0, 1.0, 0.0, readout=Readout(support)))
    both = decide.weighed(replace(alone, opinion=says(verdict, trust)))
    assert both.prob_supported <= alone.prob_supported
    total = both.prob_supported + both.prob_refuted + both.prob_neutral
    assert total == pytest.approx(1)
    if verdict in (Verdict.NOT_SUPPORTED, Verdict.CONTRADICTED):
        assert decide.label_of(both) in (Label.NOT_SUPPORTED, Label.REFUTED)
    assert decide.refutes(both) is (verdict is Verdict.CONTRADICTED and trust.contradicts)
    assert decide.weighed(replace(both, opinion=None)) == alone


def test_no_scan_contradicts_by_a_model() -> None:
    scan = Passage("d", "", "", "It opened in 1917.", Span(0, 18), recognised=97)
    read = Evidence(scan, 0.0, 0.0, 1.0, 0.0, readout=Readout(2.0))
    seen = decide.weighed(replace(read, opinion=says(Verdict.CONTRADICTED, SURE)))
    assert decide.label_of(seen) is Label.NOT_SUPPORTED
    assert isinstance(seen.opinion, Opinion)
    assert seen.opinion.verdict is Verdict.NOT_SUPPORTED


@pytest.mark.parametrize("probability", [0.35, 0.99])
def test_words_in_quotation_marks_must_stand_in_the_source(probability: float) -> None:
    (result,) = finding(probability).citations
    claim = "The inquiry wrote that “the master must leave the bridge”."
    source = "The inquiry wrote that “the master must not leave the bridge” at anchor."
    passage = Passage("d", "", "", source, Span(0, len(source)))
    atoms = aggregation.missing_atoms(claim, [passage])
    assert [atom.kind for atom in atoms] == ["quotation"]
    assert decide.label_of(result.outcome, atoms=atoms) is Label.PARTLY_SUPPORTED
    exact = claim.replace("must", "must […]")
    assert aggregation.missing_atoms(exact, [passage]) == []
