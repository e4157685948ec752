"""Verifies every sentence of an answer against each of its references, and repairs the answer.

sentence ─▶ its marks ─▶ passages of each reference ─▶ verifier ─▶ verdict per reference ─▶ standing
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pincite import errors
from pincite.judgement import decide
from pincite.judgement.decide import REFERENCE_SUPPORTS_FROM
from pincite.judgement.provenance import Retraction
from pincite.judgement.references import ReferenceVerdict, Standing, Support, standing, support_of
from pincite.llm.calls import CHAT_TOKENS, Calls, tokens_of
from pincite.llm.templates import Templates
from pincite.notes import Note, as_written
from pincite.protocols import Completion, Prompt, Verifier
from pincite.retrieval import cascade
from pincite.text import citation_marks, words
from pincite.text.citation_marks import Sentence
from pincite.text.page_numbers import confidence_in
from pincite.text.passages import around, cited_passages
from pincite.types import Claim, Document, Evidence, Failed, Passage, Span, about
from pincite.verbs.ask.report import Answer, Change, Checked, Reference

REWRITE = "rewrite_sentence"
REPLY_TOKENS = 150
_UNPROVEN = (Standing.NO_EVIDENCE, Standing.PARTLY_SUPPORTED, Standing.FABRICATED)
_SILENT = Note("references_silent")
_RETRACTION_NOTES = {
    Retraction.YES: "retracted",
    Retraction.PARTLY: "retracted_partly",
    Retraction.CONCERN: "concern",
    Retraction.CORRECTED: "corrected",
}


@dataclass(slots=True)
class AnswerChecker:
    """Checks sentences against references. Verdicts are cached for later versions of the answer."""

    verifier: Verifier
    languages: frozenset[str] = frozenset({"en"})
    supported_from: float = REFERENCE_SUPPORTS_FROM
    read: int = cascade.READ
    neighbours: bool = False  # whether uncited sentences inherit their neighbour's references
    # Verdicts by text and ref_id.
    _known: dict[tuple[str, str], ReferenceVerdict] = field(default_factory=dict)

    def check(
        self, sentences: Sequence[Sentence], references: Sequence[Reference]
    ) -> list[Checked]:
        ids = {reference.ref_id: reference.number for reference in references}
        by_number = {reference.number: reference for reference in references}

        def resolve(sentence: Sentence) -> list[tuple[str, Reference | None]]:
            resolved = ((mark, citation_marks.find_number(mark, ids) or 0) for mark in sentence.ids)
            return [(written, by_number.get(number)) for written, number in resolved]

        def likeness(sentence: Sentence, neighbour: Sentence) -> float:
            """Return the share of the sentence's words found in the neighbour's best source."""
            sources = [f"{r.document.title}\n{r.document.text}" for _, r in resolve(neighbour) if r]
            return max((1 - words.missing_words(sentence.text, s) for s in sources), default=0.0)

        to_check = [(sentence, False) for sentence in sentences]
        if self.neighbours:
            to_check = citation_marks.with_neighbours(sentences, likeness)
        references_cited = [resolve(sentence) for sentence, _ in to_check]
        new = {
            (sentence.text, reference.ref_id): reference
            for (sentence, _), of_sentence in zip(to_check, references_cited, strict=True)
            for _, reference in of_sentence
            if reference and (sentence.text, reference.ref_id) not in self._known
        }
        evidence = self.evidence([(text, r.document) for (text, _), r in new.items()])
        for (key, reference), of_pair in zip(new.items(), evidence, strict=True):
            self._known[key] = self._verdict(key[0], reference, of_pair)
        return [
            self._with_verdicts(sentence, inherited, of_sentence)
            for (sentence, inherited), of_sentence in zip(to_check, references_cited, strict=True)
        ]

    def evidence(self, pairs: Sequence[tuple[str, Document]]) -> list[list[Evidence]]:
        """Judge the passages worth reading of each (sentence, document) pair, in one batch."""

        def unread(pair: tuple[str, Document], why: Failed) -> list[Passage | Evidence]:
            passage = Passage(pair[1].doc_id, pair[1].url, "", "", Span(0, 0))
            return [decide.not_judged(passage, why)]

        read = errors.apply(lambda of: [self._passages(*pair) for pair in of], pairs, unread)
        flat = [
            (Claim.alone(text), passage)
            for (text, _), of_pair in zip(pairs, read, strict=True)
            for passage in of_pair
            if isinstance(passage, Passage)
        ]
        answers = iter(decide.verify_each(self.verifier.verify, flat))
        return [[p if isinstance(p, Evidence) else next(answers) for p in of] for of in read]

    def _passages(self, text: str, document: Document) -> list[Passage | Evidence]:
        if self._unreadable(document):
            return []
        likely = cascade.likely(text, cited_passages(document))
        return list(cascade.worth_reading(text, likely, self.read))

    def _unreadable(self, document: Document) -> tuple[Note, ...]:
        language = (document.language or "").split("-")[0]
        if language and language not in self.languages:
            reads = ", ".join(sorted(self.languages))
            if self.languages == {"en"}:
                reads += " (more: pincite[multilingual])"
            values = {"language": repr(language), "languages": reads}
            return (Note("reference_in_other_language", values),)
        return () if document.text.strip() else (Note("no_abstract"),)

    def _verdict(
        self, text: str, reference: Reference, evidence: Sequence[Evidence]
    ) -> ReferenceVerdict:
        judged = [piece for piece in evidence if not piece.failed]
        verdict = errors.attempt(
            lambda: support_of(text, judged, self.supported_from),
            lambda why: ReferenceVerdict(Support.NOT_CHECKED, why_coded=decide.notes_of(why)),
        )
        if judged or verdict.why_coded:
            return verdict
        failures = [piece.failed for piece in evidence if piece.failed]
        unjudged = decide.notes_of(failures[0]) if failures else ()
        return replace(verdict, why_coded=unjudged or self._unreadable(reference.document))

    def _with_verdicts(
        self, sentence: Sentence, inherited: bool, cited: Sequence[tuple[str, Reference | None]]
    ) -> Checked:
        verdicts, notes = list[ReferenceVerdict](), list[Note]()
        for written, reference in cited:
            if reference is None:
                verdicts.append(ReferenceVerdict(Support.NO_SUCH_REFERENCE, written=written))
                notes.append(Note("no_such_reference", {"written": written}))
                continue
            known = self._known[sentence.text, reference.ref_id]
            verdicts.append(replace(known, written=written, number=reference.number))
            notes += _notes(reference)
        together = standing(verdict.support for verdict in verdicts)
        return Checked(sentence, tuple(verdicts), together, inherited, tuple(notes))


def copied_sentence(
    sentence: Sentence,
    reference: Reference,
    span: Span,
    score: float,
    standing: Standing = Standing.VERBATIM,
) -> Checked:
    """Build a sentence copied from `span` of its reference; `score` is the log-odds it answers."""
    document = reference.document
    near = around(document, span)
    text, head = near.of(document.text), about(document.title, document.published, document.meta)
    passage = Passage(document.doc_id, document.url, document.title, text, near, head)
    evidence = Evidence(passage, 1.0, 0.0, 0.0, score, span.moved(-near.start))
    number = reference.number
    verdict = ReferenceVerdict(Support.VERBATIM, evidence, written=str(number), number=number)
    return Checked(sentence, (verdict,), standing, notes_coded=_notes(reference))


def _notes(reference: Reference) -> tuple[Note, ...]:
    document, code = reference.document, _RETRACTION_NOTES.get(reference.retraction)
    sure = confidence_in(document.meta, Span(0, len(document.text)))
    retracted = (Note(code, {"n": reference.number}),) if code else ()
    return retracted if sure is None else (*retracted, Note("recognised", {"confidence": sure}))


# ── Repair ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Repairer:
    """Repairs an answer.

    Contradicted sentences are dropped. Those without full support are rewritten by a model to what
    the reference says, and verified again; without success or a model, they are struck out.
    """

    calls: Calls | None = None
    templates: Templates | None = None
    language: str = "en"
    prompt_tokens: int = 6000  # of the whole prompt

    def repair(self, answer: Answer, checker: AnswerChecker) -> Answer:
        texts, dropped, changes = list[str](), list[Checked](), list[Change]()
        for checked in answer.sentences:
            if checked.standing is Standing.CONTRADICTED:
                dropped.append(checked)
            elif checked.standing in _UNPROVEN:
                change = self._repair_sentence(checked, answer.references, checker)
                changes.append(change)
                texts += [change.after] if change.after else []
            else:
                texts.append(checked.sentence.span.of(answer.text))
        text = " ".join(texts)
        sentences = citation_marks.cited_sentences(text, self.language)
        return replace(
            answer,
            text=text,
            sentences=tuple(checker.check(sentences, answer.references)),
            dropped=tuple(dropped),
            changes=tuple(changes),
        )

    def _repair_sentence(
        self, checked: Checked, references: Sequence[Reference], checker: AnswerChecker
    ) -> Change:
        if checked.standing is Standing.FABRICATED:
            return Change(checked, "", (Note("references_do_not_exist"),))
        if self.calls is None or self.templates is None:
            return Change(checked, "", (_SILENT,))
        after = self._rewrite(checked, self.calls, self.templates)
        if isinstance(after, Failed):
            return Change(checked, "", (_SILENT, *as_written(after.detail)))
        marks = "".join(f"[{v.number}]" for v in checked.verdicts if v.number)
        proposed = f"{after.rstrip('.')} {marks}."
        sentences = citation_marks.cited_sentences(proposed, self.language)
        again = checker.check(sentences, references)
        if all(sentence.standing is Standing.SUPPORTED for sentence in again):
            return Change(checked, proposed, (Note("rewritten"),))
        return Change(checked, "", (Note("references_still_silent"),))

    def _rewrite(self, checked: Checked, calls: Calls, templates: Templates) -> str | Failed:
        texts = [v.evidence.passage.text for v in checked.verdicts if v.evidence]
        while texts:
            system, user = templates.fill(
                REWRITE, statement=checked.sentence.text, evidence_item="\n\n".join(texts)
            )
            if tokens_of(system + user) + CHAT_TOKENS <= self.prompt_tokens:
                break
            texts.pop()
        else:
            return Failed("budget", "ask.prompt_tokens leaves no room for a reference")

        def read(reply: Completion) -> str | None:
            line = " ".join(reply.text.split())
            # A mark invented by the model would name a paper that was never read.
            marks = citation_marks.marks(line)
            text = citation_marks.without_marks(line, Span(0, len(line)), marks)
            return text if reply.complete and 0 < len(text) < 1000 else None

        prompt = Prompt(user, system, REPLY_TOKENS)
        return calls.read(REWRITE, prompt, {"sentence": checked.sentence.text}, read)
