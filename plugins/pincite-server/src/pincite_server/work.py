"""Do the work of one job in a worker process: take a request, return the result as JSON.

Events report progress to the user. `KeyboardInterrupt` stops the work early and keeps the partial
result. A verified article comes with a view for its page, which holds what the report lacks: the
article's text with the positions of its claims, the unstated parts of each claim (so that labels at
another threshold need no inference), and the precision of flags at each threshold.
"""

import dataclasses
import filecmp
import logging
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, count
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from urllib.parse import quote

from pincite import codec, runtime
from pincite.corpus import engines
from pincite.corpus.protocol import Address, Corpus
from pincite.corpus.update import How, Origins, Outcome, update
from pincite.errors import ConfigError, CorpusInUse, InputError, attempted
from pincite.judgement.aggregation import precisions
from pincite.judgement.confirmation import StatementType
from pincite.protocols import Encoder, Progress
from pincite.report import cells
from pincite.settings import Settings
from pincite.types import (
    Article,
    CitationResult,
    Document,
    Evidence,
    Finding,
    Reason,
    Span,
    Unchecked,
)
from pincite.verbs.check import readings
from pincite.verbs.check.report import Interpretation
from pincite.verbs.check.speakers import Occasion
from pincite.verbs.verify import article_files, wording
from pincite.verbs.verify.pipeline import VerifyPipeline
from pincite.verbs.verify.report import Report
from pincite.web.sources import FetchStep
from pincite.wiki.article import read_flat
from pincite.wiki.flat import Block, BlockKind
from pincite.wiki.uncited import is_read
from pincite_server.requests import (
    EXAMPLES,
    KINDS,
    AskRequest,
    CheckRequest,
    IngestRequest,
    SentFile,
    VerifyFilesRequest,
    VerifyRequest,
)
from pincite_server.tables import Kind, whole
from pincite_server.uploads import ZIP, Sources, unpack_files

LOG = logging.getLogger("pincite.server.work")
SHOWN_CHARS = 140  # of a claim, in events
SOURCE_CHARS = 20_000_000  # total, of the documents stored with a job
Emit = Callable[[str, Mapping[str, Any]], None]  # called with the kind of an event and its data


@dataclass(frozen=True, slots=True)
class Done:
    """The outcome of a job."""

    result: str  # JSON, as printed by `--json` on the command line
    complete: bool  # False if the job was stopped early
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def run(
    kind: Kind,
    request: Mapping[str, Any],
    corpus: Mapping[str, Address] | None,
    settings: Settings,
    emit: Emit,
    sent: Sources | None = None,
) -> Done:
    """Run a job of "verify", "check" or "ask".

    `corpus` has the addresses of the request's corpora, by name. `settings` are the server's, with
    the private copies of the job's owner; the request's settings override them. `sent` has the
    folders of the files that were uploaded with the request.

    Raises PinciteError: the job cannot be done; the message is for the user.
    """
    body = KINDS[kind].model_validate(request)
    settings = settings.replace(**body.settings.given())
    if isinstance(body, VerifyRequest):
        return _verify(body, corpus, settings, emit, sent)
    if corpus is None:
        raise InputError("The corpus of the request no longer exists.")
    if isinstance(body, CheckRequest):
        return _check(body, corpus, settings, emit)
    return _ask(body, corpus, settings, emit)


# ── verify ───────────────────────────────────────────────────────────────────────────────────────


