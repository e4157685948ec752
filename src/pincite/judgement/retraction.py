"""What metadata, title or text of a source say of its retraction."""

import re
from dataclasses import replace
from enum import StrEnum
from typing import TypeVar

from pincite.notes import Note
from pincite.text import patterns
from pincite.types import Document, Evidence, Unchecked

Outcome = TypeVar("Outcome", bound=Evidence | Unchecked)


class Retraction(StrEnum):
    """What is known of a paper's standing; a source that says nothing of it is `unknown`."""

    YES = "yes"
    PARTLY = "partly"
    CONCERN = "expression_of_concern"
    CORRECTED = "corrected"
    NO = "no"
    UNKNOWN = "unknown"


_P = patterns(__file__, "retraction", re.IGNORECASE)
BEGINNING = 1_500  # characters in which a page may say that it is retracted


def retraction_of(document: Document) -> Retraction:
    """Return what metadata, title or beginning say; the gravest counts."""
    known = document.meta.get("retracted", "").replace(" ", "_")
    stated = Retraction(known) if known in list(Retraction) else Retraction.UNKNOWN
    title, text = document.title.strip(), document.text[:BEGINNING]
    if is_retracted_title(title) or _P["page"].search(text):
        return Retraction.YES
    if stated in (Retraction.YES, Retraction.PARTLY, Retraction.CONCERN):
        return stated
    if _P["partly_title"].match(title):
        return Retraction.PARTLY
    concerned = _P["concern_title"].match(title) or _P["concern_page"].search(text)
    return Retraction.CONCERN if concerned else stated


def is_retracted_title(title: str) -> bool:
    """Whether a title marks a retracted work or a retraction notice."""
    return _P["title"].match(title) is not None


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
