"""What a run records beside its findings."""

import pytest

from pincite.judgement.aggregation import precisions
from pincite.models.calibration import Calibration

MEASURED = Calibration(support=(), refute=(), flags=((0.3, 0.8, 0.1),))


def test_precision_of_flags_by_base_rate() -> None:
    found = precisions(MEASURED.rates_at(0.55))
    assert [base_rate for base_rate, _ in found] == [0.02, 0.05, 0.20]
    assert [value for _, value in found] == pytest.approx([0.1404, 0.2963, 0.6667], abs=1e-4)
