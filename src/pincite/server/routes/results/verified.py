"""The pages of a verified article: the findings, one of them, its sources, and what to take along.

Each address says the threshold that is looked at, and a finding's names the finding, so that a link
shows somebody else the same. Where scripts run, only pieces of the page are fetched.
"""

from collections.abc import Callable
from datetime import date
from functools import partial
from typing import Annotated, Any, NamedTuple

from fastapi import Query, Request, Response
from fastapi.responses import HTMLResponse

from pincite.library.own_copies import OwnCopy
from pincite.server.jobs.display import THRESHOLDS
from pincite.server.jobs.store import Job
from pincite.server.pages import sent_files
from pincite.server.pages.rendering import page
from pincite.server.pages.viewer import Look
from pincite.server.people.identity import Identity, Reader
from pincite.server.problems import not_found
from pincite.server.routes.job import file_of, own_file, readable
from pincite.server.routes.results import verify_view
from pincite.server.routes.results.verify_view import Verified
from pincite.server.routing import Router
from pincite.server.site import Site, Stores
from pincite.types import Unchecked
from pincite.verbs.verify import data, html, wikitext
from pincite.verbs.verify.records import Report

router = Router(include_in_schema=False)
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


@router.get("/jobs/{job_id}/findings/{claim_id}")
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


@router.get("/jobs/{job_id}/board")
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


@router.get("/jobs/{job_id}/sources/{doc_id}")
def source(job_id: str, doc_id: str, request: Request, who: Reader, site: Stores) -> HTMLResponse:
    """A source's whole text, for who ran the job."""
    job = readable(site, job_id, who)
    document = own_file(site, job_id, doc_id, who)
    if "text" not in document:
        raise not_found()
    return page(request, "source.html", who, job=job, document=document)


@router.get("/jobs/{job_id}/report.html")
def report_page(
    job_id: str, request: Request, who: Reader, site: Stores, threshold: Threshold = None
) -> Response:
    """The report as one file that can be sent to somebody."""
    job, verified = _found(request, who, site, job_id)
    text = html.to_html(verify_view.at(verified, threshold), date.today())
    # Its styles stand in it; no script is in it, and none may run.
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return _file(text, "text/html", f"{job.job_id}.html", {"Content-Security-Policy": policy})


@router.get("/jobs/{job_id}/report.wikitext")
def report_wikitext(
    job_id: str, request: Request, who: Reader, site: Stores, threshold: Threshold = None
) -> Response:
    """Tags and references to paste, worst first."""
    job, verified = _found(request, who, site, job_id)
    text = wikitext.to_wikitext(verify_view.at(verified, threshold), date.today())
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
    report = verify_view.at(verified, at)
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
        "edit": verify_view.edit_link(verified, opened["claim"].claim_id) if opened else None,
        "may_judge": look.is_own,
        "handed": None,
        "query": "" if at == verified.threshold else f"?threshold={at:g}",
    }


def _board(verified: Verified, values: dict[str, Any]) -> dict[str, Any]:
    """The same with what the list and the article ask for."""
    report: Report = values["report"]
    return values | {
        "counts": data.counts(report),
        "funnel": verify_view.funnel(verified, report),
        "unchecked": verify_view.unchecked(report),
        "sent": sent_files.shown(verified.view.get("sent"), values["may_judge"]),
        "rows": verify_view.rows(report),
        "blocks": list(verify_view.article(verified, report)),
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
    documents = verify_view.documents_of(found, stored)
    view = verify_view.finding_view(
        found, at + 1, verified.view.get("names", {}), documents, date.today()
    )
    return view | {"before_id": ids[at - 1] if at else "", "next_id": [*ids, ""][at + 1]}


def _nothing(_name: str) -> None:
    return None


def _results(request: Request) -> verify_view.Results:
    results: verify_view.Results = request.app.state.results
    return results


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < 1 else None
