"""Who speaks in a quote. The quote stands between two `*`."""

from support.rows import each_row

from pincite.types import Span
from pincite.verbs.check.speakers import Occasion, alone, speaker_in

OIL = "Tarn poured oil into the river"
READING = f"{OIL}."


def speaker(text: str, reading: str = READING) -> str:
    start, end = text.index("*"), text.rindex("*") - 1
    return speaker_in(reading, text.replace("*", ""), Span(start, end))


@each_row("check/speakers/ascribed_words_have_a_speaker")
def test_ascribed_words_have_a_speaker(text: str, name: str) -> None:
    assert speaker(text) == name


def test_capitals_are_read_and_an_office_is_no_pattern() -> None:
    assert alone("WE'RE closing it.", Occasion())[0] == "WE are closing it."
    assert alone("Our mill froze.", Occasion("Ada Holm, leader of Varde Council (Lab"))[1] == ()


@each_row("check/speakers/what_a_document_states_has_no_speaker")
def test_what_a_document_states_has_no_speaker(text: str) -> None:
    assert speaker(text) == ""


def test_what_a_reading_says_of_the_speaker_is_not_only_according_to_him() -> None:
    text = "*“It is a disgrace,” said Ada Holm, who chairs the club.*"
    assert speaker(text, "Ada Holm called the ferry a disgrace.") == ""
    assert speaker(text, "The ferry is a disgrace.") == "Ada Holm, who chairs the club"
    assert speaker(text, "Per Berg called the ferry a disgrace.")
