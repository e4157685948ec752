"""Taking part in a blind study, as pages: consent, one statement after the other, the end."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from pincite.evaluation.preferences import AMOUNTS
from pincite.server import api_rating
from pincite.server.api_rating import Answering
from pincite.server.blind import shown
from pincite.server.pages import forms, languages
from pincite.server.pages.forms import Form
from pincite.server.pages.rendering import page
from pincite.server.problems import not_found
from pincite.server.rating import ANSWERS, Ended, Rater
from pincite.server.site import Stores
from pincite.server.studies import Study
from pincite.server.study_access import COOKIE, Invited, Link, MaybeTakingPart, Someone, TakingPart

KEPT_SECONDS = 180 * 86_400
router = APIRouter(prefix="/studies/{link}", include_in_schema=False)
Position = Annotated[int, Path(ge=1, le=1_000_000)]


@router.get("")
def consent(
    request: Request, link: Link, study: Invited, who: Someone, rater: MaybeTakingPart
) -> Response:
    """What the study is, and the way in."""
    if rater:
        return forms.to(_after(link, study, rater))
    return page(request, "study_consent.html", who, study=study, link=link)


@router.post("/join")
def join(
    form: Form, link: Link, study: Invited, who: Someone, site: Stores, rater: MaybeTakingPart
) -> RedirectResponse:
    """Take part, and let this browser go on as this rater."""
    if rater:
        return forms.to(_after(link, study, rater))
    forms.checked(api_rating.Joining, {"agreed": forms.text(form, "agreed") == "yes"})
    _, key = api_rating.joined(site, study, api_rating.account_of(who))
    answer = forms.to(f"/studies/{link}/rate")
    answer.set_cookie(
        COOKIE,
        key,
        max_age=KEPT_SECONDS,
        path=f"/studies/{link}",
        httponly=True,
        samesite="lax",
        secure=site.server.mode == "server" and site.server.secure_cookies,
    )
    return answer


@router.get("/rate")
def rate(link: Link, rater: MaybeTakingPart, site: Stores) -> RedirectResponse:
    """The next statement, else the end."""
    if rater is None:
        return forms.to(f"/studies/{link}")
    try:
        task = site.ratings.next(rater)
    except Ended:
        task = None
    return forms.to(f"/studies/{link}/{f'tasks/{task.position}' if task else 'end'}")


@router.get("/tasks/{position}")
def task_page(
    request: Request,
    link: Link,
    position: Position,
    study: Invited,
    who: Someone,
    rater: MaybeTakingPart,
    site: Stores,
) -> Response:
    """One statement and two sources."""
    if rater is None:
        return forms.to(f"/studies/{link}")
    if rater.finished or study.closed:
        return forms.to(f"/studies/{link}/end")
    task = site.ratings.at(rater, position)
    if task is None:
        raise not_found()
    return page(
        request,
        "rate.html",
        who,
        link=link,
        position=position,
        said=task.said,
        seen=shown(task.item, task.existing_first),
        **_words(request),
    )


@router.post("/tasks/{position}")
def answer(
    form: Form, link: Link, position: Position, rater: TakingPart, site: Stores
) -> RedirectResponse:
    """Keep an answer and go on."""
    given: dict[str, Any] = {
        name: value
        for name in ("answer", "evidence_a", "evidence_b", "seconds")
        if (value := forms.text(form, name))
    }
    api_rating.answered(site, rater, position, forms.checked(Answering, given))
    return forms.to(f"/studies/{link}/rate")


@router.get("/end")
def end(
    request: Request,
    link: Link,
    study: Invited,
    who: Someone,
    rater: MaybeTakingPart,
    site: Stores,
) -> Response:
    """What was answered, to be changed or ended; after the end, which side was which."""
    if rater is None:
        return forms.to(f"/studies/{link}")
    over = bool(rater.finished or study.closed)
    told = api_rating.revealed(site, study, rater) if over else []
    return page(
        request,
        "rate_end.html",
        who,
        link=link,
        study=study,
        rater=rater,
        over=over,
        told=told,
        tasks=site.ratings.tasks(rater),
        **_words(request),
    )


@router.post("/finish")
def finish(_form: Form, link: Link, rater: TakingPart, site: Stores) -> RedirectResponse:
    """Change nothing any more, and be told."""
    site.ratings.finish(rater)
    return forms.to(f"/studies/{link}/end")


@router.post("/forget")
def forget(_form: Form, link: Link, rater: TakingPart, site: Stores) -> RedirectResponse:
    """Delete oneself and all that one answered."""
    site.ratings.forget(rater)
    away = forms.to(f"/studies/{link}")
    away.delete_cookie(COOKIE, path=f"/studies/{link}")
    return away


def _after(link: str, study: Study, rater: Rater) -> str:
    return f"/studies/{link}/{'end' if rater.finished or study.closed else 'rate'}"


def _words(request: Request) -> dict[str, Any]:
    _ = languages.translations(languages.language_of(request)).gettext
    answers = {
        "a": _("Source A"),
        "b": _("Source B"),
        "neither": _("Neither does"),
        "both": _("Both alike"),
        "unsure": _("I cannot tell"),
    }
    amounts = {"enough": _("All of it"), "partial": _("A part of it"), "none": _("Nothing of it")}
    assert set(answers) == set(ANSWERS)
    assert set(amounts) == set(AMOUNTS)
    return {"answers": answers, "amounts": amounts}
