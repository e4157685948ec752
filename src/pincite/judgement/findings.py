"""The verdict on a citation and on a claim, what it rests on, and the order of an article's.

A verdict is a label (`decide`) and the parts of the claim to name as missing (`claim_parts`). Both
follow from values that a finding keeps, so that it can be decided again at another threshold.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

from pincite.judgement import decide
from pincite.judgement.claim_parts import (
    atoms,
    beyond_quote,
    missing_atoms,
    missing_from_all,
    missing_parts,
)
from pincite.text import words
from pincite.types import (
    Basis,
    CitationResult,
    Effect,
    Evidence,
    Finding,
    Label,
    Part,
    Unchecked,
    Verifiability,
    WitnessKind,
)

# Share of a claim's words that a quote lacks which seems to verify it.
FEW_MISSING = 0.25
# Shares of failing citations for which to show advice, from careful to doubtful articles. An
# article's share is not known in advance, so readers pick what fits.
BASE_RATES = (0.02, 0.05, 0.20)


@dataclass(frozen=True, slots=True)
class LabelledParts:
    """A label, and the parts of the claim to name as missing under it, in the claim's order."""

    label: Label
    missing: tuple[Part, ...]


def decide_on_source(
    outcome: Evidence | Unchecked,
    clauses: Sequence[Part],
    lacking: Sequence[Part],
    threshold: float,
) -> LabelledParts:
    """Decide on one source by its best passage, the claim's clauses, and the atoms it lacks."""
    label = decide.label_of(outcome, threshold, clauses, lacking)
    return LabelledParts(label, missing_parts(label, clauses, lacking))


def decide_on_claim(
    claim: str,
    results: Sequence[CitationResult],
    together: Evidence | None,
    lacking: Sequence[Part],
    threshold: float,
) -> LabelledParts:
    """Decide on all sources of a claim; `lacking`: the atoms that none of them states."""
    label = decide.group_label(results, together, threshold, lacking)
    return LabelledParts(label, missing_from_all(claim, label, results, lacking))


def relabel(finding: Finding, threshold: float) -> Finding:
    """Decide a finding as if at `threshold`, without judging or searching again."""
    results = tuple(_relabel_citation(result, threshold) for result in finding.citations)
    verdict = decide_on_claim(
        finding.claim.text, results, finding.together, finding.lacking, threshold
    )
    own = replace(finding, citations=results, label=verdict.label, missing=verdict.missing)
    return decide.with_opinion(own, finding.opinion)


def _relabel_citation(result: CitationResult, threshold: float) -> CitationResult:
    clauses = tuple(
        replace(clause, supported=clause.evidence.prob_supported >= threshold)
        for clause in result.clauses
        if clause.evidence
    )
    verdict = decide_on_source(result.outcome, clauses, result.lacking, threshold)
    return replace(result, label=verdict.label, clauses=clauses, missing=verdict.missing)


def judged_evidence(finding: Finding) -> list[Evidence]:
    """Return the evidence of all sources together, if any, and of each."""
    outcomes = [finding.together, *(result.outcome for result in finding.citations)]
    return [outcome for outcome in outcomes if isinstance(outcome, Evidence)]


def basis(finding: Finding) -> Basis:
    """Return what a reader can see that the label rests on."""
    claim, label, evidence = finding.claim, finding.label, judged_evidence(finding)
    if label in (Label.DISPUTED, Label.UNCHECKED):
        return Basis.SHOWN
    if label is Label.PARTLY_SUPPORTED and any(decide.has(e, Effect.LIMITS) for e in evidence):
        return Basis.QUALIFIED
    if label is not Label.SUPPORTED and _is_fault_shown(finding, evidence):
        return Basis.SHOWN
    complete = [e for e in evidence if not missing_atoms(claim.text, [e.passage], claim.language)]
    has_names = bool(complete and atoms(claim.text))
    if label is Label.SUPPORTED:
        is_at_quote = any(e.quote and not beyond_quote(claim, e) for e in complete)
        return Basis.NAMES if has_names and is_at_quote else Basis.NETWORK
    return Basis.NAMES if has_names and label is Label.NOT_SUPPORTED else Basis.NETWORK


