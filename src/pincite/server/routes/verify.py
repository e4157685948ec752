"""Verified articles: the form, the findings, exports, and the API of the user script.

URLs contain the threshold, and the finding if one is open, so that a link shows the same to
everyone. With scripts enabled, only parts of the page are fetched.
"""

import html
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from threading import Lock
from typing import Annotated, Any, NamedTuple
from urllib.parse import unquote, urlencode

from anyio.to_thread import run_sync
from fastapi import Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel, model_validator

from pincite.errors import InputError
from pincite.judgement import aggregation
from pincite.judgement.fusion import relabelled
from pincite.library.private_copies import OwnCopy, keys_of
from pincite.notes import Language, said
from pincite.report import cells
from pincite.report.reasons import REASONS
from pincite.server import demo, forms
from pincite.server.forms import Form
from pincite.server.identity import Identity, Reader, Runner
from pincite.server.jobs import Job, JobStore, Status
from pincite.server.problems import Problem, not_found
from pincite.server.rendering import STEPS, Look, attachment, page, words_of
from pincite.server.requests import (
    Body,
    Line,
    Revision,
    SentFile,
    Tuning,
    VerifyFilesRequest,
    VerifyRequest,
)
from pincite.server.routes.jobs import (
    OF_STARTING,
    JobBody,
    accepted,
    file_of,
    form_of,
    own_file,
    readable,
    start_job,
)
from pincite.server.routing import Router
from pincite.server.site import Site, Stores
from pincite.server.uploads import Form as SentForm
from pincite.server.uploads import Sent
from pincite.server.work import THRESHOLDS
from pincite.text.hosts import host_of
from pincite.types import CitationResult, Evidence, Finding, Suggestion, Unchecked
from pincite.verbs.verify import render, wording
from pincite.verbs.verify.coverage import Stage, stage
from pincite.verbs.verify.report import Report

KEPT = 16  # parsed results to cache, because a reader requests the same one repeatedly
WHOLE = 60_000  # characters; of a longer source, only a window is shown
WINDOW = 12_000  # characters before and after the quote
SOURCES = "sources"  # prefix of fields with source files; any other file is the article
MAX_TITLE = 2000
REMEMBERED = 200  # newest jobs of an account that are searched for a citation
MAX_QUOTE = 600  # characters of a source in a response to the user script
Threshold = Annotated[
    float | None, Query(gt=0, lt=1, description="Of support; none: that of the run.")
]

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


class Results:
    """A cache of parsed results. Thread-safe."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Verified] = OrderedDict()
        self._lock = Lock()

    def get(self, store: JobStore, job_id: str, result: bytes | None = None) -> Verified | None:
        """The result of a finished job; None if there is none that this version can read."""
        with self._lock:
            if found := self._kept.get(job_id):
                self._kept.move_to_end(job_id)
                return found
        result = result if result is not None else store.result(job_id)
        if result is None:
            return None
        try:
            report = Report.from_json(result)
        except InputError:
            return None
        found = Verified(report, store.file(job_id, "view") or {})
        with self._lock:
            self._kept[job_id] = found
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found


def report_at(verified: Verified, threshold: float | None) -> Report:
    """Relabel a report for another threshold; None keeps its own."""
    report = verified.report
    if threshold is None or threshold == verified.threshold:
        return report
    findings = [relabelled(finding, threshold) for finding in report.findings]
    return replace(
        report,
        findings=tuple(aggregation.ranked(findings)),
        flag_precision=tuple(
            (base_rate, precision)
            for base_rate, precision in verified.view.get("precision", {}).get(
                f"{threshold:.2f}", ()
            )
        ),
    )


# ── The form ─────────────────────────────────────────────────────────────────────────────────────


@pages.get("/")
def home(request: Request, who: Reader, site: Stores) -> HTMLResponse:
    """The form for an article, and examples."""
    return _form(request, who, site)


@pages.get("/verify")
def sent_before(_who: Reader) -> RedirectResponse:
    """The address of a form with an error, when it is reloaded."""
    return forms.to("/")


@pages.post("/verify/example")
def verify_example(form: Form, who: Runner, site: Stores) -> RedirectResponse:
    """Verify a shipped article; the first one with a corpus if the server has the demo's."""
    name = forms.text(form, "example")
    corpus = demo.web(site) if name == "article" else None
    asked = {"example": name} | ({"corpus": corpus.corpus_id} if corpus else {})
    body = forms.checked(VerifyRequest, asked)
    return forms.to(f"/jobs/{start_job(site, who, 'verify', body).job_id}")


