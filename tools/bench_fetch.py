"""How long 100 sources on 40 slow hosts take, beside one after the other, on this machine alone.

    python tools/bench_fetch.py [--pause SECONDS]

A server on loopback plays 40 hosts that take 200 ms for each answer. "Serial" is what the requests
that were made would take one after the other: sources and robots.txt, 200 ms each, without pauses.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from documents.zoo import GOOD, Zoo, reply, zoo_server

from pincite.documents.fetch import WebClient, WebRules
from pincite.documents.fetch_cache import FetchCache
from pincite.documents.web_sources import WebSources
from pincite.types import Fetched

N_HOSTS, N_SOURCES, LATENCY = 40, 100, 0.2


def sources(zoo: Zoo) -> list[str]:
    urls = []
    for n in range(N_SOURCES):
        host = f"h{n % N_HOSTS}.test"
        zoo.pages[host, f"/{n}"] = reply(GOOD, Connection="keep-alive")
        urls.append(zoo.url(host, f"/{n}"))
    return urls


def measure(pause: float) -> None:
    with zoo_server() as zoo, tempfile.TemporaryDirectory() as folder:
        zoo.delay = LATENCY
        urls = sources(zoo)
        rules = WebRules(online=True, ports=(zoo.port,), pause=pause)
        with (
            FetchCache(Path(folder) / "cache.sqlite") as cache,
            WebClient(rules, resolve=zoo.resolve, allow={"127.0.0.1"}) as client,
        ):
            begin = time.perf_counter()
            found = WebSources(client, cache).fetch(urls)
            seconds = time.perf_counter() - begin
            begin = time.perf_counter()
            WebSources(client, cache).fetch(urls)
            again = time.perf_counter() - begin
        serial = LATENCY * len(zoo.asked)
        came = sum(isinstance(outcome, Fetched) for outcome in found)
        print(f"{came} of {len(urls)} sources on {N_HOSTS} hosts, {len(zoo.asked)} requests")
        print(f"pause {pause:g} s: {seconds:.2f} s; serial {serial:.1f} s; {serial / seconds:.0f}x")
        print(f"from the cache: {again * 1000:.0f} ms")
        print(f"most at once on one host: {max(zoo.most_at_once().values())}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pause", type=float, default=0.0)
    measure(parser.parse_args().pause)


if __name__ == "__main__":
    main()
