"""Relative times are the dates, and descriptions the names, that they mean on their page."""

import json
from pathlib import Path

import pytest
from support.rows import each_row

from pincite.text import quantities
from pincite.text.context import referents, relative_times
from pincite.text.paraphrase import with_dates
from pincite.text.passages import passages
from pincite.types import Document

CASES = Path(__file__).parents[1] / "cases" / "times"
Row = tuple[str, str, str, bool]


def rows(name: str) -> list[Row]:
    return [tuple(row) for row in json.loads((CASES / name).read_text(encoding="utf-8"))]


def is_right(row: Row) -> bool:
    published, text, claim, expected = row
    dates = " · ".join(each.date for each in relative_times(text, published))
    return (quantities.unstated_values(claim, f"{dates}\n{text}") == ()) is expected


@pytest.mark.parametrize("row", rows("known.json"), ids=lambda row: f"{row[0]} {row[1]} {row[2]}")
def test_a_relative_time_states_the_date_that_it_means(row: Row) -> None:
    assert is_right(row)


def test_spans_are_the_words() -> None:
    text = "It shut. It will open again on Friday, said Holm last night."
    found = [(each.span.of(text), each.date) for each in relative_times(text, "2026-03-04")]
    assert found == [("on Friday", "6 March 2026"), ("last night", "3 March 2026")]


@pytest.mark.parametrize("published", ["", "soon", "2026-13-45", "99"])
def test_without_a_date_nothing_is_resolved(published: str) -> None:
    assert relative_times("It opened this morning.", published) == ()


def test_held_back_rewordings() -> None:
    """Written beside the known ones and looked at when these were right: 28 of 28."""
    assert sum(map(is_right, rows("held_back.json"))) >= 27


def test_a_passage_knows_the_dates_that_it_means() -> None:
    text = "The tram line was opened this morning. It had begun last year."
    (passage,) = passages(Document("https://a.example/", "Tram", text, published="2004-05-14"))
    assert passage.about == "Tram · 2004 · 14 May 2004 · 2003"
    assert passage.text == text


def test_the_network_reads_no_date_that_the_claim_does_not_state() -> None:
    text = "The line was opened this morning."
    assert with_dates(text, "It opened on 15 May 2004.", "2004-05-14") == text


@each_row("text/context/what_a_description_stands_for")
def test_what_a_description_stands_for(text: str, expected: tuple[tuple[str, str], ...]) -> None:
    found = referents(text)
    assert tuple((each.span.of(text), each.name) for each in found if each.name) == expected