def _verify(
    body: VerifyRequest,
    corpus: Mapping[str, Address] | None,
    settings: Settings,
    emit: Emit,
    folders: Sources | None,
) -> Done:
    from pincite.verbs.verify import build

    article = _article(body, settings, emit)
    sources = [EXAMPLES[body.example].folder / "sources"] if body.example else []
    refused: Sequence[article_files.Unused] = ()
    uploaded: Sequence[SentFile] = ()
    if isinstance(body, VerifyFilesRequest) and body.files:
        if folders is None or not folders.stored.is_dir():
            raise InputError("The uploaded files no longer exist. Upload them again.")
        sources, uploaded = [folders.unpacked], body.files
        refused = unpack_files(folders.stored, uploaded, folders.unpacked)
    seen: dict[str, Document] = {}  # the sources that were read, by document id
    fetching = _fetching(emit)
    with build.verifying_one(article, settings, corpus, sources, fetching=fetching) as run:
        sent = _describe_files(run.files, refused, uploaded) if run.files and uploaded else None
        emit("article", {"title": article.title, "claims": len(article.claims)})
        # Before the verdicts, so that a user who stops the job does not wait for it.
        blocks = attempted(partial(blocks_of, article, body.markup), lambda _: [])

        def on_read(document: Document) -> None:
            seen[document.doc_id] = document

        copies = dataclasses.replace(run.pipeline.copies, on_read=on_read)
        pipeline = dataclasses.replace(run.pipeline, copies=copies)
        run = dataclasses.replace(run, pipeline=pipeline)
        n_judged = count(1)

        def judged(finding: Finding) -> None:
            claim = finding.claim
            data = {"claim_id": claim.claim_id, "label": str(finding.label)}
            text = cells.shortened(claim.text, SHOWN_CHARS)
            marks = [(each.span.start, each.span.end) for each in claim.citations]
            counted = {"done": next(n_judged), "total": len(article.claims)}
            emit("judged", {**data, "text": text, "at": marks, **counted})

        def progress(step: str, n_done: int, total: int | None) -> None:
            if step == "second opinions":
                emit("asking", {"done": n_done, "total": total})

        report = run.verify(article, progress, judged)
        if sent and folders:
            unused = {file for file, *_ in sent["unused"]}
            report = _without_folder(report, folders.unpacked, unused)
        verifier = run.pipeline.verifier if is_read(article.language) else None
        calibration = getattr(verifier, "calibration", None)
        foreign = _in_other_languages(report, seen)
        quoted = [*_quoted_documents(report, run.pipeline, seen), *foreign.values()]
    view: dict[str, Any] = {
        "blocks": blocks,
        "precision": {
            f"{threshold:.2f}": precisions(calibration.rates_at(threshold)) if calibration else ()
            for threshold in THRESHOLDS
        },
        "unjudged": {url: document.doc_id for url, document in foreign.items()},
    }
    if sent:
        view["sent"] = sent
    files = {"article": {"source": article.source, "title": article.title}, "view": view}
    return Done(report.to_json(), not report.stopped, files | _within_limit(quoted))


def _article(body: VerifyRequest, settings: Settings, emit: Emit) -> Article:
    from pincite.verbs.verify import articles
    from pincite.wiki.article import PageText, parse_page, read_articles

    if body.example:
        example = EXAMPLES[body.example]
        return next(iter(read_articles(example.folder / "article.wiki", title=example.title)))
    if body.text:
        page = PageText(body.text, body.subject, body.markup, language=body.settings.language)
        return parse_page(page, settings.language)
    return articles.fetch_article(
        body.article or "", settings, lambda line: emit("note", {"text": line})
    )


def _fetching(emit: Emit) -> Callable[[FetchStep], None]:
    def step(now: FetchStep) -> None:
        host = now.url.partition("://")[2].partition("/")[0]
        emit("fetching", {"host": host, "done": now.n_done, "total": now.n_urls})

    return step


def _describe_files(
    files: article_files.ArticleFiles,
    refused: Sequence[article_files.Unused],
    uploaded: Sequence[SentFile],
) -> Mapping[str, Any]:
    """What became of the uploaded files, for the result's page."""
    return {
        "n_files": len(uploaded),
        "is_zip": all(file.name.lower().endswith(ZIP) for file in uploaded),
        "n_named": files.sources.n_named,
        "matched": [
            [each.file, each.ids, wording.name_of(each.citations[0])] for each in files.matches
        ],
        "unused": [[each.file, str(each.why), each.detail] for each in (*refused, *files.unused)],
    }


def _without_folder(report: Report, folder: Path, listed: Collection[str]) -> Report:
    """Remove the server's upload folder from the report, and the warnings on `listed` files."""

    def result(each: CitationResult) -> CitationResult:
        outcome = each.outcome
        if isinstance(outcome, Unchecked) and str(folder) in outcome.detail:
            outcome = dataclasses.replace(outcome, detail="no uploaded file is a copy of it")
        return dataclasses.replace(each, outcome=outcome)

    return dataclasses.replace(
        report,
        findings=tuple(
            dataclasses.replace(each, citations=tuple(map(result, each.citations)))
            for each in report.findings
        ),
        warnings_coded=tuple(
            note for note in report.warnings_coded if note.values.get("file") not in listed
        ),
    )


def _quoted_documents(
    report: Report, pipeline: VerifyPipeline, read: Mapping[str, Document]
) -> list[Document]:
    """The documents that the report quotes, without duplicates."""
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


def _in_other_languages(report: Report, read: Mapping[str, Document]) -> dict[str, Document]:
    """The documents, by URL, that were not judged because of their language."""
    results = (result for finding in report.findings for result in finding.citations)
    unread = (each.outcome for each in results if isinstance(each.outcome, Unchecked))
    urls = {why.url for why in unread if why.reason is Reason.LANGUAGE}
    return {document.url: document for document in read.values() if document.url in urls}


