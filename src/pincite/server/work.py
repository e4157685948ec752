"""One job done: a request in, the report's JSON out. Runs in a process of its own (`runner`).

Where a person waits, events tell what is under way. `KeyboardInterrupt` ends the work early, with
what there is of a result.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pincite.checks import Interpretation, StatementType
from pincite.core import readings
from pincite.documents.web_sources import FetchStep
from pincite.errors import InputError
from pincite.pipeline.settings import Settings
from pincite.server.beside import beside
from pincite.server.examples import EXAMPLES
from pincite.server.jobs import Kind
from pincite.server.requests import KINDS, AskRequest, CheckRequest, VerifyRequest
from pincite.types import Article, Document, Finding, Report

SOURCE_CHARS = 20_000_000  # of the documents that are kept with a job, together
Tell = Callable[[str, Mapping[str, Any]], None]  # kind of event, data


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a job."""

    result: str  # JSON, as the command line's --json
    complete: bool  # False: it was stopped before its end
    title: str = ""  # as it turned out: of the article
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def done(
    kind: Kind, request: Mapping[str, Any], corpus: Path | None, settings: Settings, tell: Tell
) -> Done:
    """The work of one job.

    Args:
        kind: "verify", "check" or "ask".
        request: as it was accepted, see `server.requests`.
        corpus: folder of the corpus that it names.
        settings: the server's; those that the request sets take their place.
        tell: hears of what happens.

    Raises:
        PinciteError: it cannot be done; the message is for whoever asked.
    """
    body = KINDS[kind].model_validate(request)
    ready = dataclasses.replace(settings, **body.settings.given())
    if isinstance(body, VerifyRequest):
        return _verified(body, corpus, ready, tell)
    if corpus is None:
        raise InputError("The corpus that the request names is not there any more.")
    if isinstance(body, CheckRequest):
        return _checked(body, corpus, ready, tell)
    return _answered(body, corpus, ready, tell)


# ── verify ───────────────────────────────────────────────────────────────────────────────────────


def _verified(body: VerifyRequest, corpus: Path | None, settings: Settings, tell: Tell) -> Done:
    from pincite.pipeline import build
    from pincite.report import data

    article = _article(body, settings, tell)
    settings = dataclasses.replace(settings, language=article.language)
    sources = EXAMPLES[body.example].sources if body.example else None
    seen: dict[str, Document] = {}
    with build.verifying(settings, corpus, sources, fetching=_fetching(tell)) as run:
        tell("article", {"title": article.title, "claims": len(article.claims)})
        pipeline = _recording(run.pipeline, seen)
        findings: list[Finding] = []
        complete = True
        try:
            run.prepare(article)
            for finding in pipeline.findings(article):
                findings.append(finding)
                judged = {"claim_id": finding.claim.claim_id, "label": str(finding.label)}
                tell("judged", {**judged, "done": len(findings), "total": len(article.claims)})
        except KeyboardInterrupt:
            complete = False
        report = build.report_of(article, findings, settings, run)
        calibration = getattr(run.pipeline.verifier, "calibration", None)
        view = beside(article, body.markup, report.findings, seen, calibration)
    files = {"article": {"source": article.source, "title": article.title}, "view": view}
    return Done(data.to_json(report), complete, article.title, files | _shown(report, seen))


def _article(body: VerifyRequest, settings: Settings, tell: Tell) -> Article:
    from pincite.pipeline import articles
    from pincite.wiki.article import parse_article, read_articles

    if body.example:
        example = EXAMPLES[body.example]
        return next(iter(read_articles(example.article, title=example.title)))
    if body.text:
        title = body.title or "Untitled"
        return parse_article(body.text, title, markup=body.markup, language=settings.language)
    return articles.article_at(
        body.article or "", settings, lambda line: tell("note", {"text": line})
    )


def _fetching(tell: Tell) -> Callable[[FetchStep], None]:
    def step(now: FetchStep) -> None:
        host = now.url.partition("://")[2].partition("/")[0]
        tell("fetching", {"host": host, "done": now.n_done, "total": now.n_urls})

    return step


def _recording(pipeline: Any, seen: dict[str, Document]) -> Any:
    """The same pipeline, which notes the documents that it reads."""
    source_of, documents_of = pipeline.source_of, pipeline.documents_of

    def noted_source(url: str) -> Any:
        found = source_of(url)
        if isinstance(found, Document):
            seen[found.doc_id] = found
        return found

    def noted(urls: Any) -> list[Document | None]:
        found = documents_of(urls)
        seen.update((each.doc_id, each) for each in found if each)
        return list(found)

    return dataclasses.replace(
        pipeline, source_of=noted_source, documents_of=noted if documents_of else None
    )


def _shown(report: Report, seen: Mapping[str, Document]) -> dict[str, dict[str, Any]]:
    """The documents that the report quotes, whole, as far as there is room."""
    quoted = [
        getattr(each.outcome, "passage", None)
        for finding in report.findings
        for each in finding.citations
    ]
    quoted += [s.evidence.passage for finding in report.findings for s in finding.suggestions]
    kept: dict[str, dict[str, Any]] = {}
    room = SOURCE_CHARS
    for passage in filter(None, quoted):
        document = seen.get(passage.doc_id)
        if document and document.doc_id not in kept and len(document.text) <= room:
            room -= len(document.text)
            kept[document.doc_id] = dataclasses.asdict(document)
    return kept


# ── check ────────────────────────────────────────────────────────────────────────────────────────


def _checked(body: CheckRequest, corpus: Path, settings: Settings, tell: Tell) -> Done:
    from pincite.pipeline import build_check
    from pincite.report import check_data

    def judging(n_done: int, total: int) -> None:
        tell("asking", {"done": n_done, "total": total})

    with build_check.checking(settings, corpus, tell=judging) as run:
        found = _readings(body, settings) or run.pipeline.interpretation(body.statement)
        listed = [dataclasses.asdict(reading) for reading in found.readings]
        tell("readings", {"readings": listed, "by": found.by})
        if body.only_readings:
            return Done(json.dumps(dataclasses.asdict(found)), complete=True)
        check = run.pipeline.check(body.statement, found)
        report = build_check.report_of([check], 1, settings, run)
    return Done(check_data.to_json(report), report.complete)


def _readings(body: CheckRequest, settings: Settings) -> Interpretation | None:
    """Those that a person kept, worded or merged; None if nobody did."""
    if body.readings is None:
        return None
    given = []
    for each in body.readings:
        kind = StatementType(each.kind) if each.kind else None
        reading = readings.of_user(each.text, settings.language, kind)
        if each.negation:
            reading = dataclasses.replace(reading, negation=each.negation)
        given.append(reading)
    return Interpretation(tuple(readings.numbered(given)), "user")


# ── ask ──────────────────────────────────────────────────────────────────────────────────────────


def _answered(body: AskRequest, corpus: Path, settings: Settings, tell: Tell) -> Done:
    from pincite.pipeline import build_ask
    from pincite.report import ask_data

    if body.repair is not None:
        settings = dataclasses.replace(settings, repair=body.repair)
    with build_ask.asking(settings, corpus) as run:
        answer = run.pipeline.ask(
            body.question,
            lambda checked: tell("sentence", ask_data.sentence_dict(checked)),
            lambda n_verified, waiting: tell("draft", {"after": n_verified, "texts": [*waiting]}),
        )
        report = build_ask.report_of([answer], 1, settings, run)
    return Done(ask_data.to_json(report), report.complete)
