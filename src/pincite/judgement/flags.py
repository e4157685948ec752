"""What a flag is worth: its precision depends on how many citations fail in the first place.

A verifier is tested on files where half of the pairs fail; in an article few do. The rates that
do not depend on that share (failures caught, false alarms) carry over, the precision does not.
"""

from collections.abc import Sequence

# Shares of failing citations to show advice for, from careful articles to doubtful ones. Nobody
# knows an article's share beforehand, so a reader picks what fits.
BASE_RATES = (0.02, 0.05, 0.20)


def expected_precision(caught: float, false_alarms: float, base_rate: float) -> float | None:
    """The share of flags that are right; None where nothing would be flagged at all.

    P(fails | flag) = b·caught / (b·caught + (1 − b)·false_alarms)

    Args:
        caught: share of the failing citations that are flagged.
        false_alarms: share of the sound citations that are flagged.
        base_rate: b, the share of citations that fail.

    Source: Bayes' theorem; of base rates in detection, Axelsson 2000 (ACM TISSEC 3(3)).

    >>> round(expected_precision(caught=0.8, false_alarms=0.1, base_rate=0.05), 3)
    0.296
    """
    right, wrong = base_rate * caught, (1 - base_rate) * false_alarms
    return right / (right + wrong) if right + wrong > 0 else None


def precisions(
    rates: tuple[float, float] | None, base_rates: Sequence[float] = BASE_RATES
) -> tuple[tuple[float, float], ...]:
    """(base rate, expected precision) for each base rate; empty if it is not known.

    Args:
        rates: (caught, false alarms) at the threshold in use; None: nobody measured them.
        base_rates: shares of citations that fail.
    """
    if rates is None:
        return ()
    found = [(base_rate, expected_precision(*rates, base_rate)) for base_rate in base_rates]
    return tuple((base_rate, value) for base_rate, value in found if value is not None)