def _within_limit(documents: Sequence[Document]) -> dict[str, dict[str, Any]]:
    """Documents by id, skipping those that would exceed `SOURCE_CHARS` characters in total."""
    kept: dict[str, dict[str, Any]] = {}
    left = SOURCE_CHARS
    for document in documents:
        if len(document.text) <= left:
            left -= len(document.text)
            kept[document.doc_id] = dataclasses.asdict(document)
    return kept


# ── The view of a verified article ───────────────────────────────────────────────────────────────

THRESHOLDS = tuple(step / 20 for step in range(1, 20))  # the positions of the slider
_SHOWN_ALWAYS = (BlockKind.PARAGRAPH, BlockKind.ITEM, BlockKind.HEADING)


def blocks_of(article: Article, markup: Literal["wikitext", "html"]) -> list[dict[str, Any]]:
    """Split the article's text into blocks with the positions of its claims, as JSON values.

    Sections count as in MediaWiki: 0 before the first heading.
    """
    claims = sorted((claim.span, claim.claim_id) for claim in article.claims if claim.span)
    starts = [span.start for span, _ in claims]
    ends = list(accumulate((span.end for span, _ in claims), max))
    shown: list[dict[str, Any]] = []
    n_sections = 0
    for block in read_flat(article.source, markup, article.language).blocks:
        if not block.text:
            continue
        # Bisect, because an article may have thousands of blocks and claims.
        near = claims[bisect_right(ends, min(block.starts)) : bisect_left(starts, max(block.ends))]
        placed = _claims_in(block, near)
        if placed or block.kind in _SHOWN_ALWAYS:
            n_sections += block.kind is BlockKind.HEADING
            text = {"kind": str(block.kind), "text": block.text, "label": block.label}
            shown.append({"section": n_sections, **text, "claims": placed})
    return shown


def _claims_in(block: Block, claims: Sequence[tuple[Span, str]]) -> list[tuple[int, int, str]]:
    """Start, end and id of the claims in a block's text, in order and without overlaps."""
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


# ── check ────────────────────────────────────────────────────────────────────────────────────────


def _check(
    body: CheckRequest, corpus: Mapping[str, Address], settings: Settings, emit: Emit
) -> Done:
    from pincite.verbs.check import build, render

    def judging(n_done: int, total: int) -> None:
        emit("asking", {"done": n_done, "total": total})

    with build.checking(settings, corpus, on_calls=judging, fetching=_fetching(emit)) as run:
        occasion = Occasion(body.speaker, body.date, body.place)

        def interpretation(statement: str, occasion: Occasion = occasion) -> Interpretation:
            found = _readings(body, settings) or run.pipeline.interpretation(statement, occasion)
            emit("readings", {"readings": codec.values_of(found.readings), "by": found.by})
            return found

        if body.only_readings:
            return Done(codec.to_json(interpretation(body.statement[0])), complete=True)
        report = run.check(body.statement, _item(body.statement, emit), interpretation, [occasion])
    try:
        if not body.unlogged:
            render.log_checks(report, settings)
    except ConfigError as error:  # the user gets the result anyway
        LOG.warning("not logged: %s", error)
    return Done(report.to_json(), report.complete)


def _item(texts: Sequence[str], emit: Emit) -> Progress:
    """Report which of several statements or questions is being worked on."""

    def progress(_step: str, n_done: int, total: int | None) -> None:
        if len(texts) > 1:
            text = cells.shortened(texts[n_done], SHOWN_CHARS)
            emit("item", {"done": n_done, "total": total, "number": n_done + 1, "text": text})

    return progress


def _readings(body: CheckRequest, settings: Settings) -> Interpretation | None:
    """The readings that the user chose or wrote; None if there are none."""
    if body.readings is None:
        return None
    parsed = []
    for each in body.readings:
        kind = StatementType(each.kind) if each.kind else None
        reading = readings.user_reading(each.text, settings.language, kind)
        if each.negation:
            reading = dataclasses.replace(reading, negation=each.negation)
        parsed.append(reading)
    return Interpretation(tuple(readings.numbered(parsed)), "user")


# ── ask ──────────────────────────────────────────────────────────────────────────────────────────


def _ask(body: AskRequest, corpus: Mapping[str, Address], settings: Settings, emit: Emit) -> Done:
    from pincite.verbs.ask import build

    if body.repair is not None:
        settings = settings.replace(repair=body.repair)
    with build.asking(settings, corpus) as run:
        report = run.ask(
            body.question,
            _item(body.question, emit),
            on_sentence=lambda checked: emit("sentence", codec.values_of(checked, 4)),
            on_draft=lambda n_verified, waiting: emit(
                "draft", {"after": n_verified, "texts": [*waiting]}
            ),
        )
    return Done(report.to_json(), report.complete)


# ── ingest ───────────────────────────────────────────────────────────────────────────────────────

