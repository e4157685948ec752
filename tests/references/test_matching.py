"""Titles, people and venues, compared as a reader does."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row, rows

from pincite.references import matching

HELD_BACK_RIGHT = 0.85  # share of rewordings that no rule was chosen by


@each_row("references/matching/titles")
def test_titles_are_compared_as_a_reader_does(cited: str, known: str, want: str) -> None:
    assert matching.titles(cited, known) == want


@each_row("references/matching/authors")
def test_authors_are_compared_as_a_reader_does(
    cited: list[str], known: list[str], want: str
) -> None:
    assert matching.authors(cited, known) == want


def test_et_al_stands_for_the_others() -> None:
    found = matching.authors(["Holm, I"], ["Holm, Ida", "Berg, Per"], more=True)
    assert found is matching.Authors.SAME


@each_row("references/matching/venues")
def test_venues_are_compared_as_a_reader_does(cited: str, known: str, want: str) -> None:
    assert matching.venues(cited, known) == want


@pytest.mark.parametrize(
    ("kind", "compare"),
    [("titles", matching.titles), ("authors", matching.authors), ("venues", matching.venues)],
)
def test_held_back_pairs_are_compared_alike(kind: str, compare: Callable[[Any, Any], str]) -> None:
    held = rows(f"references/matching/{kind}_held_back")
    right = sum(compare(cited, known) == want for cited, known, want in held)
    assert right / len(held) >= HELD_BACK_RIGHT


@given(st.text(), st.text())
def test_comparing_any_two_texts_is_symmetric_in_being_same(first: str, second: str) -> None:
    there, back = matching.titles(first, second), matching.titles(second, first)
    assert (there is matching.Likeness.SAME) == (back is matching.Likeness.SAME)
    matching.same_person(first, second)
    matching.venues(first, second)
