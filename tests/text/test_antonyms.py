import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row

from pincite.text.antonyms import compare, contrasts, other_figures


@pytest.mark.parametrize(
    ("claim", "quote", "found"),
    [
        ("The mill closed in 1911.", "The mill opened in 1911.", [("closed", "opened")]),
        ("It came before the war.", "It came after the war.", [("before", "after")]),
        ("Gram is the largest town.", "Gram, the smallest town", [("largest", "smallest")]),
        ("The council approved it.", "The council rejected it.", [("approved", "rejected")]),
        ("It lies in the north.", "It lies in the south and the north.", []),
        ("It lies in the north.", "It lies in the east.", []),
        ("It doubled the yield.", "It halved the yield.", [("doubled", "halved")]),
        ("Rain.", "Snow.", []),
        ("The fallow field", "The rising sun", []),
    ],
)
def test_contrasts(claim: str, quote: str, found: list[tuple[str, str]]) -> None:
    assert contrasts(claim, quote) == found


@each_row("text/antonyms/a_comparison_has_a_sense_and_an_order")
def test_a_comparison_has_a_sense_and_an_order(
    claim: str, sentence: str, agrees: bool | None
) -> None:
    found = compare(claim, sentence)
    assert (found and found.agrees) is agrees


@pytest.mark.parametrize(
    ("claim", "quote", "found"),
    [
        ("It fell below 2,800 m.", "It fell below 1,500 m within a day.", [("2,800", "1,500")]),
        ("8% of girls and 7% of boys", "8% of girls and 15% of boys", [("7%", "15%")]),
        ("8% of girls and 15% of boys", "15% of boys and 8% of girls", []),
        ("Pain fell by 1.8 days in 212 adults.", "Pain fell by 1.8 days.", []),
        ("Pain fell in 212 adults.", "Pain fell by 1.8 days in adults.", []),
        ("It rose by 12%.", "It rose to 14 in May.", []),
        ("Nine mills stood in Gram.", "Two of the mills of Varde stood in Gram in 1911.", []),
    ],
)
def test_other_figures(claim: str, quote: str, found: list[tuple[str, str]]) -> None:
    assert other_figures(claim, [quote, "Rain fell."]) == found
    assert other_figures(claim, [quote, claim]) == []


@given(st.text(max_size=200))
def test_nothing_contradicts_itself(text: str) -> None:
    assert contrasts(text, text) == []
    assert other_figures(text, [text]) == []
