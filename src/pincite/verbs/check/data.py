"""A check report as plain JSON values; `check.schema.json` beside this file is its schema."""

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pincite.checks import Check, CheckReport, Failed, ReadingResult, Weighed, Weight
from pincite.judgement import confirmation
from pincite.report.json_text import dumped
from pincite.types import Span
from pincite.verbs.check import wording

SCHEMA_VERSION = "1"
SCHEMA = Path(__file__).parent / "check.schema.json"


def to_json(report: CheckReport) -> str:
    """The report as indented JSON with a line break at its end."""
    return dumped(as_dict(report))


def as_dict(report: CheckReport) -> dict[str, Any]:
    """The report as values that JSON knows."""
    threshold = wording.threshold_of(report)
    return {
        "schema_version": SCHEMA_VERSION,
        "complete": report.complete,
        "n_statements": report.n_statements,
        "checks": [_check(check, threshold) for check in report.checks],
        "usage": asdict(report.usage) | {"cost": round(report.usage.cost, 6)},
        "warnings": list(report.warnings),
        "settings": dict(report.settings),
        "versions": dict(report.versions),
        "created": report.created,
    }


def _check(check: Check, threshold: float) -> dict[str, Any]:
    return {
        "statement": check.statement,
        "complete": check.complete,
        "interpreted_by": check.interpreted_by,
        "failures": [asdict(failure) for failure in check.failures],
        "readings": [_reading(result, threshold) for result in check.results],
    }


def _reading(result: ReadingResult, threshold: float) -> dict[str, Any]:
    reading, weight = result.reading, result.weight
    return {
        "reading_id": reading.reading_id,
        "text": reading.text,
        "kind": str(reading.kind),
        "negation": reading.negation,
        "origin": reading.origin,
        **_weight(weight),
        "level": wording.SEED_LEVELS[weight.outcome],
        "summary": wording.sentence(result),
        "warning": wording.warning(result) or None,
        "as_of": [{"year": year, **_weight(then)} for year, then in result.as_of],
        "evidence": [
            _item(item, threshold, strong=n in weight.contradictions)
            for n, item in enumerate(result.items)
        ],
    }


def _weight(weight: Weight) -> dict[str, Any]:
    variance = weight.variance
    return {
        "outcome": str(weight.outcome),
        "doc": _rounded(weight.doc),
        "n_texts": weight.n_texts,
        "n_silent": weight.n_silent,
        "n_failed": weight.n_failed,
        "variance": _rounded(variance),
        "spread": _rounded(None if variance is None else math.sqrt(variance)),
        "interval": list(weight.interval) if weight.interval else None,
        "contradictions": list(weight.contradictions),
    }


def _item(item: Weighed, threshold: float, *, strong: bool) -> dict[str, Any]:
    passage, outcome = item.passage, item.outcome
    judged = None if isinstance(outcome, Failed) else outcome
    quote = judged.quote if judged else None
    start = passage.span.start
    return {
        "side": wording.side(item, threshold),
        "doc": _rounded(confirmation.degree_of(item)),
        "prob_reading": _rounded(judged.prob_reading if judged else None),
        "prob_negation": _rounded(judged.prob_negation if judged else None),
        "strong_contradiction": strong,
        "text_id": item.text_id,
        "url": passage.url,
        "title": passage.title,
        "published": item.published,
        "meta": dict(item.meta),
        "copies": list(item.copies),
        "doc_id": passage.doc_id,
        "span": [passage.span.start, passage.span.end],
        "passage": passage.text,
        "quote": quote.of(passage.text) if quote else None,
        "quote_span": _span(Span(start + quote.start, start + quote.end) if quote else None),
        "reasons": list(judged.reasons) if judged else [],
        "analysis": judged.analysis if judged else "",
        "failed": asdict(outcome) if isinstance(outcome, Failed) else None,
    }


def _span(span: Span | None) -> list[int] | None:
    return [span.start, span.end] if span else None


def _rounded(value: float | None) -> float | None:
    """Four decimals: more would be noise of the weights, and differ between machines."""
    return None if value is None else round(value, 4)
