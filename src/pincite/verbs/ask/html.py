"""Answers as one self-contained HTML page: no script, no request, everything escaped."""

from typing import Any

from pincite.judgement.references import Retraction, Standing, Support, Verdict, standing
from pincite.report import cells, templates
from pincite.report.cells import safe_link
from pincite.types import Document, Evidence, Span
from pincite.verbs.ask import bibliography
from pincite.verbs.ask import wording as ask_wording
from pincite.verbs.ask.records import Answer, AnswerReport, Change, Checked, Reference, shown

MOST_TEXT = 6000  # characters of a text that is shown whole: an abstract is, a paper is not
# Classes of the style sheet, which knows the tones of `verify`.
TONES = {  # of sentences
    Standing.SUPPORTED: "supported",
    Standing.VERBATIM: "suggested",
    Standing.CONTRADICTED: "refuted",
    Standing.MIXED: "partly_supported",
    Standing.NO_EVIDENCE: "unchecked",
    Standing.FABRICATED: "refuted",
    Standing.UNCITED: "plain",
    Standing.NOT_CHECKED: "plain",
}
_RETRACTION_TONES = {Retraction.CORRECTED: "unchecked"}


def to_html(report: AnswerReport) -> str:
    """The page as text."""
    return templates.page("ask.html.j2").render(
        report=report,
        settings=[
            (name, ", ".join(value) if isinstance(value, tuple) else value)
            for name, value in report.settings.items()
        ],
        answers=[shown(view, answer) for answer in report.answers],
        advice=ask_wording.advice(report.answers),
        left_out=ask_wording.LEFT_OUT,
        no_answer=ask_wording.NO_ANSWER,
        inherited=ask_wording.INHERITED,
        used=cells.asked(report.usage),
        css=templates.style("ask.css"),
    )


def view(answer: Answer) -> dict[str, Any]:
    """What a page shows of one answer, in the names of its template."""
    known = {reference.number: reference.document for reference in answer.references}
    named, unnamed = ask_wording.named_and_not(answer)
    return {
        "question": answer.question,
        "by": ask_wording.written_by(answer),
        "abstained": answer.abstained_coded,
        "incomplete": ask_wording.cautions(answer),
        "counts": [
            (n, TONES[standing], ask_wording.SIGNS[standing], ask_wording.SHORT[standing])
            for standing, n in ask_wording.counts(answer.sentences)
        ],
        "sentences": [_sentence(sentence, known) for sentence in answer.sentences],
        "references": [_reference(reference, answer) for reference in named],
        "unnamed": [_reference(reference, answer) for reference in unnamed],
        "left_out": [_reference(reference, answer) for reference in answer.left_out],
        "unknown": ask_wording.unknown_retractions(answer.references),
        "dropped": [_sentence(sentence, known) for sentence in answer.dropped],
        "changes": [_change(change) for change in answer.changes],
        "searched": ask_wording.searched(answer),
    }


def _sentence(checked: Checked, known: dict[int, Document]) -> dict[str, object]:
    standing = checked.standing
    return {
        "text": checked.sentence.text,
        "tone": TONES[standing],
        "sign": ask_wording.SIGNS[standing],
        "label": ask_wording.label(checked),
        "is_copied": standing is Standing.VERBATIM,
        "numbers": ask_wording.numbers(checked),
        "known": {str(number) for number in known},
        "notes": checked.notes_coded,
        "inherited": checked.inherited,
        "verdicts": [_verdict(verdict, known) for verdict in checked.verdicts],
        # What is supported need not be looked at; all else waits for a reader.
        "open": standing not in (Standing.SUPPORTED, Standing.VERBATIM),
    }


def _verdict(verdict: Verdict, known: dict[int, Document]) -> dict[str, object]:
    document = known.get(verdict.number or 0)
    evidence = verdict.evidence
    return {
        "number": verdict.number if document else None,
        "written": verdict.written,
        "title": cells.one_line(document.title) or document.url if document else "",
        "tone": TONES[standing([verdict.support])],
        "words": ask_wording.verdict(verdict),
        "shares": ask_wording.shares(evidence)
        if evidence and verdict.support is not Support.VERBATIM
        else None,
        "reasons": evidence.reasons_coded if evidence else (),
        "text": _marked(evidence, document) if evidence else None,
    }


def _marked(evidence: Evidence, document: Document | None) -> dict[str, str]:
    """The text around the closest sentence, cut before and after it.

    The whole text where it is short and holds the passage where the passage says that it stands;
    else the passage. Without a sound place for the quote nothing is marked.
    """
    passage, quote = evidence.passage, ask_wording.quote_span(evidence)
    text, shift = passage.text, 0
    if (
        document
        and len(document.text) <= MOST_TEXT
        and passage.span.of(document.text) == passage.text
    ):
        text, shift = document.text, passage.span.start
    start, end = Span(quote.start + shift, quote.end + shift) if quote else (len(text), len(text))
    return {"head": text[:start], "quote": text[start:end], "tail": text[end:]}


def _reference(reference: Reference, answer: Answer) -> dict[str, object]:
    document = reference.document
    return {
        "number": reference.number,
        "title": cells.one_line(document.title) or document.url,
        "href": safe_link(document.url),
        "line": ask_wording.published_in(reference),
        "links": bibliography.links(document.meta),
        "mark": ask_wording.retraction(reference),
        "mark_tone": _RETRACTION_TONES.get(reference.retraction, "refuted"),
        "notices": document.meta.get("notices", ""),
        "says": [
            (verb, ask_wording.places_of(reference, answer.sentences, support))
            for verb, support in (
                ("quoted in", Support.VERBATIM),
                ("supports", Support.SUPPORTS),
                ("contradicts", Support.CONTRADICTS),
            )
        ],
        "bears_out": ask_wording.bears_out(reference, answer.sentences),
    }


def _change(change: Change) -> dict[str, object]:
    before = change.before.sentence.text
    return {"pieces": ask_wording.difference(before, change.after), "why": change.why_coded}
