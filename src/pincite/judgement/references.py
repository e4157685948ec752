"""What references say about a sentence, and its resulting standing: Verif.ai's labels (§II-C)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, TypeVar

from pincite.judgement import decide
from pincite.notes import Note, texts
from pincite.text import alternatives, words
from pincite.text.antonyms import contrasts, other_figures
from pincite.text.languages import common
from pincite.types import Doc, Document, Evidence, Label, Unchecked, Witness, WitnessKind
from pincite.types import written as in_json

# For a (sentence, reference) pair. Higher than `verify`'s threshold: a sentence written from an
# abstract is close to it, and an unsupported one misleads; research/check-and-ask.md.
SUPPORTED_FROM = 0.5
# Where a rule sees an antonym or a negation on one side only, the network must be surer. Then 46 of
# 60 negated sentences are caught instead of 42, and 39 of 1,203 sound ones instead of 36 are held
# to lack evidence (tools/planted.py).
SURE_FROM = 0.65


Outcome = TypeVar("Outcome", bound=Evidence | Unchecked)


class Retraction(StrEnum):
    """What is known of a paper's standing; a source that says nothing of it is `unknown`."""

    YES = "yes"
    PARTLY = "partly"
    CONCERN = "expression_of_concern"
    CORRECTED = "corrected"
    NO = "no"
    UNKNOWN = "unknown"


_RETRACTED_TITLE, _CONCERN_TITLE = (
    re.compile(alternatives("retraction", name), re.IGNORECASE)
    for name in ("title", "concern_title")
)
_PARTLY_TITLE = re.compile(r"\W*partial(?:ly)? retract(?:ed|ion)\b", re.IGNORECASE)
_THIS = alternatives("retraction", "this")
_RETRACTED_PAGE, _CONCERN_PAGE = (
    re.compile(
        rf"^\W*(?:{alternatives('retraction', name).replace('THIS', _THIS)})",
        re.IGNORECASE | re.MULTILINE,
    )
    for name in ("page", "concern_page")
)
BEGINNING = 1_500  # characters in which a page may say that it is retracted


def retraction_of(document: Document) -> Retraction:
    """Return what metadata, title or beginning say; the gravest counts."""
    known = document.meta.get("retracted", "").replace(" ", "_")
    stated = Retraction(known) if known in list(Retraction) else Retraction.UNKNOWN
    title, text = document.title.strip(), document.text[:BEGINNING]
    if is_retracted_title(title) or _RETRACTED_PAGE.search(text):
        return Retraction.YES
    if stated in (Retraction.YES, Retraction.PARTLY, Retraction.CONCERN):
        return stated
    if _PARTLY_TITLE.match(title):
        return Retraction.PARTLY
    concerned = _CONCERN_TITLE.match(title) or _CONCERN_PAGE.search(text)
    return Retraction.CONCERN if concerned else stated


def is_retracted_title(title: str) -> bool:
    """Whether a title marks a retracted work or a retraction notice."""
    return _RETRACTED_TITLE.match(title) is not None


def with_retraction(outcome: Outcome, source: Document | Unchecked | None) -> Outcome:
    """Add a note to the evidence if its source was retracted."""
    if not (isinstance(outcome, Evidence) and isinstance(source, Document)):
        return outcome
    code = _RETRACTION_NOTES.get(retraction_of(source))
    return replace(outcome, notes=(*outcome.notes, Note(code))) if code else outcome


_RETRACTION_NOTES = {
    Retraction.YES: "source_retracted",
    Retraction.PARTLY: "source_retracted_partly",
    Retraction.CONCERN: "source_of_concern",
}


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
    text: str, evidence: Sequence[Evidence], threshold: float = SUPPORTED_FROM
) -> ReferenceVerdict:
    """Decide on a sentence and one document as `verify` does on a claim and a source."""
    seen = [with_other_figures(text, each) for each in evidence]
    if (best := decide.best(seen)) is None:
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
    seen = other_figures(text, [span.of(passage.text) for span in spans])
    if not seen:
        return evidence
    witnesses = (Witness(kind, mine, other) for mine, other in seen)
    return decide.weighed(replace(evidence, witnesses=(*evidence.witnesses, *witnesses)))


def standing(supports: Iterable[Support]) -> Standing:
    """Combine what the references of a sentence say; nonexistent ones count only if alone."""
    found = set(supports)
    if not found:
        return Standing.UNCITED
    if found == {Support.NO_SUCH_REFERENCE}:
        return Standing.FABRICATED
    if Support.VERBATIM in found:
        return Standing.VERBATIM
    if Support.SUPPORTS in found:
        return Standing.MIXED if Support.CONTRADICTS in found else Standing.SUPPORTED
    if Support.CONTRADICTS in found:
        return Standing.CONTRADICTED
    if Support.PARTLY in found:
        return Standing.PARTLY_SUPPORTED
    return Standing.NO_EVIDENCE if Support.NO_EVIDENCE in found else Standing.NOT_CHECKED
