"""Measure a language model as a judge: alone, and combined with our score.

As in `verify --judge`, the model gets the rows that we are least sure of first. So the measures at
a share of the rows show what that share of calls gains.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pincite.documents.jsonl import LabelledClaim
from pincite.errors import InputError
from pincite.evaluation import measures
from pincite.evaluation.claims import Predictions, Scores
from pincite.evaluation.measures import Doubles, Flags
from pincite.judgement import aggregation, fusion
from pincite.judgement.fusion import Judged
from pincite.llm.calls import all_at_once
from pincite.llm.judge import Judge
from pincite.types import Claim, Document, Failed, Opinion, Verdict

SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)  # of the rows that the model judges
# Verdicts as numbers, to rank rows by them alone.
_ORDER = {
    Verdict.SUPPORTED: 2.0,
    Verdict.PARTLY_SUPPORTED: 1.0,
    Verdict.UNUSABLE: 0.5,
    Verdict.NOT_SUPPORTED: 0.0,
    Verdict.CONTRADICTED: -0.5,
}
_NEVER = -30.0  # our log-odds of evidence without words
Verdicts = Mapping[str, Verdict]  # by the id of a row


def asked(
    judge: Judge,
    rows: Sequence[LabelledClaim],
    at_once: int,
    tell: Callable[[int, int], None] | None = None,
) -> tuple[dict[str, Verdict], Counter[str]]:
    def ask(row: LabelledClaim) -> Opinion | Failed:
        return judge.opinion(Claim(row.row_id, row.claim), [Document("", "", row.evidence)])

    said = all_at_once([partial(ask, row) for row in rows], at_once, judge.calls, tell)
    found = {
        row.row_id: opinion.verdict
        for row, opinion in zip(rows, said, strict=True)
        if isinstance(opinion, Opinion)
    }
    failed = Counter(str(each.step) if isinstance(each, Failed) else "stopped" for each in said
                     if not isinstance(each, Opinion))  # fmt: skip
    return found, failed


def read_verdicts(path: Path) -> dict[str, Verdict]:
    """Read recorded verdicts: JSON lines with `id` and `verdict`.

    Raises:
        InputError: A line is invalid; the message names it and the error.
    """
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    numbered = ((n, line) for n, line in enumerate(lines, 1) if line.strip())
    return dict(_verdict(line, f"{path}, line {number}") for number, line in numbered)


def _verdict(line: str, place: str) -> tuple[str, Verdict]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} is no JSON: {error}.") from error
    given = value if isinstance(value, dict) else {}
    row_id, verdict = given.get("id"), given.get("verdict")
    if not isinstance(row_id, str) or verdict not in list(Verdict):
        raise InputError(
            f"{place}: id is {row_id!r}, verdict {verdict!r}; expected a row's id and one of "
            f"{', '.join(Verdict)}."
        )
    return row_id, Verdict(verdict)


def both(predictions: Predictions, verdicts: Verdicts) -> list[Judged]:
    values = _own(predictions)
    return [
        Judged(float(value), verdicts[row.row_id], row.label == "support")
        for row, value in zip(predictions.rows, values, strict=True)
        if row.row_id in verdicts
    ]


def measured(
    predictions: Predictions,
    verdicts: Verdicts,
    log_ratios: Mapping[Verdict, float],
    threshold: float,
) -> dict[str, Any]:
    """Return figures of our score, the model and both; the latter also by share of rows asked.

    "fitted" is what `pincite calibrate judge` would make of this file, cross-validated: each half
    is measured with the values fitted on the other.
    """
    own, supported = _own(predictions), np.array([r.label == "support" for r in predictions.rows])
    said = [verdicts.get(row.row_id) for row in predictions.rows]
    known = np.array([verdict is not None for verdict in said])
    alone = np.array([0.5 if verdict is None else _ORDER[verdict] for verdict in said])
    labels = [row.label for row in predictions.rows]
    added = np.array([0.0 if verdict is None else log_ratios[verdict] for verdict in said])
    fitted = own.copy()
    fitted[known] = fusion.crosswise(both(predictions, verdicts))
    theirs = alone >= _ORDER[Verdict.SUPPORTED]
    cut = aggregation.log_odds(threshold)
    doubt = np.argsort(np.abs(own - cut), kind="stable")
    return {
        "n": len(labels),
        "asked": int(known.sum()),
        "verdicts": dict(Counter(str(verdict) for verdict in said if verdict)),
        "own": _figures(supported, own, own >= cut, labels),
        "model": _figures(supported, alone, theirs, labels),
        "both": {
            f"{share:g}": _figures(supported, value, value >= cut, labels)
            for share in SHARES
            for value in [own + np.where(_first(doubt, share), added, 0.0)]
        },
        "fitted": _figures(supported, fitted, fitted >= cut, labels),
        "disagreement": round(float(((own >= cut) != theirs)[known].mean()), 4) if known.any()
        else None,
    }  # fmt: skip


def _own(predictions: Predictions) -> Doubles:
    scores = next(iter(predictions.systems.values()))
    assert isinstance(scores, Scores)
    return np.where(np.isfinite(scores.values), scores.values, _NEVER)


def _first(order: Any, share: float) -> Flags:
    chosen = np.zeros(len(order), dtype=bool)
    chosen[order[: math.ceil(share * len(order))]] = True
    return chosen


def _figures(
    supported: Flags, values: Doubles, decided: Flags, labels: Sequence[str]
) -> dict[str, Any]:
    flagged = {
        label: round(float((~decided)[[each == label for each in labels]].mean()), 4)
        for label in sorted(set(labels))
    }
    return {
        "auroc": measures.binary_measures(supported, values)["auroc"],
        "auroc_interval": measures.auroc_interval(supported, values),
        "accuracy": round(float((decided == supported).mean()), 4),
        "flagged": flagged,
    }
