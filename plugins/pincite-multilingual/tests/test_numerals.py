"""Numbers, dates and measures of ten languages mean what they mean in English."""

from datetime import date

from babel.dates import format_date
from babel.numbers import format_compact_decimal, format_decimal, format_percent
from babel.units import format_unit
from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row

from pincite.judgement.atoms import unstated_atoms
from pincite.judgement.contradictions import contradiction
from pincite.text import quantities, words
from pincite.text.quantities import Value
from pincite.text.quantities import values as values_of
from pincite.types import Claim, Passage, Span
from pincite_multilingual.numerals import LANGUAGES, in_english

EUROPEAN = sorted(LANGUAGES - {"ja", "zh"})
IN_ALL = st.sampled_from(sorted(LANGUAGES))
UNITS = [
    *("length-kilometer", "length-meter", "length-centimeter", "length-mile", "length-foot"),
    *("mass-kilogram", "mass-tonne", "area-square-kilometer", "area-square-meter", "area-hectare"),
    *("volume-liter", "volume-cubic-meter", "speed-kilometer-per-hour", "duration-week"),
    *("duration-year", "duration-month", "duration-day", "duration-hour", "concentr-percent"),
]


def meaning(text: str, language: str = "en") -> list[tuple[object, ...]]:
    """What a text's values mean, apart from where they stand and whether they are sure."""
    return [
        (round(v.low, 3), round(v.high, 3), v.measure, v.dates, v.between)
        for v in values_of(text, language)
    ]


def sure(text: str, language: str) -> list[Value]:
    return [value for value in values_of(text, language) if not value.weak]


@each_row("multilingual/numerals/values_mean_what_they_mean_in_english")
def test_values_mean_what_they_mean_in_english(language: str, text: str, english: str) -> None:
    assert meaning(text, language) == meaning(english)
    assert len(sure(text, language)) == len(sure(english, "en")), "none is unsure"


@each_row("multilingual/numerals/an_uncertain_number_is_none")
def test_an_uncertain_number_is_none(language: str, text: str) -> None:
    assert sure(text, language) == []


def test_a_number_read_in_two_ways_states_both() -> None:
    for count in ("1,234", "1.234"):
        assert not quantities.unstated_values(f"It has {count} parts.", "1,234 Teile", ("en", "de"))


@each_row("multilingual/numerals/values_are_compared_across_languages")
def test_values_are_compared_across_languages(
    claim: str, source: str, languages: tuple[str, str]
) -> None:
    assert quantities.unstated_values(claim, source, languages) == ()
    (first, *_) = quantities.unstated_values(claim, "", languages)
    assert first.span.of(claim) in claim


def test_spans_are_those_of_the_original() -> None:
    text = "Am 12. März 2019 kamen rund 3,5 Millionen (5,4 %)."
    found = [value.span.of(text) for value in values_of(text, "de")]
    assert found == ["12. März 2019", "3,5 Millionen", "5,4 %"]


def test_another_value_in_the_same_language_contradicts() -> None:
    claim = Claim.alone("El puente largo abrió al tráfico en 1911.")
    found = contradiction(claim, Passage.alone("El puente largo abrió al tráfico en 1913."))
    assert found
    assert (found.claim, found.source) == ("1911", "1913")


@given(IN_ALL, st.integers(2, 10**9) | st.integers(11, 10**7).map(lambda n: n / 10))
def test_formatted_numbers_are_read(language: str, number: float) -> None:
    written = format_decimal(number, locale=language)
    assert meaning(f"({written})", language) == meaning(f"({format_decimal(number, locale='en')})")
    assert sure(f"({written})", language)


@given(IN_ALL, st.dates(date(1000, 1, 1), date(2100, 1, 1)), st.sampled_from(["long", "d MMM y"]))
def test_formatted_dates_are_read(language: str, day: date, form: str) -> None:
    form = form if language in EUROPEAN else "long"
    written = format_date(day, form, locale=language)
    assert meaning(f"({written})", language) == meaning(f"({day.day} {day:%B %Y})")


@given(IN_ALL, st.integers(3, 900), st.sampled_from(UNITS))
def test_formatted_measures_are_read(language: str, number: int, unit: str) -> None:
    written = format_unit(number, unit, "long", locale=language)
    if unit not in written and not written.startswith(("時速", "每小时")):  # "at 50 km an hour"
        english = format_unit(number, unit, "long", locale="en_GB")
        assert meaning(f"({written})", language) == meaning(f"({english})")


@given(st.sampled_from(EUROPEAN), st.integers(11, 9999).map(lambda n: n * 10**5))
def test_formatted_scales_are_read(language: str, number: int) -> None:
    written, english = (
        format_compact_decimal(number, format_type="long", locale=locale, fraction_digits=1)
        for locale in (language, "en")
    )
    assert meaning(f"({written})", language) == meaning(f"({english})")


@given(IN_ALL, st.integers(1, 999))
def test_formatted_shares_are_read(language: str, permille: int) -> None:
    written = format_percent(permille / 1000, locale=language, decimal_quantization=False)
    assert meaning(f"({written})", language) == meaning(f"({permille / 10:g} %)")


@given(IN_ALL, st.text(max_size=200))
def test_any_text_states_its_own_values(language: str, text: str) -> None:
    assert quantities.unstated_values(text, text, (language, language)) == ()
    pieces = in_english(text, language).pieces
    assert "".join(piece.original.of(text) for piece in pieces) == text


@each_row("multilingual/numerals/figures_are_shared_across_languages")
def test_figures_are_shared_across_languages(claim: str, sentence: str) -> None:
    page = f"{'同社は工場を持つ。' if '会' in sentence else 'Nada. '}{sentence}"
    assert words.overlap(claim, sentence) >= 2.0
    assert words.best_quote(claim, page) is not None


def test_a_value_of_another_language_is_missing_where_its_source_has_none() -> None:
    passage = Passage("d1", "https://varde.example/", "Line", "It was 1,230 m long.", Span(0, 20))
    found = unstated_atoms("Die Bahn fuhr 1.240 m bergauf.", [passage], "de")
    assert [part.words for part in found] == ["1.240 m"]
