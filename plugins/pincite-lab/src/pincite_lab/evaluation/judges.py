"""Measure a language model as a judge: its verdicts on labelled rows beside our scores."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

import numpy as np

from pincite.documents.jsonl import LabelledClaim
from pincite.judgement import decide
from pincite.llm.calls import run_concurrently
from pincite.llm.judge import Judge, JudgedRow, Measured
from pincite.types import Claim, Document, Failed, Opinion, Verdict
from pincite_lab.evaluation.claims import Predictions

_NEVER = -30.0  # our log-odds of evidence without words


def collect_verdicts(
    judge: Judge,
    rows: Sequence[LabelledClaim],
    at_once: int,
    tell: Callable[[int, int], None] | None = None,
) -> tuple[dict[str, Verdict], Counter[str]]:
    def ask(row: LabelledClaim) -> Opinion | Failed:
        return judge.opinion(Claim(row.row_id, row.claim), [Document("", "", row.evidence)])

    replies = run_concurrently([partial(ask, row) for row in rows], at_once, judge.calls, tell)
    verdicts = {
        row.row_id: opinion.verdict
        for row, opinion in zip(rows, replies, strict=True)
        if isinstance(opinion, Opinion)
    }
    failed = Counter(str(r.step) if isinstance(r, Failed) else "stopped" for r in replies
                     if not isinstance(r, Opinion))  # fmt: skip
    return verdicts, failed


def both(predictions: Predictions, verdicts: Mapping[str, Verdict]) -> list[JudgedRow]:
    """Pair our score of each row with the model's verdict; rows without a verdict are omitted."""
    values = next(iter(predictions.systems.values())).values
    return [
        JudgedRow(float(value) if math.isfinite(value) else _NEVER, verdicts[row.row_id],
               row.label == "support")
        for row, value in zip(predictions.rows, values, strict=True)
        if row.row_id in verdicts
    ]  # fmt: skip


def measure(rows: Sequence[JudgedRow], threshold: float, files: tuple[str, ...]) -> Measured:
    """Return how often we, the model, and both together are right on labelled rows.

    Together, a claim is supported if both say so. `rows`: at least one.
    """
    counted = Counter((row.verdict, row.supported) for row in rows)
    truth = np.array([row.supported for row in rows])
    ours = np.array([row.log_odds for row in rows]) >= decide.log_odds(threshold)
    model = np.array([row.verdict is Verdict.SUPPORTED for row in rows])
    both = ours & model
    disputed = truth[model & ~ours]
    of_ours, of_model, of_both = (float((said == truth).mean()) for said in (ours, model, both))
    rates = None
    if truth.any() and not truth.all():
        rates = float((~both)[~truth].mean()), float((~both)[truth].mean())
    return Measured(
        rows=len(rows),
        measured=datetime.now(UTC).date().isoformat(),
        files=files,
        counts={verdict: (counted[verdict, True], counted[verdict, False]) for verdict in Verdict},
        right=(of_ours, of_model, of_both),
        confirmed=(int(disputed.sum()), len(disputed)),
        threshold=threshold,
        rates=rates,
    )