@pages.post("/verify", response_model=None)
async def verify(request: Request, who: Runner, site: Stores) -> Response:
    """Verify an article; files are written to the disk as they come."""
    sent: SentForm | None = None
    try:
        long = {"article": int(site.server.body_megabytes * 1e6)}
        async with form_of(request, who, site, long) as (upload_id, sent):
            job = await run_sync(_started, site, who, upload_id, sent)
    except Problem as problem:
        if sent is None:
            raise
        again = forms.again(request, problem, sent.fields)
        return await run_sync(partial(_form, request, who, site, **again))
    if "upload" not in job.request:
        await run_sync(site.library.uploads.remove, upload_id)
    return forms.to(f"/jobs/{job.job_id}")


def _started(site: Site, who: Identity, upload_id: str, sent: SentForm) -> Job:
    """Start the job that a form describes.

    Raises:
        Problem: 422, the form is incomplete.
        AccountFull, QueueFull, TooManyOfYours
    """
    article = next((file for file in sent.files if file.field == "file"), None)
    sources = [
        SentFile(stored=file.path.name, name=file.name, n_bytes=file.n_bytes)
        for file in sent.files
        if file.field.startswith(SOURCES)
    ]
    if n_bytes := sum(file.n_bytes for file in sources):
        site.quotas.check_account(who.account_id, n_bytes)
    values = _article(sent.fields, _read(site, article) if article else None)
    if corpora := sent.fields.get("corpus", "").split():
        values["corpus"] = corpora
    if sent.fields.get("verify_uncited"):
        values["settings"] = {"verify_uncited": True}
    if sources:
        values |= {"upload": upload_id, "files": sources}
    body = forms.checked(VerifyFilesRequest if sources else VerifyRequest, values)
    return start_job(site, who, "verify", body)


def _read(site: Site, article: Sent) -> tuple[str, bytes]:
    """Read the article's file and remove it; return its name and content.

    Raises:
        Problem: 422, it exceeds the limit for an article.
    """
    if article.n_bytes > site.server.body_megabytes * 1e6:
        too_long = {"where": "text", "what": "too long", "kind": "too_long"}
        raise Problem(422, "invalid_request", "The file is too long.", errors=[too_long])
    content = article.path.read_bytes()
    article.path.unlink()
    return article.name, content


def _article(fields: Mapping[str, str], file: tuple[str, bytes] | None) -> dict[str, Any]:
    """The article of a form: a file, else a text with several lines or markup, else a title."""
    given, title = fields.get("article", "").strip(), fields.get("title", "").strip()
    markup = "wikitext"
    if file:
        name, content = file
        given = content.decode("utf-8", "replace").replace("\0", "\ufffd")
        title = title or name.rpartition("/")[2].rpartition(".")[0]
        if name.lower().endswith((".html", ".htm")):
            markup = "html"
    elif "\n" not in given and not any(mark in given for mark in ("<ref", "{{", "[[")):
        return {"article": given} if given else {}
    return {"text": given, "markup": markup, "title": title[:MAX_TITLE]}


def _form(request: Request, who: Identity, site: Site, **again: Any) -> HTMLResponse:
    values: dict[str, Any] = {
        "online": site.settings.web.online,
        "corpora": [entry for entry in site.corpora.listed() if who.may_read(entry)],
        "megabytes": site.server.upload_megabytes,
    }
    return page(request, "home.html", who, **values | again)


