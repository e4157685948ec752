"""A report that `ask --json` wrote, read again: for exports and for pages of an earlier answer.

A file may have been edited or come from elsewhere, so that each value is looked at before it is
believed. What is derived (`complete`, `supports`, …) is not read but follows anew.
"""

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from pincite.answers import (
    Answer,
    AnswerReport,
    Change,
    Checked,
    Mark,
    Reference,
    Searched,
    Sentence,
    Standing,
    Support,
    Verdict,
)
from pincite.checks import Usage
from pincite.errors import InputError
from pincite.report.json_values import Values
from pincite.types import Document, Evidence, Passage, Span
from pincite.verbs.ask.data import SCHEMA_VERSION

MOST_BYTES = 500_000_000  # of a file; a thousand answers with their full texts are less


def read_answers(path: Path) -> AnswerReport:
    """The report in a file.

    Raises:
        InputError: the file cannot be read, or is no report of this version.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path} has more than {MOST_BYTES:,} bytes: no report is so large.")
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as JSON: {error}") from error
    try:
        return from_dict(values)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def from_dict(values: object) -> AnswerReport:
    """The report that `ask_data.as_dict` made these values of, but for rounding.

    Raises:
        InputError: they are not such values; the message names the first that is wrong.
    """
    given = Values(values, "")
    version = given.any("schema_version")
    if version != SCHEMA_VERSION:
        raise InputError(
            f"schema_version is {version!r}, this Pincite reads {SCHEMA_VERSION!r}. Give it what "
            "`pincite ask --json` of this version wrote, or ask again."
        )
    return AnswerReport(
        answers=given.each("answers", _answer),
        n_questions=given.whole("n_questions"),
        usage=_usage(given.inner("usage")),
        warnings=given.texts("warnings"),
        settings=given.settings("settings"),
        versions=given.pairs("versions"),
        created=given.text("created"),
    )


def _usage(given: Values) -> Usage:
    names = [field.name for field in fields(Usage)]
    counts: Mapping[str, Any] = {
        name: given.number(name) if name in ("cost", "seconds") else given.whole(name)
        for name in names
    }
    return Usage(**counts)


def _answer(given: Values) -> Answer:
    return Answer(
        question=given.text("question"),
        text=given.text("answer"),
        sentences=given.each("sentences", _checked),
        references=given.each("references", _reference),
        by=given.text("written_by"),
        searched=_searched(given.inner("searched")),
        abstained=given.maybe("abstained", given.text) or "",
        dropped=given.each("dropped", _checked),
        changes=given.each("changes", _change),
        cut=given.flag("cut"),
        failure=given.maybe("failure", given.text) or "",
        left_out=given.each("left_out", _reference) if given.has("left_out") else (),
    )


def _searched(given: Values) -> Searched:
    return Searched(
        corpus=given.text("corpus"),
        n_documents=given.whole("n_documents"),
        mode=given.text("mode"),
        filters=given.text("filters"),
        found=given.texts("found"),
        best=given.maybe("best", given.number),
        absent=given.texts("absent"),
    )


def _checked(given: Values) -> Checked:
    marks = given.each("marks", lambda mark: Mark(mark.span("span"), mark.texts("ids")))
    return Checked(
        sentence=Sentence(given.span("span"), given.text("text"), marks),
        verdicts=given.each("verdicts", _verdict),
        standing=given.one_of("standing", Standing),
        inherited=given.flag("inherited"),
        notes=given.texts("notes"),
    )


def _verdict(given: Values) -> Verdict:
    evidence = given.maybe("evidence", given.inner)
    return Verdict(
        written=given.text("written"),
        support=given.one_of("support", Support),
        number=given.maybe("number", given.whole),
        evidence=_evidence(evidence) if evidence else None,
        why=given.text("why"),
    )


def _evidence(given: Values) -> Evidence:
    span, quote = given.span("span"), given.maybe("quote_span", given.span)
    if quote and quote.start < span.start:
        raise InputError(f"a quote_span begins before its passage: {list(quote)} in {list(span)}")
    passage = Passage(
        doc_id=given.text("doc_id"),
        url=given.text("url"),
        title=given.text("title"),
        text=given.text("passage"),
        span=span,
        about=given.text("about"),
    )
    return Evidence(
        passage=passage,
        prob_supported=given.number("prob_supported"),
        prob_refuted=given.number("prob_refuted"),
        prob_neutral=given.number("prob_neutral"),
        score=given.number("score"),
        quote=Span(quote.start - span.start, quote.end - span.start) if quote else None,
        reasons=given.texts("reasons"),
    )


def _reference(given: Values) -> Reference:
    document = Document(
        url=given.text("url"),
        title=given.text("title"),
        text=given.text("text"),
        kind=given.text("kind"),
        published=given.maybe("published", given.text),
        fetched=given.maybe("fetched", given.text),
        language=given.maybe("language", given.text),
        meta=given.pairs("meta"),
    )
    ref_id, relevance = given.text("ref_id"), given.number("relevance")
    return Reference(given.whole("number"), ref_id, document, relevance)


def _change(given: Values) -> Change:
    return Change(_checked(given.inner("before")), given.text("after"), given.text("why"))
