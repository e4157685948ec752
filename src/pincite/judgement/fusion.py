"""Combines a second opinion with ours: what a model's verdict adds to our log-odds.

By Bayes' rule that is log P(verdict | supported) − log P(verdict | not supported), if the model's
errors are independent of ours and both are calibrated. They are not, so the values are those with
which most labels are right at the threshold: of simulated models for one that is not measured, of
labelled rows for one that is. A model that errs where we err then counts for less.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from pincite.judgement import aggregation, decide
from pincite.notes import Note
from pincite.types import (
    CitationResult,
    Evidence,
    Failed,
    Finding,
    Label,
    Opinion,
    Reason,
    Unchecked,
    Verdict,
    sigmoid,
)

# What each verdict of an unmeasured model adds. Of all pairs for supported and not supported, this
# one keeps both together least behind the better one alone, by the root mean square over simulated
# models that are right in 65 to 90 % (research/scripts/simulate_judges.py --fit).
CAUTIOUS: Mapping[Verdict, float] = MappingProxyType(
    {
        Verdict.SUPPORTED: 0.7,
        Verdict.PARTLY_SUPPORTED: -0.4,
        Verdict.NOT_SUPPORTED: -0.8,
        Verdict.CONTRADICTED: -0.8,
        Verdict.UNUSABLE: 0.0,
    }
)
MOST = 3.0  # maximum that a verdict adds or subtracts: a table of few rows gives no certainty
UNREAD = 0.0  # our log-odds for a source that our network cannot read
# Rows that must be right in addition: for a verdict to add 1 more or less than the cautious value,
# and for fitted values instead of simpler ones. With 20 to 120 rows, these keep both together least
# behind the better one alone (research/second-opinion.md).
_ROWS_PER_STEP, _MORE_RIGHT = 1.0, 3
_VALUES = tuple(n / 10 for n in range(round(-10 * MOST), round(10 * MOST) + 1))


class JudgedRow(NamedTuple):
    """A labelled row that both judged."""

    log_odds: float  # ours
    verdict: Verdict
    supported: bool


def measure_verdicts(rows: Sequence[JudgedRow]) -> Mapping[Verdict, float]:
    """Return what each verdict adds: the values with which most rows are labelled right.

    Right means: supported if, and only if, the sum reaches the default threshold. Fitted values
    must be right on `_MORE_RIGHT` rows more than the cautious ones, than ours alone (each adds 0)
    and than the model alone; otherwise the best of these is returned. The values of greatest
    likelihood would give probabilities at the rows' own share of supported claims, for which that
    threshold is too low.
    """
    cut = decide.log_odds(decide.THRESHOLD)

    def n_right(added: Mapping[Verdict, float], of: Sequence[JudgedRow] = rows) -> int:
        return sum((row.log_odds + added[row.verdict] >= cut) == row.supported for row in of)

    def fitted(verdict: Verdict) -> float:
        own = [row for row in rows if row.verdict is verdict]

        def worth(value: float) -> float:
            return n_right({verdict: value}, own) - _ROWS_PER_STEP * abs(value - CAUTIOUS[verdict])

        return max(_VALUES, key=worth)

    ours = dict.fromkeys(Verdict, 0.0)
    model = {**dict.fromkeys(Verdict, -MOST), Verdict.SUPPORTED: MOST, Verdict.UNUSABLE: 0.0}
    simple = max((CAUTIOUS, ours, model), key=n_right)
    both = {verdict: fitted(verdict) for verdict in Verdict}
    return both if n_right(both) >= n_right(simple) + _MORE_RIGHT else simple


def cross_fitted(rows: Sequence[JudgedRow]) -> list[float]:
    """Return the combined log-odds, cross-fitted: each half uses the other half's table.

    Both halves have as many rows of each label and verdict, whatever the order of the rows.
    """
    order = sorted(range(len(rows)), key=lambda n: (rows[n].supported, rows[n].verdict))
    tables = [measure_verdicts([rows[n] for n in order[1 - half :: 2]]) for half in (0, 1)]
    half_of = {n: place % 2 for place, n in enumerate(order)}
    return [row.log_odds + tables[half_of[n]][row.verdict] for n, row in enumerate(rows)]


def shares_right(rows: Sequence[JudgedRow], threshold: float) -> tuple[float, float, float]:
    """Return the shares of rows labelled right: by us, by the model, by both (cross-fitted)."""
    cut = decide.log_odds(threshold)
    labels = [
        (row.log_odds >= cut, row.verdict is Verdict.SUPPORTED, both >= cut)
        for row, both in zip(rows, cross_fitted(rows), strict=True)
    ]
    right = [[own == row.supported for own in of] for row, of in zip(rows, labels, strict=True)]
    ours, model, both = (sum(column) / len(rows) for column in zip(*right, strict=True))
    return ours, model, both


def rates(rows: Sequence[JudgedRow], threshold: float) -> tuple[float, float] | None:
    """Return the shares of unsupported and of supported rows that both flag, cross-fitted."""
    cut = decide.log_odds(threshold)
    flagged = [
        (row.supported, both < cut) for row, both in zip(rows, cross_fitted(rows), strict=True)
    ]
    shares = [[flag for truth, flag in flagged if truth is kind] for kind in (False, True)]
    if not all(shares):
        return None
    caught, false_alarms = (sum(share) / len(share) for share in shares)
    return caught, false_alarms


def fuse(finding: Finding, opinion: Opinion | Failed, threshold: float) -> Finding:
    """Add the opinion to a finding; verdict and rank become those of both together.

    An unusable opinion changes nothing. An opinion never makes a source contradict a claim: that
    needs a contradiction that a reader can check.
    """
    if isinstance(opinion, Failed) or opinion.verdict is Verdict.UNUSABLE:
        return replace(finding, opinion=opinion)
    own = UNREAD if finding.score is None else finding.score
    read = [r.outcome.passage for r in finding.citations if isinstance(r.outcome, Evidence)]
    if opinion.verdict is Verdict.CONTRADICTED and any(p.recognised is not None for p in read):
        opinion = replace(opinion, verdict=Verdict.NOT_SUPPORTED)  # a scan may be misread
    return apply_opinion(
        replace(finding, opinion=opinion, score=own + opinion.log_ratio), threshold
    )


def apply_opinion(finding: Finding, threshold: float) -> Finding:
    """Replace our verdicts by those of both, in a finding that already has its opinion."""
    opinion = finding.opinion
    if not isinstance(opinion, Opinion) or opinion.verdict is Verdict.UNUSABLE:
        return finding
    label, citations = _label(finding, opinion, threshold), finding.citations
    if len(citations) == 1 and isinstance(citations[0].outcome, Evidence):
        citations = (replace(citations[0], label=label),)
    missing = () if label in (Label.NOT_SUPPORTED, Label.UNCHECKED) else finding.missing
    return replace(finding, label=label, citations=citations, missing=missing)


def _label(finding: Finding, opinion: Opinion, threshold: float) -> Label:
    own = finding.label
    partly = opinion.verdict is Verdict.PARTLY_SUPPORTED
    supported = sigmoid(finding.score or UNREAD) >= threshold
    if own_support(finding) is None:  # the model alone read it
        supported = opinion.verdict is Verdict.SUPPORTED
    if supported:
        if own in (Label.SUPPORTED, Label.PARTLY_SUPPORTED):
            return own
        return Label.PARTLY_SUPPORTED if partly else Label.SUPPORTED
    unread = [r.outcome for r in finding.citations if isinstance(r.outcome, Unchecked)]
    if own is Label.UNCHECKED and not all(map(is_foreign, unread)):
        return own
    if own in (Label.REFUTED, Label.PARTLY_SUPPORTED):
        return own
    return Label.PARTLY_SUPPORTED if partly else Label.NOT_SUPPORTED


def failures(counts: Iterable[Mapping[str, int]]) -> tuple[Note, ...]:
    """Notes for a report on opinions that are missing for a reason of the whole run."""
    return tuple(
        Note("no_second_opinions", {"n": n, "why": detail})
        for why in counts
        for detail, n in why.items()
    )


def fuse_evidence(evidence: Evidence, opinion: Opinion | Failed) -> Evidence:
    """Combine both opinions on a passage; the model's becomes the last of the reasons."""
    if isinstance(opinion, Failed):
        if opinion.is_of_run:
            return evidence
        why = Note("second_failed", {"why": opinion.detail})
        return replace(evidence, notes=(*evidence.notes, why))
    score = evidence.score + opinion.log_ratio
    supported = sigmoid(score)
    rest = evidence.prob_refuted + evidence.prob_neutral
    refuted = (1 - supported) * (evidence.prob_refuted / rest if rest else 0.0)
    return replace(
        evidence,
        prob_supported=supported,
        prob_refuted=refuted,
        prob_neutral=1 - supported - refuted,
        score=score,
        notes=(*evidence.notes, Note(f"second_{opinion.verdict}", {"model": opinion.model})),
    )


