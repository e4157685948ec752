"""What references say about a sentence, and its resulting standing: Verif.ai's labels (§II-C)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated

from pincite.judgement import decide
from pincite.notes import Note, texts
from pincite.text import words
from pincite.text.antonyms import contrasts, other_figures
from pincite.text.languages import common
from pincite.types import Doc, Evidence, Label, Witness, WitnessKind
from pincite.types import written as in_json

# Where a rule sees an antonym or a negation on one side only, the network must be surer. Then 46 of
# 60 negated sentences are caught instead of 42, and 39 of 1,203 sound ones instead of 36 are held
# to lack evidence (tools/planted.py).
SURE_FROM = 0.65


class Support(StrEnum):
    """What one reference says of a sentence (Verif.ai, §II-C), and what that leaves out."""

    SUPPORTS = "supports"
    PARTLY = "partly_supports"  # but it states another value, or less than the sentence
    VERBATIM = "verbatim"  # copied from it word for word
    CONTRADICTS = "contradicts"
    NO_EVIDENCE = "no_evidence"
    NO_SUCH_REFERENCE = "no_such_reference"  # the answer names a reference that it was not given
    NOT_CHECKED = "not_checked"  # e.g. an abstract in a language that the verifier does not read


@dataclass(frozen=True, slots=True)
class ReferenceVerdict:
    """What a document says of a sentence and, in an answer, which of its references that is."""

    support: Support
    evidence: Annotated[Evidence | None, Doc("the passage that decides")] = None
    why_coded: tuple[Note, ...] = ()
    written: Annotated[str, Doc("the reference as the sentence has it")] = ""
    number: Annotated[int | None, Doc("of the reference; null: there is no such")] = None

    @property
    @in_json
    def why(self) -> str:
        """What a rule found, or why it was not checked; in English."""
        return "; ".join(texts(self.why_coded))


class Standing(StrEnum):
    """What all references of a sentence say of it together."""

    SUPPORTED = "supported"  # one supports it, none contradicts
    PARTLY_SUPPORTED = "partly_supported"  # none supports all of it
    VERBATIM = "verbatim"  # copied word for word from its reference, so nothing is judged
    NEAREST = "nearest"  # copied too, but not confirmed to answer the question
    CONTRADICTED = "contradicted"  # one contradicts it, none supports
    MIXED = "mixed"  # one supports, another contradicts
    NO_EVIDENCE = "no_evidence"
    FABRICATED = "fabricated"  # none of its references exists
    UNCITED = "uncited"
    NOT_CHECKED = "not_checked"


_OF_LABEL = {
    Label.SUPPORTED: Support.SUPPORTS,
    Label.PARTLY_SUPPORTED: Support.PARTLY,
    Label.REFUTED: Support.CONTRADICTS,
    Label.NOT_SUPPORTED: Support.NO_EVIDENCE,
}


def support_of(
    text: str, evidence: Sequence[Evidence], threshold: float = decide.REFERENCE_SUPPORTS_FROM
) -> ReferenceVerdict:
    """Decide on a sentence and one document as `verify` does on a claim and a source."""
    seen = [with_other_figures(text, e) for e in evidence]
    best = decide.best(seen)
    if best is None:
        return ReferenceVerdict(Support.NOT_CHECKED)
    if is_turned(text, best.quoted):
        threshold = max(threshold, SURE_FROM)
    deciding = decide.deciding_evidence(seen, threshold) or best
    return ReferenceVerdict(_OF_LABEL[decide.label_of(deciding, threshold)], deciding)


def is_turned(text: str, quote: str) -> bool:
    """Whether a rule finds that one text says the opposite of the other."""
    negated = words.is_negated(text) != words.is_negated(quote)
    return bool(quote) and (negated or bool(contrasts(text, quote)))


def with_other_figures(text: str, evidence: Evidence) -> Evidence:
    """Add a witness for each other figure in a passage that says the same as an English sentence.

    The verifier is sure of such a sentence if its figure occurs elsewhere in the abstract: without
    them, it finds 16 of 30 planted figures, and 26 with them (tools/planted.py). Only `ask` uses
    this rule: its sentences are close to their sources, unlike those of an article.
    """
    passage = evidence.passage
    if evidence.contradiction or common(text, passage.text) != "en":
        return evidence
    spans = words.sentences_of(passage.text)
    kind = WitnessKind.VALUE if passage.recognised is None else WitnessKind.MISREAD
    figures = other_figures(text, [span.of(passage.text) for span in spans])
    if not figures:
        return evidence
    witnesses = (Witness(kind, stated, other) for stated, other in figures)
    return decide.weigh(replace(evidence, witnesses=(*evidence.witnesses, *witnesses)))


def standing(supports: Iterable[Support]) -> Standing:
    """Combine what the references of a sentence say; nonexistent ones count only if alone."""
    distinct = set(supports)
    if not distinct:
        return Standing.UNCITED
    if distinct == {Support.NO_SUCH_REFERENCE}:
        return Standing.FABRICATED
    if Support.VERBATIM in distinct:
        return Standing.VERBATIM
    if Support.SUPPORTS in distinct:
        return Standing.MIXED if Support.CONTRADICTS in distinct else Standing.SUPPORTED
    if Support.CONTRADICTS in distinct:
        return Standing.CONTRADICTED
    if Support.PARTLY in distinct:
        return Standing.PARTLY_SUPPORTED
    return Standing.NO_EVIDENCE if Support.NO_EVIDENCE in distinct else Standing.NOT_CHECKED
