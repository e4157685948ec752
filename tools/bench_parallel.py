"""Bulk work here and on Ray: overhead, the same results, and what kill -9 costs.

    python tools/bench_parallel.py load            # local, then 1, 2 and 4 workers
    python tools/bench_parallel.py kills --kills 10
    python tools/bench_parallel.py dump --articles 300

Texts are made up of words with fixed seeds. Corpora are compared by every document, passage and
vector that they hold, reports by every byte but the time at which they were made.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from xml.sax.saxutils import escape

from pincite.corpus.generation import current_name
from pincite.corpus.store import Store

PINCITE = [sys.executable, "-m", "pincite"]
WORDS = [
    a + b for a in "bridge river town mill tower road ferry".split() for b in ("", "s", "side")
]
OF_A_CORPUS = (
    "SELECT key, url, title, kind, published, language, meta, content_hash FROM documents",
    "SELECT key, document, first, last FROM passages",
    "SELECT document, number, data FROM blocks",
    "SELECT passage, vector FROM vectors",
)
PAGE = (
    "<page><title>{title}</title><ns>0</ns><revision><id>{n}</id>"
    "<timestamp>2024-01-02T03:04:05Z</timestamp><text>{text}</text></revision></page>"
)


def sentences(chance: random.Random, n: int) -> list[str]:
    """Sentences of twelve words and a year."""
    made = (
        f"The {' '.join(chance.choices(WORDS, k=12))} opened in {chance.randrange(1800, 2000)}."
        for _ in range(n)
    )
    return list(made)


def files(folder: Path, n_documents: int) -> Path:
    """Documents of some three passages, in five files of lines with a broken one in each."""
    chance, target = random.Random(22), folder / "files"  # noqa: S311
    target.mkdir()
    for number in range(5):
        rows = [
            json.dumps({"url": f"https://e.example/{n}", "text": " ".join(sentences(chance, 20))})
            for n in range(number, n_documents, 5)
        ]
        (target / f"{number}.jsonl").write_text("\n".join([*rows, "{broken"]))
    return target


def dump(folder: Path, n_articles: int) -> list[str]:
    """Articles with two citations each, of pages that say so or something else."""
    chance, pages, sources = random.Random(23), [], []  # noqa: S311
    for n in range(n_articles):
        said = sentences(chance, 2)
        marks = [f"<ref>[https://e.example/{n}/{i} Page]</ref>" for i in range(2)]
        text = "\n\n".join(f"{one} {mark}" for one, mark in zip(said, marks, strict=True))
        pages.append(PAGE.format(title=f"Article {n}", n=1_000 + n, text=escape(text)))
        for i, one in enumerate(said):
            found = [*sentences(chance, 5), one if chance.random() < 0.6 else ""]
            sources.append({"url": f"https://e.example/{n}/{i}", "text": " ".join(found)})
    (folder / "dump.xml").write_text(f'<mediawiki xml:lang="en">{"".join(pages)}</mediawiki>')
    (folder / "stored").mkdir()
    (folder / "stored" / "pages.jsonl").write_text("\n".join(map(json.dumps, sources)))
    names = "--dump", folder / "dump.xml", "--sources", folder / "stored"
    return ["verify", "-q", *map(str, names)]


def held(corpus: Path) -> str:
    """A digest of all that a corpus holds, in its order."""
    digest = hashlib.sha256()
    with closing(Store.open(corpus / current_name(corpus) / "store.sqlite", write=False)) as store:
        for query in OF_A_CORPUS:
            for row in store.rows(f"{query} ORDER BY 1, 2"):
                digest.update(repr(row).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def written(folder: Path) -> str:
    """A digest of the reports and the work-list in a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix == ".html":  # it says when it was made
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json" and "created" in (made := json.loads(text)):
            text = text.replace(made["created"], "")
        digest.update(f"{path.name}\n{text}".encode())
    return digest.hexdigest()[:16]


def on_ray(workers: int) -> list[str]:
    """The options; none of local work."""
    return ["--on", "ray", "--workers", str(workers)] if workers else []


