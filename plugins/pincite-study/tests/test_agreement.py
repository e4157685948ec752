"""The numbers of worked examples, and no number where nothing is defined."""

import pytest

from pincite_study import agreement
from pincite_study.preferences import AMOUNTS, PAIRS

CHOICES = PAIRS["citations"].choices


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


def test_answers_that_lie_nearer_disagree_less() -> None:
    none, partial, enough = AMOUNTS
    votes = [[none, partial], [enough, enough], [none, none], [partial, enough]]
    assert agreement.krippendorff_alpha(votes, AMOUNTS, "nominal") == pytest.approx(1 / 3, abs=6e-5)
    two = [[none, none], [enough, enough], [none, enough]]
    assert agreement.krippendorff_alpha(two, AMOUNTS, "nominal") == pytest.approx(4 / 9, abs=6e-5)
    ordinal = agreement.krippendorff_alpha(votes, AMOUNTS, "ordinal")
    assert ordinal == pytest.approx(17 / 24, abs=6e-5)


def test_the_sign_test_is_exact() -> None:
    assert agreement.sign_test(0, 0) is None
    assert agreement.sign_test(1, 9) == pytest.approx(11 / 512, rel=1e-4)
