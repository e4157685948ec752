import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row

from pincite.text import words

CLAIM = "The bridge at Varde was designed by Ingrid Holm and opened in 1911."


@pytest.mark.parametrize(
    ("source", "share"), [("the bridges of stone, old", 0), ("a ferry", 1), ("a stone", 2 / 3)]
)
def test_missing_words_is_a_share(source: str, share: float) -> None:
    assert words.missing_words("old stone bridge", source) == pytest.approx(share)
    assert words.missing_words("", source) == 0


def test_best_sentence_prefers_figures_and_names() -> None:
    passage = (
        "A bridge was opened. In 1911 Holm's work was done. The bridge was designed and opened."
    )
    found = words.best_sentence(CLAIM, passage)
    assert found is not None
    assert found.of(passage) == "In 1911 Holm's work was done."


@given(st.text(alphabet="abc ABC.19", max_size=60))
def test_terms_are_weighted_in_the_order_of_the_claim(claim: str) -> None:
    terms = words.weighted_terms(claim)
    assert [t for t in terms if isinstance(t, str)] == [*dict.fromkeys(words.content_words(claim))]
    assert words.stated_terms(terms, f"{claim} Then rain fell.") == terms.keys()


def quote(claim: str, passage: str) -> str:
    found = words.best_quote(claim, passage)
    return found.of(passage) if found else ""


BODY = "The Skeld dam is a wall of concrete. It holds much water. The dam was completed in 1963."


def test_headings_are_not_quoted() -> None:
    passage = f"The completed Skeld dam\n\n{BODY}"
    assert quote("The Skeld dam was completed.", passage) != "The completed Skeld dam"
    assert "heading" not in quote("The dam has a heading.", f"A dam with a heading\n\n{BODY}")
    assert quote("The Skeld dam is of concrete.", f"# The Skeld dam.\n{BODY}").startswith("The Sk")


@each_row("text/words/quotes")
def test_the_sentence_with_most_shared_words_is_quoted(
    claim: str, passage: str, expected: str
) -> None:
    assert quote(claim, passage) == expected


@given(st.text(max_size=80), st.text(alphabet="Ab. \n#1", max_size=120))
def test_every_quote_is_a_span_of_the_passage(claim: str, passage: str) -> None:
    for found in (words.best_quote(claim, passage), words.best_sentence(claim, passage)):
        assert found is None or found.of(passage).strip() == found.of(passage) != ""


@each_row("text/words/datelines")
def test_datelines_are_not_quoted(line: str) -> None:
    passage = f"{line}\nThe engineer of the dam has died."
    found = words.quoted_sentence("The engineer died on 20 December 1998.", passage)
    assert found
    assert found.of(passage) == "The engineer of the dam has died."
    assert words.best_quote("The engineer died on 20 December 1998.", line) is None


@pytest.mark.parametrize(
    ("claim", "other", "quoted"),
    [
        ("The library is open on Monday: 10:00 - 20:00.", "It lends.", "Monday: 10:00 - 20:00"),
        ("The library is open on Sat 9:30 am to 5 pm.", "It lends.", "Sat 9:30 am to 5 pm"),
        ("A pier burnt in May 1911.", "Varde Post, 3 May 1911, p. 4.", "In 1911 a pier burnt."),
        ("The pier of Varde burnt.", "A pier of Varde", "The pier of Varde fell."),
    ],
)
def test_opening_hours_are_quoted_but_no_dateline_or_headline_before_a_sentence(
    claim: str, other: str, quoted: str
) -> None:
    passage = f"{other}\n{quoted}"
    found = words.quoted_sentence(claim, passage)
    assert found
    assert found.of(passage) == quoted
