"""Results of the tools: a subset of each report's JSON, by the same names.

A whole report, with every passage and offset, is several times too large for an agent's context.
Empty values are left out. Details of why a source was not read are too: they may name folders.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from pincite.codec import DIGITS, values_of
from pincite.types import Hit
from pincite.verbs.ask import wording as ask_wording
from pincite.verbs.ask.report import AnswerReport
from pincite.verbs.check import wording as check_wording
from pincite.verbs.check.report import CheckReport
from pincite.verbs.verify import wording
from pincite.verbs.verify.report import Report

Values: TypeAlias = dict[str, Any]
Wanted: TypeAlias = dict[str, "Wanted | None"]  # None: the whole value
SIDES = ("for", "against", "failed")  # of passages that are shown; others are neutral
GIVEN = "https://source.invalid/given"  # stands in for a missing source URL; never shown


def _named(names: str, **parts: Wanted) -> Wanted:
    return {**dict.fromkeys(names.split()), **parts}


_UNREAD = _named("url reason")
_PART = _named("kind words")
_EVIDENCE = _named("title url passage span quote quote_span prob_supported prob_refuted reasons")
_FINDING = _named(
    "claim label prob_supported verifiability decided_by",
    citations=_named(
        "title url label place",
        evidence=_EVIDENCE,
        unchecked=_UNREAD,
        missing=_PART,
        work=_named("status messages"),
        copy=_named("kind date corpus"),
        changed=_named("label"),
    ),
    missing=_PART,
    opinion=_named("model verdict why quotes missing"),
    suggestions=_named("published place corpus", evidence=_EVIDENCE),
)
_ARTICLE = _named(
    "title url complete warnings", findings=_FINDING, counts=_named("judged labels with_suggestion")
)
_CHECK = _named(
    "statement complete",
    failures=_named("detail"),
    readings=_named(
        "text kind label summary warning",
        evidence=_EVIDENCE | _named("side doc published corpus", failed=_named("detail")),
        unread=_UNREAD,
    ),
)
_REFERENCE = _named("number title url published corpus retraction")
_ANSWER = _named(
    "question answer abstained unanswered failure written_by",
    sentences=_named(
        "text standing notes", verdicts=_named("number support why", evidence=_EVIDENCE)
    ),
    references=_REFERENCE,
    left_out=_REFERENCE,
)
_PASSAGE = _named("title url passage span")


def picked(values: Any, wanted: Wanted | None) -> Any:
    """Return the wanted parts of JSON values: of evidence the quote, else the whole passage."""
    if isinstance(values, list):
        return [picked(each, wanted) for each in values]
    if wanted is None or not isinstance(values, dict):
        return values
    left_out = {"passage", "span"} if values.get("quote") else set()
    return {
        name: picked(values[name], part)
        for name, part in wanted.items()
        if name not in left_out and values.get(name) not in (None, "", [], {}, GIVEN)
    }


def of_article(report: Report, limit: int) -> Values:
    found: Values = picked(report.to_values(), _ARTICLE)
    advice = wording.flag_advice(report.flag_precision) or wording.ADVICE
    return found | {"findings": found.get("findings", [])[:limit], "advice": advice}


def of_claim(report: Report) -> Values:
    found = of_article(report, 1)
    warnings = {"warnings": found["warnings"]} if "warnings" in found else {}
    return {**found["findings"][0], "advice": wording.ADVICE, **warnings}


def of_statement(report: CheckReport) -> Values:
    found: Values = picked(report.to_values(), _named("warnings", checks=_CHECK))
    (check,) = found.pop("checks")
    for reading in check.get("readings", ()):
        reading["evidence"] = [e for e in reading.get("evidence", ()) if e["side"] in SIDES]
    return {**check, **found, "advice": check_wording.ADVICE}


def of_answer(report: AnswerReport) -> Values:
    found: Values = picked(report.to_values(), _named("warnings", answers=_ANSWER))
    (answer,), (whole,) = found.pop("answers"), report.answers
    if whole.abstained:
        answer.pop("answer", None)  # it has the nearest sentences, none of them confirmed
    named = [each for each in answer.get("references", ()) if each["number"] in whole.cited]
    cautions, advice = ask_wording.cautions(whole), ask_wording.advice([whole])
    return {**answer, "references": named, **found, "cautions": cautions, "advice": advice}


def of_hits(hits: Sequence[Hit], corpora: Sequence[str]) -> Values:
    """Convert search hits; `corpora` has the corpus of each hit."""
    found = picked([values_of(hit.passage, DIGITS) for hit in hits], _PASSAGE)
    return {"passages": [{**e, "corpus": name} for e, name in zip(found, corpora, strict=True)]}
