"""Watched pages and their findings in the server's database. Every method is one transaction.

A check of a page is a series of them, each of which leaves a valid state: a killed watcher finds
the page still in the queue, and what it had judged among the findings.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql, sqlite

from pincite_server.database import Database
from pincite_server.tables import new_id, now
from pincite_watch.gate import RANKS, Kind
from pincite_watch.lists import Changes
from pincite_watch.tables import LONGEST, State, counts, findings, notes, pages

LISTED, CHANGED, NEW = 0, 2, 1  # priorities: a page of a list, a changed page, a new page
FIRST_WAIT, LONGEST_WAIT = 300.0, 86_400.0  # seconds until a failed page is tried again, doubled
AT_ONCE = 500  # titles in one statement
MOST_WAITS = 6  # an article that never rests is checked this many times `settle` after an edit
REQUESTS = "requests "  # the name of a host's counts begins with it


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
    context: str
    inputs: str
    claim_sha256: str
    source_hash: str
    kind: str
    hidden: str | None
    expires: float


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

    def queue_edits(self, wiki: str, seen: Changes, settle: float, new_in: Container[int]) -> None:
        """Queue the watched pages that changed, and note up to where changes were read.

        A page is due `settle` seconds after its last edit, but not much later than after the first
        one. `new_in`: the namespaces whose new pages are watched from now on.
        """
        at = now()
        first = sa.func.coalesce(pages.c.changed, at)
        latest = first + MOST_WAITS * settle
        due = sa.case((latest < at + settle, latest), else_=at + settle)
        with self._db.writing() as db:
            for old, new in seen.moves:
                _rename(db, wiki, old, new)
            for some in _portions(seen.titles):
                this = pages.update().where(_of_titles(wiki, some))
                db.execute(this.values(priority=CHANGED, due=due, changed=first))
            added = [title for title, namespace in seen.new if namespace in new_in]
            _add(db, wiki, added, NEW, at + settle)
            _note(db, wiki, "changes", seen.read_to)

    def next(self, wiki: str) -> PageRow | None:
        order = (pages.c.priority.desc(), pages.c.due, pages.c.title)
        due = (pages.c.wiki == wiki) & (pages.c.due <= now())
        fields = [pages.c[name] for name in PageRow._fields]
        row = self._db.first(sa.select(*fields).where(due).order_by(*order).limit(1))
        return PageRow(*row) if row else None

    def done(self, page: PageRow, title: str, page_id: int, revision: int, due: float) -> None:
        """Note that all of a revision was checked; `title` is its page's title today."""
        values: dict[str, Any] = {"page_id": page_id, "revision": revision, "failures": 0}
        values |= {"due": due, "priority": LISTED, "problem": None, "changed": None}
        with self._db.writing() as db:
            _rename(db, page.wiki, page.title, title)
            db.execute(pages.update().where(_of_titles(page.wiki, [title])).values(values))

    def postpone(self, page: PageRow, until: float, problem: str | None = None) -> None:
        """Leave a page in the queue for later: a problem, or the day's budget is spent."""
        failures = page.failures + 1 if problem else page.failures
        this = pages.update().where(_of_titles(page.wiki, [page.title]))
        self._db.write(this.values(due=until, problem=problem, failures=failures, changed=None))

    def retry_later(self, page: PageRow, problem: str) -> None:
        """Try a page again later, each time after twice as long."""
        wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(page.failures, 20))
        self.postpone(page, now() + wait, problem)

    def gone(self, page: PageRow, problem: str) -> None:
        """Withdraw the findings of a page that was deleted; an edit would queue it again."""
        with self._db.writing() as db:
            if page.page_id is not None:
                live = _of_page(page.wiki, page.page_id) & (findings.c.state != State.WITHDRAWN)
                db.execute(findings.update().where(live).values(state=State.WITHDRAWN))
            this = pages.update().where(_of_titles(page.wiki, [page.title]))
            db.execute(this.values(due=None, problem=problem))

    # ── Findings ─────────────────────────────────────────────────────────────────────────────────

    def held_findings(self, wiki: str, page_id: int) -> list[Held]:
        """The findings of a page that may still hold, in the order of the page."""
        fields = [findings.c[name] for name in Held._fields]
        live = _of_page(wiki, page_id) & (findings.c.state != State.WITHDRAWN)
        order = (findings.c.span_start, findings.c.judged, findings.c.finding_id)
        wanted = sa.select(*fields).where(live).order_by(*order)
        return [Held(*row) for row in self._db.rows(wanted)]

    def carry(
        self, kept: Sequence[tuple[str, Place, float]], withdrawn: Sequence[str], revision: int
    ) -> None:
        """Move findings with their sentences, each with when it expires; withdraw the others."""
        row = findings.c.finding_id
        move = findings.update().where(row == sa.bindparam("which")).values(
            span_start=sa.bindparam("start"),
            span_end=sa.bindparam("end"),
            span_sha256=sa.bindparam("sha256"),
            revision=revision,
            expires=sa.bindparam("until"),
            state=State.LIVE,
        )  # fmt: skip
        with self._db.writing() as db:
            if kept:
                moves = ({"which": which, "until": t, **asdict(place)} for which, place, t in kept)
                db.execute(move, list(moves))
            for some in _portions(withdrawn):
                gone = findings.update().where(row.in_(some))
                db.execute(gone.values(state=State.WITHDRAWN))
            _count(db, {"kept": len(kept), "withdrawn": len(withdrawn)})

    def add_finding(self, at: Place, values: Mapping[str, Any], used: Mapping[str, float]) -> str:
        """Store a finding with what it cost; one that editors called wrong once stays hidden."""
        finding_id = new_id()
        row = {"finding_id": finding_id, "state": State.LIVE, "judged": now()}
        row |= {**values, **at.values, "rank": RANKS[Kind(values["kind"])]}
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
        self._db.write(findings.update().where(late).values(state=State.EXPIRED))

    def publish(self, wiki: str, kinds: Iterable[Kind]) -> None:
        """Let the findings that were judged under another gate follow this one."""
        passes = findings.c.kind.in_([*kinds])
        other = (findings.c.wiki == wiki) & (findings.c.published != passes)
        self._db.write(findings.update().where(other).values(published=passes))

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

    def unhide(self, finding_id: str) -> None:
        """Show a finding again, and those of the same sentence and sources that were hidden."""
        this = findings.c.finding_id == finding_id
        with self._db.writing() as db:
            if row := db.execute(sa.select(findings).where(this)).first():
                db.execute(findings.update().where(_equal(row._asdict())).values(hidden=None))

    def published_rows(
        self,
        wiki: str,
        title: str | None,
        after: tuple[int, str] | None,
        limit: int,
        *,
        hidden: bool = False,
    ) -> Sequence[Any]:
        """What editors see, worst first, from after a rank and id on; of one page or all.

        `hidden`: what they hid instead.
        """
        is_shown = findings.c.hidden.is_(None)
        wanted = _with_title().where(
            findings.c.wiki == wiki,
            findings.c.state == State.LIVE,
            findings.c.published,
            ~is_shown if hidden else is_shown,
            findings.c.expires > now(),
        )
        if title is not None:
            wanted = wanted.where(pages.c.title == title)
        if after:
            later = sa.tuple_(findings.c.rank, findings.c.finding_id) > sa.tuple_(*after)
            wanted = wanted.where(later)
        return self._db.rows(wanted.order_by(findings.c.rank, findings.c.finding_id).limit(limit))

    def revision(self, wiki: str, title: str) -> int | None:
        wanted = sa.select(pages.c.revision).where(_of_titles(wiki, [title]))
        last: int | None = self._db.scalar(wanted)
        return last

    # ── Counts and notes ─────────────────────────────────────────────────────────────────────────

    def count(self, done: Mapping[str, float]) -> None:
        with self._db.writing() as db:
            _count(db, done)

    def spent(self, *names: str) -> dict[str, float]:
        """What was used today, of what is named."""
        this = (counts.c.day == day_of(now())) & counts.c.what.in_([_name(name) for name in names])
        rows = self._db.rows(sa.select(counts.c.what, counts.c.n).where(this))
        amounts = {row.what: row.n for row in rows}
        return {name: amounts.get(_name(name), 0.0) for name in names}

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
        is_host = counts.c.what.startswith(REQUESTS)  # a day has thousands of hosts
        what = sa.case((is_host, REQUESTS.strip()), else_=counts.c.what).label("used")
        total = sa.func.sum(counts.c.n).label("total")
        of_today = sa.select(what, total).where(counts.c.day == day_of(now())).group_by("used")
        with self._db.reading() as db:
            watched, checked, due, failing = db.execute(of_pages).one()
            rows = db.execute(of_findings).all()
            today = db.execute(of_today).all()
        return {
            "pages": {"watched": watched, "checked": checked, "due": due, "failing": failing},
            "findings": [
                {"state": state, "kind": kind, "n": total, "published": int(published)}
                for state, kind, total, published in rows
            ],
            "today": {row.used: row.total for row in today},
        }


