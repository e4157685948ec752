"""The vocabulary of `ask`: a question, its answer, and what its references say of each sentence.

Beside `types` and `checks`, and like them: frozen, complete when constructed, and known to every
room.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pincite.checks import Usage
from pincite.notes import Note, joined, texts
from pincite.types import Document, Evidence, Span


class Retraction(StrEnum):
    """What is known of a paper's standing; a source that says nothing of it is `unknown`."""

    YES = "yes"
    PARTLY = "partly"
    CONCERN = "expression_of_concern"
    CORRECTED = "corrected"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Reference:
    """A document that an answer was given to write from, or that it names."""

    number: int  # [1], [2], … in the order of first use; those never used come after
    ref_id: str  # PMID where there is one, else the address: what the text may call it
    document: Document
    relevance: float = 0.0  # log-odds that it bears on the question: the ranking score

    @property
    def retraction(self) -> Retraction:
        """What is known of its document."""
        return retraction_of(self.document)


def retraction_of(document: Document) -> Retraction:
    """As the document's metadata has it, with blanks or without."""
    known = document.meta.get("retracted", "").replace(" ", "_")
    return Retraction(known) if known in list(Retraction) else Retraction.UNKNOWN


@dataclass(frozen=True, slots=True)
class Mark:
    """References as they stand in a text: `[2-4]`, `(PUBMED:123; PUBMED:456)`."""

    span: Span
    ids: tuple[str, ...]  # "2", "3", "4"; "PUBMED:123", "PUBMED:456"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer with its reference marks, which may stand inside or after it."""

    span: Span  # in the answer, marks included
    text: str  # what it says: the span without its marks
    marks: tuple[Mark, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """All references of the sentence, each once."""
        return tuple(dict.fromkeys(each for mark in self.marks for each in mark.ids))


class Support(StrEnum):
    """What one reference says of a sentence (Verif.ai, §II-C), and what that leaves out."""

    SUPPORTS = "supports"
    VERBATIM = "verbatim"  # it says it word for word: the sentence was copied from it
    CONTRADICTS = "contradicts"
    NO_EVIDENCE = "no_evidence"
    NO_SUCH_REFERENCE = "no_such_reference"  # the answer names what it was not given
    NOT_CHECKED = "not_checked"  # e.g. an abstract in a language that the verifier does not read


@dataclass(frozen=True, slots=True)
class Verdict:
    """One (sentence, reference) pair."""

    written: str  # the reference as the sentence has it
    support: Support
    number: int | None = None  # of the reference; None: there is no such
    evidence: Evidence | None = None  # the passage that speaks, with the closest sentence as quote
    why_coded: tuple[Note, ...] = ()

    @property
    def why(self) -> str:
        """Why it was not checked, or what a rule saw; in English."""
        return joined(self.why_coded)


class Standing(StrEnum):
    """What all references of a sentence say of it together."""

    SUPPORTED = "supported"  # one supports it, none contradicts
    VERBATIM = "verbatim"  # copied word for word from its reference, so that nothing is judged
    CONTRADICTED = "contradicted"  # one contradicts it, none supports
    MIXED = "mixed"  # one supports, another contradicts
    NO_EVIDENCE = "no_evidence"
    FABRICATED = "fabricated"  # no reference of it exists
    UNCITED = "uncited"
    NOT_CHECKED = "not_checked"


@dataclass(frozen=True, slots=True)
class Checked:
    """A sentence of an answer, verified."""

    sentence: Sentence
    verdicts: tuple[Verdict, ...]  # one for each reference, in the order of the text
    standing: Standing
    inherited: bool = False  # its references are a neighbour's, by the seed's rule
    notes_coded: tuple[Note, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """In English: "reference 2 was retracted", "there is no reference 7"."""
        return texts(self.notes_coded)


@dataclass(frozen=True, slots=True)
class Change:
    """What a repair did to a sentence; `after` is empty where it was struck out."""

    before: Checked
    after: str
    why_coded: tuple[Note, ...]

    @property
    def why(self) -> str:
        """In English."""
        return joined(self.why_coded)


@dataclass(frozen=True, slots=True)
class Searched:
    """Where an answer was looked for, so that a reader can judge its silence."""

    corpus: str  # digest of what it held
    n_documents: int
    mode: str  # how rankings became one
    filters: str = ""  # as a person reads them; empty: none
    found: tuple[str, ...] = ()  # ids of the documents that were read, best first
    best: float | None = None  # relevance of the best of them, log-odds
    absent: tuple[str, ...] = ()  # words of the question that none of them has


@dataclass(frozen=True, slots=True)
class Answer:
    """A question with what was found for it; an abstention has no sentences and says why."""

    question: str
    text: str  # as it was written, marks and all; spans count in it
    sentences: tuple[Checked, ...]
    references: tuple[Reference, ...]  # by number
    by: str  # "extract", or the model
    searched: Searched
    abstained_coded: tuple[Note, ...] = ()  # why there is no answer
    dropped: tuple[Checked, ...] = ()  # by verification: no longer in `text`
    changes: tuple[Change, ...] = ()
    cut: bool = False  # the writer was stopped before it ended
    failure: str = ""  # why a part is missing: a server that went away
    # Retracted papers that would have been read; their number is 0, so that nothing can name them.
    left_out: tuple[Reference, ...] = ()

    @property
    def abstained(self) -> str:
        """Why there is no answer, in English; empty where there is one."""
        return joined(self.abstained_coded)

    @property
    def complete(self) -> bool:
        """Whether the answer was written to its end and every sentence of it checked."""
        unchecked = any(s.standing is Standing.NOT_CHECKED for s in self.sentences)
        return not (self.cut or self.failure or unchecked)


@dataclass(frozen=True, slots=True)
class AnswerReport:
    """The answers of one run, with all that is needed to repeat them."""

    answers: tuple[Answer, ...]
    n_questions: int  # more than `answers` if the run was stopped
    usage: Usage
    warnings_coded: tuple[Note, ...]
    settings: Mapping[str, str | float | int | bool | tuple[str, ...] | None]
    versions: Mapping[str, str] = field(default_factory=dict)
    created: str = ""  # ISO timestamp, UTC

    @property
    def warnings(self) -> tuple[str, ...]:
        """In English."""
        return texts(self.warnings_coded)

    @property
    def complete(self) -> bool:
        """Whether every question was answered or abstained from, and nothing failed."""
        return len(self.answers) == self.n_questions and all(a.complete for a in self.answers)
