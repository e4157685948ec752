"""A job's page: how far it is, then its result; and the list of one's jobs."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from pincite.judgement.funnel import FLAGS
from pincite.server.jobs.store import Event, Job, Status
from pincite.server.pages import forms, languages
from pincite.server.pages.forms import Form
from pincite.server.pages.rendering import page
from pincite.server.pages.viewer import Look
from pincite.server.paging import Cursor, page_of, read_cursor
from pincite.server.people.identity import Reader, Runner
from pincite.server.routes.corpora import corpora_pages as corpora
from pincite.server.routes.job import readable
from pincite.server.routes.jobs import jobs
from pincite.server.routes.results import ask, check, verified
from pincite.server.routing import Router
from pincite.server.site import Site, Stores
from pincite.server.tables import Kind
from pincite.types import Label

# Makes the page of a result: the request, who looks at which job, the stores, the report's JSON.
# None if another version of Pincite wrote it.
View = Callable[[Request, Look, Site, bytes], HTMLResponse | None]
VIEWS: dict[Kind, View] = {
    "verify": verified.result_page,
    "check": check.result_page,
    "ask": ask.result_page,
    "ingest": corpora.result_page,
}
ROWS = 50
MAX_STEPS = 8  # of those that were last; the rest would scroll away what matters
MAX_EVENTS = 500  # of a job, the newest, that its page is made of while it runs
FAILING = (*FLAGS, Label.PARTLY_SUPPORTED)

router = Router(include_in_schema=False)


@router.get("/jobs/{job_id}")
def job_page(job_id: str, request: Request, who: Reader, site: Stores) -> HTMLResponse:
    """A job: its result if there is one."""
    job = readable(site, job_id, who)
    result = site.jobs.result(job_id) if job.ended else None
    view = VIEWS.get(job.kind)
    if result is not None and view and (shown := view(request, Look(job, who), site, result)):
        return shown
    return page(request, "job.html", who, **_progress(request, site, job))


@router.get("/jobs/{job_id}/progress")
def progress(job_id: str, request: Request, who: Reader, site: Stores) -> HTMLResponse:
    """The piece of its page that says how far it is; when it has ended: load the page anew."""
    job = readable(site, job_id, who)
    headers = {"HX-Refresh": "true"} if job.ended else None
    return page(request, "progress.html", who, headers=headers, **_progress(request, site, job))


@router.post("/jobs/{job_id}/cancel")
def cancel(job_id: str, who: Runner, site: Stores, _form: Form) -> RedirectResponse:
    """Stop a job."""
    jobs.cancel_job(job_id, who, site)
    return forms.to(f"/jobs/{job_id}")


@router.get("/history")
def history(
    request: Request,
    who: Reader,
    site: Stores,
    cursor: Cursor = None,
    kind: Annotated[list[Kind] | None, Query()] = None,
) -> HTMLResponse:
    """One's own jobs, the newest first."""
    before = read_cursor(cursor, (float, str))
    found = site.jobs.listed(who.account_id, ROWS + 1, before, kind or ())
    jobs_shown, following = page_of(found, ROWS, lambda job: (job.created, job.job_id))
    return page(
        request,
        "history.html",
        who,
        jobs=jobs_shown,
        cursor=cursor,
        next=following,
        **_words(request),
    )


def _words(request: Request) -> dict[str, Any]:
    _ = languages.translations(languages.language_of(request)).gettext
    return {
        "kinds": {
            "verify": _("Verify"),
            "check": _("Check"),
            "ask": _("Ask"),
            "ingest": _("Files for a corpus"),
        },
        "statuses": {
            Status.QUEUED: _("waiting"),
            Status.RUNNING: _("running"),
            Status.DONE: _("done"),
            Status.FAILED: _("failed"),
            Status.CANCELLED: _("stopped"),
        },
    }


def _progress(request: Request, site: Site, job: Job) -> dict[str, Any]:
    """What the progress says: the last event in words, how many are done, and the last steps."""
    events = site.jobs.events(job.job_id, max(0, job.n_events - MAX_EVENTS))
    counted = next((e.data for e in reversed(events) if e.data.get("total")), {})
    steps = _steps(request, events)
    return {
        "job": job,
        "now": steps[-1] if steps else "",
        "done": counted.get("done", 0),
        "total": counted.get("total", 0),
        "steps": steps[-MAX_STEPS - 1 : -1],
        **(ask.so_far(request, events) if job.kind == "ask" else {}),
        **_judged(events if job.kind == "verify" else ()),
        **_words(request),
    }


def _judged(events: Sequence[Event]) -> dict[str, Any]:
    """How many claims have which label so far, and the last that need an editor, newest first."""
    told = [event.data for event in events if event.kind == "judged" and event.data.get("text")]
    failing = [each for each in reversed(told) if each["label"] in FAILING]
    return {"labels": Counter(each["label"] for each in told), "failing": failing[:MAX_STEPS]}


def _steps(request: Request, events: Sequence[Event]) -> list[str]:
    """The events in words. Of many of one kind in a row the last one speaks."""
    found: list[tuple[str, str]] = []
    for event in events:
        said = _said(request, event)
        if said and found and found[-1][0] == event.kind:
            found[-1] = (event.kind, said)
        elif said:
            found.append((event.kind, said))
    return [said for _, said in found]


def _said(request: Request, event: Event) -> str:
    texts = languages.translations(languages.language_of(request))
    _, data = texts.gettext, dict(event.data)
    told = {
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
        "readings": _("Found the readings"),
        "sentence": _("Wrote and verified a sentence"),
        "draft": _("Comparing sentences with their references"),
        "reading": _("Files read: %(done)s of %(total)s; documents: %(documents)s"),
        "unread": _("Could not read %(file)s"),
        "waiting": _("Waiting: another job writes this corpus"),
        "note": "%(text)s",
    }.get(event.kind, "")
    try:
        return told % data
    except (KeyError, TypeError):
        return ""
