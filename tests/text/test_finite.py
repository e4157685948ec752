"""Which word of a clause is its finite verb; none where two might be."""

from support.rows import each_row

from pincite.text.finite import finite_verb, is_plural


@each_row("text/finite/the_finite_verb")
def test_the_finite_verb(clause: str, verb: tuple[str, str, str]) -> None:
    found = finite_verb(clause)
    assert found
    assert (found.word, found.base, found.form) == verb
    assert clause[found.start : found.end] == found.word


@each_row("text/finite/no_verb_in_doubt")
def test_no_verb_in_doubt(clause: str) -> None:
    assert finite_verb(clause) is None


@each_row("text/finite/plural")
def test_a_plural_phrase_is_recognised(phrase: str, plural: bool) -> None:
    assert is_plural(phrase) == plural
