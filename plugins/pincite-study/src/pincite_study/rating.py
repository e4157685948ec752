"""What raters do: join, get items, answer, change their answers, finish, and be forgotten.

A rater gets one of the items that were rated least. Its place is reserved while they look at it;
after half an hour another rater may get it, and the first may still answer. Whatever assigns an
item locks the study's row, so two raters never get one place.
"""

import hashlib
import hmac
import random
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

import sqlalchemy as sa

from pincite.errors import PinciteError
from pincite_server.database import Database
from pincite_server.tables import new_id, now
from pincite_study.items import Item, item_of
from pincite_study.preferences import PAIRS, Amount, Choice, Comparison, Side
from pincite_study.tables import studies, study_items, study_raters, study_ratings

Answer = Literal["a", "b", "neither", "both", "unsure"]
ANSWERS: tuple[Answer, ...] = get_args(Answer)
LEASE_SECONDS = 1800.0  # a long text is read in half an hour, or not at all
# Without an account, in one study. An item gets 100 ratings at most (`studies.MAX_PER_ITEM`): that
# is enough if every other rater leaves, and a script that joins again and again ends here.
MAX_BY_LINK = 200
MAX_SECONDS = 900.0  # of one item that count: whoever takes longer went away


class Ended(PinciteError):
    """The study is closed, or the rater has finished: no answer may change."""


class Full(PinciteError):
    """No more raters may join by the link."""


@dataclass(frozen=True, slots=True)
class Rater:
    """A participant of a study."""

    rater_id: str
    study_id: str
    number: int
    agreed: float
    finished: float | None


@dataclass(frozen=True, slots=True)
class Answered:
    """A rater's answer about an item."""

    answer: Answer
    evidence_a: Amount | None = None
    evidence_b: Amount | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """An item that a rater was given."""

    position: int
    number: int  # of the item; never shown
    item: Item
    baseline_first: bool
    said: Answered | None  # None: not yet

    @property
    def sides(self) -> tuple[Side, Side]:
        """What stands at A and at B."""
        return shown_as(self.item.compare, self.baseline_first)


def shown_as(compare: Comparison, baseline_first: bool) -> tuple[Side, Side]:
    """Which side was shown as A, and which as B.

    >>> shown_as("passages", baseline_first=False)
    ('chosen', 'random')
    """
    pair = PAIRS[compare]
    return pair.sides if baseline_first else (pair.tested, pair.baseline)


def choice_of(answer: Answer, sides: tuple[Side, Side]) -> Choice:
    """What an answer prefers, where `sides` were shown as A and B.

    >>> choice_of("b", ("existing", "suggested")), choice_of("both", ("random", "chosen"))
    ('suggested', 'both')
    """
    if answer == "a" or answer == "b":
        return sides[answer == "b"]
    return answer


