"""The pages of `check`: a statement, its editable readings, and the evidence for each.

A check takes two jobs: the first finds readings; the second looks for evidence for those that the
user kept, reworded or merged. "Check at once" starts only the second.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from fastapi import Request, Response
from fastapi.responses import HTMLResponse

from pincite import codec
from pincite.errors import InputError
from pincite.judgement.confirmation import StatementType
from pincite.report import cells
from pincite.server import demo, forms
from pincite.server.forms import Form
from pincite.server.identity import Identity, Reader, Runner
from pincite.server.jobs import Job
from pincite.server.problems import Problem, not_found
from pincite.server.rendering import Look, attachment, page, words_of
from pincite.server.requests import CheckRequest, corpora_in
from pincite.server.routes import corpora
from pincite.server.routes.jobs import readable, start_job
from pincite.server.routing import Router
from pincite.server.site import Site, Stores
from pincite.verbs.check import render, wording
from pincite.verbs.check.report import CheckReport, Interpretation

pages = Router(include_in_schema=False)
MOST_READINGS = 20  # as `CheckRequest`
KINDS = tuple(map(str, StatementType))
EXPORTS = {
    "md": ("text/markdown", render.to_footnotes),
    "jsonld": ("application/ld+json", render.to_claimreview),
    "html": ("text/html", render.to_html),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A reading being edited in the form."""

    text: str
    kind: str = ""  # empty to detect it by rule
    negation: str = ""
    keep: bool = True


@pages.get("/check")
def check_form(request: Request, who: Reader, site: Stores) -> HTMLResponse:
    """A form for statement and corpus."""
    return form_page(request, who, site, "check")


@pages.post("/check", response_model=None)
def check(form: Form, request: Request, who: Runner, site: Stores) -> Response:
    """Find readings, or look for evidence at once."""
    only_readings = forms.text(form, "step") != "evidence"
    try:
        body = forms.body(CheckRequest, form, only_readings=only_readings)
        return forms.to(f"/jobs/{start_job(site, who, 'check', body).job_id}")
    except Problem as problem:
        return form_page(request, who, site, "check", **forms.again(request, problem, form))


@pages.post("/jobs/{job_id}/readings")
def readings(job_id: str, request: Request, form: Form, who: Runner, site: Stores) -> Response:
    """The edited readings: look for evidence, or edit them further."""
    job = readable(site, job_id, who)
    if job.kind != "check":
        raise not_found()
    rows, step = _rows(form), forms.text(form, "step")
    if step == "merge":
        return _edited(request, who, job, _merged(rows, set(form.getlist("merge"))))
    if step == "add":
        return _edited(request, who, job, [*rows, Row("")][:MOST_READINGS])
    kept = [
        {"text": row.text, "negation": row.negation} | ({"kind": row.kind} if row.kind else {})
        for row in rows
        if row.keep and row.text
    ]
    if not kept:
        raise Problem(422, "invalid_request", "Keep at least one reading, or write one.")
    asked = {name: job.request[name] for name in ("statement", "corpus")}
    asked |= {"settings": job.request.get("settings", {}), "readings": kept}
    body = forms.checked(CheckRequest, asked)
    return forms.to(f"/jobs/{start_job(site, who, 'check', body).job_id}")


@pages.get("/jobs/{job_id}/check.{ending}")
def export(job_id: str, ending: str, who: Reader, site: Stores) -> Response:
    """A check as a file: Markdown with footnotes, ClaimReview, or HTML."""
    job = readable(site, job_id, who)
    report = _report(site.jobs.result(job_id)) if job.kind == "check" else None
    if report is None or ending not in EXPORTS:
        raise not_found()
    media_type, write = EXPORTS[ending]
    return attachment(write(report), media_type, f"check-{job_id}.{ending}")


def result_page(request: Request, look: Look, site: Site, result: bytes) -> HTMLResponse | None:
    """Render the editable readings or the evidence; None if another version wrote the result."""
    report = _report(result)
    if report is None:
        if not look.is_own:
            return None
        try:
            found = codec.from_json(Interpretation, result)
        except InputError:
            return None
        rows = [Row(each.text, each.kind, each.negation) for each in found.readings]
        failures = [failure.detail for failure in found.failures]
        return _edited(request, look.who, look.job, rows, failures)
    words = words_of(request)
    return page(
        request,
        "checked.html",
        look.who,
        look=look,
        job=look.job,
        report=report,
        checks=render.views(report, words),
        advice=wording.ADVICE,
        legend=report.legend(words),
        used=cells.asked(report.usage),
        covers=corpora.covered(site, look),
        footnotes=render.to_footnotes(report),
        claimreview=render.to_claimreview(report),
    )


def form_page(
    request: Request, who: Identity, site: Site, kind: Literal["check", "ask"], **again: Any
) -> HTMLResponse:
    """Render the form for a job on a corpus, preset with the user's last corpus and settings.

    `again` has the values of a form with errors.
    """
    examples = demo.examples(site, kind)
    last = next(iter(site.jobs.listed(who.account_id, 1, None, (kind,))), None)
    usual = last.request.get("corpus") if last else examples and examples.corpus_id
    readable = (entry for entry in site.corpora.listed() if who.may_read(entry))
    filled = [entry for entry in readable if not site.corpora.is_empty(entry)]
    corpora = sorted(filled, key=lambda entry: entry.corpus_id not in corpora_in(usual))
    own = request.app.state.examples
    if corpora and (texts := own.statements if kind == "check" else own.questions):
        examples = demo.Examples(corpora[0].corpus_id, [*texts])
    values: dict[str, Any] = {
        "given": forms.settings_of(last, kind),
        "corpora": corpora,
        "examples": examples,
        "tunable": forms.tunable(site, kind),
    }
    return page(request, f"{kind}_form.html", who, **values | again)


def _report(result: bytes | None) -> CheckReport | None:
    try:
        return CheckReport.from_json(result) if result else None
    except InputError:
        return None


def _edited(
    request: Request,
    who: Identity | None,
    job: Job,
    rows: Sequence[Row],
    failures: Sequence[str] = (),
) -> HTMLResponse:
    return page(
        request,
        "check_readings.html",
        who,
        job=job,
        statement=job.request["statement"],
        rows=rows,
        failures=failures,
        kinds=KINDS,
        meanings=wording.KINDS,
        most=MOST_READINGS,
    )


def _rows(form: Form) -> list[Row]:
    rows = []
    for number in range(MOST_READINGS):
        if f"text-{number}" in form:
            kind = forms.text(form, f"kind-{number}")
            row = Row(
                text=" ".join(forms.text(form, f"text-{number}").split()),
                kind=kind if kind in KINDS else "",
                negation=forms.text(form, f"negation-{number}"),
                keep=bool(forms.text(form, f"keep-{number}")),
            )
            # The negation belongs to the old wording.
            is_reworded = forms.text(form, f"was-{number}") != row.text
            rows.append(replace(row, negation="") if is_reworded else row)
    return rows


def _merged(rows: Sequence[Row], chosen: set[Any]) -> list[Row]:
    """Join the chosen readings at the position of the first, for the user to edit."""
    places = [n for n in range(len(rows)) if str(n) in chosen]
    if len(places) < 2:
        return list(rows)
    first, rest = places[0], set(places[1:])
    text = " ".join(rows[n].text for n in places)
    merged = replace(rows[first], text=text, negation="", keep=True)
    return [merged if n == first else row for n, row in enumerate(rows) if n not in rest]
