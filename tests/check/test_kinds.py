"""Which statements describe and which value, and what denies them."""

from support.rows import each_row

from pincite.verbs.check.kinds import kind_of, negation, without_speaker


@each_row("check/kinds/kinds")
def test_evaluative_words_may_describe(statement: str, kind: str, language: str) -> None:
    assert kind_of(statement, language) == kind


@each_row("check/kinds/the_speaker_before_a_colon")
def test_the_speaker_before_a_colon(statement: str, speaker: str, content: str) -> None:
    assert without_speaker(statement) == (speaker, content)


@each_row("check/negation/negation")
def test_negation(text: str, denied: str, language: str) -> None:
    assert negation(text, language) == denied
