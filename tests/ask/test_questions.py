"""Words of a question that nothing read has."""

import pytest

from pincite.verbs.ask.questions import unanswered_terms

READ = (
    "Migraines of women were treated by therapists. Hypertensive patients had high low-density "
    "lipoprotein. Diagnoses of child abuse rose. The trial was stopped in Varde."
)


@pytest.mark.parametrize(
    "question",
    [
        "List therapies for migraine in a woman.",
        "Describe the role of hypertension in women's migraine.",
        "What effect does treating have on children with a diagnosis?",
        "Name the differences between trials that stop.",
        "Is LDL associated with migraines?",
    ],
)
def test_question_words_and_inflected_forms_are_not_absent(question: str) -> None:
    assert unanswered_terms(question, READ) == []


def test_absent_terms_are_listed_as_written() -> None:
    found = unanswered_terms("Does vaccination of Danish women prevent Measles or measles?", READ)
    assert found == ["vaccination", "Danish", "prevent", "Measles", "measles"]
    assert unanswered_terms("Do migrants have mentors?", READ) == ["migrants", "mentors"]
