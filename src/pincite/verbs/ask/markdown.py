"""Answers as Markdown, through a template that a user can replace.

A template is filled in once an answer. Its values are those of the JSON, and beside them the words
in which the other formats say the same.
"""

from pathlib import Path
from typing import Any

from pincite.contract.ask import (
    AnswerRecord,
    ReferenceRecord,
    SentenceRecord,
    VerdictRecord,
)
from pincite.contract.codec import values_of
from pincite.judgement.references import Verdict
from pincite.report import templates
from pincite.verbs.ask import bibliography, data, wording
from pincite.verbs.ask.records import Answer, AnswerReport, Checked, Reference, shown

TEMPLATE = "ask.md.j2"


def to_markdown(report: AnswerReport, template: Path | None = None) -> str:
    """All answers, one after another.

    Raises:
        ConfigError: the template cannot be read or filled in.
    """

    def filled(answer: Answer) -> str:
        values = _values(answer, data.answer_record(answer), report)
        return templates.markdown(template, values, shipped=TEMPLATE)

    return "\n\n".join(shown(filled, answer) for answer in report.answers)


def _values(answer: Answer, values: AnswerRecord, report: AnswerReport) -> dict[str, object]:
    named, _ = wording.named_and_not(answer)
    changes = zip(answer.changes, values.changes, strict=True)
    return {
        **values_of(values),
        "by": wording.written_by(answer),
        "sentences": _sentences(answer.sentences, values.sentences),
        "references": [
            _reference(reference, answer, each) | {"is_named": reference in named}
            for reference, each in zip(answer.references, values.references, strict=True)
        ],
        "dropped": _sentences(answer.dropped, values.dropped),
        "changes": [
            values_of(each) | {"before": _sentence(change.before, each.before)}
            for change, each in changes
        ],
        "searched": wording.searched(answer),
        "incomplete": wording.cautions(answer),
        "unknown_retractions": wording.unknown_retractions(answer.references),
        "no_answer": wording.NO_ANSWER,
        "advice": wording.advice([answer]),
        "left_out": [
            _reference(reference, answer, each)
            for reference, each in zip(answer.left_out, values.left_out, strict=True)
        ],
        "left_out_title": wording.LEFT_OUT,
        "time": report.created,
        "warnings": values_of(report.warnings),
        "versions": values_of(report.versions),
        "settings": values_of(report.settings),
    }


def _sentences(
    found: tuple[Checked, ...], values: tuple[SentenceRecord, ...]
) -> list[dict[str, Any]]:
    return [_sentence(checked, each) for checked, each in zip(found, values, strict=True)]


def _sentence(checked: Checked, values: SentenceRecord) -> dict[str, Any]:
    numbers = ", ".join(wording.numbers(checked))
    verdicts = zip(checked.verdicts, values.verdicts, strict=True)
    return {
        **values_of(values),
        "numbers": f"[{numbers}]" if numbers else "",
        "sign": wording.SIGNS[checked.standing],
        "label": wording.label(checked),
        "warnings": [*checked.notes, *([wording.INHERITED] if checked.inherited else [])],
        "verdicts": [_verdict(verdict, each) for verdict, each in verdicts],
    }


def _verdict(verdict: Verdict, values: VerdictRecord) -> dict[str, Any]:
    return {
        **values_of(values),
        "name": f"[{verdict.number or verdict.written}]",
        "words": wording.verdict(verdict),
        "quote": wording.quote_of(verdict),
    }


def _reference(reference: Reference, answer: Answer, values: ReferenceRecord) -> dict[str, Any]:
    return {
        **values_of(values),
        "name": f"[{reference.number}]",
        "mark": wording.retraction(reference),
        "notices": reference.document.meta.get("notices", ""),
        "published_in": wording.published_in(reference),
        "links": [
            {"name": n, "url": url} for n, url in bibliography.links(reference.document.meta)
        ],
        "bears_out": wording.bears_out(reference, answer.sentences),
    }