def _is_fault_shown(finding: Finding, evidence: Sequence[Evidence]) -> bool:
    """Whether a rule shows what is wrong: what differs or, unless it is refuted, is missing."""
    witnesses = (witness for e in evidence for witness in e.witnesses)
    if any(witness.kind is not WitnessKind.NETWORK for witness in witnesses):
        return True
    lacks = any(e.unstated or e.unnamed for e in evidence) or any(
        part.kind != "clause" for part in (*finding.missing, *finding.lacking)
    )
    return lacks and finding.label is not Label.REFUTED


def may_be_unverifiable(finding: Finding) -> bool:
    """Whether neither citation nor search supports the claim, and no passage has nearly all of it.

    A passage has its words in one or more sentences: "no source" beside them would mislead.
    """
    if finding.verifiability is not Verifiability.DOUBTFUL:
        return False
    outcomes = (result.outcome for result in finding.citations)
    return not any(
        words.missing_words(finding.claim.text, outcome.passage.text) < FEW_MISSING
        for outcome in outcomes
        if isinstance(outcome, Evidence)
    )


class _Group(IntEnum):
    """Findings are listed in this order."""

    FLAG = 0
    REJECTED = 1  # a flag that the user calls wrong
    WORK_IN_DOUBT = 2
    UNREAD = 3
    SUPPORTED = 4


class _Rank(NamedTuple):
    """The sort key of a finding: False and lower numbers come first."""

    group: _Group
    is_untagged: bool  # no editor doubts the claim's sources
    label: int  # place in `decide.WORST_FIRST`
    is_up_to_date: bool  # supported by a source that has not changed
    score: float


def rank_findings(findings: Sequence[Finding], wrong: Collection[str] = ()) -> list[Finding]:
    """Rank findings worst first: by label, then by score; ties keep article order.

    A tag of an editor raises the rank of a claim unless its source supports it. The claims in
    `wrong`, whose flags the user rejects, follow the other flags. Then come claims with a cited
    work in doubt. Supported ones whose source changed precede the others.
    """

    def rank(finding: Finding) -> _Rank:
        is_supported = finding.label is Label.SUPPORTED
        return _Rank(
            group=_group(finding, is_rejected=finding.claim.claim_id in wrong),
            is_untagged=not finding.claim.disputed,
            label=decide.WORST_FIRST.index(finding.label),
            is_up_to_date=is_supported and not finding.source_changed,
            score=finding.score or 0.0,
        )

    return sorted(findings, key=rank)


def _group(finding: Finding, *, is_rejected: bool) -> _Group:
    if finding.label is Label.SUPPORTED:
        group = _Group.SUPPORTED
    elif is_rejected:
        return _Group.REJECTED
    elif finding.label is Label.UNCHECKED and not finding.claim.disputed:
        group = _Group.UNREAD
    else:
        return _Group.FLAG
    return _Group.WORK_IN_DOUBT if finding.is_reference_in_doubt else group


def flag_precisions(rates: tuple[float, float] | None) -> tuple[tuple[float, float], ...]:
    """Return (base rate, share of flags that are right) for each of `BASE_RATES`.

    A verifier is tested on sets where half of the pairs fail; in an article few do. Rates that do
    not depend on that share carry over, precision does not:
    P(fails | flag) = b·caught / (b·caught + (1 − b)·false_alarms), by Bayes' theorem; on base rates
    in detection, Axelsson 2000 (ACM TISSEC 3(3)).

    Args:
        rates: shares of failing citations that are caught, and of sound ones that are flagged;
            None: unknown.
    """
    if rates is None or not any(rates):
        return ()
    caught, false_alarms = rates
    return tuple((b, b * caught / (b * caught + (1 - b) * false_alarms)) for b in BASE_RATES)