def timed(command: list[str]) -> float:
    """Seconds until it ended well."""
    began = time.monotonic()
    subprocess.run([*PINCITE, *command], check=True)
    return time.monotonic() - began


def beside(folder: Path, command: list[str], out: str, digest: Callable[[Path], str]) -> None:
    """A command locally, then with 1, 2 and 4 workers; each result beside the first."""
    expected = ""
    for workers in (0, 1, 2, 4):
        target = folder / f"{out}{workers}"
        place = [] if command[0] == "verify" else [str(target)]
        into = ["--out", str(target)] if command[0] == "verify" else []
        at = 2 if command[0] == "corpus" else 1
        line = [*command[:at], *place, *command[at:], *into, *on_ray(workers)]
        seconds = timed(line)
        found = digest(target)
        expected = expected or found
        same = "the same" if found == expected else "DIFFERENT"
        print(f"{workers or 'local'}: {seconds:.1f} s, {found}, {same}", flush=True)


def descendants(pid: int) -> dict[int, str]:
    """The processes below one, with their names."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has ended
            continue
        parents.setdefault(parent, []).append(int(stat.parent.name))
    found, waiting = dict[int, str](), [pid]
    while waiting:
        for child in parents.get(waiting.pop(), []):
            waiting.append(child)
            try:
                found[child] = Path(f"/proc/{child}/cmdline").read_text()
            except OSError:
                continue
    return found


def runs(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def killed(command: list[str], victim: str, after: float, chance: random.Random) -> str:
    """Start a load, kill a part of it after some time, and wait for its end; how it went.

    A worker is one that works; if none does yet, and for the driver, the driver is killed.
    """
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*PINCITE, *command], **quiet) as process:
        try:
            return f"it had ended with {process.wait(after)}"
        except subprocess.TimeoutExpired:
            pass
        below = descendants(process.pid)
        names = {"worker": "ray::_", "cluster": "raylet"}
        found = [pid for pid, name in below.items() if names.get(victim, "none") in name[:200]]
        pid = chance.choice(found) if found else process.pid
        os.kill(pid, signal.SIGKILL)
        code = process.wait()
        deadline = time.monotonic() + 30
        while any(map(runs, below)) and time.monotonic() < deadline:
            time.sleep(0.1)  # what Ray started ends with its driver
        left = sum(map(runs, below))
        return f"{victim if found else 'driver'} killed, ended with {code}, {left} processes left"


def kills(folder: Path, n_documents: int, n_kills: int) -> None:
    """Loads that are killed, each then started again until it ends, beside one left alone."""
    source = str(files(folder, n_documents))
    alone = folder / "alone"
    seconds = timed(["corpus", "update", "-q", str(alone), source, *on_ray(2)])
    print(f"left alone: {seconds:.1f} s, {held(alone)}")
    for n in range(n_kills):
        chance, target = random.Random(100 + n), folder / f"killed{n}"  # noqa: S311
        command = ["corpus", "update", "-q", str(target), source, *on_ray(2)]
        victim = chance.choice(["driver", "worker", "cluster"])
        after = chance.uniform(0.5, 0.95) * seconds
        how = killed(command, victim, after, chance)
        subprocess.run([*PINCITE, *command], check=True)
        subprocess.run([*PINCITE, "corpus", "verify", "-q", str(target)], check=True)
        same = "the same" if held(target) == held(alone) else "DIFFERENT"
        print(f"{n}: after {after:.1f} s {how}; then {held(target)}, {same}", flush=True)


def main() -> None:
    """One of the three."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("what", choices=["load", "kills", "dump"])
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--articles", type=int, default=300)
    parser.add_argument("--kills", type=int, default=10)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        os.environ["PINCITE_CACHE"] = str(folder / "cache")  # nothing is known of earlier runs
        if given.what == "load":
            source = files(folder, given.documents)
            beside(folder, ["corpus", "update", "-q", str(source)], "kb", held)
        elif given.what == "dump":
            beside(folder, dump(folder, given.articles), "out", written)
        else:
            kills(folder, given.documents, given.kills)


if __name__ == "__main__":
    main()