def disagree(finding: Finding) -> bool:
    opinion, own = finding.opinion, own_support(finding)
    if not isinstance(opinion, Opinion) or own is None:
        return False
    if own >= decide.THRESHOLD:
        return opinion.verdict in (Verdict.NOT_SUPPORTED, Verdict.CONTRADICTED)
    return opinion.verdict is Verdict.SUPPORTED


def own_support(finding: Finding) -> float | None:
    """Return our verifier's own probability of support; None if it read nothing."""
    score = decide.group_score(finding.citations, finding.together)
    return None if score is None else round(sigmoid(score), 4)


def worth_asking(
    findings: Sequence[Finding], band: tuple[float, float], *, every: bool = False
) -> list[int]:
    """Return the indices of the findings that a second opinion may change, worst first.

    Those are findings in the band (`every`: all that were read), or with foreign sources.
    """

    def may_change(finding: Finding) -> bool:
        own = finding.prob_supported
        if own is not None and (every or band[0] <= own <= band[1]):
            return True
        return any(is_foreign(result.outcome) for result in finding.citations)

    chosen = [n for n, each in enumerate(findings) if may_change(each)]
    return sorted(chosen, key=lambda n: findings[n].score or 0.0)


def is_foreign(outcome: Evidence | Unchecked) -> bool:
    return isinstance(outcome, Unchecked) and outcome.reason is Reason.LANGUAGE


def relabel(finding: Finding, threshold: float) -> Finding:
    """Decide a finding as if at `threshold`, without judging or searching again."""
    results = tuple(_relabel_citation(result, threshold) for result in finding.citations)
    clauses = aggregation.best_supported([result.clauses for result in results])
    label = decide.group_label(results, finding.together, threshold, finding.lacking)
    missing = aggregation.missing(label, clauses, finding.lacking)
    return apply_opinion(
        replace(finding, citations=results, label=label, missing=missing), threshold
    )


def _relabel_citation(result: CitationResult, threshold: float) -> CitationResult:
    clauses = tuple(
        replace(each, supported=each.evidence.prob_supported >= threshold)
        for each in result.clauses
        if each.evidence
    )
    label = decide.label_of(result.outcome, threshold, clauses, result.lacking)
    missing = aggregation.missing(label, clauses, result.lacking)
    return replace(result, label=label, clauses=clauses, missing=missing)
