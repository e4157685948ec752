"""The pages of `verify`: the box where an article and its sources go in, the findings, the exports.

Each address says the threshold that is looked at, and a finding's names the finding, so that a link
shows somebody else the same. Where scripts run, only pieces of the page are fetched.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from threading import Lock
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

from anyio.to_thread import run_sync
from fastapi import Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from pincite.errors import InputError
from pincite.judgement import aggregation
from pincite.judgement.fusion import relabelled
from pincite.library.private_copies import OwnCopy, keys_of
from pincite.notes import Note
from pincite.report import cells
from pincite.server import demo, forms, rendering
from pincite.server.forms import Form
from pincite.server.identity import Identity, Reader, Runner
from pincite.server.jobs import Job, JobStore
from pincite.server.problems import Problem, not_found
from pincite.server.rendering import Look, language_of, page, translations
from pincite.server.requests import SentFile, VerifyFilesRequest, VerifyRequest
from pincite.server.routes.jobs import file_of, form_of, own_file, readable, start_job
from pincite.server.routing import Router
from pincite.server.site import Site, Stores
from pincite.server.uploads import Form as SentForm
from pincite.server.uploads import Sent
from pincite.server.work import THRESHOLDS, atoms_of
from pincite.text.hosts import host_of
from pincite.types import CitationResult, Evidence, Finding, Label, Suggestion, Unchecked
from pincite.verbs.verify import render, wording
from pincite.verbs.verify.coverage import Stage, stage
from pincite.verbs.verify.report import Report

KEPT = 16  # results that stay parsed: somebody who reads one asks for it again and again
WHOLE = 60_000  # characters of a source beyond which a window of it is shown
WINDOW = 12_000  # characters before and after the quote
SHORT = 140  # characters of a claim in the list


@dataclass(frozen=True, slots=True)
class Verified:
    """A report as it was stored, and what lies beside it."""

    report: Report
    view: Mapping[str, Any]

    @property
    def threshold(self) -> float:
        """Of the run."""
        return float(str(self.report.settings["verify.threshold"]))


class Results:
    """Stored results, parsed; the last few stay so. Safe to use from several threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Verified] = OrderedDict()
        self._lock = Lock()

    def get(self, store: JobStore, job_id: str, result: bytes | None = None) -> Verified | None:
        """The result of a job that has ended; None if there is none that this version reads."""
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
    """The report as it would be at another threshold; None: at its own."""
    report = verified.report
    if threshold is None or threshold == verified.threshold:
        return report
    stored = verified.view.get("atoms", {})
    findings = [
        relabelled(f, threshold, atoms_of(stored.get(f.claim.claim_id, {}), f.claim.text))
        for f in report.findings
    ]
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


class Row(NamedTuple):
    """A finding in the list."""

    rank: int
    claim_id: str
    label: Label
    text: str
    support: int | None  # percent
    why: str  # codes of reasons, for what could not be checked
    better: bool


def rows_of(report: Report) -> list[Row]:
    """The findings, worst first."""
    return [_row(finding, rank) for rank, finding in enumerate(report.findings, 1)]


def _row(finding: Finding, rank: int) -> Row:
    support = finding.prob_supported
    reasons = [r.outcome.reason for r in finding.citations if isinstance(r.outcome, Unchecked)]
    return Row(
        rank,
        finding.claim.claim_id,
        finding.label,
        cells.shortened(finding.claim.text, SHORT),
        None if support is None else cells.percent(support),
        " ".join(dict.fromkeys(map(str, reasons))) if finding.label is Label.UNCHECKED else "",
        bool(finding.suggestions),
    )


def unchecked_reasons(report: Report) -> list[tuple[str, int]]:
    """Why citations could not be checked, and how many each; the most frequent first."""
    outcomes = [result.outcome for finding in report.findings for result in finding.citations]
    reasons = Counter(str(o.reason) for o in outcomes if isinstance(o, Unchecked))
    uncited = sum(not finding.citations for finding in report.findings)
    return reasons.most_common() + ([("", uncited)] if uncited else [])


