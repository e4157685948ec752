"""Checks as Markdown, through a template that a user can replace.

The values have the names that EvidenceSeeker's result template uses (statement, time, claims,
feedback, translation, show_documents, confirmation_level, evse_result) and their forms, so that a
template of it runs as it is; more of our own stand beside them. Where it has a number and we have
none, as for a reading without evidence, the number is NaN.
"""

import hashlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pincite.contract.check import CheckRecord, ReadingRecord
from pincite.contract.codec import values_of
from pincite.judgement import confirmation
from pincite.judgement.confirmation import Outcome
from pincite.report import templates
from pincite.verbs.check import data, wording
from pincite.verbs.check.records import Check, CheckReport, shown

_NONE = math.nan  # of a number that is not there: EvidenceSeeker's filters round all of them


class _Member(str):
    """A text that is also a member of EvidenceSeeker's enumerations: `.value` is its word."""

    value: str

    def __new__(cls, text: str, value: str) -> "_Member":
        made = super().__new__(cls, text)
        made.value = value
        return made


class _Lenient(dict[str, Any]):
    """A table whose other keys are empty texts: not every document has a page."""

    def __missing__(self, key: str) -> str:
        return ""


class _Levels(dict[str, str]):
    """Our labels by outcome; called with a mean degree, EvidenceSeeker's level."""

    def __call__(self, doc: float) -> _Member:
        level = Outcome.BALANCED if math.isnan(doc) else confirmation.level(doc)
        return _level(level)


def to_markdown(
    report: CheckReport,
    template: Path | None = None,
    *,
    show_documents: bool = True,
    translation: Mapping[str, str] | None = None,
) -> str:
    """All checks, one after another; `translation`: texts that a template may name.

    Raises:
        ConfigError: the template cannot be read or filled in.
    """
    words = {"translation": _Lenient(translation or {})}
    return _filled(report, template, words, show_documents=show_documents)


def to_footnotes(report: CheckReport) -> str:
    """All checks as text to be pasted elsewhere: each reading with its evidence as footnotes."""
    return _filled(report, None, {}, shipped="check_footnotes.md.j2")


def _filled(
    report: CheckReport,
    template: Path | None,
    more: Mapping[str, object],
    *,
    shipped: str = "check.md.j2",
    show_documents: bool = True,
) -> str:
    threshold = wording.threshold_of(report)

    def filled(check: Check) -> str:
        values = _values(data.check_record(check, threshold), report, show_documents)
        return templates.markdown(template, {**values, **more}, shipped=shipped)

    return "\n".join(shown(filled, check) for check in report.checks)


def uid_of(statement: str, created: str) -> str:
    """16 hex digits that stand for one check of a statement."""
    return hashlib.sha256(f"{created}\0{statement}".encode("utf-8", "replace")).hexdigest()[:16]


def _values(check: CheckRecord, report: CheckReport, show_documents: bool) -> dict[str, object]:
    seeds: dict[str, object] = {
        "statement": check.statement,
        "time": report.created,
        "claims": [_claim(reading) for reading in check.readings],
        "feedback": _Lenient(),
        "translation": _Lenient(),
        "show_documents": show_documents,
        "confirmation_level": _Levels({str(o): label for o, label in wording.LABELS.items()}),
    }
    uid = uid_of(check.statement, report.created)
    return {
        **seeds,
        "evse_result": {**seeds, "uid": uid, "request": check.statement},
        "failures": values_of(check.failures),
        "interpreted_by": check.interpreted_by,
        "complete": check.complete,
        "warnings": list(report.warnings),
        "versions": dict(report.versions),
        "advice": wording.ADVICE,
    }


def _claim(reading: ReadingRecord) -> dict[str, object]:
    """A reading under our names, then under EvidenceSeeker's."""
    documents = [_document(str(n), item) for n, item in enumerate(values_of(reading.evidence))]
    return {
        **values_of(reading),
        "uid": reading.reading_id,
        "statement_type": _Member(str(reading.kind), str(reading.kind)),
        "average_confirmation": _number(reading.doc),
        "evidential_uncertainty": _number(reading.variance),
        "n_evidence": reading.n_texts,
        "confirmation_level": _level(reading.outcome),
        "verbalized_confirmation": reading.summary,
        "documents": documents,
        "confirmation_by_document": {each["uid"]: _number(each["doc"]) for each in documents},
        "metadata": _Lenient(),
    }


def _document(uid: str, item: dict[str, Any]) -> dict[str, Any]:
    stated = {"title": item["title"], "url": item["url"], "published": item["published"]}
    known = {name: value for name, value in stated.items() if value}
    meta = _Lenient({**known, "file_name": item["url"].rpartition("/")[2], **item["meta"]})
    return {**item, "uid": uid, "text": item["passage"], "metadata": meta}


def _level(outcome: Outcome) -> _Member:
    """Our outcome with EvidenceSeeker's word: "strongly_confirmed", "inconclusive_confirmation"."""
    word = confirmation.seed_level(outcome) or str(outcome)
    for noun, verb in (("disconfirmation", "disconfirmed"), ("confirmation", "confirmed")):
        if word.endswith(noun) and not word.startswith("inconclusive"):
            degree = word.removesuffix(noun).rstrip("_")
            return _Member(str(outcome), f"{degree}ly_{verb}" if degree else verb)
    return _Member(str(outcome), word)


def _number(value: float | None) -> float:
    return _NONE if value is None else value
