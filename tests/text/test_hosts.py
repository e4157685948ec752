"""Addresses of archived copies in all their forms."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from support.rows import each_row

from pincite.text.hosts import original_of, seconds_to_wait, snapshot_at

PAGE = "http://varde.example/a?b=1&c=2"
TIME = "20140302101500"
RAW = f"https://web.archive.org/web/{TIME}id_/{PAGE}"


@each_row("text/hosts/a_copy_is_requested_in_its_raw_form")
def test_a_copy_is_requested_in_its_raw_form(url: str) -> None:
    found = snapshot_at(url)
    assert found
    assert found.raw().lower() == RAW
    assert (found.page, found.date) == (PAGE, "2014-03-02")
    assert found.address.lower() == f"https://web.archive.org/web/{TIME}/{PAGE}"


@pytest.mark.parametrize(
    ("time", "asked"), [("2014/", "2014"), ("2014*/", "20150607"), ("", "20150607")]
)
def test_an_address_without_a_day_has_no_date(time: str, asked: str) -> None:
    newest = snapshot_at(f"https://web.archive.org/web/*/{PAGE}")
    assert newest
    assert newest.raw() == f"https://web.archive.org/web/2id_/{PAGE}"
    found = snapshot_at(f"https://web.archive.org/web/{time}{PAGE}")
    assert found
    assert found.raw("20150607") == f"https://web.archive.org/web/{asked}id_/{PAGE}"
    assert (found.page, found.date) == (PAGE, None)


@pytest.mark.parametrize("place", [f"archive.today/{TIME}", "www.archive.md/2014.03.02-101500"])
def test_other_archives_have_no_raw_form(place: str) -> None:
    url = f"https://{place}/{PAGE}"
    found = snapshot_at(url)
    assert found
    assert (found.raw(), found.page, found.date) == (url, PAGE, "2014-03-02")


@each_row("text/hosts/other_addresses_are_not_copies")
def test_other_addresses_are_not_copies(url: str) -> None:
    assert snapshot_at(url) is None
    assert original_of(url) == url


def test_a_mirror_is_known_by_its_host() -> None:
    url = f"http://wayback.example/web/{TIME}/{PAGE}"
    found = snapshot_at(url, ["wayback.example"])
    assert found
    assert found.raw() == f"http://wayback.example/web/{TIME}id_/{PAGE}"


def test_a_copy_of_a_copy() -> None:
    inner = f"https://web.archive.org/web/{TIME}/{PAGE}"
    assert original_of(f"https://archive.ph/{TIME}/{inner}") == PAGE


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
        ("9" * 400, 1e9),
        ("Sun, 22 Nov 2026 12:01:00 GMT", 60),
        ("Sun, 22 Nov 2026 13:01:00 +0100", 60),
        ("Sun, 22 Nov 2026 12:01:00", 60),  # Greenwich's, whatever the machine's zone is
        ("Sun, 22 Nov 2020 12:00:00 GMT", 0),
        *(("", None), ("soon", None), ("-5", None), ("1e9", None), ("inf", None), ("٣", None)),
        ("Sun, 22 Nov 99999 12:00:00 GMT", None),
    ],
)
@pytest.mark.usefixtures("in_tokyo")
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert seconds_to_wait(value, NOW.timestamp()) == seconds
