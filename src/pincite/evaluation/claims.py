"""Files of claims with evidence and labels: how well are the supported ones told from the rest?

One JSON object a line: `id, evidence, claim, label`, with label `support`, `refute`, `nei`,
`partial` or `not_support`. Evidence is cut as `verify` cuts a cited source, and its best passage
speaks for it.
"""

import gzip
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pincite.core import aggregation
from pincite.core.passages import cited_passages
from pincite.errors import InputError
from pincite.evaluation import measures
from pincite.protocols import Verifier
from pincite.types import Claim, Document, Evidence, Label, Passage

LABELS = ("support", "refute", "nei", "partial", "not_support")
THREE_WAY = {Label.SUPPORTED: "support", Label.REFUTED: "refute", Label.NOT_SUPPORTED: "nei"}
BATCH_ROWS = 32


@dataclass(frozen=True, slots=True)
class Row:
    """A claim, its evidence as one text, and what people said of them."""

    row_id: str
    claim: str
    evidence: str
    label: str


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file, plain or .gz.

    Raises:
        InputError: names the file, the line and the field that is missing or wrong.
    """
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _row(line, f"{path} line {number}")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def evaluate(
    path: Path,
    verifier: Verifier,
    threshold: float,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """The measures of one file; `progress` hears rows done and rows in all."""
    rows = list(read_rows(path))
    if not rows:
        raise InputError(
            f"{path} has no rows; expected JSON lines with id, evidence, claim, label."
        )
    outcomes: list[Evidence | None] = []
    n_pairs, started = 0, time.perf_counter()
    for start in range(0, len(rows), BATCH_ROWS):
        judged, n_judged = _judged(rows[start : start + BATCH_ROWS], verifier)
        outcomes += judged
        n_pairs += n_judged
        if progress:
            progress(len(outcomes), len(rows))
    seconds = time.perf_counter() - started
    speed = {"pairs": n_pairs, "pairs_per_second": round(n_pairs / seconds, 1)}
    return {"file": path.name, "n": len(rows), **_measured(rows, outcomes, threshold), **speed}


def _judged(rows: Sequence[Row], verifier: Verifier) -> tuple[list[Evidence | None], int]:
    """The best evidence of each row (None for evidence without words), and the pairs it took."""
    cut = [cited_passages(Document(row.row_id, "", row.evidence)) for row in rows]
    pairs: list[tuple[Claim, Passage]] = [
        (Claim(row.row_id, row.claim), passage)
        for row, found in zip(rows, cut, strict=True)
        for passage in found
    ]
    evidence = iter(verifier.verify(pairs))
    return [aggregation.best([next(evidence) for _ in found]) for found in cut], len(pairs)


def _measured(
    rows: Sequence[Row], outcomes: Sequence[Evidence | None], threshold: float
) -> dict[str, Any]:
    supported = np.array([row.label == "support" for row in rows])
    scores = np.array([outcome.prob_supported if outcome else 0.0 for outcome in outcomes])
    strict = np.isin([row.label for row in rows], ["support", "not_support", "refute", "nei"])
    against_not = measures.binary_measures(supported[strict], scores[strict], threshold)
    return {
        **measures.binary_measures(supported, scores, threshold),
        "auroc_interval": measures.auroc_interval(supported, scores),
        "auroc_without_partial": against_not["auroc"],
        "threshold": threshold,
        **_three_way(rows, outcomes, threshold),
        "labels": {label: sum(row.label == label for row in rows) for label in LABELS},
    }


def _three_way(
    rows: Sequence[Row], outcomes: Sequence[Evidence | None], threshold: float
) -> dict[str, Any]:
    """F1 by class where the labels are of the three; None for files that mix others in."""
    labels = [row.label for row in rows]
    if not set(labels) <= set(THREE_WAY.values()) or len(set(labels)) < 2:
        return {"macro_f1": None, "weighted_f1": None, "accuracy": None, "f1": None}
    predicted = [
        THREE_WAY[aggregation.label_of(outcome, threshold)] if outcome else "nei"
        for outcome in outcomes
    ]
    return measures.class_measures(labels, predicted)


def _row(line: str, place: str) -> Row:
    try:
        value = json.loads(line)
        row = Row(str(value["id"]), value["claim"], value["evidence"], value["label"])
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        fields = "id, evidence, claim, label"
        raise InputError(f"{place}: expected a JSON object with {fields}; got {error!r}") from error
    if not isinstance(row.claim, str) or not isinstance(row.evidence, str):
        raise InputError(f"{place}: claim and evidence must be strings.")
    if row.label not in LABELS:
        raise InputError(f"{place}: label is {row.label!r}; expected one of {', '.join(LABELS)}.")
    return row
