"""The report of `verify`: how far its citations got, its findings, and its JSON."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pincite import codec
from pincite.codec import Probability
from pincite.judgement.findings import may_be_unverifiable, render_one, render_uncited
from pincite.notes import Note
from pincite.report.cells import REASONS, n_of
from pincite.text.identifiers import doi_address, pubmed_address
from pincite.types import (
    Article,
    Citation,
    CitationResult,
    CopyKind,
    Doc,
    Failed,
    Finding,
    Label,
    Reason,
    Span,
    Unchecked,
    Uncited,
    written,
)
from pincite.verbs.verify import wording
from pincite.verbs.verify.wording import COVERAGE, READ, STEPS
from pincite.wiki.suggest import DateFormat
from pincite.wiki.uncited import is_read

SCHEMA = Path(__file__).parent / "report.schema.json"


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

    @property
    def stage_rows(self) -> list[StageRow]:
        references = StageRow("references in the article", self.references, None)
        stages = self.stages.items()
        return [references, *(StageRow(COVERAGE[stage], n.uses, n.sources) for stage, n in stages)]

    @property
    def lost_rows(self) -> list[LostRow]:
        rows = []
        for reason, n in self.reasons.items():
            sources = "" if n.uses == n.sources else f" ({n_of(n.sources, 'source')})"
            rows.append(LostRow(f"{n.uses}{sources}", REASONS[reason], STEPS[reason]))
        return rows

    @property
    def counting_rule(self) -> str:
        """Explain what is counted, and which copies were judged."""
        if not self.copies:
            return COVERAGE["rule"]
        kinds = [
            f"{READ[kind]['undated'].replace('copy', 'copies')}: {n_of(n.uses, 'citation')} "
            f"({n_of(n.sources, 'source')})"
            for kind, n in self.copies.items()
        ]
        return f"{COVERAGE['rule']} Judged from {'; '.join(kinds)}."


K = TypeVar("K", Stage, Reason, CopyKind)
FLAGS = (Label.REFUTED, Label.NOT_SUPPORTED)
_PLACE = {stage: place for place, stage in enumerate(Stage)}  # in their order
# The page was obtained, but has nothing to judge.
_NOT_JUDGED = {Reason.PAYWALL, Reason.EMPTY, Reason.UNREADABLE_SCAN, Reason.UNDECODABLE}
_NOT_JUDGED |= {Reason.ENCRYPTED, Reason.UNSUPPORTED_TYPE, Reason.TITLE_ONLY, Reason.CIRCULAR}


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
    results = [(r, stage_of(r, finding.label)) for finding in findings for r in finding.citations]
    reached = {
        stage: [r.citation for r, last in results if _PLACE[last] >= _PLACE[stage]]
        for stage in Stage
    }
    with_copy = set(reached[Stage.OBTAINED])
    reached[Stage.CITED] = cited
    reached[Stage.ADDRESSED] = [c for c in cited if addresses(c) or c in with_copy]
    reasons: dict[Reason, list[Citation]] = {}
    copies: dict[CopyKind, list[Citation]] = {}
    for result, _ in results:
        if isinstance(result.outcome, Unchecked):
            reasons.setdefault(result.outcome.reason, []).append(result.citation)
        elif result.copy:
            copies.setdefault(result.copy.kind, []).append(result.citation)
    return Coverage(
        references=article.n_references,
        stages={stage: _tally(citations) for stage, citations in reached.items()},
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
    """A source is identified by its address, else by the place of its reference in the article."""
    sources: list[str | Span] = []
    for citation in citations:
        urls = addresses(citation)
        sources.append(urls[0].partition("#")[0] if urls else citation.definition)
    return Tally(len(sources), len(set(sources)))


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


@dataclass(frozen=True, slots=True)
class Counts:
    """How many references, claims and verdicts."""

    references: int
    claims: int
    judged: int  # claims; fewer than `claims` if the run was stopped
    labels: Mapping[Label, int]
    citations_checked: int
    citations_unchecked: Mapping[Reason, int]
    with_suggestion: int
    may_be_unverifiable: int
    with_reference_notes: Annotated[int, Doc("claims with a reference that needs a look")]
    uncited_before: Annotated[int, Doc("sentences not judged: the next reference is not theirs")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(codec.JsonReport):
    """The findings of one article, worst first, with all that is needed to repeat them."""

    schema_version: Literal["5"] = "5"
    title: str
    language: str
    date_format: Annotated[DateFormat, Doc("of most dates in the article")] = "iso"
    revision_id: str | None
    url: Annotated[str | None, Doc("of this very revision, if it came from a wiki")] = None
    findings: tuple[Finding, ...]  # in the order of `findings.rank_findings`
    n_claims: Annotated[int, Doc("of the article; more than findings if the run was stopped")]
    n_references: int
    coverage: Coverage
    flag_precision: Annotated[
        tuple[tuple[Probability, Probability], ...],
        Doc("share of citations that fail, share of flags that were then right in tests"),
    ] = ()
    uncited: Annotated[
        tuple[Uncited, ...] | None, Doc("tagged ones first; null: they were not looked for")
    ] = None
    stopped: Annotated[bool, Doc("by Ctrl-C")] = False
    warnings_coded: tuple[Note, ...]
    settings: Mapping[str, str | float | int | bool | None]
    versions: Annotated[Mapping[str, str], Doc("of pincite, verifier, encoder, corpus")]
    created: Annotated[str, Doc("ISO timestamp, UTC")]

    @property
    def results(self) -> list[CitationResult]:
        return [result for finding in self.findings for result in finding.citations]

    @property
    @written
    def complete(self) -> bool:
        """Whether every claim was judged and, if requested, uncited sentences were looked for."""
        if self.stopped:
            return False
        wanted = self.settings.get("verify.uncited") and is_read(self.language)
        return len(self.findings) == self.n_claims and not (wanted and self.uncited is None)

    @property
    @written
    def advice(self) -> str | None:
        """How many flags are false alarms; None if not measured."""
        return wording.flag_advice(self.flag_precision) or None

    @property
    @written
    def counts(self) -> Counts:
        """How many references, claims and verdicts."""
        labels = Counter(finding.label for finding in self.findings)
        outcomes = [result.outcome for result in self.results]
        reasons = Counter(o.reason for o in outcomes if isinstance(o, Unchecked))
        return Counts(
            references=self.n_references,
            claims=self.n_claims,
            judged=len(self.findings),
            labels={label: labels[label] for label in Label},
            citations_checked=len(outcomes) - reasons.total(),
            citations_unchecked=dict(sorted(reasons.items())),
            with_suggestion=sum(bool(finding.suggestions) for finding in self.findings),
            may_be_unverifiable=sum(map(may_be_unverifiable, self.findings)),
            with_reference_notes=sum(finding.has_reference_notes for finding in self.findings),
            uncited_before=sum(len(finding.claim.uncited_before) for finding in self.findings),
        )

    def writers(self) -> Mapping[str, Callable[[Any], Any]]:
        """Return what writes fields of which one bad item must not cost the others."""
        write = partial(codec.values_of, digits=codec.DIGITS)
        return {
            "findings": lambda findings: [render_one(write, finding) for finding in findings],
            "uncited": lambda uncited: (
                None
                if uncited is None
                else [render_uncited(write, sentence) for sentence in uncited]
            ),
        }

    def as_read(self) -> "Report":
        """Restore each claim's citations and language, which the JSON has elsewhere."""
        language = "" if is_read(self.language) else self.language

        def restore(finding: Finding) -> Finding:
            citations = tuple(result.citation for result in finding.citations)
            claim = replace(finding.claim, citations=citations, language=language)
            return replace(finding, claim=claim)

        return replace(self, findings=tuple(map(restore, self.findings)))


def could_not_be_checked(why: Failed) -> str:
    return f"it could not be checked: {why.detail}"
