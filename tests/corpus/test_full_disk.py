"""A disk that is full while something is written: a clear error, and nothing committed is lost.

Two stand-ins for the disk. A limit on the size of files works everywhere, but lets every small file
through; a small disk in memory is really full, for the lock and the stamps too, but needs a kernel
that lets us mount one.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from corpus import disk_filler

from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.maintenance import verify

SCRIPT = Path(disk_filler.__file__)


@pytest.mark.parametrize("limit", [1_000, 20_000, 60_000])
@pytest.mark.parametrize("job", disk_filler.AFTER, ids=lambda job: job.__name__)
def test_files_that_may_not_grow(tmp_path: Path, job: Callable[[Path], None], limit: int) -> None:
    folder = tmp_path / "corpus"
    with EmbeddedCorpus.create(folder, disk_filler.ENCODER) as corpus:
        corpus.add(disk_filler.OLD)
    command = [sys.executable, str(SCRIPT), str(folder), job.__name__, str(limit)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert result.stdout in ("done", "refused"), result.stderr
    EmbeddedCorpus.open(folder, None, write=True).close()
    after = [disk_filler.AFTER[job]]
    assert disk_filler.stored(folder) in (
        after if result.stdout == "done" else [disk_filler.BEFORE, *after]
    )
    assert [finding for finding in verify(folder) if finding.counts] == []


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    if not shutil.which("unshare"):
        pytest.skip("needs unshare (Linux) for a disk of its own")
    command = ["unshare", "--mount", "--map-root-user", sys.executable, str(SCRIPT), str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if result.returncode == disk_filler.CANNOT_MOUNT or result.stderr.startswith("unshare:"):
        pytest.skip("this system lets no test mount a disk")
    assert result.returncode == 0, result.stdout + result.stderr
    cases = [line.split() for line in result.stdout.splitlines()]
    assert {job for job, *_ in cases} == {"add", "delete", "build_anew", "compact"}
    for job in ("add", "build_anew", "compact"):
        outcomes = [outcome for name, _, outcome, _ in cases if name == job]
        assert outcomes[0] == "refused", f"{job}: the disk was not full"
    assert [read for *_, read in cases].count("done") >= len(
        cases
    ) / 2  # all but those without a free byte
