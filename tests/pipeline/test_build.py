"""What a run records beside its findings."""

import pytest

from pincite.pipeline import build


class Measured:
    """A calibration that knows its rates from 0.3 on."""

    def rates_at(self, threshold: float) -> tuple[float, float] | None:
        return (0.8, 0.1) if threshold >= 0.3 else None


def test_precision_of_flags_by_base_rate() -> None:
    found = build.flag_precision(Measured(), 0.55)
    assert [base_rate for base_rate, _ in found] == [0.02, 0.05, 0.20]
    assert [value for _, value in found] == pytest.approx([0.1404, 0.2963, 0.6667], abs=1e-4)


def test_no_rates_no_precision() -> None:
    assert build.flag_precision(Measured(), 0.2) == ()
    assert build.flag_precision(object(), 0.55) == ()
