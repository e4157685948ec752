"""What is measured alike: anything that says, for each row, how well its claim is supported.

Pincite's verifier and the baselines stand in the same table because they see the same thing, a
claim with the passages of its evidence, and give the same thing, one number a row. Three values
stay apart: a number; −∞ for evidence without words; NaN where a system can say nothing of a row
(no address to count the path of), which leaves the row out for that system alone.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pincite.documents.lines.labelled import LabelledClaim
from pincite.evaluation.measures import Doubles
from pincite.judgement import aggregation
from pincite.protocols import Verifier
from pincite.retrieval import cascade
from pincite.text.passages import cited_passages, passages
from pincite.types import Claim, Document, Evidence, Passage

BATCH_ROWS = 32
FIRST = 3  # SIDE's document-level scorer sees only the first two or three passages

Heard = Callable[[int], None]  # rows done


@dataclass(frozen=True, slots=True)
class CutRow:
    """A row with its evidence cut as `verify` cuts a cited source."""

    row: LabelledClaim
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Scores:
    """One number a row, and from a verifier the evidence that spoke for it and its speed."""

    values: Doubles  # (n_rows,): bigger is better supported; −∞, NaN: see above
    evidence: tuple[Evidence | None, ...] | None = None  # None in it: evidence without words
    denying: tuple[Evidence | None, ...] | None = None  # the passage that contradicts most
    n_pairs: int = 0
    seconds: float = 0.0


class Scorer(Protocol):
    """One row in the table of systems."""

    @property
    def name(self) -> str: ...  # noqa: D102

    def score(self, rows: Sequence[CutRow], heard: Heard) -> Scores:
        """A value for each row, in order; `heard` is told how many rows are done."""
        ...


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A system that cannot be measured on this machine, and what to do about it."""

    name: str
    why: str


def cut(row: LabelledClaim) -> CutRow:
    """The row with the passages that `verify` would read."""
    found = cited_passages(Document(row.row_id, "", row.evidence))
    return CutRow(row, tuple(cascade.worth_reading(row.claim, found)))


def first_passages(row: CutRow) -> Sequence[Passage]:
    """The first three 100-word passages of the evidence."""
    return passages(Document(row.row.row_id, "", row.row.evidence))[:FIRST]


def all_passages(row: CutRow) -> Sequence[Passage]:
    """Everything that `verify` would read."""
    return row.passages


def batches(rows: Sequence[CutRow], heard: Heard) -> Iterator[Sequence[CutRow]]:
    """The rows in order, a few at a time; `heard` is told when a batch is done."""
    for start in range(0, len(rows), BATCH_ROWS):
        batch = rows[start : start + BATCH_ROWS]
        yield batch
        heard(start + len(batch))


@dataclass(frozen=True, slots=True)
class ByVerifier:
    """A verifier: the log-odds of support of the best passage (SIDE §2.2: the maximum)."""

    verifier: Verifier
    name: str = "pincite"
    shown: Callable[[CutRow], Sequence[Passage]] = all_passages

    def score(self, rows: Sequence[CutRow], heard: Heard) -> Scores:
        """Log-odds of support; keeps the evidence, whose probabilities are measured too."""
        best: list[Evidence | None] = []
        denying: list[Evidence | None] = []
        n_pairs, started = 0, time.perf_counter()
        for batch in batches(rows, heard):
            found = [self.shown(row) for row in batch]
            judged = all_evidence(
                self.verifier, [(row.row.claim, p) for row, p in zip(batch, found, strict=True)]
            )
            best += map(aggregation.best, judged)
            denying += map(aggregation.denying, judged)
            n_pairs += sum(map(len, found))
        values = np.array([-np.inf if one is None else one.score for one in best])
        seconds = time.perf_counter() - started
        return Scores(values, tuple(best), tuple(denying), n_pairs, seconds)


def document_level(verifier: Verifier) -> ByVerifier:
    """Document-level reading, as SIDE's baseline does it: only the first passages are seen.

    Source: Petroni et al. 2023, the document-level scorer beside which SIDE's passage-level one is
    put; ours reads each of the first three by itself with Pincite's own verifier.
    """
    return ByVerifier(verifier, f"first {FIRST} passages", first_passages)


def all_evidence(
    verifier: Verifier, claims: Sequence[tuple[str, Sequence[Passage]]]
) -> list[list[Evidence]]:
    """For each claim the evidence of each of its passages."""
    pairs = [(Claim("", claim), passage) for claim, of_claim in claims for passage in of_claim]
    evidence = iter(verifier.verify(pairs))
    return [[next(evidence) for _ in of_claim] for _, of_claim in claims]
