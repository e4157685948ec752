from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row

from pincite.text.antonyms import compare, contrasts, other_figures


@each_row("text/antonyms/contrasts")
def test_contrasts(claim: str, quote: str, found: tuple[tuple[str, str], ...]) -> None:
    assert contrasts(claim, quote) == [*found]


@each_row("text/antonyms/a_comparison_has_a_sense_and_an_order")
def test_a_comparison_has_a_sense_and_an_order(
    claim: str, sentence: str, agrees: bool | None
) -> None:
    found = compare(claim, sentence)
    assert (found and found.agrees) is agrees


@each_row("text/antonyms/other_figures")
def test_other_figures(claim: str, quote: str, found: tuple[tuple[str, str], ...]) -> None:
    assert other_figures(claim, [quote, "Rain fell."]) == [*found]
    assert other_figures(claim, [quote, claim]) == []


@given(st.text(max_size=200))
def test_nothing_contradicts_itself(text: str) -> None:
    assert contrasts(text, text) == []
    assert other_figures(text, [text]) == []