# ── The findings ─────────────────────────────────────────────────────────────────────────────────


class Handed(NamedTuple):
    """The result of uploading a private copy: the copy, or the problem with it."""

    citation_id: str = ""
    copy: OwnCopy | None = None
    problem: Problem | None = None


class Around(NamedTuple):
    """A source's text around a quote. `quote` is an exact match, `near` the closest passage."""

    head: str
    quote: str
    near: str
    tail: str
    cut: bool  # the source has more text than shown
    whole: bool  # the text comes from the whole source, not only from a passage
    language: str
    doc_id: str


def result_page(request: Request, look: Look, site: Site, result: bytes) -> HTMLResponse | None:
    """Render the findings with the worst one open; None if another version wrote the report."""
    verified = _results(request).get(site.jobs, look.job.job_id, result)
    if verified is None:
        return None
    try:
        threshold = float(request.query_params.get("threshold", ""))
    except ValueError:
        threshold = 0.0
    chosen = threshold if 0 < threshold < 1 else None
    return page(request, "verified.html", look.who, **_board(site, look, verified, chosen, ""))


@pages.get("/jobs/{job_id}/findings/{claim_id}")
def finding(
    job_id: str,
    claim_id: str,
    request: Request,
    who: Reader,
    site: Stores,
    threshold: Threshold = None,
) -> HTMLResponse:
    """The findings with this one open."""
    look = Look(readable(site, job_id, who), who)
    return finding_page(request, look, site, claim_id, threshold)


def finding_page(
    request: Request,
    look: Look,
    site: Site,
    claim_id: str,
    threshold: float | None,
    handed: Handed | None = None,
) -> HTMLResponse:
    """Render the findings with this one open, or only this one for a script; 404 if missing."""
    verified = _of(request, site, look.job)
    values = _board(site, look, verified, threshold, claim_id) | {"handed": handed}
    if request.headers.get("hx-target") == "finding":
        return page(request, "finding.html", look.who, **values)
    status = 422 if handed and not handed.copy else 200
    return page(request, "verified.html", look.who, status=status, **values)


@pages.get("/jobs/{job_id}/board")
def board(
    job_id: str,
    request: Request,
    who: Reader,
    site: Stores,
    threshold: Threshold = None,
    claim: str = "",
) -> HTMLResponse:
    """List, article and source at a threshold: a part of the page."""
    look = Look(readable(site, job_id, who), who)
    return board_piece(request, look, site, claim, threshold)


def board_piece(
    request: Request, look: Look, site: Site, claim: str, threshold: float | None
) -> HTMLResponse:
    """Render list, article and source at a threshold, with `claim` open unless it is empty."""
    verified = _of(request, site, look.job)
    values = _board(site, look, verified, threshold, claim)
    here = f"{look.place}/findings/{claim}" if claim else look.place
    headers = {"HX-Replace-Url": f"{here}{values['query']}"}
    return page(request, "board.html", look.who, headers=headers, **values)


@pages.get("/jobs/{job_id}/sources/{doc_id}")
def source(job_id: str, doc_id: str, request: Request, who: Reader, site: Stores) -> HTMLResponse:
    """The whole text of a source, for the owner of the job."""
    job = readable(site, job_id, who)
    document = own_file(site, job_id, doc_id, who)
    if "text" not in document:
        raise not_found()
    return page(request, "source.html", who, job=job, document=document)


@pages.get("/jobs/{job_id}/report.{ending}")
def export(
    job_id: str,
    ending: str,
    request: Request,
    who: Reader,
    site: Stores,
    threshold: Threshold = None,
) -> Response:
    """The report as an HTML file, or as tags and references to paste, worst first."""
    report = report_at(_of(request, site, readable(site, job_id, who)), threshold)
    if ending == "html":
        # The export has inline styles and no scripts, so block scripts.
        policy = (
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
        )
        text, headers = render.to_html(report, date.today()), {"Content-Security-Policy": policy}
        return attachment(text, "text/html", f"pincite-{job_id}.html", headers)
    if ending == "wikitext":
        text = render.to_wikitext(report, date.today())
        return attachment(text, "text/plain", f"pincite-{job_id}.txt")
    raise not_found()


