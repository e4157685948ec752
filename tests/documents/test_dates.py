"""Dates in words and numbers, in the languages of the Wikipedias that are read."""

import pytest
from support.rows import each_row

from pincite.documents.dates import stated_date

_MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre "
    "diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre "
    "dicembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro "
    "dezembro",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "pl": "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października "
    "listopada grudnia",
    "ru": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
}


@pytest.mark.parametrize("language", _MONTHS)
def test_every_month_is_known(language: str) -> None:
    months = _MONTHS[language].split()
    found = [stated_date(f"7 {month} 2019") for month in months]
    assert found == [f"2019-{number:02}-07" for number in range(1, 13)]


@each_row("documents/dates/dates_have_the_stated_precision")
def test_dates_have_the_stated_precision(text: str, date: str) -> None:
    assert stated_date(text) == date
