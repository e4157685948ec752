"""`/api/v1/studies`: blind studies for whoever makes them."""

from typing import Annotated, Any

from fastapi import Query, Response
from pydantic import BaseModel, Field

from pincite.errors import InputError
from pincite.server.identity import Identity
from pincite.server.problems import Problem, ProblemBody, not_found
from pincite.server.requests import Body, Cursor, Id, Limit, Text, page_of, read_cursor
from pincite.server.routes.jobs import readable
from pincite.server.routing import Router
from pincite.server.site import Site, Stores
from pincite.server.tables import iso
from pincite.verbs.ask.report import AnswerReport
from pincite.verbs.verify.report import Report
from pincite_study import exports as study_exports
from pincite_study.exports import MEDIA_TYPES, Format
from pincite_study.items import DocumentOf, Sample, documents_beside, sampled
from pincite_study.preferences import Comparison
from pincite_study.report import report_of
from pincite_study.routes.access import Researcher
from pincite_study.studies import (
    CONSENTS,
    MAX_PER_ITEM,
    MAX_SEED,
    Plan,
    Study,
    StudyStore,
    default_sample,
    planned,
    planned_answers,
)

router = Router(
    prefix="/api/v1/studies",
    tags=["studies"],
    responses={n: {"model": ProblemBody} for n in (400, 401, 403, 404, 409, 413, 421, 422)},
)
MAX_ITEMS = 10_000


class NewStudy(Body):
    """What a study is to be made of: jobs of `verify`, or of `ask` for answers, one's own."""

    name: Annotated[Text, Field(min_length=1, max_length=200)]
    job_ids: Annotated[tuple[Id, ...], Field(min_length=1, max_length=1000)]
    compare: Comparison = "citations"
    sample: Sample | None = None  # null: low-scores; of answers, random
    n: Annotated[int, Field(ge=1, le=MAX_ITEMS)] | None = None  # items at most
    per_item: Annotated[int, Field(ge=1, le=MAX_PER_ITEM)] = 3
    seed: Annotated[int, Field(ge=-MAX_SEED, le=MAX_SEED)] = 0
    consent: Annotated[Text, Field(min_length=1, max_length=20_000)] | None = None


class StudyBody(BaseModel):
    """A study and how far it is."""

    study_id: str
    name: str
    consent: str
    sample: str
    per_item: int
    seed: int
    compare: Comparison
    n_without_text: int  # citations left out of `passages`: the source's text is not at hand
    n_one_passage: int  # the same: the source has no other passage that is as wide
    link: str | None  # that invites raters; null: it was revoked
    created: str
    closed: str | None
    n_items: int
    n_raters: int
    n_ratings: int


class StudyList(BaseModel):
    """A page of studies, the newest first."""

    studies: list[StudyBody]
    next: str | None


@router.post("", status_code=201, operation_id="create_study")
def create_study(body: NewStudy, response: Response, who: Researcher, site: Stores) -> StudyBody:
    """A study of citations, passages or answers.

    Citations: of each claim whose citation was checked and that has a suggestion, these two.
    Passages: of each checked citation the passage that the verifier chose, and a random one of the
    same source.
    """
    made = created(site, who, body)
    response.headers["Location"] = f"/api/v1/studies/{made.study_id}"
    return study_body(made)


@router.post("/import", status_code=201, operation_id="import_study")
def import_study(
    body: dict[str, Any], response: Response, who: Researcher, site: Stores
) -> StudyBody:
    """A study as `export?format=json` gave it, with the ratings that it had."""
    try:
        made = StudyStore(site.database).restore(who.account_id, body)
    except InputError as error:
        raise Problem(422, "invalid_study", str(error)) from error
    response.headers["Location"] = f"/api/v1/studies/{made.study_id}"
    return study_body(made)


@router.get("", operation_id="list_studies")
def list_studies(
    who: Researcher, site: Stores, limit: Limit = 50, cursor: Cursor = None
) -> StudyList:
    """One's own studies, the newest first; an administrator's are all."""
    before = read_cursor(cursor, (float, str))
    found = StudyStore(site.database).listed(
        None if who.is_admin else who.account_id, limit + 1, before
    )
    page, after = page_of(found, limit, lambda each: (each.created, each.study_id))
    return StudyList(studies=[study_body(each) for each in page], next=after)


@router.get("/{study_id}", operation_id="get_study")
def get_study(study_id: Id, who: Researcher, site: Stores) -> StudyBody:
    """How far a study is."""
    return study_body(own(site, study_id, who))


@router.delete("/{study_id}", status_code=204, operation_id="delete_study")
def delete_study(study_id: Id, who: Researcher, site: Stores) -> None:
    """Delete a study with all its ratings."""
    StudyStore(site.database).delete(own(site, study_id, who).study_id)


@router.post("/{study_id}/close", operation_id="close_study")
def close_study(study_id: Id, who: Researcher, site: Stores) -> StudyBody:
    """Take no more answers; raters are told which side was which."""
    return _changed(StudyStore(site.database).close(own(site, study_id, who).study_id))


