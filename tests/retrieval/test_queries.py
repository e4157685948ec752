"""Queries say what stands around a claim, and stay within their length."""

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from pincite.retrieval import queries
from pincite.types import Claim

CLAIM = Claim(
    "c1", "It opened in 1911.", "Varde Bridge", ("History", "Opening"), "Work took a year."
)
TEXTS = st.text("ab .\n", max_size=30)
CLAIMS = st.builds(Claim, st.just("c"), TEXTS, TEXTS, st.lists(TEXTS, max_size=2).map(tuple), TEXTS)


def n_words(text: str) -> int:
    return len(text.replace(queries.SEPARATOR, " ").split())


def test_words_near_the_claim_weigh_less() -> None:
    parts = dict(queries.lexical_query(CLAIM))  # type: ignore[arg-type]
    assert parts["Varde Bridge"] == parts[CLAIM.text] == 1
    assert 0 < parts["Work took a year."] < parts["History Opening"] < 1


def test_what_is_absent_leaves_nothing() -> None:
    bare = Claim("c1", "It opened in 1911.")
    assert queries.lexical_query(bare) == (("It opened in 1911.", 1.0),)
    assert queries.side_query(bare) == queries.dense_query(bare) == bare.text
    for variant in queries.VARIANTS.values():
        assert queries.context_query(bare, variant) == bare.text


def test_what_stands_after_the_citation_is_in_none() -> None:
    for variant in queries.VARIANTS.values():
        assert "[CIT]" not in queries.context_query(CLAIM, variant)


def test_the_variants() -> None:
    long = dataclasses.replace(CLAIM, before=" ".join(f"w{i}" for i in range(60)))
    short = queries.context_query(long, queries.VARIANTS["only_before_cit_30w+no_title"])
    assert short.split() == [f"w{i}" for i in range(34, 60)] + CLAIM.text.split()
    with_title = queries.context_query(long, queries.VARIANTS["only_before_cit_30w"])
    assert with_title == f"Varde Bridge [SEP] {short}"
    section = queries.context_query(CLAIM, queries.VARIANTS["only_before_cit+title+section"])
    assert section.split(" [SEP] ")[:2] == ["Varde Bridge", "History Opening"]


@given(CLAIMS, st.sampled_from(list(queries.VARIANTS.values())), st.integers(10, 40))
def test_the_length_is_kept(claim: Claim, variant: queries.Variant, length: int) -> None:
    found = queries.context_query(claim, variant, length)
    assert n_words(found) <= length
    whole = queries.context_query(claim, variant)
    if n_words(whole) <= length:
        assert found == whole


@given(CLAIMS, st.integers(10, 40))
def test_the_claims_end_survives_any_cut(claim: Claim, length: int) -> None:
    words = claim.text.split()
    found = queries.context_query(claim, queries.VARIANTS["only_before_cit+title+section"], length)
    assert found.split()[-min(3, len(words)) :] == words[-3:] or not words
