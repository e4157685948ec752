"""The fixtures of the core's tests; all tests here bear the marker `web`."""

# ruff: noqa: F401 - pytest finds the fixtures by their names

import os
from pathlib import Path

import pytest

import conftest as core
from conftest import (
    _no_lists_of_the_user,
    _no_multilingual_verifier,
    _no_network,
    pytest_make_parametrize_id,
    real_server,
    tiny_encoder,
    tiny_reranker,
    tiny_verifier,
)

HERE = Path(__file__).parent


def pytest_configure() -> None:
    """Processes that tests start import `server` and `support` too."""
    core.pytest_configure()
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), os.environ["PYTHONPATH"]])


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """True where the run leaves out the marker: a browser takes longer to import than to test."""
    wanted: str = config.option.markexpr
    return True if collection_path == HERE / "server" and "not web" in wanted else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("web")
