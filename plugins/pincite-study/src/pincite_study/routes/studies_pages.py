"""Blind studies for whoever makes them: the list, a new one, how far each is, its report."""

from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse

from pincite.server import forms
from pincite.server.forms import Form
from pincite.server.identity import Identity
from pincite.server.jobs import Job, Status
from pincite.server.problems import not_found
from pincite.server.rendering import language_of, page, translations
from pincite.server.requests import Id
from pincite.server.routing import Router
from pincite.server.site import Site, Stores, base_of
from pincite_study import report as study_report
from pincite_study.routes import studies as api_studies
from pincite_study.routes.access import STUDY, RaterAccount, Researcher
from pincite_study.routes.studies import NewStudy
from pincite_study.studies import CONSENT, StudyStore

ROWS = 200
router = Router(prefix="/studies", include_in_schema=False)


@router.get("")
def studies(request: Request, who: RaterAccount, site: Stores) -> HTMLResponse:
    """Those that one may rate; for whoever may make studies, one's own and a new one."""
    makes = STUDY in who.may
    return page(
        request,
        "studies.html",
        who,
        makes=makes,
        own=StudyStore(site.database).listed(None if who.is_admin else who.account_id, ROWS)
        if makes
        else [],
        open=StudyStore(site.database).listed(None, ROWS, open_only=True),
        jobs=_verified(site, who) if makes else [],
        consent=CONSENT,
    )


@router.post("")
def create(form: Form, who: Researcher, site: Stores) -> RedirectResponse:
    """A new study from one's jobs."""
    given: dict[str, Any] = {
        name: value
        for name in ("name", "compare", "sample", "n", "per_item", "seed", "consent")
        if (value := forms.text(form, name))
    }
    given["job_ids"] = [value for value in form.getlist("job") if isinstance(value, str)]
    made = api_studies.created(site, who, forms.validate(NewStudy, given))
    return forms.redirect(f"/studies/{made.study_id}/report")


@router.get("/{study_id}/report")
def report(request: Request, study_id: Id, who: Researcher, site: Stores) -> HTMLResponse:
    """How far a study is, and what came of it so far."""
    study = api_studies.own(site, study_id, who)
    counted = study_report.report_of(StudyStore(site.database), study)
    translated = translations(language_of(request)).gettext
    return page(
        request,
        "study_report.html",
        who,
        study=study,
        invitation=base_of(request, site) + (api_studies.link_of(study) or ""),
        report=counted,
        **study_report.named(counted, translated),
    )


@router.post("/{study_id}/report/{act}")
def change(study_id: Id, act: str, form: Form, who: Researcher, site: Stores) -> RedirectResponse:
    """Close or delete a study, renew or revoke its link, delete a rater."""
    api_studies.own(site, study_id, who)
    here = f"/studies/{study_id}/report"
    if act == "close":
        StudyStore(site.database).close(study_id)
    elif act in ("link", "unlink"):
        StudyStore(site.database).relink(study_id, revoke=act == "unlink")
    elif act == "forget-rater":
        number = forms.text(form, "rater")
        api_studies.delete_rater(study_id, int(number) if number.isdecimal() else 0, who, site)
    elif act == "delete":
        StudyStore(site.database).delete(study_id)
        here = "/studies"
    else:
        raise not_found()
    return forms.redirect(here)


def _verified(site: Site, who: Identity) -> list[Job]:
    found = site.jobs.listed(who.account_id, ROWS, None, ["verify"])
    return [job for job in found if job.status is Status.DONE]
