"""Checks as Markdown, through a template that a user can replace.

The values have the names that EvidenceSeeker's result template uses (statement, time, claims,
feedback, translation, show_documents, confirmation_level), and more of our own beside them.
"""

from pathlib import Path

from pincite.contract.check import CheckRecord, ReadingRecord
from pincite.contract.codec import values_of
from pincite.report import templates
from pincite.verbs.check import data, wording
from pincite.verbs.check.records import CheckReport


def to_markdown(
    report: CheckReport, template: Path | None = None, *, show_documents: bool = True
) -> str:
    """All checks, one after another.

    Raises:
        ConfigError: the template cannot be read or filled in.
    """
    checks = data.record_of(report).checks
    return "\n".join(
        templates.markdown(template, _values(check, report, show_documents)) for check in checks
    )


def to_footnotes(report: CheckReport) -> str:
    """All checks as text to be pasted elsewhere: each reading with its evidence as footnotes."""
    checks = data.record_of(report).checks
    return "\n".join(
        templates.markdown(None, _values(check, report, True), shipped="check_footnotes.md.j2")
        for check in checks
    )


def _values(check: CheckRecord, report: CheckReport, show_documents: bool) -> dict[str, object]:
    return {
        "statement": check.statement,
        "time": report.created,
        "claims": [_claim(reading) for reading in check.readings],
        "feedback": {"binary": None},
        "translation": {},
        "show_documents": show_documents,
        "confirmation_level": {str(o): label for o, label in wording.LABELS.items()},
        "failures": values_of(check.failures),
        "interpreted_by": check.interpreted_by,
        "complete": check.complete,
        "warnings": list(report.warnings),
        "versions": dict(report.versions),
        "advice": wording.ADVICE,
    }


def _claim(reading: ReadingRecord) -> dict[str, object]:
    """A reading under EvidenceSeeker's names, then under ours."""
    numbered = enumerate(values_of(reading.evidence))
    documents = [{"uid": str(n), **item} for n, item in numbered]
    return {
        "uid": reading.reading_id,
        "text": reading.text,
        "negation": reading.negation,
        "statement_type": str(reading.kind),
        "average_confirmation": reading.doc,
        "evidential_uncertainty": reading.variance,
        "n_evidence": reading.n_texts,
        "confirmation_level": str(reading.outcome),
        "verbalized_confirmation": reading.summary,
        "documents": documents,
        "confirmation_by_document": {each["uid"]: each["doc"] for each in documents},
        **values_of(reading),
    }
