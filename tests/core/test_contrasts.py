import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.core.contrasts import contrasts, other_units


@pytest.mark.parametrize(
    ("claim", "quote", "found"),
    [
        ("The mill closed in 1911.", "The mill opened in 1911.", [("closed", "opened")]),
        ("It came before the war.", "It came after the war.", [("before", "after")]),
        ("Gram is the largest town.", "Gram, the smallest town", [("largest", "smallest")]),
        ("The council approved it.", "The council rejected it.", [("approved", "rejected")]),
        ("It lies in the north.", "It lies in the south and the north.", []),
        ("It lies in the north.", "It lies in the east.", []),
        ("Rain.", "Snow.", []),
        ("The fallow field", "The rising sun", []),
    ],
)
def test_contrasts(claim: str, quote: str, found: list[tuple[str, str]]) -> None:
    assert contrasts(claim, quote) == found


@pytest.mark.parametrize(
    ("claim", "quote", "n"),
    [
        ("It cost $40.", "It cost €40.", 1),
        ("It cost $40.", "It cost 40 dollars.", 0),
        ("a 12-hour strike", "a strike of 12 days", 1),
        ("a 12-hour strike", "12 days, of which 12 hours at night", 0),
        ("40 hectares", "40 people", 0),
        ("40 hectares", "41 acres", 0),
        ("40 hectares", "40 acres", 1),
    ],
)
def test_units(claim: str, quote: str, n: int) -> None:
    assert len(other_units(claim, quote)) == n


@given(st.text(max_size=200))
def test_nothing_contradicts_itself(text: str) -> None:
    assert contrasts(text, text) == []
    assert other_units(text, text) == []
