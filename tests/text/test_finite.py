"""Which word of a clause is its finite verb; none where two might be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.text.finite import finite_verb, is_plural


@pytest.mark.parametrize(
    ("clause", "verb"),
    [
        ("The dam leaks.", ("leaks", "leak", "third")),
        ("Coffee causes heart attacks.", ("causes", "cause", "third")),
        ("Vaccines cause autism.", ("cause", "cause", "base")),
        ("The mill wheel turns.", ("turns", "turn", "third")),
        ("The causes of the fire remain unclear.", ("remain", "remain", "base")),
        ("High doses of lindol reduce pain.", ("reduce", "reduce", "base")),
        ("In 1911, the mill closed.", ("closed", "close", "past")),
        ("The mill built in 1802 was sold.", ("was", "", "auxiliary")),
        ("Holm sold the mill built in 1802.", ("sold", "sell", "past")),
        ("The town had built a bridge.", ("had", "", "auxiliary")),
        ("The town had two bridges.", ("had", "have", "past")),
        ("Orrest has more inhabitants.", ("has", "have", "third")),
        ("The dam gates in Varde are old.", ("are", "", "auxiliary")),
        ("The talks between Varde and Orrest failed.", ("failed", "fail", "past")),
    ],
)
def test_the_finite_verb(clause: str, verb: tuple[str, str, str]) -> None:
    found = finite_verb(clause)
    assert found
    assert (found.word, found.base, found.form) == verb
    assert clause[found.start : found.end] == found.word


@pytest.mark.parametrize(
    "clause",
    [
        "",
        "losses of three million",
        "The mill opened in 1911 burnt down.",
        "Patients treated with lindol live longer.",
        "The study shows tea is good.",
        "Carriers have increased risk of stroke.",
        "Fitness causes increased mortality.",
        "Test results from three mills differ widely.",
    ],
)
def test_no_verb_in_doubt(clause: str) -> None:
    assert finite_verb(clause) is None


@pytest.mark.parametrize(
    ("phrase", "plural"),
    [
        ("the mills of Varde", True),
        ("tin and lead", True),
        ("the gap between tin and lead", False),
        ("combining tin and lead", False),
        ("critics", True),
        ("politics", False),
        ("the bus", False),
        ("police", True),
    ],
)
def test_plural(phrase: str, plural: bool) -> None:
    assert is_plural(phrase) == plural


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    found = finite_verb(text)
    assert found is None or 0 <= found.start < found.end <= len(text)
