"""Measure a language model as a judge: its verdicts on labelled rows beside our scores."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pincite.documents.jsonl import LabelledClaim
from pincite.evaluation.claims import Predictions
from pincite.judgement.fusion import JudgedRow
from pincite.llm.calls import run_concurrently
from pincite.llm.judge import Judge
from pincite.types import Claim, Document, Failed, Opinion, Verdict

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
    found = {
        row.row_id: opinion.verdict
        for row, opinion in zip(rows, replies, strict=True)
        if isinstance(opinion, Opinion)
    }
    failed = Counter(str(each.step) if isinstance(each, Failed) else "stopped" for each in replies
                     if not isinstance(each, Opinion))  # fmt: skip
    return found, failed


def both(predictions: Predictions, verdicts: Mapping[str, Verdict]) -> list[JudgedRow]:
    """Pair our score of each row with the model's verdict; rows without a verdict are omitted."""
    values = next(iter(predictions.systems.values())).values
    return [
        JudgedRow(float(value) if math.isfinite(value) else _NEVER, verdicts[row.row_id],
               row.label == "support")
        for row, value in zip(predictions.rows, values, strict=True)
        if row.row_id in verdicts
    ]  # fmt: skip
