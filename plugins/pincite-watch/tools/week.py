"""Simulate a week of edits on a real MediaWiki while the watcher is killed; then check it all anew.

    python plugins/pincite-watch/tools/week.py FOLDER [--articles 300] [--edits 1500] [--kills 20]

Needs Debian's mediawiki and php. Texts are generated: most sentences say what their source says.
The watcher runs after each round of edits, and is killed before a random write; 50 readers ask the
API during the first run. At the end, another watcher checks every page from scratch: what only it
finds was lost, what only the old one has was kept wrongly. Both share the cache of judged pairs.
"""

import argparse
import json
import os
import random
import resource
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event
from urllib.parse import urlencode
from urllib.request import urlopen

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests"))
from support import mediawiki  # noqa: E402
from support.mediawiki import MediaWiki  # noqa: E402

READERS, ROUNDS, PAUSE = 50, 7, 1.0  # a reader asks again after PAUSE seconds
# Kills `pincite watch` before the Nth statement that writes; 0: never.
RUN = """
import os, signal, sys
import sqlalchemy as sa
when, n, execute = int(sys.argv[1]), 0, sa.Connection.execute
def writes(self, statement, *more, **options):
    global n
    n += getattr(statement, "is_dml", False)
    if when and n == when:
        os.kill(os.getpid(), signal.SIGKILL)
    return execute(self, statement, *more, **options)
sa.Connection.execute = writes
sys.argv = ["pincite", *sys.argv[2:]]
from pincite.cli import main
main()
"""
THINGS = "bridge,mill,brewery,lighthouse,school,library,chapel,railway station,theatre,market hall"
PLACES = "Varde,Ostrup,Lindholm,Tolne,Ravnsborg,Sundby,Hadrup,Kolding Mark,Elmstead,Brinkby"
PEOPLE = "Hedda Lind,Otto Krag,Ida Brandt,Jens Holm,Agnes Ryberg,Paul Stenner,Marie Voss"
MONTHS = "January,March,April,June,August,October,December"
# What articles say, what their sources say, and the field that a fault changes.
FACTS = [row.split("\t") for row in Path(__file__).with_suffix(".tsv").read_text().splitlines()]
UNSAID = "The {thing} of {place} was praised by {who} as the finest of its kind."
FILLER = (
    "Visitors came by boat in summer. The council met twice a year. A toll paid for repairs.",
    "A school stood next to it until {other}. Tickets cost 25 pence in {other}.",
    "The parish counted 840 people in {other}. A flood in May {other} did little harm.",
)
# A sound sentence; one with another value; its source is about another thing of the place; what no
# source says; an address that leads to nothing.
FAULTS = {"none": 66, "value": 16, "subject": 6, "unsaid": 8, "missing": 4}


class Writer:
    def __init__(self, wiki: MediaWiki, seed: int) -> None:
        self.wiki, self.random, self.n = wiki, random.Random(seed), 0  # noqa: S311
        self.faults: dict[str, tuple[str, str, str]] = {}  # of an address: fault, field, text

    def values(self) -> dict[str, str]:
        number = self.random.randint
        words = {"thing": THINGS, "place": PLACES, "who": PEOPLE, "month": MONTHS}
        named = {key: self.random.choice(some.split(",")) for key, some in words.items()}
        years = {key: f"{number(1820, 1990)}" for key in ("year", "other")}
        return named | years | {"count": f"{number(11, 480)}", "day": f"{number(1, 28)}"}

    def sentence(self) -> str:
        """A sentence with a reference to a new page."""
        self.n += 1
        values, (stated, source, changed) = self.values(), self.random.choice(FACTS)
        fault = self.random.choices([*FAULTS], [*FAULTS.values()])[0]
        said = dict(values)
        if fault == "subject":  # the source gives the field of another thing
            said["thing"] = self.random.choice([x for x in THINGS.split(",") if x != said["thing"]])
        if fault in ("value", "subject"):
            while values[changed] == said[changed]:
                values[changed] = self.values()[changed]
        url = f"{self.wiki.sources.url}/none-{self.n}.html"
        if fault != "missing":
            page = "The {thing} of {place} is well known. " + source
            page += f" {self.random.choice(FILLER)}"
            title = f"A history of {values['place']}, part {self.n}"
            url = self.wiki.sources.put(f"page-{self.n}.html", page.format(**said), title)
        text = (UNSAID if fault == "unsaid" else stated).format(**values)
        self.faults[url] = (fault, changed, page.format(**said) if fault != "missing" else "")
        return f"{text}<ref>{{{{cite web |url={url} |title=Part {self.n}}}}}</ref>"

    def article(self, n_citations: int) -> str:
        sentences = [self.sentence() for _ in range(n_citations)]
        paragraphs = [" ".join(sentences[at : at + 4]) for at in range(0, n_citations, 4)]
        return "\n\n".join(["'''It''' is a district.", *paragraphs]) + "\n"


