"""Claims in a source's own words: what rules read as equal is written alike, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row

from pincite.text import names, quantities
from pincite.text.paraphrase import in_source_words, with_derived_values, without_questions


@each_row("text/paraphrase/the_same_in_other_words_is_written_alike")
def test_the_same_in_other_words_is_written_alike(claim: str, source: str, expected: str) -> None:
    assert in_source_words(source, claim) == expected


@each_row("text/paraphrase/another_value_or_name_stays_as_it_is")
def test_another_value_or_name_stays_as_it_is(claim: str, source: str) -> None:
    assert in_source_words(source, claim) == claim


@given(st.text(max_size=120), st.text(max_size=300))
def test_any_texts(claim: str, source: str) -> None:
    found = in_source_words(source, claim)
    assert in_source_words(claim, claim) == claim
    assert found == claim or quantities.values(source) or names.written_otherwise(claim, source)


@each_row("text/paraphrase/questions_are_dropped")
def test_questions_are_dropped(asking: str) -> None:
    said = "Tea had no effect on the pressure."
    assert without_questions(f"{asking} {said}", "Tea lowers the pressure.") == said
    assert without_questions(asking, "Tea lowers the pressure.") == asking  # something must be read


@each_row("text/paraphrase/assertions_are_kept")
def test_assertions_are_kept(said: str) -> None:
    text = f"{said} It rained."
    assert without_questions(text, "Tea lowers the pressure.") == text


def test_a_claim_about_a_question_is_compared_with_questions() -> None:
    text = "The trial examined whether tea lowers the pressure. It ended in 2019."
    assert without_questions(text, "A trial tested whether tea lowers the pressure.") == text


@pytest.mark.parametrize("unit", ["A", "-'", "whether ", "OBJECTIVE "])
def test_hostile_sentences_take_linear_time(unit: str) -> None:
    text = unit * 40_000  # quadratic time would take minutes
    assert without_questions(text, "Tea.") in (text, text.strip())


@each_row("text/paraphrase/what_follows_from_figures_is_added")
def test_what_follows_from_figures_is_added(claim: str, passage: str, added: str) -> None:
    found = with_derived_values(passage, claim)
    assert added in found
    assert (found == passage) is (not added)
