"""Decides: from what the network says, and what else was seen, to probabilities and labels.

Nothing else sets either. What the network says (`Readout`), what was seen (`Witness`) and what a
language model said (`Opinion`) are kept, so that a decision can be made again without a witness, or
at another threshold. docs/judging.md has the order of what counts.

A document's score is the maximum over its passages (Petroni et al. 2023, §2.2). A source that could
not be checked never counts against a claim.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from pincite import errors
from pincite.notes import Note
from pincite.types import (
    CitationResult,
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
    Reason,
    Unchecked,
    Verdict,
    WitnessKind,
    sigmoid,
)

# Probability of support from which a citation counts as supporting its claim. Of 0.30, 0.35 … 0.60,
# it has the best balanced accuracy on both WiCE dev without partial rows (0.85) and SciFact dev
# (0.78). It is low because most claims of those sets are not wholly supported, while most claims of
# articles are.
THRESHOLD = 0.30
# Probability of support from which a figure or name missing from the source no longer makes a claim
# partly supported, but is only named: the source may say it in other words.
SURE = 0.50
# The same for a figure. Of 387 dev claims with a figure found nowhere on the page, 25 of 40 were
# supported at a probability from 0.5 to 0.7, 4 of 7 up to 0.75, and neither of 2 above.
SURE_OF_FIGURES = 0.80
# Probability of refutation from which a source counts as contradicting. The verifier gives 0 to a
# passage without a contradiction, and at least 0.6 of the unsupported share to one with a
# contradiction: the bound lies below 0.6 times what an unsupported claim leaves.
REFUTED_FROM = 0.40
# How far below the threshold, in log-odds, a passage is near: if the best of a page's first ones is
# farther, the others stay unread, and its quote must share words with the claim. At 0.3, a
# probability below 0.15 is far (research/fusion.md).
OPEN = 0.89
# The network's own log-odds of support of a page's best passage from which a contradiction that
# only the network reads does not count. It approximates the bound found by `make calibrate`,
# which includes the page's support. Rules are left out here: a name that seems missing lowers the
# support of true claims too.
COUNTS_BELOW = -2.1
# Minimum probability of what a rule shows: its precision on rows not used for choosing it, rounded
# down (research/refutation.md). The calibration may give more.
OF_A_RULE = 0.6
# Most log-odds of support beside a witness. 0.45 where the passage states the claim only with a
# qualifier: `check` and `ask` require more, and `verify` calls it partly supported. 0.2 where it
# says the claim's words of another: below THRESHOLD, but near it, so that the rest of the page is
# read.
MOST_SUPPORT: Mapping[Effect, float] = MappingProxyType(
    {Effect.CONTRADICTS: math.inf, Effect.LIMITS: -0.2, Effect.REFUSES: math.log(0.2 / 0.8)}
)

# Probability of support from which a reference supports a sentence of an answer. Higher than
# THRESHOLD: a sentence written from an abstract is close to it, and an unsupported one misleads
# (research/check-and-ask.md).
REFERENCE_SUPPORTS_FROM = 0.5
# Up to this |DOC| a document is neutral on a reading (EvidenceSeeker).
LEAST_DEGREE = 0.2

# Labels in the order in which a reader should see them; refusals stand in this order too.
WORST_FIRST = (
    Label.REFUTED,
    Label.NOT_SUPPORTED,
    Label.PARTLY_SUPPORTED,
    Label.DISPUTED,
    Label.UNCHECKED,
    Label.SUPPORTED,
)
# What a model's refusal makes of a claim.
_OF_REFUSAL: Mapping[Verdict, Label] = MappingProxyType(
    {
        Verdict.CONTRADICTED: Label.REFUTED,
        Verdict.NOT_SUPPORTED: Label.NOT_SUPPORTED,
        Verdict.PARTLY_SUPPORTED: Label.PARTLY_SUPPORTED,
    }
)


# ── A passage ────────────────────────────────────────────────────────────────────────────────────


def weigh(evidence: Evidence) -> Evidence:
    """Return the evidence with the probabilities that follow from all that is known of it.

    A witness lowers support, and so does the refusal of a trusted model; neither raises it. Only
    with a witness, or by such a model, does a passage contradict its claim.
    """
    score, refuted = evidence.score, evidence.prob_refuted
    if readout := evidence.readout:
        effects = {witness.kind.effect for witness in evidence.witnesses}
        score = min([readout.support, *(MOST_SUPPORT[effect] for effect in effects)])
        share = max(readout.refuted, OF_A_RULE) if evidence.contradiction else readout.refuted
        contradicts = Effect.CONTRADICTS in effects
        refuted = (1 - sigmoid(readout.support)) * share if contradicts else 0.0
    opinion = _legible(evidence.opinion, [evidence.passage])
    if refusal := _refusal(opinion):
        effect = Effect.LIMITS if refusal is Verdict.PARTLY_SUPPORTED else Effect.REFUSES
        score = min(score, MOST_SUPPORT[effect])
        if refusal is Verdict.CONTRADICTED:
            refuted = max(refuted, (1 - sigmoid(score)) * OF_A_RULE)
    elif readout is None:
        return evidence
    supported = sigmoid(score)
    return replace(
        evidence,
        prob_supported=supported,
        prob_refuted=refuted,
        prob_neutral=max(0.0, 1.0 - supported - refuted),
        score=score,
        opinion=opinion,
    )


def _legible(
    opinion: Opinion | Failed | None, passages: Sequence[Passage]
) -> Opinion | Failed | None:
    """Return an opinion without a contradiction of scans, which may be misread."""
    scanned = any(passage.recognised is not None for passage in passages)
    if scanned and isinstance(opinion, Opinion) and opinion.verdict is Verdict.CONTRADICTED:
        return replace(opinion, verdict=Verdict.NOT_SUPPORTED)
    return opinion


def _refusal(opinion: Opinion | Failed | None) -> Verdict | None:
    """Return the verdict of a model that denies the claim some support; None if none counts."""
    if not isinstance(opinion, Opinion) or not opinion.trust.refuses:
        return None
    if opinion.verdict is Verdict.CONTRADICTED and not opinion.trust.contradicts:
        return Verdict.NOT_SUPPORTED
    return None if opinion.verdict in (Verdict.SUPPORTED, Verdict.UNUSABLE) else opinion.verdict


def supporting_opinion(evidence: Evidence) -> Opinion | None:
    """Return the opinion of a trusted model that finds support in the passage too."""
    opinion = evidence.opinion
    if not isinstance(opinion, Opinion) or not opinion.trust.refuses:
        return None
    return opinion if opinion.verdict is Verdict.SUPPORTED else None


def best(evidence: Sequence[Evidence]) -> Evidence | None:
    """Return the evidence with the highest score, the first if tied; None if empty."""
    return max(evidence, key=lambda e: e.score, default=None)


def refutes(evidence: Evidence) -> bool:
    """Whether a passage contradicts its claim: likely enough, and likelier than it supports it."""
    return evidence.prob_refuted >= max(REFUTED_FROM, evidence.prob_supported)


def without(evidence: Evidence, *kinds: WitnessKind) -> Evidence:
    """Return the evidence as if nothing of these kinds had been seen."""
    left = tuple(witness for witness in evidence.witnesses if witness.kind not in kinds)
    return evidence if left == evidence.witnesses else weigh(replace(evidence, witnesses=left))


def has(evidence: Evidence, *effects: Effect) -> bool:
    """Whether a passage has a witness with one of these effects."""
    return any(witness.kind.effect in effects for witness in evidence.witnesses)


def is_near(evidence: Evidence, threshold: float = THRESHOLD) -> bool:
    """Whether a passage comes close to supporting its claim."""
    return log_odds(evidence.prob_supported) >= log_odds(threshold) - OPEN


# ── A source ─────────────────────────────────────────────────────────────────────────────────────


def deciding_evidence(
    evidence: Sequence[Evidence], threshold: float = THRESHOLD
) -> Evidence | None:
    """Return the evidence that decides on a source; None if empty.

    That is the best supported passage or, if it is below the threshold, the one that contradicts
    most, if likely enough: then the best supported passage is often about something else.
    """
    supporting = best(evidence)
    if supporting is None or supporting.prob_supported >= threshold:
        return supporting
    against = strongest_refutation(evidence)
    return against if against and refutes(against) else supporting


def strongest_refutation(evidence: Sequence[Evidence]) -> Evidence | None:
    """Return the evidence that contradicts most; None if none counts."""
    counted = [e for e in evidence if counts_as_refutation(e, evidence)]
    return max(counted, key=lambda e: e.prob_refuted, default=None)


def counts_as_refutation(evidence: Evidence, of_page: Sequence[Evidence]) -> bool:
    """Whether a contradiction counts: by the network alone, if no passage is near support."""
    if all(witness.kind is not WitnessKind.NETWORK for witness in evidence.witnesses):
        return True
    networks = [(e.readout.network if e.readout else None, e.score) for e in of_page]
    return all((score if odds is None else odds) < COUNTS_BELOW for odds, score in networks)


def is_open(evidence: Sequence[Evidence], threshold: float = THRESHOLD) -> bool:
    """Whether the unread rest of a page may change its verdict."""
    supporting = best(evidence)
    if supporting is None or is_sure(evidence, threshold):
        return False
    return is_near(supporting, threshold) or any(map(refutes, evidence))


def is_sure(evidence: Sequence[Evidence], threshold: float = THRESHOLD) -> bool:
    """Whether a page supports the whole claim, whatever figures, names or clauses it lacks."""
    supporting = best(evidence)
    if supporting is None or has(supporting, Effect.CONTRADICTS):
        return False
    sure = SURE_OF_FIGURES if supporting.unstated else SURE
    return supporting.prob_supported >= max(sure, threshold)


def label_of(
    outcome: Evidence | Unchecked,
    threshold: float = THRESHOLD,
    clauses: Sequence[Part] = (),
    atoms: Sequence[Part] = (),
) -> Label:
    """Return the verdict on one source.

    The whole claim decides first. If refutation is likelier than support, it is not supported; with
    a witness against it, it is at most partly supported. A failing claim is partly supported if
    some of its clauses are supported. A supported one is only partly supported if no passage states
    some figure or name (`atoms`), unless the verifier is sure (SURE, SURE_OF_FIGURES), or some
    quotation word for word.
    """
    if isinstance(outcome, Unchecked):
        return Label.UNCHECKED
    refuted = refutes(outcome)
    if outcome.prob_supported >= threshold and not refuted:
        sure = SURE_OF_FIGURES if any(atom.kind == "figure" for atom in atoms) else SURE
        altered = any(atom.kind == "quotation" for atom in atoms)
        doubted = altered or has(outcome, Effect.CONTRADICTS, Effect.LIMITS)
        unsure = doubted or (atoms and outcome.prob_supported < sure)
        return Label.PARTLY_SUPPORTED if unsure else Label.SUPPORTED
    if {clause.supported for clause in clauses} == {True, False}:
        return Label.PARTLY_SUPPORTED
    return Label.REFUTED if refuted else Label.NOT_SUPPORTED


# ── A claim ──────────────────────────────────────────────────────────────────────────────────────


def group_label(
    results: Sequence[CitationResult],
    together: Evidence | None,
    threshold: float = THRESHOLD,
    atoms: Sequence[Part] = (),
) -> Label:
    """Return the verdict on a group of citations.

    One supporting source is enough, and so are all of them read together. If none supports the
    claim, one that could not be checked leaves the verdict open; then a partly supporting source
    counts. A refutation counts if the best source refutes. `atoms`: those that no source states.
    """
    labels = {result.label for result in results}
    if together is not None:
        labels.add(label_of(together, threshold, atoms=atoms))
    if Label.SUPPORTED in labels:
        return Label.SUPPORTED
    if Label.UNCHECKED in labels or not labels:
        return Label.UNCHECKED
    if Label.PARTLY_SUPPORTED in labels:
        return Label.PARTLY_SUPPORTED

    def score(result: CitationResult) -> float:
        return result.outcome.score if isinstance(result.outcome, Evidence) else -math.inf

    return max(results, key=score).label


def group_score(results: Sequence[CitationResult], together: Evidence | None) -> float | None:
    """Return the best score, alone or together; None if nothing could be checked."""
    scores = [r.outcome.score for r in results if isinstance(r.outcome, Evidence)]
    return max([*scores, together.score] if together else scores, default=None)


def _decide(own: Label, opinion: Opinion, *, unread: bool = False) -> tuple[Label, DecidedBy]:
    """Return the label of a claim by both, and who decided.

    A refusal by either side stands. A model's support against our doubt is a dispute, unless the
    user's own rows show that it is worth more: of 245 such verdicts on citations of Wikipedia, 89
    were right. `unread`: the sources are in a language that only the model reads.
    """
    trust, verdict = opinion.trust, opinion.verdict
    if not trust.refuses or verdict is Verdict.UNUSABLE or (own is Label.UNCHECKED and not unread):
        return own, DecidedBy.PINCITE
    refusal = _refusal(opinion)
    if refusal is None:
        if unread or (trust.confirms and own is not Label.SUPPORTED):
            return Label.SUPPORTED, DecidedBy.MODEL
        agreed = own is Label.SUPPORTED
        return (own, DecidedBy.BOTH) if agreed else (Label.DISPUTED, DecidedBy.MODEL)
    label = _OF_REFUSAL[refusal]
    if own is label:
        return own, DecidedBy.BOTH
    weaker = not unread and WORST_FIRST.index(own) < WORST_FIRST.index(label)
    return (own, DecidedBy.PINCITE) if weaker else (label, DecidedBy.MODEL)


def with_opinion(finding: Finding, opinion: Opinion | Failed | None) -> Finding:
    """Decide on a finding that has our label, with a model's opinion."""
    outcomes = [result.outcome for result in finding.citations]
    opinion = _legible(opinion, [e.passage for e in outcomes if isinstance(e, Evidence)])
    if not isinstance(opinion, Opinion):
        return replace(finding, opinion=opinion)
    unread = [outcome for outcome in outcomes if isinstance(outcome, Unchecked)]
    foreign = bool(unread) and all(map(is_foreign, unread))
    label, by = _decide(finding.label, opinion, unread=foreign and finding.score is None)
    citations = finding.citations
    if len(citations) == 1 and isinstance(citations[0].outcome, Evidence):
        citations = (replace(citations[0], label=label),)
    named = label in (Label.SUPPORTED, Label.PARTLY_SUPPORTED)
    return replace(
        finding,
        opinion=opinion,
        label=label,
        decided_by=by,
        citations=citations,
        missing=finding.missing if named else (),
    )


