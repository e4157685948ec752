"""The records of `ask`: a question, its answer, and what its references say of each sentence."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pincite import containment
from pincite.completions import Usage
from pincite.judgement.references import Retraction, Standing, Verdict, retraction_of
from pincite.notes import Note, joined, texts
from pincite.text.citation_marks import Sentence
from pincite.types import Document, Failed, Passage

T = TypeVar("T")
EXTRACT = "extract"  # `Answer.by` of an answer that no model wrote
# Characters of a text that is read as a whole; of a longer one passages are chosen. The longest
# abstracts of PubMed, in two languages, have about as many.
WHOLE = 6_000


@dataclass(frozen=True, slots=True)
class Reference:
    """A document that an answer was given to write from, or that it names."""

    number: int  # [1], [2], … in the order of first use; those never used come after
    ref_id: str  # PMID where there is one, else the address: what the text may call it
    document: Document
    relevance: float = 0.0  # log-odds that it bears on the question: the ranking score
    passages: tuple[Passage, ...] = ()  # of it, those of most use for the question first

    @property
    def retraction(self) -> Retraction:
        """What is known of its document."""
        return retraction_of(self.document)


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
    stopped: bool = False  # by Ctrl-C
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
    def stopped(self) -> bool:
        """Whether Ctrl-C ended the run."""
        return len(self.answers) < self.n_questions or any(a.stopped for a in self.answers)

    @property
    def complete(self) -> bool:
        """Whether every question was answered or abstained from, and nothing failed."""
        return len(self.answers) == self.n_questions and all(a.complete for a in self.answers)


def shown(render: Callable[[Answer], T], answer: Answer) -> T:
    """What `render` makes of an answer; sentences and references for which it raises are bare."""

    def raises(one: Answer) -> bool:
        try:
            render(one)
        except Exception:  # the first one is in the log
            return True
        return False

    def without_culprits(why: Failed) -> T:
        empty = replace(answer, sentences=(), references=(), dropped=(), changes=(), left_out=())
        sentences = tuple(
            Checked(each.sentence, (), Standing.NOT_CHECKED, notes_coded=containment.notes_of(why))
            if raises(replace(empty, sentences=(each,)))
            else each
            for each in answer.sentences
        )
        references = tuple(
            replace(each, document=Document(str(each.document.url), "", ""), passages=())
            if raises(replace(empty, references=(each,)))
            else each
            for each in answer.references
        )
        return render(
            replace(empty, sentences=sentences, references=references, failure=fault(why))
        )

    def nothing(why: Failed) -> T:
        bare = Answer(answer.question, "", (), (), answer.by, answer.searched, failure=fault(why))
        return render(bare)

    return containment.attempted(
        lambda: render(answer),
        lambda why: containment.attempted(lambda: without_culprits(why), nothing),
    )


def fault(why: Failed) -> str:
    """What an answer says of something that raised."""
    return f"a fault of the program ({why.detail})"
