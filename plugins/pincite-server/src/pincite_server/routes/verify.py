"""Verified articles: the form, the findings, and the API of the user script.

URLs contain the threshold and the open finding, so that a link shows the same to everyone.
"""

import html
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urlencode

from anyio.to_thread import run_sync
from fastapi import Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel

from pincite.errors import InputError
from pincite.judgement import aggregation
from pincite.judgement.aggregation import relabel
from pincite.library.private_copies import citation_keys
from pincite.notes import Language, said
from pincite.report import cells
from pincite.report.cells import REASONS
from pincite.text.hosts import host_of
from pincite.types import CitationResult, CopyKind, Evidence, Finding, Suggestion, Unchecked
from pincite.verbs.verify import render, wikitext, wording
from pincite.verbs.verify.report import Report, Stage, stage_of
from pincite.wiki.article import Markup, article_text, title_of
from pincite.wiki.suggest import Dates
from pincite_server import demo, forms
from pincite_server.forms import Form
from pincite_server.identity import Identity, Reader, Runner
from pincite_server.jobs import Job, Status
from pincite_server.problems import Problem, not_found
from pincite_server.rendering import STEPS, Look, page, words_of
from pincite_server.requests import Line, Revision, VerifyFilesRequest, VerifyRequest
from pincite_server.routes.jobs import (
    FILE,
    OF_STARTING,
    JobBody,
    accepted,
    filled_corpora,
    find_file,
    form_schema,
    last_job,
    parsed,
    readable,
    start_job,
    upload_form,
)
from pincite_server.routing import Router
from pincite_server.site import Site, Stores
from pincite_server.tables import whole
from pincite_server.uploads import Form as SentForm
from pincite_server.work import THRESHOLDS

WHOLE = 60_000  # characters; of a longer source, only a window is shown
WINDOW = 12_000  # characters before and after the quote
SOURCES = "sources"  # prefix of fields with source files; any other file is the article
REMEMBERED = 200  # newest jobs of an account that are searched for a citation
MAX_NAME = 60  # characters of a source's name in an edit summary
MAX_EDITED = 300_000  # characters of an article in a text box
MAX_TITLE = 255  # characters; MediaWiki's limit
SENTENCE = 5  # words; a title that ends with a full stop has fewer: "Ada Berg Jr."
MAX_QUOTE = 600  # characters of a source in a response to the user script

