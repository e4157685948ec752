"""Numbers, dates and measures of ten languages mean what they mean in English."""

from datetime import date

import pytest
from babel.dates import format_date
from babel.numbers import format_compact_decimal, format_decimal, format_percent
from babel.units import format_unit
from hypothesis import given
from hypothesis import strategies as st

from pincite.judgement.aggregation import missing_atoms
from pincite.judgement.contradictions import contradiction
from pincite.text import quantities, words
from pincite.text.quantities import Value
from pincite.text.quantities import values as values_of
from pincite.types import Passage, Span
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


@pytest.mark.parametrize(
    ("language", "text", "english"),
    [
        ("de", "3,5 Millionen", "3.5 million"),
        ("de", "1.234.567", "1,234,567"),
        ("de", "12. März 2019", "12 March 2019"),
        ("de", "am 26.4. um 17:30 Uhr", "26 April, 17:30"),
        ("de", "im 19. Jahrhundert, 300 v. Chr.", "19th century, 300"),
        ("de", "zweiundzwanzig, zehntausend, zweihundertfünfzig", "22, 10,000, 250"),
        ("de", "rund 120 Mio. Euro", "about 120 million euros"),
        ("de", "zwischen 70 und 90 Metern", "between 70 and 90 metres"),
        ("de", "zwei Drittel, ein Viertel, fast die Hälfte", "2 thirds, a quarter, nearly half"),
        ("de", "in den 1990er-Jahren", "the 1990s"),
        ("fr", "le 3 mai 1998, le 1er juin", "3 May 1998, 1 June"),
        ("fr", "le ١٢ mai ٢٠١٩, ３,５ %", "12 May 2019, 3.5 %"),
        ("fr", "1 234 567 au XIXe siècle", "1,234,567, 19th century"),
        ("fr", "quatre-vingt-dix-sept, vingt et un", "97, 21"),
        ("fr", "plus de 3,5 millions d’euros", "over 3.5 million euros"),
        ("fr", "dix à vingt pour cent", "10 to 20 %"),
        ("es", "3 de mayo de 1998, siglo XIX", "3 May 1998, 19th century"),
        ("es", "25 mil millones de dólares", "25 billion dollars"),
        ("es", "treinta y dos, dos mil trescientos", "32, 2,300"),
        ("es", "nueve de cada diez", "9 out of 10"),
        ("it", "il 3 maggio 1998, XIX secolo", "3 May 1998, 19th century"),
        ("it", "ventidue, duecento, 1.234,5", "22, 200, 1,234.5"),
        ("it", "tra il 5 e il 10 per cento", "between 5 and 10 %"),
        ("pt", "3 de maio de 1998, século XIX", "3 May 1998, 19th century"),
        ("pt", "trinta e dois, 2,5 milhões", "32, 2.5 million"),
        ("nl", "3 mei 1998, de negentiende eeuw", "3 May 1998, 19th century"),
        ("nl", "tweeëntwintig, 17.30 uur", "22, 17:30"),
        ("pl", "12 maja 2019 r., XIX wiek", "12 May 2019, 19th century"),
        ("pl", "trzydzieści dwa, około 3,5 mln, w 1912 roku", "32, about 3.5 million, 1912"),
        ("ru", "двенадцать процентов", "12 %"),
        ("ru", "12 мая 2019 года, XIX век до н. э.", "12 May 2019, 19th century BC"),
        ("ru", "от 10 до 20 тысяч человек", "from 10 thousand to 20 thousand people"),
        ("ru", "в 1990-х годах двадцать пять лет", "1990s, 25 years"),
        ("ja", "2019年5月12日、令和元年、昭和20年8月", "12 May 2019, 2019, August 1945"),
        ("ja", "１２０万、1億2000万", "1.2 million, 120 million"),
        ("ja", "午後5時30分に300人以上", "17:30, over 300"),
        ("ja", "5人に1人、3割、3分の2", "1 in 5, 30 %, 2 thirds"),
        ("zh", "2019年5月12日，约三百万人", "12 May 2019, about 3 million"),
        ("zh", "百分之十二，一千五百人，两个月", "12 %, 1,500, 2 months"),
        ("zh", "二十世纪90年代，十九世纪，一百多年", "the 1990s, 19th century, over 100 years"),
        ("zh", "2022年夏天，不到三十人", "summer 2022, less than 30"),
    ],
)
def test_values_mean_what_they_mean_in_english(language: str, text: str, english: str) -> None:
    assert meaning(text, language) == meaning(english)
    assert len(sure(text, language)) == len(sure(english, "en")), "none is unsure"


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "1,234 kamen"),  # 1.234, or 1,234 as in English
        ("ru", "1.234 человека"),
        ("de", "die Achtung, ein Zweifel, das Dreieck"),
        ("fr", "un pont neuf"),  # a new bridge
        ("it", "Otto Sei, un trentino"),
        ("de", "Apollo 11, E5, Covid-19"),
        ("es", "un año, la cuarta vez"),  # "a year" is none in English either
        ("pl", "w latach 90."),  # of which century?
        ("ja", "一般の三菱、千葉、mRNA-12、12日"),
        ("zh", "凯尔特十字架，万一，一次"),
        ("sv", "Den 3 maj 1998 kom 1 234 567."),  # not read
    ],
)
def test_an_uncertain_number_is_none(language: str, text: str) -> None:
    assert sure(text, language) == []


