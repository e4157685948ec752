"""What `pincite verify --json` writes.

Spans count in the article's source or in the source document's text; each says in which.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pincite.contract.codec import (
    Checked,
    Coded,
    CorpusName,
    EachOf,
    Offsets,
    Probability,
    Says,
    Scalar,
    Whole,
    Within,
)
from pincite.judgement.funnel import Funnel, Stage
from pincite.opinions import Verdict
from pincite.types import (
    Bar,
    Contradiction,
    Copy,
    Failed,
    Label,
    PartKind,
    Place,
    Reason,
    Reliability,
)

Texts: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRecord:
    """What one passage says about one claim; the probabilities sum to one."""

    url: str
    title: str
    doc_id: str
    span: Annotated[Offsets, Says("of the passage in the document's text")]
    passage: str
    quote: str | None
    quote_span: Annotated[Offsets, Says("of the quote in the document's text")] | None
    prob_supported: Probability
    prob_refuted: Probability
    prob_neutral: Probability
    score: Annotated[float, Says("log-odds of support; ranks evidence")]
    reasons: Texts
    reasons_coded: Coded = ()
    contradiction: Annotated[
        Contradiction | None, Says("what a rule finds; `sentence` counts in the passage")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRecord:
    """A piece of a claim that can be checked by itself."""

    kind: PartKind
    span: Annotated[Offsets, Says("in the claim's text")]
    words: Annotated[str, Says("what the span covers")]
    text: Annotated[str, Says("what was judged: of a clause, with its subject")]
    supported: bool
    prob_supported: Probability | None
    prob_refuted: Probability | None
    url: str | None
    quote: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingRecord:
    """What a community's list says of a site."""

    label: Reliability
    name: Annotated[str, Says("of the source, as the list calls it")]
    place: Annotated[str, Says("domain, or domain and path, that matched")]
    scope: Annotated[str, Says("what the judgement is limited to")]
    link: Annotated[str, Says("to the discussion")] | None
    others: Annotated[Texts, Says("what else the list says of this place")]


