"""Verify the article of a job, and make the view for its page.

The view holds what the report lacks: the article's text with the positions of its claims, the
unstated parts of each claim (so that labels at another threshold need no inference), and the
precision of flags at each threshold.
"""

import dataclasses
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, count
from pathlib import Path
from typing import Any, Literal

from pincite.corpus.protocol import Address
from pincite.errors import InputError, attempt
from pincite.judgement.findings import flag_precisions
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
from pincite.verbs.verify import article_files, wording
from pincite.verbs.verify.pipeline import VerifyPipeline
from pincite.verbs.verify.report import Report
from pincite.web.sources import FetchStep
from pincite.wiki.article import read_flat
from pincite.wiki.flat import Block, BlockKind
from pincite.wiki.uncited import is_read
from pincite_server.jobs import Done, Emit
from pincite_server.requests import EXAMPLES, SentFile, VerifyFilesRequest, VerifyRequest
from pincite_server.uploads import ZIP, Sources, unpack_files

SHOWN_CHARS = 140  # of a claim, in events
SOURCE_CHARS = 20_000_000  # total, of the documents stored with a job


def verify(
    body: VerifyRequest,
    corpus: Mapping[str, Address] | None,
    settings: Settings,
    emit: Emit,
    folders: Sources | None,
) -> Done:
    """Verify the article of a request; see `work.run` for the arguments."""
    from pincite.verbs.verify import build

    article = _article(body, settings, emit)
    upload = _unpack(body, folders)
    example = [EXAMPLES[body.example].folder / "sources"] if body.example else []
    sources = [upload.folder] if upload else example
    documents: dict[str, Document] = {}  # the sources that were read, by id

    def keep(document: Document) -> None:
        documents[document.doc_id] = document

    def report_asking(step: str, n_done: int, total: int | None) -> None:
        if step == "second opinions":
            emit("asking", {"done": n_done, "total": total})

    fetching = report_fetching(emit)
    with build.verifying_one(article, settings, corpus, sources, fetching=fetching) as run:
        emit("article", {"title": article.title, "claims": len(article.claims)})
        # Before the verdicts, so that a user who stops the job does not wait for it.
        blocks = attempt(partial(blocks_of, article, body.markup), lambda _: [])
        copies = dataclasses.replace(run.pipeline.copies, on_read=keep)
        pipeline = dataclasses.replace(run.pipeline, copies=copies)
        run = dataclasses.replace(run, pipeline=pipeline)
        report = run.verify(article, report_asking, _report_findings(article, emit))
        sent = _describe_files(run.files, upload) if run.files and upload else None
        if upload and sent:
            report = _without_folder(report, upload.folder, {file for file, *_ in sent["unused"]})
        foreign = _in_other_languages(report, documents)
        quoted = [*_quoted_documents(report, pipeline, documents), *foreign.values()]
    unjudged = {url: document.doc_id for url, document in foreign.items()}
    precision = _precision(article, pipeline)
    view: dict[str, Any] = {"blocks": blocks, "precision": precision, "unjudged": unjudged}
    if sent:
        view["sent"] = sent
    files = {"article": {"source": article.source, "title": article.title}, "view": view}
    return Done(report.to_json(), not report.stopped, files | _within_limit(quoted))


def report_fetching(emit: Emit) -> Callable[[FetchStep], None]:
    def step(now: FetchStep) -> None:
        host = now.url.partition("://")[2].partition("/")[0]
        emit("fetching", {"host": host, "done": now.n_done, "total": now.n_urls})

    return step


@dataclass(frozen=True, slots=True)
class _Upload:
    """The copies of an article's sources that came with the request."""

    folder: Path  # with the unpacked files
    files: Sequence[SentFile]
    refused: Sequence[article_files.Unused]


def _unpack(body: VerifyRequest, folders: Sources | None) -> _Upload | None:
    """Unpack the files of a request. Raises InputError: they no longer exist."""
    if not isinstance(body, VerifyFilesRequest) or not body.files:
        return None
    if folders is None or not folders.stored.is_dir():
        raise InputError("The uploaded files no longer exist. Upload them again.")
    refused = unpack_files(folders.stored, body.files, folders.unpacked)
    return _Upload(folders.unpacked, body.files, refused)


