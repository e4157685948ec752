"""An answer report as plain JSON values; `ask.schema.json` beside this file is its schema.

All that `ask_read` needs to make the report again is in it. Spans of sentences and marks count in
the answer's text, those of passages and quotes in the document's.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from pincite.answers import Answer, AnswerReport, Change, Checked, Reference, Support, Verdict
from pincite.report.json_text import dumped
from pincite.types import Evidence, Span
from pincite.verbs.ask import wording

SCHEMA_VERSION = "1"
SCHEMA = Path(__file__).parent / "ask.schema.json"


def to_json(report: AnswerReport) -> str:
    """The report as indented JSON with a line break at its end."""
    return dumped(as_dict(report))


def as_dict(report: AnswerReport) -> dict[str, Any]:
    """The report as values that JSON knows."""
    return {
        "schema_version": SCHEMA_VERSION,
        "complete": report.complete,
        "n_questions": report.n_questions,
        "answers": [_answer(answer) for answer in report.answers],
        "usage": asdict(report.usage) | {"cost": round(report.usage.cost, 6)},
        "warnings": list(report.warnings),
        "settings": {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in report.settings.items()
        },
        "versions": dict(report.versions),
        "created": report.created,
    }


def _answer(answer: Answer) -> dict[str, Any]:
    searched = answer.searched
    return {
        "question": answer.question,
        "answer": answer.text,
        "written_by": answer.by,
        "is_extractive": answer.by == wording.EXTRACT,
        "abstained": answer.abstained or None,
        "complete": answer.complete,
        "cut": answer.cut,
        "failure": answer.failure or None,
        "sentences": [sentence_dict(sentence) for sentence in answer.sentences],
        "references": [_reference(reference, answer) for reference in answer.references],
        "dropped": [sentence_dict(sentence) for sentence in answer.dropped],
        "changes": [_change(change) for change in answer.changes],
        "left_out": [_reference(reference, answer) for reference in answer.left_out],
        "searched": {
            "corpus": searched.corpus,
            "n_documents": searched.n_documents,
            "mode": searched.mode,
            "filters": searched.filters,
            "found": list(searched.found),
            "best": _rounded(searched.best),
            "absent": list(searched.absent),
            "only_abstracts": wording.are_abstracts(answer.references),
        },
    }


def sentence_dict(checked: Checked) -> dict[str, Any]:
    """One sentence of an answer with its verdicts, as the result has it."""
    sentence = checked.sentence
    return {
        "text": sentence.text,
        "span": list(sentence.span),
        "marks": [{"span": list(mark.span), "ids": list(mark.ids)} for mark in sentence.marks],
        "standing": str(checked.standing),
        "inherited": checked.inherited,
        "notes": list(checked.notes),
        "verdicts": [_verdict(verdict) for verdict in checked.verdicts],
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "written": verdict.written,
        "number": verdict.number,
        "support": str(verdict.support),
        "why": verdict.why,
        "evidence": _evidence(verdict.evidence) if verdict.evidence else None,
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    passage = evidence.passage
    start, quote = passage.span.start, wording.quote_span(evidence)
    in_document = Span(start + quote.start, start + quote.end) if quote else None
    return {
        "url": passage.url,
        "title": passage.title,
        "doc_id": passage.doc_id,
        "about": passage.about,
        "span": list(passage.span),
        "passage": passage.text,
        "quote": quote.of(passage.text) if quote else None,
        "quote_span": list(in_document) if in_document else None,
        "prob_supported": _rounded(evidence.prob_supported),
        "prob_refuted": _rounded(evidence.prob_refuted),
        "prob_neutral": _rounded(evidence.prob_neutral),
        "score": _rounded(evidence.score),
        "reasons": list(evidence.reasons),
    }


def _reference(reference: Reference, answer: Answer) -> dict[str, Any]:
    document = reference.document
    return {
        "number": reference.number,
        "ref_id": reference.ref_id,
        "relevance": _rounded(reference.relevance),
        "retraction": str(reference.retraction),
        "verbatim": wording.places_of(reference, answer.sentences, Support.VERBATIM),
        "supports": wording.places_of(reference, answer.sentences, Support.SUPPORTS),
        "contradicts": wording.places_of(reference, answer.sentences, Support.CONTRADICTS),
        "doc_id": document.doc_id,
        "url": document.url,
        "title": document.title,
        "text": document.text,
        "kind": document.kind,
        "published": document.published,
        "fetched": document.fetched,
        "language": document.language,
        "meta": dict(document.meta),
    }


def _change(change: Change) -> dict[str, Any]:
    return {"before": sentence_dict(change.before), "after": change.after, "why": change.why}


def _rounded(value: float | None) -> float | None:
    """Four decimals: more would be noise of the weights, and differ between machines."""
    return None if value is None else round(value, 4)
