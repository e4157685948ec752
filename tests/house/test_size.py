"""The project does not grow past the ceilings in `tools/house.json`."""

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "house.py"


def test_no_count_is_above_its_ceiling() -> None:
    done = subprocess.run(
        [sys.executable, str(TOOL), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