@dataclass(frozen=True, slots=True, kw_only=True)
class UncheckedRecord:
    """Why a source could not be checked."""

    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRecord:
    """Today's page, where the archived copy supports more of the claim."""

    copy: Copy
    label: Label
    evidence: EvidenceRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationRecord:
    """One citation of a claim: the best evidence in its source, or why there is none."""

    citation_id: str
    span: Annotated[Offsets, Says("of this use in the article's source")]
    template: str | None
    title: str | None
    authors: Texts
    publisher: str | None
    pages: str | None
    url: str | None
    doi: str | None
    pmid: str | None
    isbn: str | None
    archive_url: str | None
    url_status: Annotated[str, Says("of the citation's template")] | None
    tags: Texts
    reliability: Annotated[ListingRecord | None, Says("null if no list was asked")]
    label: Label
    clauses: Annotated[
        tuple[PartRecord, ...], Says("all that were judged; none if the claim is one clause")
    ]
    missing: Annotated[tuple[PartRecord, ...], Says("of a claim supported wholly or in part")]
    copy: Annotated[Copy | None, Says("what was read; null if nothing was")]
    not_live: Annotated[
        UncheckedRecord | None, Says("why an archived copy was read in place of the page itself")
    ]
    changed: ChangedRecord | None
    unchecked: UncheckedRecord | None
    place: Annotated[Place | None, Says("null if nothing is known of it")]
    evidence: EvidenceRecord | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionRecord:
    """A source whose evidence outranks the existing citation's."""

    url: str
    title: str
    published: str | None
    gain: float
    reliability: Annotated[ListingRecord | None, Says("null if no list was asked")]
    place: Annotated[Place | None, Says("null if nothing is known of it")]
    corpus: CorpusName = ""
    evidence: EvidenceRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class ExclusionRecord:
    """A page that was found and must not be suggested."""

    url: str
    title: str
    reason: Bar
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpinionRecord:
    """What a language model says of the claim, or why it says nothing."""

    verdict: Verdict | None
    model: Annotated[str, Says("name@host")]
    quotes: Annotated[Texts, Says("as the sources have them; what they have not is left out")]
    missing: Annotated[Texts, Says("words of the claim that the sources lack")]
    why: Annotated[str, Says("in the model's words")]
    n_invented: Annotated[Whole, Says("quotes that no source has")]
    whole: Annotated[bool, Says("false: it read the sources' best passages only")]
    log_ratio: Annotated[float, Says("what the verdict adds to our log-odds of support")]
    disagrees: Annotated[bool, Says("whether we alone would say otherwise")]
    failed: Failed | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRecord:
    """Everything about one claim: its citations alone and together, and better sources."""

    rank: Annotated[int, Within(1)]
    claim_id: str
    claim: str
    # Reports of an earlier Pincite lack these two.
    sentence: Annotated[str, Says("the whole sentence that the claim is a part of")] = ""
    part: Annotated[Offsets, Says("of the sentence: what is judged of it")] | None = None
    before: str
    section: Texts
    span: Annotated[Offsets, Says("of the claim in the article's source")] | None
    tags: Texts
    label: Label
    score: Annotated[float, Says("log-odds; ranks the findings of one verdict")] | None
    prob_supported: Annotated[Probability, Says("of the whole claim")] | None
    source_changed: Annotated[bool, Says("a citation has `changed`")]
    missing: Annotated[tuple[PartRecord, ...], Says("parts that no source of the group supports")]
    citations: tuple[CitationRecord, ...]
    together: EvidenceRecord | None
    suggestions: tuple[SuggestionRecord, ...]
    n_candidates: Whole
    excluded: Annotated[tuple[ExclusionRecord, ...], Says("at most ten")]
    about: Annotated[str, Says("the article's subject, where the claim says it or he")] = ""
    unread: Annotated[Texts, Says("templates that […] in the claim stands for")] = ()
    # Reports of an earlier Pincite lack it.
    opinion: Annotated[OpinionRecord | None, Says("null: no language model was asked")] = None
    failed: Annotated[Failed | None, Says("a step that raised an error")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UncitedRecord:
    """A sentence that probably needs a citation and has none, and what could be cited for it."""

    claim_id: str
    sentence: str
    before: str
    section: Texts
    span: Annotated[Offsets, Says("of the sentence in the article's source")] | None
    tags: Annotated[Texts, Says('"citation needed": an editor asked for one')]
    probability: Annotated[Probability, Says("that such a sentence has a citation in Wikipedia")]
    reasons: Texts
    reasons_coded: Coded
    suggestions: tuple[SuggestionRecord, ...]
    n_candidates: Whole
    excluded: Annotated[tuple[ExclusionRecord, ...], Says("at most ten")]
    failed: Annotated[Failed | None, Says("a step that raised an error")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CountsRecord:
    """How many of what: references, claims and verdicts."""

    references: Whole
    claims: Whole
    judged: Whole
    labels: Annotated[Mapping[Label, Whole], EachOf(Label)]
    citations_checked: Whole
    citations_unchecked: Mapping[Reason, Whole]
    with_suggestion: Whole


class _AllStages(Checked):
    """Of a funnel: each stage is counted."""

    def checked(self, value: Funnel) -> Funnel:
        """The funnel, if none is missing."""
        if lacking := set(Stage) - set(value.stages):
            raise ValueError(f"it lacks {', '.join(sorted(lacking))}")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionRecord:
    """The share of flags that were right in tests, by the share of citations that fail."""

    base_rate: Probability
    precision: Probability


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleRecord:
    """The article that was checked."""

    title: str
    language: str
    revision_id: str | None
    url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRecord:
    """The findings of one article, worst first, with all that is needed to repeat them."""

    schema_version: Literal["4"]
    article: ArticleRecord
    complete: bool
    counts: CountsRecord
    funnel: Annotated[Funnel, _AllStages()]
    flag_precision: tuple[PrecisionRecord, ...]
    advice: str | None
    findings: tuple[FindingRecord, ...]
    # Reports of an earlier Pincite lack it.
    uncited: Annotated[
        tuple[UncitedRecord, ...] | None, Says("tagged ones first; null: they were not looked for")
    ] = None
    warnings: Texts
    warnings_coded: Coded = ()
    settings: Mapping[str, Scalar]
    versions: Mapping[str, str]
    created: str
