"""One job done: a request in, the report's JSON out. Runs in a process of its own (`runner`).

Where a person waits, events tell what is under way. `KeyboardInterrupt` ends the work early, with
what there is of a result. Beside a verified article lies what its page shows and the report does
not hold: the article as a reader sees it, with its claims' places; what no source states of each
claim, so that another threshold needs no new judgement; how often flags are right at each
threshold.
"""

import dataclasses
import logging
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, count
from pathlib import Path
from typing import Any, Literal

from pincite.containment import attempted
from pincite.corpus.protocol import Address
from pincite.errors import ConfigError, InputError
from pincite.judgement import aggregation
from pincite.judgement.confirmation import StatementType
from pincite.judgement.fusion import Atoms
from pincite.models.calibration import Calibration
from pincite.notes import Note
from pincite.report import cells
from pincite.server.jobs.sources import SENT, as_values, laid_out, matched
from pincite.server.requests import (
    EXAMPLES,
    KINDS,
    AskRequest,
    CheckRequest,
    SentFile,
    VerifyFilesRequest,
    VerifyRequest,
)
from pincite.server.tables import Kind
from pincite.server.uploads import Sources
from pincite.settings import Settings
from pincite.types import (
    Article,
    CitationResult,
    Claim,
    Document,
    Evidence,
    Finding,
    Part,
    Passage,
    Span,
    Unchecked,
)
from pincite.verbs.check import readings
from pincite.verbs.check.records import Interpretation
from pincite.verbs.verify import wording
from pincite.verbs.verify.build import flag_precision
from pincite.verbs.verify.pipeline import VerifyPipeline
from pincite.verbs.verify.report import Report
from pincite.web.sources import FetchStep
from pincite.wiki.article import read_flat
from pincite.wiki.flat import Block, BlockKind

THRESHOLDS = tuple(step / 20 for step in range(1, 20))  # of the slider
_SHOWN_ALWAYS = (BlockKind.PARAGRAPH, BlockKind.ITEM, BlockKind.HEADING)


def beside(
    article: Article,
    blocks: Sequence[Mapping[str, Any]],
    findings: Sequence[Finding],
    seen: Mapping[str, Document],
    calibration: Calibration | None,
) -> dict[str, Any]:
    """All of it as JSON values.

    Args:
        article: with its claims.
        blocks: of its text, see `blocks_of`.
        findings: on its claims.
        seen: the documents that were read, by id.
        calibration: of the verifier; None: nobody measured it.
    """
    return {
        "blocks": blocks,
        "atoms": {
            f.claim.claim_id: attempted(partial(_atoms, f, seen), lambda _: {}) for f in findings
        },
        "sections": sections_of(blocks),
        "names": {c.citation_id: wording.name_of(c) for k in article.claims for c in k.citations},
        "precision": {
            f"{threshold:.2f}": flag_precision(calibration, threshold) if calibration else ()
            for threshold in THRESHOLDS
        },
    }


def atoms_of(stored: Mapping[str, Any], claim: str) -> Atoms:
    """The atoms of one claim, as `beside` gave them."""
    return {
        citation: [Part(kind, Span(a, b), claim[a:b], supported=False) for kind, a, b in found]
        for citation, found in stored.items()
    }


def blocks_of(article: Article, markup: Literal["wikitext", "html"]) -> list[dict[str, Any]]:
    """The article's text as a reader sees it, with the claims' places, as JSON values.

    Args:
        article: with its claims.
        markup: of its source.
    """
    placed = _Placed(article.claims)
    shown: list[dict[str, Any]] = []
    n_sections = 0
    for block in read_flat(article.source, markup, article.language).blocks:
        if not block.text:
            continue
        claims = _claims_in(block, placed.between(min(block.starts), max(block.ends)))
        if claims or block.kind in _SHOWN_ALWAYS:
            n_sections += block.kind is BlockKind.HEADING
            shown.append(
                {
                    "section": n_sections,
                    "kind": str(block.kind),
                    "text": block.text,
                    "label": block.label,
                    "claims": claims,
                }
            )
    return shown


