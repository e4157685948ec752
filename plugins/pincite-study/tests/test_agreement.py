"""The libraries' numbers are those of the papers, and what is not defined is no number."""

import own_statistics as own
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite_study import agreement
from pincite_study.preferences import AMOUNTS, PAIRS

CHOICES = PAIRS["citations"].choices
EQUAL = st.integers(2, 6).flatmap(
    lambda m: st.lists(
        st.lists(st.sampled_from(CHOICES), min_size=m, max_size=m), min_size=1, max_size=12
    )
)
ANY = st.lists(st.lists(st.sampled_from(AMOUNTS), max_size=6), max_size=12)


@given(EQUAL)
@settings(max_examples=30)
def test_kappa_is_that_of_the_paper(votes: list[list[str]]) -> None:
    ours, theirs = agreement.fleiss_kappa(votes, CHOICES), own.fleiss_kappa(votes)
    assert ours == (None if theirs is None else pytest.approx(float(theirs), abs=6e-5))


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
@given(votes=ANY)
@settings(max_examples=30)
def test_alpha_is_that_of_the_book(level: agreement.Level, votes: list[list[str]]) -> None:
    ours = agreement.krippendorff_alpha(votes, AMOUNTS, level)
    paired = [each for each in votes if len(each) > 1]
    theirs = own.krippendorff_alpha(votes, AMOUNTS, ordinal=level == "ordinal") if paired else None
    assert ours == (None if theirs is None else pytest.approx(float(theirs), abs=6e-5))


@given(st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=30)
def test_the_sign_test_is_exact(n_for: int, n_against: int) -> None:
    p = agreement.sign_test(n_for, n_against)
    if not n_for + n_against:
        assert p is None
    else:
        assert p == pytest.approx(float(own.sign_test(n_for, n_against)), rel=1e-4)


def test_the_known_example_of_fleiss() -> None:
    """Ten subjects, fourteen raters, five categories: κ = 0.210."""
    table = [
        (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
        (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
    ]  # fmt: skip
    votes = [[c for c, k in zip(CHOICES, row, strict=True) for _ in range(k)] for row in table]
    assert agreement.fleiss_kappa(votes, CHOICES) == pytest.approx(0.21, abs=5e-4)


@pytest.mark.parametrize("votes", [[], [["both"]], [["both", "both"], ["both", "both"]]])
def test_where_nothing_can_agree_there_is_no_number(votes: list[list[str]]) -> None:
    assert agreement.fleiss_kappa(votes, CHOICES) is None
    assert agreement.krippendorff_alpha(votes, CHOICES, "nominal") is None
