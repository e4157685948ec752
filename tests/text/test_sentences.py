import string
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row

from pincite.text.sentences import sentences, whole_sentences
from pincite.types import Span


@each_row("text/sentences/sentences_of_languages")
def test_sentences_of_languages(language: str, parts: list[str]) -> None:
    text = ("" if language in ("ja", "zh") else " ").join(parts)
    assert [s.of(text) for s in whole_sentences(text, language)] == parts


def test_a_line_break_ends_a_sentence() -> None:
    text = "Opening hours\nMonday to Friday\n\nThe bridge is closed."
    assert [s.of(text) for s in sentences(text)] == text.replace("\n\n", "\n").split("\n")


def check_spans(text: str, spans: Sequence[Span]) -> None:
    """They are in order and trimmed, and no word is lost."""
    assert all(a.end <= b.start for a, b in pairwise(spans))
    assert all(span.of(text) == span.of(text).strip() != "" for span in spans)
    assert "".join("".join(span.of(text) for span in spans).split()) == "".join(text.split())


@given(st.text(alphabet=string.ascii_letters + " .!?\n\té🛥\u00a0\u2028", max_size=300))
def test_spans_are_ordered_trimmed_and_lose_no_word(text: str) -> None:
    check_spans(text, sentences(text))


@given(
    st.text(alphabet="abAÄя .!?。「」（）\n12km№", max_size=80),
    st.sampled_from(["de", "ja", "pl", "ru", "xx"]),
)
def test_whole_sentences_are_ordered_and_lose_no_word(text: str, language: str) -> None:
    check_spans(text, whole_sentences(text, language))


@pytest.mark.parametrize("unit", ["“", "The bridge of Varde was opened again. "])
def test_very_long_lines_do_not_stall_and_lose_nothing(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    check_spans(text, sentences(text))