@router.put("/{study_id}/link", operation_id="renew_study_link")
def renew_link(study_id: Id, who: Researcher, site: Stores) -> StudyBody:
    """Another invitation link; the one before leads nowhere."""
    return _changed(StudyStore(site.database).relink(own(site, study_id, who).study_id))


@router.delete("/{study_id}/link", operation_id="revoke_study_link")
def revoke_link(study_id: Id, who: Researcher, site: Stores) -> StudyBody:
    """No invitation link; who may rate by their account still may."""
    return _changed(
        StudyStore(site.database).relink(own(site, study_id, who).study_id, revoke=True)
    )


@router.delete("/{study_id}/raters/{rater}", status_code=204, operation_id="delete_rater")
def delete_rater(study_id: Id, rater: int, who: Researcher, site: Stores) -> None:
    """Delete a rater who asks for it, with all their answers."""
    known = abs(rater) < 2**31 and StudyStore(site.database).forget(
        own(site, study_id, who).study_id, rater
    )
    if not known:
        raise not_found()


@router.get("/{study_id}/report", operation_id="get_study_report")
def get_report(study_id: Id, who: Researcher, site: Stores) -> dict[str, Any]:
    """Preferences, majorities by score, agreement, the sign test, times."""
    return report_of(StudyStore(site.database), own(site, study_id, who))


@router.get(
    "/{study_id}/export",
    operation_id="export_study",
    response_class=Response,
    responses={200: {"content": {kind.partition(";")[0]: {} for kind in MEDIA_TYPES.values()}}},
)
def export_study(
    study_id: Id,
    who: Researcher,
    site: Stores,
    form: Annotated[Format, Query(alias="format")] = "json",
    texts: Annotated[bool, Query(description="json: with the sources' whole texts.")] = False,
) -> Response:
    """The ratings, under the raters' numbers."""
    study = own(site, study_id, who)
    ending = "json" if form == "label-studio" else form
    headers = {"Content-Disposition": f'attachment; filename="study-{form}.{ending}"'}
    text = study_exports.exported(StudyStore(site.database), study, form, texts=texts)
    return Response(text, media_type=MEDIA_TYPES[form], headers=headers)


def created(site: Site, who: Identity, body: NewStudy) -> Study:
    """A new study from jobs; also for the pages."""
    consent = body.consent or CONSENTS[body.compare]
    sample = body.sample or default_sample(body.compare)
    plan = Plan(body.name, consent, sample, body.per_item, body.seed, body.compare)
    n = body.n or MAX_ITEMS
    try:
        if body.compare == "answers":
            answers = [
                (job_id, AnswerReport.from_json(_result(site, job_id, who, "ask")))
                for job_id in body.job_ids
            ]
            plan, items = planned_answers(plan, answers)
        else:
            reports = (report_of_job(site, job_id, who) for job_id in body.job_ids)
            plan, items = planned(plan, reports)
        chosen = sampled(items, plan.sample, n, plan.seed, plan.compare)
    except InputError as error:
        raise Problem(422, "nothing_to_rate", str(error)) from error
    return StudyStore(site.database).create(who.account_id, plan, chosen)


def report_of_job(site: Site, job_id: str, who: Identity) -> tuple[Report, DocumentOf]:
    """The report of a job of `verify`, and the documents that lie beside it.

    Raises:
        Problem: 404 it is not there; 422 it has no such result.
    """
    result = _result(site, job_id, who, "verify")
    return Report.from_json(result), documents_beside(site.jobs, job_id)


def _result(site: Site, job_id: str, who: Identity, kind: str) -> bytes:
    """The report of a job of a verb; raises Problem as `report_of_job`."""
    job = readable(site, job_id, who)
    result = site.jobs.result(job_id)
    if job.kind != kind or result is None:
        raise Problem(422, "no_report", f"Job {job_id} has no report of `{kind}`.")
    return result


def own(site: Site, study_id: str, who: Identity) -> Study:
    """A study that the one who asks may see and change.

    Raises:
        Problem: 404
    """
    study = StudyStore(site.database).get(study_id)
    if study is None or not who.owns(study.owner):
        raise not_found()
    return study


def study_body(study: Study) -> StudyBody:
    """A study as the API shows it."""
    return StudyBody(
        study_id=study.study_id,
        name=study.name,
        consent=study.consent,
        sample=study.sample,
        per_item=study.per_item,
        seed=study.seed,
        compare=study.compare,
        n_without_text=study.n_without_text,
        n_one_passage=study.n_one_passage,
        link=link_of(study),
        created=iso(study.created),
        closed=iso(study.closed) if study.closed else None,
        n_items=study.n_items,
        n_raters=study.n_raters,
        n_ratings=study.n_ratings,
    )


def link_of(study: Study) -> str | None:
    """Where its raters go, on this server."""
    return f"/studies/{study.token}" if study.token else None


def _changed(study: Study | None) -> StudyBody:
    if study is None:
        raise not_found()
    return study_body(study)
