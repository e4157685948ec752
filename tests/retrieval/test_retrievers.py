"""Queries say what stands around a claim."""

from pincite.retrieval import retrievers
from pincite.types import Claim

CLAIM = Claim(
    "c1", "It opened in 1911.", "Varde Bridge", ("History", "Opening"), "Work took a year."
)


def test_words_near_the_claim_weigh_less() -> None:
    parts = dict(retrievers.lexical_query(CLAIM))  # type: ignore[arg-type]
    assert parts["Varde Bridge"] == parts[CLAIM.text] == 1
    assert 0 < parts["Work took a year."] < parts["History Opening"] < 1


def test_what_is_absent_leaves_nothing() -> None:
    bare = Claim("c1", "It opened in 1911.")
    assert retrievers.lexical_query(bare) == (("It opened in 1911.", 1.0),)
    assert retrievers.side_query(bare) == retrievers.dense_query(bare) == bare.text
