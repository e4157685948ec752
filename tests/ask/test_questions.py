"""What a question asks for, and whether a sentence states it, or has its words."""

import pytest
from support.rows import each_row

from pincite.types import Document
from pincite.verbs.ask.questions import (
    detail,
    parts_of,
    reader,
    subject,
    unanswered_terms,
    wanted_number,
)

READ = (
    "Migraines of women were treated by therapists. Hypertensive patients had high low-density "
    "lipoprotein. Diagnoses of child abuse rose. The trial was stopped in Varde."
)


@each_row("ask/questions/question_words_and_inflected_forms_are_not_absent")
def test_question_words_and_inflected_forms_are_not_absent(question: str) -> None:
    assert unanswered_terms(question, READ) == []


def test_absent_terms_are_listed_as_written() -> None:
    found = unanswered_terms("Does vaccination of Danish women prevent Measles or measles?", READ)
    assert found == ["vaccination", "Danish", "Measles", "measles"]
    assert unanswered_terms("Do migrants have mentors?", READ) == ["migrants", "mentors"]


@each_row("ask/questions/a_number_is_found_in_its_sentence")
def test_a_number_is_found_in_its_sentence(question: str, sentence: int | None) -> None:
    texts = ["We randomised 240 patients.", "Falls were rarer (HR 0.7, 95% CI 0.5 to 0.9)."]
    number = wanted_number(question)
    found = [n for n, text in enumerate(texts) if number and number.is_in(text)]
    assert found == ([] if sentence is None else [sentence])


@each_row("ask/questions/a_figure_or_a_reason_is_found_in_its_sentence")
def test_a_figure_or_a_reason_is_found_in_its_sentence(question: str, sentence: int | None) -> None:
    texts = ["It fell by 9 euros.", "It fell because demand rose.", "Half of the homes were lost."]
    holds = detail(question)
    found = [n for n, text in enumerate(texts) if holds and holds(text)]
    assert found == ([] if sentence is None else [sentence])


@each_row("ask/questions/a_question_is_split_before_another_one")
def test_a_question_is_split_before_another_one(question: str, parts: list[str]) -> None:
    assert parts_of(question) == parts


def test_spellings_short_names_of_species_and_words_that_ask_are_not_absent() -> None:
    source = "Diarrhea, edema, hemorrhage and tumors were randomized in an etiology."
    asked = "Does diarrhoea, oedema, haemorrhage, tumours, randomisation or aetiology matter?"
    assert unanswered_terms(asked, source) == []
    assert unanswered_terms("Does Lactovia reuteri help?", "We gave L. reuteri.") == []
    assert unanswered_terms("How long does colic last, and does it slowly increase?", "colic") == []


@each_row("ask/stance/sides")
def test_sides(sentence: str, expected: bool | None) -> None:
    assert reader("Does vitamin D prevent falls?")(sentence) is expected


@pytest.mark.parametrize(
    "question", ["How many women fell?", "Is vitamin D or calcium better against falls?"]
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
