"""`ask`: a question answered from a corpus, every sentence verified against its references.

question ─▶ documents ─┬▶ a model writes ─▶ sentences ─▶ verdicts ─▶ repair ─┬▶ answer
                       └▶ sentences of theirs that answer it, word for word ─┘

Where nothing relevant is found there is no answer. A model's answer streams: each sentence is
verified as soon as the next one begins. A sentence that was copied is not verified, since its
source says it; marks that stand in it are its paper's own, and text.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pincite import containment
from pincite.notes import Note
from pincite.text import citation_marks
from pincite.types import Document, Failed
from pincite.verbs.ask.answer_check import AnswerChecker, Repairer, copied
from pincite.verbs.ask.extract import Extractor
from pincite.verbs.ask.literature import (
    Found,
    FoundDocument,
    LiteratureFinder,
    plainer,
    unanswered_terms,
)
from pincite.verbs.ask.records import Answer, Checked, Reference, Searched, fault
from pincite.verbs.ask.writers import ModelWriter, Written

Tell = Callable[[Checked], None]
Draft = Callable[[int, Sequence[str]], None]  # how many sentences are verified, those after them


@dataclass(frozen=True, slots=True)
class AnswerListener:
    """What is called while an answer is written."""

    tell: Tell
    draft: Draft


@dataclass(frozen=True, slots=True)
class AskPipeline:
    """The parts that `ask` is made of."""

    finder: LiteratureFinder
    writer: ModelWriter | Extractor
    checker: AnswerChecker
    searched: Searched  # what is known of it before anything was found
    repairer: Repairer | None = None  # None: sentences are labelled and left as they are
    least_relevance: float = 0.0  # log-odds of the best document, below which there is no answer
    language: str = "en"

    def ask(self, question: str, tell: Tell | None = None, draft: Draft | None = None) -> Answer:
        """The answer; `tell` is called with each sentence as soon as it is verified, once.

        `draft` is called with sentences that wait to be verified, if `tell` is given.

        An answer that is not written to its end (Ctrl-C, a server that went away) is returned with
        what there is of it, and says so. What raises costs itself (`containment`): a document, a
        sentence, or the question.
        """

        def failed(why: Failed) -> Answer:
            by = self.writer.fingerprint
            return Answer(question, "", (), (), by, self.searched, failure=fault(why))

        def answered(asked: str) -> Answer:
            return containment.attempted(lambda: self._ask(asked, tell, draft), failed)

        answer = answered(question)
        plain = plainer(question)
        if answer.abstained_coded and plain != question:
            again = answered(plain)
            answer = answer if again.abstained_coded else replace(again, question=question)
        return answer

    def _ask(self, question: str, tell: Tell | None, draft: Draft | None) -> Answer:
        found = self.finder.found(question) if re.search(r"\w", question) else Found(())
        references = numbered(found.documents)
        best = max((each.relevance for each in found.documents), default=None)
        read = "\n".join(f"{r.document.title}\n{r.document.text}" for r in references)
        searched = replace(
            self.searched,
            found=tuple(r.ref_id for r in references),
            best=best,
            absent=containment.attempted(
                lambda: tuple(unanswered_terms(question, read)), lambda _: ()
            )
            if references
            else (),
        )
        left_out = tuple(e for e in found.left_out if e.relevance >= self.least_relevance)
        silent = _silent(question, self.writer.fingerprint, searched, left_out)
        if best is None or best < self.least_relevance:
            code = "nothing_filtered" if self.searched.filters else "nothing_found"
            if left_out:
                code = "all_retracted"
            elif best is not None:
                code = "nothing_relevant"
            return replace(silent, abstained_coded=(Note(code),))
        listener = AnswerListener(tell, draft or (lambda n_told, waiting: None)) if tell else None
        if isinstance(self.writer, Extractor):
            answer = self._extracted(self.writer, silent, references, listener)
        else:
            text, ending = self._written(self.writer, question, references, listener)
            if not text.strip() and not ending.failure:
                return silent
            answer = self._finished(question, text, ending, references, searched)
        return replace(answer, left_out=silent.left_out)

    def check(self, question: str, text: str, references: Sequence[Reference]) -> Answer:
        """An answer that somebody else wrote, verified (and repaired) in the same way."""
        ids = tuple(r.ref_id for r in references)
        searched = replace(self.searched, found=ids)
        return self._finished(question, text, Written(), references, searched)

    def _extracted(
        self,
        writer: Extractor,
        silent: Answer,
        references: Sequence[Reference],
        listener: AnswerListener | None,
    ) -> Answer:
        """The sentences that answer the question; `silent` where there are none."""
        quotes, failures = writer.quotes(silent.question, references)
        silent = replace(silent, failure="; ".join(dict.fromkeys(map(fault, failures))))
        if not quotes:
            return silent
        named = [references[quote.source].number for quote in quotes]
        ordered, new = renumbered(references, named)
        text, sentences = citation_marks.quoted(
            [(quote.text, new[number]) for quote, number in zip(quotes, named, strict=True)]
        )
        checked = [
            copied(sentence, ordered[new[number] - 1], quote.span, quote.answers)
            for sentence, quote, number in zip(sentences, quotes, named, strict=True)
        ]
        if listener:
            for each in checked:
                listener.tell(each)
        return replace(
            silent,
            abstained_coded=(),
            text=text,
            sentences=tuple(checked),
            references=tuple(ordered),
        )

    def _written(
        self,
        writer: ModelWriter,
        question: str,
        references: Sequence[Reference],
        listener: AnswerListener | None,
    ) -> tuple[str, Written]:
        text, ending, n_told = "", Written(), 0
        try:
            for piece in writer.write(question, references):
                text += piece.text
                if piece.cut or piece.failure:
                    ending = piece
                if listener and any(mark in piece.text for mark in ".!?])\n "):
                    n_told = self._tell_new(text, references, listener, n_told, last=False)
        except KeyboardInterrupt:
            ending = Written(cut=True, failure="the run was stopped", stopped=True)
        if listener:
            self._tell_new(text, references, listener, n_told, last=True)
        return text, ending

    def _tell_new(
        self,
        text: str,
        references: Sequence[Reference],
        listener: AnswerListener,
        n_told: int,
        *,
        last: bool,
    ) -> int:
        """Verify and tell of the sentences that cannot grow any more; how many were told now."""
        written = text if last else citation_marks.settled(text)
        whole, references = in_order(written, references)
        sentences = citation_marks.cited_sentences(whole, self.language)
        listener.draft(n_told, [sentence.text for sentence in sentences[n_told:]])
        ready = sentences if last else sentences[: -1 - self.checker.neighbours]
        if len(ready) <= n_told:
            return n_told
        # What is still being written is left alone; under the neighbours' rule one more is asked.
        known = sentences if last else sentences[:-1]
        for checked in self.checker.checked(known, references)[n_told : len(ready)]:
            listener.tell(checked)
        return len(ready)

    def _finished(
        self,
        question: str,
        text: str,
        ending: Written,
        references: Sequence[Reference],
        searched: Searched,
    ) -> Answer:
        text, references = in_order(text.strip(), references)
        sentences = citation_marks.cited_sentences(text, self.language)
        checked = self.checker.checked(sentences, references)
        answer = Answer(
            question=question,
            text=text,
            sentences=tuple(checked),
            references=tuple(references),
            by=self.writer.fingerprint,
            searched=searched,
            cut=ending.cut,
            failure=ending.failure,
            stopped=ending.stopped,
        )
        if self.repairer is None:
            return answer
        repaired = partial(self.repairer.repaired, answer, self.checker)
        return containment.attempted(repaired, lambda why: replace(answer, failure=fault(why)))


def numbered(found: Sequence[FoundDocument]) -> list[Reference]:
    """The documents as references 1, 2, …, best first."""
    return [
        Reference(number, ref_id(each.document), each.document, each.relevance, each.passages)
        for number, each in enumerate(found, 1)
    ]


def in_order(text: str, references: Sequence[Reference]) -> tuple[str, list[Reference]]:
    """The text and its references numbered as the text first names them, the others behind.

    Marks that were copied with a reference's own words are text (`citation_marks.without_copied`).
    """
    sources = [
        (frozenset({str(each.number), f"PUBMED:{each.ref_id}"}), each.document.text)
        for each in references
    ]
    text = citation_marks.without_copied(text, sources)
    text, used = citation_marks.renumbered(text, {each.ref_id: each.number for each in references})
    return text, renumbered(references, used)[0]


def renumbered(
    references: Sequence[Reference], used: Sequence[int]
) -> tuple[list[Reference], dict[int, int]]:
    """The references numbered as they are first used, the others behind; new numbers by old."""
    by_number = {each.number: each for each in references}
    order = {old: new for new, old in enumerate(dict.fromkeys([*used, *by_number]), start=1)}
    return [replace(by_number[old], number=new) for old, new in order.items()], order


def ref_id(document: Document) -> str:
    """The PMID of a paper that has one, else its address."""
    return document.meta.get("pmid") or document.url


def _silent(
    question: str, by: str, searched: Searched, left_out: Sequence[FoundDocument]
) -> Answer:
    """No answer, though something was found."""
    retracted = tuple(
        Reference(0, ref_id(e.document), replace(e.document, text=""), e.relevance)
        for e in left_out
    )
    why = (Note("nothing_answers"),)
    return Answer(question, "", (), (), by, searched, abstained_coded=why, left_out=retracted)