def sections_of(blocks: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """By claim the number of its section, as MediaWiki counts them: 0 before the first heading."""
    return {
        claim_id: block["section"]
        for block in reversed(blocks)  # of a claim in several the first counts
        for _, _, claim_id in block["claims"]
    }


class _Placed:
    """Claims by their places in the source: thousands are asked for by thousands of blocks."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        self._all = sorted((claim.span, claim.claim_id) for claim in claims if claim.span)
        self._starts = [span.start for span, _ in self._all]
        self._reach = list(accumulate((span.end for span, _ in self._all), max))

    def between(self, start: int, end: int) -> list[tuple[Span, str]]:
        """Those of which some part lies there, by their starts."""
        near = self._all[bisect_right(self._reach, start) : bisect_left(self._starts, end)]
        return [placed for placed in near if start < placed[0].end]


def _claims_in(block: Block, claims: Sequence[tuple[Span, str]]) -> list[tuple[int, int, str]]:
    """Where claims stand in the block's text, in order; of two that overlap the first stands."""
    found = []
    for span, claim_id in claims:
        inside = [
            i
            for i, (start, end) in enumerate(zip(block.starts, block.ends, strict=True))
            if span.start <= start and end <= span.end
        ]
        if inside:
            found.append((inside[0], inside[-1] + 1, claim_id))
    placed: list[tuple[int, int, str]] = []
    for start, stop, claim_id in sorted(found):
        start = max(start, placed[-1][1] if placed else 0)
        if start < stop:
            placed.append((start, stop, claim_id))
    return placed


def _atoms(finding: Finding, seen: Mapping[str, Document]) -> dict[str, list[tuple[str, int, int]]]:
    """By citation what its source states nowhere; under "" what no source of the group states."""
    claim, found, every = finding.claim.text, {}, []
    for result in finding.citations:
        if not isinstance(result.outcome, Evidence):
            continue
        passage = result.outcome.passage
        if document := seen.get(passage.doc_id):
            whole = Span(0, len(document.text))
            passage = Passage(
                passage.doc_id, passage.url, passage.title, document.text, whole, passage.about
            )
        every.append(passage)
        found[result.citation.citation_id] = _plain(aggregation.missing_atoms(claim, [passage]))
    found[""] = _plain(aggregation.missing_atoms(claim, every))
    return found


def _plain(atoms: Sequence[Part]) -> list[tuple[str, int, int]]:
    return [(atom.kind, *atom.span) for atom in atoms]


LOG = logging.getLogger("pincite.server.jobs.work")
NOT_SENT = "no file that you sent is a copy of it"
TOLD = 140  # characters of a claim in what is told of it while the job runs
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
    kind: Kind,
    request: Mapping[str, Any],
    corpus: Mapping[str, Address] | None,
    settings: Settings,
    tell: Tell,
    sent: Sources | None = None,
) -> Done:
    """The work of one job.

    Args:
        kind: "verify", "check" or "ask".
        request: as it was accepted, see `server.requests`.
        corpus: where the corpora lie that it names, by name.
        settings: the server's, with the folder of own copies of whoever asked; those that the
            request sets take their place.
        tell: hears of what happens.
        sent: folders of the files that came with the request.

    Raises:
        PinciteError: it cannot be done; the message is for whoever asked.
    """
    body = KINDS[kind].model_validate(request)
    ready = settings.replace(**body.settings.given())
    if isinstance(body, VerifyRequest):
        return _verified(body, corpus, ready, tell, _sent(body, sent))
    if corpus is None:
        raise InputError("The corpus that the request names is not there any more.")
    if isinstance(body, CheckRequest):
        return _checked(body, corpus, ready, tell)
    return _answered(body, corpus, ready, tell)


# ── verify ───────────────────────────────────────────────────────────────────────────────────────


