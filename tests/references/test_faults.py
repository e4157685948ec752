"""What is wrong with a reference as written."""

from datetime import date
from typing import Any

import pytest
from support.rows import each_row, rows

from pincite.references import faults
from pincite.types import Citation, FaultKind, Span
from pincite.wiki.article import article_in

TODAY = date(2026, 11, 29)
HELD_BACK_RIGHT = 0.95  # share of rewordings that no rule was chosen by


def citation(given: dict[str, Any], name: str = "r1") -> Citation:
    given = given | ({"authors": tuple(given["authors"])} if "authors" in given else {})
    return Citation(name, Span(0, 0), Span(0, 0), **given)


@each_row("references/hygiene/faults")
def test_each_fault_is_named_and_nothing_else(given: dict[str, Any], kinds: list[str]) -> None:
    assert [fault.kind for fault in faults.faults_of(citation(given), TODAY)] == kinds


def test_held_back_rewordings_are_read_alike() -> None:
    held = rows("references/hygiene/held_back")
    right = [
        bool(kinds) == bool(found)
        for _, given, kinds in held
        for found in [faults.faults_of(citation(given), TODAY)]
    ]
    assert sum(right) / len(held) >= HELD_BACK_RIGHT


@pytest.mark.parametrize(
    ("title", "kinds"),
    [("The price of rye in 1874", [FaultKind.SAME_DOI]), ("Trams of Varde: A history", [])],
)
def test_doi_with_two_titles_is_a_fault_of_both(title: str, kinds: list[FaultKind]) -> None:
    titles = {"a": "Trams of Varde", "b": title}
    pair = [citation({"doi": "10.1000/182", "title": t}, name) for name, t in titles.items()]
    for each in faults.with_faults(pair, TODAY):
        assert [fault.kind for fault in each.faults] == kinds


@each_row("references/hygiene/faults_of_an_article_stand_at_its_reference")
def test_faults_of_an_article_stand_at_its_reference(reference: str) -> None:
    article = article_in(f"The tram opened in 1911.<ref>{reference}</ref>")
    (claim,) = faults.check_references(article, TODAY).claims
    kinds = {fault.kind for fault in claim.citations[0].faults}
    assert kinds >= {FaultKind.ISBN, FaultKind.ISSN, FaultKind.PMID}
    assert kinds >= {FaultKind.DOI, FaultKind.CHATBOT}


def test_mark_of_a_chatbot_beside_the_address_is_found_in_the_markup() -> None:
    article = article_in("It opened.<ref>https://a.org/x :contentReference[oaicite:0]</ref>")
    (claim,) = faults.check_references(article, TODAY).claims
    assert claim.citations[0].faults[0].kind is FaultKind.CHATBOT
