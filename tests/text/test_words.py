import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.text import words

CLAIM = "The bridge at Varde was designed by Ingrid Holm and opened in 1911."


def test_names_do_not_open_sentences_and_are_no_months() -> None:
    assert words.names("In May Ingrid Holm left. Then Varde fell.") == ("Ingrid", "Holm", "Varde")


def test_missing_names_forgive_endings() -> None:
    source = "Varde's crossing, by I. Holm"
    assert [n for n in words.names(CLAIM) if not words.is_named(n, source)] == ["Ingrid"]


def test_missing_words_is_a_share() -> None:
    assert words.missing_words("old stone bridge", "the bridges of stone, old") == 0
    assert words.missing_words("old stone bridge", "a ferry") == 1
    assert words.missing_words("", "a ferry") == 0


def test_best_sentence_prefers_figures_and_names() -> None:
    passage = (
        "A bridge was opened. In 1911 Holm's work was done. The bridge was designed and opened."
    )
    found = words.best_sentence(CLAIM, passage)
    assert found is not None
    assert found.of(passage) == "In 1911 Holm's work was done."


def test_no_sentence_if_nothing_is_shared() -> None:
    assert words.best_sentence(CLAIM, "Tomatoes ripen late. Water them.") is None
    assert words.best_sentence(CLAIM, "") is None


@given(st.text(max_size=80), st.text(max_size=200))
def test_a_quote_is_always_a_span_of_the_passage(claim: str, passage: str) -> None:
    found = words.best_sentence(claim, passage)
    assert found is None or found.of(passage).strip() == found.of(passage) != ""


def quote(claim: str, passage: str) -> str:
    found = words.best_quote(claim, passage)
    return found.of(passage) if found else ""


BODY = "The Skeld dam is a wall of concrete. It holds much water. The dam was completed in 1963."


def test_a_heading_is_no_quote() -> None:
    passage = f"The completed Skeld dam\n\n{BODY}"
    assert quote("The Skeld dam was completed.", passage) != "The completed Skeld dam"
    assert "heading" not in quote("The dam has a heading.", f"A dam with a heading\n\n{BODY}")
    assert quote("The Skeld dam is of concrete.", f"# The Skeld dam.\n{BODY}").startswith("The Sk")


def test_a_heading_is_not_joined_to_the_sentence_behind_it() -> None:
    passage = "Inspection of Skeld, 2019\n\nThe dam, completed in 1963, is sound."
    said = quote("The Skeld dam was completed in 1963 and inspected in 2019.", passage)
    assert said == "The dam, completed in 1963, is sound."


def test_rows_and_a_lone_line_may_be_quoted() -> None:
    table = "The dam is large.\n\nName: Skeld dam\nCompleted: 1963\nHeight: 41 m\n\nThe end."
    assert "Completed: 1963" in quote("The Skeld dam was completed in 1963.", table)
    assert quote("Skeld dam closed", "Skeld dam closed") == "Skeld dam closed"
    assert quote("Skeld dam", "The Skeld dam\n\nRain fell.") == "The Skeld dam"


def test_what_announces_a_list_is_no_quote() -> None:
    passage = "The members of the board of the dam are: Rain fell. Ingrid Holm leads the board."
    said = quote("Members of the board of the dam are led by Holm.", passage.replace(": ", ":\n"))
    assert said == "Ingrid Holm leads the board."


def test_the_quote_is_where_another_figure_stands() -> None:
    assert quote("The Skeld dam was completed in 1971.", BODY) == "The dam was completed in 1963."
    assert words.quoted_sentence("Tomatoes", BODY) is None


def test_the_quote_is_where_the_claim_s_own_year_stands() -> None:
    passage = "A dam above Skeld was planned. It rained. The wall was finished in 1963."
    assert quote("The Skeld dam was done in 1963.", passage) == "The wall was finished in 1963."


@given(st.text(max_size=80), st.text(alphabet="Ab. \n#1", max_size=120))
def test_every_quote_is_a_span_of_the_passage(claim: str, passage: str) -> None:
    found = words.best_quote(claim, passage)
    assert found is None or found.of(passage).strip() == found.of(passage) != ""


@pytest.mark.parametrize(
    "line",
    [
        *("Dec. 20, 1998", "Sun, 20 Dec 1998, 3:15 PM", "Updated: Dec. 20, 1998 8:08 AM EDT"),
        "Last modified on Sun 20 Dec 1998 04.15 EDT",
    ],
)
def test_a_dateline_says_when_and_not_what(line: str) -> None:
    passage = f"{line}\nThe engineer of the dam has died."
    found = words.quoted_sentence("The engineer died on 20 December 1998.", passage)
    assert found
    assert found.of(passage) == "The engineer of the dam has died."
    assert words.best_quote("The engineer died on 20 December 1998.", line) is None


@pytest.mark.parametrize("row", ["Monday: 10:00 - 20:00", "Sat 9:30 am to 5 pm"])
def test_opening_hours_may_be_quoted(row: str) -> None:
    passage = f"The library lends books.\n{row}"
    found = words.quoted_sentence(f"The library is open on {row}.", passage)
    assert found
    assert found.of(passage) == row
