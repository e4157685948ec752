"""Negations by rule: the contrary of the whole, or the whole denied."""

import pytest

from pincite.verbs.check.negation import negation


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("The bridge is old.", "The bridge is not old."),
        ("The bridge was not built in 1911.", "The bridge was built in 1911."),
        ("Trains can cross it.", "Trains cannot cross it."),
        ("The town had built a bridge.", "The town had not built a bridge."),
        ("Holm believes that the dam is safe.", "Holm does not believe that the dam is safe."),
        ("Experts say the dam is safe.", "Experts do not say the dam is safe."),
        ("Holm denied all charges.", "Holm did not deny all charges."),
        ("Holm has claimed that it fell.", "Holm has not claimed that it fell."),
        ("Holm does not believe that it fell.", "Holm believes that it fell."),
        ("Holm never said that it fell.", "Holm said that it fell."),
        (
            "Nobody says that the dam is safe.",
            "Somebody says that the dam is safe.",
        ),
        ("It was announced that the mill closed.", "It was not announced that the mill closed."),
        (
            "The study shows tea is good.",
            "It is not the case that the study shows tea is good.",
        ),
        ("Coffee causes cancer.", "Coffee does not cause cancer."),
        ("Coffee does not cause cancer.", "Coffee causes cancer."),
        ("Vaccines cause autism.", "Vaccines do not cause autism."),
        (
            "Lack of light does reduces growth.",
            "It is not the case that Lack of light does reduces growth.",
        ),
        ("Some say the dam leaks.", "It is not the case that some say the dam leaks."),
        ("Some mills leak.", "No mills leak."),
        ("Two mills were closed.", "It is not the case that two mills were closed."),
        ("A mill was closed.", "It is not the case that a mill was closed."),
        ("One in four is ill.", "It is not the case that one in four is ill."),
        ("The mill was hardly used.", "It is not the case that the mill was hardly used."),
        (
            "Articles in journals sold well in May.",
            "It is not the case that articles in journals sold well in May.",
        ),
        ("It is wrong to lie.", "It is not wrong to lie."),
        ("The town had two bridges.", "The town did not have two bridges."),
        ("Holm opened it.", "Holm did not open it."),
        ("All trains were late.", "Not all trains were late."),
        ("No train was late.", "Some train was late."),
        (
            "The dam was built in 1963 and the lake holds much.",
            "It is not the case that the dam was built in 1963 and the lake holds much.",
        ),
        (
            "The bridge was built when the mill was closed.",
            "It is not the case that the bridge was built when the mill was closed.",
        ),
    ],
)
def test_negation(text: str, denied: str) -> None:
    assert negation(text) == denied
