import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.judgement import aggregation

SHARES = st.floats(0.0, 1.0)


@pytest.mark.parametrize(
    ("caught", "false_alarms", "base_rate", "precision"),
    [
        (0.8, 0.1, 0.5, 8 / 9),
        (0.8, 0.1, 0.05, 0.04 / 0.135),
        (1.0, 0.0, 0.01, 1.0),
        (0.0, 0.2, 0.5, 0.0),
        (0.0, 0.0, 0.5, None),
        (0.9, 0.0, 0.0, None),
    ],
)
def test_bayes_by_hand(
    caught: float, false_alarms: float, base_rate: float, precision: float | None
) -> None:
    found = aggregation.expected_precision(caught, false_alarms, base_rate)
    assert found == (None if precision is None else pytest.approx(precision))


@given(SHARES, SHARES, SHARES)
def test_a_precision_is_a_share(caught: float, false_alarms: float, base_rate: float) -> None:
    found = aggregation.expected_precision(caught, false_alarms, base_rate)
    assert found is None or 0.0 <= found <= 1.0


@given(st.floats(0.01, 1.0), st.floats(0.01, 1.0))
def test_the_more_citations_fail_the_more_flags_are_right(caught: float, wrong: float) -> None:
    shares = [value for _, value in aggregation.precisions((caught, wrong))]
    assert shares == sorted(shares)


def test_undefined_precisions_are_left_out() -> None:
    assert aggregation.precisions(None) == ()
    assert aggregation.precisions((0.0, 0.0)) == ()
