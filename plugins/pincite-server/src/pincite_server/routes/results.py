"""The page of a job (progress, then its result), the list of jobs, and share links.

A share link shows a result read-only, with quotes. Whole source texts, the corpus, forms and
downloads are available only to the job's owner.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from typing import Annotated, Any

from fastapi import Path, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import Field

from pincite.codec import JsonReport
from pincite.types import Label
from pincite.verbs.ask.report import AnswerReport
from pincite.verbs.check.report import CheckReport
from pincite.verbs.verify import render
from pincite.verbs.verify.report import FLAGS
from pincite.verbs.verify.wikitext import to_wikitext
from pincite_server import forms
from pincite_server.forms import Form, also_posted
from pincite_server.identity import Guest, Identity, Reader, Runner
from pincite_server.jobs import Event, Job
from pincite_server.languages import language_of, translations
from pincite_server.problems import not_found
from pincite_server.rendering import Look, page
from pincite_server.requests import Body, Cursor, IdPath
from pincite_server.routes import check_ask, corpora, findings, jobs
from pincite_server.routes.jobs import parse_report, readable
from pincite_server.routing import Router
from pincite_server.site import Site, Stores, base_of
from pincite_server.tables import Kind

# Renders a result page from JSON; returns None if another version of Pincite wrote the result.
View = Callable[[Request, Look, Site, bytes], HTMLResponse | None]
VIEWS: dict[Kind, View] = {
    "verify": findings.result_page,
    "check": check_ask.check_page,
    "ask": check_ask.answer_page,
    "ingest": corpora.result_page,
}
WRITERS: dict[Kind, Mapping[str, Callable[..., str]]] = {
    "verify": {
        "html": lambda report, wrong: render.to_html(report, date.today(), wrong),
        "wikitext": lambda report, wrong: to_wikitext(report, date.today(), wrong),
        "csv": lambda report, _wrong: render.to_csv(report),
    },
    "check": check_ask.CHECK_WRITERS,
    "ask": check_ask.ASK_WRITERS,
}
MEDIA_TYPES = {
    "html": "text/html",
    "wikitext": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "jsonld": "application/ld+json",
    "bib": "application/x-bibtex",
    "ris": "application/x-research-info-systems",
    "csl.json": "application/vnd.citationstyles.csl+json",
}
# Exported HTML has inline styles and no scripts.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
SHARABLE = ("verify", "check", "ask")
ROWS = 50
MAX_FAILING = 8  # most recent problem claims shown on a running job's page
MAX_EVENTS = 500  # most recent events used for a running job's page
FAILING = (*FLAGS, Label.PARTLY_SUPPORTED)

pages = Router(include_in_schema=False)


class LinkRequest(Body):
    """A share link to be created."""

    days: Annotated[int, Field(ge=1, le=366)] = 30


also_posted(pages, "/jobs/{job_id}/cancel", then="/jobs/{job_id}")(jobs.cancel_job)


@pages.get("/jobs/{job_id}")
def job_page(job_id: str, request: Request, who: Reader, site: Stores) -> HTMLResponse:
    job = readable(site, job_id, who)
    result = site.jobs.result(job_id) if job.ended else None
    view = VIEWS.get(job.kind)
    if result is not None and view and (shown := view(request, Look(job, who), site, result)):
        return shown
    return page(request, "job.html", who, **_progress(request, site, job))


@pages.get("/jobs/{job_id}/draft")
def draft(job_id: str, request: Request, who: Reader, site: Stores) -> HTMLResponse:
    job = readable(site, job_id, who)
    if job.kind != "verify":
        raise not_found()
    shown = findings.draft_page(request, who, site, job)
    return shown or page(request, "job.html", who, **_progress(request, site, job))


@pages.get("/jobs/{job_id}/report.{ending}")
def export(job_id: str, ending: str, request: Request, who: Reader, site: Stores) -> Response:
    """The report as a file, such as HTML, wikitext to paste, or references for a bibliography."""
    job = readable(site, job_id, who)
    write = WRITERS.get(job.kind, {}).get(ending)
    report: JsonReport | None
    if job.kind == "verify":
        wrong, threshold = findings.marked_wrong(site, job, who), findings.threshold_in(request)
        verified = findings.verified_in(site, job)
        report = findings.report_at(verified, threshold, wrong) if verified else None
        write = partial(write, wrong=wrong) if write else None
    else:
        kind = AnswerReport if job.kind == "ask" else CheckReport
        report = parse_report(kind, site.jobs.result(job_id))
    if report is None or write is None:
        raise not_found()
    headers = {"Content-Disposition": f'attachment; filename="pincite-{job_id}.{ending}"'}
    if ending == "html":
        headers["Content-Security-Policy"] = POLICY
    # A lone surrogate, which UTF-8 cannot encode, becomes "?".
    content = write(report).encode("utf-8", "replace")
    return Response(content, 200, headers, f"{MEDIA_TYPES[ending]}; charset=utf-8")


@pages.get("/jobs/{job_id}/progress")
def progress(job_id: str, request: Request, who: Reader, site: Stores) -> HTMLResponse:
    """The part of a job's page that shows its progress; reloads the page when the job ends."""
    job = readable(site, job_id, who)
    headers = {"HX-Refresh": "true"} if job.ended else None
    return page(request, "progress.html", who, headers=headers, **_progress(request, site, job))


