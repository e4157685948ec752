import string
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pincite.text.sentences import sentences, trimmed
from pincite.types import Span


def test_abbreviations_and_decimals_do_not_end_a_sentence() -> None:
    text = "Dr. Holm et al. measured 3.5 m (p < 0.05 vs. control). It was repeated."
    assert [s.of(text) for s in sentences(text)] == [
        "Dr. Holm et al. measured 3.5 m (p < 0.05 vs. control).",
        "It was repeated.",
    ]


def test_a_line_break_ends_a_sentence() -> None:
    text = "Opening hours\nMonday to Friday\n\nThe bridge is closed."
    assert [s.of(text) for s in sentences(text)] == text.replace("\n\n", "\n").split("\n")


def test_offsets_count_code_points_not_bytes() -> None:
    text = "Ærø 🛥 sailed. Žižek waved."
    assert [s.of(text) for s in sentences(text)] == ["Ærø 🛥 sailed.", "Žižek waved."]


@given(st.text(alphabet=string.ascii_letters + " .!?\n\té🛥\u00a0\u2028", max_size=300))
def test_spans_are_ordered_trimmed_and_lose_no_word(text: str) -> None:
    spans = sentences(text)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    assert all(span.of(text) == span.of(text).strip() != "" for span in spans)
    kept = "".join(span.of(text) for span in spans)
    assert "".join(kept.split()) == "".join(text.split())


@given(st.text(alphabet=" ab\n", max_size=20))
def test_trimmed_is_what_strip_leaves(text: str) -> None:
    assert trimmed(text, Span(0, len(text))).of(text) == text.strip()


def test_half_a_surrogate_pair_is_no_obstacle() -> None:
    text = "One \ud83d day. Two days."
    assert [s.of(text) for s in sentences(text)] == ["One \ud83d day.", "Two days."]


def test_a_line_of_quotation_marks_does_not_stall() -> None:
    spans = sentences("“" * 100_000)
    assert sum(span.end - span.start for span in spans) == 100_000


def test_very_long_lines_lose_nothing() -> None:
    text = "The bridge of Varde was opened again. " * 1000
    spans = sentences(text)
    assert "".join(span.of(text) for span in spans).replace(" ", "") == text.replace(" ", "")
    assert all(span.of(text).strip() == span.of(text) for span in spans)