def _verified(
    body: VerifyRequest,
    corpus: Mapping[str, Address] | None,
    settings: Settings,
    tell: Tell,
    sent: "_Sent | None",
) -> Done:
    from pincite.verbs.verify import build

    article = _article(body, settings, tell)
    settings = settings.replace(language=article.language)
    sources = EXAMPLES[body.example].sources if body.example else None
    if sent:
        sources = sent.matched(article)
    seen: dict[str, Document] = {}
    told = _fetching(tell)
    with build.verifying(settings, corpus, sources, own_copies=True, fetching=told) as run:
        tell("article", {"title": article.title, "claims": len(article.claims)})
        # Now: whoever stops it need not wait for this.
        blocks = attempted(partial(blocks_of, article, body.markup), lambda _: [])
        run = dataclasses.replace(run, pipeline=noting(run.pipeline, seen))
        n_judged = count(1)

        def judged(finding: Finding) -> None:
            counted = {"done": next(n_judged), "total": len(article.claims)}
            tell("judged", {**_in_passing(finding), **counted})

        def asking(step: str, n_done: int, total: int | None) -> None:
            if step == "second opinions":
                tell("asking", {"done": n_done, "total": total})

        report = run.verify(article, asking, judged)
        if sent:
            report = sent.without_folder(report)
        calibration = getattr(run.pipeline.verifier, "calibration", None)
        quoted = _quoted(report, run.pipeline, seen)
        documents = {document.doc_id: document for document in quoted}
        view = beside(article, blocks, report.findings, documents, calibration)
    if sent:
        view["sent"] = sent.told
    files = {"article": {"source": article.source, "title": article.title}, "view": view}
    return Done(report.to_json(), not report.stopped, article.title, files | _within_room(quoted))


def _in_passing(finding: Finding) -> dict[str, Any]:
    """What is told of a claim while the job runs; `at`: the marks of its citations in the text."""
    claim = finding.claim
    text = cells.shortened(claim.text, TOLD)
    at = [(each.span.start, each.span.end) for each in claim.citations]
    return {"claim_id": claim.claim_id, "label": str(finding.label), "text": text, "at": at}


class _Sent:
    """Files of sources that came with an article, in a folder of their own."""

    def __init__(self, folders: Sources, files: Sequence[SentFile]) -> None:
        self._folder, self._n_files = folders.laid_out, len(files)
        (self._folder / SENT).mkdir()
        self._refused = laid_out(folders.stored, files, self._folder / SENT)
        self.told: Mapping[str, Any] = {}

    def matched(self, article: Article) -> Path:
        """The folder, in which each file has the addresses of the source that it is a copy of."""
        found = matched(self._folder, article)
        self.told = as_values(found, self._refused, self._n_files)
        return self._folder

    def without_folder(self, report: Report) -> Report:
        """The report without the name of this folder, which is the server's own business."""
        findings = [
            dataclasses.replace(f, citations=tuple(map(self._reworded, f.citations)))
            for f in report.findings
        ]
        warnings = tuple(map(_without_folder, report.warnings_coded))
        return dataclasses.replace(report, findings=tuple(findings), warnings_coded=warnings)

    def _reworded(self, result: CitationResult) -> CitationResult:
        outcome = result.outcome
        if isinstance(outcome, Unchecked) and str(self._folder) in outcome.detail:
            outcome = dataclasses.replace(outcome, detail=NOT_SENT)
        return dataclasses.replace(result, outcome=outcome)


def _without_folder(note: Note) -> Note:
    file = note.values.get("file")
    if not isinstance(file, str):
        return note
    return dataclasses.replace(note, values={**note.values, "file": file.removeprefix(f"{SENT}/")})


def _sent(body: VerifyRequest, folders: Sources | None) -> _Sent | None:
    """The files that came with a request; None if none did."""
    if not (isinstance(body, VerifyFilesRequest) and body.files):
        return None
    if folders is None or not folders.stored.is_dir():
        raise InputError("The sources that were sent are not there any more. Send them again.")
    return _Sent(folders, body.files)


