"""Feedback on results: whether an item is right, and what the correct answer is."""

import json
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Literal

from fastapi import Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import Field

from pincite.documents.jsonl import LABELS
from pincite.errors import ConfigError, InputError, MissingExtra
from pincite.library import feedback as opinions
from pincite.library.feedback import Words, result_in
from pincite.verbs.check import render
from pincite.verbs.check.report import CheckReport
from pincite_server import forms
from pincite_server.feedback import Verdict
from pincite_server.forms import Form
from pincite_server.identity import Reader, Runner
from pincite_server.problems import Problem
from pincite_server.rendering import page
from pincite_server.requests import Body, Id, Line, Text
from pincite_server.routes.jobs import parse_report, readable
from pincite_server.routing import Router
from pincite_server.site import Stores
from pincite_server.tables import whole

api = Router(prefix="/api/v1/feedback", tags=["feedback"])
pages = Router(include_in_schema=False)


class NewFeedback(Body):
    """A user's opinion on one item of a result, or on the whole."""

    job_id: Id
    # Items as named by `pincite feedback`: CLAIM/r3 or CLAIM/s1 of `verify`, 1.r2 or 1.r2/e1 of
    # `check`, 1, 1.s2 or 1.s2/r3 of `ask`; empty for the whole result.
    item: Annotated[Text, Field(max_length=200)] = ""
    verdict: Verdict
    label: Annotated[Text, Field(max_length=30)] | None = None  # the correct label
    quote: Annotated[Text, Field(max_length=20_000)] | None = None  # a better quote
    note: Line | None = None


@api.post("", status_code=204, operation_id="give_feedback")
def give_feedback(body: NewFeedback, who: Runner, site: Stores) -> None:
    """Store an opinion. Of several on one item the last counts.

    A better quote that stands in the passage replaces the one that was shown.
    """
    job = readable(site, body.job_id, who)
    result = site.jobs.result(job.job_id)
    if result is None:
        raise Problem(409, "no_result", "The job has no result yet.")
    words = Words(note=body.note or "", correction=body.quote or "")
    label = body.label or {"right": opinions.UP, "wrong": opinions.DOWN}[body.verdict]
    try:
        content = result_in(result, "the result")
        item = content.chosen(body.item, passage=body.label in LABELS) if body.item else None
    except InputError as error:
        raise Problem(422, "unknown_item", str(error)) from error
    opinion = opinions.opinion_on(result, content, label, item, words)
    if words.correction and words.correction in opinion.passage:
        opinion = replace(opinion, quote=words.correction)
    site.feedback.add(who.account_id, job.job_id, body.verdict, opinion)
    whole_check = item is None and job.kind == "check" and not job.request.get("unlogged")
    if report := parse_report(CheckReport, result) if whole_check else None:
        with suppress(ConfigError, MissingExtra):  # the opinion is stored anyway
            render.log_checks(report, site.settings, opinions.THUMBS[label])


@api.get(
    "/export",
    operation_id="export_feedback",
    response_class=Response,
    responses={200: {"content": {"application/jsonl": {}}, "description": "JSON lines."}},
)
def export_feedback(
    who: Reader,
    site: Stores,
    form: Annotated[Literal["claims", "opinions"], Query(alias="format")] = "claims",
    everybody: Annotated[bool, Query(description="For administrators.")] = False,
) -> Response:
    """Feedback as rows of test data.

    claims: for `pincite learn` and `pincite eval claims`; opinions: everything, as
    `pincite feedback list --json` prints it.
    """
    if everybody and not who.is_admin:
        detail = "Only an administrator may export the feedback of others."
        raise Problem(403, "not_allowed", detail)
    records = site.feedback.opinions(None if everybody else who.account_id)
    rows = opinions.claims(records) if form == "claims" else map(opinions.plain, records)
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    headers = {"Content-Disposition": f'attachment; filename="feedback-{form}.jsonl"'}
    return Response(whole(text), media_type="application/jsonl", headers=headers)


@pages.post("/jobs/{job_id}/feedback")
def give(job_id: str, request: Request, form: Form, who: Runner, site: Stores) -> HTMLResponse:
    """Store an opinion, and confirm it in place of the form, or on a page without scripts."""
    values = {name: value for name, value in forms.values_of(NewFeedback, form).items() if value}
    body = forms.validate(NewFeedback, values | {"job_id": job_id})
    give_feedback(body, who, site)
    back = forms.local(forms.text(form, "back") or f"/jobs/{job_id}")
    is_piece = request.headers.get("hx-request") == "true"
    name = "thanks.html" if is_piece else "thanks_page.html"
    return page(request, name, who, verdict=body.verdict, back=back, is_piece=is_piece)
