"""Addresses of archived copies in all their forms."""

import pytest

from pincite.text.hosts import original_of, snapshot_at

PAGE = "http://varde.example/a?b=1&c=2"
TIME = "20140302101500"
RAW = f"https://web.archive.org/web/{TIME}id_/{PAGE}"


@pytest.mark.parametrize(
    "url",
    [
        f"https://web.archive.org/web/{TIME}/{PAGE}",
        f"http://web.archive.org/web/{TIME}/{PAGE}",
        f"HTTPS://Web.Archive.org/web/{TIME}/{PAGE}".replace("Web.Archive", "web.archive"),
        f"https://web.archive.org/web/{TIME}id_/{PAGE}",
        f"https://web.archive.org/web/{TIME}if_/{PAGE}",
        f"https://web.archive.org/web/{TIME}/http:/varde.example/a?b=1&c=2",
        f"https://web.archive.org/web/{TIME}/varde.example/a?b=1&c=2",
        f" https://web.archive.org/web/{TIME}/{PAGE} ",
    ],
)
def test_a_copy_is_asked_for_as_it_was(url: str) -> None:
    found = snapshot_at(url)
    assert found
    assert found.raw().lower() == RAW
    assert (found.page, found.date) == (PAGE, "2014-03-02")
    assert found.address.lower() == f"https://web.archive.org/web/{TIME}/{PAGE}"


@pytest.mark.parametrize(
    ("time", "asked"),
    [("0/", "0"), ("2014/", "2014"), ("*/", "20150607"), ("2014*/", "20150607"), ("", "20150607")],
)
def test_an_address_without_a_day_has_no_date(time: str, asked: str) -> None:
    found = snapshot_at(f"https://web.archive.org/web/{time}{PAGE}")
    assert found
    assert found.raw("20150607") == f"https://web.archive.org/web/{asked}id_/{PAGE}"
    assert (found.page, found.date) == (PAGE, None)


def test_an_address_without_a_time_means_the_newest() -> None:
    found = snapshot_at(f"https://web.archive.org/web/*/{PAGE}")
    assert found
    assert found.raw() == f"https://web.archive.org/web/2id_/{PAGE}"


@pytest.mark.parametrize("time", [TIME, "2014.03.02-101500"])
def test_other_archives_have_no_raw_form(time: str) -> None:
    for host in ("archive.today", "archive.ph", "archive.is", "www.archive.md"):
        url = f"https://{host}/{time}/{PAGE}"
        found = snapshot_at(url)
        assert found
        assert (found.raw(), found.page, found.date) == (url, PAGE, "2014-03-02")


@pytest.mark.parametrize(
    "url",
    [
        PAGE,
        "https://archive.ph/AbC12",
        "https://web.archive.org/save/http://varde.example/",
        "https://web.archive.org/web/",
        f"https://evil.example/web/{TIME}/{PAGE}",
        f"https://web.archive.org.evil.example/web/{TIME}/{PAGE}",
        f"https://evil.example/?https://web.archive.org/web/{TIME}/{PAGE}",
        "",
    ],
)
def test_what_is_no_copy(url: str) -> None:
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