def _article(body: VerifyRequest, settings: Settings, tell: Tell) -> Article:
    from pincite.verbs.verify import articles
    from pincite.wiki.article import PageText, parse_page, read_articles

    if body.example:
        example = EXAMPLES[body.example]
        return next(iter(read_articles(example.article, title=example.title)))
    if body.text:
        title = body.title or "Untitled"
        page = PageText(body.text, title, body.markup, language=body.settings.language)
        return parse_page(page, settings.language)
    return articles.article_at(
        body.article or "", settings, lambda line: tell("note", {"text": line})
    )


def _fetching(tell: Tell) -> Callable[[FetchStep], None]:
    def step(now: FetchStep) -> None:
        host = now.url.partition("://")[2].partition("/")[0]
        tell("fetching", {"host": host, "done": now.n_done, "total": now.n_urls})

    return step


def noting(pipeline: VerifyPipeline, read: dict[str, Document]) -> VerifyPipeline:
    """The same pipeline, which notes in `read` the cited sources that it reads, by document id."""

    def note(document: Document) -> None:
        read[document.doc_id] = document

    copies = dataclasses.replace(pipeline.copies, on_read=note)
    return dataclasses.replace(pipeline, copies=copies)


def _quoted(
    report: Report, pipeline: VerifyPipeline, read: Mapping[str, Document]
) -> list[Document]:
    """The documents that the report quotes, each once."""
    passages = [
        result.outcome.passage
        for finding in report.findings
        for result in finding.citations
        if isinstance(result.outcome, Evidence)
    ]
    of_citations = [read.get(passage.doc_id) for passage in passages]
    suggested = [s.evidence.passage.url for finding in report.findings for s in finding.suggestions]
    found = filter(None, [*of_citations, *pipeline.documents(suggested)])
    return list({document.doc_id: document for document in found}.values())


def _within_room(documents: Sequence[Document]) -> dict[str, dict[str, Any]]:
    """The documents whole, the first ones if they are too long together."""
    kept: dict[str, dict[str, Any]] = {}
    room = SOURCE_CHARS
    for document in documents:
        if len(document.text) <= room:
            room -= len(document.text)
            kept[document.doc_id] = dataclasses.asdict(document)
    return kept


# ── check ────────────────────────────────────────────────────────────────────────────────────────


def _checked(
    body: CheckRequest, corpus: Mapping[str, Address], settings: Settings, tell: Tell
) -> Done:
    from pincite.contract.codec import to_json, values_of
    from pincite.verbs.check import build as build_check
    from pincite.verbs.check import data as check_data
    from pincite.verbs.check import render

    def judging(n_done: int, total: int) -> None:
        tell("asking", {"done": n_done, "total": total})

    with build_check.checking(settings, corpus, tell=judging, fetching=_fetching(tell)) as run:

        def interpretation(statement: str) -> Interpretation:
            found = _readings(body, settings) or run.pipeline.interpretation(statement)
            tell("readings", {"readings": values_of(found.readings), "by": found.by})
            return found

        if body.only_readings:
            return Done(to_json(interpretation(body.statement)), complete=True)
        report = run.check([body.statement], interpretation=interpretation)
    try:
        render.log_checks(report, settings)
    except ConfigError as error:  # whoever asked has the result all the same
        LOG.warning("not logged: %s", error)
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


def _answered(
    body: AskRequest, corpus: Mapping[str, Address], settings: Settings, tell: Tell
) -> Done:
    from pincite.contract.codec import values_of
    from pincite.verbs.ask import build as build_ask
    from pincite.verbs.ask import data as ask_data

    if body.repair is not None:
        settings = settings.replace(repair=body.repair)
    with build_ask.asking(settings, corpus) as run:
        report = run.ask(
            [body.question],
            on_sentence=lambda checked: tell("sentence", values_of(ask_data.sentence_of(checked))),
            on_draft=lambda n_verified, waiting: tell(
                "draft", {"after": n_verified, "texts": [*waiting]}
            ),
        )
    return Done(ask_data.to_json(report), report.complete)
