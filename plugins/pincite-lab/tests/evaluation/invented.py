"""Invented rows, and a verifier that needs no weights."""

from collections.abc import Sequence
from typing import Any

from pincite.documents.jsonl import LabelledClaim
from pincite.text import figures, words
from pincite.types import Claim, Evidence, Passage
from pincite_lab.evaluation.claims import CutRow, cut


class WordVerifier:
    """Support is the share of the claim's words and figures that the passage holds."""

    fingerprint = "words"

    def __init__(self) -> None:
        self.n_pairs = 0

    def verify(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Evidence]:
        self.n_pairs += len(pairs)
        return [_evidence(claim.text, passage) for claim, passage in pairs]


def _evidence(claim: str, passage: Passage) -> Evidence:
    share = 1 - words.missing_words(claim, passage.text)
    lacks = bool(figures.missing(claim, passage.text))
    if lacks:
        share /= 2
    supported = 0.05 + (0.8 if lacks else 0.9) * share
    refuted = (1 - supported) * (0.95 if lacks else 0.2)
    return Evidence(passage, supported, refuted, 1 - supported - refuted, 4 * share - 2)


BRIDGE = "The old stone bridge of Varde opened in 1911. It has three arches and cost 40 crowns."
FILLER = "A baker sold warm bread on the market square every single morning of that week. " * 30


def cut_row(claim: str, evidence: str = BRIDGE, label: str = "support", **meta: Any) -> CutRow:
    return cut(LabelledClaim("r0", claim, evidence, label, meta))
