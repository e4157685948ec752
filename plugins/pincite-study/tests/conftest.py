"""The fixtures of the core's tests, on a server that has this plugin."""

# ruff: noqa: F401 - pytest finds the fixtures by their names

from collections.abc import Iterator

import pytest
from furnished_study import Furnished, furnished
from server.browser.conftest import visit
from server.conftest import (
    _cheap_passwords,
    _nothing_is_left_running,
    chromium,
    client,
    database,
    database_url,
    make_site,
    migrated,
    postgres,
    postgres_url,
    site,
)

from conftest import _no_lists_of_the_user, _no_network


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Furnished]:
    """A server with accounts and a study."""
    found = furnished(tmp_path_factory.mktemp("furnished"))
    yield found
    found.end()
