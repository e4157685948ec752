from hypothesis import given
from hypothesis import strategies as st

from pincite.core import wording

CLAIM = "The bridge at Varde was designed by Ingrid Holm and opened in 1911."


def test_names_do_not_open_sentences_and_are_no_months() -> None:
    assert wording.names("In May Ingrid Holm left. Then Varde fell.") == ["Ingrid", "Holm", "Varde"]


def test_missing_names_forgive_endings() -> None:
    assert wording.missing_names(CLAIM, "Varde's crossing, by I. Holm") == ["Ingrid"]


def test_missing_words_is_a_share() -> None:
    assert wording.missing_words("old stone bridge", "the bridges of stone, old") == 0
    assert wording.missing_words("old stone bridge", "a ferry") == 1
    assert wording.missing_words("", "a ferry") == 0


def test_best_sentence_prefers_figures_and_names() -> None:
    passage = (
        "A bridge was opened. In 1911 Holm's work was done. The bridge was designed and opened."
    )
    found = wording.best_sentence(CLAIM, passage)
    assert found is not None
    assert found.of(passage) == "In 1911 Holm's work was done."


def test_no_sentence_if_nothing_is_shared() -> None:
    assert wording.best_sentence(CLAIM, "Tomatoes ripen late. Water them.") is None
    assert wording.best_sentence(CLAIM, "") is None


@given(st.text(max_size=80), st.text(max_size=200))
def test_a_quote_is_always_a_span_of_the_passage(claim: str, passage: str) -> None:
    found = wording.best_sentence(claim, passage)
    assert found is None or found.of(passage).strip() == found.of(passage) != ""
