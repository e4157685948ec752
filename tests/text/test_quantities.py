"""Values and names as people read them: the pairs in tests/cases/values, and what always holds."""

import json
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from support.rows import each_row

import gate_values
from pincite.text import names, quantities
from pincite.text.quantities import unstated_values
from pincite.text.quantities import values as values_of

PAIRS = Path(__file__).parents[1] / "cases/values/pairs-open.jsonl"
FLOOR = 0.95  # of the open half, on which the rules were written; the sealed half is measured apart


@pytest.mark.parametrize("equal", [True, False])
def test_most_pairs_are_classified_correctly(equal: bool) -> None:
    rows = map(json.loads, PAIRS.read_text(encoding="utf-8").splitlines())
    pairs = [(row["claim"], row["value"], row["source"]) for row in rows if row["equal"] is equal]
    assert len(pairs) == 100
    assert sum(gate_values.says_same(*pair) is equal for pair in pairs) >= FLOOR * len(pairs)


NUMBERS = st.one_of(
    st.integers(2, 10**9).map(lambda n: f"{n:,}"),
    st.integers(11, 9999).map(lambda n: f"{n / 10:.1f} million"),
    st.integers(1, 99).map(lambda n: f"{n} %"),
    st.integers(2, 900).map(lambda n: f"{n} km"),
    st.dates().map(lambda d: f"{d.day} {d:%B} {max(1000, d.year)}"),
    st.integers(1000, 2099).map(str),
)


@given(NUMBERS)
@example("119,750,400")  # what its zeros may hide is less than a millionth of it
def test_a_value_states_itself(words: str) -> None:
    text = f"The council counted {words} in all."
    assert len(values_of(text)) == 1
    assert quantities.unstated_values(text, f"In all, so they say, there were {words}.") == ()


@given(NUMBERS, NUMBERS)
def test_a_stated_value_is_not_a_conflict(one: str, other: str) -> None:
    (a,), (b,) = values_of(f"There were {one}."), values_of(f"There were {other}.")
    assert not (quantities.states(a, b) and quantities.conflict(a, b))


@given(st.text(max_size=200))
def test_any_text_has_values_in_order_that_do_not_overlap(text: str) -> None:
    found = [value for value in values_of(text) if not value.weak]
    assert [value.span for value in found] == sorted(value.span for value in found)
    assert all(a.span.end <= b.span.start for a, b in pairwise(found))
    assert quantities.unstated_values(text, text) == ()
    assert names.missing(text, text) == []


@each_row("text/quantities/values_in_other_forms")
def test_values_in_other_forms(claim: str, source: str) -> None:
    assert quantities.unstated_values(claim, source) == ()


@each_row("text/quantities/other_values_are_not_stated")
def test_other_values_are_not_stated(claim: str, source: str) -> None:
    assert len(quantities.unstated_values(claim, source)) == 1


@pytest.mark.parametrize("text", ["Apollo 11 flew.", "He flew the X-15.", "They took Route 66."])
def test_numbers_in_names_are_not_values(text: str) -> None:
    assert values_of(text) == ()


@each_row("text/quantities/names_in_other_forms")
def test_names_in_other_forms(claim: str, source: str, missing: list[str]) -> None:
    assert names.missing(claim, source) == missing


@pytest.mark.parametrize("unit", ["1,", "half a ", "Ab ", "the 1 January "])
def test_hostile_texts_take_linear_time(unit: str) -> None:
    text = (unit * 50_000)[:50_000]
    started = time.process_time()
    quantities.unstated_values(text[:5_000], text)
    names.missing(text[:5_000], text)
    assert time.process_time() - started < 10


@given(
    number=st.integers(100_000, 99_000_000),
    digits=st.integers(2, 4),
    hedge=st.sampled_from(["about", "some", "roughly", "approximately", "around"]),
)
def test_about_reaches_to_the_next_number_of_as_many_digits(
    number: int, digits: int, hedge: str
) -> None:
    unit = 10 ** (len(str(number)) - digits)
    rounded = round(number / unit) * unit
    assume(rounded // unit % 10)  # another last digit would be a coarser one

    def is_stated(claimed: int) -> bool:
        claim = f"{hedge} {claimed:,} inhabitants"
        return unstated_values(claim, f"{number:,} inhabitants", ("en", "en")) == ()

    assert is_stated(rounded)
    for beyond in (rounded + 3 * unit, rounded - 3 * unit):
        if beyond // unit % 10:
            assert not is_stated(beyond)


@each_row("text/quantities/vague_numbers_eras_and_calendars")
def test_vague_numbers_eras_and_calendars(claim: str, source: str, stated: bool) -> None:
    assert (unstated_values(claim, source, ("en", "en")) == ()) is stated
    assert names.missing(claim, source) == []
