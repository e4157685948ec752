"""Jobs on a full disk, started by test_full_disk.py.

FOLDER: mounts a small disk there, and for each job and each number of free bytes makes a corpus on
it, fills the disk up, does the job, and looks at everything: while the disk is full and afterwards.
A line a case says what became of the job; what must not be ends the process with its traceback.
FOLDER JOB LIMIT: does one job on a corpus whose files may not grow beyond LIMIT bytes.
"""

import errno
import itertools
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from support.laws import FakeEncoder

from pincite.corpus import dense
from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.maintenance import optimize, rebuild, verify
from pincite.errors import CorpusError
from pincite.retrieval.filters import Filters
from pincite.types import Document

CANNOT_MOUNT = 77
FREE = (0, 40_960, 307_200)
ENCODER, OTHER = FakeEncoder(64), FakeEncoder(96)
OLD = [Document(f"u:{i}", f"Page {i}", f"Words of page{i}. " * 60) for i in range(40)]
NEW = [Document(f"n:{i}", f"New {i}", f"Novelty of page{i}. " * 60) for i in range(40)]
State = list[Document | None]
ADDRESSES = [document.url for document in (*OLD, *NEW)]


def add(folder: Path) -> None:
    with EmbeddedCorpus.open(folder, ENCODER, write=True) as corpus:
        corpus.add(NEW)


def delete(folder: Path) -> None:
    with EmbeddedCorpus.open(folder, ENCODER, write=True) as corpus:
        corpus.delete([document.url for document in OLD[:20]])


def build_anew(folder: Path) -> None:
    rebuild(folder, OTHER)


def compact(folder: Path) -> None:
    optimize(folder)


BEFORE: State = [*OLD, *[None] * len(NEW)]
AFTER: dict[Callable[[Path], None], State] = {
    add: [*OLD, *NEW],
    delete: [*[None] * 20, *OLD[20:], *[None] * len(NEW)],
    build_anew: BEFORE,
    compact: BEFORE,
}


def fill(path: Path, n_free: int) -> None:
    """A file that takes all of the disk but so many bytes."""
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4_096))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        file.truncate(max(0, file.tell() - n_free))


def stored(folder: Path) -> State:
    """What a reader finds; by words, by meaning and by address it is the same."""
    with EmbeddedCorpus.open(folder, None) as corpus:
        encoder = ENCODER if corpus.manifest()["encoder"] == ENCODER.fingerprint else OTHER
    with EmbeddedCorpus.open(folder, encoder) as corpus:
        found = corpus.get(ADDRESSES)
        by_words = [corpus.lexical(), corpus.lexical(filters=Filters(kinds=("text",)))]
        for document in (document for document in found[15:60:5] if document):
            word = document.text.split()[2].strip(".")
            for retriever in by_words:
                assert document.url in {h.passage.url for h in retriever.retrieve([word], 200)[0]}
            [[hit]] = corpus.dense().retrieve([f"{document.title}\n{document.text[:400]}"], 1)
            assert hit.score > 0.5
        return found


def attempt(what: str, job: Callable[[], object]) -> str:
    """ "done", or why it was refused: as one of our errors, which speaks of the disk."""
    try:
        job()
    except CorpusError as error:
        if "disk" not in str(error):
            raise AssertionError(f"{what}: the error does not speak of the disk") from error
        return "refused"
    return "done"


def case(folder: Path, job: Callable[[Path], None], n_free: int) -> str:
    with EmbeddedCorpus.create(folder, ENCODER) as corpus:
        corpus.add(OLD)
    ballast, what = folder.with_name("ballast"), f"{job.__name__} with {n_free} free"
    fill(ballast, n_free)
    outcome = attempt(what, lambda: job(folder))
    seen: list[State] = []
    read = attempt(f"{what}, reading", lambda: seen.append(stored(folder)))
    ballast.unlink()
    allowed = [AFTER[job]] if outcome == "done" else [BEFORE, AFTER[job]]
    assert all(state in allowed for state in seen), f"{what}: read something else"
    with EmbeddedCorpus.open(folder, None, write=True):
        pass  # whoever opens it next brings it up to date
    assert stored(folder) in allowed, f"{what}: something was lost"
    faults = [finding for finding in verify(folder) if finding.counts]
    assert not faults, f"{what}: {faults}"
    job(folder)
    assert stored(folder) == AFTER[job], f"{what}: not mended by doing it again"
    shutil.rmtree(folder)
    return f"{job.__name__} {n_free} {outcome} {read}"


def main() -> None:
    if len(sys.argv) > 2:
        folder, name, limit = sys.argv[1:]
        (job,) = (job for job in AFTER if job.__name__ == name)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
        sys.stdout.write(attempt(name, lambda: job(Path(folder))))
        return
    mount = Path(sys.argv[1])
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(mount)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        sys.exit(CANNOT_MOUNT)
    dense.EXACT_LIMIT = 30  # so that a vector index is built
    for job, n_free in itertools.product(AFTER, FREE):
        sys.stdout.write(case(mount / "corpus", job, n_free) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
