"""Watched pages and their findings in the server's database. Every method is one transaction.

A check of a page is a series of them, each of which leaves a valid state: a killed watcher finds
the page still in the queue, and what it had judged among the findings.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple

import sqlalchemy as sa

from pincite_server.database import Database
from pincite_server.tables import new_id, now
from pincite_watch.gate import RANKS, Kind
from pincite_watch.tables import State, counts, findings, notes, pages

LISTED, CHANGED, NEW = 0, 2, 1  # priorities: a page of a list, a changed page, a new page
FIRST_WAIT, LONGEST_WAIT = 300.0, 86_400.0  # seconds until a failed page is tried again, doubled
AT_ONCE = 500  # titles in one statement


class Hidden(StrEnum):
    """Why editors hid a finding from all readers."""

    FIXED = "fixed"
    WRONG = "wrong"
    OFFLINE = "offline"  # the source


class PageRow(NamedTuple):
    """A watched page."""

    wiki: str
    title: str
    page_id: int | None
    revision: int | None
    failures: int


class Held(NamedTuple):
    """A finding of the last revision."""

    finding_id: str
    inputs: str
    claim_sha256: str
    source_hash: str
    hidden: str | None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a claim is in the wikitext of the current revision."""

    start: int
    end: int
    sha256: str

    @property
    def values(self) -> dict[str, object]:
        return {"span_start": self.start, "span_end": self.end, "span_sha256": self.sha256}


def day_of(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).date().isoformat()