def edit_link(verified: Verified, claim_id: str) -> tuple[str, str] | None:
    """Where a claim's section can be edited in its wiki, and the wiki's host; None if unknown.

    The link opens the wiki's form; it changes nothing.
    """
    report = verified.report
    base, _, query = (report.url or "").partition("?")
    if not (report.revision_id and query and base.endswith("/index.php") and cells.safe_link(base)):
        return None
    asked = {"title": report.title.replace(" ", "_"), "action": "edit"}
    section = verified.view.get("sections", {}).get(claim_id)
    if section is not None:
        asked["section"] = str(section)
    return f"{base}?{urlencode(asked)}", host_of(base)


def funnel_at(verified: Verified, report: Report) -> list[tuple[str, int]]:
    """How far citations came: name of the stage and how many."""
    flagged = sum(
        stage(result, finding.label) is Stage.FLAGGED
        for finding in report.findings
        for result in finding.citations
    )
    found = verified.report.coverage
    uses = {str(each): tally.uses for each, tally in found.stages.items()}
    # Flagged at the run's threshold; at another they are others.
    return [("references", found.references), *(uses | {str(Stage.FLAGGED): flagged}).items()]


def article_blocks(verified: Verified, report: Report) -> Iterator[dict[str, Any]]:
    """The article's blocks; each in pieces: text, and of a claim its finding's id and label."""
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


# ── One finding ──────────────────────────────────────────────────────────────────────────────────


class Quoted(NamedTuple):
    """A source's text around what speaks for it; `quote` is marked, `near` only came closest."""

    head: str
    quote: str
    near: str
    tail: str
    cut: bool  # there is more of it than is shown
    whole: bool  # this is the source's text, not only a passage of it
    language: str
    supported: int  # percent
    refuted: int
    reasons: tuple[Note, ...]
    doc_id: str


def finding_view(
    finding: Finding, rank: int, names: Mapping[str, str], documents: Mapping[str, Any], today: date
) -> dict[str, Any]:
    """All that the right-hand side shows of a finding.

    Args:
        finding: labelled at the threshold that is looked at.
        rank: its place in the list.
        names: what to call citations without title and address, by id.
        documents: sources that may be shown whole, by document id.
        today: for the date of tags.
    """
    support = finding.prob_supported
    absent, denied = wording.absent_and_denied(finding.missing)
    citations = [_citation(result, finding, names, documents) for result in finding.citations]
    addresses = [c["href"] for c in citations if c["href"]]
    return {
        "rank": rank,
        "claim": finding.claim,
        "label": finding.label,
        "support": None if support is None else cells.percent(support),
        "together": cells.percent(finding.together.prob_supported) if finding.together else None,
        "pieces": render.pieces(finding.claim.text, finding.missing),
        "absent": [part.words for part in absent],
        "denied": [part.words for part in denied],
        "citations": citations,
        "suggestions": [_suggestion(s, documents, today) for s in finding.suggestions],
        "excluded": finding.excluded,
        "n_candidates": finding.n_candidates,
        "opinion": finding if finding.opinion else None,
        "tag": render.tag(finding, today),
        "summary": edit_summary(finding),
        "open": next(iter(addresses), None),
    }


def edit_summary(finding: Finding) -> str:
    """What to write about an edit that follows: neutral, and honest about the tool."""
    numbers = "".join(f"[{r.citation.citation_id.removeprefix('r')}]" for r in finding.citations)
    return f"checked source {numbers} (tool-assisted: Pincite)" if numbers else ""


