"""How long 100 sources on 40 slow hosts take, beside one after the other, on this machine alone.

    python research/scripts/bench_fetch.py

A server on loopback plays 40 hosts that take 200 ms for each answer. Each row is measured with many
hosts at once and with one at a time, with the same manners. "Requests alone" is what the requests
that were made take one after the other, 200 ms each, whatever the pauses.
"""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from web.zoo import GOOD, Zoo, reply, zoo_server

from pincite.types import Fetched
from pincite.web.fetch import FetchCache, WebClient, WebRules
from pincite.web.sources import WebSources

N_HOSTS, N_SOURCES, LATENCY = 40, 100, 0.2


def sources(zoo: Zoo) -> list[str]:
    urls = []
    for n in range(N_SOURCES):
        host = f"h{n % N_HOSTS}.test"
        zoo.pages[host, f"/{n}"] = reply(GOOD, Connection="keep-alive")
        urls.append(zoo.url(host, f"/{n}"))
    return urls


def measure(pause: float, at_once: int) -> float:
    """Seconds for all sources; says how many came and how often a host was asked twice at once."""
    with zoo_server() as zoo, tempfile.TemporaryDirectory() as folder:
        zoo.delay = LATENCY
        urls = sources(zoo)
        rules = WebRules(online=True, ports=(zoo.port,), pause=pause, at_once=at_once)
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
        came = sum(isinstance(outcome, Fetched) for outcome in found)
        print(
            f"pause {pause:g} s, {at_once} at once: {seconds:.2f} s, {came} of {len(urls)} came in "
            f"{len(zoo.asked)} requests ({LATENCY * len(zoo.asked):.1f} s alone), at most "
            f"{max(zoo.most_at_once().values())} at once on a host; again from the cache "
            f"{again * 1000:.0f} ms"
        )
        return seconds


def main() -> None:
    for pause in (0.0, WebRules().pause):
        many, one = (measure(pause, at_once) for at_once in (WebRules().at_once, 1))
        print(f"  {one / many:.0f} times as fast as one host at a time")


if __name__ == "__main__":
    main()
