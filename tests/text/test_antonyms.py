import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row

from pincite.text.antonyms import (
    agreeing,
    changes_in,
    compare,
    contrasts,
    other_figures,
    ranks,
    stated_changes,
    worked_out,
)


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
    assert (found and found[2]) is agrees


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


@each_row("text/antonyms/changes")
def test_changes_are_signed(text: str, words: str, low: float, high: float, measure: str) -> None:
    change = changes_in(text)[0]
    found = change.words, round(change.low, 3), round(change.high, 3), change.measure
    assert found == (words, low, high, measure)


@each_row("text/antonyms/no_changes")
def test_other_numbers_are_no_changes(text: str) -> None:
    assert [c for c in changes_in(text) if not c.than and c.measure != "part"] == []


def test_letters_that_look_alike_and_long_numbers_are_read() -> None:
    assert [change.words for change in stated_changes("It tr\u0131pled.")] == ["tripled"]
    assert [rank.place for rank in ranks("It came fir\u017ft of ten.")] == [1]
    assert ranks(f"It came {'9' * 5000}th of ten.") == ()


@each_row("text/antonyms/ranks")
def test_ranks_have_a_place_and_an_order(text: str, place: int, order: str) -> None:
    assert [rank[1:] for rank in ranks(text)] == [(place, order)]


@each_row("text/antonyms/side_by_side")
def test_figures_side_by_side_are_compared(text: str, words: str, than: str) -> None:
    found = [change for change in worked_out(text) if change.is_computed]
    assert [(c.words, " ".join(sorted(c.than))) for c in found[:1]] == [(words, than)] * bool(words)


def test_figures_of_another_thing_agree_with_nothing() -> None:
    source = "The wardens found 40 lost dogs, up from 20. They found 90 lost cats, up from 80."
    assert [other.words for _, other in agreeing("Lost dogs have doubled.", source)][:1]
    assert agreeing("Lost cats have doubled.", source) == []