def _citation(
    result: CitationResult,
    finding: Finding,
    names: Mapping[str, str],
    documents: Mapping[str, Any],
) -> dict[str, Any]:
    citation, outcome = result.citation, result.outcome
    absent, denied = wording.absent_and_denied(result.missing)
    same = result.missing == finding.missing and result.label is finding.label
    return {
        "id": citation.citation_id,
        "label": result.label,
        "name": names.get(citation.citation_id) or wording.name_of(citation),
        "href": cells.safe_link(citation.url),
        "listing": result.listing,
        "unchecked": outcome if isinstance(outcome, Unchecked) else None,
        "may_hand_in": bool(keys_of(citation)),  # else it could not be known again
        "absent": [] if same else [part.words for part in absent],
        "denied": [] if same else [part.words for part in denied],
        "quoted": quoted(outcome, documents) if isinstance(outcome, Evidence) else None,
        "result": result,
        "read_href": cells.safe_link(result.copy.url) if result.copy else None,
        "today": quoted(result.changed.evidence, {}) if result.changed else None,
    }


def _suggestion(
    suggestion: Suggestion, documents: Mapping[str, Any], today: date
) -> dict[str, Any]:
    passage = suggestion.evidence.passage
    return {
        "name": cells.one_line(passage.title) or passage.url,
        "href": cells.safe_link(passage.url),
        "published": suggestion.published,
        "corpus": suggestion.corpus,
        "listing": suggestion.listing,
        "quoted": quoted(suggestion.evidence, {}),  # its passage; the page is a click away
        "reference": render.reference(suggestion, today),
    }


def quoted(evidence: Evidence, documents: Mapping[str, Any]) -> Quoted:
    """The source around the quote: whole where we have it, else the passage."""
    passage, quote = evidence.passage, evidence.quote
    document = documents.get(passage.doc_id)
    text, shift = (document["text"], passage.span.start) if document else (passage.text, 0)
    start = shift + (quote.start if quote else 0)
    stop = shift + (quote.end if quote else len(passage.text))
    first, last = 0, len(text)
    if len(text) > WHOLE:
        first, last = max(0, start - WINDOW), min(last, stop + WINDOW)
    marked = text[start:stop]
    return Quoted(
        head=text[first:start],
        quote=marked if quote else "",
        near="" if quote else marked,
        tail=text[stop:last],
        cut=(first, last) != (0, len(text)),
        whole=document is not None,
        language=(document or {}).get("language") or "",
        supported=cells.percent(evidence.prob_supported),
        refuted=cells.percent(evidence.prob_refuted),
        reasons=evidence.reasons_coded,
        doc_id=passage.doc_id if document else "",
    )


def documents_of(finding: Finding, stored: Callable[[str], Any]) -> dict[str, Any]:
    """The sources of a finding that lie beside the report, by id; `stored` looks one up."""
    outcomes = [result.outcome for result in finding.citations]
    wanted = {o.passage.doc_id for o in outcomes if isinstance(o, Evidence)}
    found = {doc_id: stored(doc_id) for doc_id in wanted}
    return {doc_id: document for doc_id, document in found.items() if document}


SOURCES = "sources"  # fields of files; every other file is the article
MAX_TITLE = 2000

pages = Router(include_in_schema=False)


@pages.get("/")
def home(request: Request, who: Reader, site: Stores) -> HTMLResponse:
    """One box, and examples."""
    return _form(request, who, site)


@pages.get("/verify/files")
def sent_before(_who: Reader) -> RedirectResponse:
    """The address of a form with a fault, asked for again."""
    return forms.to("/")


@pages.post("/verify", response_model=None)
def verify(form: Form, request: Request, who: Runner, site: Stores) -> Response:
    """Start what the box asks for, or an example."""
    try:
        body = forms.checked(VerifyRequest, _asked(form) | _beside(form, site))
        job = start_job(site, who, "verify", body)
    except Problem as problem:
        return _form(request, who, site, **forms.again(request, problem, form))
    return forms.to(f"/jobs/{job.job_id}")


