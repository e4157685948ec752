"""A check report for spreadsheets: a row a passage or unused page; no text becomes a formula."""

import csv
import io
from collections.abc import Iterator
from functools import partial

from pincite.contract.check import ReadingRecord, WeighedRecord
from pincite.report.cells import cell
from pincite.types import CopyKind
from pincite.verbs.check import data, wording
from pincite.verbs.check.records import Check, CheckReport, shown

COLUMNS = (
    "statement reading_id reading kind origin outcome reading_doc n_texts n_failed side doc "
    "prob_reading prob_negation strong_contradiction published url title author publisher quote "
    "copies failed origin corpus"
).split()


def to_csv(report: CheckReport) -> str:
    """The report as CSV with a header."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows(report):
        writer.writerow([cell(value) for value in row])
    return out.getvalue()


def rows(report: CheckReport) -> Iterator[list[object]]:
    """The values of `COLUMNS`; a reading without evidence has one row."""
    threshold = wording.threshold_of(report)
    for check in report.checks:
        yield from shown(partial(_of_check, threshold=threshold), check)


def _of_check(check: Check, threshold: float) -> list[list[object]]:
    rows = list[list[object]]()
    for reading in data.check_record(check, threshold).readings:
        head: list[object] = [check.statement, reading.reading_id, reading.text, reading.kind]
        head += [reading.origin, reading.outcome, reading.doc]
        head += [reading.n_texts, reading.n_failed]
        found = [*map(_of_item, reading.evidence), *map(_of_page, _unused(reading))]
        for row in found or [[]]:
            rows.append([*head, *row, *[None] * (len(COLUMNS) - len(head) - len(row))])
    return rows


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
        item.origin,
        item.corpus or None,
    ]


def _unused(reading: ReadingRecord) -> list[tuple[str, str]]:
    """The pages of the web that are no evidence: address and why."""
    unread = [(page.url, f"{page.reason}: {page.detail}") for page in reading.unread]
    return [*unread, *((page.url, f"{page.bar}: {page.detail}") for page in reading.excluded)]


def _of_page(page: tuple[str, str]) -> list[object]:
    """The columns from `side` on."""
    known = {"side": "unused", "url": page[0], "failed": page[1], "origin": CopyKind.LIVE}
    return [known.get(column) for column in COLUMNS[COLUMNS.index("side") :]]
