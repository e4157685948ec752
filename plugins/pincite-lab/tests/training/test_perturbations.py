"""Claims changed in one place: each kind, and what holds of every text."""

import random

from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row

from pincite_lab.training.perturbations import HARD_KINDS, KINDS, negate, perturb


def swapped(
    kind: str, claim: str, names: tuple[str, ...] = (), n: int = 60, evidence: str = ""
) -> set[str]:
    """What comes of a claim whatever chance decides."""
    found = (perturb(kind, claim, names, random.Random(seed), evidence) for seed in range(n))
    return {swap.text for swap in found if swap}


def test_a_number_changes_and_the_rest_stays() -> None:
    texts = swapped("number", "The ferry carried 340 goats.")
    assert len(texts) > 3
    assert "The ferry carried 341 goats." in texts
    # |5 − 10| = 5: the sign is dropped, so that nothing would change.
    assert "It has 5 doors." not in swapped("number", "It has 5 doors.", n=300)
    assert swapped("number", "It was built in 1811.") == set()
    assert swapped("date", "The ferry carried 34 goats.") == set()


def test_a_year_a_month_or_a_day_changes() -> None:
    years = swapped("date", "It was built in 1811.")
    assert "It was built in 1812." in years
    both = swapped("date", "Lise Holt died on 14 May 1902.", n=200)
    assert "Lise Holt died on 14 June 1902." in both
    assert "Lise Holt died on 15 May 1902." in both
    assert "Lise Holt died on 14 May 1903." in both
    assert not {text for text in both if "14 May 1902" in text}


def test_a_name_gives_way_to_one_that_the_claim_lacks() -> None:
    changed = {"The mill of Skov burnt."}
    assert swapped("name", "The mill of Holm burnt.", ("Skov", "Holm")) == changed
    assert swapped("name", "The mill of Holm burnt.", ("Holm",)) == set()
    assert swapped("name", "a mill burnt", ("Skov",)) == set()


@each_row("lab/training/perturbations/negation_is_added_or_removed")
def test_negation_is_added_or_removed(claim: str, denied: str) -> None:
    assert swapped("negation", claim) == {denied}
    assert negate("The old ferry crossing") is None


def test_a_word_gives_way_to_its_contrary_in_the_same_form() -> None:
    assert swapped("contrary", "The fare rose after an early vote.") == {
        "The fare fell after an early vote.",
        "The fare rose before an early vote.",
        "The fare rose after a late vote.",
    }
    assert swapped("contrary", "The drug-induced fever") == set()  # half a word


def test_two_of_a_kind_change_places_unless_their_order_says_nothing() -> None:
    names = swapped("exchange", "Lise Holt bought the Holm Mill.")
    assert names == {"Holm Mill bought the Lise Holt."}
    assert swapped("exchange", "It fell from 8 to 3.") == {"It fell from 3 to 8."}
    assert swapped("exchange", "Lise Holt and Jon Skov left.") == set()
    assert swapped("exchange", "It lies between Holm and Skov.") == set()


def test_a_rival_is_of_the_same_kind_and_from_the_evidence() -> None:
    page = "In Skov are 12 mills, Holm has 7 mills since 1811. X-15 is its road."
    assert swapped("rival", "Of Holm 7 mills are known.", evidence=page) == {
        "Of Holm 12 mills are known.",
        "Of Skov 7 mills are known.",
    }
    assert swapped("rival", "Of Holm 7 mills are known.") == set()


@given(
    kind=st.sampled_from([*KINDS, *HARD_KINDS]),
    claim=st.lists(
        st.sampled_from(
            "Holm Lise Holt The mill was is not no never did 5 0 20 1811 14 May March % , . 3.5 "
            "1,200 in does has been (1902) é 😀 \n".split(" ")
        ),
        max_size=14,
    ).map(" ".join)
    | st.text(max_size=40),
    seed=st.integers(0, 999),
)
def test_a_swap_is_a_text_that_differs_in_its_span_only(kind: str, claim: str, seed: int) -> None:
    evidence = "Aaby Brenn counted 12 mills in 1799, 30 % of them in Skov."
    swap = perturb(kind, claim, ["Skov", "Aaby Brenn"], random.Random(seed), evidence)
    if swap is None:
        return
    assert swap.text != claim
    assert swap.kind == kind
    start, end = swap.span
    assert 0 <= start < end <= len(claim)
    assert swap.text.startswith(claim[:start])
    assert swap.text.endswith(claim[end:])
    assert swap == perturb(kind, claim, ["Skov", "Aaby Brenn"], random.Random(seed), evidence)
