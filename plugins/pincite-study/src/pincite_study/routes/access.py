"""Who gets into a study: by its invitation link, or with the permission to rate; and as whom."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path, Request

from pincite.server.identity import Guest, Identity, needs
from pincite.server.problems import Problem, not_found
from pincite.server.site import Stores
from pincite_study.rating import Rater, RatingStore
from pincite_study.studies import Study, StudyStore

RATE = "rate"  # a permission: take part in studies
STUDY = "study"  # another: make studies and read their reports
RaterAccount = Annotated[Identity, Depends(needs(RATE))]
Researcher = Annotated[Identity, Depends(needs(STUDY))]

COOKIE = "pincite_rater"  # set for the pages of one study only
# The token of an invitation link; or, for those who may rate, the study's id.
Link = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,40}$")]


def someone(who: Guest) -> Identity | None:
    """Whoever is logged in and may rate; None: whoever has the link."""
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
    """Somebody on a page of a study."""

    link: str
    study: Study
    who: Identity | None
    rater: Rater | None  # None: they have not joined


def _visit(link: Link, study: Invited, who: Someone, rater: MaybeTakingPart) -> Visit:
    return Visit(link, study, who, rater)


Visiting = Annotated[Visit, Depends(_visit)]
