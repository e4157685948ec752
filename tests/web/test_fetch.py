"""The cache of fetched pages: contents, size, and pruning while others fetch."""

import sqlite3
import threading
import time
from pathlib import Path

import pytest

from pincite.errors import PinciteWarning
from pincite.web.fetch import DAY, CachedPage, FetchCache, holdings


def cached_page(url: str, age: float, body: bytes = b"text", reason: str = "") -> CachedPage:
    fetched = time.time() - age * DAY
    return CachedPage(url, url, 200, body, reason=reason, fetched=fetched, expires=fetched + DAY)


def filled(path: Path) -> FetchCache:
    cache = FetchCache(path)
    cache.put(cached_page("https://a.example/1", 40, b"shared"))
    cache.put(cached_page("https://a.example/2", 0, b"shared"))
    cache.put(cached_page("https://a.example/gone", 3, b"", "dead"))
    cache.put(cached_page("https://a.example/robots.txt", 40))
    return cache


def prune(path: Path, older_than_days: float) -> int:
    with FetchCache(path) as cache:
        return cache.prune(older_than_days)


def test_holdings_are_counted_and_an_absent_cache_is_not_made(tmp_path: Path) -> None:
    assert holdings(tmp_path / "none") == (0, 0)
    assert not (tmp_path / "none").exists()
    filled(tmp_path / "c").close()
    n_bytes, n_entries = holdings(tmp_path / "c")
    assert n_bytes > 0
    assert n_entries == 4


def test_old_pages_are_removed(tmp_path: Path) -> None:
    with filled(tmp_path / "c") as cache:
        assert prune(tmp_path / "c", 30) == 2
        assert cache.get("https://a.example/2") is not None
        assert cache.get("https://a.example/1") is None
        assert prune(tmp_path / "c", 0) == 2


def test_a_damaged_page_counts_as_missing(tmp_path: Path) -> None:
    with filled(tmp_path / "c") as cache:
        with sqlite3.connect(tmp_path / "c") as raw:
            raw.execute("UPDATE fetched_pages SET page = substr(page, 1, length(page) - 9)")
        raw.close()
        assert cache.get("https://a.example/2") is None


def test_the_space_is_freed(tmp_path: Path) -> None:
    body = b"".join(i.to_bytes(4, "big") for i in range(50_000))
    with FetchCache(tmp_path / "c") as cache:
        for n in range(8):
            cache.put(cached_page(f"https://a.example/{n}", 1, n.to_bytes(4, "big") + body))
    before = (tmp_path / "c").stat().st_size
    assert prune(tmp_path / "c", 0) == 8
    assert (tmp_path / "c").stat().st_size < before / 10


def test_pruning_beside_a_run_that_fetches(tmp_path: Path) -> None:
    ended, failures = threading.Event(), []

    def fetches() -> None:
        with FetchCache(tmp_path / "c") as cache:
            n = 0
            while not ended.is_set():
                n += 1
                url = f"https://a.example/{n}"
                try:
                    cache.put(cached_page(url, n % 2 * 40, b"%d" % (n % 7)))
                    found = cache.get(url)
                    if found is not None and found.body != b"%d" % (n % 7):
                        failures.append(url)
                except Exception as error:
                    failures.append(repr(error))
                    return

    FetchCache(tmp_path / "c").close()
    running = threading.Thread(target=fetches)
    running.start()
    removed, deadline = 0, time.monotonic() + 60  # the other thread may be slow to begin
    while not removed and time.monotonic() < deadline:
        removed += sum(prune(tmp_path / "c", 30) for _ in range(20))
    ended.set()
    running.join()
    assert failures == []
    assert removed > 0
    prune(tmp_path / "c", 30)
    with sqlite3.connect(tmp_path / "c") as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


URL = "https://a.example/"


def test_a_new_body_replaces_the_old(tmp_path: Path) -> None:
    path = tmp_path / "c"
    with FetchCache(path) as cache:
        for body in (b"one", b"two\n2", b"", b"three"):
            cache.put(cached_page(URL, 0, body))
        found = cache.get(URL)
    assert found is not None
    assert found.body == b"three"
    with pytest.warns(PinciteWarning):
        cache.put(cached_page(URL, 0))


@pytest.mark.parametrize("place", ["c", "c/below"])
def test_a_cache_that_cannot_be_used_is_a_warning(place: str, tmp_path: Path) -> None:
    (tmp_path / "c").write_bytes(b"something else" * 100)
    with pytest.warns(PinciteWarning):
        cache = FetchCache(tmp_path / place)
    page = cached_page(URL, 0)
    cache.put(page)
    assert cache.get(page.url) == page
    assert cache.prune(0) == 1  # of the cache in memory
    cache.close()
    assert (tmp_path / "c").read_bytes() == b"something else" * 100
