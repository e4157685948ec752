"""The fixtures of the core's tests, and tests that need torch only where they are asked for."""

# ruff: noqa: F401 - pytest finds the fixtures by their names

import os
from pathlib import Path

import pytest

from conftest import (
    _no_lists_of_the_user,
    _no_multilingual_verifier,
    _no_network,
    pytest_make_parametrize_id,
    tiny_encoder,
    tiny_reranker,
    tiny_verifier,
)

HERE = Path(__file__).parent
WITH_TORCH = HERE / "training/network"


def pytest_configure() -> None:
    """Processes that tests start import `training` and `support` too."""
    paths = (str(HERE), str(HERE.parents[2] / "tests"), os.environ.get("PYTHONPATH"))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """True for the tests with torch where the run leaves their marker out: importing takes long."""
    wanted: str = config.option.markexpr
    return True if collection_path == WITH_TORCH and "not train" in wanted else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(WITH_TORCH):
            item.add_marker("train")