def is_foreign(outcome: Evidence | Unchecked) -> bool:
    """Whether a source could not be read because of its language only."""
    return isinstance(outcome, Unchecked) and outcome.reason is Reason.LANGUAGE


def log_odds(probability: float) -> float:
    """Convert to log-odds, finite for 0 and 1, to which a JSON's four digits may round."""
    inside = min(max(probability, 0.00005), 0.99995)
    return math.log(inside / (1 - inside))


# ── Pairs that met a bug ──────────────────────────────────────────────────────────────────────────

# Log-odds of support of such a pair, a probability of 0.00005: below every judged pair.
NO_SUPPORT = -9.9


def verify_each(
    verify: Callable[[Sequence[tuple[Claim, Passage]]], Sequence[Evidence]],
    pairs: Sequence[tuple[Claim, Passage]],
) -> list[Evidence]:
    """Judge each pair; one that meets a bug is `not_judged` and does not affect the others."""
    return errors.apply(verify, pairs, lambda pair, why: not_judged(pair[1], why))


def not_judged(passage: Passage, why: Failed) -> Evidence:
    return Evidence(passage, 0.0, 0.0, 1.0, NO_SUPPORT, failed=why)


def notes_of(why: Failed) -> tuple[Note, ...]:
    return (Note("not_judged", {"error": why.detail}),)
