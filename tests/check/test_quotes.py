"""Which sentences may be quoted for a reading, and who says them."""

import pytest
from support.rows import each_row

from pincite.judgement.confirmation import from_answers
from pincite.types import Passage, Span
from pincite.verbs.check import quotes

ALONE = [
    ("The council closed the mill.", True),
    ("The council has never closed the mill.", False),
    ("It is a myth that the council closed the mill.", False),
    ("The council closed the mill as originally proposed.", True),
    ("Holm alleged that the council closed the mill.", False),
    ("The motion to close the mill was lost in the council.", False),
    ("Did the council close the mill?", False),
]


@pytest.mark.parametrize(("sentence", "is_read"), ALONE)
def test_what_is_denied_or_only_proposed_confirms_nothing(sentence: str, is_read: bool) -> None:
    text = f"Rain fell on Varde. {sentence} Holm wrote it down."
    spans = quotes.candidate_sentences("The council closed the mill.", Passage.alone(text))
    assert (sentence in [span.of(text) for span in spans]) is is_read


@each_row("check/quotes/only_what_asserts_the_same_confirms")
def test_only_what_asserts_the_same_confirms(reading: str, sentence: str, is_read: bool) -> None:
    assert bool(quotes.candidate_sentences(reading, Passage.alone(sentence))) is is_read


def test_sentences_whose_figures_agree_confirm_together() -> None:
    text = "It rained. The club has 640 members. In 2020 it had 320. Holm wrote it down."
    both = "The club has 640 members. In 2020 it had 320."
    for reading, is_read in (("The club has doubled.", True), ("The club has tripled.", False)):
        spans = quotes.candidate_sentences(reading, Passage.alone(text))
        assert (both in [span.of(text) for span in spans]) is is_read


@pytest.mark.parametrize("denial", ["That is not true.", "False: the owner did."])
def test_a_sentence_that_its_neighbour_denies_confirms_nothing(denial: str) -> None:
    text = f"The council closed the mill. {denial}"
    spans = quotes.candidate_sentences("The council closed it.", Passage.alone(text))
    assert "The council closed the mill." not in [span.of(text) for span in spans]


def test_a_reading_may_be_of_a_proposal() -> None:
    text = "A proposed tunnel would cross the sound."
    reading = "It was proposed that a tunnel would cross the sound."
    assert quotes.candidate_sentences(reading, Passage.alone(text)) == [Span(0, len(text))]


def test_neighbours_are_no_headings_or_bylines() -> None:
    text = "By Una Speke\nThe mill burnt.\n\nIt rained in Varde. The mill was old."
    found = quotes.neighbours("The mill burnt in Varde.", Passage.alone(text))
    assert [span.of(text) for span in found] == ["It rained in Varde. The mill was old."]


@each_row("check/quotes/a_bare_name_or_heading_is_no_quote")
def test_a_bare_name_or_heading_is_no_quote(text: str, quote: str, shown: str) -> None:
    evidence = from_answers(Passage.alone(text), 0.9, 0.0, Span(0, len(quote)))
    found = quotes.with_sentence_quoted("The court dismissed a claim.", evidence)
    assert found.quoted == shown


# ── Who says it ──────────────────────────────────────────────────────────────────────────────────

READING = "Tarn poured oil into the river."


def speaker(text: str, reading: str = READING) -> str:
    """Return who says the words between two `*`."""
    start, end = text.index("*"), text.rindex("*") - 1
    return quotes.speaker_in(reading, text.replace("*", ""), Span(start, end))


@each_row("check/speakers/ascribed_words_have_a_speaker")
def test_ascribed_words_have_a_speaker(text: str, name: str) -> None:
    assert speaker(text) == name


@each_row("check/speakers/what_a_document_states_has_no_speaker")
def test_what_a_document_states_has_no_speaker(text: str) -> None:
    assert speaker(text) == ""


def test_what_a_reading_says_of_the_speaker_is_not_only_according_to_him() -> None:
    text = "*“It is a disgrace,” said Ada Holm, who chairs the club.*"
    assert speaker(text, "Ada Holm called the ferry a disgrace.") == ""
    assert speaker(text, "The ferry is a disgrace.") == "Ada Holm, who chairs the club"
    assert speaker(text, "Per Berg called the ferry a disgrace.")