def verified_in(request: Request, site: Site, job: Job) -> Verified | None:
    """The result of a job; None unless it is a finished verification."""
    if job.kind != "verify" or not job.ended:
        return None
    return _results(request).get(site.jobs, job.job_id)


def _of(request: Request, site: Site, job: Job) -> Verified:
    verified = verified_in(request, site, job)
    if verified is None:
        raise not_found()
    return verified


def _results(request: Request) -> Results:
    results: Results = request.app.state.results
    return results


def _board(
    site: Site, look: Look, verified: Verified, threshold: float | None, claim_id: str
) -> dict[str, Any]:
    """Template values for a verified article's page, with this finding or the worst one open.

    Whole source texts are shown to the job's owner, not through a share link.

    Raises:
        Problem: 404, there is no such finding.
    """
    at = verified.threshold if threshold is None else round(threshold, 4)
    report, today = report_at(verified, at), date.today()
    ids = [finding.claim.claim_id for finding in report.findings]
    if claim_id and claim_id not in ids:
        raise not_found()
    place = ids.index(claim_id) if claim_id else 0
    opened = report.findings[place] if ids else None

    def stored(doc_id: str) -> dict[str, Any] | None:
        return file_of(site, look.job, doc_id, look.who) if look.is_own and look.who else None

    return {
        "look": look,
        "job": look.job,
        "place": look.place,
        "may_judge": look.is_own,
        "handed": None,
        "report": report,
        "counts": report.counts,
        "threshold": at,
        "own_threshold": verified.threshold,
        "query": "" if at == verified.threshold else f"?threshold={at:g}",
        "steps": THRESHOLDS,
        "precision": report.flag_precision,
        "coverage": coverage_at(verified.report, report),
        "n_uncited": sum(not finding.citations for finding in report.findings),
        "sent": verified.view.get("sent") if look.is_own else None,
        "blocks": list(article_blocks(verified, report)),
        "open": opened,
        "rank": place + 1,
        "before_id": ids[place - 1] if place else "",
        "next_id": [*ids, "", ""][place + 1],
        "edit": edit_link(verified, opened.claim.claim_id) if opened else None,
        "summary": edit_summary(opened) if opened else "",
        "around": partial(around, stored),
        "may_hand_in": keys_of,  # without keys, a copy could not be matched later
        "reference": partial(render.reference, today=today),
        "to_paste": partial(render.to_paste, today=today),
    }


