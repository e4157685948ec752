"""Labelled statements: how well does `check` do on the user's knowledge base?

A file has one JSON object per line: `statement`, `label`, and optionally `type` (descriptive,
ascriptive, normative) and `date` (use evidence known by then). Labels are the sign of a result;
names of levels stand for their sign. One reading represents a statement: the first judged one, of
the labelled type if there is one.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import eq
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from pincite.documents import jsonl
from pincite.documents.body import DEFAULT_LIMITS
from pincite.errors import InputError, usable
from pincite.judgement import confirmation
from pincite.judgement.confirmation import Outcome, StatementType
from pincite.types import Unchecked
from pincite.verbs.check.report import Check
from pincite_lab.evaluation import measures

CONFIRMED, DISCONFIRMED, INCONCLUSIVE = "confirmed", "disconfirmed", "inconclusive"
NOT_JUDGED, FAILED = "not_judged", "failed"
LABELS = (CONFIRMED, DISCONFIRMED, INCONCLUSIVE, NOT_JUDGED)
_FIELDS = {"statement", "label", "type", "date"}
_DATE = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")


@dataclass(frozen=True, slots=True)
class LabelledStatement:
    """A statement and its owner's label."""

    statement: str
    label: str  # one of LABELS
    kind: StatementType | None = None
    date: str = ""  # use only evidence published by then; empty: use all


@dataclass(frozen=True, slots=True)
class Prediction:
    """What `check` returned for the representative reading; `doc` is None without evidence."""

    outcome: Outcome
    doc: float | None


def label_of(outcome: Outcome) -> str:
    """Convert a result to a label.

    "Nothing found" and "balanced evidence" both become inconclusive; `measured` counts them
    separately.
    """
    if outcome in (Outcome.NOT_JUDGED, Outcome.FAILED):
        return str(outcome)
    rank = confirmation.rank(outcome) or 0
    return (INCONCLUSIVE, CONFIRMED, DISCONFIRMED)[(rank > 0) - (rank < 0)]


def read_statements(path: Path) -> list[LabelledStatement]:
    """Read the rows of a file in order.

    Raises:
        InputError: There are no rows, or one is invalid; the message names file, line and error.
    """
    rows = [_row(record, place) for place, record in read_records(path)]
    if not rows:
        raise InputError(f"{path} has no rows; expected JSON lines with statement and label.")
    return rows


def prediction(
    check: Check, row: LabelledStatement, threshold: float = confirmation.THRESHOLD
) -> Prediction:
    """Choose the representative reading (see above); readings that were not judged come last.

    With a date, only evidence published by then is weighed; texts without a date are left out.
    """
    of_kind = [r for r in check.results if r.reading.kind == row.kind] or list(check.results)
    judged = [r for r in of_kind if r.weight.outcome is not Outcome.NOT_JUDGED]
    if not of_kind:  # no reading was found
        return Prediction(Outcome.FAILED, None)
    if not judged:
        return Prediction(Outcome.NOT_JUDGED, None)
    weight = judged[0].weight
    if row.date:
        known = confirmation.as_of(judged[0].items, row.date)
        text = judged[0].reading.text
        weight = confirmation.combine(known, threshold, reading=text)
    return Prediction(weight.outcome, weight.doc)


def measured(
    rows: Sequence[LabelledStatement], predictions: Sequence[Prediction]
) -> dict[str, Any]:
    """Return accuracy, macro-F1, sign, calibration and confusion, of all statements and by type."""
    kinds = sorted({str(row.kind) for row in rows if row.kind})
    pairs = list(zip(rows, predictions, strict=True))
    of_kind = {kind: [pair for pair in pairs if pair[0].kind == kind] for kind in kinds}
    return {
        **_measures(pairs),
        "by_type": {kind: _measures(chosen) for kind, chosen in of_kind.items()},
    }


def lines(
    rows: Sequence[LabelledStatement], predictions: Sequence[Prediction]
) -> list[dict[str, Any]]:
    return [
        {
            "statement": row.statement,
            "type": str(row.kind) if row.kind else None,
            "label": row.label,
            "predicted": label_of(guess.outcome),
            "outcome": str(guess.outcome),
            "doc": guess.doc,
        }
        for row, guess in zip(rows, predictions, strict=True)
    ]


