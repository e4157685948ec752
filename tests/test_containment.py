"""One item that raises costs itself; what is expected passes through."""

import logging
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite import errors
from pincite.errors import InputError
from pincite.judgement import decide
from pincite.types import Claim, Evidence, Failed, Passage, Span


def doubled(numbers: Sequence[int]) -> list[int]:
    return [2 * number // (number != 0) for number in numbers]  # 0 raises, with its whole batch


@given(st.lists(st.integers(-3, 3), max_size=12))
def test_only_items_that_raise_are_lost(numbers: list[int]) -> None:
    logging.disable(logging.ERROR)
    found = errors.apply(doubled, numbers, lambda number, why: f"{number} {why.detail}")
    logging.disable(logging.NOTSET)
    assert found == [2 * n if n else "0 ZeroDivisionError" for n in numbers]


def test_a_contained_error_keeps_its_traceback_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    found = errors.attempt(lambda: 1 // 0, lambda why: why)
    assert found == Failed("internal", "ZeroDivisionError")
    (record,) = caplog.records
    assert record.name == "pincite"
    assert record.exc_info
    assert record.exc_info[0] is ZeroDivisionError


@pytest.mark.parametrize("error", [InputError("x"), KeyboardInterrupt(), ModuleNotFoundError("x")])
def test_expected_errors_pass_through(error: BaseException) -> None:
    def raising(items: Sequence[int]) -> list[int]:
        raise error

    with pytest.raises(type(error)):
        errors.apply(raising, [1, 2], lambda item, why: 0)


def test_a_pair_that_cannot_be_judged_is_told_apart_from_a_neutral_one() -> None:
    claim, good, bad = Claim("c", "x"), *(Passage("d", "", "", t, Span(0, 1)) for t in "gb")

    def verify(pairs: Sequence[tuple[Claim, Passage]]) -> list[Evidence]:
        return [Evidence(p, {"g": 0.9}[p.text], 0.0, 0.1, 2.2) for _, p in pairs]

    found = decide.verify_each(verify, [(claim, good), (claim, bad), (claim, good)])
    assert [e.passage for e in found] == [good, bad, good]
    assert [e.failed for e in found] == [None, Failed("internal", "KeyError"), None]
