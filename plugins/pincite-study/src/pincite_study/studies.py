"""Studies as their makers see them: they create, list, close, delete and read them.

What a rater does is in `rating`.
"""

import secrets
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pincite_server.database import Database
from pincite_server.tables import accounts, new_id, now
from pincite_study.items import Item, Sample, item_of
from pincite_study.preferences import Amount, Choice, Comparison, Rating, Side
from pincite_study.rating import Answer, choice_of, shown_as
from pincite_study.tables import studies, study_items, study_raters, study_ratings

MAX_PER_ITEM = 100
MAX_SEED = 2**53  # what JSON keeps exactly
_CONSENTS = tomllib.loads(Path(__file__).with_name("consent.toml").read_text("utf-8"))
CONSENTS: Mapping[Comparison, str] = {
    "citations": _CONSENTS["sources"],
    "passages": _CONSENTS["sources"],
    "answers": _CONSENTS["answers"],
}


@dataclass(frozen=True, slots=True)
class Plan:
    """A study that is to be created."""

    name: str
    consent: str = CONSENTS["citations"]
    sample: Sample = "low-scores"
    per_item: int = 3
    seed: int = 0
    compare: Comparison = "citations"
    n_without_text: int = 0  # see `items.Gathered`
    n_one_passage: int = 0


def default_sample(compare: Comparison) -> Sample:
    """Return the default choice of items: answers have no citation that may fail."""
    return "random" if compare == "answers" else "low-scores"


@dataclass(frozen=True, slots=True)
class Study:
    """A study and its progress."""

    study_id: str
    owner: str
    name: str
    consent: str
    sample: str
    per_item: int
    seed: int
    compare: Comparison
    n_without_text: int
    n_one_passage: int
    token: str | None  # of the invitation link
    created: float
    closed: float | None
    n_items: int = 0
    n_raters: int = 0
    n_ratings: int = 0

    @property
    def wanted(self) -> int:
        return self.n_items * self.per_item


@dataclass(frozen=True, slots=True)
class Given:
    """A rating with all that an export says of it."""

    item: int
    rater: int
    position: int
    compare: Comparison
    baseline_first: bool
    answer: Answer
    evidence_a: Amount | None
    evidence_b: Amount | None
    seconds: float
    n_answers: int
    answered: float

    @property
    def sides(self) -> tuple[Side, Side]:
        """What stood at A and at B."""
        return shown_as(self.compare, self.baseline_first)

    @property
    def choice(self) -> Choice:
        return choice_of(self.answer, self.sides)

    @property
    def rating(self) -> Rating:
        amounts = zip(self.sides, (self.evidence_a, self.evidence_b), strict=True)
        evidence = {side: amount for side, amount in amounts if amount}
        return Rating(self.item, self.rater, self.choice, evidence, self.sides[0], self.seconds)


class StudyStore:
    """All studies. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def create(self, owner: str, plan: Plan, items: Sequence[Item]) -> Study:
        # One that begins with a dash would be an option on a command line.
        study_id = next(token for token in iter(new_id, None) if not token.startswith("-"))
        values = asdict(plan) | {
            "study_id": study_id,
            "owner": owner,
            "name": plan.name[:200],
            "token": new_id(),
            "salt": secrets.token_hex(32),
            "created": now(),
        }
        rows = [
            {"study_id": study_id, "number": number, "data": item.as_dict()}
            for number, item in enumerate(items, 1)
        ]
        with self._db.writing() as db:
            db.execute(studies.insert().values(values))
            db.execute(study_items.insert(), rows)
            return Study(**db.execute(_SHOWN.where(studies.c.study_id == study_id)).one()._mapping)

    def get(self, study_id: str) -> Study | None:
        return self._first(studies.c.study_id == study_id)

    def of_token(self, token: str) -> Study | None:
        """The study to which an invitation link leads.

        None: it was revoked, or never was, or the owner's account is disabled.
        """
        disabled = sa.select(accounts.c.account_id).where(accounts.c.disabled)
        return self._first((studies.c.token == token) & studies.c.owner.not_in(disabled))

    def newest(self, owner: str | None, limit: int, *, open_only: bool = False) -> list[Study]:
        """Return studies of an owner, or of all, the newest first."""
        order = studies.c.created.desc(), studies.c.study_id.desc()
        wanted = _SHOWN.order_by(*order).limit(limit)
        if owner is not None:
            wanted = wanted.where(studies.c.owner == owner)
        if open_only:
            wanted = wanted.where(studies.c.closed.is_(None))
        return [Study(**row._mapping) for row in self._db.rows(wanted)]

    def close(self, study_id: str) -> None:
        """Take no more answers, and forget how raters' accounts were told apart."""
        with self._db.writing() as db:
            this = studies.c.study_id == study_id
            closing = studies.update().where(this & studies.c.closed.is_(None))
            db.execute(closing.values(closed=now(), salt=None))
            of_raters = study_raters.c.study_id == study_id
            db.execute(study_raters.update().where(of_raters).values(account_hash=None))

    def delete(self, study_id: str) -> None:
        self._db.write(studies.delete().where(studies.c.study_id == study_id))

    def relink(self, study_id: str, *, revoke: bool = False) -> None:
        """Replace or revoke the invitation link."""
        this, token = studies.c.study_id == study_id, None if revoke else new_id()
        self._db.write(studies.update().where(this).values(token=token))

    def items(self, study_id: str) -> dict[int, Item]:
        wanted = (
            sa.select(study_items.c.number, study_items.c.data, studies.c["compare"])
            .join(studies, studies.c.study_id == study_items.c.study_id)
            .where(study_items.c.study_id == study_id)
            .order_by(study_items.c.number)
        )
        return {number: item_of(data, how) for number, data, how in self._db.rows(wanted)}

    def ratings(self, study_id: str) -> list[Given]:
        """Return the answers in the order in which they were given."""
        wanted = (
            sa.select(
                study_ratings.c.item,
                study_raters.c.number.label("rater"),
                studies.c["compare"],
                *(study_ratings.c[name] for name in _RATING),
            )
            .join(study_raters, study_raters.c.rater_id == study_ratings.c.rater_id)
            .join(studies, studies.c.study_id == study_ratings.c.study_id)
            .where(study_ratings.c.study_id == study_id, study_ratings.c.answered.is_not(None))
            .order_by(study_ratings.c.answered, study_raters.c.number, study_ratings.c.position)
        )
        return [Given(**row._mapping) for row in self._db.rows(wanted)]

    def forget(self, study_id: str, rater: int) -> bool:
        """Delete a rater, by number, and all their answers; whether there was one."""
        of_raters = (study_raters.c.study_id == study_id) & (study_raters.c.number == rater)
        return self._db.write(study_raters.delete().where(of_raters)) > 0

    def _first(self, condition: sa.ColumnElement[bool]) -> Study | None:
        row = self._db.first(_SHOWN.where(condition))
        return Study(**row._mapping) if row else None


def _count(table: sa.Table, *more: sa.ColumnElement[bool]) -> Any:
    counted = sa.select(sa.func.count()).select_from(table)
    return counted.where(table.c.study_id == studies.c.study_id, *more).scalar_subquery()


_RATING = "position baseline_first answer evidence_a evidence_b seconds n_answers answered".split()
_SHOWN = sa.select(
    *(c for c in studies.c if c.name != "salt"),
    _count(study_items).label("n_items"),
    _count(study_raters).label("n_raters"),
    _count(study_ratings, study_ratings.c.answered.is_not(None)).label("n_ratings"),
)
