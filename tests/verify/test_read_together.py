"""Claims that rest on two sentences of a page which stand far apart, with the shipped network.

`held_back.jsonl` was written before the first run and is looked at last; nothing is chosen by it.
"""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from pincite.judgement import decide
from pincite.models import weights
from pincite.models.verifier import CrossEncoderVerifier
from pincite.retrieval import cascade
from pincite.text.passages import cited_passages
from pincite.types import Claim, Document, Evidence, Label

CASES = Path(__file__).parents[1] / "cases/read_together"
BETWEEN = (CASES / "between.txt").read_text(encoding="utf-8")


class Case(NamedTuple):
    first: str
    second: str
    claim: str


def cases(name: str) -> list[Case]:
    lines = (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [Case(**json.loads(line)) for line in lines]


@pytest.fixture(scope="module")
def verifier() -> CrossEncoderVerifier:
    return CrossEncoderVerifier(weights.locate(weights.VERIFIER))


def best(verifier: CrossEncoderVerifier, claim: str, text: str) -> Evidence:
    passages = cascade.with_covering(claim, cited_passages(Document("d", "", text)))
    page = cascade.Page(Claim("", claim), passages)
    (found,) = cascade.read_pages([page], verifier.verify, decide.is_open)
    decided = decide.deciding_evidence(found)
    assert decided is not None
    return decided


def counts(verifier: CrossEncoderVerifier, of: list[Case]) -> tuple[int, int, int]:
    """How many are supported by both sentences, by them read together, and by the first alone."""
    both = together = alone = 0
    for first, second, claim in of:
        found = best(verifier, claim, f"{first} {BETWEEN}{BETWEEN}{second} {BETWEEN}")
        supported = decide.label_of(found) is Label.SUPPORTED
        both += supported
        together += supported and first in found.passage.text and second in found.passage.text
        less = best(verifier, claim, f"{first} {BETWEEN}{BETWEEN}{BETWEEN}")
        alone += decide.label_of(less) is Label.SUPPORTED
    return both, together, alone


@pytest.mark.parametrize("name", ["open", "held_back"])
def test_two_sentences_far_apart_support_a_claim_together(
    verifier: CrossEncoderVerifier, name: str
) -> None:
    both, together, alone = counts(verifier, cases(name))
    assert (both, together) == (6, 6)
    assert alone < both