def test_a_number_read_in_two_ways_states_both() -> None:
    for number in ("1,234", "1.234"):
        assert not quantities.unstated(f"It has {number} parts.", "1,234 Teile", ("en", "de"))


@pytest.mark.parametrize(
    ("claim", "source", "languages"),
    [
        ("It opened on 12 May 2019.", "Открыт 12 мая 2019 года.", ("en", "ru")),
        ("It drew about 3 million people.", "約三百万人が来た。", ("en", "ja")),
        ("Il a coûté 3,5 millions d’euros.", "Es kostete 3,5 Mio. €.", ("fr", "de")),
        ("Es ist 16 Kilometer lang.", "It is 10 miles long.", ("de", "en")),
        ("Two thirds of them left.", "三分之二的人离开了。", ("en", "zh")),
        ("Ventidue persone, nel XIX secolo", "22 people in 1850", ("it", "en")),
    ],
)
def test_values_are_compared_across_languages(
    claim: str, source: str, languages: tuple[str, str]
) -> None:
    assert quantities.unstated(claim, source, languages) == ()
    (first, *_) = quantities.unstated(claim, "", languages)
    assert first.span.of(claim) in claim


def test_spans_are_those_of_the_original() -> None:
    text = "Am 12. März 2019 kamen rund 3,5 Millionen (5,4 %)."
    found = [value.span.of(text) for value in values_of(text, "de")]
    assert found == ["12. März 2019", "3,5 Millionen", "5,4 %"]


def test_another_value_in_the_same_language_contradicts() -> None:
    source = "El puente largo abrió al tráfico en 1913."
    found = contradiction("El puente largo abrió al tráfico en 1911.", source)
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
    assert quantities.unstated(text, text, (language, language)) == ()
    pieces = in_english(text, language).pieces
    assert "".join(span.of(text) for span, _ in pieces) == text


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("It was founded in 1912.", "会社は1912年に設立された。"),
        ("It opened in May 1904.", "Eröffnet wurde sie im Mai 1904."),
        ("It has 4,250 members.", "Él tiene 4.250 socios desde entonces."),
        ("Es hat seit jeher 4.250 Mitglieder und einen Hof.", "It has 4,250 members."),
    ],
)
def test_figures_are_shared_across_languages(claim: str, sentence: str) -> None:
    page = f"{'同社は工場を持つ。' if '会' in sentence else 'Nada. '}{sentence}"
    assert words.shared(claim, sentence) >= 2.0
    assert words.best_quote(claim, page) is not None


def test_a_value_of_another_language_is_missing_where_its_source_has_none() -> None:
    passage = Passage("d1", "https://varde.example/", "Line", "It was 1,230 m long.", Span(0, 20))
    found = missing_atoms("Die Bahn fuhr 1.240 m bergauf.", [passage], "de")
    assert [part.words for part in found] == ["1.240 m"]
