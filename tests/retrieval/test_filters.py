import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row

from pincite.errors import ConfigError
from pincite.retrieval.filters import Condition, Facts, Filters, condition


def facts(published: str | None = None, url: str = "https://www.a.example/x", **meta: str) -> Facts:
    return Facts(url, "T", "html", published, "en", meta)


def test_nothing_asked_accepts_everything() -> None:
    assert not Filters()
    assert not Filters(undated=True)
    assert Filters().accepts(Facts("", "", "", None, None, {}))


@each_row("retrieval/filters/dates_to_the_precision_that_both_have")
def test_dates_to_the_precision_that_both_have(
    published: str, first: str, last: str, accepted: bool
) -> None:
    assert Filters(published_from=first, published_to=last).accepts(facts(published)) is accepted


@given(st.dates(), st.dates(), st.dates())
def test_whole_dates_as_the_calendar_says(day: object, first: object, last: object) -> None:
    if str(first) > str(last):
        first, last = last, first
    if str(first) >= "1000":
        filters = Filters(published_from=str(first), published_to=str(last))
        assert filters.accepts(facts(str(day))) == (str(first) <= str(day) <= str(last))


@pytest.mark.parametrize("published", [None, "", "in May", "14.5.2019"])
def test_without_a_date_only_if_asked(published: str | None) -> None:
    assert not Filters(published_from="2000").accepts(facts(published))
    assert Filters(published_from="2000", undated=True).accepts(facts(published))
    assert Filters(kinds=("html",)).accepts(facts(published))


def test_sites_with_all_below_them() -> None:
    only = Filters(domains=("A.example.", "https://b.example/page"))
    assert only.domains == ("a.example", "b.example")
    assert only.accepts(facts())
    assert only.accepts(facts(url="https://b.example:8080/"))
    assert not only.accepts(facts(url="https://nota.example/"))
    assert not only.accepts(facts(url="no address"))
    assert not Filters(not_domains=("example",)).accepts(facts())
    assert Filters(not_domains=("other.example",)).accepts(facts(url="no address"))


def test_languages_and_kinds() -> None:
    assert Filters(languages=("EN",), kinds=("pdf", "HTML")).accepts(facts())
    assert not Filters(languages=("de",)).accepts(facts())
    assert Filters(languages=("en",)).accepts(facts()._replace(language="en-GB"))
    assert not Filters(languages=("en",)).accepts(facts()._replace(language=None))
    assert not Filters(kinds=("pdf",)).accepts(facts())


@each_row("retrieval/filters/conditions")
def test_a_condition_holds_or_not(text: str, holds: bool) -> None:
    found = facts("2019-05-14", section="news", pages="12")
    assert condition(text).holds(found) is holds
    assert Filters(where=(condition(text),)).accepts(found) is holds


def test_a_condition_as_it_is_read() -> None:
    assert condition(" a.b <= x == y ") == Condition("a.b", "<=", ("x == y",))


@pytest.mark.parametrize("text", ["", "a", "a ==", "== b", "a ~ b", "a b == c"])
def test_what_is_no_condition_says_what_is(text: str) -> None:
    with pytest.raises(ConfigError, match="FIELD COMPARISON VALUE"):
        condition(text)


@pytest.mark.parametrize("date", ["19", "2019-13", "2019-5", "yesterday", "2019-05-32", "2019-"])
def test_what_is_no_date(date: str) -> None:
    with pytest.raises(ConfigError, match="2019-05-14, 2019-05 or 2019"):
        Filters(published_to=date)


def test_a_range_that_holds_nothing() -> None:
    with pytest.raises(ConfigError, match="no dates in between"):
        Filters(published_from="2020-02", published_to="2020-01-31")
    assert Filters(published_from="2020-02-05", published_to="2020-02")


@each_row("retrieval/filters/one_of_several_values")
def test_one_of_several_values(text: str, holds: bool) -> None:
    meta = {"mesh": "Sleep; Humans; Diabetes Mellitus, Type 2", "years": "2018; 2019"}
    found = Facts("https://a.example/", "T; U", "pubmed", None, "en", meta)
    assert condition(text).holds(found) is holds


@each_row("retrieval/filters/values_in_quotes")
def test_values_in_quotes(text: str, values: tuple[str, ...]) -> None:
    assert condition(text).values == values


def test_a_long_list_of_ids_is_looked_up() -> None:
    wanted = condition("pmid in " + ", ".join(map(str, range(50_000))))
    assert wanted == condition("pmid in " + ", ".join(map(str, range(50_000))))
    ids = [facts(None, pmid=str(n)) for n in range(0, 100_000, 10)]
    assert sum(map(wanted.holds, ids)) == 5_000