_COPIES = {"type": "array", "items": FILE, "description": "Copies of its sources, or a zip."}
FIELDS = {
    "article": {"type": "string", "description": "A title, an address, or the whole text."},
    "file": FILE | {"description": "The article, instead of `article`: wikitext or HTML."},
    "title": {"type": "string", "description": "Of the article, if its text does not state it."},
    SOURCES: _COPIES,
    f"{SOURCES}-folder": _COPIES,
    "corpus": {"type": "string", "description": "Id of a corpus to search for better sources."},
    "verify_uncited": {"type": "string", "description": "1: also find sentences without sources."},
    "draft": {"type": "string", "description": "1: the same, to be summed up at /jobs/ID/draft."},
}
api = Router(prefix="/api/v1", tags=["jobs"])
pages = Router(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Verified:
    """A stored report, and the view stored with it."""

    report: Report
    view: Mapping[str, Any]

    @property
    def threshold(self) -> float:
        return float(str(self.report.settings["verify.threshold"]))


# Cached because a reader requests the same result repeatedly.
_report = lru_cache(maxsize=16)(partial(parsed, Report))


def verified_in(site: Site, job: Job, result: bytes | None = None) -> Verified | None:
    """The result of a job; None unless it is a finished verification that this version can read."""
    if job.kind != "verify" or not job.ended:
        return None
    report = _report(result or site.jobs.result(job.job_id))
    return Verified(report, site.jobs.file(job.job_id, "view") or {}) if report else None


def marked_wrong(site: Site, job: Job, who: Identity) -> frozenset[str]:
    """The claims with a verdict that the user marked as wrong; of several marks the last counts."""
    last = site.feedback.verdicts(who.account_id, job.job_id)
    items = (item.split("/") for item, verdict in last.items() if verdict == "wrong")
    return frozenset(claim for claim, *cited in items if cited and cited[0].startswith("r"))


def report_at(verified: Verified, threshold: float | None, wrong: Collection[str] = ()) -> Report:
    """Relabel a report for another threshold; None keeps its own."""
    report = verified.report
    if threshold is None or threshold == verified.threshold:
        return replace(report, findings=tuple(aggregation.ranked(report.findings, wrong)))
    findings = [relabel(finding, threshold) for finding in report.findings]
    rates = verified.view.get("precision", {}).get(f"{threshold:.2f}", ())
    return replace(
        report,
        findings=tuple(aggregation.ranked(findings, wrong)),
        flag_precision=tuple((base_rate, precision) for base_rate, precision in rates),
    )


# ── The form ─────────────────────────────────────────────────────────────────────────────────────


@pages.get("/")
def home(request: Request, who: Reader, site: Stores) -> Response:
    """The form that visitors see first."""
    start = site.server.start
    return forms.redirect(f"/{start}") if start != "verify" else _form(request, who, site)


@pages.get("/verify")
def verify_page(request: Request, who: Reader, site: Stores) -> HTMLResponse:
    """The form for an article, and examples."""
    return _form(request, who, site)


@pages.post("/verify/example")
def verify_example(form: Form, who: Runner, site: Stores) -> RedirectResponse:
    """Verify a shipped article; the first one with a corpus if the server has the demo's."""
    name = forms.text(form, "example")
    corpus = demo.web(site) if name == "article" else None
    body = forms.validate(VerifyRequest, {"example": name, "corpus": corpus})
    return forms.redirect(f"/jobs/{start_job(site, who, 'verify', body).job_id}")


@pages.post("/verify", response_model=None)
async def verify(request: Request, who: Runner, site: Stores) -> Response:
    """Verify an article."""
    received: list[SentForm] = []
    try:
        job = await _job_of_form(request, who, site, received)
    except Problem as problem:
        if not received:
            raise
        again = forms.rejected(request, problem, received[0].fields)
        return await run_sync(partial(_form, request, who, site, **again))
    is_draft = received[0].fields.get("draft")
    return forms.redirect(f"/jobs/{job.job_id}{'/draft' if is_draft else ''}")


@api.post(
    "/verify/files",
    status_code=202,
    operation_id="verify_files",
    openapi_extra=form_schema(FIELDS, []),
    responses=OF_STARTING,
)
async def verify_files(request: Request, response: Response, who: Runner, site: Stores) -> JobBody:
    """Check an article with copies of its sources, sent as the start page's form sends them."""
    return accepted(await _job_of_form(request, who, site, []), response)


async def _job_of_form(
    request: Request, who: Identity, site: Site, received: list[SentForm]
) -> Job:
    """Start the job of a form; files are written to the disk as they come.

    Appends the form to `received`, also if it then raises a problem with its values.
    """
    long = {"article": int(site.server.body_megabytes * 1e6)}
    async with upload_form(request, who, site, FIELDS, long) as (upload_id, sent):
        received.append(sent)
        job = await run_sync(_started, site, who, upload_id, sent)
    if "upload" not in job.request:
        await run_sync(site.library.uploads.remove, upload_id)
    return job


def _started(site: Site, who: Identity, upload_id: str, sent: SentForm) -> Job:
    """Start the job that a form describes.

    Raises:
        Problem: 422, the form is incomplete.
        AccountFull, QueueFull, TooManyOfYours
    """
    sources = [file for field, file in sent.files if field.startswith(SOURCES)]
    if n_bytes := sum(file.n_bytes for file in sources):
        site.quotas.check_account(who.account_id, n_bytes)
    values = _article(site, sent, site.library.uploads.at(upload_id))
    if corpora := sent.fields.get("corpus", "").split():
        values["corpus"] = corpora
    if sent.fields.get("verify_uncited") or sent.fields.get("draft"):
        values["settings"] = {"verify_uncited": True}
    if sources:
        values |= {"upload": upload_id, "files": sources}
    body = forms.validate(VerifyFilesRequest if sources else VerifyRequest, values)
    return start_job(site, who, "verify", body)


def _article(site: Site, sent: SentForm, folder: Path) -> dict[str, Any]:
    """The article of a form: a file, else a text with several lines or markup, else a title.

    Raises Problem: 422, the file exceeds the limit for an article, or is not one.
    """
    text, title = (sent.fields.get(name, "").strip() for name in ("article", "title"))
    file = next((file for field, file in sent.files if field == "file"), None)
    if file is None:
        if any(mark in text for mark in ("\n", "<ref", "{{", "[[")) or _is_prose(text):
            return {"text": text, "title": title}
        return {"article": text} if text else {}
    if file.n_bytes > site.server.body_megabytes * 1e6:
        too_long = {"where": "text", "what": "too long", "kind": "too_long"}
        raise Problem(422, "invalid_request", "The file is too long.", errors=[too_long])
    try:
        text = article_text((folder / file.stored).read_bytes(), file.name).replace("\0", "\ufffd")
    except InputError as error:
        raise Problem(422, "unreadable_article", whole(str(error))) from error
    (folder / file.stored).unlink()
    stem = file.name.rpartition("/")[2].rpartition(".")[0]
    markup: Markup = "html" if file.name.lower().endswith((".html", ".htm")) else "wikitext"
    return {"text": text, "markup": markup, "title": title or title_of(text, stem, markup)}


def _is_prose(text: str) -> bool:
    """Whether one line is a pasted text rather than a title or an address."""
    is_sentence = text.endswith(".") and len(text.split()) >= SENTENCE
    return not text.startswith(("http://", "https://")) and (is_sentence or len(text) > MAX_TITLE)


def searches_web(site: Site) -> bool:
    """Whether a search engine looks for better sources, with or without a corpus."""
    return bool(site.settings.web.online and site.settings.web.search_url)


def _form(request: Request, who: Identity, site: Site, **again: Any) -> HTMLResponse:
    values: dict[str, Any] = {
        "online": site.settings.web.online,
        "searches_web": searches_web(site),
        "corpora": filled_corpora(site, who, last_job(site, who, "verify"), demo.web(site)),
        "megabytes": site.server.upload_megabytes,
        "invented": not site.server.examples,  # beside an operator's own they would confuse
    }
    return page(request, "home.html", who, **values | again)


# ── The findings ─────────────────────────────────────────────────────────────────────────────────


def result_page(
    request: Request,
    look: Look,
    site: Site,
    result: bytes,
    refused: tuple[str, Problem] | None = None,
) -> HTMLResponse | None:
    """Render the findings; None if another version of Pincite wrote the report.

    In the query, `claim` is the finding to open, by default the worst one, `threshold` the support
    needed, and `copy` the hash of a copy just uploaded. `refused` has the citation for which a
    copy was uploaded, and the problem with it.
    """
    verified = verified_in(site, look.job, result)
    if verified is None:
        return None
    values = _board(site, look, verified, threshold_in(request), request.query_params.get("claim"))
    copy, sha256 = None, request.query_params.get("copy")
    if look.is_own and look.who and sha256:
        copies = site.own.of(look.who.account_id).all()
        copy = next((each for each in reversed(copies) if each.sha256 == sha256), None)
    values |= {"copy": copy, "refused": refused}
    part = request.headers.get("hx-target")  # of the page, if a script replaces only that
    name = f"{part}.html" if part in ("board", "finding") else "verified.html"
    return page(request, name, look.who, status=422 if refused else 200, **values)


def draft_page(request: Request, who: Identity, site: Site, job: Job) -> HTMLResponse | None:
    """Sum up a report for the reviewer of a draft; None if there is no report."""
    verified = verified_in(site, job)
    if verified is None:
        return None
    source = str((site.jobs.file(job.job_id, "article") or {}).get("source", ""))
    draft = render.draft_of(verified.report, source, words_of(request).say)
    report = f"/jobs/{job.job_id}"
    return page(request, "draft.html.j2", who, layout="base.html", draft=draft, report=report)


def threshold_in(request: Request) -> float | None:
    """The threshold in a page's query; None for that of the run."""
    try:
        threshold = float(request.query_params.get("threshold", ""))
    except ValueError:
        return None
    return round(threshold, 4) if 0 < threshold < 1 else None


def _board(
    site: Site, look: Look, verified: Verified, threshold: float | None, claim_id: str | None
) -> dict[str, Any]:
    """Template values for a verified article's page, with this finding or the worst one open.

    Whole source texts are shown to the job's owner, not through a share link.

    Raises Problem: 404, there is no such finding.
    """
    wrong = marked_wrong(site, look.job, look.who) if look.is_own and look.who else frozenset()
    report = report_at(verified, threshold, wrong)
    dates = Dates(date.today(), report.date_format)
    ids = [finding.claim.claim_id for finding in report.findings]
    if claim_id and claim_id not in ids:
        raise not_found()
    place = ids.index(claim_id) if claim_id else 0
    opened = report.findings[place] if ids else None
    at = verified.threshold if threshold is None else threshold
    searched = bool(look.job.request.get("corpus")) or searches_web(site)
    of_example = bool(look.job.request.get("example"))
    offers_search = look.may_run and not searched and not (of_example and demo.web(site))
    query = {} if at == verified.threshold else {"threshold": f"{at:g}"}

    def address(claim_id: str) -> str:
        return f"{look.place}?{urlencode({'claim': claim_id, **query})}"

    def stored(doc_id: str) -> dict[str, Any] | None:
        return find_file(site, look.job, doc_id, look.who) if look.is_own and look.who else None

    def unjudged_text(why: Unchecked) -> dict[str, Any] | None:
        doc_id = verified.view.get("unjudged", {}).get(why.url)
        return stored(doc_id) if doc_id else None

    return {
        "look": look,
        "job": look.job,
        "report": report,
        "threshold": at,
        "own_threshold": verified.threshold,
        "address": address,
        "query": f"?{urlencode(query)}" if query else "",
        "steps": THRESHOLDS,
        "coverage": coverage_at(verified.report, report),
        "searched": searched,
        "offers_search": offers_search,
        "corpora": filled_corpora(site, look.who, None)
        if look.who and offers_search and not of_example
        else [],
        "n_uncited": sum(not finding.citations for finding in report.findings),
        "sent": verified.view.get("sent") if look.is_own else None,
        "own": list(dict.fromkeys(_own_copies(report))) if look.is_own else [],
        "editable": partial(_editable, site, look.job),
        "blocks": list(article_blocks(verified, report)),
        "open": opened,
        "rank": place + 1,
        "before_id": ids[place - 1] if place else "",
        "next_id": [*ids, "", ""][place + 1],
        "edit": edit_link(verified, opened.claim.claim_id) if opened else None,
        "summary": edit_summary(opened) if opened else "",
        "around": partial(around, stored),
        "unjudged_text": unjudged_text,
        "WHOLE": WHOLE,
        "may_hand_in": citation_keys,  # without keys, a copy could not be matched later
        "reference": partial(
            wikitext.reference, dates=dates, language=opened.claim.language if opened else ""
        ),
        "to_paste": partial(wikitext.to_paste, dates=dates, wrong=wrong),
        "wrong": wrong,
    }


def _own_copies(report: Report) -> Iterator[tuple[str, str]]:
    for result in (each for finding in report.findings for each in finding.citations):
        if result.copy and result.copy.kind is CopyKind.OWN:
            yield result.copy.file, wording.name_of(result.citation)


def _editable(site: Site, job: Job) -> str:
    """The wikitext of the article; empty if it is HTML or too long for a text box."""
    if job.request.get("markup") == "html":
        return ""
    text = str((site.jobs.file(job.job_id, "article") or {}).get("source", ""))
    return text if len(text) <= MAX_EDITED else ""


def coverage_at(own: Report, report: Report) -> list[tuple[str, int]]:
    """How many citations reached each stage; `report` is at the chosen threshold."""
    flagged = sum(
        stage_of(result, finding.label) is Stage.FLAGGED
        for finding in report.findings
        for result in finding.citations
    )
    uses = {str(each): tally.uses for each, tally in own.coverage.stages.items()}
    found = uses | {str(Stage.FLAGGED): flagged}
    return [("references", own.coverage.references), *found.items()]


def edit_link(verified: Verified, claim_id: str) -> tuple[str, str] | None:
    """The URL of the wiki's edit form for a claim's section, and the wiki's host."""
    report = verified.report
    base, _, query = (report.url or "").partition("?")
    if not (report.revision_id and query and base.endswith("/index.php") and cells.safe_link(base)):
        return None
    parameters = {"title": report.title.replace(" ", "_"), "action": "edit"}
    for block in verified.view.get("blocks", ()):
        if any(placed == claim_id for _, _, placed in block["claims"]):
            parameters.setdefault("section", str(block["section"]))
    return f"{base}?{urlencode(parameters)}", host_of(base)


def article_blocks(verified: Verified, report: Report) -> Iterator[dict[str, Any]]:
    """The article's blocks, split into pieces: (text, claim id or "", label)."""
    labels = {f.claim.claim_id: f.label for f in report.findings}
    for block in verified.view.get("blocks", ()):
        pieces, end, text = [], 0, block["text"]
        for start, stop, claim_id in block["claims"]:
            claim = (text[start:stop], claim_id, labels.get(claim_id))
            pieces += [(text[end:start], "", ""), claim]
            end = stop
        pieces.append((text[end:], "", ""))
        shown = [piece for piece in pieces if piece[0]]
        yield {"kind": block["kind"], "label": block["label"], "pieces": shown}


def edit_summary(finding: Finding) -> str:
    """A neutral edit summary that names the sources and the tool; empty without citations."""
    cited = (wording.name_of(result.citation) for result in finding.citations)
    names = ", ".join(f"“{cells.shortened(name, MAX_NAME)}”" for name in dict.fromkeys(cited))
    return f"checked {names} (tool-assisted: Pincite)" if names else ""


def around(stored: Callable[[str], Mapping[str, Any] | None], evidence: Evidence) -> dict[str, Any]:
    """The source around the quote: the stored whole text if available, else the passage."""
    passage, quote = evidence.passage, evidence.quote
    document = stored(passage.doc_id)
    if document and passage.span.of(document["text"]) != passage.text:
        document = None
    text, shift = (document["text"], passage.span.start) if document else (passage.text, 0)
    start = shift + (quote.start if quote else 0)
    stop = shift + (quote.end if quote else len(passage.text))
    first, last = 0, len(text)
    if len(text) > WHOLE:
        first, last = max(0, start - WINDOW), min(last, stop + WINDOW)
    return {
        "head": text[first:start],
        "marked": text[start:stop],
        "is_quote": quote is not None,  # an exact match, else the closest passage
        "tail": text[stop:last],
        "cut": (first, last) != (0, len(text)),
        "whole": document is not None,
        "language": (document or {}).get("language") or passage.language or "",
    }


# ── The API of the user script ───────────────────────────────────────────────────────────────────


class CitedBody(BaseModel):
    """One citation of a claim."""

    at: tuple[int, int]  # of its mark in the article's source, in code points
    label: str  # as in `types.Label`
    name: str
    url: str | None
    copy_url: str | None  # of the copy that was read, if it differs
    quote: str  # verbatim from the source; empty if none supports the claim
    near: str  # the closest passage, verbatim, if there is no quote
    language: str  # of the quote or passage; empty: unknown
    judged_by: str  # the network for other languages, if that judged; else empty
    reasons: list[str]
    unchecked: str | None  # why it could not be checked
    step: str  # what the user can do about it


class SuggestionBody(BaseModel):
    """A better source."""

    title: str
    url: str
    quote: str
    reference: str | None  # wikitext to paste


class ClaimBody(BaseModel):
    """The finding on a claim and its citations."""

    job_id: str
    claim_id: str
    claim: str
    label: str  # as in `types.Label`
    verdict: str  # the label in words, with the model that alone decided on it
    opinion: list[str]  # of a model, in words; empty if none was asked
    support: int | None  # percent
    missing: list[str]  # words of the claim that no source states
    citations: list[CitedBody]
    suggestions: list[SuggestionBody]
    tags: tuple[str, ...]  # by editors, who need no second one
    tag: str | None  # wikitext to paste


class NoteQuery(BaseModel):
    """A note of a wiki page; title, revision and wiki as in the request that verified it."""

    title: Line
    revision: Revision
    note: Line  # in the wiki page, such as "cite_note-Smith-2"
    wiki: Line | None = None  # not needed by a script of the wiki


@api.get("/jobs/{job_id}/citations", operation_id="get_citations")
def get_citations(job_id: str, request: Request, who: Reader, site: Stores) -> list[ClaimBody]:
    """The claims of a verified article in short, worst first."""
    found = verified_in(site, readable(site, job_id, who))
    if found is None:
        raise not_found()
    return _claims(job_id, found.report, words_of(request))


@api.get("/citations", operation_id="find_citation")
def find_citation(
    asked: Annotated[NoteQuery, Query()], request: Request, who: Reader, site: Stores
) -> list[ClaimBody]:
    """The claims that cite a note of an article that you verified, from the newest such job."""
    wanted = {**asked.model_dump(exclude={"note"}), "wiki": who.wiki or asked.wiki}
    link = f'href="#{asked.note}"'
    for job in site.jobs.listed(who.account_id, REMEMBERED, None, ("verify",)):
        if any(job.request.get(name) != value for name, value in wanted.items()):
            continue
        verified = verified_in(site, job) if job.status is Status.DONE else None
        source = str((site.jobs.file(job.job_id, "text") or {}).get("text", ""))
        citing = [
            finding
            for finding in (verified.report.findings if verified else ())
            if any(
                link in unquote(html.unescape(result.citation.span.of(source)))
                for result in finding.citations
            )
        ]
        if verified and citing:
            cited = replace(verified.report, findings=tuple(citing))
            return _claims(job.job_id, cited, words_of(request))
    raise not_found()


def _claims(job_id: str, report: Report, words: Language) -> list[ClaimBody]:
    dates = Dates(date.today(), report.date_format)
    return [_claim(job_id, finding, words, dates) for finding in report.findings]


def _claim(job_id: str, finding: Finding, words: Language, dates: Dates) -> ClaimBody:
    support = finding.prob_supported
    absent, _ = wording.absent_and_denied(finding.missing)
    return ClaimBody(
        job_id=job_id,
        claim_id=finding.claim.claim_id,
        claim=finding.claim.text,
        label=str(finding.label),
        verdict=wording.verdict_by(finding, words.say),
        opinion=wording.second_opinion(finding, words.say),
        support=None if support is None else cells.percent(support),
        missing=[part.words for part in absent],
        citations=[_cited(result, finding, words) for result in finding.citations],
        suggestions=[
            _suggested(each, dates, finding.claim.language) for each in finding.suggestions
        ],
        tags=finding.claim.tags,
        tag=wikitext.tag(finding, dates.today),
    )


def _cited(result: CitationResult, finding: Finding, words: Language) -> CitedBody:
    cited, outcome, copy = result.citation, result.outcome, result.copy
    evidence = outcome if isinstance(outcome, Evidence) else None
    why = outcome if isinstance(outcome, Unchecked) else None
    text = cells.shortened(evidence.quoted or evidence.passage.text, MAX_QUOTE) if evidence else ""
    quoted = bool(evidence and evidence.quoted)
    of_source = wording.reasons(result, finding)
    return CitedBody(
        at=(cited.span.start, cited.span.end),
        label=str(result.label),
        name=wording.name_of(cited),
        url=cells.safe_link(cited.url),
        copy_url=cells.safe_link(copy.url) if copy and copy.url != cited.url else None,
        quote=text if quoted else "",
        near="" if quoted else text,
        language=(evidence.passage.language or "") if evidence else "",
        judged_by=evidence.verifier.partition("@")[0] if evidence else "",
        reasons=[said(note, words.say) for note in (*result.reference_notes, *of_source)],
        unchecked=words.say(REASONS[why.reason]) if why else None,
        step=words.say(STEPS[why.reason]) if why else "",
    )


def _suggested(suggestion: Suggestion, dates: Dates, language: str) -> SuggestionBody:
    passage = suggestion.evidence.passage
    return SuggestionBody(
        title=cells.one_line(passage.title) or passage.url,
        url=cells.safe_link(passage.url) or "",
        quote=cells.shortened(suggestion.evidence.quoted or passage.text, MAX_QUOTE),
        reference=wikitext.reference(suggestion, dates, language),
    )
