"""Bulk work here and on Ray: overhead, the same results, and what kill -9 costs.

    python research/scripts/bench_parallel.py load            # local, then 1, 2 and 4 workers
    python research/scripts/bench_parallel.py kills --kills 10
    python research/scripts/bench_parallel.py dump --articles 1000 --citations 1 --workers 0 2
    python research/scripts/bench_parallel.py dump-kills --articles 60 --citations 1 --kills 6

Texts are made up of words with fixed seeds. Corpora are compared by every document, passage and
vector that they hold, reports by every byte but the time at which they were made.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from pincite.corpus.generation import current_name
from pincite.corpus.store import Store
from pincite.errors import CorpusError
from pincite.models import weights

PINCITE = [sys.executable, "-m", "pincite"]
WORDS = [
    a + b for a in "bridge river town mill tower road ferry".split() for b in ("", "s", "side")
]
QUIET: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
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


def dump(folder: Path, n_articles: int, n_citations: int) -> list[str]:
    """Articles with so many citations each, of pages that say so or something else."""
    chance, pages, sources = random.Random(23), [], []  # noqa: S311
    for n in range(n_articles):
        said = sentences(chance, n_citations)
        marks = [f"<ref>[https://e.example/{n}/{i} Page]</ref>" for i in range(n_citations)]
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


def beside(
    command: list[str], out: Path, digest: Callable[[Path], str], all_workers: Sequence[int]
) -> None:
    """A command with each number of workers, 0 for local; each result beside the first."""
    expected = ""
    for workers in all_workers:
        target = out.with_name(f"{out.name}{workers}")
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


def begun(process: subprocess.Popen[bytes]) -> bool:
    """Wait until a worker of it works; False if it ended before."""
    while process.poll() is None:
        if any(name.startswith("ray::_") for name in descendants(process.pid).values()):
            return True
        time.sleep(0.05)
    return False


def killed(command: list[str], victim: str, after: float, chance: random.Random) -> str:
    """Start a load, kill a part of it so long after its workers began; how it went.

    If no worker works just then, and for the driver, the driver is killed.
    """
    with subprocess.Popen([*PINCITE, *command], **QUIET) as process:
        begun(process)
        try:
            return f"it had ended with {process.wait(after)}"
        except subprocess.TimeoutExpired:
            pass
        below = descendants(process.pid)
        names = {"worker": "ray::_", "cluster": "raylet"}
        found = [pid for pid, name in below.items() if names.get(victim, "none") in name[:200]]
        os.kill(chance.choice(found) if found else process.pid, signal.SIGKILL)
        code = process.wait()
        deadline = time.monotonic() + 30
        while any(map(runs, below)) and time.monotonic() < deadline:
            time.sleep(0.1)  # what Ray started ends with its driver
        left = sum(map(runs, below))
        return f"{victim if found else 'driver'} killed, ended with {code}, {left} processes left"


def quick_encoder(folder: Path) -> str:
    """The shipped encoder, which reads the first tokens only: so that commits come often."""
    made = folder / "encoder"
    shutil.copytree(weights.locate(weights.ENCODER), made)
    card = json.loads((made / "pincite.json").read_text())
    (made / "pincite.json").write_text(json.dumps(card | {"max_tokens": 8}))
    return str(made)


def kills(folder: Path, n_documents: int, seeds: range) -> None:
    """Loads that are killed, each then started again until it ends, beside one left alone."""
    source, encoder = str(files(folder, n_documents)), quick_encoder(folder)

    def update(corpus: Path, workers: int) -> list[str]:
        line = ["corpus", "update", "-q", str(corpus), source, "--encoder", encoder]
        return [*line, *on_ray(workers)]

    alone = folder / "alone"
    with subprocess.Popen([*PINCITE, *update(alone, 2)]) as process:
        begun(process)
        start = time.monotonic()
        process.wait()
    seconds = time.monotonic() - start
    print(f"left alone: {seconds:.1f} s from the first task on, {held(alone)}", flush=True)
    for n in seeds:
        chance, target = random.Random(n), folder / f"killed{n}"  # noqa: S311
        victim = ("driver", "worker", "cluster")[n % 3]
        after = chance.uniform(0, 0.9) * seconds
        how = killed(update(target, 2), victim, after, chance)
        kept = n_held(target)
        # Whoever goes on may do so anywhere: here, which starts quicker.
        subprocess.run([*PINCITE, *update(target, 0)], check=True)
        subprocess.run([*PINCITE, "corpus", "verify", "-q", str(target)], check=True)
        same = "the same" if held(target) == held(alone) else "DIFFERENT"
        print(f"seed {n}: after {after:.1f} s {how}; {kept} kept; then {same}", flush=True)


def dump_kills(folder: Path, n_articles: int, n_citations: int, seeds: range) -> None:
    """The same of a dump: reports that were killed and finished here, beside those left alone."""
    line, alone = dump(folder, n_articles, n_citations), folder / "alone"
    seconds = timed([*line, "--out", str(alone)])
    for n in seeds:
        chance, out = random.Random(n), folder / f"out{n}"  # noqa: S311
        os.environ["PINCITE_CACHE"] = str(folder / f"cache{n}")  # what was judged is not known
        command, victim = [*line, "--out", str(out)], ("driver", "worker", "cluster")[n % 3]
        how = killed([*command, *on_ray(2)], victim, chance.uniform(0, 0.4) * seconds, chance)
        kept = len(list(out.glob("*.json"))) if out.exists() else 0
        subprocess.run([*PINCITE, *command], check=True)
        same = "the same" if written(out) == written(alone) else "DIFFERENT"
        print(f"seed {n}: {how}; {kept} reports kept; then {same}", flush=True)


def n_held(corpus: Path) -> int:
    """Documents in a corpus, if there is one yet."""
    try:
        name = current_name(corpus)
    except CorpusError:
        return 0
    with closing(Store.open(corpus / name / "store.sqlite", write=False)) as store:
        return store.n_documents()


def main() -> None:
    """One of the four."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("what", choices=["load", "kills", "dump", "dump-kills"])
    parser.add_argument("--documents", type=int, default=200, help="1,200 for kills")
    parser.add_argument("--articles", type=int, default=300)
    parser.add_argument("--citations", type=int, default=2, help="of an article")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=100, help="of the first kill")
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2, 4], help="0: local")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        os.environ["PINCITE_CACHE"] = str(folder / "cache")  # nothing is known of earlier runs
        if given.what == "load":
            source = files(folder, given.documents)
            beside(["corpus", "update", "-q", str(source)], folder / "kb", held, given.workers)
        elif given.what == "dump":
            made = dump(folder, given.articles, given.citations)
            beside(made, folder / "out", written, given.workers)
        elif given.what == "dump-kills":
            seeds = range(given.seed, given.seed + given.kills)
            dump_kills(folder, given.articles, given.citations, seeds)
        else:
            kills(folder, given.documents, range(given.seed, given.seed + given.kills))


if __name__ == "__main__":
    main()
