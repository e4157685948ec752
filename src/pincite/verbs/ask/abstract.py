"""What `studies` reads from an abstract; apart from it, because that compiles many patterns."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pincite.types import Doc, Span

# Characters of a text that is read as a whole; for a longer one, passages are chosen. The longest
# abstracts in PubMed, in two languages, have about this many.
WHOLE = 6_000
Field = Literal["text", "title", "publication_type"]


@dataclass(frozen=True, slots=True)
class Stated:
    """Words of a paper, as written there."""

    text: str
    span: Annotated[Span, Doc("in the paper's text, or in its title or publication types")]
    within: Annotated[Span, Doc("of the sentence around it")]
    of: Field = "text"


@dataclass(frozen=True, slots=True)
class Study:
    """A study as its abstract describes it; None or empty where it does not say."""

    design: Stated | None = None
    population: Stated | None = None
    patients: Annotated[Stated | None, Doc("how many were studied")] = None
    effects: Annotated[tuple[Stated, ...], Doc("ratios and differences, with CI and p")] = ()
