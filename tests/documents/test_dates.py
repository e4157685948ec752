"""Dates in words and numbers, in the languages of the Wikipedias that are read."""

import pytest

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


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("3. Mai 2020", "2020-05-03"),
        ("1er août 2018", "2018-08-01"),
        ("1º maggio 2010", "2010-05-01"),
        ("3 de mayo de 2011", "2011-05-03"),
        ("März 2015", "2015-03"),
        ("2024年5月3日", "2024-05-03"),
        ("2024年5月", "2024-05"),
        ("2024/5/3", "2024-05-03"),
        ("3.5.2024", "2024-05-03"),
        ("31.12.2011", "2011-12-31"),
        ("22-11-2008", "2008-11-22"),
        ("05/06/2008", "2008"),  # May or June
        ("2011/12", "2011"),
        ("2000 Spring", "2000"),
        ("1998 Dec-1999 Jan", "1998-12"),
        ("Sommer", ""),
    ],
)
def test_dates_have_the_stated_precision(text: str, date: str) -> None:
    assert stated_date(text) == date
