"""Dates in words and numbers, in the languages of the Wikipedias that are read."""

import pytest
from babel.dates import get_month_names
from support.rows import each_row

from pincite.text.dates import date_at_head, stated_date


@pytest.mark.parametrize("language", "en de fr es it pt nl pl ru".split())
def test_every_month_is_known(language: str) -> None:
    months = get_month_names("wide", locale=language).values()
    found = [stated_date(f"7 {month} 2019") for month in months]
    assert found == [f"2019-{number:02}-07" for number in range(1, 13)]


@each_row("text/dates/dates_have_the_stated_precision")
def test_dates_have_the_stated_precision(text: str, date: str) -> None:
    assert stated_date(text) == date


@each_row("text/dates/heads_of_texts_are_dated")
def test_heads_of_texts_are_dated(text: str, date: str) -> None:
    assert date_at_head(text) == date
