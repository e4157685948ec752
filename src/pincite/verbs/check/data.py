"""A check report as JSON and back: `contract.check` describes each object.

As in `ask_data`, what is derived (`complete`, `level`, `summary`, …) is written and not believed.
"""

import math
from dataclasses import replace
from pathlib import Path

from pincite import notes
from pincite.checks import (
    Check,
    CheckReport,
    Failed,
    Judged,
    Reading,
    ReadingResult,
    Weighed,
    Weight,
)
from pincite.contract import codec
from pincite.contract.check import (
    AsOfRecord,
    CheckRecord,
    CheckReportRecord,
    ReadingRecord,
    WeighedRecord,
    WeightRecord,
)
from pincite.contract.codec import made, rounded
from pincite.errors import InputError
from pincite.judgement import confirmation
from pincite.types import Passage
from pincite.verbs.check import wording

SCHEMA = Path(__file__).parent / "check.schema.json"


def to_json(report: CheckReport) -> str:
    """The report as indented JSON with a line break at its end."""
    return codec.to_json(record_of(report))


def from_json(data: bytes | str) -> CheckReport:
    """The report that `to_json` wrote, but for rounding.

    Raises:
        InputError: it is no such report; the message names the first place that is wrong.
    """
    return report_of(codec.from_json(CheckReportRecord, data))


# ── Written ──────────────────────────────────────────────────────────────────────────────────────


def record_of(report: CheckReport) -> CheckReportRecord:
    """The report as its JSON has it."""
    threshold = wording.threshold_of(report)
    checks = tuple(_check(each, threshold) for each in report.checks)
    usage = replace(report.usage, cost=round(report.usage.cost, 6))
    return made(CheckReportRecord, report, schema_version="1", checks=checks, usage=usage)


def _check(check: Check, threshold: float) -> CheckRecord:
    readings = tuple(_reading(result, threshold) for result in check.results)
    return made(CheckRecord, check, readings=readings)


def _reading(result: ReadingResult, threshold: float) -> ReadingRecord:
    weight = result.weight
    return rounded(
        made(
            ReadingRecord,
            result.reading,
            weight,
            spread=_spread(weight),
            level=wording.SEED_LEVELS[weight.outcome],
            summary=wording.sentence(result),
            warning=wording.warning(result) or None,
            as_of=tuple(
                rounded(made(AsOfRecord, then, year=year, spread=_spread(then)))
                for year, then in result.as_of
            ),
            evidence=tuple(
                _item(item, threshold, strong=n in weight.contradictions)
                for n, item in enumerate(result.items)
            ),
        )
    )


def _spread(weight: Weight) -> float | None:
    return None if weight.variance is None else math.sqrt(weight.variance)


def _item(item: Weighed, threshold: float, *, strong: bool) -> WeighedRecord:
    passage, outcome = item.passage, item.outcome
    failed = outcome if isinstance(outcome, Failed) else None
    quote = None if isinstance(outcome, Failed) else outcome.quote
    nothing = {"prob_reading": None, "prob_negation": None, "reasons": (), "reasons_coded": ()}
    return rounded(
        made(
            WeighedRecord,
            item,
            passage,
            outcome,
            **nothing | {"analysis": ""} if failed else {},
            side=wording.side(item, threshold),
            doc=confirmation.degree_of(item),
            strong_contradiction=strong,
            passage=passage.text,
            quote=quote.of(passage.text) if quote else None,
            quote_span=quote.moved(passage.span.start) if quote else None,
            failed=failed,
        )
    )


# ── Read ─────────────────────────────────────────────────────────────────────────────────────────


def report_of(record: CheckReportRecord) -> CheckReport:
    """The report behind its JSON.

    Raises:
        InputError: its parts do not fit together; names the first.
    """
    warnings = notes.stored(record.warnings_coded, *record.warnings)
    checks = tuple(map(_check_of, record.checks))
    return made(CheckReport, record, checks=checks, warnings_coded=warnings)


def _check_of(record: CheckRecord) -> Check:
    return made(Check, record, results=tuple(map(_result_of, record.readings)))


def _result_of(record: ReadingRecord) -> ReadingResult:
    items = tuple(map(_weighed_of, record.evidence))
    as_of = tuple((then.year, _weight_of(then, len(items))) for then in record.as_of)
    return ReadingResult(made(Reading, record), items, _weight_of(record, len(items)), as_of)


def _weight_of(record: WeightRecord, n_items: int) -> Weight:
    if any(place >= n_items for place in record.contradictions):
        raise InputError(f"contradictions {record.contradictions} are no places in the evidence")
    return made(Weight, record)


def _weighed_of(record: WeighedRecord) -> Weighed:
    passage = made(Passage, record, text=record.passage)
    return made(Weighed, record, passage=passage, outcome=record.failed or _judged_of(record))


def _judged_of(record: WeighedRecord) -> Judged:
    if record.prob_reading is None or record.prob_negation is None:
        raise InputError(f"a passage of {record.url!r} is neither judged nor failed")
    span, quote = record.span, record.quote_span
    if quote and not span.start <= quote.start <= quote.end <= span.start + len(record.passage):
        raise InputError(f"a quote_span does not lie in its passage: {list(quote)}")
    reasons = notes.stored(record.reasons_coded, *record.reasons)
    quote = quote.moved(-span.start) if quote else None
    return made(Judged, record, quote=quote, reasons_coded=reasons)
