"""Words of a question that nothing read has."""

from support.rows import each_row

from pincite.verbs.ask.questions import detail, parts_of, unanswered_terms, wanted_number

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


def test_british_and_american_spellings_are_one_word() -> None:
    source = "Diarrhea, edema, hemorrhage and tumors were randomized in an etiology."
    asked = "Does diarrhoea, oedema, haemorrhage, tumours, randomisation or aetiology matter?"
    assert unanswered_terms(asked, source) == []


def test_adverbs_and_verbs_for_what_is_asked_are_no_terms() -> None:
    assert unanswered_terms("How long does colic last, and does it slowly increase?", "colic") == []


def test_a_paper_may_shorten_the_name_of_a_species() -> None:
    assert unanswered_terms("Does Lactovia reuteri help?", "We gave L. reuteri.") == []
