"""Answers as rows, one a sentence: for data frames."""

from collections.abc import Iterator

from pincite.verbs.ask import wording
from pincite.verbs.ask.records import Answer, AnswerReport, Checked

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