class Watch:
    """The stores of `pincite watch`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    # ── Pages ────────────────────────────────────────────────────────────────────────────────────

    def add(self, wiki: str, titles: Iterable[str], priority: int = LISTED) -> int:
        """Watch pages, and queue those that were not watched; returns how many."""
        with self._db.writing() as db:
            return _add(db, wiki, titles, priority, now())

    def changed(
        self, wiki: str, titles: Iterable[str], due: float, read_to: str, added: Iterable[str] = ()
    ) -> None:
        """Queue watched pages that changed, and note up to where changes were read.

        `added`: new pages, which are watched from now on.
        """
        with self._db.writing() as db:
            for some in _portions(list(dict.fromkeys(titles))):
                sooner = sa.func.coalesce(sa.case((pages.c.due < due, pages.c.due)), due)
                this = pages.update().where(_titled(wiki, some))
                db.execute(this.values(priority=CHANGED, due=sooner))
            _add(db, wiki, added, NEW, due)
            _note(db, wiki, "changes", read_to)

    def next(self, wiki: str) -> PageRow | None:
        """The page to check now, if any."""
        order = (pages.c.priority.desc(), pages.c.due, pages.c.title)
        due = (pages.c.wiki == wiki) & (pages.c.due <= now())
        fields = [pages.c[name] for name in PageRow._fields]
        row = self._db.first(sa.select(*fields).where(due).order_by(*order).limit(1))
        return PageRow(*row) if row else None

    def done(self, page: PageRow, title: str, page_id: int, revision: int, due: float) -> None:
        """Note that all of a revision was checked; `title` is its page's title today."""
        values: dict[str, Any] = {
            "page_id": page_id,
            "revision": revision,
            "checked": now(),
            "failures": 0,
        }
        with self._db.writing() as db:
            if title != page.title:  # it moved; perhaps the new title is watched, too
                db.execute(pages.delete().where(_titled(page.wiki, [title])))
            this = pages.update().where(_titled(page.wiki, [page.title]))
            values |= {"title": title, "due": due, "priority": LISTED, "problem": None}
            db.execute(this.values(values))

    def postpone(self, page: PageRow, until: float, problem: str | None = None) -> None:
        """Leave a page in the queue for later: a problem, or the day's budget is spent."""
        failures = page.failures + 1 if problem else page.failures
        this = pages.update().where(_titled(page.wiki, [page.title]))
        self._db.write(this.values(due=until, problem=problem, failures=failures))

    def failed(self, page: PageRow, problem: str) -> None:
        """Try a page again later, each time after twice as long."""
        wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(page.failures, 20))
        self.postpone(page, now() + wait, problem)

    def gone(self, page: PageRow, problem: str) -> None:
        """Withdraw the findings of a page that was deleted; an edit would queue it again."""
        with self._db.writing() as db:
            if page.page_id is not None:
                live = _of_page(page.wiki, page.page_id) & (findings.c.state != State.WITHDRAWN)
                db.execute(findings.update().where(live).values(_ended()))
            this = pages.update().where(_titled(page.wiki, [page.title]))
            db.execute(this.values(due=None, problem=problem, checked=now()))

    # ── Findings ─────────────────────────────────────────────────────────────────────────────────

    def held(self, wiki: str, page_id: int) -> list[Held]:
        """The findings of a page that may still hold, in the order of the page."""
        fields = [findings.c[name] for name in Held._fields]
        live = _of_page(wiki, page_id) & (findings.c.state != State.WITHDRAWN)
        order = (findings.c.span_start, findings.c.judged, findings.c.finding_id)
        return [
            Held(*row) for row in self._db.rows(sa.select(*fields).where(live).order_by(*order))
        ]

    def carry(
        self,
        kept: Sequence[tuple[str, Place]],
        withdrawn: Sequence[str],
        revision: int,
        expires: float,
    ) -> None:
        """Move findings with their sentences, and withdraw the others."""
        row = findings.c.finding_id
        moved = sa.case((findings.c.span_start == sa.bindparam("new_start"), 0), else_=1)
        move = findings.update().where(row == sa.bindparam("which")).values(
            span_start=sa.bindparam("new_start"),
            span_end=sa.bindparam("new_end"),
            span_sha256=sa.bindparam("new_sha256"),
            moved=findings.c.moved + moved,
            revision=revision,
            expires=expires,
            state=State.LIVE,
            ended=None,
        )  # fmt: skip
        with self._db.writing() as db:
            given = [
                {"which": which, "new_start": p.start, "new_end": p.end, "new_sha256": p.sha256}
                for which, p in kept
            ]
            if given:
                db.execute(move, given)
            for some in _portions(withdrawn):
                db.execute(findings.update().where(row.in_(some)).values(_ended()))
            _count(db, {"kept": len(kept), "withdrawn": len(withdrawn)})

    def add_finding(
        self, place: Place, values: Mapping[str, Any], used: Mapping[str, float]
    ) -> str:
        """Store a finding with what it cost; one that editors called wrong once stays hidden."""
        finding_id = new_id()
        row = {"finding_id": finding_id, "state": State.LIVE, "judged": now(), "moved": 0}
        row |= {**values, **place.values, "rank": RANKS[Kind(values["kind"])]}
        was_wrong = _equal(row) & findings.c.hidden.in_([Hidden.WRONG, Hidden.OFFLINE])
        with self._db.writing() as db:
            hidden = db.scalar(sa.select(findings.c.hidden).where(was_wrong).limit(1))
            row["hidden"] = hidden or values.get("hidden")
            db.execute(findings.insert().values(row))
            _count(db, {"judged": 1, **used})
        return finding_id

    def expire(self) -> None:
        """End findings that were not confirmed in time."""
        late = (findings.c.state == State.LIVE) & (findings.c.expires < now())
        self._db.write(findings.update().where(late).values(state=State.EXPIRED, ended=now()))

    def get(self, finding_id: str) -> Any:
        return self._db.first(_with_title().where(findings.c.finding_id == finding_id))

    def hide(self, finding_id: str, why: Hidden) -> None:
        """Hide a finding, and the one that may have replaced it since it was read."""
        this = findings.c.finding_id == finding_id
        with self._db.writing() as db:
            row = db.execute(sa.select(findings).where(this)).first()
            if row and row.state == State.WITHDRAWN:
                this |= _equal(row._asdict())
            db.execute(findings.update().where(this).values(hidden=why))

    def published(
        self, wiki: str, title: str | None, after: tuple[int, str] | None, limit: int
    ) -> Sequence[Any]:
        """What editors see, worst first, from after a rank and id on; of one page or all."""
        wanted = _with_title().where(
            findings.c.wiki == wiki,
            findings.c.state == State.LIVE,
            findings.c.published,
            findings.c.hidden.is_(None),
            findings.c.expires > now(),
        )
        if title is not None:
            wanted = wanted.where(pages.c.title == title)
        if after:
            later = sa.tuple_(findings.c.rank, findings.c.finding_id) > sa.tuple_(*after)
            wanted = wanted.where(later)
        return self._db.rows(wanted.order_by(findings.c.rank, findings.c.finding_id).limit(limit))

    def revision(self, wiki: str, title: str) -> int | None:
        """The last revision of a page that was checked."""
        found: int | None = self._db.scalar(
            sa.select(pages.c.revision).where(_titled(wiki, [title]))
        )
        return found

    # ── Counts and notes ─────────────────────────────────────────────────────────────────────────

    def count(self, done: Mapping[str, float]) -> None:
        with self._db.writing() as db:
            _count(db, done)

    def spent(self) -> dict[str, float]:
        """What was used today."""
        today = counts.c.day == day_of(now())
        rows = self._db.rows(sa.select(counts.c.what, counts.c.n).where(today))
        return {what: n for what, n in rows}  # noqa: C416 - rows are no tuples

    def note(self, wiki: str, name: str) -> str | None:
        this = (notes.c.wiki == wiki) & (notes.c.name == name)
        value: str | None = self._db.scalar(sa.select(notes.c.value).where(this))
        return value

    def set_note(self, wiki: str, name: str, value: str) -> None:
        with self._db.writing() as db:
            _note(db, wiki, name, value)

    def status(self) -> dict[str, Any]:
        """What operators look at: pages, findings by state and kind, and what today used."""
        n = sa.func.count()
        shown = sa.case((findings.c.published & findings.c.hidden.is_(None), 1), else_=0)
        by = (findings.c.state, findings.c.kind)
        of_findings = sa.select(*by, n, sa.func.sum(shown)).group_by(*by).order_by(*by)
        of_pages = sa.select(
            n,
            sa.func.count(pages.c.revision),
            sa.func.count(sa.case((pages.c.due <= now(), 1))),
            sa.func.count(sa.case((pages.c.failures > 0, 1))),
        )
        with self._db.reading() as db:
            watched, checked, due, failing = db.execute(of_pages).one()
            rows = db.execute(of_findings).all()
        return {
            "pages": {"watched": watched, "checked": checked, "due": due, "failing": failing},
            "findings": [
                {"state": state, "kind": kind, "n": total, "published": int(published)}
                for state, kind, total, published in rows
            ],
            "today": self.spent(),
        }


