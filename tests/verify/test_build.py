"""What a run records beside its findings."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

import pytest
from support.rows import each_row

from pincite.errors import FetchError
from pincite.references import faults
from pincite.references.outcomes import Service
from pincite.references.works import Notice, NoticeKind, Work
from pincite.types import (
    Article,
    Citation,
    CitationResult,
    Claim,
    Finding,
    Label,
    Reason,
    Unchecked,
    WorkStatus,
)
from pincite.verbs.verify import build
from pincite.wiki.article import PageText, parse_page

WEAR = Work("Stone wear", ("Berg, Per",), (2014,), "Milling", "10.1000/wear")
SOURCE = (
    "It has stones.<ref name=s>{{cite journal|title=Stone wear|last=Berg|first=Per|year=2014"
    "|journal=Milling|doi=10.1000/wear}}</ref> They wear.<ref name=s/> It closed.<ref>"
    "{{cite book|title=The end|isbn=9780306406158}}</ref> It is open.<ref>"
    "{{cite web|title=Museum|url=https://museum.example/}}</ref>"
)


@dataclass
class Works:
    """A source that has these works, or none that answers."""

    works: Sequence[Work] = (WEAR,)
    fails: bool = False
    asked: list[Citation] = field(default_factory=list)
    name: str = "works"

    def lookup(self, citation: Citation) -> list[Work]:
        self.asked.append(citation)
        if self.fails:
            raise FetchError("down", "works", Reason.TIMED_OUT)
        return [each for each in self.works if each.doi == citation.doi]


def looked_up(lookup: build.WorkLookup, source: str = SOURCE) -> list[CitationResult]:
    article = faults.check_references(parse_page(PageText(source, "Mill")), date(2026, 11, 29))
    return [result for each in found_in(lookup, article) for result in each.citations]


def found_in(lookup: build.WorkLookup, article: Article) -> list[Finding]:
    def unread(claim: Claim) -> Finding:
        why = Unchecked("", Reason.NOT_SUPPLIED)
        results = (CitationResult(c, why, Label.UNCHECKED) for c in claim.citations)
        return Finding(claim, tuple(results), None, Label.UNCHECKED, None, ())

    return [*lookup.on(article, [*map(unread, article.claims)], lambda done, total: None)]


def statuses(results: Sequence[CitationResult]) -> list[WorkStatus | None]:
    return [result.work.status if result.work else None for result in results]


def test_each_reference_is_looked_up_once() -> None:
    works = Works()
    found = looked_up(build.WorkLookup([works]))
    assert [each.title for each in works.asked] == ["Stone wear", "The end", "Museum"]
    assert statuses(found) == [*(WorkStatus.AGREES, WorkStatus.AGREES, WorkStatus.IMPOSSIBLE, None)]
    assert [bool(each.reference_notes) for each in found] == [False, False, True, False]


def test_a_service_that_is_down_accuses_nothing() -> None:
    article = parse_page(PageText(SOURCE.replace("9780306406158", "9780306406157"), "Mill"))
    found = found_in(build.WorkLookup([Works(fails=True)]), article)
    known = [status for each in found for status in statuses(each.citations)]
    assert known == [*[WorkStatus.UNCHECKED] * 3, None]
    assert not any(finding.has_reference_notes for finding in found)
    (warning,) = build._not_looked_up(found)
    assert (warning.code, warning.values["n"]) == ("works_unchecked", 2)


@pytest.mark.parametrize("as_service", [True, False])
def test_only_a_service_makes_an_unknown_work_worth_a_look(as_service: bool) -> None:
    works = Works([])
    service = Service("Crossref", works.lookup)
    lookup = build.WorkLookup([] if as_service else [works], [service] if as_service else [])
    found = looked_up(lookup)
    assert statuses(found)[0] is WorkStatus.UNVERIFIED
    assert bool(found[0].reference_notes) is as_service
    asked = [each.title for each in works.asked]
    assert ("Museum" in asked) is not as_service


RETRACTED = replace(WEAR, notices=(Notice(NoticeKind.RETRACTED, "10.1000/n", "2016"),))


@each_row("verify/build/a_retraction_is_in_doubt_unless_the_article_says_so")
def test_a_retraction_is_in_doubt_unless_the_article_says_so(after: str, marked: bool) -> None:
    source = SOURCE.replace("</ref>", after, 1)
    result = looked_up(build.WorkLookup([Works([RETRACTED])]), source)[0]
    assert result.work
    assert (result.work.status, result.work.notice) == (WorkStatus.RETRACTED, "10.1000/n")
    assert result.is_in_doubt is bool(result.reference_notes) is not marked


def test_a_field_that_differs_is_corrected_in_its_template() -> None:
    result = looked_up(build.WorkLookup([Works()]), SOURCE.replace("2014", "2004"))[0]
    assert result.work
    assert result.work.status is WorkStatus.DIFFERS
    assert [(c.parameter, c.cited, c.known) for c in result.work.corrections] == [
        ("year", "2004", "2014")
    ]
    assert result.work.template in SOURCE
