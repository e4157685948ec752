"""Findings of an edited article are what a full check of its last revision would find."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from threading import Event, Thread
from typing import Any, TypeAlias

import pytest
import sqlalchemy as sa
from edited_wiki import FERRY, WEIR, WRONG, Clock, EditedWiki, Making, sentence, text_of

from pincite.types import Copy, CopyKind, Reason, Unchecked
from pincite.verbs.verify.cited_copies import CitedCopies, CitedSource
from pincite.verbs.verify.pipeline import VerifyPipeline
from pincite_server.database import Database
from pincite_watch.gate import Kind
from pincite_watch.lists import Changes, Watched
from pincite_watch.store import NEW, Hidden, Watch, _count, _note
from pincite_watch.tables import findings, pages
from pincite_watch.watcher import DAY, Limits, Plan, Watcher


def work(watcher: Watcher) -> None:
    watcher.follow()
    while watcher.step():
        pass


def rows(database: Database) -> list[Any]:
    return list(database.rows(sa.select(findings).order_by(findings.c.span_start)))


def states(database: Database) -> Counter[str]:
    return Counter(row.state for row in rows(database))


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The claims that were judged, in order."""
    finding, found = VerifyPipeline.finding, list[str]()

    def noted(self: VerifyPipeline, claim: Any, written: str | None = None) -> Any:
        found.append(claim.text)
        return finding(self, claim, written)

    monkeypatch.setattr(VerifyPipeline, "finding", noted)
    return found


def work_after_each(watcher: Watcher, wiki: EditedWiki, *texts: str) -> None:
    for text in texts:
        wiki.edit("Tolne", text)
        watcher.store.add(watcher.wiki, ["Tolne"])
        work(watcher)


def test_a_value_that_differs_is_published_and_other_verdicts_are_counted(
    wiki: EditedWiki, making: Making, database: Database
) -> None:
    work_after_each(watcher := making(), wiki, text_of(WEIR, WRONG))
    (shown,) = watcher.store.published_rows(watcher.wiki, "Tolne", None, 9)
    assert (shown.kind, shown.record["label"]) == (Kind.DATE, "refuted")
    assert "1934" in shown.record["quote"]
    assert len(rows(database)) == 2


def test_an_article_in_a_language_that_the_verifier_does_not_read_is_not_judged(
    wiki: EditedWiki, making: Making, database: Database
) -> None:
    wiki.language = "is"
    work_after_each(making(), wiki, text_of(WRONG))
    assert [row.kind for row in rows(database)] == [Kind.UNCHECKED]


def test_a_finding_moves_with_its_sentence_and_is_not_judged_again(
    wiki: EditedWiki, making: Making, database: Database, judged: list[str]
) -> None:
    work_after_each(making(), wiki, text_of(WEIR, WRONG))
    before = {row.claim: row for row in rows(database)}
    text = text_of(FERRY, WRONG, WEIR)
    wiki.edit("Tolne", text)
    work(making())
    assert len(judged) == 3
    for row in rows(database):
        known = before.get(row.claim, row)
        assert row.finding_id == known.finding_id
        assert text[row.span_start : row.span_end].startswith(row.claim[:10])
    assert {row.revision for row in rows(database)} == {wiki.revision}


def test_a_finding_is_withdrawn_when_its_sentence_goes_and_again_judged_when_it_is_back(
    wiki: EditedWiki, making: Making, database: Database
) -> None:
    work_after_each(making(), wiki, text_of(WEIR, WRONG), text_of(WEIR), text_of(WEIR, WRONG))
    assert states(database) == {"live": 2, "withdrawn": 1}


def test_findings_follow_a_moved_page_and_end_with_a_deleted_one(
    wiki: EditedWiki, making: Making, database: Database
) -> None:
    work_after_each(watcher := making(), wiki, text_of(WEIR, WRONG))
    wiki.move("Tolne", "Tolne (river)")
    work(watcher)
    assert len(watcher.store.published_rows(watcher.wiki, "Tolne (river)", None, 9)) == 1
    assert watcher.store.published_rows(watcher.wiki, "Tolne", None, 9) == []
    wiki.delete("Tolne (river)")
    work(watcher)
    assert states(database)["live"] == 0


