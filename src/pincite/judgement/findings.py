"""The verdict on a citation and on a claim: its label, and the parts of the claim to name.

Parts are clauses, which the verifier judges, and atoms, which a rule looks for in the source: a
model may overlook one wrong year in a long sentence, a rule does not. What a source does not state,
or contradicts, it is `lacking`; which of these a reader is told under a label are `missing`. A
finding keeps all that its verdict follows from, so that it can be decided again at another
threshold, be ranked among the others, and say what it rests on.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import partial
from typing import TypeVar

from pincite import errors
from pincite.judgement import decide
from pincite.judgement.atoms import atoms, beyond_quote, is_within, unstated_atoms
from pincite.text.words import content_words, missing_words
from pincite.types import (
    Basis,
    CitationResult,
    Claim,
    Effect,
    Evidence,
    Failed,
    Finding,
    Label,
    Part,
    Reason,
    Span,
    Unchecked,
    Uncited,
    Verifiability,
    WitnessKind,
)

T = TypeVar("T")
_LIST_ITEM = 2  # words of a clause that may be an item of a list
# Share of a claim's words that a quote lacks which seems to verify it.
FEW_MISSING = 0.25
# Shares of failing citations for which to show advice, from careful to doubtful articles. An
# article's share is not known in advance, so readers pick what fits.
BASE_RATES = (0.02, 0.05, 0.20)


def contradicted_words(claim: str, outcome: Evidence | Unchecked) -> list[Part]:
    """Return the words of the claim that the evidence contradicts; the whole claim if unknown."""
    if isinstance(outcome, Unchecked) or not decide.has(outcome, Effect.CONTRADICTS):
        return []
    words = outcome.contradiction.claim if outcome.contradiction else ""
    start = claim.find(words) if words else -1
    span = Span(0, len(claim)) if start < 0 else Span(start, start + len(words))
    return [Part("contradiction", span, span.of(claim), supported=False)]


def missing_parts(
    label: Label, clauses: Sequence[Part], lacking: Sequence[Part]
) -> tuple[Part, ...]:
    """Return the parts to name as missing from one source, in claim order.

    Partly supported: contradicted words, unsupported clauses, and what the other clauses lack.
    Supported: what the source lacks. Otherwise nothing is named.
    """
    if label not in (Label.SUPPORTED, Label.PARTLY_SUPPORTED):
        return ()
    named = [part for part in lacking if part.kind == "contradiction"]
    if label is Label.PARTLY_SUPPORTED:
        named += [clause for clause in clauses if not clause.supported and not _is_stated(clause)]
    others = [part for part in lacking if not is_within(part, named)]
    return tuple(sorted([*named, *others], key=lambda part: part.span))


def missing_from_all(
    claim: str, label: Label, results: Sequence[CitationResult], lacking: Sequence[Part]
) -> tuple[Part, ...]:
    """Return the parts to name as missing from all sources together.

    What one of them contradicts and another has is not missing.
    """
    own_atoms = atoms(claim)

    def is_had(part: Part) -> bool:
        if part.words == claim:  # which words are contradicted is unknown
            return True
        is_atom = any(atom.span.overlaps(part.span) for atom in own_atoms)
        return any(_has(result, part, claim, is_atom=is_atom) for result in results)

    kept = [part for part in lacking if part.kind != "contradiction" or not is_had(part)]
    of_sources = [result.clauses for result in results if result.clauses]
    best_supported = [
        max(same, key=lambda part: part.evidence.score if part.evidence else -math.inf)
        for same in zip(*of_sources, strict=True)
    ]
    return missing_parts(label, best_supported, kept)


def _has(result: CitationResult, part: Part, claim: str, *, is_atom: bool) -> bool:
    """Whether a source has a contradicted part: it supports the claim, or states these atoms."""
    if isinstance(result.outcome, Unchecked):
        return False
    lacking = [other.span for other in result.lacking if other.words != claim]
    states = is_atom and not any(span.overlaps(part.span) for span in lacking)
    return states or result.label is Label.SUPPORTED


def _is_stated(clause: Part) -> bool:
    """Whether a clause of one or two words (a list item) occurs in the passage judged for it.

    If the network does not find "he taught in Gram" supported, "Gram" may still be there.
    """
    if clause.evidence is None or len(clause.words.split()) > _LIST_ITEM:
        return False
    wanted = set(content_words(clause.words))
    return bool(wanted) and wanted.issubset(content_words(clause.evidence.passage.text))


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
    complete = [e for e in evidence if not unstated_atoms(claim.text, [e.passage], claim.language)]
    is_named = label is Label.NOT_SUPPORTED or (
        label is Label.SUPPORTED and any(e.quote and not beyond_quote(claim, e) for e in complete)
    )
    return Basis.NAMES if complete and is_named and atoms(claim.text) else Basis.NETWORK


def _is_fault_shown(finding: Finding, evidence: Sequence[Evidence]) -> bool:
    """Whether a rule shows what is wrong: what differs or, unless it is refuted, is lacking."""
    kinds = {witness.kind for e in evidence for witness in e.witnesses}
    if kinds - {WitnessKind.NETWORK}:
        return True
    parts = (*finding.missing, *finding.lacking)
    lacks = any(part.kind != "clause" for part in parts)
    lacks = lacks or any(e.unstated or e.unnamed for e in evidence)
    return lacks and finding.label is not Label.REFUTED


def may_be_unverifiable(finding: Finding) -> bool:
    """Whether neither citation nor search supports the claim, and no passage has nearly all of it.

    A passage has its words in one or more sentences: "no source" beside them would mislead.
    """
    if finding.verifiability is not Verifiability.DOUBTFUL:
        return False
    outcomes = (result.outcome for result in finding.citations)
    return not any(
        missing_words(finding.claim.text, outcome.passage.text) < FEW_MISSING
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


def rank_findings(findings: Sequence[Finding], wrong: Collection[str] = ()) -> list[Finding]:
    """Rank findings worst first: by label, then by score; ties keep article order.

    A tag of an editor raises the rank of a claim unless its source supports it. The claims in
    `wrong`, whose flags the user rejects, follow the other flags. Then come claims with a cited
    work in doubt. Supported ones whose source changed precede the others.
    """

    def rank(finding: Finding) -> tuple[_Group, bool, int, bool, float]:
        is_supported = finding.label is Label.SUPPORTED
        return (
            _group(finding, is_rejected=finding.claim.claim_id in wrong),
            not finding.claim.disputed,
            decide.WORST_FIRST.index(finding.label),
            is_supported and not finding.source_changed,
            finding.score or 0.0,
        )

    return sorted(findings, key=rank)


def _group(finding: Finding, *, is_rejected: bool) -> _Group:
    if is_rejected and finding.label is not Label.SUPPORTED:
        return _Group.REJECTED
    group = {Label.SUPPORTED: _Group.SUPPORTED, Label.UNCHECKED: _Group.UNREAD}.get(finding.label)
    if group is None or (group is _Group.UNREAD and finding.claim.disputed):
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


# ── Findings that met a bug ───────────────────────────────────────────────────────────────────────


def not_read(url: str, why: Failed) -> Unchecked:
    return Unchecked(url, Reason.INTERNAL_ERROR, why.detail)


def without_verdict(claim: Claim, why: Failed) -> Finding:
    """Return a claim without a verdict: each of its citations could not be checked."""
    results = tuple(
        CitationResult(each, not_read(each.url or "", why), Label.UNCHECKED)
        for each in claim.citations
    )
    return Finding(claim, results, None, Label.UNCHECKED, None, (), failed=why)


def render_one(render: Callable[[Finding], T], finding: Finding) -> T:
    """Render a finding; if that raises, render the claim without a verdict."""
    return errors.attempt(
        lambda: render(finding), lambda why: render(without_verdict(finding.claim, why))
    )


def render_uncited(render: Callable[[Uncited], T], uncited: Uncited) -> T:
    """Render an uncited sentence; if that raises, render it without its sources."""
    bare = partial(replace, uncited, suggestions=(), excluded=(), reasons_coded=())
    return errors.attempt(lambda: render(uncited), lambda why: render(bare(failed=why)))
