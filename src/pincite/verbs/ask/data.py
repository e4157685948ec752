"""An answer report as JSON and back: `contract.ask` describes each object.

What is derived (`complete`, `supports`, …) is written for readers of the JSON and, when a report is
read again, not believed: it follows anew.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pincite import notes
from pincite.contract import codec
from pincite.contract.ask import (
    AnswerRecord,
    AnswerReportRecord,
    ChangeRecord,
    MarkRecord,
    QuotedRecord,
    ReferenceRecord,
    SearchedRecord,
    SentenceRecord,
    VerdictRecord,
)
from pincite.contract.codec import made, rounded
from pincite.errors import InputError
from pincite.judgement.references import Support, Verdict
from pincite.text.citation_marks import Mark, Sentence
from pincite.types import Document, Evidence, Passage
from pincite.verbs.ask import wording
from pincite.verbs.ask.records import (
    EXTRACT,
    Answer,
    AnswerReport,
    Change,
    Checked,
    Reference,
    Searched,
    shown,
)


def schema() -> dict[str, Any]:
    """The JSON Schema of what `to_json` writes."""
    return codec.schema(AnswerReportRecord, "Pincite answer report")


def to_json(report: AnswerReport) -> str:
    """The report as indented JSON with a line break at its end."""
    return codec.to_json(record_of(report))


def from_json(data: bytes | str) -> AnswerReport:
    """The report that `to_json` wrote, but for rounding.

    Raises:
        InputError: it is no such report; the message names the first place that is wrong.
    """
    return report_of(codec.from_json(AnswerReportRecord, data))


def read_answers(path: Path) -> AnswerReport:
    """The report in a file; raises as `from_json` does, and where the file cannot be read."""
    return report_of(codec.from_file(AnswerReportRecord, path))


# ── Written ──────────────────────────────────────────────────────────────────────────────────────


def record_of(report: AnswerReport) -> AnswerReportRecord:
    """The report as its JSON has it."""
    usage = replace(report.usage, cost=round(report.usage.cost, 6))
    answers = tuple(shown(answer_record, each) for each in report.answers)
    return made(AnswerReportRecord, report, schema_version="1", answers=answers, usage=usage)


def sentence_of(checked: Checked) -> SentenceRecord:
    """A sentence with its verdicts, as the JSON has it."""
    return made(
        SentenceRecord,
        checked.sentence,
        checked,
        marks=tuple(made(MarkRecord, mark) for mark in checked.sentence.marks),
        verdicts=tuple(map(_verdict, checked.verdicts)),
    )


def answer_record(answer: Answer) -> AnswerRecord:
    """An answer as the JSON has it."""
    only_abstracts = wording.are_abstracts(answer.references)
    return made(
        AnswerRecord,
        answer,
        answer=answer.text,
        written_by=answer.by,
        is_extractive=answer.by == EXTRACT,
        abstained=answer.abstained or None,
        failure=answer.failure or None,
        sentences=tuple(map(sentence_of, answer.sentences)),
        references=tuple(_reference(each, answer) for each in answer.references),
        dropped=tuple(map(sentence_of, answer.dropped)),
        changes=tuple(
            made(ChangeRecord, each, before=sentence_of(each.before)) for each in answer.changes
        ),
        left_out=tuple(_reference(each, answer) for each in answer.left_out),
        searched=rounded(made(SearchedRecord, answer.searched, only_abstracts=only_abstracts)),
    )


def _verdict(verdict: Verdict) -> VerdictRecord:
    evidence = _quoted(verdict.evidence) if verdict.evidence else None
    return made(VerdictRecord, verdict, evidence=evidence)


def _quoted(evidence: Evidence) -> QuotedRecord:
    passage, quote = evidence.passage, wording.quote_span(evidence)
    return rounded(
        made(
            QuotedRecord,
            evidence,
            passage,
            passage=passage.text,
            quote=quote.of(passage.text) if quote else None,
            quote_span=quote.moved(passage.span.start) if quote else None,
        )
    )


def _reference(reference: Reference, answer: Answer) -> ReferenceRecord:
    def places(support: Support) -> tuple[int, ...]:
        return tuple(wording.places_of(reference, answer.sentences, support))

    return rounded(
        made(
            ReferenceRecord,
            reference,
            reference.document,
            verbatim=places(Support.VERBATIM),
            supports=places(Support.SUPPORTS),
            contradicts=places(Support.CONTRADICTS),
        )
    )


# ── Read ─────────────────────────────────────────────────────────────────────────────────────────


def report_of(record: AnswerReportRecord) -> AnswerReport:
    """The report behind its JSON.

    Raises:
        InputError: a quote does not lie in its passage.
    """
    warnings = notes.stored(record.warnings_coded, *record.warnings)
    answers = tuple(map(_answer_of, record.answers))
    return made(AnswerReport, record, answers=answers, warnings_coded=warnings)


def _answer_of(record: AnswerRecord) -> Answer:
    return made(
        Answer,
        record,
        text=record.answer,
        by=record.written_by,
        abstained_coded=notes.stored(record.abstained_coded, record.abstained or ""),
        failure=record.failure or "",
        sentences=tuple(map(_checked_of, record.sentences)),
        references=tuple(map(_reference_of, record.references)),
        searched=made(Searched, record.searched),
        dropped=tuple(map(_checked_of, record.dropped)),
        changes=tuple(
            made(Change, each, before=_checked_of(each.before), why_coded=_why_of(each))
            for each in record.changes
        ),
        left_out=tuple(map(_reference_of, record.left_out)),
    )


def _checked_of(record: SentenceRecord) -> Checked:
    marks = tuple(made(Mark, mark) for mark in record.marks)
    verdicts = tuple(
        made(
            Verdict,
            each,
            evidence=_evidence_of(each.evidence) if each.evidence else None,
            why_coded=_why_of(each),
        )
        for each in record.verdicts
    )
    sentence = made(Sentence, record, marks=marks)
    noted = notes.stored(record.notes_coded, *record.notes)
    return made(Checked, record, sentence=sentence, verdicts=verdicts, notes_coded=noted)


def _why_of(record: VerdictRecord | ChangeRecord) -> tuple[notes.Note, ...]:
    return notes.stored(record.why_coded, record.why)


def _evidence_of(record: QuotedRecord) -> Evidence:
    span, quote = record.span, record.quote_span
    if quote and quote.start < span.start:
        raise InputError(f"a quote_span begins before its passage: {list(quote)} in {list(span)}")
    passage = made(Passage, record, text=record.passage)
    quote = quote.moved(-span.start) if quote else None
    reasons = notes.stored(record.reasons_coded, *record.reasons)
    return made(Evidence, record, passage=passage, quote=quote, reasons_coded=reasons)


def _reference_of(record: ReferenceRecord) -> Reference:
    return made(Reference, record, document=made(Document, record))


# ── As rows, for data frames ──────────────────────────────────────────────────────────────────────

COLUMNS = (
    "question sentence_number sentence label references urls quote why notes abstained".split()
)


def rows(report: AnswerReport) -> Iterator[list[str | int | None]]:
    """The values of `COLUMNS`; a question without an answer has one row, which says why."""
    for answer in report.answers:
        for number, checked in enumerate(answer.sentences, 1):
            yield [answer.question, number, *_of_sentence(checked, answer), None]
        if not answer.sentences:
            nothing = [None] * (len(COLUMNS) - 2)
            yield [answer.question, *nothing, answer.abstained or answer.failure]


def _of_sentence(checked: Checked, answer: Answer) -> list[str | int | None]:
    """From `sentence` on; where there are several references, in their order with bars between."""
    by_number = {each.number: each.document.url for each in answer.references}
    urls = [by_number[v.number] for v in checked.verdicts if v.number in by_number]
    quotes = [v.evidence.quoted for v in checked.verdicts if v.evidence]
    return [
        checked.sentence.text,
        wording.LABELS[checked.standing],
        ", ".join(wording.numbers(checked)),
        *(" | ".join(filter(None, texts)) for texts in (urls, quotes)),
        "; ".join(v.why for v in checked.verdicts if v.why),
        "; ".join(checked.notes),
    ]
