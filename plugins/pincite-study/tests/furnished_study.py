"""A server with accounts and a study that three have rated."""

from dataclasses import dataclass
from pathlib import Path

from server.browser import furnished as core
from study_samples import study

from pincite_study.rating import Answer, Answered, RatingStore
from pincite_study.studies import Study, StudyStore

ANSWERS: tuple[Answer, ...] = ("a", "b", "neither")


@dataclass(frozen=True, slots=True)
class Furnished(core.Furnished):
    study: Study


def furnished(folder: Path) -> Furnished:
    found = core.furnished(folder)
    made = study(StudyStore(found.site.database), owner=found.ada.account_id, per_item=100)
    for answer in ANSWERS:
        rate(RatingStore(found.site.database), made, answer)
    return Furnished(found.served, found.site, found.ada, found.link, made)


def rate(ratings: RatingStore, made: Study, answer: Answer) -> None:
    """A rater answers all statements alike and ends."""
    rater, _ = ratings.join(made.study_id)
    while task := ratings.next(rater):
        ratings.answer(rater, task.position, Answered(answer, "enough", "partial"), 12.5)
    ratings.finish(rater)
