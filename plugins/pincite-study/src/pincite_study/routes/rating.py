"""Pages for raters: consent, one statement after the other, and the end.

No page tells which side is which before the rater has finished.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Path, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import Field

from pincite_server import forms
from pincite_server.forms import Form
from pincite_server.identity import LOCAL, Guest, Identity, needs
from pincite_server.languages import language_of, translations
from pincite_server.problems import Problem, not_found
from pincite_server.rendering import page
from pincite_server.requests import Body
from pincite_server.routing import Router
from pincite_server.site import Stores
from pincite_study.blinding import blind
from pincite_study.preferences import AMOUNTS, PAIRS, Amount, Comparison
from pincite_study.rating import (
    ANSWERS,
    Answer,
    Answered,
    Ended,
    Full,
    Rater,
    RatingStore,
    Task,
    choice_of,
)
from pincite_study.studies import Study, StudyStore

# ── Access ───────────────────────────────────────────────────────────────────────────────────────

RATE = "rate"  # a permission: take part in studies
STUDY = "study"  # another: make studies and read their reports
RaterAccount = Annotated[Identity, Depends(needs(RATE))]
Researcher = Annotated[Identity, Depends(needs(STUDY))]

COOKIE = "pincite_rater"  # set for the pages of one study only
# The token of an invitation link; or, for those who may rate, the study's id.
Link = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,40}$")]


def someone(who: Guest) -> Identity | None:
    """The user, if they may rate; None for a visitor with the link."""
    return who if who and RATE in who.may else None


def _study(link: Link, site: Stores, who: Annotated[Identity | None, Depends(someone)]) -> Study:
    study = StudyStore(site.database).of_token(link)
    if study is None and who:
        study = StudyStore(site.database).get(link)
    if study is None:
        raise not_found("There is no such study, or its invitation was withdrawn.")
    return study


Someone = Annotated[Identity | None, Depends(someone)]
Invited = Annotated[Study, Depends(_study)]


def _maybe(request: Request, study: Invited, site: Stores) -> Rater | None:
    key = request.cookies.get(COOKIE)
    return RatingStore(site.database).rater(study.study_id, key) if key else None


MaybeTakingPart = Annotated[Rater | None, Depends(_maybe)]


def _surely(rater: MaybeTakingPart) -> Rater:
    if rater is None:
        raise Problem(401, "no_rater", "Join the study first.")
    return rater


TakingPart = Annotated[Rater, Depends(_surely)]


@dataclass(frozen=True, slots=True)
class Visit:
    """A visit to a page of a study."""

    link: Link
    study: Invited
    who: Someone
    rater: MaybeTakingPart  # None: they have not joined


Visiting = Annotated[Visit, Depends()]


# ── Pages ─────────────────────────────────────────────────────────────────────────────────────────

KEPT_SECONDS = 180 * 86_400
router = Router(prefix="/studies/{link}", include_in_schema=False)
Position = Annotated[int, Path(ge=1, le=1_000_000)]


class Answering(Body):
    """The form of an answer."""

    answer: Answer
    evidence_a: Amount | None = None
    evidence_b: Amount | None = None
    seconds: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] | None = None  # visible


@router.get("")
def consent(request: Request, visit: Visiting) -> Response:
    """What the study is, with a form to join it."""
    if visit.rater:
        return forms.redirect(f"/studies/{visit.link}/rate")
    return page(request, "study_consent.html", visit.who, study=visit.study, place=visit.link)


@router.post("/join")
def join(form: Form, visit: Visiting, site: Stores) -> RedirectResponse:
    """Join, and keep the rater's key in this browser."""
    answer = forms.redirect(f"/studies/{visit.link}/rate")
    if visit.rater:
        return answer
    if forms.text(form, "agreed") != "yes":
        raise Problem(422, "invalid_request", "Taking part needs your consent.")
    # In local mode everybody is the same account, but not the same rater.
    account = visit.who.account_id if visit.who and visit.who.account_id != LOCAL else None
    try:
        _, key = RatingStore(site.database).join(visit.study.study_id, account)
    except Ended as error:
        raise Problem(409, "ended", str(error)) from error
    except Full as error:
        raise Problem(409, "full", str(error)) from error
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
        seen=blind(task.item, task.baseline_first),
        words=_words(request, visit.study.compare),
    )


@router.post("/tasks/{position}")
def answer(
    form: Form, link: Link, position: Position, rater: TakingPart, site: Stores
) -> RedirectResponse:
    """Keep an answer and go on."""
    values = {name: value for name, value in forms.values_of(Answering, form).items() if value}
    body = forms.validate(Answering, values)
    said = Answered(body.answer, body.evidence_a, body.evidence_b)
    try:
        there = RatingStore(site.database).answer(rater, position, said, body.seconds)
    except Ended as error:
        raise Problem(409, "ended", str(error)) from error
    if not there:
        raise not_found()
    return forms.redirect(f"/studies/{link}/rate")


@router.get("/end")
def end(request: Request, visit: Visiting, site: Stores) -> Response:
    """The answers, which may be changed; after the end also which side was which."""
    study, rater = visit.study, visit.rater
    if rater is None:
        return forms.redirect(f"/studies/{visit.link}")
    over = bool(rater.finished or study.closed)
    tasks = RatingStore(site.database).tasks(rater)
    return page(
        request,
        "rate_end.html",
        visit.who,
        place=visit.link,
        study=study,
        rater=rater,
        over=over,
        told=[_sides_of(task) for task in tasks] if over else [],
        tasks=tasks,
        words=_words(request, study.compare),
    )


@router.post("/finish")
def finish(_form: Form, link: Link, rater: TakingPart, site: Stores) -> RedirectResponse:
    """Finish, and learn which side was which."""
    RatingStore(site.database).finish(rater)
    return forms.redirect(f"/studies/{link}/end")


@router.post("/forget")
def forget(_form: Form, link: Link, rater: TakingPart, site: Stores) -> RedirectResponse:
    """Delete the rater and all their answers."""
    RatingStore(site.database).forget(rater)
    away = forms.redirect(f"/studies/{link}")
    away.delete_cookie(COOKIE, path=f"/studies/{link}")
    return away


def _sides_of(task: Task) -> dict[str, Any]:
    """What was on the two sides, and what the rater preferred."""
    assert task.said
    baseline, item = PAIRS[task.item.compare].baseline, task.item
    urls = [(item.baseline if side == baseline else item.tested).url for side in task.sides]
    sides = zip(("a", "b"), task.sides, urls, strict=True)
    return {
        "position": task.position,
        "statement": item.claim,
        "answer": task.said.answer,
        "choice": choice_of(task.said.answer, task.sides),
        **{letter: {"side": side, "url": url} for letter, side, url in sides},
    }


def _words(request: Request, compare: Comparison) -> dict[str, Any]:
    _ = translations(language_of(request)).gettext
    how_much = _("How much of the statement does it support?")
    if compare == "citations":
        a, b = _("Source A"), _("Source B")
        better = _("Which source supports the words in bold better?")
    elif compare == "answers":
        a, b = _("Answer A"), _("Answer B")
        better = _("Which answers the question in bold better?")
        how_much = _("How much of the question does it answer?")
    else:
        a, b = _("Passage A"), _("Passage B")
        better = _("Which passage supports the words in bold better?")
    answers = {"a": a, "b": b, "neither": _("Neither does"), "both": _("Both equally")}
    answers |= {"unsure": _("I cannot tell")}
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
    words = {"answers": answers, "amounts": amounts, "better": better, "told": told}
    return {**words, "how_much": how_much}