def _measures(pairs: Sequence[tuple[LabelledStatement, Prediction]]) -> dict[str, Any]:
    labels = [row.label for row, _ in pairs]
    found = [label_of(guess.outcome) for _, guess in pairs]
    outcomes = Counter(str(guess.outcome) for _, guess in pairs)
    columns = [name for name in (*LABELS, FAILED) if name in {*labels, *found}]
    counts = Counter(zip(labels, found, strict=True))
    return {
        "n": len(pairs),
        "labels": dict(sorted(Counter(labels).items())),
        "outcomes": dict(sorted(outcomes.items())),
        **measures.class_measures(labels, found),
        # A bootstrap of all-correct rows has zero width; Wilson's interval does not.
        "accuracy_interval": measures.wilson(sum(map(eq, labels, found)), len(pairs)),
        "confusion": {
            label: {column: counts[label, column] for column in columns}
            for label in LABELS
            if label in labels
        },
        **_calibration(pairs),
    }


def _calibration(pairs: Sequence[tuple[LabelledStatement, Prediction]]) -> dict[str, Any]:
    """Calibration of DOC on confirmed or disconfirmed statements that have evidence.

    (DOC + 1) / 2 is read as the probability that the statement is confirmed. None if there are no
    such statements.
    """
    decided = [
        (row.label == CONFIRMED, guess.doc)
        for row, guess in pairs
        if row.label in (CONFIRMED, DISCONFIRMED) and guess.doc is not None
    ]
    if not decided:
        return {"n_decided": 0, "sign_accuracy": None, "ece": None, "reliability": []}
    confirmed = np.array([label for label, _ in decided])
    degrees = np.array([doc for _, doc in decided])
    probabilities = (degrees + 1) / 2
    return {
        "n_decided": len(decided),
        "sign_accuracy": round(float(((degrees > 0) == confirmed).mean()), 4),
        "ece": measures.calibration_error(confirmed, probabilities),
        "reliability": measures.reliability(confirmed, probabilities),
    }


def _row(value: dict[str, Any], place: str) -> LabelledStatement:
    if not all(isinstance(v, str) for v in value.values()):
        raise InputError(f"{place}: expected an object with texts: statement, label, type, date.")
    if unknown := sorted(value.keys() - _FIELDS):
        raise InputError(f"{place}: unknown field {unknown[0]!r}; known: statement, label, …")
    statement = " ".join(value.get("statement", "").split())
    if not statement:
        raise InputError(f"{place}: the statement is missing.")
    label, kind, date = (value.get(name, "") for name in ("label", "type", "date"))
    label = label_of(Outcome(label)) if label in list(Outcome) else label
    if label not in LABELS:  # `failed` is not a label
        raise InputError(f"{place}: label is {label!r}; expected one of {', '.join(LABELS)}.")
    if kind and kind not in list(StatementType):
        raise InputError(f"{place}: type is {kind!r}; expected one of {', '.join(StatementType)}.")
    if date and not _DATE.fullmatch(date):
        raise InputError(f"{place}: date is {date!r}; expected one like 2019-05-14, 2019-05, 2019.")
    return LabelledStatement(statement, label, StatementType(kind) if kind else None, date)


# ── Files ────────────────────────────────────────────────────────────────────────────────────────


def find_file(folder: Path, name: str, collection: str) -> Path:
    """Find a file of a `collection`, described for the error; raises InputError."""
    if path := jsonl.find(folder, name):
        return path
    raise InputError(f"{folder} has no {name}.jsonl or {name}.jsonl.gz; expected {collection}.")


def read_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the JSON object of each line; raises InputError for any other line."""
    with usable(path):
        for line in jsonl.lines(path):
            record = jsonl.record_of(line, path, DEFAULT_LIMITS)
            if isinstance(record, Unchecked):
                raise InputError(f"{path.parent / record.detail}.")
            yield str(path.parent / jsonl.place(line, path)), record


def is_texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
