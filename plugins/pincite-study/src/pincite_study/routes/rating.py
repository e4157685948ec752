"""`/api/v1/rate/{link}`: taking part in a blind study.

Nothing here tells which side is which before the rater has finished.
"""

from typing import Annotated, Literal

from fastapi import Path
from pydantic import BaseModel, Field

from pincite.server.identity import LOCAL, Identity
from pincite.server.problems import Problem, ProblemBody, not_found
from pincite.server.requests import Body
from pincite.server.routing import Router
from pincite.server.site import Site, Stores
from pincite_study import preferences
from pincite_study.blind import Marked, Side, shown
from pincite_study.preferences import Amount, Choice, Comparison
from pincite_study.rating import Answer, Answered, Ended, Full, Rater, RatingStore, Task, choice_of
from pincite_study.routes.access import Invited, Someone, TakingPart
from pincite_study.studies import Study

router = Router(
    prefix="/api/v1/rate/{link}",
    tags=["rating"],
    responses={n: {"model": ProblemBody} for n in (400, 401, 403, 404, 409, 413, 421, 422)},
)
Position = Annotated[int, Path(ge=1, le=1_000_000)]


class StudyShown(BaseModel):
    """What somebody is asked to take part in."""

    name: str
    consent: str
    compare: Comparison  # citations of two sources, or passages of one
    n_items: int
    open: bool  # whether answers are taken


class Joining(Body):
    """Taking part needs consent to what the study keeps."""

    agreed: Literal[True]


class Joined(BaseModel):
    """Who one is in this study."""

    rater: int  # a number, by which one can be deleted later
    key: str  # to be sent as X-Rater-Key; it is told once


class Pieces(BaseModel):
    """A text; `mark` is the quote in a passage, or the passage in a whole text."""

    head: str
    mark: str
    tail: str


class SideShown(BaseModel):
    """One of the two sources."""

    passage: Pieces
    text: Pieces | None  # null: not kept, then of both


class Answering(Body):
    """What a rater says of an item."""

    answer: Answer
    evidence_a: Amount | None = None
    evidence_b: Amount | None = None
    seconds: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] | None = None  # visible


class AnswerShown(BaseModel):
    """What was said before."""

    answer: Answer
    evidence_a: Amount | None
    evidence_b: Amount | None


class TaskBody(BaseModel):
    """A statement and two sources."""

    position: int
    article: str
    section: list[str]
    before: str  # the sentences before the statement
    statement: str
    a: SideShown
    b: SideShown
    said: AnswerShown | None


class NextTask(BaseModel):
    """What is to be rated next."""

    task: TaskBody | None  # null: nothing is left for this rater
    n_answered: int


class SideTold(BaseModel):
    """What one of the two sources was."""

    side: preferences.Side
    url: str


class Told(BaseModel):
    """An item after the end: which side was which."""

    position: int
    statement: str
    answer: Answer
    choice: Choice
    a: SideTold
    b: SideTold


class Revealed(BaseModel):
    """What a rater preferred."""

    told: list[Told]


@router.get("", operation_id="get_rated_study")
def get_study(study: Invited) -> StudyShown:
    """What the study is, and what taking part means."""
    return StudyShown(
        name=study.name,
        consent=study.consent,
        compare=study.compare,
        n_items=study.n_items,
        open=study.closed is None,
    )


@router.post("/raters", status_code=201, operation_id="join_study")
def join(_body: Joining, study: Invited, who: Someone, site: Stores) -> Joined:
    """Take part."""
    rater, key = joined(site, study, account_of(who))
    return Joined(rater=rater.number, key=key)


@router.get("/next", operation_id="next_task")
def next_task(rater: TakingPart, site: Stores) -> NextTask:
    """The item that is open, else a new one."""
    try:
        task = RatingStore(site.database).next(rater)
    except Ended as error:
        raise ended(error) from error
    n_answered = len(RatingStore(site.database).tasks(rater))
    return NextTask(task=_body(task) if task else None, n_answered=n_answered)


