"""A check report as JSON and back: `contract.check` describes each object.

As in `ask_data`, what is derived (`complete`, `level`, `summary`, …) is written and not believed.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from pincite import notes
from pincite.contract import codec
from pincite.contract.check import (
    AsOfRecord,
    CheckRecord,
    CheckReportRecord,
    ReadingRecord,
    TracedRecord,
    WeighedRecord,
    WeightRecord,
)
from pincite.contract.codec import made, rounded
from pincite.errors import InputError
from pincite.judgement import confirmation
from pincite.judgement.confirmation import Weighed, Weight
from pincite.types import Evidence, Failed, Passage
from pincite.verbs.check import wording
from pincite.verbs.check.records import Check, CheckReport, Reading, ReadingResult, shown


def schema() -> dict[str, Any]:
    """The JSON Schema of what `to_json` writes."""
    return codec.schema(CheckReportRecord, "Pincite check report")


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
    checks = tuple(shown(partial(check_record, threshold=threshold), c) for c in report.checks)
    usage = replace(report.usage, cost=round(report.usage.cost, 6))
    return made(CheckReportRecord, report, schema_version="1", checks=checks, usage=usage)


def check_record(check: Check, threshold: float) -> CheckRecord:
    """A check as the JSON has it."""
    readings = tuple(_reading(result, threshold) for result in check.results)
    return made(CheckRecord, check, readings=readings)


def _reading(result: ReadingResult, threshold: float) -> ReadingRecord:
    weight = result.weight
    return rounded(
        made(
            ReadingRecord,
            TracedRecord,
            result.reading,
            weight,
            unread=result.unread,
            excluded=result.excluded,
            level=confirmation.seed_level(weight.outcome),
            summary=wording.sentence(result),
            warning=wording.warning(result) or None,
            as_of=tuple(rounded(made(AsOfRecord, then, year=year)) for year, then in result.as_of),
            evidence=tuple(
                _item(item, threshold, strong=n in weight.contradictions)
                for n, item in enumerate(result.items)
            ),
        )
    )


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
            **nothing | {"analysis": ""} if isinstance(outcome, Failed) else _answers(outcome),
            side=confirmation.side(item, threshold),
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
    weight = _weight_of(record, len(items))
    return ReadingResult(
        made(Reading, record), items, weight, as_of, record.unread, record.excluded
    )


def _weight_of(record: WeightRecord, n_items: int) -> Weight:
    if any(place >= n_items for place in record.contradictions):
        raise InputError(f"contradictions {record.contradictions} are no places in the evidence")
    return made(Weight, record)


def _weighed_of(record: WeighedRecord) -> Weighed:
    passage = made(Passage, record, text=record.passage)
    return made(
        Weighed, record, passage=passage, outcome=record.failed or _evidence_of(record, passage)
    )


def _evidence_of(record: WeighedRecord, passage: Passage) -> Evidence:
    if record.prob_reading is None or record.prob_negation is None:
        raise InputError(f"a passage of {record.url!r} is neither judged nor failed")
    span, quote = record.span, record.quote_span
    if quote and not span.start <= quote.start <= quote.end <= span.start + len(record.passage):
        raise InputError(f"a quote_span does not lie in its passage: {list(quote)}")
    answers = record.prob_reading, record.prob_negation
    place = quote.moved(-span.start) if quote else None
    return _answered(record, confirmation.from_answers(passage, *answers, place))


def _answered(record: WeighedRecord | TracedRecord, found: Evidence) -> Evidence:
    reasons = notes.stored(record.reasons_coded, *record.reasons)
    return replace(found, reasons_coded=reasons, analysis=record.analysis)


# ── In a trace ───────────────────────────────────────────────────────────────────────────────────


def traced(outcome: Evidence | Failed) -> dict[str, Any]:
    """What a passage says of a reading, as plain values."""
    if isinstance(outcome, Failed):
        return asdict(outcome)
    return asdict(made(TracedRecord, outcome, **_answers(outcome)))


def outcome_of(given: Mapping[str, Any], passage: Passage) -> Evidence | Failed:
    """What `traced` wrote of a passage; raises InputError where it is something else."""
    if "step" in given:
        return codec.from_values(Failed, given)
    record = codec.from_values(TracedRecord, given)
    answers = record.prob_reading, record.prob_negation
    return _answered(record, confirmation.from_answers(passage, *answers, record.quote))


def _answers(evidence: Evidence) -> dict[str, Any]:
    """The probabilities in EvidenceSeeker's terms."""
    return {"prob_reading": evidence.prob_supported, "prob_negation": evidence.prob_refuted}