def _with_title() -> sa.Select[Any]:
    """Findings with their page's title."""
    same = (pages.c.wiki == findings.c.wiki) & (pages.c.page_id == findings.c.page_id)
    return sa.select(findings, pages.c.title).join_from(findings, pages, same)


def _titled(wiki: str, titles: Sequence[str]) -> sa.ColumnElement[bool]:
    return (pages.c.wiki == wiki) & pages.c.title.in_(titles)


def _of_page(wiki: str, page_id: int) -> sa.ColumnElement[bool]:
    return (findings.c.wiki == wiki) & (findings.c.page_id == page_id)


def _equal(row: Mapping[str, Any]) -> sa.ColumnElement[bool]:
    """Findings of the same sentence of a page, with the same texts of its sources."""
    same = _of_page(row["wiki"], row["page_id"])
    for name in ("claim_sha256", "source_hash"):
        same &= findings.c[name] == row[name]
    return same


def _add(db: sa.Connection, wiki: str, titles: Iterable[str], priority: int, due: float) -> int:
    added = 0
    for some in _portions(list(dict.fromkeys(titles))):
        known = set(db.scalars(sa.select(pages.c.title).where(_titled(wiki, some))))
        rows = [
            {"wiki": wiki, "title": title, "priority": priority, "due": due, "failures": 0}
            for title in some
            if title not in known
        ]
        if rows:
            db.execute(pages.insert(), rows)
        added += len(rows)
    return added


def _ended() -> dict[str, object]:
    return {"state": State.WITHDRAWN, "ended": now()}


def _portions(values: Sequence[str]) -> Iterable[Sequence[str]]:
    return (values[n : n + AT_ONCE] for n in range(0, len(values), AT_ONCE))


def _count(db: sa.Connection, done: Mapping[str, float]) -> None:
    day = day_of(now())
    for what, n in done.items():
        this = (counts.c.day == day) & (counts.c.what == what[:300])
        if not db.execute(counts.update().where(this).values(n=counts.c.n + n)).rowcount:
            db.execute(counts.insert().values(day=day, what=what[:300], n=n))


def _note(db: sa.Connection, wiki: str, name: str, value: str) -> None:
    this = (notes.c.wiki == wiki) & (notes.c.name == name)
    if not db.execute(notes.update().where(this).values(value=value)).rowcount:
        db.execute(notes.insert().values(wiki=wiki, name=name, value=value))