@pages.post("/verify/files", response_model=None)
async def verify_files(request: Request, who: Runner, site: Stores) -> Response:
    """The same with files of sources, which go to the disk as they come."""
    sent: SentForm | None = None
    try:
        long = {"article": int(site.server.body_megabytes * 1e6)}
        async with form_of(request, who, site, long) as (upload_id, sent):
            location, keeps = await run_sync(_started, site, who, upload_id, sent)
    except Problem as problem:
        if sent is None:
            raise
        again = forms.again(request, problem, sent.fields)
        return await run_sync(partial(_form, request, who, site, **again))
    if not keeps:
        await run_sync(site.library.uploads.remove, upload_id)
    return forms.to(location)


def _started(site: Site, who: Identity, upload_id: str, sent: SentForm) -> tuple[str, bool]:
    """The page of the job, and whether it reads files of the upload.

    Raises:
        Problem: 422, the form says too little.
        AccountFull, QueueFull, TooManyOfYours
    """
    article = next((file for file in sent.files if file.field == "file"), None)
    sources = [_named(file) for file in sent.files if file.field.startswith(SOURCES)]
    n_bytes = sum(file.n_bytes for file in sources)
    if n_bytes:
        site.quotas.check_account(who.account_id, n_bytes)
    chosen = _read(site, article) if article else None
    values = _form_values(sent.fields, chosen)
    if sources:
        values |= {"upload": upload_id, "files": sources}
    model = VerifyFilesRequest if sources else VerifyRequest
    body = forms.checked(model, values)
    job = start_job(site, who, "verify", body)
    return f"/jobs/{job.job_id}", bool(sources)


def _read(site: Site, article: Sent) -> tuple[str, bytes]:
    """Name and content of the article's file, which is not kept.

    Raises:
        Problem: 422, it is larger than an article may be.
    """
    if article.n_bytes > site.server.body_megabytes * 1e6:
        too_long = {"where": "text", "what": "too long", "kind": "too_long"}
        raise Problem(422, "invalid_request", "The file is too long.", errors=[too_long])
    content = article.path.read_bytes()
    article.path.unlink()
    return article.name, content


def _named(file: Sent) -> SentFile:
    return SentFile(stored=file.path.name, name=file.name, n_bytes=file.n_bytes)


def _form(request: Request, who: Identity, site: Site, **again: Any) -> HTMLResponse:
    """The box; with what is wrong, and what was written in it."""
    corpora = [entry for entry in site.corpora.listed() if who.may_read(entry)]
    return page(
        request,
        "home.html",
        who,
        online=site.settings.web.online,
        corpora=corpora,
        examples=_examples(request),
        megabytes=site.server.upload_megabytes,
        **again,
    )


def _asked(form: Form) -> dict[str, Any]:
    """The form as the API's body."""
    if example := forms.text(form, "example"):
        return {"example": example}
    fields = {n: v for n, v in form.items() if isinstance(v, str)}
    fields["corpus"] = " ".join(map(str, form.getlist("corpus")))
    return _form_values(fields, forms.file(form, "file"))


def _form_values(fields: Mapping[str, str], chosen: tuple[str, bytes] | None) -> dict[str, Any]:
    """Several lines or markup are a text, one line is a name; a file counts before both."""
    given, title = fields.get("article", "").strip(), fields.get("title", "").strip()
    corpora = fields.get("corpus", "").split()
    beside: dict[str, Any] = {"corpus": corpora} if corpora else {}
    if fields.get("uncited"):
        beside |= {"settings": {"verify_uncited": True}}
    markup = "wikitext"
    if chosen:
        name, content = chosen
        given = content.decode("utf-8", "replace").replace("\0", "\ufffd")
        title = title or name.rpartition("/")[2].rpartition(".")[0]
        if name.lower().endswith((".html", ".htm")):
            markup = "html"
    elif "\n" not in given and not any(mark in given for mark in ("<ref", "{{", "[[")):
        return {"article": given, **beside} if given else beside
    return {"text": given, "markup": markup, "title": title[:MAX_TITLE], **beside}


