"""A small check report built by hand, whose every text may be hostile."""

from dataclasses import replace

from pincite.judgement import confirmation
from pincite.judgement.confirmation import Unjudged, Weighed
from pincite.notes import as_written
from pincite.protocols import Usage
from pincite.types import (
    Bar,
    CopyKind,
    Exclusion,
    Failed,
    Passage,
    Reason,
    Span,
    StatementType,
    Unchecked,
)
from pincite.verbs.check.report import Check, CheckReport, Reading, ReadingResult


def weighed(doc: float | None, n: int, text: str, url: str) -> Weighed:
    passage = Passage(f"{n:016x}", url, text, f"It says: {text} And more.", Span(5, 25 + len(text)))
    if doc is None:
        return Weighed(Unjudged("reply", f"unreadable: {text}", passage), n, "failed")
    quote = Span(9, 9 + len(text)) if text.strip() else None
    answers = confirmation.from_answers(passage, max(doc, 0.0), max(-doc, 0.0), quote)
    judged = replace(answers, notes=as_written(text), analysis=text)
    meta = {"author": text, "publisher": text}
    origin = CopyKind.LIVE if n == 1 else CopyKind.CORPUS
    side = confirmation.side(doc)
    return Weighed(judged, n, side, f"20{10 + n}-05-14", meta, (url,), origin=origin)


def reading(number: int, text: str, kind: str) -> Reading:
    return Reading(f"r{number}", text, StatementType(kind), f"Not so: {text}", "rule")


def result(number: int, text: str, url: str, *docs: float | None) -> ReadingResult:
    items = tuple(weighed(doc, n, text, url) for n, doc in enumerate(docs))
    return ReadingResult(reading(number, text, "descriptive"), items, confirmation.combine(items))


def check_report(text: str = "Varde", url: str = "https://varde.example/") -> CheckReport:
    unread = Unchecked(url, Reason.PAYWALL, text)
    excluded = Exclusion(url, text, Bar.WIKI, text)
    results = (
        result(1, text, url, 0.9, 0.5, -0.8, 0.1, None),
        replace(result(2, text, url), unread=(unread,), excluded=(excluded,)),
        result(3, text, url, None),
        result(4, text, url, 0.9, -0.9),
        result(5, text, url, -0.5),
    )
    failure = Failed("negation", f"no negation: {text}")
    return CheckReport(
        checks=(Check(text, results, text, (failure,)),),
        n_statements=2,
        usage=Usage(8, 1, 2, 3, 100, 20, 0.5, 1.5),
        warnings_coded=as_written(text),
        settings={"language": "en", "check.threshold": 0.2, "filters.where": text},
        versions={"pincite": "0", "judge": text},
        created="2026-11-21T12:00:00+00:00",
    )
