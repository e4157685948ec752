"""Which statements describe and which value, and what denies them."""

from support.rows import each_row

from pincite.verbs.check.kinds import kind_of, negation, without_speaker


@each_row("check/kinds/evaluative_words_may_describe")
def test_evaluative_words_may_describe(statement: str) -> None:
    assert kind_of(statement) == "descriptive"


@each_row("check/kinds/evaluations_are_opinions")
def test_evaluations_are_opinions(statement: str) -> None:
    assert kind_of(statement) == "normative"


@each_row("check/kinds/german_evaluative_words_may_describe")
def test_german_evaluative_words_may_describe(statement: str, kind: str) -> None:
    assert kind_of(statement, "de") == kind


@each_row("check/kinds/an_order_with_a_figure_is_a_fact")
def test_an_order_with_a_figure_is_a_fact(statement: str, kind: str) -> None:
    assert kind_of(statement) == kind


@each_row("check/kinds/the_speaker_before_a_colon")
def test_the_speaker_before_a_colon(statement: str, speaker: str, content: str) -> None:
    assert without_speaker(statement) == (speaker, content)


@each_row("check/negation/negation")
def test_negation(text: str, denied: str) -> None:
    assert negation(text) == denied


@each_row("check/negation/german")
def test_what_german_order_leaves_in_doubt_is_denied_as_a_whole(text: str, denied: str) -> None:
    assert negation(text, "de") == denied
