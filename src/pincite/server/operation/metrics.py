"""Numbers for whoever runs the server. The one file that knows prometheus-client."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Histogram
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from pincite.server.jobs.store import Status
from pincite.server.jobs.tallies import BUCKETS as STAGE_BUCKETS
from pincite.server.jobs.tallies import STAGE, STAGE_UNDER, UNCHECKED, VERDICTS, Key

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.5, 10.0)  # seconds; 0.2 is our aim


@dataclass(frozen=True, slots=True)
class Now:
    """What the database says at the moment."""

    jobs: Mapping[Status, int] = field(default_factory=dict)
    oldest_seconds: float = 0.0  # that the job at the queue's head has waited
    tallies: Mapping[Key, float] = field(default_factory=dict)
    disk_free_bytes: int = 0
    corpora_bytes: int = 0  # as of a minute ago at most


class Metrics:
    """Of one process, and of the jobs of all."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._seconds = Histogram(
            "pincite_request_seconds",
            "Time to answer, by route and status.",
            ("method", "route", "status"),
            registry=self._registry,
            buckets=BUCKETS,
        )
        self._now = Now()
        self._registry.register(_OfJobs(lambda: self._now))

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """One answered request; `route` is its pattern, never what stood in the address."""
        known = method if method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD") else "other"
        self._seconds.labels(known, route, str(status)).observe(seconds)

    def text(self, now: Now) -> tuple[bytes, str]:
        """What Prometheus reads, and its media type."""
        self._now = now
        return generate_latest(self._registry), CONTENT_TYPE_LATEST


class _OfJobs(Collector):
    """What is in the database, as Prometheus' families."""

    def __init__(self, now: Callable[[], Now]) -> None:
        self._now = now

    def collect(self) -> Iterator[Metric]:
        now = self._now()
        waiting = GaugeMetricFamily(
            "pincite_jobs", "Jobs that are kept, by state.", None, ["status"]
        )
        for status, n in now.jobs.items():
            waiting.add_metric([status.value], n)
        yield waiting
        what = "Seconds that the job at the queue's head has waited."
        yield GaugeMetricFamily("pincite_queue_oldest_seconds", what, now.oldest_seconds)
        what = "Bytes that are free where the data folder is."
        yield GaugeMetricFamily("pincite_disk_free_bytes", what, now.disk_free_bytes)
        what = "Bytes of all corpora that were made here, counted once a minute at most."
        yield GaugeMetricFamily("pincite_corpora_bytes", what, now.corpora_bytes)
        what = "Resident memory of the server's process; jobs run in others."
        yield GaugeMetricFamily("pincite_resident_bytes", what, _resident_bytes())
        yield _counter("pincite_verdicts", "Verdicts, by verb.", ["verb", "verdict"], now, VERDICTS)
        why = "Citations that could not be checked, and why."
        yield _counter("pincite_unchecked", why, ["reason"], now, UNCHECKED)
        yield _stages(now.tallies)


def _counter(name: str, what: str, labels: list[str], now: Now, tally: str) -> Metric:
    family = CounterMetricFamily(name, what, None, labels)
    for (kind, label), value in sorted(now.tallies.items()):
        if kind == tally:
            family.add_metric(label.split(" "), value)
    return family


def _stages(tallies: Mapping[Key, float]) -> Metric:
    what = "Seconds that jobs spent in each of their stages."
    family = HistogramMetricFamily("pincite_stage_seconds", what, labels=["verb", "stage"])
    under: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for (kind, label), value in tallies.items():
        if kind == STAGE_UNDER:
            stage, _, limit = label.rpartition(" ")
            under[stage][limit] = value
    for stage, counts in sorted(under.items()):
        so_far, buckets = 0.0, []
        for limit in [*(f"{limit:g}" for limit in STAGE_BUCKETS), "+Inf"]:
            so_far += counts.get(limit, 0.0)
            buckets.append((limit, so_far))
        family.add_metric(stage.split(" "), buckets, tallies.get((STAGE, stage), 0.0))
    return family


def _resident_bytes() -> int:
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except OSError:  # not Linux: it is not said
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
