"""Pages and results under load: many people read while jobs run on the same cores.

    python research/scripts/bench_server.py [--users 50] [--jobs 4] [--seconds 60] [--database URL]

Starts `pincite serve` on loopback with a folder of its own, keeps JOBS jobs running, and lets USERS
read: the list, a job, its result, its page, with a pause between two readings as people make it.
Prints times by what was read, errors, and memory of the server and of the jobs' processes.
"""

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import httpx2
import numpy as np

DEMO = Path(__file__).parents[2] / "src" / "pincite" / "demo" / "verify" / "article.wiki"
PAUSE_SECONDS = 2.0  # between two readings of one person, on average
N_DONE = 20  # results that are there to be read


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--database", default="")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pincite-bench-") as folder:
        settings = {"DATA": folder, "DATABASE": given.database, "QUEUE": "1000", "LOG": "json"}
        server = subprocess.Popen(
            [sys.executable, "-m", "pincite", "serve", "--port", "0", "--jobs", str(given.jobs)],
            env=os.environ | {f"PINCITE_SERVER_{key}": value for key, value in settings.items()},
            stderr=subprocess.PIPE,
            text=True,
        )
        assert server.stderr
        url = server.stderr.readline().partition("Pincite is at ")[2].split("/   ")[0]
        try:
            asyncio.run(measured(url, server.pid, given))
        finally:
            server.terminate()
            server.wait()


async def measured(url: str, pid: int, given: argparse.Namespace) -> None:
    """Prepare, read, report."""
    limits = httpx2.Limits(max_connections=given.users + 10)
    async with httpx2.AsyncClient(base_url=url, timeout=30.0, limits=limits) as client:
        done = [await start(client, {"example": "article"}) for _ in range(N_DONE)]
        while not all([(await client.get(f"/api/v1/jobs/{j}")).json()["finished"] for j in done]):
            await asyncio.sleep(0.5)
        paths = ["/api/v1/jobs", "/api/v1/jobs/{}", "/api/v1/jobs/{}/result", "/jobs/{}"]
        there = [p for p in paths if (await client.get(p.format(done[0]))).status_code == 200]
        seconds: dict[str, list[float]] = defaultdict(list)
        errors: list[str] = []
        memory: list[tuple[int, int]] = []
        end = time.monotonic() + given.seconds
        people = [reader(client, there, done, end, seconds, errors) for _ in range(given.users)]
        n_jobs, *_ = await asyncio.gather(
            busy(client, given.jobs, end), watched(pid, end, memory), *people
        )
    print(
        f"{given.users} users, {given.jobs} jobs at once, {given.seconds:g} s; {n_jobs} jobs ended"
    )
    print(f"{'read':<26}{'n':>7}{'p50':>9}{'p95':>9}{'p99':>9}{'max':>9}   ms")
    for path, times in [*seconds.items(), ("all", [t for each in seconds.values() for t in each])]:
        shown = [*np.percentile(times, [50, 95, 99]), max(times)]
        print(f"{path:<26}{len(times):>7}" + "".join(f"{1000 * each:>9.1f}" for each in shown))
    print(f"errors: {len(errors)} {errors[:3]}")
    first, last = memory[0], memory[-1]
    most = [max(each[i] for each in memory) // 10**6 for i in (0, 1)]
    print(f"MB of the server: {first[0] // 10**6} first, {last[0] // 10**6} last, {most[0]} most")
    print(f"MB of the jobs' processes, together: {last[1] // 10**6} last, {most[1]} most")


async def start(client: httpx2.AsyncClient, body: dict[str, Any]) -> str:
    """The id of a new job."""
    answer = await client.post("/api/v1/verify", json=body)
    answer.raise_for_status()
    return str(answer.json()["job_id"])


async def reader(
    client: httpx2.AsyncClient,
    paths: list[str],
    done: list[str],
    end: float,
    seconds: dict[str, list[float]],
    errors: list[str],
) -> None:
    """One person."""
    chance = random.Random()  # noqa: S311 - pauses
    await asyncio.sleep(chance.uniform(0, PAUSE_SECONDS))
    while time.monotonic() < end:
        path = chance.choice(paths)
        begin = time.monotonic()
        try:
            answer = await client.get(path.format(chance.choice(done)))
            if answer.status_code != 200:
                errors.append(f"{path}: {answer.status_code}")
        except httpx2.HTTPError as error:
            errors.append(f"{path}: {type(error).__name__}")
        seconds[path].append(time.monotonic() - begin)
        await asyncio.sleep(chance.expovariate(1 / PAUSE_SECONDS))


async def busy(client: httpx2.AsyncClient, n: int, end: float) -> int:
    """Keeps `n` jobs running; how many ended."""
    text = DEMO.read_text(encoding="utf-8")
    running: list[str] = []
    n_ended = 0
    while time.monotonic() < end:
        while len(running) < n + 1:  # one waits, so that none of the processes ever does
            # Half of them judge, half of them read a long article.
            body = {"example": "article"} if n_ended % 2 else {"text": text * 30}
            running.append(await start(client, body))
            n_ended += 1
        still = [
            j for j in running if not (await client.get(f"/api/v1/jobs/{j}")).json()["finished"]
        ]
        running = still
        await asyncio.sleep(0.5)
    return n_ended - len(running)


async def watched(pid: int, end: float, memory: list[tuple[int, int]]) -> None:
    """Resident bytes of the server and of its children, together, every second."""
    while time.monotonic() < end:
        others = Path("/proc").glob(f"{pid}/task/*/children")
        children = [child for each in others for child in each.read_text().split()]
        memory.append((resident(str(pid)), sum(resident(child) for child in children)))
        await asyncio.sleep(1)


def resident(pid: str) -> int:
    """Bytes; 0 if it has ended meanwhile."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
