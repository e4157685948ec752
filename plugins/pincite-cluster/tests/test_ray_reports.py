"""`pincite verify --dump --on ray`; a module of its own, as a process has one cluster at a time."""

from pathlib import Path

import pytest
from cli.check_runs import Run
from cli.test_dump import checked, dump

pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Ray itself
__all__ = ["dump"]  # a fixture


def test_ray_writes_the_same_reports(run: Run, dump: Path) -> None:
    alone = checked(run, "alone")
    assert checked(run, "spread", "--on", "ray", "--workers", "2") == alone
    Path("spread/dump.102.json").unlink()
    assert checked(run, "spread", "--on", "ray", "--workers", "2") == alone