def test_findings_end_unless_they_are_confirmed_in_time(
    wiki: EditedWiki, making: Making, database: Database, clock: Clock, judged: list[str]
) -> None:
    work_after_each(watcher := making(), wiki, text_of(WRONG))
    clock.days(31)
    assert watcher.store.published_rows(watcher.wiki, "Tolne", None, 9) == []
    watcher.store.expire()
    assert states(database) == {"expired": 1}
    work(watcher)  # the page was due again by then
    assert states(database) == {"live": 1}
    assert len(judged) == 1


def test_a_day_judges_as_many_citations_as_its_budget_and_the_next_one_goes_on(
    wiki: EditedWiki, making: Making, database: Database, clock: Clock
) -> None:
    watcher = making(limits=Limits(citations=2))
    work_after_each(watcher, wiki, text_of(WEIR, WRONG, FERRY))
    assert len(rows(database)) == 2
    assert not watcher.step()
    clock.days(1)
    work(watcher)
    assert states(database) == {"live": 3}
    assert watcher.store.status()["pages"]["checked"] == 1


ARCHIVED = "https://weir.example/ |archive-url=https://archive.example/1 |url-status=dead"


@pytest.mark.parametrize(
    ("host", "url"), [("weir.example", "https://weir.example/"), ("archive.example", ARCHIVED)]
)
def test_a_page_waits_a_day_when_a_host_or_an_archive_had_its_requests(
    wiki: EditedWiki, making: Making, database: Database, clock: Clock, host: str, url: str
) -> None:
    watcher = making(limits=Limits(requests=3))
    watcher.store.count({f"requests {host}": 3})
    work_after_each(watcher, wiki, text_of(sentence("The weir was built in 1911.", url)))
    assert rows(database) == []
    clock.days(1)
    work(watcher)
    assert states(database) == {"live": 1}


def test_only_watched_pages_and_wanted_new_ones_are_checked(
    wiki: EditedWiki, making: Making, database: Database
) -> None:
    watcher = making()
    watcher.watch(Watched(new_in=(0,)))
    wiki.edit("Tolne", text_of(WEIR))
    for number in range(5):
        wiki.edit(f"Other {number}", text_of(WRONG))
    work(watcher)
    assert watcher.store.status()["pages"]["checked"] == 6
    stored = watcher.store.note(watcher.wiki, "changes")
    work(making())  # it begins where the last one ended
    last = wiki.changes[-1]
    assert stored == f"{last['timestamp']}|{last['rcid']}"
    assert making().store.note(watcher.wiki, "changes") == stored
    assert len(rows(database)) == 6


def test_new_pages_settle_and_their_redirects_are_not_watched(
    wiki: EditedWiki, making: Making, database: Database
) -> None:
    watcher = making(plan=Plan(settle_seconds=600))
    watcher.watch(Watched(new_in=(0,)))
    wiki.edit("Tolne", text_of(WEIR))
    wiki.edit("Tolne stream", "#REDIRECT [[Tolne]]")
    wiki.changes[-1]["redirect"] = True
    watcher.follow()
    assert watcher.store.next(watcher.wiki) is None
    rows = database.rows(sa.select(pages))
    assert [(row.title, row.priority) for row in rows] == [("Tolne", NEW)]


@pytest.mark.parametrize("n_shown", [0, 1])
def test_a_finding_stays_hidden_or_shown_again_for_another_verifier(
    wiki: EditedWiki, making: Making, database: Database, clock: Clock, n_shown: int
) -> None:
    work_after_each(watcher := making(), wiki, text_of(WRONG))
    finding_id = rows(database)[0].finding_id
    watcher.store.hide(finding_id, Hidden.WRONG)
    if n_shown:
        watcher.store.unhide(finding_id)
    watcher.run.versions["verifier"] = "another"  # type: ignore[index]
    clock.days(25)
    work(watcher)
    assert states(database) == {"live": 1, "withdrawn": 1}
    assert len(watcher.store.published_rows(watcher.wiki, None, None, 9)) == n_shown
    watcher.store.hide(finding_id, Hidden.WRONG)  # read before it was replaced
    assert watcher.store.published_rows(watcher.wiki, None, None, 9) == []


