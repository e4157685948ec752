"""Whether a sentence finds what a question asks."""

import pytest
from support.rows import each_row

from pincite.types import Document
from pincite.verbs.ask.questions import reader, subject

QUESTION = "Does vitamin D prevent falls?"


@each_row("ask/stance/sides")
def test_sides(sentence: str, expected: bool | None) -> None:
    assert reader(QUESTION)(sentence) is expected


@pytest.mark.parametrize(
    "question",
    ["How many women fell?", "Is vitamin D or calcium better against falls?", "Who discovered it?"],
)
def test_other_questions_have_no_sides(question: str) -> None:
    assert reader(question)("Vitamin D reduced falls.") is None


def test_low_limits_an_answer_only_where_it_rates_the_evidence() -> None:
    finds = reader("Does walking reduce back pain?")
    assert finds("Walking reduced chronic low back pain.") is True
    assert finds("Walking reduced back pain, but the certainty was low.") is None
    assert finds("Low quality evidence says that walking reduces back pain.") is None


def test_advice_and_other_outcomes_do_not_decide_a_side() -> None:
    finds = reader("Does vitamin D prevent falls compared with placebo?")
    assert finds("Vitamin D increased falls and should not be given to frail women.") is None
    assert finds("Vitamin D prevented falls and caused less pain.") is True
    assert finds("There was no evidence that calcium and vitamin D prevent falls.") is None


def test_a_conclusion_on_another_outcome_does_not_name_the_subject() -> None:
    asked = subject("Does regular tai chi practice improve sleep?")
    title = "Regular tai chi practice in Varde: sleep and pain"
    assert not asked.is_partly_named("Tai chi practice did not reduce pain.", title)
    assert asked.is_partly_named("Tai chi practice did not improve sleep.", title)


def test_a_study_of_another_comparator_is_not_compared() -> None:
    asked = subject("Does velorin reduce stroke compared with warfarin in older adults?")
    assert asked.comparator == "warfarin "
    assert asked.is_compared_in(Document("u", "Velorin or warfarin", "It was a trial."))
    assert not asked.is_compared_in(Document("u", "Velorin or apixaban", "It was a trial."))
