"""What is decided on a reference from the records that the sources returned."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from support.rows import each_row

from pincite.errors import FetchError
from pincite.references.outcomes import Answers, Service, Status, Unanswered, ask, decide
from pincite.references.works import Notice, NoticeKind, Work
from pincite.types import Citation, Fault, FaultKind, Reason, Span

DOWN = Unanswered("crossref", Reason.UNREACHABLE)


def citation(given: dict[str, Any]) -> Citation:
    given = {**given, "authors": tuple(given.get("authors", ()))}
    return Citation("r1", Span(0, 0), Span(0, 0), **given)


def work(given: dict[str, Any]) -> Work:
    notices = [Notice(NoticeKind(kind), *rest) for kind, *rest in given.get("notices", ())]
    lists = {name: tuple(given.get(name, ())) for name in ("authors", "years")}
    return Work(**{**given, **lists, "notices": tuple(notices)})


@each_row("references/outcomes/decided")
def test_outcome_is_never_worse_while_a_source_is_down(
    given: dict[str, Any], works: list[dict[str, Any]], status: str, fields: list[str]
) -> None:
    cited, records, order = citation(given), [work(each) for each in works], list(Status)
    alone = decide(cited, Answers(records, ["catalogue"]), is_record=True)
    assert alone.status == status
    assert [difference.field for difference in alone.differences] == fields
    beside = decide(cited, Answers(records, ["catalogue"], [DOWN]), is_record=True)
    assert beside.status.is_in_doubt == alone.status.is_in_doubt
    assert order.index(beside.status) >= order.index(alone.status)
    unanswered = decide(cited, Answers([], [], [DOWN]), is_record=True)
    assert (unanswered.status, unanswered.failed) == (Status.UNCHECKED, (DOWN,))


@pytest.mark.parametrize(("failed", "status"), [([], "unverified"), ([DOWN], "unchecked")])
def test_what_a_failing_source_might_know_is_left_open(
    failed: list[Unanswered], status: str
) -> None:
    given = {"title": "Rye and sleep", "authors": ["Ida Holm"], "date": "2011"}
    preprint = Work("Rye and sleep", ("Holm, Ida",), (2011,), "arXiv", kind="preprint")
    for more, record in (
        ({"publisher": "Journal of Rye"}, preprint),
        ({"doi": "10.1000/none"}, replace(preprint, kind="article")),
    ):
        found = Answers([record], ["catalogue"], failed)
        assert decide(citation(given | more), found, is_record=True).status == status


def test_an_impossible_identifier_accuses_and_the_work_is_still_found() -> None:
    given = {"title": "The price of rye in Jutland", "authors": ["Ida Holm"], "date": "2011"}
    fault = Fault(FaultKind.ISBN, "978-0-306-40615-8")
    wrong = Citation("r1", Span(0, 0), Span(0, 0), faults=(fault,), **given)  # type: ignore[arg-type]
    record = Work("The price of rye in Jutland", ("Holm, Ida",), (2011,))
    outcome = decide(wrong, Answers([record], ["catalogue"]))
    assert (outcome.status, outcome.work) == (Status.IMPOSSIBLE, record)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (FaultKind.PMID, {"pmid": "99999999999"}),
        (FaultKind.PMC, {"pmc": "PMC99999999999"}),
        (FaultKind.ARXIV, {"arxiv": "9913.00001"}),
        (FaultKind.DOI, {"doi": "10.1000/x y"}),
        (FaultKind.REGISTRANT, {"doi": "10.99999999/x"}),
    ],
)
def test_an_impossible_identifier_is_not_also_reported_as_unknown(
    kind: FaultKind, given: dict[str, str]
) -> None:
    cited = citation({"title": "Rye", "authors": ["Ida Holm"], **given})
    asked = Answers([], ["catalogue"])
    assert decide(cited, asked).unknown_ids
    wrong = replace(cited, faults=(Fault(kind, next(iter(given.values()))),))
    assert decide(wrong, asked).unknown_ids == ()


@pytest.mark.parametrize("kinds", list(combinations(NoticeKind, 2)))
def test_the_gravest_notice_decides(kinds: tuple[NoticeKind, NoticeKind]) -> None:
    notices = [Notice(kind, "", f"200{n}") for n, kind in enumerate(kinds)]
    record = Work("Rye", ("Holm, Ida",), (2011,), doi="10.1000/1", notices=tuple(notices))
    cited = citation({"title": "Rye", "authors": ["Ida Holm"], "doi": "10.1000/1"})
    outcome = decide(cited, Answers([record], ["catalogue"]))
    shown = [notice.kind for notice in outcome.notices]
    assert shown == sorted(shown, key=list(NoticeKind).index)
    assert (outcome.status in (Status.RETRACTED, Status.WITHDRAWN)) == (
        bool(shown) and shown[0] in (NoticeKind.RETRACTED, NoticeKind.WITHDRAWN)
    )


def test_a_shortened_list_of_authors_is_no_difference_in_an_article() -> None:
    record = Work("Rye", ("Holm, Ida", "Berg, Per"), (2011,), doi="10.1000/1")
    cited = citation({"title": "Rye", "authors": ["Ida Holm"], "doi": "10.1000/1"})
    assert decide(cited, Answers([record], ["catalogue"])).status is Status.AGREES


def test_a_failing_source_costs_only_its_own_answer() -> None:
    def refuse(cited: Citation) -> list[Work]:
        raise FetchError("no", reason=Reason.REFUSED)

    has = Service("catalogue", lambda cited: [Work("Rye", doi="10.1000/1")])
    found = ask(citation({"doi": "10.1000/1"}), [Service("crossref", refuse), has])
    assert [each.source for each in found.works] == ["catalogue"]
    assert [(each.source, each.reason) for each in found.failed] == [("crossref", Reason.REFUSED)]
