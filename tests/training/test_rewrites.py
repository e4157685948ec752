"""Claims in other words: each kind, and what holds of every text."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.text import figures
from pincite.training.rewrites import KINDS, joined, rewrite_of, rewritten


def said(kind: str, claim: str) -> set[str]:
    """What comes of a claim whatever chance decides."""
    found = (rewrite_of(kind, claim, random.Random(seed)) for seed in range(20))
    return {rewrite.text for rewrite in found if rewrite}


@pytest.mark.parametrize(
    ("kind", "claim", "expected"),
    [
        ("date", "It opened on 14 May 1911.", {"It opened on May 14, 1911."}),
        ("date", "It opened on May 14, 1911 in Holm.", {"It opened on 14 May 1911 in Holm."}),
        ("date", "It opened in May.", set()),
        (
            "rounded",
            "Holm has 1,183,505 people.",
            {"Holm has about 1,200,000 people.", "Holm has about 1,180,000 people."},
        ),
        (
            "rounded",
            "About 48213 came.",
            {"About 48,000 came.", "About 48,200 came."},
        ),
        ("rounded", "Over 48,813 came.", set()),
        ("rounded", "It was built in 1911.", set()),
        ("rounded", "It cost 40,000 crowns.", set()),
        ("percent", "It rose by 12 %.", {"It rose by 12 percent."}),
        ("percent", "It rose by 12 per cent.", {"It rose by 12%."}),
        ("unit", "The road is 14 km long.", {"The road is about 8.7 miles long."}),
        ("unit", "It lies 100 miles away.", {"It lies about 161 km away."}),
        ("unit", "It ran at 30 km/h.", set()),
        ("spelt", "It has 3 towers.", {"It has three towers."}),
        ("spelt", "It has three towers.", {"It has 3 towers."}),
        ("spelt", "It has 3.5 towers and 2 m walls.", set()),
        (
            "dropped",
            "The mill, which was built of oak, was closed.",
            {"The mill was closed."},
        ),
        (
            "dropped",
            "However, the mill (now a museum) is open.",
            {"The mill (now a museum) is open."},
        ),
        ("moved", "In May 1911, Lise Holt sold it.", {"Lise Holt sold it in May 1911."}),
        ("moved", "In 1911, it was sold.", set()),
    ],
)
def test_each_kind(kind: str, claim: str, expected: set[str]) -> None:
    found = said(kind, claim)
    assert found <= expected
    assert bool(found) == bool(expected)


def test_every_kind_comes_up() -> None:
    claim = "However, on 14 May 1911 12 % of 48,213 people walked 14 km past 3 mills."
    kinds = {r.kind for seed in range(80) if (r := rewritten(claim, random.Random(seed)))}
    assert kinds == {"date", "rounded", "percent", "unit", "spelt", "dropped"}


@given(st.text(), st.integers(0, 9))
def test_any_text_is_left_or_changed_by_a_kind(text: str, seed: int) -> None:
    found = rewritten(text, random.Random(seed))
    if found:
        assert found.text != text
        assert found.kind in KINDS


@given(st.integers(10_001, 999_999_999))
def test_what_is_rounded_stays_within_a_twentieth(value: int) -> None:
    for text in said("rounded", f"Of these {value} were sold."):
        near = max(f.value for f in figures.figures(text))
        assert abs(near - value) <= value / 20


def test_a_claim_and_a_sentence_are_joined_in_either_order() -> None:
    page = "Short. The people of Holm remember the old mill."
    found = {joined("The mill is old", page, random.Random(seed)) for seed in range(20)}
    assert found == {
        "The mill is old. The people of Holm remember the old mill.",
        "The people of Holm remember the old mill. The mill is old.",
    }


@pytest.mark.parametrize("other", ["", "Too short.", "the rest of a sentence cut in two here."])
def test_what_is_no_sentence_is_not_joined(other: str) -> None:
    assert joined("The mill is old.", other, random.Random(1)) is None
