"""Taking part in a blind study, as pages: consent, one statement after the other, the end."""

from typing import Annotated, Any

from fastapi import Path, Request, Response
from fastapi.responses import RedirectResponse

from pincite.server import forms
from pincite.server.forms import Form
from pincite.server.problems import not_found
from pincite.server.rendering import language_of, page, translations
from pincite.server.routing import Router
from pincite.server.site import Stores
from pincite_study.blind import shown
from pincite_study.preferences import AMOUNTS, Comparison
from pincite_study.rating import ANSWERS, Ended, RatingStore
from pincite_study.routes import rating as api_rating
from pincite_study.routes.access import COOKIE, Link, TakingPart, Visiting
from pincite_study.routes.rating import Answering

KEPT_SECONDS = 180 * 86_400
router = Router(prefix="/studies/{link}", include_in_schema=False)
Position = Annotated[int, Path(ge=1, le=1_000_000)]


@router.get("")
def consent(request: Request, visit: Visiting) -> Response:
    """What the study is, and the way in."""
    if visit.rater:
        return forms.redirect(f"/studies/{visit.link}/rate")
    return page(request, "study_consent.html", visit.who, study=visit.study, place=visit.link)


@router.post("/join")
def join(form: Form, visit: Visiting, site: Stores) -> RedirectResponse:
    """Take part, and let this browser go on as this rater."""
    answer = forms.redirect(f"/studies/{visit.link}/rate")
    if visit.rater:
        return answer
    forms.validate(api_rating.Joining, {"agreed": forms.text(form, "agreed") == "yes"})
    _, key = api_rating.joined(site, visit.study, api_rating.account_of(visit.who))
    answer.set_cookie(
        COOKIE,
        key,
        max_age=KEPT_SECONDS,
        path=f"/studies/{visit.link}",
        httponly=True,
        samesite="lax",
        secure=site.server.mode == "server" and site.server.secure_cookies,
    )
    return answer


@router.get("/rate")
def rate(visit: Visiting, site: Stores) -> RedirectResponse:
    """The next statement, else the end."""
    if visit.rater is None:
        return forms.redirect(f"/studies/{visit.link}")
    try:
        task = RatingStore(site.database).next(visit.rater)
    except Ended:
        task = None
    return forms.redirect(f"/studies/{visit.link}/{f'tasks/{task.position}' if task else 'end'}")


@router.get("/tasks/{position}")
def task_page(request: Request, visit: Visiting, position: Position, site: Stores) -> Response:
    """One statement and two sources."""
    if visit.rater is None:
        return forms.redirect(f"/studies/{visit.link}")
    if visit.rater.finished or visit.study.closed:
        return forms.redirect(f"/studies/{visit.link}/end")
    task = RatingStore(site.database).at(visit.rater, position)
    if task is None:
        raise not_found()
    return page(
        request,
        "rate.html",
        visit.who,
        place=visit.link,
        position=position,
        said=task.said,
        seen=shown(task.item, task.baseline_first),
        words=_words(request, visit.study.compare),
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
    api_rating.answered(site, rater, position, forms.validate(Answering, given))
    return forms.redirect(f"/studies/{link}/rate")


@router.get("/end")
def end(request: Request, visit: Visiting, site: Stores) -> Response:
    """What was answered, to be changed or ended; after the end, which side was which."""
    study, rater = visit.study, visit.rater
    if rater is None:
        return forms.redirect(f"/studies/{visit.link}")
    over = bool(rater.finished or study.closed)
    return page(
        request,
        "rate_end.html",
        visit.who,
        place=visit.link,
        study=study,
        rater=rater,
        over=over,
        told=api_rating.revealed(site, study, rater) if over else [],
        tasks=RatingStore(site.database).tasks(rater),
        words=_words(request, study.compare),
    )


@router.post("/finish")
def finish(_form: Form, link: Link, rater: TakingPart, site: Stores) -> RedirectResponse:
    """Change nothing any more, and be told."""
    RatingStore(site.database).finish(rater)
    return forms.redirect(f"/studies/{link}/end")


@router.post("/forget")
def forget(_form: Form, link: Link, rater: TakingPart, site: Stores) -> RedirectResponse:
    """Delete oneself and all that one answered."""
    RatingStore(site.database).forget(rater)
    away = forms.redirect(f"/studies/{link}")
    away.delete_cookie(COOKIE, path=f"/studies/{link}")
    return away


def _words(request: Request, compare: Comparison) -> dict[str, Any]:
    _ = translations(language_of(request)).gettext
    if compare == "citations":
        a, b = _("Source A"), _("Source B")
        better = _("Which source supports the words in bold better?")
    elif compare == "answers":
        a, b = _("Answer A"), _("Answer B")
        better = _("Which answers the question in bold better?")
    else:
        a, b = _("Passage A"), _("Passage B")
        better = _("Which passage supports the words in bold better?")
    answers = {
        "a": a,
        "b": b,
        "neither": _("Neither does"),
        "both": _("Both equally"),
        "unsure": _("I cannot tell"),
    }
    told = {
        "existing": _("the citation that the article has"),
        "suggested": _("the one that Pincite suggests"),
        "random": _("a random passage of the source"),
        "chosen": _("the passage that Pincite chose"),
        "first": _("the answer of the first report"),
        "other": _("the answer of another report"),
    }
    amounts = {"enough": _("All of it"), "partial": _("Part of it"), "none": _("None of it")}
    assert set(answers) == set(ANSWERS)
    assert set(amounts) == set(AMOUNTS)
    how_much = (
        _("How much of the question does it answer?")
        if compare == "answers"
        else _("How much of the statement does it support?")
    )
    words = {"answers": answers, "amounts": amounts, "better": better, "told": told}
    return {**words, "how_much": how_much}
