"""The fixtures of the core's tests: no network, no lists of the user's, a tiny encoder."""

import os
from pathlib import Path

from cli.conftest import run

from conftest import _no_lists_of_the_user, _no_network, tiny_encoder

__all__ = ["_no_lists_of_the_user", "_no_network", "run", "tiny_encoder"]


def pytest_configure() -> None:
    """Processes that tests start import what lies here, and `support`, too."""
    here = Path(__file__).parent
    paths = (str(here), str(here.parents[2] / "tests"), os.environ.get("PYTHONPATH"))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
