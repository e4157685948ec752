"""Citations that people tagged {{failed verification}} against those of featured articles.

SIDE's figure 2c: all of them are ranked by a score of the citation, and those that fail should
have the lowest. Figure 7: how deep the cited addresses are. A collection that says for each claim
whether its page supports it, as WiCE's does, is measured in the same way by these labels.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pincite.documents.lines.labelled import LabelledClaim
from pincite.evaluation import claims, measures
from pincite.evaluation.baselines import UrlDepth, url_depth
from pincite.evaluation.claims import FAILS, Predictions
from pincite.evaluation.scorers import ByVerifier, CutRow, Scorer, Scores, cut, document_level
from pincite.protocols import Verifier
from pincite.types import Document
from pincite.wiki.wafer import WaferRecord, claim_of

GROUPS = ("featured", "others", "failed")
RECALL = 0.15  # SIDE reports the precision there
_LABELS = {"supported": "support", "partially_supported": "partial", "not_supported": "not_support"}

Pages = Callable[[Sequence[str]], Sequence[Document | None]]
Heard = Callable[[str, int, int], None]


def group_of(record: WaferRecord) -> str:
    """Which of GROUPS the record belongs to."""
    if record.failed:
        return "failed"
    return "featured" if record.featured else "others"


def contrasted(records: Sequence[WaferRecord]) -> tuple[str, list[tuple[WaferRecord, str]]]:
    """What those that fail are told from, and the records that are compared with their labels.

    Featured articles, as SIDE does it; in a collection without them what people labelled, or else
    all that was not tagged. Empty where nothing fails, or nothing else is left.
    """
    labelled = [(r, "not_support" if r.failed else _LABELS.get(r.label or "", "")) for r in records]
    ways = {
        "featured": [(r, label if r.failed else "support") for r, label in labelled
                     if r.failed or r.featured],
        "labelled": [(r, label) for r, label in labelled if label],
        "others": [(r, label if r.failed else "support") for r, label in labelled],
    }  # fmt: skip
    for name, rows in ways.items():
        if {"support", "not_support"} <= {label for _, label in rows}:
            return name, rows
    return "", []


def measured(
    records: Sequence[WaferRecord],
    pages: Pages | None,
    verifier: Verifier | None,
    threshold: float,
    heard: Heard,
) -> dict[str, Any] | None:
    """Figure 2c: AUROC, average precision and the curve of each system; None without a contrast.

    Args:
        records: of a split and of its failed part.
        pages: the stored pages at addresses; None: only the addresses are looked at.
        verifier: reads them; None likewise.
        threshold: the probability that counts as supported.
        heard: progress of each system.
    """
    against, labelled = contrasted(records)
    rows = [_row(record, label, pages) for record, label in labelled]
    systems: list[Scorer] = [UrlDepth()]
    if verifier and pages:
        systems = [ByVerifier(verifier), *systems, document_level(verifier)]
        rows = [row for row in rows if row.row.evidence]
    if not {"support", "not_support"} <= {row.row.label for row in rows}:
        return None
    found = claims.predicted("failed verification", rows, systems, heard)
    curves = claims.curves(found)
    return {
        "against": against,
        "labels": dict(Counter(row.row.label for row in rows)),
        "n_without_page": len(labelled) - len(rows),
        "systems": {one.name: _of_system(found, one.name, curves) for one in systems},
        "curves": curves,
    }


def _of_system(
    found: Predictions, name: str, curves: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """How well the system's low values find what fails; partly supported rows do not fail."""
    scores = found.systems[name]
    assert isinstance(scores, Scores)
    known = ~np.isnan(scores.values)
    fails = np.isin([row.label for row in found.rows], FAILS)[known]
    doubts = -claims.finite(scores.values[known])
    points: Sequence[Mapping[str, float]] = next(iter(curves.values())).get(name, ())
    reached = (point["precision"] for point in points if point["recall"] >= RECALL)
    found_by = measures.binary_measures(fails, doubts)
    return {
        "n": int(known.sum()),
        "n_failed": int(fails.sum()),
        "auroc": found_by["auroc"],
        "auroc_interval": measures.auroc_interval(fails, doubts),
        "average_precision": found_by["average_precision"],
        "precision_at_recall": next(reached, None),
    }


def depths(records: Sequence[WaferRecord]) -> dict[str, Any]:
    """Figure 7: by group the number of addresses with so many path elements, and their mean."""
    found: dict[str, Counter[int]] = {group: Counter() for group in GROUPS}
    for record in records:
        values = map(url_depth, record.urls)
        found[group_of(record)].update(int(value) for value in values if value == value)
    return {
        group: {
            "n": counts.total(),
            "mean": round(sum(d * n for d, n in counts.items()) / counts.total(), 3),
            "depths": {str(depth): counts[depth] for depth in sorted(counts)},
        }
        for group, counts in found.items()
        if counts
    }


def _row(record: WaferRecord, label: str, pages: Pages | None) -> CutRow:
    """The record as a claim with its pages' text: as stored, or as the record itself has it."""
    stored = pages(record.urls) if pages else ()
    texts = [page.text for page in stored if page] or [
        p.text for output in record.outputs for p in output.provenance if p.text
    ]
    meta = {"urls": list(record.urls)}
    claim = claim_of(record).text
    return cut(LabelledClaim(record.id, claim, "\n\n".join(texts), label, meta))
