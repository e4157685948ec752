"""How far each citation got between reference mark and verdict, and why some were not judged."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeVar

from pincite.report.cells import REASONS, n_of
from pincite.text.identifiers import doi_address, pubmed_address
from pincite.types import (
    Article,
    Citation,
    CitationResult,
    CopyKind,
    Finding,
    Label,
    Reason,
    Span,
    Unchecked,
)
from pincite.verbs.verify.wording import COPIES, STEPS


class Stage(StrEnum):
    """How far a citation got; each stage implies those before it."""

    CITED = "cited"  # cited for a claim
    ADDRESSED = "addressed"  # has an address, a DOI, a PubMed ID, or a copy without one
    OBTAINED = "obtained"  # a copy of the page is available: supplied, cached or fetched
    READ = "read"  # text was found in it
    JUDGED = "judged"
    FLAGGED = "flagged"  # the claim likely fails, or the source may contradict it


@dataclass(frozen=True, slots=True)
class Tally:
    """A number of citations, and of the sources behind them: one source may be cited five times."""

    uses: int  # of references
    sources: int  # distinct ones


NOTHING = Tally(0, 0)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many citations of an article reached each stage, and why the others did not.

    The first two stages count all claims of the article, the others those that were judged before
    the run ended.
    """

    references: int  # uses of references in the article, including those without a claim
    stages: Mapping[Stage, Tally]  # every stage, in its order
    waiting: int  # uses at claims not reached before the run was stopped
    reasons: Mapping[Reason, Tally]  # why citations were not judged; the most frequent first
    copies: Mapping[CopyKind, Tally]  # which copies were judged; the most frequent first

    def __post_init__(self) -> None:
        if lacking := sorted(set(Stage) - set(self.stages)):
            raise ValueError(f"it lacks {', '.join(lacking)}")


K = TypeVar("K", Stage, Reason, CopyKind)
FLAGS = (Label.REFUTED, Label.NOT_SUPPORTED)
_PLACE = {stage: place for place, stage in enumerate(Stage)}  # in their order
# The page was obtained, but has nothing to judge.
_NOT_JUDGED = frozenset(
    {
        Reason.PAYWALL,
        Reason.EMPTY,
        Reason.UNREADABLE_SCAN,
        Reason.UNDECODABLE,
        Reason.ENCRYPTED,
        Reason.UNSUPPORTED_TYPE,
        Reason.TITLE_ONLY,
        Reason.CIRCULAR,
    }
)


def addresses(citation: Citation) -> list[str]:
    """Return the addresses where the source may be found, best first."""
    doi = doi_address(citation.doi) if citation.doi else None
    pubmed = pubmed_address(citation.pmid) if citation.pmid else None
    return [url for url in (citation.url, citation.archive_url, doi, pubmed) if url]


def stage_of(result: CitationResult, claim: Label) -> Stage:
    """Return the stage that a citation reached; `claim` is the label of its claim."""
    outcome = result.outcome
    if not isinstance(outcome, Unchecked):
        return Stage.FLAGGED if claim in FLAGS else Stage.JUDGED
    if not addresses(result.citation):
        return Stage.CITED
    if outcome.reason is Reason.LANGUAGE:
        return Stage.READ
    return Stage.OBTAINED if outcome.reason in _NOT_JUDGED else Stage.ADDRESSED


def coverage_of(article: Article, findings: Sequence[Finding]) -> Coverage:
    """Compute the coverage of an article's citations; `findings` are the claims judged so far."""
    cited = [citation for claim in article.claims for citation in claim.citations]
    results = [result for finding in findings for result in finding.citations]
    reached = [
        (result.citation, _PLACE[stage_of(result, finding.label)])
        for finding in findings
        for result in finding.citations
    ]

    def citations_at(stage: Stage) -> list[Citation]:
        return [citation for citation, place in reached if place >= _PLACE[stage]]

    with_copy = set(citations_at(Stage.OBTAINED))
    stages = {stage: _tally(citations_at(stage)) for stage in Stage}
    stages[Stage.CITED] = _tally(cited)
    stages[Stage.ADDRESSED] = _tally(c for c in cited if addresses(c) or c in with_copy)
    reasons: dict[Reason, list[Citation]] = {}
    copies: dict[CopyKind, list[Citation]] = {}
    for result in results:
        if isinstance(result.outcome, Unchecked):
            reasons.setdefault(result.outcome.reason, []).append(result.citation)
        elif result.copy:
            copies.setdefault(result.copy.kind, []).append(result.citation)
    return Coverage(
        references=article.n_references,
        stages=stages,
        waiting=len(cited) - len(results),
        reasons=_frequent_first({reason: _tally(of) for reason, of in reasons.items()}),
        copies=_frequent_first({kind: _tally(of) for kind, of in copies.items()}),
    )