class RatingStore:
    """The raters of all studies. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def join(self, study_id: str, account_id: str | None = None) -> tuple[Rater, str]:
        """Return a new rater and their key; an account that has joined before gets a new key.

        Raises Ended: the study is closed, or not there. Full: too many joined without an account.
        """
        key = new_id()
        with self._db.writing() as db:
            study = self._lock(db, study_id)
            if study is None or study.closed is not None:
                raise Ended("The study is closed: nobody can join it any more.")
            salt = (study.salt or "").encode()
            account = (
                hmac.new(salt, account_id.encode(), "sha256").hexdigest() if account_id else None
            )
            again = (study_raters.c.study_id == study_id) & (study_raters.c.account_hash == account)
            if account and (known := db.execute(_RATERS.where(again)).first()):
                db.execute(study_raters.update().where(again).values(key_hash=_hash(key)))
                return Rater(*known), key
            by_link = study_raters.c.key_hash.is_not(None) & study_raters.c.account_hash.is_(None)
            number = study_raters.c.number
            counts = sa.select(
                sa.func.coalesce(sa.func.max(number), 0), sa.func.count(sa.case((by_link, 1)))
            )
            last, n_by_link = db.execute(counts.where(study_raters.c.study_id == study_id)).one()
            if account is None and n_by_link >= MAX_BY_LINK:
                raise Full("As many people take part as can. Ask whoever invited you.")
            rater = Rater(new_id(), study_id, last + 1, now(), None)
            hashes = {"key_hash": _hash(key), "account_hash": account}
            db.execute(study_raters.insert().values(asdict(rater) | hashes))
        return rater, key

    def rater(self, study_id: str, key: str) -> Rater | None:
        is_key = study_raters.c.key_hash == _hash(key)
        row = self._db.first(_RATERS.where(is_key, study_raters.c.study_id == study_id))
        return Rater(*row) if row else None

    def next(self, rater: Rater) -> Task | None:
        """Return the rater's open item, else a new one; None if none is left. Raises `Ended`."""
        with self._db.writing() as db:
            study = self._open_study(db, rater)
            position = db.execute(
                sa.select(sa.func.min(study_ratings.c.position)).where(
                    study_ratings.c.rater_id == rater.rater_id, study_ratings.c.answered.is_(None)
                )
            ).scalar()
            if position is None:
                position = self._assign(db, study, rater)
            return self._open_item(db, rater, position) if position is not None else None

    def at(self, rater: Rater, position: int) -> Task | None:
        """Return the rater's item at a position, to be shown again."""
        with self._db.writing() as db:
            return self._open_item(db, rater, position)

    def answer(self, rater: Rater, position: int, said: Answered, seconds: float | None) -> bool:
        """Store or replace the answer to the rater's item at a position; False if there is none.

        `seconds` that the item was visible count up to the time since it was opened, which is the
        default, and up to MAX_SECONDS together. Raises `Ended`.
        """
        at = now()
        is_own = _is_own(rater, position)
        with self._db.writing() as db:
            self._open_study(db, rater)
            row = db.execute(
                sa.select(study_ratings.c.shown, study_ratings.c.seconds).where(is_own)
            ).first()
            if row is None:
                return False
            open_for = max(0.0, at - row.shown)
            visible = open_for if seconds is None else min(max(0.0, seconds), open_for)
            values = asdict(said) | {
                "answered": at,
                "shown": at,
                "n_answers": study_ratings.c.n_answers + 1,
                "seconds": min(MAX_SECONDS, row.seconds + visible),
            }
            db.execute(study_ratings.update().where(is_own).values(values))
            return True

    def tasks(self, rater: Rater) -> list[Task]:
        """Return the items that a rater has answered, in their order."""
        wanted = _TASKS.where(
            study_ratings.c.rater_id == rater.rater_id, study_ratings.c.answered.is_not(None)
        ).order_by(study_ratings.c.position)
        return [_task(row) for row in self._db.rows(wanted)]

    def finish(self, rater: Rater) -> None:
        """End a rater's part: no answer may change, and the sides may be told."""
        with self._db.writing() as db:
            self._lock(db, rater.study_id)
            of_rater = study_ratings.c.rater_id == rater.rater_id
            db.execute(study_ratings.delete().where(of_rater & study_ratings.c.answered.is_(None)))
            this = (study_raters.c.rater_id == rater.rater_id) & study_raters.c.finished.is_(None)
            db.execute(study_raters.update().where(this).values(finished=now()))

    def forget(self, rater: Rater) -> None:
        self._db.write(study_raters.delete().where(study_raters.c.rater_id == rater.rater_id))

    def _lock(self, db: sa.Connection, study_id: str) -> sa.Row[Any] | None:
        return db.execute(
            sa.select(studies).where(studies.c.study_id == study_id).with_for_update()
        ).first()

    def _open_study(self, db: sa.Connection, rater: Rater) -> sa.Row[Any]:
        study = self._lock(db, rater.study_id)
        is_rater = study_raters.c.rater_id == rater.rater_id
        known = db.execute(sa.select(study_raters.c.finished).where(is_rater)).first()
        if study is None or study.closed is not None or known is None or known.finished:
            raise Ended("No more answers are taken: the study is closed, or you have finished.")
        return study

    def _assign(self, db: sa.Connection, study: sa.Row[Any], rater: Rater) -> int | None:
        """The position of a new item: of those rated least, one at random by the study's seed."""
        taken = (
            sa.select(study_ratings.c.item, sa.func.count())
            .where(
                study_ratings.c.study_id == study.study_id,
                sa.or_(study_ratings.c.answered.is_not(None), study_ratings.c.lease > now()),
            )
            .group_by(study_ratings.c.item)
        )
        counts = {row[0]: row[1] for row in db.execute(taken)}
        rated = sa.select(study_ratings.c.item).where(study_ratings.c.rater_id == rater.rater_id)
        own = set(db.execute(rated).scalars())
        every = sa.select(study_items.c.number).where(study_items.c.study_id == study.study_id)
        left = [
            number
            for number in db.execute(every).scalars()
            if number not in own and counts.get(number, 0) < study.per_item
        ]
        if not left:
            return None
        chance = {number: _chance("item", study.seed, rater.number, number) for number in left}
        number = min(left, key=lambda item: (counts.get(item, 0), chance[item]))
        row = {
            "rater_id": rater.rater_id,
            "position": len(own) + 1,
            "study_id": study.study_id,
            "item": number,
            "baseline_first": _chance("side", study.seed, rater.number, number) < 0.5,
        }
        db.execute(study_ratings.insert().values(row))
        return len(own) + 1

    def _open_item(self, db: sa.Connection, rater: Rater, position: int) -> Task | None:
        is_own, at = _is_own(rater, position), now()
        opened = study_ratings.update().where(is_own)
        db.execute(opened.values(shown=at, lease=at + LEASE_SECONDS))
        row = db.execute(_TASKS.where(is_own)).first()
        return _task(row) if row else None


_RATERS = sa.select(*(study_raters.c[field.name] for field in fields(Rater)))
_TASKS = (
    sa.select(study_ratings, study_items.c.data, studies.c["compare"])
    .join(
        study_items,
        sa.and_(
            study_items.c.study_id == study_ratings.c.study_id,
            study_items.c.number == study_ratings.c.item,
        ),
    )
    .join(studies, studies.c.study_id == study_ratings.c.study_id)
)


def _task(row: sa.Row[Any]) -> Task:
    said = Answered(row.answer, row.evidence_a, row.evidence_b) if row.answer else None
    item = item_of(row.data, row.compare)
    return Task(row.position, row.item, item, row.baseline_first, said)


def _is_own(rater: Rater, position: int) -> sa.ColumnElement[bool]:
    return (study_ratings.c.rater_id == rater.rater_id) & (study_ratings.c.position == position)


def _chance(subject: str, *numbers: int) -> float:
    """Between 0 and 1, the same for the same numbers."""
    return random.Random(f"{subject} {numbers}").random()  # noqa: S311 - no secret


def _hash(key: str) -> str:
    """Of a key of 128 random bits: nothing slower is needed."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