def _beside(form: Form, site: Site) -> dict[str, Any]:
    """The corpus of the first example, where there is one."""
    if forms.text(form, "example") != "article" or not (corpus := demo.web(site)):
        return {}
    return {"corpus": corpus.corpus_id}


def _examples(request: Request) -> list[tuple[str, str, str]]:
    """Name, title, and what each shows."""
    _ = translations(language_of(request)).gettext
    return [
        ("article", "Varrowmouth", _("A harbour town: wrong figures, dead links, a paywall")),
        ("inventor", "Edda Marrick", _("A life: what does the archive really say?")),
        ("vole", "Saltfen vole", _("An animal: abstracts, a census that nobody can open")),
    ]


Threshold = Annotated[
    float | None, Query(gt=0, lt=1, description="Of support; none: that of the run.")
]


class Handed(NamedTuple):
    """What became of an own copy that was handed in: one of the three."""

    citation_id: str = ""
    copy: OwnCopy | None = None
    unchecked: Unchecked | None = None
    wrong: str = ""


def result_page(request: Request, look: Look, site: Site, result: bytes) -> HTMLResponse | None:
    """The findings, with the worst one open; None if another version wrote the report."""
    verified = _results(request).get(site.jobs, look.job.job_id, result)
    if verified is None:
        return None
    threshold = request.query_params.get("threshold", "")
    values = _values(site, look, verified, _number(threshold), None)
    return page(request, "verified.html", look.who, **_board(verified, values))


@pages.get("/jobs/{job_id}/findings/{claim_id}")
def finding(
    job_id: str,
    claim_id: str,
    request: Request,
    who: Reader,
    site: Stores,
    threshold: Threshold = None,
) -> HTMLResponse:
    """The findings with this one open: a link to it."""
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
    """The findings with this one open, or this one alone.

    Raises:
        Problem: 404
    """
    verified = _of(request, site, look.job)
    values = _values(site, look, verified, threshold, claim_id) | {"handed": handed}
    if request.headers.get("hx-target") == "finding":  # a script asks for this side alone
        return page(request, "finding.html", look.who, **values)
    status = 422 if handed and not handed.copy else 200
    return page(request, "verified.html", look.who, status=status, **_board(verified, values))


@pages.get("/jobs/{job_id}/board")
def board(
    job_id: str,
    request: Request,
    who: Reader,
    site: Stores,
    threshold: Threshold = None,
    claim: str = "",
) -> HTMLResponse:
    """List, article and source at a threshold: a piece of the page."""
    look = Look(readable(site, job_id, who), who)
    return board_piece(request, look, site, claim, threshold)


def board_piece(
    request: Request, look: Look, site: Site, claim: str, threshold: float | None
) -> HTMLResponse:
    """List, article and source at a threshold; `claim` is open if it is not empty.

    Raises:
        Problem: 404
    """
    verified = _of(request, site, look.job)
    values = _values(site, look, verified, threshold, claim or None)
    here = f"{look.place}/findings/{claim}" if claim else look.place
    headers = {"HX-Replace-Url": f"{here}{values['query']}"}
    return page(request, "board.html", look.who, headers=headers, **_board(verified, values))


@pages.get("/jobs/{job_id}/sources/{doc_id}")
def source(job_id: str, doc_id: str, request: Request, who: Reader, site: Stores) -> HTMLResponse:
    """A source's whole text, for who ran the job."""
    job = readable(site, job_id, who)
    document = own_file(site, job_id, doc_id, who)
    if "text" not in document:
        raise not_found()
    return page(request, "source.html", who, job=job, document=document)


@pages.get("/jobs/{job_id}/report.html")
def report_page(
    job_id: str, request: Request, who: Reader, site: Stores, threshold: Threshold = None
) -> Response:
    """The report as one file that can be sent to somebody."""
    job, verified = _found(request, who, site, job_id)
    text = render.to_html(report_at(verified, threshold), date.today())
    # Its styles stand in it; no script is in it, and none may run.
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return _file(text, "text/html", f"{job.job_id}.html", {"Content-Security-Policy": policy})