def _report_findings(article: Article, emit: Emit) -> Callable[[Finding], None]:
    """Report each finding as it is made, with the places of its citations' marks."""
    n_judged = count(1)

    def report_finding(finding: Finding) -> None:
        claim = finding.claim
        verdict = {"claim_id": claim.claim_id, "label": str(finding.label)}
        text = cells.shorten(claim.text, SHOWN_CHARS)
        at = [(citation.span.start, citation.span.end) for citation in claim.citations]
        counts = {"done": next(n_judged), "total": len(article.claims)}
        emit("judged", {**verdict, "text": text, "at": at, **counts})

    return report_finding


def _precision(article: Article, pipeline: VerifyPipeline) -> dict[str, Sequence[Any]]:
    """By threshold: base rates of faulty citations, each with the precision of flags."""
    verifier = pipeline.verifier if is_read(article.language) else None
    calibration = getattr(verifier, "calibration", None)
    return {
        f"{threshold:.2f}": flag_precisions(calibration.rates_at(threshold)) if calibration else ()
        for threshold in THRESHOLDS
    }


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


def _describe_files(files: article_files.ArticleFiles, upload: _Upload) -> Mapping[str, Any]:
    """What became of the uploaded files, for the result's page."""
    unused = (*upload.refused, *files.unused)
    return {
        "n_files": len(upload.files),
        "is_zip": all(file.name.lower().endswith(ZIP) for file in upload.files),
        "n_named": files.sources.n_named,
        "matched": [
            [match.file, match.ids, wording.name_of(match.citations[0])] for match in files.matches
        ],
        "unused": [[file.file, str(file.why), file.detail] for file in unused],
    }


def _without_folder(report: Report, folder: Path, listed: Collection[str]) -> Report:
    """Remove the server's upload folder from the report, and the warnings on `listed` files."""

    def clean(result: CitationResult) -> CitationResult:
        outcome = result.outcome
        if isinstance(outcome, Unchecked) and str(folder) in outcome.detail:
            outcome = dataclasses.replace(outcome, detail="no uploaded file is a copy of it")
        return dataclasses.replace(result, outcome=outcome)

    return dataclasses.replace(
        report,
        findings=tuple(
            dataclasses.replace(finding, citations=tuple(map(clean, finding.citations)))
            for finding in report.findings
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
    of_suggestions = pipeline.better.documents(suggested) if pipeline.better else []
    documents = filter(None, [*of_citations, *of_suggestions])
    return list({document.doc_id: document for document in documents}.values())


def _in_other_languages(report: Report, read: Mapping[str, Document]) -> dict[str, Document]:
    """The documents, by URL, that were not judged because of their language."""
    results = (result for finding in report.findings for result in finding.citations)
    unread = (result.outcome for result in results if isinstance(result.outcome, Unchecked))
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


THRESHOLDS = tuple(step / 20 for step in range(1, 20))  # the positions of the slider
_SHOWN_ALWAYS = (BlockKind.PARAGRAPH, BlockKind.ITEM, BlockKind.HEADING)


def blocks_of(article: Article, markup: Literal["wikitext", "html"]) -> list[dict[str, Any]]:
    """The article's text in blocks, with the positions of its claims; sections as in MediaWiki."""
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
    ranges = []
    for span, claim_id in claims:
        inside = [
            i
            for i, (start, end) in enumerate(zip(block.starts, block.ends, strict=True))
            if span.start <= start and end <= span.end
        ]
        if inside:
            ranges.append((inside[0], inside[-1] + 1, claim_id))
    placed: list[tuple[int, int, str]] = []
    for start, stop, claim_id in sorted(ranges):
        start = max(start, placed[-1][1] if placed else 0)
        if start < stop:
            placed.append((start, stop, claim_id))
    return placed
