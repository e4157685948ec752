"""The pages of `check`: a statement, its readings to be edited, and what speaks for and against.

Two jobs stand behind one check: the first finds readings, the second looks for evidence for those
that a person kept, worded or merged. A check "at once" needs the second only. What is counted of
the evidence is what is listed: documents, each with its passages, the strongest first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from pincite.contract import codec
from pincite.errors import InputError
from pincite.judgement.confirmation import StatementType
from pincite.report import cells
from pincite.server import demo, forms
from pincite.server.corpora import CorpusEntry
from pincite.server.forms import Form
from pincite.server.identity import Identity, Reader, Runner
from pincite.server.jobs.store import Job
from pincite.server.problems import Problem, not_found
from pincite.server.rendering import Look, page, words_of
from pincite.server.requests import CheckRequest, corpora_in
from pincite.server.routes import corpora
from pincite.server.routes.jobs import readable, started
from pincite.server.routing import Router
from pincite.server.site import Site, Stores
from pincite.server.tables import Kind
from pincite.verbs.check import data, render, wording
from pincite.verbs.check.records import CheckReport, Interpretation

router = Router(include_in_schema=False)
MOST_READINGS = 20  # as `CheckRequest`
KINDS = tuple(map(str, StatementType))
EXPORTS = {"md": "text/markdown", "jsonld": "application/ld+json", "html": "text/html"}


@dataclass(frozen=True, slots=True)
class Row:
    """A reading in the form, as it is being edited."""

    text: str
    kind: str = ""  # empty: found by rule
    negation: str = ""
    keep: bool = True


@router.get("/check")
def check_form(request: Request, who: Reader, site: Stores) -> HTMLResponse:
    """Statement and corpus."""
    return _form(request, who, site)


@router.post("/check", response_model=None)
def check(form: Form, request: Request, who: Runner, site: Stores) -> Response:
    """Find readings, or look for evidence at once."""
    asked: dict[str, Any] = {"statement": forms.text(form, "statement")}
    asked |= {"corpus": forms.texts(form, "corpus")} if forms.texts(form, "corpus") else {}
    only_readings = forms.text(form, "step") != "evidence"
    try:
        return _started(site, who, {**asked, **_settings(form), "only_readings": only_readings})
    except Problem as problem:
        return _form(request, who, site, forms.back(request, problem, forms.kept_texts(form)))


@router.post("/jobs/{job_id}/readings")
def readings(job_id: str, request: Request, form: Form, who: Runner, site: Stores) -> Response:
    """The readings as edited: go on to the evidence, or edit them further."""
    job = readable(site, job_id, who)
    if job.kind != "check":
        raise not_found()
    rows, step = _rows(form), forms.text(form, "step")
    if step == "merge":
        return _edited(request, who, job, _merged(rows, set(form.getlist("merge"))))
    if step == "add":
        return _edited(request, who, job, [*rows, Row("")][:MOST_READINGS])
    kept = [row for row in rows if row.keep and row.text]
    if not kept:
        raise Problem(422, "invalid_request", "Keep at least one reading, or word one.")
    given = [
        {"text": row.text, "negation": row.negation} | ({"kind": row.kind} if row.kind else {})
        for row in kept
    ]
    asked = {name: job.request[name] for name in ("statement", "corpus")}
    asked["settings"] = job.request.get("settings", {})
    return _started(site, who, {**asked, "readings": given})


@router.get("/jobs/{job_id}/check.{ending}")
def export(job_id: str, ending: str, who: Reader, site: Stores) -> Response:
    """A check to take along: footnotes in Markdown, ClaimReview, or one page."""
    job = readable(site, job_id, who)
    report = _report(site.jobs.result(job_id)) if job.kind == "check" else None
    if report is None or ending not in EXPORTS:
        raise not_found()
    text = {
        "md": render.to_footnotes,
        "jsonld": render.to_claimreview,
        "html": render.to_html,
    }[ending](report)
    headers = {"Content-Disposition": f'attachment; filename="check-{job_id}.{ending}"'}
    return Response(
        text.encode("utf-8", "replace"), 200, headers, f"{EXPORTS[ending]}; charset=utf-8"
    )


def result_page(request: Request, look: Look, site: Site, result: bytes) -> HTMLResponse | None:
    """The readings to be edited, or the evidence; None if another version wrote it."""
    job, who = look.job, look.who
    report = _report(result)
    if report is None:
        # A form is no result yet, and for nobody else.
        found = _interpretation(result) if look.is_own else None
        if found is None:
            return None
        rows = [Row(each.text, each.kind, each.negation) for each in found.readings]
        return _edited(request, who, job, rows, [failure.detail for failure in found.failures])
    words, threshold = words_of(request), wording.threshold_of(report)
    return page(
        request,
        "checked.html",
        who,
        look=look,
        job=job,
        report=report,
        checks=render.views(report, words),
        advice=wording.ADVICE,
        legend=wording.legend(threshold, words) if wording.has_degrees(report) else "",
        used=cells.asked(report.usage),
        covers=corpora.covered(site, job.request.get("corpus"), who) if who else [],
        footnotes=render.to_footnotes(report),
        claimreview=render.to_claimreview(report),
    )


def _form(
    request: Request, who: Identity, site: Site, back: forms.Back = forms.FRESH
) -> HTMLResponse:
    tried = demo.statements(site)
    corpora = filled(site, who, "check", tried)
    own = demo.own(request.app.state.examples.statements, corpora)
    values: dict[str, Any] = {"corpora": corpora, "examples": own or tried, **back.values}
    values |= {"given": back.given or forms.last_used(site, who, "check")}
    return page(request, "check_form.html", who, tuned=forms.tuned(site, "check"), **values)


def filled(site: Site, who: Identity, kind: Kind, tried: demo.Tried | None) -> list[CorpusEntry]:
    """The corpora that one may read and that hold something, first the one that one used last."""
    found = [entry for entry in site.corpora.listed() if who.may_read(entry)]
    last = next(iter(site.jobs.listed(who.account_id, 1, None, (kind,))), None)
    usual = last.request.get("corpus") if last else tried and tried.corpus_id
    found = [entry for entry in found if not site.corpora.is_empty(entry)]
    return sorted(found, key=lambda entry: entry.corpus_id not in corpora_in(usual))


def _started(site: Site, who: Identity, asked: Mapping[str, Any]) -> RedirectResponse:
    body = forms.checked(CheckRequest, dict(asked))
    job = started(site, who, "check", body, Response(), None)
    return forms.to(f"/jobs/{job.job_id}")


def _settings(form: Form) -> dict[str, Any]:
    """The filters and settings that were filled in."""
    names = ("published_from", "published_to")
    given = {name: value for name in names if (value := forms.text(form, name))}
    given |= forms.settings_given(form, "check")
    return {"settings": given | ({"undated": True} if forms.text(form, "undated") else {})}


def _report(result: bytes | None) -> CheckReport | None:
    try:
        return data.from_json(result) if result else None
    except InputError:
        return None


def _interpretation(result: bytes) -> Interpretation | None:
    try:
        return codec.from_json(Interpretation, result)
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
    """The readings that the form holds, at most as many as there may be."""
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
            was = forms.text(form, f"was-{number}")
            # A negation belongs to the words that it was made of.
            rows.append(row if was == row.text else replace(row, negation=""))
    return rows


def _merged(rows: Sequence[Row], chosen: set[Any]) -> list[Row]:
    """The chosen readings as one, in the place of the first, for a person to smooth out."""
    places = [n for n in range(len(rows)) if str(n) in chosen]
    if len(places) < 2:
        return list(rows)
    first, rest = places[0], set(places[1:])
    text = " ".join(rows[n].text for n in places)
    merged = replace(rows[first], text=text, negation="", keep=True)
    return [merged if n == first else row for n, row in enumerate(rows) if n not in rest]
