"""Findings of an edited article are what a full check of its last revision would find."""

from collections import Counter
from typing import Any

import pytest
import sqlalchemy as sa
from edited_wiki import FERRY, WEIR, WRONG, Clock, EditedWiki, Making, sentence, text_of

from pincite.verbs.verify.pipeline import VerifyPipeline
from pincite_server.database import Database
from pincite_watch.gate import Kind
from pincite_watch.store import NEW, Hidden, Watch
from pincite_watch.tables import findings, pages
from pincite_watch.watcher import Limits, Plan, Watcher


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
    (shown,) = watcher.store.published(watcher.wiki, "Tolne", None, 9)
    assert (shown.kind, shown.record["label"]) == (Kind.VALUE, "refuted")
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


def test_another_reference_withdraws_the_finding(
    wiki: EditedWiki, making: Making, database: Database
) -> None:
    urls = ("https://mill.example/", "https://ferry.example/")
    stated = "The mill burned down in May 1937."
    work_after_each(making(), wiki, *(text_of(sentence(stated, url)) for url in urls))
    assert states(database) == {"live": 1, "withdrawn": 1}


def test_findings_follow_a_moved_page_and_end_with_a_deleted_one(
    wiki: EditedWiki, making: Making, database: Database
) -> None:
    work_after_each(watcher := making(), wiki, text_of(WEIR, WRONG))
    wiki.move("Tolne", "Tolne (river)")
    work(watcher)
    assert len(watcher.store.published(watcher.wiki, "Tolne (river)", None, 9)) == 1
    assert watcher.store.published(watcher.wiki, "Tolne", None, 9) == []
    wiki.delete("Tolne (river)")
    work(watcher)
    assert states(database)["live"] == 0


def test_findings_end_unless_they_are_confirmed_in_time(
    wiki: EditedWiki, making: Making, database: Database, clock: Clock, judged: list[str]
) -> None:
    work_after_each(watcher := making(), wiki, text_of(WRONG))
    clock.days(31)
    assert watcher.store.published(watcher.wiki, "Tolne", None, 9) == []
    watcher.store.expire()
    assert states(database) == {"expired": 1}
    work(watcher)  # the page was due again by then
    assert states(database) == {"live": 1}
    assert len(judged) == 1


def test_a_day_judges_as_many_citations_as_its_budget_and_the_next_one_goes_on(
    wiki: EditedWiki, making: Making, database: Database, clock: Clock
) -> None:
    work_after_each(
        watcher := making(limits=Limits(citations=2)), wiki, text_of(WEIR, WRONG, FERRY)
    )
    assert len(rows(database)) == 2
    assert not watcher.step()
    clock.days(1)
    work(watcher)
    assert states(database) == {"live": 3}
    assert watcher.store.status()["pages"]["checked"] == 1


def test_a_page_waits_a_day_when_a_host_had_its_requests(
    wiki: EditedWiki, making: Making, database: Database, clock: Clock
) -> None:
    wiki.edit("Tolne", text_of(WEIR))
    watcher = making(limits=Limits(requests=3))
    watcher.store.count({"requests weir.example": 3})
    watcher.store.add(watcher.wiki, ["Tolne"])
    work(watcher)
    assert rows(database) == []
    clock.days(1)
    work(watcher)
    assert states(database) == {"live": 1}


def test_only_watched_pages_and_wanted_new_ones_are_checked(
    wiki: EditedWiki, making: Making, database: Database
) -> None:
    watcher = making(plan=Plan(settle_seconds=0, new_pages=True))
    wiki.edit("Tolne", text_of(WEIR))
    for number in range(5):
        wiki.edit(f"Other {number}", text_of(WRONG))
    work(watcher)
    assert watcher.store.status()["pages"]["checked"] == 6
    stored = watcher.store.note(watcher.wiki, "changes")
    work(making())  # it begins where the last one ended
    assert making().store.note(watcher.wiki, "changes") == stored == wiki.changes[-1]["timestamp"]
    assert len(rows(database)) == 6


def test_new_pages_settle_and_their_redirects_are_not_watched(
    wiki: EditedWiki, making: Making, database: Database
) -> None:
    watcher = making(plan=Plan(settle_seconds=600, new_pages=True))
    wiki.edit("Tolne", text_of(WEIR))
    wiki.edit("Tolne stream", "#REDIRECT [[Tolne]]")
    wiki.changes[-1]["redirect"] = True
    watcher.follow()
    assert watcher.store.next(watcher.wiki) is None
    rows = database.rows(sa.select(pages))
    assert [(row.title, row.priority) for row in rows] == [("Tolne", NEW)]


def test_changes_of_pages_that_nobody_watches_are_passed_over(
    wiki: EditedWiki, making: Making, database: Database
) -> None:
    watcher = making()
    wiki.edit("Tolne", text_of(WEIR))
    work(watcher)
    assert rows(database) == []


def test_a_finding_that_editors_hid_stays_hidden_for_another_verifier(
    wiki: EditedWiki, making: Making, database: Database, clock: Clock
) -> None:
    work_after_each(watcher := making(), wiki, text_of(WRONG))
    watcher.store.hide(rows(database)[0].finding_id, Hidden.WRONG)
    watcher.run.versions["verifier"] = "another"  # type: ignore[index]
    clock.days(25)
    work(watcher)
    assert states(database) == {"live": 1, "withdrawn": 1}
    assert Watch(database).published(watcher.wiki, None, None, 9) == []


def test_a_finding_that_editors_hid_stays_hidden_when_its_sentence_comes_back(
    wiki: EditedWiki, making: Making, database: Database
) -> None:
    watcher = making()
    for text in (text_of(WRONG), text_of(WEIR), text_of(WRONG)):
        wiki.edit("Tolne", text)
        watcher.store.add(watcher.wiki, ["Tolne"])
        work(watcher)
        if len(rows(database)) == 1:
            watcher.store.hide(rows(database)[0].finding_id, Hidden.WRONG)
    assert states(database) == {"live": 1, "withdrawn": 2}
    assert watcher.store.published(watcher.wiki, None, None, 9) == []


def test_a_page_that_cannot_be_read_is_tried_again_later_and_costs_no_other(
    wiki: EditedWiki, making: Making, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiki.edit("Tolne", text_of(WEIR))
    wiki.edit("Weir", text_of(WEIR))
    watcher = making()
    watcher.store.add(watcher.wiki, ["Tolne", "Weir"])
    real = Watcher._statements

    def failing(self: Watcher, article: Any) -> Any:
        if article.title == "Tolne":
            raise ValueError
        return real(self, article)

    monkeypatch.setattr(Watcher, "_statements", failing)
    work(watcher)
    status = watcher.store.status()["pages"]
    assert (status["checked"], status["failing"]) == (1, 1)
