"""Who writes an answer: sentences taken from the sources, or a language model that reads them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from pincite.answers import Reference, Retraction
from pincite.completions import Completion, Prompt
from pincite.core import extract
from pincite.core.prompts import abstract
from pincite.core.sentences import sentences
from pincite.documents.pubmed import in_own_words
from pincite.errors import ServerError
from pincite.pipeline.calls import Calls
from pincite.pipeline.templates import Templates
from pincite.protocols import Reader
from pincite.types import Claim, Passage, claim_id_of

EXTRACT = "extract"  # what `by` says of an answer that no model wrote
STEP = "answer_question"
CHARS_A_TOKEN = 3  # of a prompt, on the safe side
FENCE_TOKENS = 40  # around each abstract


@dataclass(frozen=True, slots=True)
class Written:
    """A piece of an answer, or how it ended."""

    text: str = ""
    cut: bool = False  # ended at its longest length
    failure: str = ""  # ended because the server did


class Writer(Protocol):
    """Writes an answer from references, with a mark behind each statement."""

    @property
    def fingerprint(self) -> str:
        """Its name, for the result."""
        ...

    def write(self, question: str, references: Sequence[Reference]) -> Iterator[Written]:
        """The answer in pieces, as they are written."""
        ...


@dataclass(frozen=True, slots=True)
class Extractor:
    """The sentences of the sources that bear on the question most, word for word."""

    reader: Reader
    sentences: int = 5
    least_relevance: float = 0.0
    fingerprint: str = EXTRACT

    def write(self, question: str, references: Sequence[Reference]) -> Iterator[Written]:
        """A sentence a piece; those of retracted papers come last."""
        sound = [r for r in references if r.retraction is not Retraction.YES]
        order = [*sound, *(r for r in references if r.retraction is Retraction.YES)]
        chosen = extract.chosen(
            self._candidates(question, order), self.sentences, self.least_relevance
        )
        for each in chosen:
            yield Written(f"{each.text} [{order[each.source].number}]\n")

    def _candidates(self, question: str, references: Sequence[Reference]) -> list[extract.Quotable]:
        places = [
            (source, place, reference.document, span)
            for source, reference in enumerate(references)
            for place, span in enumerate(
                sentences(
                    in_own_words(reference.document.text), reference.document.language or "en"
                )
            )
        ]
        kept = [
            p for p in places if extract.can_stand_alone(extract.unlabelled(p[3].of(p[2].text)))
        ]
        claim = Claim(claim_id_of("", (), question), question)
        odds = self.reader.relevance(
            [
                (claim, Passage(d.doc_id, d.url, d.title, span.of(d.text), span))
                for _, _, d, span in kept
            ]
        )
        return [
            extract.Quotable(extract.unlabelled(span.of(d.text)), source, place, float(score))
            for (source, place, d, span), score in zip(kept, odds, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class ModelWriter:
    """A language model that is given the question and the abstracts (Verif.ai, §II-B)."""

    calls: Calls
    templates: Templates
    prompt_tokens: int = 6000  # for the abstracts
    reply_tokens: int = 1000
    temperature: float = 0.0

    @property
    def fingerprint(self) -> str:
        """The model's."""
        return self.calls.model(STEP).fingerprint

    def write(self, question: str, references: Sequence[Reference]) -> Iterator[Written]:
        """The reply as it comes; its end says whether it was cut or failed."""
        for piece in self.calls.stream(STEP, self.prompt(question, references)):
            if isinstance(piece, str):
                yield Written(piece)
            elif isinstance(piece, ServerError):
                yield Written(failure=str(piece))
            elif isinstance(piece, Completion) and not piece.complete:
                yield Written(cut=True)

    def prompt(self, question: str, references: Sequence[Reference]) -> Prompt:
        """The question with as many abstracts as have room, the most relevant first."""
        given = within_budget(references, self.prompt_tokens)
        abstracts = "\n\n".join(
            abstract(r.number, r.ref_id, r.document.title, r.document.text) for r in given
        )
        system, user = self.templates.filled(STEP, question=question, abstracts=abstracts)
        return Prompt(user, system, self.reply_tokens, self.temperature)


def _whole(reference: Reference) -> str:
    return f"{reference.document.title}\n{reference.document.text}".strip()


def within_budget(references: Sequence[Reference], tokens: int) -> list[Reference]:
    """The first references whose texts fit; at least one."""
    kept: list[Reference] = []
    used = 0
    for reference in references:
        used += len(_whole(reference)) // CHARS_A_TOKEN + FENCE_TOKENS
        if kept and used > tokens:
            break
        kept.append(reference)
    return kept
