"""Relative times are the dates that they mean on their page, and nothing in doubt."""

import json
from pathlib import Path

import pytest

from pincite.text import quantities
from pincite.text.times import resolved

CASES = Path(__file__).parents[1] / "cases" / "times"
Row = tuple[str, str, str, bool]


def rows(name: str) -> list[Row]:
    return [tuple(row) for row in json.loads((CASES / name).read_text(encoding="utf-8"))]


def is_right(row: Row) -> bool:
    published, text, claim, expected = row
    dates = " · ".join(each.date for each in resolved(text, published))
    return (quantities.unstated(claim, f"{dates}\n{text}") == ()) is expected


@pytest.mark.parametrize("row", rows("known.json"), ids=lambda row: f"{row[0]} {row[1]} {row[2]}")
def test_a_relative_time_states_the_date_that_it_means(row: Row) -> None:
    assert is_right(row)


def test_spans_are_the_words() -> None:
    text = "It shut. It will open again on Friday, said Holm last night."
    found = [(each.span.of(text), each.date) for each in resolved(text, "2026-03-04")]
    assert found == [("on Friday", "6 March 2026"), ("last night", "3 March 2026")]


@pytest.mark.parametrize("published", ["", "soon", "2026-13-45", "99"])
def test_without_a_date_nothing_is_resolved(published: str) -> None:
    assert resolved("It opened this morning.", published) == ()
