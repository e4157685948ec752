"""How far citations came on the way from a reference mark to a verdict, and where they were lost.

Nothing here is a finding against an article: a citation that was not judged is work for a person.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from pincite.text.identifiers import doi_address
from pincite.types import (
    Article,
    Citation,
    CitationResult,
    CopyKind,
    Finding,
    Label,
    Reason,
    Unchecked,
)


class Stage(StrEnum):
    """How far a citation came. Each stage has passed all those before it."""

    CITED = "cited"  # stands at a claim
    ADDRESSED = "addressed"  # names an address, a DOI or a PubMed number
    OBTAINED = "obtained"  # a copy of the page itself is at hand: supplied, kept or fetched
    READ = "read"  # text was found in it
    JUDGED = "judged"
    FLAGGED = "flagged"  # at a claim that likely fails, or whose source may say otherwise


@dataclass(frozen=True, slots=True)
class Tally:
    """How many citations, in two counts: a source that is cited five times is fetched once."""

    uses: int  # of references
    sources: int  # distinct ones


@dataclass(frozen=True, slots=True)
class Funnel:
    """How many of an article's citations came how far, and why the others did not.

    `stages` counts who reached a stage, so no number is above the one before it. The first two
    count all claims of the article, the others those that were judged before the run ended.
    """

    references: int  # uses of references in the article, those at no claim included
    stages: Mapping[Stage, Tally]  # every stage, in its order
    waiting: int  # uses whose claims were not come to, because the run was stopped
    reasons: Mapping[Reason, Tally]  # why citations were not judged; the most frequent first
    copies: Mapping[CopyKind, Tally]  # which copies were judged; the most frequent first

    def __post_init__(self) -> None:
        """Raise ValueError if a stage is not counted."""
        if lacking := sorted(set(Stage) - set(self.stages)):
            raise ValueError(f"it lacks {', '.join(lacking)}")


K = TypeVar("K", Reason, CopyKind)
FLAGS = (Label.REFUTED, Label.NOT_SUPPORTED)
STAGES = tuple(Stage)
# What came is the page, but there is no text in it that could be judged.
_WITHOUT_TEXT = frozenset(
    {
        Reason.PAYWALL,
        Reason.EMPTY,
        Reason.UNDECODABLE,
        Reason.ENCRYPTED,
        Reason.UNSUPPORTED_TYPE,
        Reason.TITLE_ONLY,
    }
)


def addresses(citation: Citation) -> list[str]:
    """Where the source may be found, best first.

    >>> from pincite.types import Span
    >>> addresses(Citation("r1", Span(0, 1), Span(0, 1), doi="10.1000/1"))
    ['https://doi.org/10.1000/1']
    """
    doi = doi_address(citation.doi) if citation.doi else None
    pubmed = f"https://pubmed.ncbi.nlm.nih.gov/{citation.pmid}/" if citation.pmid else None
    return [url for url in (citation.url, citation.archive_url, doi, pubmed) if url]


def stage(result: CitationResult, claim: Label) -> Stage:
    """How far a citation of a claim with this verdict came."""
    outcome = result.outcome
    if not isinstance(outcome, Unchecked):
        return Stage.FLAGGED if claim in FLAGS else Stage.JUDGED
    if not addresses(result.citation):
        return Stage.CITED
    if outcome.reason is Reason.LANGUAGE:
        return Stage.READ
    return Stage.OBTAINED if outcome.reason in _WITHOUT_TEXT else Stage.ADDRESSED


def funnel(article: Article, findings: Sequence[Finding]) -> Funnel:
    """The way of an article's citations.

    Args:
        article: all its claims.
        findings: those of them that were judged, in any order.
    """
    cited = [citation for claim in article.claims for citation in claim.citations]
    reached = [
        (result.citation, stage(result, finding.label), result.outcome)
        for finding in findings
        for result in finding.citations
    ]
    stages = {
        Stage.CITED: _tally(cited),
        Stage.ADDRESSED: _tally(citation for citation in cited if addresses(citation)),
    }
    for wanted in STAGES[2:]:
        at_least = STAGES.index(wanted)
        stages[wanted] = _tally(c for c, came, _ in reached if STAGES.index(came) >= at_least)
    read = [
        (result.citation, result.copy.kind)
        for finding in findings
        for result in finding.citations
        if result.copy and not isinstance(result.outcome, Unchecked)
    ]
    lost = [(c, outcome.reason) for c, _, outcome in reached if isinstance(outcome, Unchecked)]
    reasons = {
        reason: _tally(citation for citation, why in lost if why is reason)
        for reason in dict.fromkeys(why for _, why in lost)
    }
    return Funnel(
        references=article.n_references,
        stages=stages,
        waiting=len(cited) - len(reached),
        reasons=_frequent_first(reasons),
        copies=_frequent_first(
            {
                kind: _tally(citation for citation, copy in read if copy is kind)
                for kind in dict.fromkeys(kind for _, kind in read)
            }
        ),
    )


def together(funnels: Sequence[Funnel]) -> Funnel:
    """The sum over articles; a source counts once in each article that cites it."""
    none = Tally(0, 0)
    reasons = dict.fromkeys(reason for funnel in funnels for reason in funnel.reasons)
    copies = dict.fromkeys(kind for funnel in funnels for kind in funnel.copies)
    return Funnel(
        references=sum(funnel.references for funnel in funnels),
        stages={s: _sum(funnel.stages[s] for funnel in funnels) for s in STAGES},
        waiting=sum(funnel.waiting for funnel in funnels),
        reasons=_frequent_first(
            {r: _sum(funnel.reasons.get(r, none) for funnel in funnels) for r in reasons}
        ),
        copies=_frequent_first(
            {kind: _sum(funnel.copies.get(kind, none) for funnel in funnels) for kind in copies}
        ),
    )


def _frequent_first(tallies: dict[K, Tally]) -> dict[K, Tally]:
    return dict(sorted(tallies.items(), key=lambda item: (-item[1].uses, item[0])))


def _sum(tallies: Iterable[Tally]) -> Tally:
    found = list(tallies)
    return Tally(sum(tally.uses for tally in found), sum(tally.sources for tally in found))


def _tally(citations: Iterable[Citation]) -> Tally:
    found = list(citations)
    return Tally(len(found), len({_source(citation) for citation in found}))


def _source(citation: Citation) -> object:
    """What tells sources apart: the address, else the place of the reference in the article."""
    found = addresses(citation)
    return found[0].partition("#")[0] if found else citation.definition
