"""Every sentence of an answer against each of its references, and what is done where they fail it.

sentence ─▶ its marks ─▶ passages of each reference ─▶ verifier ─▶ a verdict a reference ─▶ standing

A mark that names nothing the writer was given is no such reference: a finding, never an error.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pincite import containment
from pincite.completions import Completion, Prompt
from pincite.judgement.references import (
    CONTRADICTED_FROM,
    SUPPORTED_FROM,
    Retraction,
    Standing,
    Support,
    Verdict,
    standing,
    support_of,
)
from pincite.llm.calls import Calls, tokens_of
from pincite.llm.templates import Templates
from pincite.notes import Note, as_written
from pincite.protocols import Verifier
from pincite.retrieval import cascade
from pincite.text import citation_marks, words
from pincite.text.citation_marks import Sentence
from pincite.text.passages import around, cited_passages
from pincite.types import Claim, Document, Evidence, Failed, Passage, Span, about
from pincite.verbs.ask.records import Answer, Change, Checked, Reference
from pincite.verbs.ask.writers import CHAT_TOKENS

REWRITE = "rewrite_sentence"
REPLY_TOKENS = 150
_SILENT = Note("references_silent")
_UNFOUNDED = (Standing.NO_EVIDENCE, Standing.FABRICATED)
_CODES = {  # of what became of a reference
    Retraction.YES: "retracted",
    Retraction.PARTLY: "retracted_partly",
    Retraction.CONCERN: "concern",
    Retraction.CORRECTED: "corrected",
}


@dataclass(slots=True)
class AnswerChecker:
    """Checks sentences against references; what was judged is not judged again."""

    verifier: Verifier
    languages: frozenset[str] = frozenset({"en"})
    supported_from: float = SUPPORTED_FROM
    contradicted_from: float = CONTRADICTED_FROM
    read: int = cascade.READ
    neighbours: bool = False  # whether uncited sentences take their neighbour's references
    _known: dict[tuple[str, str], Verdict] = field(default_factory=dict)

    def checked(
        self, sentences: Sequence[Sentence], references: Sequence[Reference]
    ) -> list[Checked]:
        """Each sentence with its verdicts, in order."""
        ids = {reference.ref_id: reference.number for reference in references}
        by_number = {reference.number: reference for reference in references}
        given = [(sentence, False) for sentence in sentences]
        if self.neighbours:
            given = citation_marks.with_neighbours(
                sentences, lambda one, other: self._likeness(one, other, ids, by_number)
            )
        found = [self._named(sentence, ids, by_number) for sentence, _ in given]
        self._judge(
            [(s.text, r) for (s, _), named in zip(given, found, strict=True) for _, r in named if r]
        )
        return [
            self._one(sentence, inherited, named)
            for (sentence, inherited), named in zip(given, found, strict=True)
        ]

    def _named(
        self, sentence: Sentence, ids: dict[str, int], by_number: dict[int, Reference]
    ) -> list[tuple[str, Reference | None]]:
        """The references of a sentence as written, each with what it names."""
        return [
            (written, by_number.get(citation_marks.resolved(written, ids) or 0))
            for written in sentence.ids
        ]

    def _likeness(
        self,
        sentence: Sentence,
        neighbour: Sentence,
        ids: dict[str, int],
        by_number: dict[int, Reference],
    ) -> float:
        """The share of the sentence's words that the best of the neighbour's sources has."""
        sources = [r for _, r in self._named(neighbour, ids, by_number) if r]
        texts = [f"{r.document.title}\n{r.document.text}" for r in sources]
        return max((1 - words.missing_words(sentence.text, text) for text in texts), default=0.0)

    def _judge(self, pairs: Sequence[tuple[str, Reference]]) -> None:
        """Fill `_known` for all pairs that are new, in one batch."""
        new = {
            (text, reference.ref_id): reference
            for text, reference in pairs
            if (text, reference.ref_id) not in self._known
        }
        found = self.evidence([(text, new[text, ref_id].document) for text, ref_id in new])
        for (key, reference), evidence in zip(new.items(), found, strict=True):
            self._known[key] = self._verdict(key[0], reference, evidence)

    def evidence(self, pairs: Sequence[tuple[str, Document]]) -> list[list[Evidence]]:
        """For each (sentence, document) what the passages that are worth reading say, in order.

        All pairs are one batch. Nothing of a document that cannot be read.
        """
        read = containment.each(
            lambda of: [self._passages(text, document) for text, document in of],
            pairs,
            lambda pair, why: [_unread(pair[1], why)],
        )
        flat = [
            (Claim.alone(text), passage)
            for (text, _), passages in zip(pairs, read, strict=True)
            for passage in passages
            if isinstance(passage, Passage)
        ]
        answers = iter(containment.verified(self.verifier.verify, flat))
        return [[p if isinstance(p, Evidence) else next(answers) for p in of] for of in read]

    def _passages(self, text: str, document: Document) -> Sequence[Passage | Evidence]:
        if self._unreadable(document):
            return []
        found = cascade.likely(text, cited_passages(document))
        return cascade.worth_reading(text, found, self.read)

    def _unreadable(self, document: Document) -> tuple[Note, ...]:
        language = (document.language or "").split("-")[0]
        if language and language not in self.languages:
            reads = ", ".join(sorted(self.languages))
            values = {"language": repr(language), "languages": reads}
            return (Note("reference_in_other_language", values),)
        return () if document.text.strip() else (Note("no_abstract"),)

    def _verdict(self, text: str, reference: Reference, evidence: Sequence[Evidence]) -> Verdict:
        judged = [each for each in evidence if not containment.failure(each)]
        found = containment.attempted(
            lambda: support_of(text, judged, self.supported_from, self.contradicted_from), _fault
        )
        if judged or found.why_coded:
            return found
        unjudged = tuple(note for each in evidence for note in each.reasons_coded)[:1]
        return replace(found, why_coded=unjudged or self._unreadable(reference.document))

    def _one(
        self,
        sentence: Sentence,
        inherited: bool,
        named: Sequence[tuple[str, Reference | None]],
    ) -> Checked:
        verdicts, notes = list[Verdict](), list[Note]()
        for written, reference in named:
            if reference is None:
                verdicts.append(Verdict(Support.NO_SUCH_REFERENCE, written=written))
                notes.append(Note("no_such_reference", {"written": written}))
                continue
            known = self._known[sentence.text, reference.ref_id]
            verdicts.append(replace(known, written=written, number=reference.number))
            notes += _notes(reference)
        together = standing(verdict.support for verdict in verdicts)
        return Checked(sentence, tuple(verdicts), together, inherited, tuple(notes))


def _fault(why: Failed) -> Verdict:
    return Verdict(Support.NOT_CHECKED, why_coded=containment.notes_of(why))


def _unread(document: Document, why: Failed) -> Evidence:
    """In the place of the passages of a document that could not be cut into any."""
    passage = Passage(document.doc_id, document.url, "", "", Span(0, 0))
    return containment.not_judged(passage, why)


def copied(sentence: Sentence, reference: Reference, span: Span, score: float) -> Checked:
    """A sentence that was copied from `span` of its reference: nothing is left to be judged.

    `score`: log-odds that it answers the question.
    """
    document = reference.document
    near = around(document, span)
    passage = Passage(
        document.doc_id,
        document.url,
        document.title,
        near.of(document.text),
        near,
        about(document.title, document.published, document.meta),
    )
    quote = Span(span.start - near.start, span.end - near.start)
    evidence = Evidence(passage, 1.0, 0.0, 0.0, score, quote, ())
    number = reference.number
    verdict = Verdict(Support.VERBATIM, evidence, written=str(number), number=number)
    return Checked(sentence, (verdict,), Standing.VERBATIM, notes_coded=_notes(reference))


def _notes(reference: Reference) -> tuple[Note, ...]:
    """What became of a reference, if a reader has to know."""
    code = _CODES.get(reference.retraction)
    return (Note(code, {"n": reference.number}),) if code else ()


# ── Repair ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Repairer:
    """Repairs an answer; without a model by striking out alone.

    What is contradicted is dropped, and shown as dropped. What has no evidence is rewritten by a
    model to what the reference says, and verified again; if it still has none, as where there is no
    model or no such reference, it is struck out. `dropped` and `changes` of the answer have it all.
    """

    calls: Calls | None = None
    templates: Templates | None = None
    language: str = "en"
    prompt_tokens: int = 6000  # of a prompt, all in all

    def repaired(self, answer: Answer, checker: AnswerChecker) -> Answer:
        """The answer without what its references do not support."""
        kept: list[str] = []
        dropped: list[Checked] = []
        changes: list[Change] = []
        for checked in answer.sentences:
            written = checked.sentence.span.of(answer.text)
            if checked.standing is Standing.CONTRADICTED:
                dropped.append(checked)
            elif checked.standing in _UNFOUNDED:
                change = self._changed(checked, answer.references, checker)
                changes.append(change)
                kept += [change.after] if change.after else []
            else:
                kept.append(written)
        text = " ".join(kept)
        sentences = citation_marks.cited_sentences(text, self.language)
        return replace(
            answer,
            text=text,
            sentences=tuple(checker.checked(sentences, answer.references)),
            dropped=tuple(dropped),
            changes=tuple(changes),
        )

    def _changed(
        self, checked: Checked, references: Sequence[Reference], checker: AnswerChecker
    ) -> Change:
        if checked.standing is Standing.FABRICATED:
            return Change(checked, "", (Note("references_do_not_exist"),))
        if self.calls is None or self.templates is None:
            return Change(checked, "", (_SILENT,))
        after = self._rewritten(checked)
        if isinstance(after, Failed):
            return Change(checked, "", (_SILENT, *as_written(after.detail)))
        marks = "".join(f"[{v.number}]" for v in checked.verdicts if v.number)
        proposed = f"{after.rstrip('.')} {marks}."
        found = checker.checked(citation_marks.cited_sentences(proposed, self.language), references)
        if all(each.standing is Standing.SUPPORTED for each in found):
            return Change(checked, proposed, (Note("rewritten"),))
        return Change(checked, "", (Note("references_still_silent"),))

    def _asked(self, checked: Checked, texts: Sequence[str]) -> tuple[str, str]:
        assert self.templates
        return self.templates.filled(
            REWRITE, statement=checked.sentence.text, evidence_item="\n\n".join(texts)
        )

    def _rewritten(self, checked: Checked) -> str | Failed:
        assert self.calls
        texts = [v.evidence.passage.text for v in checked.verdicts if v.evidence]
        system, user = self._asked(checked, texts)
        while texts and tokens_of(system + user) + CHAT_TOKENS > self.prompt_tokens:
            system, user = self._asked(checked, texts := texts[:-1])
        if not texts:
            return Failed("budget", "ask.prompt_tokens leaves no room for a reference")

        def read(reply: Completion) -> str | None:
            said = " ".join(reply.text.split())
            # A mark that the model makes up would name a paper that was never looked at.
            said = citation_marks.without_marks(
                said, citation_marks.whole(said), citation_marks.marks(said)
            )
            return said if reply.complete and 0 < len(said) < 1000 else None

        prompt = Prompt(user, system, REPLY_TOKENS)
        return self.calls.read(REWRITE, prompt, {"sentence": checked.sentence.text}, read)
