"""Intervals: percentile bootstrap over rows, and Wilson's for shares.

A resample is a row of counts, how often each row of the file was drawn, so that a measure which
takes weights is computed for all resamples at once. The seed is fixed: the same file gives the
same interval.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]

N_RESAMPLES = 1000
SEED = 20
_Z = 1.959964  # 97.5 % point of the normal distribution


def resamples(n_rows: int) -> Doubles:
    """(N_RESAMPLES, n_rows): counts of rows drawn with replacement, each row of it sums to n."""
    rng = np.random.default_rng(SEED)
    return rng.multinomial(n_rows, [1 / n_rows] * n_rows, size=N_RESAMPLES).astype(np.float64)


def percentiles(values: Doubles) -> list[float] | None:
    """95 % percentile interval (Efron & Tibshirani 1993, ch. 13); NaN values are left out.

    >>> percentiles(np.array([0.0, 0.5, 1.0, np.nan]))
    [0.025, 0.975]
    """
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    low, high = np.percentile(known, [2.5, 97.5])
    return [round(float(low), 4), round(float(high), 4)]


def wilson(n_hits: int, n: int) -> list[float] | None:
    """95 % interval of a share (Wilson 1927): (p̂ + z²/2n ± z·√(p̂(1−p̂)/n + z²/4n²)) / (1 + z²/n).

    >>> wilson(9, 10)
    [0.5958, 0.9821]
    """
    if not n:
        return None
    share, z2 = n_hits / n, _Z**2
    middle = share + z2 / (2 * n)
    half = _Z * (share * (1 - share) / n + z2 / (4 * n * n)) ** 0.5
    ends: Sequence[float] = [(middle + sign * half) / (1 + z2 / n) for sign in (-1, 1)]
    return [round(min(1.0, max(0.0, end)), 4) for end in ends]