class Editors:
    def __init__(self, writer: Writer, titles: list[str]) -> None:
        self.writer, self.wiki, self.random = writer, writer.wiki, writer.random
        self.titles, self.vandalised, self.done = titles, list[str](), Counter[str]()

    def edit(self) -> None:
        kinds = "reword add remove reorder source vandalise revert move delete".split()
        shares = (22, 18, 12, 16, 12, 12, 50 * bool(self.vandalised), 6, 2)
        kind = self.random.choices(kinds, shares)[0]
        title = self.random.choice([t for t in self.titles if t not in self.vandalised])
        self.done[kind] += 1
        if kind == "revert":
            self.wiki.revert(self.vandalised.pop())
        elif kind == "move":
            self.titles.remove(title)
            self.titles.append(f"{title} {self.done[kind]}")
            self.wiki.move(title, self.titles[-1])
        elif kind == "delete":
            self.titles.remove(title)
            self.wiki.delete(title)
        else:
            self.vandalised += [title] if kind == "vandalise" else []
            self.wiki.edit(title, self.changed(kind, self.wiki.text(title)))

    def changed(self, kind: str, text: str) -> str:
        lead, *paragraphs = text.strip().split("\n\n")
        at = self.random.randrange(len(paragraphs))
        parts = [f"{part}</ref>" for part in paragraphs[at].split("</ref>") if part.strip()]
        if kind == "vandalise":
            return "lol"
        if kind == "add" or not parts:
            parts.append(f" {self.writer.sentence()}")
        elif kind == "remove" and len(parts) > 1:
            parts.pop(self.random.randrange(len(parts)))
        elif kind == "reword":
            parts[0] = parts[0].replace("The ", "The old ", 1)
        elif kind == "source":
            parts[-1] = f"{parts[-1].partition('<ref>')[0]}<ref>{parts[0].partition('<ref>')[2]}"
        paragraphs[at] = "".join(parts)
        if kind == "reorder":
            self.random.shuffle(paragraphs)
        return "\n\n".join([lead, *paragraphs]) + "\n"


def watch(folder: Path, data: str, kill_at: int = 0) -> int:
    given = "--titles titles.txt --online --once --settle 0 --public --quiet".split()
    given += "--citations 1e9 --cpu-seconds 1e9 --requests 1e9 --data".split()
    command = [sys.executable, "-c", RUN, str(kill_at), "watch", *given, data]
    with (folder / "watch.log").open("ab") as log:
        return subprocess.run(command, cwd=folder, stdout=log, stderr=log, check=False).returncode


def rows(folder: Path, data: str, statement: str) -> list[sqlite3.Row]:
    with sqlite3.connect(folder / data / "pincite.sqlite") as db:
        db.row_factory = sqlite3.Row
        return db.execute(statement).fetchall()


def live(folder: Path, data: str) -> Counter[tuple[object, ...]]:
    found = rows(folder, data, "select * from watch_findings where state = 'live'")
    names = ("page_id", "claim_sha256", "source_hash", "kind", "span_start", "span_sha256")
    return Counter(tuple(row[name] for name in names) for row in found)


def published(folder: Path, faults: dict[str, tuple[str, str, str]]) -> Counter[str]:
    """Published findings by kind, planted fault and field; published.tsv has them for a reader."""
    found = rows(folder, "week", "select * from watch_findings where state = 'live' and published")
    lines, n = list[str](), Counter[str]()
    for row in found:
        record = json.loads(row["record"])
        fault, changed, text = faults[record["source_url"]]
        n[f"{row['kind']}, {fault} {changed}"] += 1
        lines.append("\t".join((row["kind"], fault, row["claim"], record["quote"], text)))
    (folder / "published.tsv").write_text("\n".join(sorted(lines)))
    return n


