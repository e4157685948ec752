"""Whether a sentence finds what a question asks."""

import pytest

from pincite.verbs.ask.stance import reader

QUESTION = "Does vitamin D prevent falls?"


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Vitamin D reduced falls in older women.", True),
        ("Vitamin D did not prevent falls.", False),
        ("There was no significant effect of vitamin D on falls.", False),
        ("Vitamin D may not only prevent falls, although few took it.", None),
        ("Vitamin D was given monthly.", None),
        ("Vitamin D prevented falls of women who had not fallen before.", True),
        ("Falls increased with vitamin D.", None),
        ("More vitamin D went with a lower risk of falls.", True),
        ("Less vitamin D went with a higher risk of falls.", None),
    ],
)
def test_sides(sentence: str, expected: bool | None) -> None:
    assert reader(QUESTION)(sentence) is expected


@pytest.mark.parametrize(
    "question",
    ["How many women fell?", "Is vitamin D or calcium better against falls?", "Who discovered it?"],
)
def test_other_questions_have_no_sides(question: str) -> None:
    assert reader(question)("Vitamin D reduced falls.") is None