@pages.get("/history")
def history(
    request: Request,
    who: Reader,
    site: Stores,
    cursor: Cursor = None,
    kind: Annotated[list[Kind] | None, Query()] = None,
    everybody: bool = False,
) -> HTMLResponse:
    """The user's own jobs, newest first; for an administrator also those of `everybody`."""
    owner = None if everybody and who.is_admin else who.listed_owner
    rows, following = jobs.page_of_jobs(site, owner, ROWS, cursor, kind or (), once=True)
    values: dict[str, Any] = {"jobs": rows, "cursor": cursor, "next": following, "owners": None}
    if owner is None:
        accounts = map(site.people.accounts.get, {job.owner for job in rows})
        values["owners"] = {account.account_id: account.name for account in accounts if account}
    return page(request, "history.html", who, **values)


def _progress(request: Request, site: Site, job: Job) -> dict[str, Any]:
    events = site.jobs.events(job.job_id, max(0, job.n_events - MAX_EVENTS))
    item = next((e.data for e in reversed(events) if e.kind == "item"), {})
    counted = item or next((e.data for e in reversed(events) if e.data.get("total")), {})
    steps = (_in_words(request, event) for event in reversed(events))
    is_verify = job.kind == "verify"
    judged = [e.data for e in events if is_verify and e.kind == "judged" and e.data.get("text")]
    failing = [claim for claim in reversed(judged) if claim["label"] in FAILING]
    return {
        "job": job,
        "item": item,
        "now": next(filter(None, steps), ""),
        "ahead": site.jobs.n_ahead(job.job_id) if job.status == "queued" else 0,
        "done": counted.get("done", 0),
        "total": counted.get("total", 0),
        **(check_ask.progress_values(events) if job.kind == "ask" else {}),
        "labels": Counter(claim["label"] for claim in judged),
        "failing": failing[:MAX_FAILING],
    }


def _in_words(request: Request, event: Event) -> str:
    texts = translations(language_of(request))
    _, data = texts.gettext, dict(event.data)
    words = {
        "queued": _("Accepted"),
        "started": _("Started"),
        "article": texts.ngettext(
            "Read “%(title)s”: %(claims)s claim with references",
            "Read “%(title)s”: %(claims)s claims with references",
            data.get("claims", 0),
        ),
        "fetching": _("Fetching sources: %(done)s of %(total)s (%(host)s)"),
        "judged": _("Claims judged: %(done)s of %(total)s"),
        "asking": _("Requests to the model: %(done)s of %(total)s"),
        "readings": _("Readings found"),
        "sentence": _("Sentence written and verified"),
        "draft": _("Checking sentences against their references"),
        "reading": _("Files read: %(done)s of %(total)s; documents: %(documents)s"),
        "waiting": _("Waiting: another job is writing to this corpus"),
        "note": "%(text)s",
    }.get(event.kind, "")
    try:
        return words % data
    except (KeyError, TypeError):
        return ""


# ── Share links ──────────────────────────────────────────────────────────────────────────────────

Token = Annotated[str, Path(max_length=100)]


@pages.get("/s/{token}")
def shared_result(token: Token, request: Request, who: Guest, site: Stores) -> HTMLResponse:
    job_id = site.people.links.job_of(token)
    job = site.jobs.get(job_id) if job_id else None
    result = site.jobs.result(job.job_id) if job else None
    shown = None
    if job and result is not None and job.kind in SHARABLE:
        shown = VIEWS[job.kind](request, Look(job, who, f"/s/{token}"), site, result)
    if shown is None:
        raise not_found("This link has expired, has been revoked, or is incomplete.")
    shown.headers["X-Robots-Tag"] = "noindex"  # keep a published link out of search engines
    return shown


@pages.get("/jobs/{job_id}/links")
def links_page(job_id: IdPath, request: Request, who: Runner, site: Stores) -> HTMLResponse:
    return _links(request, who, site, _sharable(site, job_id, who))


@pages.post("/jobs/{job_id}/links")
def create_link(
    job_id: IdPath, form: Form, request: Request, who: Runner, site: Stores
) -> HTMLResponse:
    """Create a link; its address is shown only on this page."""
    job = _sharable(site, job_id, who)
    _, token = site.people.links.add(job_id, forms.body(LinkRequest, form).days)
    return _links(request, who, site, job, f"{base_of(request, site)}/s/{token}")


@pages.post("/jobs/{job_id}/links/{link_id}/revoke")
def revoke_link(
    job_id: IdPath, link_id: IdPath, who: Runner, site: Stores, _form: Form
) -> RedirectResponse:
    readable(site, job_id, who)
    if not site.people.links.revoke(job_id, link_id):
        raise not_found()
    return forms.redirect(f"/jobs/{job_id}/links")


def _links(request: Request, who: Identity, site: Site, job: Job, new: str = "") -> HTMLResponse:
    links = site.people.links.of(job.job_id)
    return page(request, "links.html", who, job=job, links=links, new=new)


def _sharable(site: Site, job_id: str, who: Identity) -> Job:
    job = readable(site, job_id, who)
    if job.kind not in SHARABLE or not job.ended:
        raise not_found()
    return job
