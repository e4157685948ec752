import pytest

from pincite.text.figures import MONTHS, figures, missing, rivals


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,234 people", [1234]),
        ("2.5 million crowns", [2_500_000]),
        ("£1.2m", [1_200_000]),
        ("twenty-five boats", [25]),
        ("three hundred boats", [300]),
        ("the third bridge, the 3rd bridge", [3, 3]),
        ("from 1911–13", [1911, 1913]),
        ("the 1980s", [1980]),
        ("one of the first of all", []),
        ("she may leave", []),
        ("version v2.3.4", []),
        ("", []),
        ("above 2,800 m", [2800]),
        ("5m people", [5e6]),
        ("£5 m a year", [5e6]),
        ("$ 5 m a year", [5e6]),
        ("300 k", [300]),
        ("4.2 × 10^6 or 10⁶ or 10**6 or 10⁻⁶ W", [4.2]),
    ],
)
def test_values(text: str, values: list[float]) -> None:
    assert [f.value for f in figures(text)] == values


@pytest.mark.parametrize(
    "date", ["14 May 1911", "May 14, 1911", "14th of May 1911", "14 May, 1911"]
)
def test_dates_hold_the_same_figures_however_they_are_written(date: str) -> None:
    found = figures(date)
    assert {f.key for f in found} == {("number", 14), ("month", 5), ("number", 1911)}
    assert {f.span.of(date) for f in found} >= {"May", "1911"}


def test_percent_is_another_kind_than_a_number() -> None:
    assert [f.value for f in missing("12 % of 40", "12 of 40")] == [12]
    assert missing("12 percent of 40", "12% (of forty)") == []


def test_rival_figures_of_the_source() -> None:
    claim, source = "It opened in 1913.", "It opened in 1911 with 3 spans."
    (wrong,) = missing(claim, source)
    assert [r.value for r in rivals(wrong, claim, source)] == [1911]


def test_every_month_is_a_figure() -> None:
    for number, name in enumerate(MONTHS, 1):
        for written in (name, name[:3]):
            assert ("month", float(number)) in [f.key for f in figures(f"On 14 {written} 1886")]
