"""A WAFER-like collection of a whole dump: pages a minute, memory, and kill -9 in between.

    python research/scripts/bench_claims.py --articles 20000 --kills 3

Writes a dump of invented articles (paragraphs, lists, tables, infoboxes, tagged citations), then
runs `pincite wafer --out` on it alone, and again with a kill after every 200 to 3,000 articles
drawn by chance. Both collections must have the same bytes.
"""

import argparse
import bz2
import hashlib
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

FIRST = "Or Ves Tal Mir Kan Bel Dru Sol Fen Gar Hol Ist Jor Lun Nor Pel Rav Sil Tur Und Wes".split()
SECOND = "sel dorf mark holm stad ville ham by wick ford berg ness vik bro lund mere".split()
PLACES = "harbour mill church school market bridge library station theatre lighthouse".split()
EVENTS = "opened closed burned moved grew flooded merged reopened".split()
PAGE = """<page><title>{title}</title><ns>0</ns><id>{n}</id><revision><id>{n}00</id>
<timestamp>2020-01-01T00:00:00Z</timestamp><text>{text}</text></revision></page>
"""


class Writer:
    """Invents articles; the same seed gives the same ones."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311

    def name(self) -> str:
        return self.chance.choice(FIRST) + self.chance.choice(SECOND)

    def citation(self) -> str:
        c, place = self.chance, self.chance.choice(PLACES)
        if c.random() < 0.2:
            return f"<ref>{self.name()}, A. ''The {place}s'', p. {c.randrange(300)}.</ref>"
        url = f"https://{self.name().lower()}.example/{c.randrange(150_000)}"
        tag = "{{failed verification|date=May 2020}}" if c.random() < 0.004 else ""
        return f"<ref>{{{{cite web|url={url}|title={self.name()} {place}}}}}</ref>{tag}"

    def sentence(self, title: str) -> str:
        c, place, event = self.chance, self.chance.choice(PLACES), self.chance.choice(EVENTS)
        text = c.choice(
            [
                f"The {place} of [[{self.name()}]] {event} in {c.randrange(1700, 2020)}.",
                f"It {event} after the {place} was sold for {c.randrange(2, 900)},000 crowns.",
                f"{title} has {c.randrange(2, 40)} {place}s and {c.randrange(90_000):,} people.",
                f"{self.name()} {self.name()} became the head of the {place} in 1{c.randrange(999)}.",
            ]
        )
        return text + (self.citation() if c.random() < 0.5 else "")

    def article(self, number: int) -> tuple[str, str]:
        c, title = self.chance, f"{self.name()} {self.name()} {number}"
        parts = ["{{Featured article}}"] if number % 200 == 7 else []
        if number % 3 == 0:
            parts.append(f"{{{{Infobox town|name={title}|founded=1{c.randrange(999)}}}}}")
        parts.append(f"'''{title}''' is a town.{self.citation()}")
        for _ in range(c.randrange(1, 7)):
            parts.append(f"== {c.choice(PLACES).title()} ==")
            for _ in range(c.randrange(1, 5)):
                lines = [self.sentence(title) for _ in range(c.randrange(2, 8))]
                parts.append(" ".join(lines) + "\n")
            if c.random() < 0.3:
                parts += ["* " + self.sentence(title) for _ in range(4)]
            if c.random() < 0.2:
                rows = [f"|-\n| {c.randrange(2020)} || 9{self.citation()}" for _ in range(5)]
                parts += ['{| class="wikitable"\n! Year !! Number', *rows, "|}"]
        return title, "\n".join(parts)


def write_dump(path: Path, n_articles: int) -> None:
    writer = Writer(48)
    with bz2.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
        file.write('<mediawiki xml:lang="en">\n')
        for number in range(1, n_articles + 1):
            title, text = writer.article(number)
            file.write(PAGE.format(title=title, n=number, text=escape(text)))
        file.write("</mediawiki>\n")


def n_done(target: Path) -> int:
    """Articles of an unfinished collection."""
    try:
        state = json.loads(
            target.with_name(f"{target.name}.part").joinpath("state.json").read_text()
        )
    except (FileNotFoundError, ValueError):
        return 0
    return int(state["counts"]["articles"])


def run(dump: Path, target: Path, kill_at: int = 0) -> tuple[float, float, int]:
    """Run until the end, or until so many articles are done; seconds, CPU seconds and peak MB."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "pincite", "wafer", str(dump), "--out", str(target), "-q"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak, cpu = 0, 0.0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
            peak = next(int(x.split()[1]) for x in status.splitlines() if x.startswith("VmHWM"))
            fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            cpu = (int(fields[11]) + int(fields[12])) / 100
        except (OSError, StopIteration):
            pass
        if kill_at and n_done(target) >= kill_at:
            process.kill()
            process.wait()
            break
        time.sleep(0.2)
    if not kill_at and process.returncode:
        raise SystemExit(f"pincite claims ended with {process.returncode}")
    return time.perf_counter() - start, cpu, peak // 1024


def digest(folder: Path) -> str:
    files = sorted(folder.iterdir())
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def show(**values: Any) -> None:
    print(" · ".join(f"{name} {value}" for name, value in values.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--articles", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=3)
    given = parser.parse_args()
    chance = random.Random(given.articles)  # noqa: S311
    with tempfile.TemporaryDirectory() as scratch:
        dump = Path(scratch) / "dump.xml.bz2"
        write_dump(dump, given.articles)
        show(articles=given.articles, dump_mb=round(dump.stat().st_size / 1e6, 1))
        killed, alone = Path(scratch) / "killed", Path(scratch) / "alone"
        for _ in range(given.kills):
            at = n_done(killed) + chance.randrange(200, max(201, min(3_000, given.articles // 4)))
            seconds, cpu, peak = run(dump, killed, at)
            show(killed_at=n_done(killed), seconds=round(seconds), cpu=round(cpu), peak_mb=peak)
        before = n_done(killed)
        seconds, cpu, peak = run(dump, killed)
        show(finished_from=before, seconds=round(seconds), cpu=round(cpu), peak_mb=peak)
        seconds, cpu, peak = run(dump, alone)
        pages = round(60 * given.articles / cpu)
        show(alone_seconds=round(seconds), cpu=round(cpu), peak_mb=peak, pages_per_cpu_minute=pages)
        print((alone / "counts.json").read_text())
        show(same_bytes=digest(killed) == digest(alone))


if __name__ == "__main__":
    main()
