"""Negations by rule: the contrary of the whole, or the whole denied."""

from support.rows import each_row

from pincite.verbs.check.kinds import negation


@each_row("check/negation/negation")
def test_negation(text: str, denied: str) -> None:
    assert negation(text) == denied


@each_row("check/negation/german")
def test_what_german_order_leaves_in_doubt_is_denied_as_a_whole(text: str, denied: str) -> None:
    assert negation(text, "de") == denied