def _with_title() -> sa.Select[Any]:
    same = (pages.c.wiki == findings.c.wiki) & (pages.c.page_id == findings.c.page_id)
    return sa.select(findings, pages.c.title).join_from(findings, pages, same)


def _of_titles(wiki: str, titles: Sequence[str]) -> sa.ColumnElement[bool]:
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
        known = set(db.scalars(sa.select(pages.c.title).where(_of_titles(wiki, some))))
        rows = [
            {"wiki": wiki, "title": title, "priority": priority, "due": due, "failures": 0}
            for title in some
            if title not in known
        ]
        if rows:
            db.execute(pages.insert(), rows)
        added += len(rows)
    return added


def _rename(db: sa.Connection, wiki: str, old: str, new: str) -> None:
    """Give a watched page its new title; perhaps that is watched, too."""
    this = pages.update().where(_of_titles(wiki, [old]))
    if old != new and db.scalar(sa.select(pages.c.title).where(_of_titles(wiki, [old]))):
        db.execute(pages.delete().where(_of_titles(wiki, [new])))
        db.execute(this.values(title=new))


def _portions(values: Sequence[str]) -> Iterable[Sequence[str]]:
    return (values[n : n + AT_ONCE] for n in range(0, len(values), AT_ONCE))


def _count(db: sa.Connection, done: Mapping[str, float]) -> None:
    day = day_of(now())
    for what, n in sorted(done.items()):  # in one order, so that two writers do not deadlock
        _put(db, counts, {"day": day, "what": _name(what), "n": n}, {"n": counts.c.n + n})


def _name(label: str) -> str:
    return label[:LONGEST]


def _note(db: sa.Connection, wiki: str, name: str, value: str) -> None:
    _put(db, notes, {"wiki": wiki, "name": name, "value": value}, {"value": value})


def _put(
    db: sa.Connection, table: sa.Table, row: Mapping[str, Any], changes: Mapping[str, Any]
) -> None:
    """Insert a row, or change the one that has its key: one statement, as others write too."""
    if db.dialect.name == "mariadb":
        db.execute(mysql.insert(table).values(row).on_duplicate_key_update(**changes))
        return
    insert = sqlite.insert if db.dialect.name == "sqlite" else postgresql.insert
    key = list(table.primary_key.columns)
    db.execute(insert(table).values(row).on_conflict_do_update(index_elements=key, set_=changes))
