"""Which lines of a passage a report shows."""

import pytest

from pincite.types import Span
from pincite.verbs.verify.render import MAX_SHOWN, excerpt, in_menu

MENU = "Skip to content\nHarbour\nSwing bridge shut for greasing\nCrab pots taken\nSport\nWeather"
TEXT = "The mill opened in 1911. It burned in 1952. Nobody was hurt."


def span_of(text: str, quote: str) -> Span:
    start = text.index(quote)
    return Span(start, start + len(quote))


def test_what_is_shown_is_verbatim_and_in_order() -> None:
    text = f"{MENU}\n\n{TEXT}\n{MENU}"
    found = excerpt(text, span_of(text, "It burned in 1952."))
    assert found is not None
    assert f"{found.head}{found.quote}{found.tail}" == TEXT
    assert not found.whole


def test_a_passage_that_is_shown_whole_says_so() -> None:
    found = excerpt(TEXT, span_of(TEXT, "It burned in 1952."))
    assert found is not None
    assert found.whole


@pytest.mark.parametrize("n_words", [3, 40, 400])
def test_the_lines_around_a_quote_are_few(n_words: int) -> None:
    sentence = f"It {'burned ' * n_words}in 1952."
    text = " ".join([*["The tall mill stood on the hill."] * 60, sentence, *[TEXT] * 60])
    found = excerpt(text, span_of(text, sentence))
    assert found is not None
    assert found.quote == sentence
    shown = len(found.head) + len(found.quote) + len(found.tail)
    assert shown <= max(MAX_SHOWN, len(sentence) + len("The tall mill stood on the hill. ") * 4)


def test_a_line_of_a_menu_is_no_quote() -> None:
    headline = span_of(MENU, "Swing bridge shut for greasing")
    assert in_menu(MENU, headline)
    assert excerpt(MENU, headline) is None


def test_a_heading_over_its_text_is_no_menu() -> None:
    text = f"Home\nNews\n{TEXT}\nThe mill today\nIt stands empty. Its sails are gone.\nMore"
    assert not in_menu(text, span_of(text, "The mill today"))


def test_rows_of_a_table_are_no_menu() -> None:
    rows = "Town | 2011 | 2021\nVarde | 4,587 | 4,212\nHolm | 611 | 640\nIto | 902 | 877"
    assert not in_menu(rows, span_of(rows, "Varde | 4,587 | 4,212"))


def test_half_an_abbreviation_is_not_shown() -> None:
    text = "Doto vardensis sp. nov. The description rests on 14 animals. They were dived for."
    found = excerpt(text, span_of(text, "The description rests on 14 animals."))
    assert found is not None
    assert not found.head.startswith("nov.")


def test_no_quote_is_no_excerpt() -> None:
    assert excerpt(TEXT, None) is None
