"""A check report for spreadsheets: one row a passage, texts cannot become formulas."""

import csv
import io

from pincite.contract.check import WeighedRecord
from pincite.report.cells import cell
from pincite.verbs.check import data
from pincite.verbs.check.records import CheckReport

COLUMNS = (
    "statement reading_id reading kind origin outcome reading_doc n_texts n_failed side doc "
    "prob_reading prob_negation strong_contradiction published url title author publisher quote "
    "copies failed corpus"
).split()


def to_csv(report: CheckReport) -> str:
    """The report as CSV with a header; a reading without evidence has one row."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for check in data.record_of(report).checks:
        for reading in check.readings:
            head: list[object] = [check.statement, reading.reading_id, reading.text, reading.kind]
            head += [reading.origin, reading.outcome, reading.doc]
            head += [reading.n_texts, reading.n_failed]
            for item in reading.evidence or [None]:
                row = [*head, *(_of_item(item) if item else [None] * (len(COLUMNS) - len(head)))]
                writer.writerow([cell(value) for value in row])
    return out.getvalue()


def _of_item(item: WeighedRecord) -> list[object]:
    why = f"{item.failed.step}: {item.failed.detail}" if item.failed else None
    said = [item.side, item.doc, item.prob_reading, item.prob_negation, item.strong_contradiction]
    source = [item.published, item.url, item.title, item.meta.get("author")]
    return [
        *said,
        *source,
        item.meta.get("publisher"),
        item.quote,
        " ".join(item.copies),
        why,
        item.corpus or None,
    ]
