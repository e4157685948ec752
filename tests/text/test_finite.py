"""Which word of a clause is its finite verb; none where two might be."""

from hypothesis import given
from hypothesis import strategies as st
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


@given(st.text(max_size=200))
def test_the_verb_of_any_text_is_a_span_of_it_or_none(text: str) -> None:
    found = finite_verb(text)
    assert found is None or 0 <= found.start < found.end <= len(text)
