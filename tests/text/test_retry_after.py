import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.text.retry_after import seconds_to_wait

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.fixture
def in_tokyo() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (" 7 ", 7),
        ("0.5", 0.5),
        ("9" * 400, 1e9),
        ("Sun, 22 Nov 2026 12:01:00 GMT", 60),
        ("Sun, 22 Nov 2026 13:01:00 +0100", 60),
        ("Sun, 22 Nov 2026 12:01:00", 60),  # Greenwich's, whatever the machine's zone is
        ("Sun, 22 Nov 2026 12:01:00 -0000", 60),
        ("Sun, 22 Nov 2020 12:00:00 GMT", 0),
        *(("", None), ("soon", None), ("-5", None), ("1e9", None), ("inf", None), ("٣", None)),
        ("Sun, 22 Nov 99999 12:00:00 GMT", None),
    ],
)
@pytest.mark.usefixtures("in_tokyo")
def test_what_a_server_asks_for(value: str, seconds: float | None) -> None:
    assert seconds_to_wait(value, NOW.timestamp()) == seconds


@given(st.text())
def test_any_text_is_a_wait_or_none(text: str) -> None:
    seconds = seconds_to_wait(text, 0.0)
    assert seconds is None or seconds >= 0
