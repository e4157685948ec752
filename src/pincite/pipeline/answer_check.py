"""Every sentence of an answer against each of its references.

sentence ─▶ its marks ─▶ passages of each reference ─▶ verifier ─▶ a verdict a reference ─▶ standing

A mark that names nothing the writer was given is no such reference: a finding, never an error.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pincite.answers import (
    Checked,
    Reference,
    Retraction,
    Sentence,
    Standing,
    Support,
    Verdict,
)
from pincite.core import aggregation, cascade, cited, wording
from pincite.core.passages import cited_passages
from pincite.protocols import Verifier
from pincite.types import Claim, Document, Evidence, Passage, claim_id_of

# Of a (sentence, reference) pair. Higher than `verify`'s threshold: a sentence that was written
# from an abstract is close to it, and one that is not borne out misleads; docs/benchmarks.md.
SUPPORTED_FROM = 0.5
CONTRADICTED_FROM = 0.5
_NOTES = {
    Retraction.YES: "reference {n} was retracted",
    Retraction.CONCERN: "of reference {n} its journal expressed concern",
    Retraction.CORRECTED: "reference {n} was corrected",
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
            given = cited.with_neighbours(
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
            (written, by_number.get(cited.resolved(written, ids) or 0)) for written in sentence.ids
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
        return max((1 - wording.missing_words(sentence.text, text) for text in texts), default=0.0)

    def _judge(self, pairs: Sequence[tuple[str, Reference]]) -> None:
        """Fill `_known` for all pairs that are new, in one batch."""
        new = {
            (text, reference.ref_id): reference
            for text, reference in pairs
            if (text, reference.ref_id) not in self._known
        }
        found = self.evidence([(text, new[text, ref_id].document) for text, ref_id in new])
        for (key, reference), evidence in zip(new.items(), found, strict=True):
            self._known[key] = self._verdict(reference, evidence)

    def evidence(self, pairs: Sequence[tuple[str, Document]]) -> list[list[Evidence]]:
        """For each (sentence, document) what the passages that are worth reading say, in order.

        All pairs are one batch. Nothing of a document that cannot be read.
        """
        read = [self._passages(text, document) for text, document in pairs]
        flat = [
            (_claim(text), passage)
            for (text, _), passages in zip(pairs, read, strict=True)
            for passage in passages
        ]
        answers = iter(self.verifier.verify(flat))
        return [[next(answers) for _ in passages] for passages in read]

    def _passages(self, text: str, document: Document) -> list[Passage]:
        if self._unreadable(document):
            return []
        return cascade.worth_reading(text, cited_passages(document), self.read)

    def _unreadable(self, document: Document) -> str:
        language = (document.language or "").split("-")[0]
        if language and language not in self.languages:
            reads = ", ".join(sorted(self.languages))
            return f"it is in {language!r}, the verifier reads {reads}"
        return "" if document.text.strip() else "it has no abstract here"

    def _verdict(self, reference: Reference, evidence: Sequence[Evidence]) -> Verdict:
        """`written` is put in later: one pair may stand in an answer in several ways."""
        support, speaks = support_of(evidence, self.supported_from, self.contradicted_from)
        why = "" if evidence else self._unreadable(reference.document)
        return Verdict("", support, reference.number, speaks, why)

    def _one(
        self,
        sentence: Sentence,
        inherited: bool,
        named: Sequence[tuple[str, Reference | None]],
    ) -> Checked:
        verdicts, notes = [], []
        for written, reference in named:
            if reference is None:
                verdicts.append(Verdict(written, Support.NO_SUCH_REFERENCE))
                notes.append(f"there is no reference {written}")
                continue
            known = self._known[sentence.text, reference.ref_id]
            verdicts.append(
                Verdict(written, known.support, reference.number, known.evidence, known.why)
            )
            if reference.retraction in _NOTES:
                notes.append(_NOTES[reference.retraction].format(n=reference.number))
        return Checked(sentence, tuple(verdicts), standing(verdicts), inherited, tuple(notes))


def support_of(
    evidence: Sequence[Evidence],
    supported_from: float = SUPPORTED_FROM,
    contradicted_from: float = CONTRADICTED_FROM,
) -> tuple[Support, Evidence | None]:
    """What a document says of a sentence, and the passage that says it; None of nothing read.

    The best supported passage speaks first; only where it does not reach its threshold the one
    that contradicts most.
    """
    best = aggregation.best(evidence)
    if best is None:
        return Support.NOT_CHECKED, None
    if best.prob_supported >= supported_from:
        return Support.SUPPORTS, best
    against = max(evidence, key=lambda e: e.prob_refuted)
    if against.prob_refuted >= contradicted_from:
        return Support.CONTRADICTS, against
    return Support.NO_EVIDENCE, best


def standing(verdicts: Sequence[Verdict]) -> Standing:
    """What the references say together.

    A reference that does not exist makes nothing better: beside one that supports, the sentence is
    supported and the note stays; alone, the sentence is fabricated.
    """
    found = {verdict.support for verdict in verdicts}
    if not found:
        return Standing.UNCITED
    if found == {Support.NO_SUCH_REFERENCE}:
        return Standing.FABRICATED
    if Support.SUPPORTS in found:
        return Standing.MIXED if Support.CONTRADICTS in found else Standing.SUPPORTED
    if Support.CONTRADICTS in found:
        return Standing.CONTRADICTED
    return Standing.NO_EVIDENCE if Support.NO_EVIDENCE in found else Standing.NOT_CHECKED


def _claim(text: str) -> Claim:
    return Claim(claim_id_of("", (), text), text)
