"""A disk that is full while something is written: a clear error, and nothing committed is lost.

Two stand-ins for the disk. A limit on the size of files works everywhere, but lets every small file
through; a small disk in memory is really full, for the lock and the stamps too, but needs a kernel
that lets us mount one.
"""

import json
import random
import re
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


def test_an_add_that_fills_the_disk_says_how_many_documents_there_are(tmp_path: Path) -> None:
    words = random.Random(1)
    with (tmp_path / "many.jsonl").open("w") as file:
        for i in range(1_000):
            text = " ".join(f"{words.randrange(10**9):x}" for _ in range(300))
            file.write(
                json.dumps({"url": f"https://a.example/{i}", "text": f"It has {text}."}) + "\n"
            )
    (tmp_path / "one.txt").write_text("The bridge opened in 1911.")

    code = (
        "import resource, sys\n"
        "from pincite.cli import main\n"
        "from pincite.documents import text\n"
        "text.detect(20 * 'Its model is unpacked into a file. ')\n"
        "limit = int(sys.argv.pop(1))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))\n"
        "main()\n"
    )

    def add(path: str, limit: int) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-c", code, str(limit), "corpus", "add", "kb", path]
        return subprocess.run(
            [*command, "--no-vectors", "-q"],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )

    assert add("one.txt", 1 << 30).returncode == 0
    refused = add("many.jsonl", 1_500_000)
    with EmbeddedCorpus.open(tmp_path / "kb", None) as corpus:
        n_documents = corpus.status().n_documents
    assert refused.returncode in (4, 7), refused.stderr
    assert 1 < n_documents < 1_001
    assert re.findall(r"\b\d+\b", refused.stderr.splitlines()[0]) == [str(n_documents), "1"]