@router.get("/tasks/{position}", operation_id="get_task")
def get_task(position: Position, rater: TakingPart, site: Stores) -> TaskBody:
    """An item again."""
    task = RatingStore(site.database).at(rater, position)
    if task is None:
        raise not_found()
    return _body(task)


@router.put("/tasks/{position}", status_code=204, operation_id="answer_task")
def answer_task(position: Position, body: Answering, rater: TakingPart, site: Stores) -> None:
    """Answer an item, or change the answer."""
    answered(site, rater, position, body)


@router.post("/finish", status_code=204, operation_id="finish_rating")
def finish(rater: TakingPart, site: Stores) -> None:
    """End one's part: nothing can be changed any more, and the sides are told."""
    RatingStore(site.database).finish(rater)


@router.get("/revealed", operation_id="get_revealed")
def get_revealed(study: Invited, rater: TakingPart, site: Stores) -> Revealed:
    """Which side was which; only after the end."""
    return Revealed(told=revealed(site, study, rater))


@router.delete("/me", status_code=204, operation_id="forget_rater")
def forget(rater: TakingPart, site: Stores) -> None:
    """Delete oneself and all that one answered."""
    RatingStore(site.database).forget(rater)


def account_of(who: Identity | None) -> str | None:
    """By what somebody is known who comes again; in local mode everybody is the same one."""
    return who.account_id if who and who.account_id != LOCAL else None


def joined(site: Site, study: Study, account_id: str | None) -> tuple[Rater, str]:
    """A new rater and their key; also for the pages."""
    try:
        return RatingStore(site.database).join(study.study_id, account_id)
    except Ended as error:
        raise ended(error) from error
    except Full as error:
        raise Problem(409, "full", str(error)) from error


def answered(site: Site, rater: Rater, position: int, body: Answering) -> None:
    """Keep an answer; also for the pages."""
    said = Answered(body.answer, body.evidence_a, body.evidence_b)
    try:
        there = RatingStore(site.database).answer(rater, position, said, body.seconds)
    except Ended as error:
        raise ended(error) from error
    if not there:
        raise not_found()


def revealed(site: Site, study: Study, rater: Rater) -> list[Told]:
    """What a rater answered and which side was which.

    Raises:
        Problem: 409, they may still change their answers.
    """
    if rater.finished is None and study.closed is None:
        raise Problem(409, "not_finished", "You see which side is which when you have finished.")
    return [_told(task) for task in RatingStore(site.database).tasks(rater)]


def ended(error: Ended) -> Problem:
    """Too late."""
    return Problem(409, "ended", str(error))


def _told(task: Task) -> Told:
    assert task.said
    return Told(
        position=task.position,
        statement=task.item.claim,
        answer=task.said.answer,
        choice=choice_of(task.said.answer, task.sides),
        a=_side_told(task, task.sides[0]),
        b=_side_told(task, task.sides[1]),
    )


def _side_told(task: Task, side: preferences.Side) -> SideTold:
    is_baseline = side == preferences.PAIRS[task.item.compare].baseline
    source = task.item.baseline if is_baseline else task.item.tested
    return SideTold(side=side, url=source.url)


def _body(task: Task) -> TaskBody:
    seen, said = shown(task.item, task.baseline_first), task.said
    before = None
    if said:
        before = AnswerShown(
            answer=said.answer, evidence_a=said.evidence_a, evidence_b=said.evidence_b
        )
    return TaskBody(
        position=task.position,
        article=seen.article,
        section=list(seen.section),
        before=seen.before,
        statement=seen.claim,
        a=_side(seen.a),
        b=_side(seen.b),
        said=before,
    )


def _side(side: Side) -> SideShown:
    return SideShown(passage=_pieces(side.passage), text=_pieces(side.text) if side.text else None)


def _pieces(marked: Marked) -> Pieces:
    return Pieces(head=marked.head, mark=marked.mark, tail=marked.tail)