def test_a_finding_that_editors_hid_stays_hidden_when_its_sentence_comes_back(
    wiki: EditedWiki, making: Making, database: Database
) -> None:
    work_after_each(watcher := making(), wiki, text_of(WRONG))
    watcher.store.hide(rows(database)[0].finding_id, Hidden.WRONG)
    work_after_each(watcher, wiki, text_of(WEIR), text_of(WRONG))
    assert states(database) == {"live": 1, "withdrawn": 2}
    assert watcher.store.published_rows(watcher.wiki, None, None, 9) == []


def test_a_page_that_cannot_be_read_is_tried_again_later_and_costs_no_other(
    wiki: EditedWiki, making: Making, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiki.edit("Weir", text_of(WEIR))
    watcher, real = making(), Watcher._statements
    watcher.store.add(watcher.wiki, ["Weir"])

    def failing(self: Watcher, article: Any) -> Any:
        if article.title == "Tolne":
            raise ValueError
        return real(self, article)

    monkeypatch.setattr(Watcher, "_statements", failing)
    work_after_each(watcher, wiki, text_of(WEIR))
    status = watcher.store.status()["pages"]
    assert (status["checked"], status["failing"]) == (1, 1)


# ── Sources that cannot be read for now ──────────────────────────────────────────────────────────


Reading: TypeAlias = Callable[[Callable[[str, Callable[[], CitedSource]], CitedSource]], None]


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Reading:
    """Replaces what is read at an address by what a function makes of it."""
    read = CitedCopies.read

    def replace_by(answer: Callable[[str, Callable[[], CitedSource]], CitedSource]) -> None:
        def answered(self: CitedCopies, citation: Any, written: str | None = None) -> CitedSource:
            return answer(citation.url, lambda: read(self, citation, written))

        monkeypatch.setattr(CitedCopies, "read", answered)

    return replace_by


@pytest.fixture
def failing(reading: Reading) -> dict[str, Reason]:
    """Why the pages at some addresses cannot be read."""
    found = dict[str, Reason]()
    reading(lambda url, read: CitedSource(Unchecked(url, found[url])) if url in found else read())
    return found


def due_of(database: Database) -> list[float]:
    return list(database.rows(sa.select(pages.c.due).order_by(pages.c.title))[0])


@pytest.mark.parametrize("reason", ["refused", "timed_out", "unreachable", "robots", "no_host"])
def test_a_source_that_cannot_be_read_today_withdraws_nothing_and_is_read_again_in_a_day(
    wiki: EditedWiki,
    making: Making,
    database: Database,
    clock: Clock,
    judged: list[str],
    failing: dict[str, Reason],
    reason: str,
) -> None:
    work_after_each(watcher := making(), wiki, text_of(WEIR, WRONG))
    (before,) = watcher.store.published_rows(watcher.wiki, None, None, 9)
    failing["https://mill.example/"] = Reason(reason)
    work_after_each(watcher, wiki, text_of(FERRY, WEIR, WRONG))
    (after,) = watcher.store.published_rows(watcher.wiki, None, None, 9)
    assert (after.finding_id, after.expires) == (before.finding_id, before.expires)
    assert after.span_start > before.span_start
    assert due_of(database) == [clock.at + DAY]
    failing.clear()
    clock.days(1)
    work(watcher)
    assert states(database) == {"live": 3}
    assert len(judged) == 3
    (confirmed,) = watcher.store.published_rows(watcher.wiki, None, None, 9)
    assert confirmed.expires == before.expires + DAY


def test_a_source_that_has_gone_withdraws_the_finding(
    wiki: EditedWiki, making: Making, database: Database, failing: dict[str, Reason]
) -> None:
    work_after_each(watcher := making(), wiki, text_of(WRONG))
    failing["https://mill.example/"] = Reason.DEAD
    work_after_each(watcher, wiki, text_of(WRONG))
    assert states(database) == {"live": 1, "withdrawn": 1}


def test_a_source_that_stays_unread_ends_its_finding_when_that_expires(
    wiki: EditedWiki, making: Making, database: Database, clock: Clock, failing: dict[str, Reason]
) -> None:
    work_after_each(watcher := making(), wiki, text_of(WRONG))
    failing["https://mill.example/"] = Reason.REFUSED
    for _ in range(4):
        clock.days(9)
        watcher.store.add(watcher.wiki, ["Tolne"])
        watcher.store.expire()
        work(watcher)
    live = [row.kind for row in rows(database) if row.state == "live"]
    assert live == [Kind.UNCHECKED]
    assert due_of(database)[0] > clock.at + DAY


def test_another_text_of_an_earlier_source_is_judged_again(
    wiki: EditedWiki, making: Making, judged: list[str], failing: dict[str, Reason]
) -> None:
    first = sentence("The mill opened in 1911", "https://weir.example/")
    text = text_of(sentence(f"{first} after a year of work.", "https://mill.example/"))
    work_after_each(watcher := making(), wiki, text)
    before = len(judged)
    failing["https://weir.example/"] = Reason.DEAD
    work_after_each(watcher, wiki, text)
    assert len(judged) == 2 * before == 4


# ── Changes ──────────────────────────────────────────────────────────────────────────────────────


def test_an_article_is_checked_when_it_rests_or_after_a_bounded_time(
    wiki: EditedWiki, making: Making, clock: Clock
) -> None:
    watcher = making(plan=Plan(settle_seconds=600))
    wiki.edit("Tolne", text_of(WEIR))
    watcher.store.add(watcher.wiki, ["Tolne"])
    begun = clock.at
    waited = []
    for _ in range(12):
        watcher.follow()
        clock.at += 599
        waited.append(watcher.store.next(watcher.wiki) is None)
        wiki.edit("Tolne", text_of(WEIR))
    n_waits = waited.index(False)
    assert waited[:n_waits] == [True] * n_waits
    assert 3600 <= (n_waits + 1) * 599 < 3600 + 2 * 599
    clock.at = begun + 600 * 6
    assert watcher.store.next(watcher.wiki)


def test_a_checked_article_rests_anew_after_its_next_edit(
    wiki: EditedWiki, making: Making, clock: Clock
) -> None:
    watcher = making(plan=Plan(settle_seconds=600))
    wiki.edit("Tolne", text_of(WEIR))
    watcher.store.add(watcher.wiki, ["Tolne"])
    for _ in range(2):
        watcher.follow()
        assert watcher.store.next(watcher.wiki) is None
        clock.days(1)
        work(watcher)
        wiki.edit("Tolne", text_of(FERRY))


def test_a_restart_reads_no_change_twice(wiki: EditedWiki, making: Making) -> None:
    work_after_each(watcher := making(), wiki, text_of(WEIR))
    wiki.edit("Mill", text_of(WRONG))
    wiki.changes[-1]["timestamp"] = wiki.changes[-2]["timestamp"]  # in the same second
    watcher.store.add(watcher.wiki, ["Mill"])
    work(watcher)
    making().follow()
    assert watcher.store.next(watcher.wiki) is None
    wiki.edit("Mill", text_of(WEIR))
    wiki.changes[-1]["timestamp"] = wiki.changes[-2]["timestamp"]
    making().follow()
    again = watcher.store.next(watcher.wiki)
    assert again
    assert again.title == "Mill"


@pytest.mark.parametrize("is_logged", [True, False])
def test_a_page_that_moves_without_a_redirect_keeps_its_findings(
    wiki: EditedWiki, making: Making, database: Database, is_logged: bool
) -> None:
    work_after_each(watcher := making(), wiki, text_of(WRONG))
    wiki.move("Tolne", "Tolne (river)", leaves_redirect=False)
    if not is_logged:
        wiki.changes.pop()
        changes = Changes(("Tolne",), (), (), "2026-01-01T00:00:00Z")
        watcher.store.queue_edits(watcher.wiki, changes, 0, ())
    work(watcher)
    (shown,) = watcher.store.published_rows(watcher.wiki, "Tolne (river)", None, 9)
    assert {row.page_id for row in rows(database)} == {shown.page_id}


def test_a_page_that_was_not_read_yet_and_a_new_one_are_followed_to_their_titles(
    wiki: EditedWiki, making: Making, database: Database
) -> None:
    watcher = making()
    watcher.watch(Watched(new_in=(0,)))
    watcher.store.add(watcher.wiki, ["Tolne"])
    wiki.edit("Tolne", text_of(WRONG))
    wiki.edit("Mill", text_of(WEIR))
    for title in ("Tolne", "Mill"):
        wiki.move(title, f"{title} (new)", leaves_redirect=False)
    wiki.edit("Tolne", text_of(FERRY))  # another page
    work(watcher)
    titles = sorted(row.title for row in database.rows(sa.select(pages)))
    assert titles == ["Mill (new)", "Tolne", "Tolne (new)"]
    assert states(database) == {"live": 3}


def test_a_new_page_at_the_title_of_a_deleted_one_takes_its_place(
    wiki: EditedWiki, making: Making, database: Database
) -> None:
    work_after_each(watcher := making(), wiki, text_of(WRONG))
    wiki.delete("Tolne")
    work_after_each(watcher, wiki, text_of(WEIR))
    assert states(database) == {"live": 1, "withdrawn": 1}
    assert [row.title for row in database.rows(sa.select(pages))] == ["Tolne"]


# ── What is watched ──────────────────────────────────────────────────────────────────────────────


def test_what_is_watched_is_added_to_and_known_after_a_restart(making: Making) -> None:
    making().watch(Watched(categories=(("Mills", 0),), new_in=(0,)))
    making().watch(Watched(categories=(("Weirs", 118),), drafts=(118,), namespaces=(118,)))
    assert making().watched == Watched(
        categories=(("Mills", 0), ("Weirs", 118)), drafts=(118,), new_in=(0,), namespaces=(0, 118)
    )
    making().ignore_new_pages()
    assert making().watched.new_in == (118,)


def test_changes_are_read_in_the_namespaces_of_the_pages_that_are_watched(
    wiki: EditedWiki, making: Making, database: Database
) -> None:
    watcher = making()
    wiki.edit("Draft:Tolne", text_of(WEIR))
    watcher.store.add(watcher.wiki, ["Draft:Tolne"])
    work(watcher)
    wiki.edit("Draft:Tolne", text_of(WEIR, WRONG))
    work(making())
    assert states(database) == {"live": 2}


# ── Budgets and counts ───────────────────────────────────────────────────────────────────────────


def test_two_writers_of_a_count_and_a_note_add_up(database: Database) -> None:
    store, began = Watch(database), Event()

    def write() -> None:
        began.set()
        store.count({"judged": 2})
        store.set_note("w", "changes", "b")

    other = Thread(target=write)
    with database.writing() as db:
        _count(db, {"judged": 1})
        _note(db, "w", "changes", "a")
        other.start()
        began.wait()
    other.join()
    assert store.spent("judged") == {"judged": 3}
    assert store.note("w", "changes") == "b"


def test_requests_of_a_day_are_summed_over_the_hosts(database: Database, clock: Clock) -> None:
    store = Watch(database)
    store.count({"requests a.example": 2, "requests b.example": 3, "judged": 1})
    assert store.status()["today"] == {"requests": 5, "judged": 1}
    spent = store.spent("requests a.example", "citations")
    assert spent == {"requests a.example": 2, "citations": 0}
    clock.days(1)
    assert store.status()["today"] == {}


# ── Private copies ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", list(CopyKind))
def test_a_finding_is_public_only_if_its_source_was_read_on_the_web(
    wiki: EditedWiki, making: Making, database: Database, reading: Reading, kind: CopyKind
) -> None:
    reading(lambda url, read: read()._replace(copy=Copy(kind, url)))
    work_after_each(making(), wiki, text_of(WRONG))
    on_the_web = ("live", "archived", "wayback")
    assert [row.private for row in rows(database)] == [kind not in on_the_web]


def test_a_finding_on_a_private_host_is_not_public(
    wiki: EditedWiki, making: Making, database: Database, reading: Reading
) -> None:
    why = Reason.SOFT_404, "it leads to /secret"
    reading(lambda url, read: CitedSource(Unchecked(url, *why)))
    watcher = making()
    settings = watcher.run.settings
    web = replace(settings.web, private_hosts=("mill.example",))
    run = replace(watcher.run, settings=replace(settings, web=web))
    work_after_each(making(run=run), wiki, text_of(WEIR, WRONG))
    assert sorted(row.private for row in rows(database)) == [False, True]
