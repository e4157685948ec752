"""The project does not grow past the ceilings in `tools/house.json`, and they only fall."""

import json
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.rows import each_row

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "house.py"
CEILINGS = ROOT / "tools" / "house.json"
LIMIT_OF: Callable[[Any], tuple[int, str]] = runpy.run_path(str(TOOL))["limit_of"]


def git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def earlier_ceilings() -> Iterator[dict[str, Any]]:
    """Those of the last tag, or of where this branch began, and of each commit since.

    On the main branch without a tag: those of the last commit and of the one before it.
    """
    tag = git("describe", "--tags", "--abbrev=0", "--first-parent")
    base = tag or git("merge-base", "HEAD", "main") or git("merge-base", "HEAD", "origin/main")
    base = "HEAD^" if base == git("rev-parse", "HEAD") else base
    since = git("log", "--first-parent", "--format=%H", f"{base}..", "--", str(CEILINGS))
    for commit in (base, *since.split()):
        if content := git("show", f"{commit}:tools/house.json"):
            yield json.loads(content)


def raised(now: dict[str, Any], earlier: Iterator[dict[str, Any]]) -> set[str]:
    """Ceilings above an earlier one of the same issue, or of any if they name no issue."""
    found = set()
    for before in earlier:
        for name in now.keys() & before.keys():
            (most, issue), (most_before, issue_before) = map(LIMIT_OF, (now[name], before[name]))
            if most > most_before and issue in ("", issue_before):
                found.add(name)
    return found


def test_no_count_is_above_its_ceiling() -> None:
    done = subprocess.run(
        [sys.executable, str(TOOL), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_ceiling_is_raised_without_an_issue() -> None:
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("no git, or no checkout")
    if git("rev-parse", "--is-shallow-repository") != "false":
        pytest.skip("the clone has no history")
    assert not raised(json.loads(CEILINGS.read_bytes()), earlier_ceilings())


@each_row("house/size/only_an_allowance_not_yet_spent_raises_a_ceiling")
def test_only_an_allowance_not_yet_spent_raises_a_ceiling(now: Any, refused: bool) -> None:
    earlier: list[dict[str, Any]] = [{"lines": [10, "issue 58"]}, {"other": 3}]
    assert bool(raised({"lines": now, "new": 5}, iter(earlier))) is refused
