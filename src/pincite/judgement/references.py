"""What references say of a sentence, and how it stands by them: Verif.ai's labels (§II-C)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pincite.judgement import aggregation
from pincite.notes import Note, joined
from pincite.text import words
from pincite.text.contrasts import contrasts, other_figures
from pincite.text.sentences import sentences
from pincite.types import Document, Evidence

# Of a (sentence, reference) pair. Higher than `verify`'s threshold: a sentence that was written
# from an abstract is close to it, and one that is not supported misleads; docs/benchmarks.md.
SUPPORTED_FROM = 0.5
CONTRADICTED_FROM = 0.5
# Where a rule sees a contrary word or a negation on one side alone, the network must be surer: of
# 60 negated sentences 47 are then caught instead of 36, and of 1,188 sound ones 61 instead of 43
# are held to lack evidence (tools/planted.py).
SURE_FROM = 0.65


class Retraction(StrEnum):
    """What is known of a paper's standing; a source that says nothing of it is `unknown`."""

    YES = "yes"
    PARTLY = "partly"
    CONCERN = "expression_of_concern"
    CORRECTED = "corrected"
    NO = "no"
    UNKNOWN = "unknown"


def retraction_of(document: Document) -> Retraction:
    """As the document's metadata has it, with blanks or without."""
    known = document.meta.get("retracted", "").replace(" ", "_")
    return Retraction(known) if known in list(Retraction) else Retraction.UNKNOWN


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
    """What a document says of a sentence and, in an answer, which of its references that is."""

    support: Support
    evidence: Evidence | None = None  # the passage that speaks, with the closest sentence as quote
    why_coded: tuple[Note, ...] = ()
    written: str = ""  # the reference as the sentence has it
    number: int | None = None  # of the reference; None: there is no such

    @property
    def why(self) -> str:
        """What a rule saw, or why it was not checked; in English."""
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


def support_of(
    text: str,
    evidence: Sequence[Evidence],
    supported_from: float = SUPPORTED_FROM,
    contradicted_from: float = CONTRADICTED_FROM,
) -> Verdict:
    """What the passages of one document say of a sentence together.

    The best supported passage speaks first; only where it does not reach its threshold the one
    that contradicts most. Rules may hold more against a sentence than the network does.
    """
    best = aggregation.best(evidence)
    if best is None:
        return Verdict(Support.NOT_CHECKED)
    needed = max(supported_from, SURE_FROM) if is_turned(text, best.quoted) else supported_from
    if best.prob_supported >= needed:
        why = other_figures_said(text, best.passage.text)
        return Verdict(Support.CONTRADICTS if why else Support.SUPPORTS, best, why)
    against = aggregation.denying(evidence)
    if against and against.prob_refuted >= contradicted_from:
        return Verdict(Support.CONTRADICTS, against)
    return Verdict(Support.NO_EVIDENCE, best)


def is_turned(text: str, quote: str) -> bool:
    """Whether a rule sees that one says the contrary of the other.

    >>> is_turned("The rate rose in women.", "In women the rate fell."), is_turned("A.", "")
    (True, False)
    """
    if not quote:
        return False
    negated = words.is_negated(text) != words.is_negated(quote)
    return negated or bool(contrasts(text, quote))


def other_figures_said(text: str, passage: str) -> tuple[Note, ...]:
    """What the passage says otherwise, if it says the same with another figure; else empty.

    The verifier is sure of such a sentence where its figure stands elsewhere in the abstract: of
    ten that were planted it found one (tools/planted.py). This rule is `ask`'s alone, since the
    sentences of an answer are close to their sources as those of an article are not.

    >>> found = other_figures_said("It fell by 9%.", "Of 90 women, 9% left. It fell by 4%.")
    >>> print(*found)
    the sentence says “9%”, the reference “4%”
    """
    said = other_figures(text, [span.of(passage) for span in sentences(passage)])
    return tuple(
        Note("other_figure", {"sentence": mine, "reference": other}) for mine, other in said
    )


def standing(said: Iterable[Support]) -> Standing:
    """What the references of a sentence say together.

    A reference that does not exist makes nothing better: beside one that supports, the sentence is
    supported and the note stays; alone, the sentence is fabricated.

    >>> [str(standing([each])) for each in Support]  # doctest: +NORMALIZE_WHITESPACE
    ['supported', 'verbatim', 'contradicted', 'no_evidence', 'fabricated', 'not_checked']
    """
    found = set(said)
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
    return Standing.NO_EVIDENCE if Support.NO_EVIDENCE in found else Standing.NOT_CHECKED