def counted(folder: Path) -> Counter[str]:
    found = rows(folder, "week", "select * from watch_counts")
    return Counter({row["what"]: int(row["n"]) for row in found})


def read_while(running: Callable[[], object], folder: Path, ask: str) -> dict[str, float]:
    """Readers of the API while something runs: seconds of a request, and the server's memory."""
    command = [sys.executable, "-m", "pincite", "serve", "--port", "8791", "--data", "week"]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    ended, seconds = Event(), list[float]()

    def read() -> None:
        while not ended.wait(PAUSE):
            began = time.perf_counter()
            with suppress(OSError), urlopen(ask, timeout=60) as reply:  # noqa: S310
                reply.read()
                seconds.append(time.perf_counter() - began)

    with ThreadPoolExecutor(READERS) as pool:
        _ = [pool.submit(read) for _ in range(READERS)]
        running()
        ended.set()
    status = Path(f"/proc/{server.pid}/status").read_text().partition("VmHWM:")[2]
    server.terminate()
    server.wait()
    p95 = sorted(seconds)[int(0.95 * len(seconds))] if seconds else 0.0
    return {"requests": len(seconds), "p95": p95, "server MB": int(status.split()[0]) / 1024}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    numbers = {"articles": 300, "citations": 17, "edits": 1500, "kills": 20, "seed": 1}
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    folder = given.folder.resolve()
    (folder / "wiki").mkdir(parents=True)
    os.environ |= {"XDG_CONFIG_HOME": str(folder), "PINCITE_CACHE": str(folder / "cache")}
    wiki = mediawiki.start(folder / "wiki")
    try:
        print(json.dumps(simulate(wiki, folder, given), indent=1))
    finally:
        wiki.stop()


def simulate(wiki: MediaWiki, folder: Path, given: argparse.Namespace) -> dict[str, object]:
    hosts = json.dumps([url.removeprefix("http://") for url in (wiki.url, wiki.sources.url)])
    web = f"[web]\nonline = true\npause = 0\ncontact = 'me@example.org'\nprivate_hosts = {hosts}\n"
    (folder / "pincite.toml").write_text(f"verify.wiki = '{wiki.url}/w'\nmodels.threads = 1\n{web}")
    writer = Writer(wiki, given.seed)
    titles = [f"District {n}" for n in range(given.articles)]
    for title in titles:
        wiki.edit(title, writer.article(given.citations))
    (folder / "titles.txt").write_text("\n".join(titles))
    asked = urlencode({"wiki": wiki.url.partition("://")[2], "title": titles[0]})
    ask = f"http://127.0.0.1:8791/api/v1/findings?{asked}"
    readers = read_while(lambda: watch(folder, "week"), folder, ask)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    first = counted(folder)
    editors, killed = Editors(writer, titles), 0
    for number in range(ROUNDS):
        for _ in range(number, given.edits, ROUNDS):
            editors.edit()
        for _ in range(number, given.kills, ROUNDS):
            killed += watch(folder, "week", writer.random.randint(1, 60)) < 0
        watch(folder, "week")
        print(f"round {number + 1}: {killed} kills", file=sys.stderr, flush=True)
    counts = counted(folder)
    (folder / "titles.txt").write_text("\n".join(titles))
    watch(folder, "again")
    old, new = live(folder, "week"), live(folder, "again")
    judged = counts["judged"] - first["judged"]
    return {
        "edits": editors.done,
        "killed": killed,
        "first run": {"used": first, "readers": readers, "watcher MB": used.ru_maxrss / 1024},
        "published": published(folder, writer.faults),
        "edited": {"judged": judged, "kept": counts["kept"], "withdrawn": counts["withdrawn"]},
        "share saved": counts["kept"] / max(1, counts["kept"] + judged),
        "live": {"week": old.total(), "full run": new.total()},
        "lost": (new - old).total(),
        "kept wrongly": (old - new).total(),
    }


if __name__ == "__main__":
    main()
