"""kill -9 while a corpus in Milvus is filled, changed and thinned out, beside one left alone.

    python research/scripts/bench_kills.py --corpora 12        # 36 kills, of a Milvus-lite of its own

Each corpus goes through three updates: a load, an upsert (new texts under old addresses, and new
addresses) and a delete (`--prune`). In each of them one process is killed at a change of the
corpus drawn by chance: the client (without Ray), the driver or a worker (with it), or the server,
which is then started anew. What died is run again. After each update every document, passage and
vector must be as in the corpus left alone. A second run skips the files that the first noted as
done, so a document that was acknowledged and lost would stay lost, and be seen.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from bench_parallel import PINCITE, QUIET, descendants, on_ray, quick_encoder, sentences

from pincite.cli import cli
from pincite.corpus import update
from pincite_cluster.milvus.client import Collections
from pincite_cluster.milvus.engine import Milvus

PHASES, VICTIMS = ("load", "upsert", "delete"), ("client", "server", "driver", "worker")
N_FILES, BATCH = 6, 20_000  # characters: a twentieth of what is else committed at once


class Server:
    """A Milvus-lite that can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [str(Path(sys.executable).with_name("milvus-lite")), "server", "--host"]
        command += ["127.0.0.1", "--port", str(self.port), "--data-dir", str(folder)]
        self._command = command
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, **QUIET)
        while socket.socket().connect_ex(("127.0.0.1", self.port)):
            time.sleep(0.1)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def write(files: Path, phase: int, n_documents: int) -> None:
    """The files as they are in a phase; unchanged ones are not touched."""
    files.mkdir(exist_ok=True)
    for number in range(N_FILES):
        numbers = range(number, n_documents + (phase > 0) * n_documents // 10, N_FILES)
        changed = 1 if phase and number % 3 == 0 else 0  # in every third file every text
        if phase == 2:
            numbers = numbers[:: 1 + number % 2]  # of every second file half is gone
        rows = []
        for n in numbers:
            chance = random.Random(f"{n} {changed}")  # noqa: S311
            rows.append({"url": f"https://e.example/{n}", "text": " ".join(sentences(chance, 20))})
        text, path = "\n".join(map(json.dumps, rows)), files / f"{number}.jsonl"
        if phase == 2 and number == N_FILES - 1:
            path.unlink()
        elif not path.exists() or path.read_text() != text:
            path.write_text(text)


def watched(arguments: list[str], last: int, kills_itself: bool) -> None:
    """Run the command; at its `last` change be killed, or say so. At the end say how many it had.

    An even `last` counts before the change is made, an odd one after it; 0 is the start.
    """
    n_changes = 0

    def reached() -> None:
        if kills_itself:
            os.kill(os.getpid(), signal.SIGKILL)
        print("now", flush=True)

    def counting(change: Any) -> Any:
        def changing(self: Collections, collection: str, rows: Any) -> None:
            nonlocal n_changes
            n_changes += bool(rows)
            at_last = bool(rows) and n_changes == last
            if at_last and last % 2 == 0:
                reached()
            change(self, collection, rows)
            if at_last and last % 2:
                reached()

        return changing

    for name in ("upsert", "remove"):
        setattr(Collections, name, counting(getattr(Collections, name)))
    vars(update)["BATCH_CHARS"] = BATCH
    if last == 0:
        reached()
    try:
        cli.main(arguments, standalone_mode=False)
    finally:
        print(n_changes, flush=True)


def run(line: list[str], last: int, victim: str, server: Server) -> tuple[int, str]:
    """How many changes were made, and how it ended. Without a victim nothing is killed."""
    itself = victim in ("client", "driver")
    spread = on_ray(2) if victim in ("driver", "worker") else []
    command = [sys.executable, __file__, "watched", str(last), str(int(itself)), *line, *spread]
    out: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, **out) as process:
        n_changes, how = 0, "nothing killed"
        for said in map(str.strip, process.stdout or ()):
            if said == "now":
                how = killed(process, victim, server)
            elif said.isdigit():
                n_changes = int(said)
        code = process.wait()
        if code == -signal.SIGKILL:
            how = f"{victim} killed"
        return n_changes, f"{how}, ended with {code}"


def killed(process: subprocess.Popen[str], victim: str, server: Server) -> str:
    if victim == "server":
        server.kill()
        server.start()
        return "server killed"
    until = time.monotonic() + 60  # until a worker works on what comes next
    while process.poll() is None and time.monotonic() < until:
        found = [p for p, name in descendants(process.pid).items() if name.startswith("ray::_")]
        if found:
            os.kill(found[0], signal.SIGKILL)
            return "worker killed"
        time.sleep(0.01)
    return "no worker worked"


def held(address: str) -> str:
    """A digest of every document, passage and vector; leftovers are swept before, counted not."""
    engine, digest = Milvus(), hashlib.sha256()
    engine.optimize(address, lambda *told: None, None)
    wrong = [f.problem for f in engine.verify(address, repair=False, tell=lambda *told: None)]
    with closing(Collections(address)) as there:
        there.manifest()
        for name, fields in (
            (there.documents, ["id", "version", "facts", "text", "n_blocks", "n_passages"]),
            (there.passages, ["id", "text", "words", "title", "facets", "vector"]),
        ):
            for row in there.rows(name, "", fields):
                digest.update(repr([row[field] for field in fields]).encode())
    return "; ".join([digest.hexdigest()[:16], *wrong])


def through(
    folder: Path, number: int, n_documents: int, expected: list[tuple[str, int]], server: Server
) -> list[tuple[str, int]]:
    """One corpus through its phases; with nothing expected it is the one left alone."""
    address, chance = f"milvus://127.0.0.1:{server.port}/kb{number}", random.Random(number)  # noqa: S311
    files, results = folder / f"files{number}", list[tuple[str, int]]()
    line = ["corpus", "update", "-q", "--prune", address, str(files)]
    line += ["--encoder", str(folder / "encoder")]
    for phase, name in enumerate(PHASES):
        write(files, phase, n_documents)
        if not expected:
            n_changes, _ = run(line, -1, "", server)
            results.append((held(address), n_changes))
            print(f"left alone, {name}: {results[-1]}", flush=True)
            continue
        digest, n_changes = expected[phase]
        victim, last = VICTIMS[(number + phase) % 4], chance.randrange(1, n_changes + 1)
        if (victim, name) == ("worker", "delete"):
            last = 0  # workers read then, and encode nothing
        _, how = run(line, last, victim, server)
        subprocess.run([*PINCITE, *line], check=True)
        found = held(address)
        same = "the same" if found == digest else f"DIFFERENT: {found}"
        print(f"{number} {name}, change {last} of {n_changes}: {how}; then {same}", flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--corpora", type=int, default=12, help="of three kills each")
    parser.add_argument("--documents", type=int, default=120)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        os.environ["PINCITE_CACHE"] = str(folder / "cache")  # nothing is known of earlier runs
        quick_encoder(folder)
        server = Server(folder / "milvus")
        try:
            expected = through(folder, 0, given.documents, [], server)
            for number in range(1, given.corpora + 1):
                through(folder, number, given.documents, expected, server)
        finally:
            server.kill()


if __name__ == "__main__":
    if sys.argv[1:2] == ["watched"]:
        watched(sys.argv[4:], int(sys.argv[2]), sys.argv[3] == "1")
    else:
        main()
