"""A server of odd pages, and an empty cache."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from web.zoo import Zoo, zoo_server

from pincite.web.fetch import FetchCache


@pytest.fixture
def zoo() -> Iterator[Zoo]:
    with zoo_server() as server:
        yield server


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[FetchCache]:
    with FetchCache(tmp_path / "cache.sqlite") as opened:
        yield opened
