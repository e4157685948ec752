"""From evidence to verdicts: SIDE's readout, labels, groups of citations, and the ranking.

A document's score is the maximum over its passages (Petroni et al. 2023, §2.2). Absent, failed
and neutral stay apart: a source that could not be checked never counts against a claim.
"""

from collections.abc import Sequence

from pincite.core import figures, wording
from pincite.types import (
    CitationResult,
    Evidence,
    Finding,
    Label,
    Passage,
    Suggestion,
    Unchecked,
)

# Probability of support from which a citation counts as bearing its claim out. Of 0.50, 0.55 and
# 0.60 the one with the best balanced accuracy on both WiCE dev (0.739) and SciFact dev (0.759);
# derive it again with `pincite eval claims --threshold`.
THRESHOLD = 0.55


def best(evidence: Sequence[Evidence]) -> Evidence | None:
    """The evidence with the highest score; the first of equals; None of nothing."""
    return max(evidence, key=lambda e: e.score, default=None)


def label_of(outcome: Evidence | Unchecked, threshold: float = THRESHOLD) -> Label:
    """The verdict on one source."""
    if isinstance(outcome, Unchecked):
        return Label.UNCHECKED
    if outcome.prob_supported >= threshold:
        return Label.SUPPORTED
    return Label.REFUTED if outcome.prob_refuted > outcome.prob_neutral else Label.NOT_SUPPORTED


def complementary(claim: str, evidence: Sequence[Sequence[Evidence]]) -> list[Passage]:
    """One passage from each source, so that together they hold as much of the claim as can be.

    Greedy: the sources in the order of their best scores; from each the passage that holds most
    figures and names that are still missing, the higher score where that is equal.
    """
    passages: list[Passage] = []
    for of_source in sorted(evidence, key=lambda found: -max(e.score for e in found)):
        so_far = "\n".join(f"{p.about}\n{p.text}" for p in passages)
        chosen = min(of_source, key=lambda e: (_n_missing(claim, so_far, e.passage), -e.score))
        passages.append(chosen.passage)
    return passages


def _n_missing(claim: str, so_far: str, passage: Passage) -> int:
    source = f"{so_far}\n{passage.about}\n{passage.text}"
    return len(figures.missing(claim, source)) + len(wording.missing_names(claim, source))


def group_label(
    results: Sequence[CitationResult], together: Evidence | None, threshold: float = THRESHOLD
) -> Label:
    """The verdict on citations that stand together.

    One that supports is enough, and so are all of them read together. Where none does, one that
    could not be checked leaves the question open. A refutation counts if the best source refutes.
    """
    labels = {result.label for result in results}
    if together is not None and label_of(together, threshold) is Label.SUPPORTED:
        return Label.SUPPORTED
    if Label.SUPPORTED in labels:
        return Label.SUPPORTED
    if Label.UNCHECKED in labels or not labels:
        return Label.UNCHECKED
    strongest = max(results, key=_score_of)
    return strongest.label


def group_score(results: Sequence[CitationResult], together: Evidence | None) -> float | None:
    """The best log-odds of support in the group; None if nothing in it could be checked."""
    found = [r.outcome.score for r in results if isinstance(r.outcome, Evidence)]
    if together is not None:
        found.append(together.score)
    return max(found, default=None)


def ranked(findings: Sequence[Finding]) -> list[Finding]:
    """Worst first: likely failures, then the supported, then what could not be checked.

    Inside each, by score; ties and claims without a score keep the order of the article.
    """
    places = {Label.REFUTED: 0, Label.NOT_SUPPORTED: 0, Label.SUPPORTED: 1, Label.UNCHECKED: 2}
    return sorted(findings, key=lambda f: (places[f.label], 0.0 if f.score is None else f.score))


def suggestions(
    candidates: Sequence[Evidence],
    existing: float | None,
    k: int,
    threshold: float = THRESHOLD,
) -> list[Suggestion]:
    """At most `k` candidates that bear the claim out and outrank the existing citation.

    Args:
        candidates: evidence from the corpus; of one page only the best passage counts.
        existing: score of the existing citation; None if it could not be checked.
        k: how many to return, best first.
        threshold: probability of support that a suggestion needs (SIDE needs only the rank; a
            better source that fails too helps nobody).
    """
    floor = float("-inf") if existing is None else existing
    outranking: dict[str, Suggestion] = {}
    for evidence in sorted(candidates, key=lambda e: -e.score):
        if evidence.prob_supported >= threshold and evidence.score > floor:
            gain = evidence.score - (existing or 0.0)
            outranking.setdefault(evidence.passage.url, Suggestion(evidence, None, gain))
    return list(outranking.values())[:k]


def _score_of(result: CitationResult) -> float:
    return result.outcome.score if isinstance(result.outcome, Evidence) else float("-inf")
