"""Pages for raters: consent, one statement after the other, and the end.

No page tells which side is which before the rater has finished.
"""

from collections.abc import Mapping
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
from pincite_study.preferences import PAIRS, Amount, Comparison, Side
from pincite_study.rating import (
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


def optional_account(who: Guest) -> Identity | None:
    """The user, if they may rate; None for a visitor with the link."""
    return who if who and RATE in who.may else None


OptionalAccount = Annotated[Identity | None, Depends(optional_account)]


def study_of_link(link: Link, site: Stores, who: OptionalAccount) -> Study:
    """The study that a link leads to. Raises Problem: 404."""
    studies = StudyStore(site.database)
    study = studies.of_token(link) or (studies.get(link) if who else None)
    if study is None:
        raise not_found("There is no such study, or its invitation was withdrawn.")
    return study


def rating_store(site: Stores) -> RatingStore:
    return RatingStore(site.database)


StudyOfLink = Annotated[Study, Depends(study_of_link)]
Ratings = Annotated[RatingStore, Depends(rating_store)]


def optional_rater(request: Request, study: StudyOfLink, ratings: Ratings) -> Rater | None:
    """The rater whose key this browser has; None if they have not joined the study."""
    key = request.cookies.get(COOKIE)
    return ratings.rater(study.study_id, key) if key else None


OptionalRater = Annotated[Rater | None, Depends(optional_rater)]


def required_rater(rater: OptionalRater) -> Rater:
    """The rater of this browser. Raises Problem: 401, they have not joined."""
    if rater is None:
        raise Problem(401, "no_rater", "Join the study first.")
    return rater


RequiredRater = Annotated[Rater, Depends(required_rater)]


@dataclass(frozen=True, slots=True)
class Visit:
    """A visit to a page of a study."""

    link: Link
    study: StudyOfLink
    who: OptionalAccount
    rater: OptionalRater


CurrentVisit = Annotated[Visit, Depends()]


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
def consent(request: Request, visit: CurrentVisit) -> Response:
    if visit.rater:
        return forms.redirect(f"/studies/{visit.link}/rate")
    return page(request, "study_consent.html", visit.who, study=visit.study, place=visit.link)


@router.post("/join")
def join(form: Form, visit: CurrentVisit, site: Stores, ratings: Ratings) -> RedirectResponse:
    """Join, and keep the rater's key in this browser."""
    answer = forms.redirect(f"/studies/{visit.link}/rate")
    if visit.rater:
        return answer
    if forms.text(form, "agreed") != "yes":
        raise Problem(422, "invalid_request", "Taking part needs your consent.")
    # In local mode everybody is the same account, but not the same rater.
    account = visit.who.account_id if visit.who and visit.who.account_id != LOCAL else None
    try:
        _, key = ratings.join(visit.study.study_id, account)
    except Ended as error:
        raise Problem(409, "ended", str(error)) from error
    except Full as error:
        raise Problem(409, "full", str(error)) from error
    path = f"/studies/{visit.link}"
    secure = site.server.mode == "server" and site.server.secure_cookies
    answer.set_cookie(COOKIE, key, KEPT_SECONDS, path=path, secure=secure, httponly=True)
    return answer


@router.get("/rate")
def rate(visit: CurrentVisit, ratings: Ratings) -> RedirectResponse:
    if visit.rater is None:
        return forms.redirect(f"/studies/{visit.link}")
    try:
        task = ratings.next(visit.rater)
    except Ended:
        task = None
    return forms.redirect(f"/studies/{visit.link}/{f'tasks/{task.position}' if task else 'end'}")


@router.get("/tasks/{position}")
def task_page(
    request: Request, visit: CurrentVisit, position: Position, ratings: Ratings
) -> Response:
    if visit.rater is None:
        return forms.redirect(f"/studies/{visit.link}")
    if visit.rater.finished or visit.study.closed:
        return forms.redirect(f"/studies/{visit.link}/end")
    task = ratings.at(visit.rater, position)
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
    form: Form, link: Link, position: Position, rater: RequiredRater, ratings: Ratings
) -> RedirectResponse:
    values = {name: value for name, value in forms.values_of(Answering, form).items() if value}
    body = forms.validate(Answering, values)
    said = Answered(body.answer, body.evidence_a, body.evidence_b)
    try:
        is_stored = ratings.answer(rater, position, said, body.seconds)
    except Ended as error:
        raise Problem(409, "ended", str(error)) from error
    if not is_stored:
        raise not_found()
    return forms.redirect(f"/studies/{link}/rate")


@router.get("/end")
def end(request: Request, visit: CurrentVisit, ratings: Ratings) -> Response:
    """The answers, which may be changed; after the end also which side was which."""
    study, rater = visit.study, visit.rater
    if rater is None:
        return forms.redirect(f"/studies/{visit.link}")
    over = bool(rater.finished or study.closed)
    tasks = ratings.tasks(rater)
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
def finish(_form: Form, link: Link, rater: RequiredRater, ratings: Ratings) -> RedirectResponse:
    ratings.finish(rater)
    return forms.redirect(f"/studies/{link}/end")


@router.post("/forget")
def forget(_form: Form, link: Link, rater: RequiredRater, ratings: Ratings) -> RedirectResponse:
    ratings.forget(rater)
    away = forms.redirect(f"/studies/{link}")
    away.delete_cookie(COOKIE, path=f"/studies/{link}")
    return away


def _sides_of(task: Task) -> dict[str, Any]:
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


N_ = str  # marks a text for the translators


@dataclass(frozen=True, slots=True)
class Wording:
    """The questions of a comparison, in English."""

    side_a: str
    side_b: str
    better: str
    how_much: str = N_("How much of the statement does it support?")


WORDINGS: Mapping[Comparison, Wording] = {
    "citations": Wording(
        N_("Source A"), N_("Source B"), N_("Which source supports the words in bold better?")
    ),
    "passages": Wording(
        N_("Passage A"), N_("Passage B"), N_("Which passage supports the words in bold better?")
    ),
    "answers": Wording(
        N_("Answer A"),
        N_("Answer B"),
        N_("Which answers the question in bold better?"),
        N_("How much of the question does it answer?"),
    ),
}
NO_SIDE: Mapping[Answer, str] = {
    "neither": N_("Neither does"),
    "both": N_("Both equally"),
    "unsure": N_("I cannot tell"),
}
AMOUNTS: Mapping[Amount, str] = {
    "enough": N_("All of it"),
    "partial": N_("Part of it"),
    "none": N_("None of it"),
}
SIDES: Mapping[Side, str] = {
    "existing": N_("the citation that the article has"),
    "suggested": N_("the one that Pincite suggests"),
    "random": N_("a random passage of the source"),
    "chosen": N_("the passage that Pincite chose"),
    "first": N_("the answer of the first report"),
    "other": N_("the answer of another report"),
}


def _words(request: Request, compare: Comparison) -> dict[str, Any]:
    """The words of a page in the rater's language; `told` names the sides."""
    say, wording = translations(language_of(request)).gettext, WORDINGS[compare]
    answers: dict[Answer, str] = {"a": wording.side_a, "b": wording.side_b, **NO_SIDE}
    return {
        "answers": {name: say(text) for name, text in answers.items()},
        "amounts": {name: say(text) for name, text in AMOUNTS.items()},
        "told": {name: say(text) for name, text in SIDES.items()},
        "better": say(wording.better),
        "how_much": say(wording.how_much),
    }
