"""Which sentences a claim leaves unjudged: those that have no reference of their own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.articles import parse_article

from pincite.wiki.article import Markup

A, B, C, D = (
    "The mill burnt in 1840.",
    "It was rebuilt within a year.",
    "Its owner sold it to the town.",
    "A school has used it since 1951.",
)
R = "<ref>{{cite book|title=Mills}}</ref>"


def passed_over(source: str, markup: Markup = "wikitext") -> list[tuple[str, list[str]]]:
    """Each claim with a reference, and the sentences before it that have none."""
    claims = parse_article(source, "Mill", markup=markup).claims
    return [(c.text, list(c.uncited_before)) for c in claims if c.citations]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (f"{A}{R} {B} {C}{R}", [(A, []), (C, [B])]),
        (f"{A} {B}{R} {C} {D}", [(B, [A])]),
        (f"{A} {B}{R}{R} {C}{R}", [(B, [A]), (C, [])]),
        (f"{A}\n{B}\n{C}{R}", [(C, [A, B])]),
        (f"{A} {B}\n\n{C} {D}{R}", [(D, [C])]),
        (f"* {A} {B}\n* {C} {D}{R}", [(D, [C])]),
        (f"{A} {B}{{{{citation needed}}}} {C}{R}", [(C, [A])]),
        (f"{A} {B}{{{{by whom}}}} {C}{R}", [(C, [A, B])]),
        (f"{A} Poor John! {C}{R}", [(C, [A, "Poor John!"])]),
        (f"<blockquote>{A} {B} {C}{R}</blockquote>", [(C, [A, B])]),
        (f"{A} {B} {C}{{{{sfn|Ito|2001}}}}", [(C, [A, B])]),
    ],
)
def test_sentence_without_its_own_reference_is_named_by_the_next_claim(
    source: str, expected: list[tuple[str, list[str]]]
) -> None:
    assert passed_over(source) == expected


def test_reference_within_the_last_sentence_names_those_before_once() -> None:
    source = f"{A} {B} It cost 90 pounds,{R} and the town paid for all of it.{R}"
    assert [before for _, before in passed_over(source)] == [[A, B], []]


def test_html_names_them_too() -> None:
    mark = '<sup class="reference" id="cite_ref-1"><a href="#cite_note-1">[1]</a></sup>'
    note = '<ol class="references"><li id="cite_note-1">Ito 2001.</li></ol>'
    source = f"<html><body><p>{A} {B} {C}{mark}</p>{note}</body></html>"
    assert passed_over(source, "html") == [(C, [A, B])]


def test_claim_without_a_reference_names_none() -> None:
    (claim,) = parse_article(f"{A} {B}{{{{citation needed}}}}", "Mill").claims
    assert claim.uncited_before == ()


@given(st.lists(st.tuples(st.sampled_from((A, B, C, D)), st.booleans()), max_size=8))
def test_no_sentence_before_a_reference_vanishes(paragraph: list[tuple[str, bool]]) -> None:
    source = " ".join(text + R * cited for text, cited in paragraph)
    last = max((n for n, (_, cited) in enumerate(paragraph) if cited), default=-1)
    found = [text for claim, before in passed_over(source) for text in (*before, claim)]
    assert found == [text for text, _ in paragraph[: last + 1]]
