"""What a label follows from, and what a second opinion may change."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.judged import ALL, BOTH, DEAD, NONE, SAID, atom, evidence, result
from support.rows import each_row

from pincite.judgement import decide
from pincite.judgement.findings import relabel
from pincite.types import (
    NO_TRUST,
    Claim,
    DecidedBy,
    Effect,
    Evidence,
    Failed,
    Finding,
    Label,
    Opinion,
    Part,
    Passage,
    Readout,
    Reason,
    Trust,
    Unchecked,
    Verdict,
    Witness,
    WitnessKind,
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
    outcome: Evidence | Unchecked = Unchecked("https://a.example/", why)
    if probability is not None:
        outcome = evidence(decide.log_odds(probability), refuted)
    cited = result(outcome)
    score = decide.group_score([cited], None)
    return Finding(Claim("c", "It opened."), (cited,), None, cited.label, score, ())


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
    assert both.score == ours.score
    assert relabel(both, THRESHOLD) == both


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


@pytest.mark.parametrize(
    ("recognised", "verdict", "label"),
    [
        (None, Verdict.CONTRADICTED, Label.REFUTED),
        (97, Verdict.NOT_SUPPORTED, Label.NOT_SUPPORTED),
    ],
)
def test_a_model_is_not_quoted_as_saying_that_a_scan_contradicts(
    recognised: int | None, verdict: Verdict, label: Label
) -> None:
    passage = replace(Passage.alone("It opened in 1917."), recognised=recognised)
    read = replace(evidence(2.0), passage=passage, readout=Readout(2.0))
    said = says(Verdict.CONTRADICTED, SURE)
    alone = decide.weigh(replace(read, opinion=said))
    ours = replace(finding(0.1), citations=(result(read),))
    for opinion in (alone.opinion, decide.with_opinion(ours, said).opinion):
        assert isinstance(opinion, Opinion)
        assert opinion.verdict is verdict
    assert decide.label_of(alone) is label


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
    alone = decide.weigh(replace(evidence(0.0), readout=Readout(support)))
    both = decide.weigh(replace(alone, opinion=says(verdict, trust)))
    assert both.prob_supported <= alone.prob_supported
    total = both.prob_supported + both.prob_refuted + both.prob_neutral
    assert total == pytest.approx(1)
    if verdict in (Verdict.NOT_SUPPORTED, Verdict.CONTRADICTED):
        assert decide.label_of(both) in (Label.NOT_SUPPORTED, Label.REFUTED)
    assert decide.refutes(both) is (verdict is Verdict.CONTRADICTED and trust.contradicts)
    assert decide.weigh(replace(both, opinion=None)) == alone


WITNESSES = st.lists(st.sampled_from(WitnessKind).map(Witness), max_size=3).map(tuple)


@given(support=st.floats(-9, 9), share=st.floats(0, 1), witnesses=WITNESSES)
def test_what_is_seen_only_lowers_support_and_is_needed_to_contradict(
    support: float, share: float, witnesses: tuple[Witness, ...]
) -> None:
    readout = Readout(support, share)
    found = decide.weigh(replace(evidence(0.0), readout=readout, witnesses=witnesses))
    total = found.prob_supported + found.prob_refuted + found.prob_neutral
    assert total == pytest.approx(1)
    assert decide.weigh(found) == found
    assert found.readout is readout
    assert found.score <= support
    assert (found.prob_refuted > 0) <= decide.has(found, Effect.CONTRADICTS)
    if decide.has(found, Effect.REFUSES):
        assert decide.label_of(found) in (Label.NOT_SUPPORTED, Label.REFUTED)
    bare = decide.without(found, *WitnessKind)
    assert (bare.score, bare.prob_refuted) == (support, 0.0)


@each_row("judgement/decide/what_more_reading_may_change")
def test_what_more_reading_may_change(
    probabilities: list[float], refuted: float, is_open: bool
) -> None:
    found = [evidence(decide.log_odds(p), refuted) for p in probabilities]
    assert decide.is_open(found) is is_open


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.booleans())
def test_what_is_sure_is_supported_whatever_it_lacks(
    p: float, threshold: float, a_figure: bool
) -> None:
    found = evidence(decide.log_odds(p))
    lacking = replace(atom(0), kind="figure" if a_figure else "name")
    if a_figure:
        found = replace(found, unstated=("1911",))
    if decide.is_sure([found], threshold):
        assert decide.label_of(found, threshold, [], [lacking]) is Label.SUPPORTED


@pytest.mark.parametrize(
    ("outcomes", "together", "label", "score"),
    [
        ((-3.0, 1.0), None, Label.SUPPORTED, 1.0),
        ((-1.0, -1.5), 0.5, Label.SUPPORTED, 0.5),
        ((-3.0, None), None, Label.UNCHECKED, -3.0),
        ((None,), None, Label.UNCHECKED, None),
        ((), None, Label.UNCHECKED, None),
    ],
)
def test_groups(
    outcomes: tuple[float | None, ...], together: float | None, label: Label, score: float | None
) -> None:
    """One supporting source is enough; one that is unchecked leaves a failing group open."""
    group = [result(DEAD if each is None else evidence(each)) for each in outcomes]
    read = None if together is None else evidence(together)
    assert decide.group_label(group, read) is label
    assert decide.group_score(group, read) == score
    failing = [result(evidence(-3.0))]
    assert decide.group_label(failing, evidence(-0.3), atoms=[atom(0)]) is Label.PARTLY_SUPPORTED


@pytest.mark.parametrize(
    ("supported", "refuted", "named", "label"),
    [
        (0.43, 0.57, SAID, Label.REFUTED),
        (0.31, 0.68, None, Label.REFUTED),
        (0.55, 0.44, SAID, Label.PARTLY_SUPPORTED),
        (0.90, 0.06, SAID, Label.PARTLY_SUPPORTED),
        (0.35, 0.30, None, Label.SUPPORTED),
        (0.10, 0.30, SAID, Label.NOT_SUPPORTED),
    ],
)
def test_a_claim_whose_contradiction_is_named_or_likelier_is_not_supported(
    supported: float, refuted: float, named: Witness | None, label: Label
) -> None:
    found = replace(evidence(0.0), prob_supported=supported, prob_refuted=refuted)
    assert decide.label_of(replace(found, witnesses=(named,) if named else ())) is label


YEAR, NAME, QUOTED = ([replace(atom(0), kind=kind)] for kind in ("figure", "name", "quotation"))


@pytest.mark.parametrize(
    ("outcome", "clauses", "atoms", "label"),
    [
        (evidence(-0.84), [], [], Label.SUPPORTED),
        (evidence(-0.86), [], [], Label.NOT_SUPPORTED),
        (evidence(-1.0), BOTH, [], Label.PARTLY_SUPPORTED),
        (evidence(-2.0, refuted=0.6), BOTH, [], Label.PARTLY_SUPPORTED),
        (evidence(-1.0), ALL, [], Label.NOT_SUPPORTED),
        (evidence(-2.0, refuted=0.6), NONE, [], Label.REFUTED),
        (evidence(1.0), BOTH, [], Label.SUPPORTED),
        (evidence(-0.3), [], YEAR, Label.PARTLY_SUPPORTED),
        (evidence(0.3), [], YEAR, Label.PARTLY_SUPPORTED),
        (evidence(0.3), [], NAME, Label.SUPPORTED),
        (evidence(1.5), [], YEAR, Label.SUPPORTED),
        (evidence(4.5), [], QUOTED, Label.PARTLY_SUPPORTED),
        (DEAD, [], [], Label.UNCHECKED),
    ],
)
def test_the_whole_decides_first_then_clauses_and_figures(
    outcome: Evidence | Unchecked, clauses: list[Part], atoms: list[Part], label: Label
) -> None:
    assert decide.label_of(outcome, clauses=clauses, atoms=atoms) is label


def test_a_passage_that_denies_speaks_where_none_supports() -> None:
    unrelated, denying = evidence(-1.0, refuted=0.1), evidence(-3.0, refuted=0.9)
    assert decide.deciding_evidence([unrelated, denying]) is denying
    assert decide.deciding_evidence([evidence(2.0), denying]).score == 2.0  # type: ignore[union-attr]
    assert decide.deciding_evidence([unrelated, evidence(-3.0, refuted=0.3)]) is unrelated
    assert decide.deciding_evidence([]) is None is decide.strongest_refutation([])


def test_a_network_alone_denies_nothing_that_the_page_nearly_supports() -> None:
    read_so = (Witness(WitnessKind.NETWORK),)
    by_network = replace(evidence(-3.0, refuted=0.9), witnesses=read_so)
    by_rule = evidence(-3.0, refuted=0.8)
    far, near = evidence(-2.5), evidence(-1.85)
    assert decide.deciding_evidence([far, by_network]) is by_network
    assert decide.deciding_evidence([near, by_network]) is near
    assert decide.deciding_evidence([near, by_network, by_rule]) is by_rule
    assert decide.strongest_refutation([near, by_network]) is near
    # What counts is how the network reads a passage, not what rules make of it.
    lowered = replace(far, readout=Readout(-2.5, network=-1.0))
    raised = replace(near, readout=Readout(-1.85, network=-4.0))
    assert decide.deciding_evidence([lowered, by_network]) is lowered
    assert decide.deciding_evidence([raised, by_network]) is by_network