@pages.get("/jobs/{job_id}/report.wikitext")
def report_wikitext(
    job_id: str, request: Request, who: Reader, site: Stores, threshold: Threshold = None
) -> Response:
    """Tags and references to paste, worst first."""
    job, verified = _found(request, who, site, job_id)
    text = render.to_wikitext(report_at(verified, threshold), date.today())
    return _file(text, "text/plain", f"{job.job_id}.txt", {})


def _file(text: str, media_type: str, name: str, headers: dict[str, str]) -> Response:
    disposition = {"Content-Disposition": f'attachment; filename="pincite-{name}"'}
    content = text.encode("utf-8", "replace")
    return Response(content, media_type=media_type, headers=headers | disposition)


def _found(request: Request, who: Identity, site: Site, job_id: str) -> tuple[Job, Verified]:
    job = readable(site, job_id, who)
    return job, _of(request, site, job)


def verified_in(request: Request, site: Site, job: Job) -> Verified | None:
    """The result of a job; None unless it verified an article, and has ended."""
    if job.kind != "verify" or not job.ended:
        return None
    return _results(request).get(site.jobs, job.job_id)


def _of(request: Request, site: Site, job: Job) -> Verified:
    verified = verified_in(request, site, job)
    if verified is None:
        raise not_found()
    return verified


def _values(
    site: Site, look: Look, verified: Verified, threshold: float | None, claim_id: str | None
) -> dict[str, Any]:
    """What the template of one finding asks for.

    Whole texts are for who had the sources read, not for those who got a link.

    Raises:
        Problem: 404, there is no such finding.
    """
    at = verified.threshold if threshold is None else round(threshold, 4)
    report = report_at(verified, at)
    stored: Callable[[str], Any] = _nothing
    if look.is_own and look.who:
        stored = partial(file_of, site, look.job, who=look.who)
    return {
        "look": look,
        "job": look.job,
        "place": look.place,
        "report": report,
        "threshold": at,
        "own_threshold": verified.threshold,
        "steps": THRESHOLDS,
        "precision": report.flag_precision,
        "open": (opened := _open(stored, verified, report, claim_id)),
        "edit": edit_link(verified, opened["claim"].claim_id) if opened else None,
        "may_judge": look.is_own,
        "handed": None,
        "query": "" if at == verified.threshold else f"?threshold={at:g}",
    }


def _board(verified: Verified, values: dict[str, Any]) -> dict[str, Any]:
    """The same with what the list and the article ask for."""
    report: Report = values["report"]
    return values | {
        "counts": report.counts,
        "funnel": funnel_at(verified, report),
        "unchecked": unchecked_reasons(report),
        "sent": rendering.sent_files(verified.view.get("sent"), values["may_judge"]),
        "rows": rows_of(report),
        "blocks": list(article_blocks(verified, report)),
    }


def _open(
    stored: Callable[[str], Any], verified: Verified, report: Report, claim_id: str | None
) -> dict[str, Any] | None:
    """The finding on the right: the one asked for, else the worst; None if there is none."""
    ids = [finding.claim.claim_id for finding in report.findings]
    if not ids and claim_id is None:
        return None
    if claim_id is not None and claim_id not in ids:
        raise not_found()
    at = ids.index(claim_id) if claim_id else 0
    found = report.findings[at]
    documents = documents_of(found, stored)
    view = finding_view(found, at + 1, verified.view.get("names", {}), documents, date.today())
    return view | {"before_id": ids[at - 1] if at else "", "next_id": [*ids, ""][at + 1]}


def _nothing(_name: str) -> None:
    return None


def _results(request: Request) -> Results:
    results: Results = request.app.state.results
    return results


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < 1 else None
