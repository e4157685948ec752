"""Negations by rule: the contrary of the whole, or the whole denied."""

from support.rows import each_row

from pincite.verbs.check.negation import negation


@each_row("check/negation/negation")
def test_negation(text: str, denied: str) -> None:
    assert negation(text) == denied
