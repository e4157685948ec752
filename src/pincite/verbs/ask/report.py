"""The report of `ask` and its JSON."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

from pincite import codec, errors
from pincite.judgement import decide
from pincite.judgement.provenance import Retraction, retraction_of
from pincite.judgement.references import ReferenceVerdict, Standing
from pincite.notes import Note, texts
from pincite.protocols import Usage
from pincite.text.citation_marks import Sentence
from pincite.types import INLINE, UNWRITTEN, Doc, Document, Failed, Passage, json_key, written

T = TypeVar("T")
EXTRACT = "extract"  # `Answer.by` of an answer not written by a model


@dataclass(frozen=True, slots=True)
class Reference:
    """A document that an answer was given to write from, or that it names."""

    number: Annotated[int, Doc("by first use, unused ones last; 0: left out")]
    ref_id: Annotated[str, Doc("PMID, else the address; the text may cite it")]
    document: Document = field(metadata=INLINE)
    relevance: Annotated[float, Doc("log-odds that it bears on the question")] = 0.0
    # The most useful passages for the question come first.
    passages: tuple[Passage, ...] = field(default=(), metadata=UNWRITTEN)

    @property
    @written
    def retraction(self) -> Retraction:
        return retraction_of(self.document)


@dataclass(frozen=True, slots=True)
class Checked:
    """A sentence of an answer, verified."""

    sentence: Sentence = field(metadata=INLINE)
    verdicts: Annotated[tuple[ReferenceVerdict, ...], Doc("one per reference, in the text's order")]
    standing: Standing
    inherited: Annotated[bool, Doc("whether its references are a neighbouring sentence's")] = False
    notes_coded: tuple[Note, ...] = ()

    @property
    @written
    def notes(self) -> tuple[str, ...]:
        """In English: "reference 2 was retracted", "there is no reference 7"."""
        return texts(self.notes_coded)


@dataclass(frozen=True, slots=True)
class Change:
    """What a repair did to a sentence."""

    before: Checked
    after: Annotated[str, Doc("empty if it was struck out")]
    why_coded: tuple[Note, ...]

    @property
    @written
    def why(self) -> str:
        return "; ".join(texts(self.why_coded))


@dataclass(frozen=True, slots=True)
class Searched:
    """Where an answer was looked for, so that a reader can judge its silence."""

    corpus: Annotated[str, Doc("digest of its content")]
    n_documents: int
    mode: Annotated[str, Doc("how rankings were fused")]
    filters: Annotated[str, Doc("empty: none")] = ""
    found: Annotated[tuple[str, ...], Doc("ids of the documents read, best first")] = ()
    best: Annotated[float | None, Doc("relevance of the best of them, log-odds")] = None
    absent: Annotated[tuple[str, ...], Doc("terms that none of them, or none cited, has")] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """A question with what was found for it; an abstention quotes at most the nearest."""

    question: str
    text: Annotated[str, Doc("as written, with its marks; sentence spans refer to it")] = field(
        metadata=json_key("answer")
    )
    sentences: tuple[Checked, ...]
    references: tuple[Reference, ...]  # by number
    by: Annotated[str, Doc("extract, or the model")] = field(metadata=json_key("written_by"))
    searched: Searched
    abstained_coded: tuple[Note, ...] = ()  # why there is no answer, or none is confirmed
    unanswered: Annotated[tuple[str, ...], Doc("parts that no sentence was found to answer")] = ()
    dropped: Annotated[tuple[Checked, ...], Doc("removed by verification")] = ()
    changes: tuple[Change, ...] = ()
    cut: Annotated[bool, Doc("the writer was stopped before it ended")] = False
    stopped: Annotated[bool, Doc("by Ctrl-C")] = False
    failure: Annotated[str, Doc("why a part is missing, such as a lost server")] = ""
    # Their number is 0, so no sentence can cite them.
    left_out: Annotated[
        tuple[Reference, ...], Doc("retracted references, without their texts")
    ] = ()

    @property
    def cited(self) -> frozenset[int | None]:
        """The numbers of the references that its sentences cite; None for a mark without one."""
        return frozenset(v.number for sentence in self.sentences for v in sentence.verdicts)

    @property
    @written
    def abstained(self) -> str:
        """Why there is no answer, in English; empty if there is one."""
        return "; ".join(texts(self.abstained_coded))

    @property
    @written
    def complete(self) -> bool:
        """Whether the answer was written to its end and every sentence checked."""
        unchecked = any(s.standing is Standing.NOT_CHECKED for s in self.sentences)
        return not (self.cut or self.failure or unchecked)

    @property
    @written
    def only_abstracts(self) -> bool:
        """Whether only abstracts were read, as far as is known."""
        coverage = [r.document.meta.get("coverage") for r in self.references]
        return bool(coverage) and all(extent == "abstract" for extent in coverage)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReport(codec.JsonReport):
    """The answers of one run, with all that is needed to repeat them."""

    schema_version: Literal["2"] = "2"
    answers: tuple[Answer, ...]
    n_questions: Annotated[int, Doc("larger than the number of answers if the run was stopped")]
    usage: Usage
    warnings_coded: tuple[Note, ...]
    settings: Mapping[str, str | float | int | bool | tuple[str, ...] | None]
    versions: Annotated[
        Mapping[str, str], Doc("of pincite, verifier, writer, encoder, corpus, prompts")
    ] = field(default_factory=dict)
    created: Annotated[str, Doc("ISO timestamp, UTC")] = ""

    @property
    def stopped(self) -> bool:
        return len(self.answers) < self.n_questions or any(a.stopped for a in self.answers)

    @property
    @written
    def complete(self) -> bool:
        """Whether every question was answered or abstained from, without a failure."""
        return len(self.answers) == self.n_questions and all(a.complete for a in self.answers)

    @property
    def cited_references(self) -> list[Reference]:
        """The references that sentences cite, once each, in order."""
        by_id: dict[str, Reference] = {}
        for answer in self.answers:
            for reference in answer.references:
                if reference.number in answer.cited:
                    by_id.setdefault(reference.ref_id, reference)
        return list(by_id.values())

    def writers(self) -> Mapping[str, Callable[[Any], Any]]:
        write = partial(codec.values_of, digits=codec.DIGITS)
        return {
            "answers": lambda answers: [render_parts(write, answer) for answer in answers],
            "usage": partial(codec.values_of, digits=6),
        }


def render_parts(render: Callable[[Answer], T], answer: Answer) -> T:
    def raises(tried: Answer) -> bool:
        try:
            render(tried)
        except Exception:  # the first exception was logged
            return True
        return False

    def without_culprits(why: Failed) -> T:
        empty = replace(answer, sentences=(), references=(), dropped=(), changes=(), left_out=())
        sentences = tuple(
            Checked(checked.sentence, (), Standing.NOT_CHECKED, notes_coded=decide.notes_of(why))
            if raises(replace(empty, sentences=(checked,)))
            else checked
            for checked in answer.sentences
        )
        references = tuple(
            replace(reference, document=Document(str(reference.document.url), "", ""), passages=())
            if raises(replace(empty, references=(reference,)))
            else reference
            for reference in answer.references
        )
        parts = replace(empty, sentences=sentences, references=references)
        return render(replace(parts, failure=fault(why)))

    def nothing(why: Failed) -> T:
        bare = Answer(answer.question, "", (), (), answer.by, answer.searched, failure=fault(why))
        return render(bare)

    return errors.attempt(
        lambda: render(answer), lambda why: errors.attempt(lambda: without_culprits(why), nothing)
    )


def fault(why: Failed) -> str:
    return f"a bug in Pincite ({why.detail})"