WAIT_SECONDS = 1.0  # between attempts, while another job writes to the corpus
MAX_DETAIL = 500
SCHEME = "upload:"


@dataclass(frozen=True, slots=True)
class Unread:
    """A file, or a record in a file, that could not be read."""

    file: str  # its original name; empty if unknown
    place: str  # URL or line of the record; empty for the whole file
    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class Ingested:
    """The result of adding files to a corpus."""

    complete: bool  # False if stopped; documents added so far are kept
    n_files: int
    n_added: int
    n_changed: int
    n_unchanged: int
    n_removed: int
    n_superseded: int
    passed_over: Mapping[str, int]
    n_problems: int
    problems: tuple[Unread, ...]  # the first `update.MAX_REFUSALS`
    restarted: bool = False  # documents that it added before the restart count as unchanged


def upload_url(name: str) -> str:
    """The address of a file that states none. Uploading the same name again replaces the file.

    >>> upload_url("two words.pdf")
    'upload:two%20words.pdf'
    """
    return SCHEME + quote(name, errors="replace")


def ingest(
    request: Mapping[str, Any],
    corpus: Path,
    folder: Path,
    settings: Settings,
    emit: Emit,
    *,
    restarted: bool = False,
) -> Done:
    """Add uploaded files to a corpus.

    Committed documents are kept and adding a file twice changes nothing, so a job whose process was
    killed can simply run again.

    `folder` has the files. The folder `corpus` is created if missing. `restarted` says whether an
    earlier attempt of the job was interrupted.

    Raises PinciteError: the job cannot be done; the message is for the user.
    """
    if not folder.is_dir():
        raise InputError("The files no longer exist. Upload them again.")
    files = _named_apart(IngestRequest.model_validate(request).files, folder)
    # A `file:` URL would reveal the server's folders.
    urls = {(folder / each.stored).resolve().as_uri(): upload_url(each.name) for each in files}
    how = How(
        reread=True,
        called={each.name: folder / each.stored for each in files},
        named=lambda url: urls.get(url, url),
    )
    outcome, complete = Outcome(), True

    def progress(now: Outcome) -> None:
        nonlocal outcome
        outcome = now
        n_documents = len(now.added) + len(now.changed)
        emit("reading", {"done": now.n_files_done, "total": now.n_files, "documents": n_documents})

    try:
        with (
            _writing(corpus, runtime.encoder(settings), emit) as opened,
            Origins(folder.parent) as origins,
        ):
            outcome = update(opened, origins, [*how.called.values()], how, progress)
    except KeyboardInterrupt:
        complete = False
    problems = [_unread(each, folder, files) for each in outcome.unread]
    result = codec.build(
        Ingested,
        outcome,
        complete=complete,
        n_added=len(outcome.added),
        n_changed=len(outcome.changed),
        n_removed=len(outcome.removed),
        n_problems=outcome.n_unread,
        problems=tuple(problems),
        restarted=restarted,
    )
    return Done(codec.to_json(result), complete)


def _named_apart(files: Sequence[SentFile], folder: Path) -> list[SentFile]:
    """The files with unique names: "a.pdf" and "a (2).pdf"; equal files of one name only once."""
    found = dict[str, SentFile]()
    for each in files:
        ending = PurePosixPath(each.name).suffix
        name, n = each.name, 1
        while (other := found.get(name)) and not filecmp.cmp(
            folder / other.stored, folder / each.stored, shallow=False
        ):
            n += 1
            name = f"{each.name.removesuffix(ending)} ({n}){ending}"
        found.setdefault(name, each.model_copy(update={"name": name}))
    return [*found.values()]


def _writing(folder: Path, encoder: Encoder, emit: Emit) -> Corpus:
    """Wait while another job writes to the corpus."""
    emitted = False
    while True:
        try:
            return engines.open_or_create(folder, encoder)
        except CorpusInUse:
            if not emitted:
                emit("waiting", {"for": "corpus"})
                emitted = True
            time.sleep(WAIT_SECONDS)


def _unread(unread: Unchecked, folder: Path, files: Sequence[SentFile]) -> Unread:
    """Describe a read failure with original file names instead of server paths."""
    name = next((each.name for each in files if unread.url == upload_url(each.name)), "")
    place, detail = ("" if name else unread.url), unread.detail
    for each in files:
        if not name and (place.startswith(each.stored) or each.stored in detail):
            name = each.name
        for stored in (str(folder / each.stored), each.stored):
            place, detail = place.replace(stored, each.name), detail.replace(stored, each.name)
    detail = detail.replace(str(folder), "")
    return Unread(name, whole(place)[:MAX_DETAIL], unread.reason, whole(detail)[:MAX_DETAIL])
