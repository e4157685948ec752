"""Pages for the makers of studies: the list, a new study, its progress and its report."""

from typing import Annotated, Literal

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import Field

from pincite.errors import InputError
from pincite.verbs.verify.report import Report
from pincite_server import forms
from pincite_server.forms import Form
from pincite_server.identity import Identity
from pincite_server.jobs import Status
from pincite_server.languages import language_of, translations
from pincite_server.problems import Problem, not_found
from pincite_server.rendering import page
from pincite_server.requests import Body, Id, Text
from pincite_server.routes.jobs import readable
from pincite_server.routing import Router
from pincite_server.site import Site, Stores, base_of
from pincite_study import report as study_report
from pincite_study.items import DocumentOf, Gathered, Sample, documents_beside, draw_sample, gather
from pincite_study.routes.rating import STUDY, RaterAccount, Researcher
from pincite_study.studies import CONSENTS, MAX_PER_ITEM, MAX_SEED, Plan, Study, StudyStore

MAX_ITEMS = 10_000
ROWS = 200
router = Router(prefix="/studies", include_in_schema=False)


class NewStudy(Body):
    """A study of one's own jobs of `verify`."""

    name: Annotated[Text, Field(min_length=1, max_length=200)]
    job: Annotated[tuple[Id, ...], Field(min_length=1, max_length=1000)]
    compare: Literal["citations", "passages"] = "citations"
    sample: Sample = "low-scores"
    n: Annotated[int, Field(ge=1, le=MAX_ITEMS)] = MAX_ITEMS  # items at most
    per_item: Annotated[int, Field(ge=1, le=MAX_PER_ITEM)] = 3
    seed: Annotated[int, Field(ge=-MAX_SEED, le=MAX_SEED)] = 0
    consent: Annotated[Text, Field(min_length=1, max_length=20_000)] = CONSENTS["citations"]


@router.get("")
def studies(request: Request, who: RaterAccount, site: Stores) -> HTMLResponse:
    """The studies that one may rate; for those who make studies, their own and a new one."""
    store, may_create = StudyStore(site.database), STUDY in who.may
    owner = None if who.is_admin else who.account_id
    jobs = site.jobs.list_jobs(who.account_id, ROWS, None, ["verify"]) if may_create else []
    return page(
        request,
        "studies.html",
        who,
        makes=may_create,
        own=store.newest(owner, ROWS) if may_create else [],
        open=store.newest(None, ROWS, open_only=True),
        jobs=[job for job in jobs if job.status is Status.DONE],
        consent=CONSENTS["citations"],
    )


@router.post("")
def create(form: Form, who: Researcher, site: Stores) -> RedirectResponse:
    values = {name: value for name, value in forms.values_of(NewStudy, form).items() if value}
    body = forms.validate(NewStudy, values)
    gathered = Gathered()
    try:
        for job_id in body.job:
            gathered += gather(*_report(site, job_id, who), body.compare, body.seed)
        chosen = draw_sample(gathered.items, body.sample, body.n, body.seed, body.compare)
    except InputError as error:
        raise Problem(422, "nothing_to_rate", str(error)) from error
    plan = Plan(
        **body.model_dump(exclude={"job", "n"}),
        n_without_text=gathered.n_without_text,
        n_one_passage=gathered.n_one_passage,
    )
    made = StudyStore(site.database).create(who.account_id, plan, chosen)
    return forms.redirect(f"/studies/{made.study_id}/report")


@router.get("/{study_id}/report")
def report(request: Request, study_id: Id, who: Researcher, site: Stores) -> HTMLResponse:
    """How far a study is, and what came of it so far."""
    study = _own(site, study_id, who)
    counted = study_report.report_of(StudyStore(site.database), study)
    translated = translations(language_of(request)).gettext
    return page(
        request,
        "study_report.html",
        who,
        study=study,
        invitation=f"{base_of(request, site)}/studies/{study.token}",
        report=counted,
        **study_report.template_names(counted, translated),
    )


@router.get("/{study_id}/ratings.csv")
def ratings(study_id: Id, who: Researcher, site: Stores) -> Response:
    text = study_report.as_csv(StudyStore(site.database), _own(site, study_id, who))
    headers = {"Content-Disposition": 'attachment; filename="ratings.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


@router.post("/{study_id}/report/{act}")
def change(study_id: Id, act: str, form: Form, who: Researcher, site: Stores) -> RedirectResponse:
    """Close or delete a study, renew or revoke its link, delete a rater."""
    _own(site, study_id, who)
    store, here = StudyStore(site.database), f"/studies/{study_id}/report"
    if act == "close":
        store.close(study_id)
    elif act in ("link", "unlink"):
        store.relink(study_id, revoke=act == "unlink")
    elif act == "forget-rater":
        number = forms.text(form, "rater")
        known = number.isdecimal() and int(number) < 2**31 and store.forget(study_id, int(number))
        if not known:
            raise not_found()
    elif act == "delete":
        store.delete(study_id)
        here = "/studies"
    else:
        raise not_found()
    return forms.redirect(here)


def _report(site: Site, job_id: str, who: Identity) -> tuple[Report, DocumentOf]:
    """The report of a job of `verify`, and its documents; Problem 404 or 422 without them."""
    job = readable(site, job_id, who)
    result = site.jobs.result(job_id)
    if job.kind != "verify" or result is None:
        raise Problem(422, "no_report", f"Job {job_id} has no report of `verify`.")
    return Report.from_json(result), documents_beside(site.jobs, job_id)


def _own(site: Site, study_id: str, who: Identity) -> Study:
    """A study that the user may change; Problem 404 for any other."""
    study = StudyStore(site.database).get(study_id)
    if study is None or not who.owns(study.owner):
        raise not_found()
    return study
