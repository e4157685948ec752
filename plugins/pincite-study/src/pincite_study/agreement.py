"""Agreement between raters, and tests of their preferences, by statsmodels and krippendorff.

A number that is not defined, because all votes are alike or there are none, is None and never 0.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar

Votes = Sequence[Sequence[str]]  # one list of answers for each item
Level = Literal["nominal", "ordinal"]
T = TypeVar("T", bound=str)


def majority(votes: Sequence[T]) -> T | None:
    """The answer of more than half of the votes; None if there is none.

    >>> majority(["a", "b", "a"]), majority(["a", "b"]), majority([])
    ('a', None, None)
    """
    answer, n = next(iter(Counter(votes).most_common(1)), (None, 0))
    return answer if 2 * n > len(votes) else None


def fleiss_kappa(votes: Votes, categories: Sequence[str]) -> float | None:
    """Fleiss' κ: agreement beyond what the answers' frequencies would give by chance.

    Source: J. L. Fleiss, "Measuring nominal scale agreement among many raters", Psychological
    Bulletin 76 (1971), 378-382; computed by statsmodels. Each item needs the same number of votes.

    >>> fleiss_kappa([["a", "a"], ["b", "b"], ["a", "b"]], ["a", "b"])
    0.3333
    """
    from statsmodels.stats.inter_rater import fleiss_kappa as computed

    if not votes or len(votes[0]) < 2 or len(_used_answers(votes)) < 2:
        return None  # where all give one and the same answer, chance would agree as much
    return round(float(computed(_counts(votes, categories), method="fleiss")), 4)


def krippendorff_alpha(votes: Votes, categories: Sequence[str], level: Level) -> float | None:
    """Krippendorff's α: 1 - observed / expected disagreement; items may have any number of votes.

    Source: K. Krippendorff, *Content Analysis* (3rd ed., 2013), ch. 12; computed by krippendorff.
    `categories` are in their order if `level` is "ordinal".

    >>> krippendorff_alpha([["a", "a"], ["b", "b"], ["a", "b"]], ["a", "b"], "nominal")
    0.4444
    """
    import krippendorff
    import numpy as np

    paired = [answers for answers in votes if len(answers) >= 2]  # a lone vote cannot agree
    if len(_used_answers(paired)) < 2:
        return None
    counts = np.array(_counts(paired, categories))
    computed = krippendorff.alpha(
        value_counts=counts, value_domain=range(len(categories)), level_of_measurement=level
    )
    return round(float(computed), 4)


def sign_test(n_for: int, n_against: int) -> float | None:
    """Two-sided p of the exact sign test; those who prefer neither are not counted. None of none.

    p = min(1, 2 · Σ_{i ≤ min} C(n, i) / 2ⁿ), the binomial test of one half; Dixon and Mood,
    "The statistical sign test", JASA 41 (1946), 557-566; computed by statsmodels.

    >>> sign_test(9, 1)
    0.021484
    """
    from statsmodels.stats.proportion import binom_test

    if not n_for + n_against:
        return None
    p = min(1.0, float(binom_test(n_for, n_for + n_against, prop=0.5)))
    return float(f"{p:.5g}")  # five digits, however small


def wilson(n_hits: int, n: int) -> list[float] | None:
    """Return the 95 % interval of a share (Wilson 1927), computed by statsmodels.

    >>> wilson(9, 10)
    [0.5958, 0.9821]
    """
    from statsmodels.stats.proportion import proportion_confint

    if not n:
        return None
    low, high = proportion_confint(n_hits, n, method="wilson")
    return [round(float(low), 4), round(float(high), 4)]


def _counts(votes: Votes, categories: Sequence[str]) -> list[list[int]]:
    """(n_items, n_categories): how often each answer was given."""
    counters: list[Mapping[str, int]] = [Counter(answers) for answers in votes]
    return [[counts[category] for category in categories] for counts in counters]


def _used_answers(votes: Votes) -> set[str]:
    return {answer for answers in votes for answer in answers}
