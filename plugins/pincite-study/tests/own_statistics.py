"""Agreement and tests written down from their papers, to compare the program's numbers with."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import comb

Votes = Sequence[Sequence[str]]


def fleiss_kappa(votes: Votes) -> Fraction | None:
    """Fleiss 1971, equations 1 to 6: all items have the same number of votes."""
    n, m = len(votes), len(votes[0])
    agreed = [
        Fraction(sum(k * (k - 1) for k in Counter(item).values()), m * (m - 1)) for item in votes
    ]
    totals = Counter(answer for item in votes for answer in item)
    expected = sum((Fraction(k, n * m) * Fraction(k, n * m) for k in totals.values()), Fraction(0))
    observed = sum(agreed, Fraction(0)) / n
    return None if expected == 1 else (observed - expected) / (1 - expected)


def krippendorff_alpha(
    votes: Votes, categories: Sequence[str], *, ordinal: bool
) -> Fraction | None:
    """Krippendorff 2013, chapter 12: by the coincidences of values within items."""
    paired = [item for item in votes if len(item) > 1]
    coincidences: dict[tuple[str, str], Fraction] = {}
    for item in paired:
        for i, one in enumerate(item):
            for j, other in enumerate(item):
                if i != j:
                    key = (one, other)
                    coincidences[key] = coincidences.get(key, Fraction(0)) + Fraction(
                        1, len(item) - 1
                    )
    totals = Counter(answer for item in paired for answer in item)
    n = sum(totals.values())

    def apart(one: str, other: str) -> Fraction:
        if one == other:
            return Fraction(0)
        if not ordinal:
            return Fraction(1)
        low, high = sorted((categories.index(one), categories.index(other)))
        between = sum(totals[name] for name in categories[low : high + 1])
        distance = between - Fraction(totals[one] + totals[other], 2)
        return distance * distance

    observed = sum((k * apart(*pair) for pair, k in coincidences.items()), Fraction(0)) / n
    expected = sum(
        (Fraction(totals[a] * totals[b]) * apart(a, b) for a in totals for b in totals),
        Fraction(0),
    ) / (n * (n - 1))
    return None if not expected else 1 - observed / expected


def sign_test(n_for: int, n_against: int) -> Fraction:
    """Exact, two-sided: twice the smaller tail of the binomial distribution with one half."""
    n = n_for + n_against
    tail = Fraction(sum(comb(n, i) for i in range(min(n_for, n_against) + 1)), 2**n)
    return min(Fraction(1), 2 * tail)