def coverage_at(own: Report, report: Report) -> list[tuple[str, int]]:
    """How many citations reached each stage; `report` is at the chosen threshold."""
    flagged = sum(
        stage(result, finding.label) is Stage.FLAGGED
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
    asked = {"title": report.title.replace(" ", "_"), "action": "edit"}
    section = verified.view.get("sections", {}).get(claim_id)
    if section is not None:
        asked["section"] = str(section)
    return f"{base}?{urlencode(asked)}", host_of(base)


def article_blocks(verified: Verified, report: Report) -> Iterator[dict[str, Any]]:
    """The article's blocks, split into pieces: (text, claim id or "", label)."""
    labels = {f.claim.claim_id: f.label for f in report.findings}
    for block in verified.view.get("blocks", ()):
        pieces, end, text = [], 0, block["text"]
        for start, stop, claim_id in block["claims"]:
            pieces += [
                (text[end:start], "", ""),
                (text[start:stop], claim_id, labels.get(claim_id)),
            ]
            end = stop
        pieces.append((text[end:], "", ""))
        yield {
            "kind": block["kind"],
            "label": block["label"],
            "pieces": [piece for piece in pieces if piece[0]],
        }


def edit_summary(finding: Finding) -> str:
    """A neutral edit summary that names the tool; empty without citations."""
    numbers = "".join(f"[{r.citation.citation_id.removeprefix('r')}]" for r in finding.citations)
    return f"checked source {numbers} (tool-assisted: Pincite)" if numbers else ""


def around(stored: Callable[[str], Mapping[str, Any] | None], evidence: Evidence) -> Around:
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
    marked = text[start:stop]
    return Around(
        head=text[first:start],
        quote=marked if quote else "",
        near="" if quote else marked,
        tail=text[stop:last],
        cut=(first, last) != (0, len(text)),
        whole=document is not None,
        language=(document or {}).get("language") or "",
        doc_id=passage.doc_id if document else "",
    )


# ── The API of the user script ───────────────────────────────────────────────────────────────────


class CitationRequest(Body):
    """A citation: a note of a verified article, or a claim and the address that it cites."""

    title: Line = ""
    revision: Revision | None = None
    note: Line | None = None  # id of the reference in the wiki page: "cite_note-Smith-2"
    claim: Line | None = None
    url: Line | None = None
    settings: Tuning = Tuning()

    @model_validator(mode="after")
    def _of_one_kind(self) -> "CitationRequest":
        known = bool(self.title and self.revision and self.note)
        given = bool(self.claim and self.url)
        if known == given:
            raise ValueError("expected title, revision and note, or claim and url")
        return self


class CitedBody(BaseModel):
    """One citation of a claim."""

    at: tuple[int, int]  # of its mark in the article's source, in code points
    label: str  # "supported", "partly_supported", "not_supported", "refuted" or "unchecked"
    name: str
    url: str | None
    copy_url: str | None  # of the copy that was read, if it differs
    quote: str  # verbatim from the source; empty if none supports the claim
    near: str  # the closest passage, verbatim, if there is no quote
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
    label: str  # "supported", "partly_supported", "not_supported", "refuted" or "unchecked"
    verdict: str  # the label in words
    support: int | None  # percent
    missing: list[str]  # words of the claim that no source states
    citations: list[CitedBody]
    suggestions: list[SuggestionBody]
    tag: str | None  # wikitext to paste


class KnownOrJob(BaseModel):
    """Claims that were verified before, or the job that verifies them."""

    claims: list[ClaimBody]
    job: JobBody | None


@api.get(
    "/jobs/{job_id}/citations",
    operation_id="get_citations",
)
def get_citations(job_id: str, request: Request, who: Reader, site: Stores) -> list[ClaimBody]:
    """The claims of a verified article in short, worst first."""
    found = verified_in(request, site, readable(site, job_id, who))
    if found is None:
        raise not_found()
    return _claims(job_id, found.report.findings, words_of(request))


@api.post(
    "/citations",
    operation_id="citation",
    responses={
        202: {"model": KnownOrJob, "description": "Not verified yet: a job was started."},
        **OF_STARTING,
    },
)
def citation(
    body: CitationRequest, request: Request, response: Response, who: Runner, site: Stores
) -> KnownOrJob:
    """The finding on a citation; a claim that was never verified starts a job (202)."""
    words = words_of(request)
    for job in _before(site, who, body):
        verified = verified_in(request, site, job)
        if verified and (found := _citing(job, verified, body.note, site)):
            return KnownOrJob(claims=_claims(job.job_id, found, words), job=None)
    if not (body.claim and body.url):
        raise not_found()
    asked = _article_of(body)
    response.status_code = 202
    job = start_job(site, who, "verify", asked)
    return KnownOrJob(claims=[], job=accepted(job, response))


def _before(site: Site, who: Identity, body: CitationRequest) -> Iterator[Job]:
    """The user's finished jobs that may contain the answer, newest first."""
    wanted = _article_of(body).model_dump(mode="json", exclude_none=True) if body.claim else None
    for job in site.jobs.listed(who.account_id, REMEMBERED, None, ("verify",)):
        if job.status is not Status.DONE:
            continue
        if wanted is not None:
            if _is_same(site, job, wanted):
                yield job
        elif (job.request.get("title"), job.request.get("revision")) == (body.title, body.revision):
            yield job


def _is_same(site: Site, job: Job, wanted: dict[str, Any]) -> bool:
    """Whether a job had this request; its text is stored separately."""
    rest = {key: value for key, value in wanted.items() if key != "text"}
    if {key: job.request.get(key) for key in rest} != rest or "revision" in job.request:
        return False
    return _sent(site, job) == str(wanted["text"])


def _sent(site: Site, job: Job) -> str:
    return str((site.jobs.file(job.job_id, "text") or {}).get("text", ""))


def _article_of(body: CitationRequest) -> VerifyRequest:
    """Build an article of one sentence from the claim, as wikis render it."""
    claim, url = html.escape(body.claim or ""), html.escape(body.url or "")
    text = (
        f'<!doctype html><html><body><p>{claim}<sup class="reference"><a href="#cite_note-1">[1]'
        f'</a></sup></p><ol class="references"><li id="cite_note-1"><a class="external" '
        f'href="{url}">{url}</a></li></ol></body></html>'
    )
    return VerifyRequest(text=text, markup="html", title=body.title, settings=body.settings)


def _citing(job: Job, verified: Verified, note: str | None, site: Site) -> list[Finding]:
    """The findings on claims that cite a note; all findings if `note` is None."""
    if note is None:
        return list(verified.report.findings)
    source, link = _sent(site, job), f'href="#{note}"'
    return [
        finding
        for finding in verified.report.findings
        if any(
            link in unquote(html.unescape(result.citation.span.of(source)))
            for result in finding.citations
        )
    ]


def _claims(job_id: str, findings: Iterable[Finding], words: Language) -> list[ClaimBody]:
    return [_claim(job_id, finding, words, date.today()) for finding in findings]


def _claim(job_id: str, finding: Finding, words: Language, today: date) -> ClaimBody:
    support = finding.prob_supported
    absent, _ = wording.absent_and_denied(finding.missing)
    return ClaimBody(
        job_id=job_id,
        claim_id=finding.claim.claim_id,
        claim=finding.claim.text,
        label=str(finding.label),
        verdict=words.say(wording.LABELS[finding.label]),
        support=None if support is None else cells.percent(support),
        missing=[part.words for part in absent],
        citations=[_cited(result, words) for result in finding.citations],
        suggestions=[_suggested(each, today) for each in finding.suggestions],
        tag=render.tag(finding, today),
    )


def _cited(result: CitationResult, words: Language) -> CitedBody:
    cited, outcome, copy = result.citation, result.outcome, result.copy
    evidence = outcome if isinstance(outcome, Evidence) else None
    why = outcome if isinstance(outcome, Unchecked) else None
    text = cells.shortened(evidence.quoted or evidence.passage.text, MAX_QUOTE) if evidence else ""
    quoted = bool(evidence and evidence.quoted)
    return CitedBody(
        at=(cited.span.start, cited.span.end),
        label=str(result.label),
        name=wording.name_of(cited),
        url=cells.safe_link(cited.url),
        copy_url=cells.safe_link(copy.url) if copy and copy.url != cited.url else None,
        quote=text if quoted else "",
        near="" if quoted else text,
        reasons=[said(note, words.say) for note in evidence.reasons_coded] if evidence else [],
        unchecked=words.say(REASONS[why.reason]) if why else None,
        step=words.say(STEPS[why.reason]) if why else "",
    )


def _suggested(suggestion: Suggestion, today: date) -> SuggestionBody:
    passage = suggestion.evidence.passage
    return SuggestionBody(
        title=cells.one_line(passage.title) or passage.url,
        url=cells.safe_link(passage.url) or "",
        quote=cells.shortened(suggestion.evidence.quoted or passage.text, MAX_QUOTE),
        reference=render.reference(suggestion, today),
    )
