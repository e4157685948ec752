"""What `pincite ask --json` writes.

Spans of sentences and marks count in the answer's text, those of passages and quotes in the
document's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pincite.completions import Usage
from pincite.contract.codec import Coded, CorpusName, Offsets, Probability, Scalar, Whole
from pincite.judgement.references import Retraction, Standing, Support
from pincite.types import Says

Texts: TypeAlias = tuple[str, ...]
SentenceNumbers: TypeAlias = Annotated[tuple[Whole, ...], Says("numbers of sentences, from 1")]
InDocument: TypeAlias = Annotated[
    Offsets, Says("half-open character offsets in the document's text")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedRecord:
    """What one passage says of a sentence; the probabilities sum to one."""

    url: str
    title: str
    doc_id: str
    about: Annotated[str, Says("what the verifier was told of the document")]
    span: InDocument
    passage: str
    quote: Annotated[str, Says("the closest sentence, verbatim")] | None
    quote_span: InDocument | None
    prob_supported: Probability
    prob_refuted: Probability
    prob_neutral: Probability
    score: Annotated[
        float, Says("log-odds of support; of a copied sentence, that it answers the question")
    ]
    reasons: Texts
    reasons_coded: Coded = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRecord:
    """One (sentence, reference) pair."""

    written: Annotated[str, Says("the reference as the sentence has it")]
    number: Annotated[Whole, Says("of the reference; null: there is no such")] | None
    support: Support
    why: Annotated[str, Says("why it was not checked, or what a rule saw")]
    why_coded: Coded = ()
    evidence: QuotedRecord | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkRecord:
    """References as they stand in the answer's text."""

    span: Offsets
    ids: Texts


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceRecord:
    """A sentence of an answer, verified."""

    text: Annotated[str, Says("without its marks")]
    span: Annotated[Offsets, Says("in the answer, marks included")]
    marks: tuple[MarkRecord, ...]
    standing: Standing
    inherited: Annotated[bool, Says("its references are those of the sentence beside it")]
    notes: Texts
    notes_coded: Coded = ()
    verdicts: tuple[VerdictRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceRecord:
    """A document that the answer was given to write from, or that it names."""

    number: Annotated[Whole, Says("0: left out, so that no sentence names it")]
    ref_id: str
    relevance: Annotated[float, Says("log-odds that it bears on the question")]
    retraction: Retraction
    verbatim: SentenceNumbers
    supports: SentenceNumbers
    contradicts: SentenceNumbers
    doc_id: str
    url: str
    title: str
    text: str
    kind: str
    published: str | None
    fetched: str | None
    language: str | None
    meta: Mapping[str, str]
    corpus: CorpusName = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRecord:
    """What a repair did to a sentence; `after` is empty where it was struck out."""

    before: SentenceRecord
    after: str
    why: str
    why_coded: Coded = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedRecord:
    """Where the answer was looked for."""

    corpus: Annotated[str, Says("digest of what it held")]
    n_documents: Whole
    mode: str
    filters: str
    found: Annotated[Texts, Says("ids of the documents that were read, best first")]
    best: Annotated[float, Says("relevance of the best of them")] | None
    absent: Annotated[Texts, Says("words of the question that none of them has")]
    only_abstracts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRecord:
    """A question with what was found for it."""

    question: str
    answer: str
    written_by: str
    is_extractive: Annotated[bool, Says("its sentences are copied, not written by a model")]
    abstained: Annotated[str, Says("why there is no answer")] | None
    abstained_coded: Coded = ()
    complete: bool
    cut: Annotated[bool, Says("the writer was stopped before it ended")]
    failure: str | None
    sentences: tuple[SentenceRecord, ...]
    references: tuple[ReferenceRecord, ...]
    dropped: Annotated[tuple[SentenceRecord, ...], Says("by verification: no longer in the answer")]
    changes: tuple[ChangeRecord, ...]
    # Results of an earlier version lack it.
    left_out: Annotated[
        tuple[ReferenceRecord, ...], Says("retracted ones; without their texts")
    ] = ()
    searched: SearchedRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReportRecord:
    """The answers of one run, with all that is needed to repeat them."""

    schema_version: Literal["1"]
    complete: bool
    n_questions: Annotated[Whole, Says("more than answers if the run was stopped")]
    answers: tuple[AnswerRecord, ...]
    usage: Usage
    warnings: Texts
    warnings_coded: Coded = ()
    settings: Mapping[str, Scalar | Texts]
    versions: Mapping[str, str]
    created: str
