"""Renders answers as one HTML page without script, as Markdown, and for the server's page."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pincite.codec import DIGITS, values_of
from pincite.judgement.provenance import Retraction
from pincite.judgement.references import ReferenceVerdict, Standing, Support, standing
from pincite.notes import IN_ENGLISH, Language
from pincite.report import bibliography, cells, templates
from pincite.report.cells import safe_link
from pincite.types import Document, Evidence, Span
from pincite.verbs.ask import wording as ask_wording
from pincite.verbs.ask.abstracts import WHOLE
from pincite.verbs.ask.report import Answer, AnswerReport, Checked, Reference, render_parts

CONFIRMED = (Standing.SUPPORTED, Standing.VERBATIM)


def to_html(report: AnswerReport) -> str:
    return templates.page("ask.html.j2").render(
        report=report,
        answers=views(report.answers),
        advice=ask_wording.advice(report.answers),
        used=cells.usage_line(report.usage),
        css=templates.style("ask.css"),
    )


def to_markdown(report: AnswerReport, template: Path | None = None) -> str:
    """Render all answers, one after another, with a template that a user can replace.

    The template gets the values of the answer's JSON, and those of `views` as `shown`.

    Raises:
        ConfigError: the template cannot be read or filled in.
    """

    def fill(answer: Answer) -> str:
        values = {
            **values_of(answer, DIGITS),
            "shown": _view(answer, IN_ENGLISH),
            "no_answer": ask_wording.NO_ANSWER,
            "advice": ask_wording.advice([answer]),
            "inherited": ask_wording.INHERITED,
            "left_out_title": ask_wording.LEFT_OUT,
            "time": report.created,
            "warnings": values_of(report.warnings),
            "versions": values_of(report.versions),
            "settings": values_of(report.settings),
        }
        return templates.markdown(template, values, shipped="ask.md.j2")

    return "\n\n".join(render_parts(fill, answer) for answer in report.answers)


def views(
    answers: Sequence[Answer],
    words: Language = IN_ENGLISH,
    *,
    with_texts: bool = False,
    only_passages: bool = False,
) -> list[dict[str, Any]]:
    """Return what a page shows of each answer, as named in `answer.html.j2` and `ask.md.j2`.

    `with_texts`: whether references include the beginning of their texts; `only_passages`: whether
    judged passages are shown without the text around them.
    """
    view = partial(_view, words=words, with_texts=with_texts, only_passages=only_passages)
    return [render_parts(view, answer) for answer in answers]


def _view(
    answer: Answer, words: Language, with_texts: bool = False, only_passages: bool = False
) -> dict[str, Any]:
    say = words.say
    known = {
        r.number: replace(r.document, text="") if only_passages else r.document
        for r in answer.references
    }
    cited, uncited = ask_wording.cited_and_uncited(answer)
    references = partial(_reference, answer=answer, say=say, with_texts=with_texts)
    return {
        "question": answer.question,
        "by": ask_wording.written_by(answer, say),
        "abstained": answer.abstained_coded,
        "incomplete": ask_wording.cautions(answer, say),
        "counts": [
            (n, look.tone, look.sign, look.label)
            for n, look in ask_wording.counts(answer.sentences, words)
        ],
        "sentences": [_sentence(sentence, known, say) for sentence in answer.sentences],
        "references": [references(reference) | {"is_named": True} for reference in cited],
        "unnamed": list(map(references, uncited)),
        "left_out": list(map(references, answer.left_out)),
        "unknown": ask_wording.unknown_retractions(answer.references, say),
        "dropped": [_sentence(sentence, known, say) for sentence in answer.dropped],
        "changes": [
            {
                "pieces": ask_wording.difference(change.before.sentence.text, change.after),
                "before": change.before.sentence.text,
                "after": change.after,
                "why": change.why_coded,
            }
            for change in answer.changes
        ],
        "searched": ask_wording.search_details(answer),
    }


def _sentence(
    checked: Checked, known: Mapping[int, Document], say: Callable[[str], str]
) -> dict[str, object]:
    standing = checked.standing
    look = ask_wording.LOOKS[standing]
    return {
        "text": checked.sentence.text,
        "standing": standing.value,
        "tone": look.tone,
        "sign": look.sign,
        "label": ask_wording.label(checked, say),
        "numbers": ask_wording.numbers(checked),
        "is_copied": standing in ask_wording.COPIES,
        "is_joined": standing in CONFIRMED and not checked.notes,
        "notes": checked.notes_coded,
        "inherited": checked.inherited,
        "verdicts": [_verdict(verdict, known, say) for verdict in checked.verdicts],
        "open": standing not in (Standing.SUPPORTED, *ask_wording.COPIES),
    }


def _verdict(
    verdict: ReferenceVerdict, known: Mapping[int, Document], say: Callable[[str], str]
) -> dict[str, object]:
    document = known.get(verdict.number or 0)
    evidence = verdict.evidence
    look = ask_wording.LOOKS[standing([verdict.support])]
    return {
        "number": verdict.number if document else None,
        "written": verdict.written,
        "title": ask_wording.title_of(document) if document else "",
        "tone": look.tone,
        "words": f"{look.sign} {say(ask_wording.VERDICTS[verdict.support])}",
        "why": verdict.why_coded,
        "shares": {
            "supported": cells.percent(evidence.prob_supported),
            "refuted": cells.percent(evidence.prob_refuted),
        }
        if evidence and standing([verdict.support]) not in ask_wording.COPIES
        else None,
        "reasons": evidence.reasons_coded if evidence else (),
        "text": _split_at_quote(evidence, document) if evidence else None,
        "quote": ask_wording.quote_of(verdict),
    }


def _split_at_quote(evidence: Evidence, document: Document | None) -> dict[str, str]:
    """Split a short document, else the passage, into before, the closest sentence, and after."""
    passage, quote = evidence.passage, ask_wording.quote_span(evidence)
    text, shift = passage.text, 0
    if document and len(document.text) <= WHOLE and passage.span.of(document.text) == passage.text:
        text, shift = document.text, passage.span.start
    start, end = Span(quote.start + shift, quote.end + shift) if quote else (len(text), len(text))
    return {"head": text[:start], "quote": text[start:end], "tail": text[end:]}


def _reference(
    reference: Reference, answer: Answer, say: Callable[[str], str], with_texts: bool
) -> dict[str, object]:
    document = reference.document
    return {
        "number": reference.number,
        "title": ask_wording.title_of(document),
        "url": ask_wording.url_of(document),
        "href": safe_link(document.url),
        "line": ask_wording.published_in(reference),
        "links": bibliography.links(document.meta),
        "mark": ask_wording.mark_of(reference, say),
        "mark_tone": "unchecked" if reference.retraction is Retraction.CORRECTED else "refuted",
        "notices": document.meta.get("notices", ""),
        "says": [
            (support.value, ask_wording.places_of(reference, answer.sentences, support))
            for support in (Support.VERBATIM, Support.SUPPORTS, Support.PARTLY, Support.CONTRADICTS)
        ],
        "is_named": False,
        "text": document.text[:WHOLE] if with_texts else "",
    }


# ── CSV ──────────────────────────────────────────────────────────────────────────────────────────

COLUMNS = [
    *"question sentence_number sentence label references titles dois urls quote why notes".split(),
    *"abstained warnings left_out".split(),
]
Value = str | int | None


def to_csv(report: AnswerReport) -> str:
    return cells.csv_text(COLUMNS, rows(report))


def rows(report: AnswerReport) -> Iterator[list[Value]]:
    """Yield the values of `COLUMNS` for each sentence.

    A question without an answer has one row, with the reason. Each row has what is known of the
    whole answer.
    """
    for answer in report.answers:
        whole: dict[str, Value] = {
            "question": answer.question,
            "abstained": answer.abstained or answer.failure or None,
            "warnings": " | ".join(ask_wording.cautions(answer)),
            "left_out": " | ".join(ask_wording.title_of(r.document) for r in answer.left_out),
        }
        for row in _rows(answer) or [{}]:
            values = whole | row
            yield [values.get(name) for name in COLUMNS]


def _rows(answer: Answer) -> list[dict[str, Value]]:
    of_number = {reference.number: reference for reference in answer.references}
    of_sentences: list[dict[str, Value]] = []
    for number, checked in enumerate(answer.sentences, 1):
        verdicts = checked.verdicts
        quotes = (v.evidence.quoted for v in verdicts if v.evidence)
        cited = [of_number[v.number].document for v in verdicts if v.number in of_number]
        of_sentences.append(
            {
                "sentence_number": number,
                "sentence": checked.sentence.text,
                "label": ask_wording.LOOKS[checked.standing].label,
                "references": ", ".join(ask_wording.numbers(checked)),
                "titles": " | ".join(cells.one_line(document.title) for document in cited),
                "dois": " | ".join(filter(None, (document.meta.get("doi") for document in cited))),
                "urls": " | ".join(document.url for document in cited),
                "quote": " | ".join(filter(None, quotes)),
                "why": "; ".join(v.why for v in verdicts if v.why),
                "notes": "; ".join(checked.notes),
            }
        )
    return of_sentences
