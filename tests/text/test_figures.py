import pytest
from support.rows import each_row

from pincite.text.figures import figures, missing


@each_row("text/figures/values")
def test_figures_have_their_values(text: str, values: list[float]) -> None:
    assert [f.value for f in figures(text)] == values


@pytest.mark.parametrize("date", ["14 May 1911", "May 14, 1911", "14th of May 1911"])
def test_dates_hold_the_same_figures_however_they_are_written(date: str) -> None:
    found = figures(date)
    assert {f.key for f in found} == {("number", 14), ("month", 5), ("number", 1911)}
    assert {f.span.of(date) for f in found} >= {"May", "1911"}


def test_percent_is_another_kind_than_a_number() -> None:
    assert [f.value for f in missing("12 % of 40", "12 of 40")] == [12]
    assert missing("12 percent of 40", "12% (of forty)") == []
