"""Claims in a source's own words: what rules read as equal is written alike, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.text import names, quantities
from pincite.text.paraphrase import in_source_words, with_derived_values, without_questions


@pytest.mark.parametrize(
    ("claim", "source", "expected"),
    [
        ("It holds 77 °F.", "Keep it at 25 °C or below.", "It holds 25 °C."),
        ("It ran until 20/05/2024.", "It ended on 20 May 2024.", "It ran until 20 May 2024."),
        ("Some 1.18 million came.", "In all 1,183,505 came.", "Some 1,183,505 came."),
        ("Next, Dvorak spoke.", "Mr Dvořák spoke.", "Next, Dvořák spoke."),
        ("It is GBS.", "A case of Guillain-Barré syndrome.", "It is Guillain-Barré syndrome."),
        ("The World Health Organization left.", "The WHO stayed.", "The WHO left."),
        ("It fits GBS.", "ﬁrst ßa ﬁt Guillain-Barré syndrome", "It fits Guillain-Barré syndrome."),
        ("It took two weeks.", "It took a fortnight.", "It took two weeks."),  # "a" counts nothing
    ],
)
def test_the_same_in_other_words_is_written_alike(claim: str, source: str, expected: str) -> None:
    assert in_source_words(source, claim) == expected


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("It opened in 1886.", "It opened in 1889."),
        ("The fare rose by 14%.", "The fare rose by 13 percent."),
        ("It opened in 1886.", "Of 1,886 men it opened in 1886."),
        ("He met Hansen.", "He met Hanson."),
        ("It fell to 77 °F.", "It fell to 25 °F."),
        ("He saw the first film in one day.", "He saw one film first."),
        ("It causes GBS.", "Good. Bad. Small."),
    ],
)
def test_another_value_or_name_stays_as_it_is(claim: str, source: str) -> None:
    assert in_source_words(source, claim) == claim


@given(st.text(max_size=120), st.text(max_size=300))
def test_any_texts(claim: str, source: str) -> None:
    found = in_source_words(source, claim)
    assert in_source_words(claim, claim) == claim
    assert found == claim or quantities.values(source) or names.written_otherwise(claim, source)


@given(st.integers(3000, 10**6), st.sampled_from(["people", "boats", "trees"]))
def test_rewritten_values_are_stated(number: int, things: str) -> None:
    source = f"There were {number:,} {things} in all."
    claim = f"In all there were {number} {things}."
    assert f"{number:,}" in in_source_words(source, claim)


@pytest.mark.parametrize(
    "asking",
    [
        "OBJECTIVE To assess whether a daily cup of tea lowers the pressure.",
        "We hypothesized that tea lowers the pressure.",
        "The aim of the present study was to see what tea does.",
        "In this trial we tested the hypothesis that tea lowers the pressure.",
        "However, it is not known whether tea lowers the pressure.",
        "Whether tea lowers the pressure remains unclear.",
        "Does tea lower the pressure?",
    ],
)
def test_questions_are_dropped(asking: str) -> None:
    said = "Tea had no effect on the pressure."
    assert without_questions(f"{asking} {said}", "Tea lowers the pressure.") == said
    assert without_questions(asking, "Tea lowers the pressure.") == asking  # something must be read


@pytest.mark.parametrize(
    "said",
    [
        "The aim of the bridge was to shorten the way to Orrest.",
        "Tea is known to be safe if it is weak.",
        "The results support the hypothesis that tea lowers the pressure.",
        "In 31 of 40 who drank four cups a day the pressure fell, and we asked whether it stayed.",
        "Did you know that the bridge opened in 1911?",
        "The council voted on whether to close it.",
    ],
)
def test_assertions_are_kept(said: str) -> None:
    text = f"{said} It rained."
    assert without_questions(text, "Tea lowers the pressure.") == text


def test_a_claim_about_a_question_is_compared_with_questions() -> None:
    text = "The trial examined whether tea lowers the pressure. It ended in 2019."
    assert without_questions(text, "A trial tested whether tea lowers the pressure.") == text


@pytest.mark.parametrize("unit", ["A", "AAA ", "-'", "know ", "whether ", "OBJECTIVE ", "a- "])
def test_hostile_sentences_take_linear_time(unit: str) -> None:
    text = unit * 40_000  # quadratic time would take minutes
    assert without_questions(text, "Tea.") in (text, text.strip())


@pytest.mark.parametrize(
    ("claim", "passage", "added"),
    [
        ("A third of the boats sank.", "Of 96 boats, 32 sank.", "(a third)"),
        ("Sales tripled.", "Sales went from 1,200 to 3,600.", "(tripled)"),
        ("It passed by 5 votes to 2.", "Five were for it; Ada and Per voted against.", "5 votes"),
        ("A third of the boats sank.", "Of 96 boats, 40 sank.", ""),
        ("Sales tripled.", "Sales went from 1,200 to 2,400.", ""),
        ("Sales doubled.", "Sales went from 0 to 2,400.", ""),
        ("They voted 9–3 for it.", "Nine voted for it and four against.", ""),
        ("They voted 9–3 for it.", "The match ended 9–3.", ""),
    ],
)
def test_what_follows_from_figures_is_added(claim: str, passage: str, added: str) -> None:
    found = with_derived_values(passage, claim)
    assert added in found
    assert (found == passage) is (not added)