def total(articles: Sequence[Coverage]) -> Coverage:
    """Sum over articles. A source counts once in each article that cites it."""
    stages = _sums(article.stages for article in articles)
    return Coverage(
        references=sum(article.references for article in articles),
        stages={stage: stages.get(stage, NOTHING) for stage in Stage},
        waiting=sum(article.waiting for article in articles),
        reasons=_frequent_first(_sums(article.reasons for article in articles)),
        copies=_frequent_first(_sums(article.copies for article in articles)),
    )


def _sums(articles: Iterable[Mapping[K, Tally]]) -> dict[K, Tally]:
    sums: dict[K, Tally] = {}
    for tallies in articles:
        for kind, tally in tallies.items():
            before = sums.get(kind, NOTHING)
            sums[kind] = Tally(before.uses + tally.uses, before.sources + tally.sources)
    return sums


def _frequent_first(tallies: dict[K, Tally]) -> dict[K, Tally]:
    by_name = sorted(tallies)
    return {kind: tallies[kind] for kind in sorted(by_name, key=lambda kind: -tallies[kind].uses)}


def _tally(citations: Iterable[Citation]) -> Tally:
    sources = [_source_of(citation) for citation in citations]
    return Tally(len(sources), len(set(sources)))


def _source_of(citation: Citation) -> str | Span:
    """Identify a source by its address, else by the place of its reference in the article."""
    urls = addresses(citation)
    return urls[0].partition("#")[0] if urls else citation.definition


COUNTED = (
    "A citation is one use of a source for a claim, and a reference may contain several; a source "
    "counts once, however often it is cited. Flagged claims are those labelled "
    "“contradicted?” or “not supported”."
)

HEADS = {
    Stage.CITED: "cited for a claim",
    Stage.ADDRESSED: "with an address or a copy",
    Stage.OBTAINED: "with a copy",
    Stage.READ: "with text",
    Stage.JUDGED: "judged",
    Stage.FLAGGED: "cited for a flagged claim",
}


class StageRow(NamedTuple):
    """A row of the table of stages; the references of an article have no count of sources."""

    head: str
    uses: int
    sources: int | None


class LostRow(NamedTuple):
    """Citations that were not judged: "3 (2 sources)", why, and what the user can do."""

    number: str
    why: str
    step: str


def coverage_rows(coverage: Coverage) -> list[StageRow]:
    references = StageRow("references in the article", coverage.references, None)
    stages = coverage.stages.items()
    return [references, *(StageRow(HEADS[stage], n.uses, n.sources) for stage, n in stages)]


def lost_rows(coverage: Coverage) -> list[LostRow]:
    rows = []
    for reason, tally in coverage.reasons.items():
        is_same = tally.uses == tally.sources
        number = str(tally.uses) if is_same else f"{tally.uses} ({n_of(tally.sources, 'source')})"
        rows.append(LostRow(number, REASONS[reason], STEPS[reason]))
    return rows


def counting_rule(coverage: Coverage) -> str:
    """Explain what is counted, and which copies were judged."""
    if not coverage.copies:
        return COUNTED
    kinds = [
        f"{COPIES[kind].replace('copy', 'copies')}: {n_of(n.uses, 'citation')} "
        f"({n_of(n.sources, 'source')})"
        for kind, n in coverage.copies.items()
    ]
    return f"{COUNTED} Judged from {'; '.join(kinds)}."


class UnreadGroup(NamedTuple):
    """Claims that could not be checked for the same reasons, with their ranks."""

    why: str
    steps: str
    findings: Sequence[tuple[int, Finding]]


def unread_groups(findings: Iterable[tuple[int, Finding]]) -> list[UnreadGroup]:
    """Group the claims that could not be checked by the reasons, the largest group first.

    Each claim comes with its rank. A claim with a reference in doubt is a finding of its own.
    """
    groups: dict[tuple[Reason, ...], list[tuple[int, Finding]]] = {}
    for rank, finding in findings:
        if finding.label is Label.UNCHECKED and not finding.is_reference_in_doubt:
            outcomes = [result.outcome for result in finding.citations]
            reasons = {outcome.reason for outcome in outcomes if isinstance(outcome, Unchecked)}
            groups.setdefault(tuple(sorted(reasons)), []).append((rank, finding))
    return [
        UnreadGroup(
            why="; ".join(REASONS[reason] for reason in reasons) or "no source is cited",
            steps="; ".join(dict.fromkeys(STEPS[reason] for reason in reasons)),
            findings=members,
        )
        for reasons, members in sorted(groups.items(), key=lambda group: -len(group[1]))
    ]
