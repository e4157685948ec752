"""`/api/v1/feedback` and its form: is a result right, and what would be right."""

import json
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field

from pincite.documents.jsonl import LABELS
from pincite.errors import InputError
from pincite.library import feedback as opinions
from pincite.library.feedback import Words
from pincite.library.results import result_in
from pincite.server import forms
from pincite.server.feedback import Feedback, Verdict
from pincite.server.forms import Form
from pincite.server.identity import Identity, Reader, Runner, owned
from pincite.server.problems import Problem, ProblemBody
from pincite.server.rendering import page
from pincite.server.requests import Body, Cursor, Id, Limit, Line, Text, page_of, read_cursor
from pincite.server.routes.jobs import readable
from pincite.server.routing import Router
from pincite.server.site import Site, Stores
from pincite.server.tables import iso, whole

router = Router(
    prefix="/api/v1/feedback",
    tags=["feedback"],
    responses={n: {"model": ProblemBody} for n in (400, 401, 403, 404, 409, 413, 421, 422)},
)


class NewFeedback(Body):
    """What somebody thinks of one item of a result, or of the whole of it."""

    job_id: Id
    # As `pincite feedback` names items: CLAIM/r3 or CLAIM/s1 of `verify`, 1.r2 or 1.r2/e1 of
    # `check`, 1, 1.s2 or 1.s2/r3 of `ask`; empty: the whole result.
    item: Annotated[Text, Field(max_length=200)] = ""
    verdict: Verdict
    label: Annotated[Text, Field(max_length=30)] | None = None  # what would be right
    quote: Annotated[Text, Field(max_length=20_000)] | None = None  # a better one
    note: Line | None = None


class FeedbackBody(BaseModel):
    """What somebody said."""

    feedback_id: str
    job_id: str | None
    item: str
    verdict: Verdict
    label: str | None
    quote: str | None
    note: str | None
    statement: str
    said: str  # what the result says of it
    url: str
    versions: dict[str, str]  # of the program and the models that said it
    created: str


class FeedbackList(BaseModel):
    """A page of it, the newest first."""

    feedback: list[FeedbackBody]
    next: str | None


@router.post("", status_code=201, operation_id="give_feedback")
def give_feedback(body: NewFeedback, response: Response, who: Runner, site: Stores) -> FeedbackBody:
    """Keep what somebody thinks. Of several words on one thing the last counts."""
    kept = kept_feedback(site, who, body)
    response.headers["Location"] = f"/api/v1/feedback/{kept.feedback_id}"
    return feedback_body(kept)


@router.get("", operation_id="list_feedback")
def list_feedback(
    who: Reader, site: Stores, limit: Limit = 50, cursor: Cursor = None, job_id: Id | None = None
) -> FeedbackList:
    """One's own, the newest first."""
    before = read_cursor(cursor, (float, str))
    found = site.feedback.listed(who.account_id, limit + 1, before, job_id)
    page, after = page_of(found, limit, lambda each: (each.created, each.feedback_id))
    return FeedbackList(feedback=[feedback_body(each) for each in page], next=after)


@router.get(
    "/export",
    operation_id="export_feedback",
    response_class=Response,
    responses={200: {"content": {"application/jsonl": {}}, "description": "JSON lines."}},
)
def export_feedback(
    who: Reader,
    site: Stores,
    form: Annotated[Literal["claims", "statements", "opinions"], Query(alias="format")] = "claims",
    everybody: Annotated[bool, Query(description="For administrators.")] = False,
) -> Response:
    """As rows: claims for `pincite train verifier --extra` and `pincite eval claims`.

    statements: readings for `pincite eval check`; opinions: all that was said, as
    `pincite feedback list --json` prints it.
    """
    if everybody and not who.is_admin:
        raise Problem(403, "not_allowed", "Only an administrator may export what others said.")
    found = site.feedback.opinions(None if everybody else who.account_id)
    rows: list[Any]
    if form == "claims":
        rows = opinions.claims(found)
    elif form == "statements":
        rows = opinions.statements(found)
    else:
        rows = [opinions.plain(each) for each in found]
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    headers = {"Content-Disposition": f'attachment; filename="feedback-{form}.jsonl"'}
    return Response(whole(text), media_type="application/jsonl", headers=headers)


@router.get("/{feedback_id}", operation_id="get_feedback")
def get_feedback(feedback_id: Id, who: Reader, site: Stores) -> FeedbackBody:
    """What somebody said."""
    return feedback_body(_theirs(site, feedback_id, who))


@router.delete("/{feedback_id}", status_code=204, operation_id="delete_feedback")
def delete_feedback(feedback_id: Id, who: Runner, site: Stores) -> None:
    """Take it back."""
    site.feedback.remove(_theirs(site, feedback_id, who).feedback_id)


def kept_feedback(site: Site, who: Identity, body: NewFeedback) -> Feedback:
    """Keep a user's opinion; also for the pages.

    A better quote that stands in the passage replaces the one that was shown.

    Raises:
        Problem: 409, the job has no result; 422, the result has no such item.
        ConfigError: the item cannot have this label.
    """
    job = readable(site, body.job_id, who)
    result = site.jobs.result(job.job_id)
    if result is None:
        raise Problem(409, "no_result", "The job has no result yet.")
    words = Words(note=body.note or "", correction=body.quote or "")
    given = body.label or {"right": opinions.UP, "wrong": opinions.DOWN}[body.verdict]
    try:
        found = result_in(result, "the result")
        item = found.chosen(body.item, passage=body.label in LABELS) if body.item else None
    except InputError as error:
        raise Problem(422, "unknown_item", str(error)) from error
    opinion = opinions.opinion(result, found, given, item, words)
    if words.correction and words.correction in opinion.passage:
        opinion = replace(opinion, quote=words.correction)
    return site.feedback.add(who.account_id, job.job_id, body.verdict, opinion)


def feedback_body(kept: Feedback) -> FeedbackBody:
    """Feedback as the API shows it."""
    opinion = kept.opinion
    return FeedbackBody(
        feedback_id=kept.feedback_id,
        job_id=kept.job_id,
        item=opinion.item_id,
        verdict=kept.verdict,
        label=None if opinion.given in (opinions.UP, opinions.DOWN) else opinion.given,
        quote=opinion.correction or None,
        note=opinion.note or None,
        statement=whole(opinion.statement),
        said=opinion.said,
        url=whole(opinion.url),
        versions=json.loads(opinion.versions),
        created=iso(kept.created),
    )


def _theirs(site: Site, feedback_id: str, who: Identity) -> Feedback:
    return owned(site.feedback.get(feedback_id), who)


pages = Router(include_in_schema=False)


@pages.post("/jobs/{job_id}/feedback")
def give(job_id: str, request: Request, form: Form, who: Runner, site: Stores) -> HTMLResponse:
    """Keep it, and say so: in the form's place where scripts run, else on a page."""
    names = ("item", "verdict", "label", "quote", "note")
    given = {name: value for name in names if (value := forms.text(form, name))}
    body = forms.checked(NewFeedback, {"job_id": job_id, **given})
    said = kept_feedback(site, who, body)
    back = forms.local(forms.text(form, "back") or f"/jobs/{job_id}")
    piece = request.headers.get("hx-request") == "true"
    name = "thanks.html" if piece else "thanks_page.html"
    return page(request, name, who, said=said, back=back)
