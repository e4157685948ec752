"""Numbers for whoever runs the server. The one file that knows prometheus-client."""

from collections.abc import Mapping

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, Histogram
from prometheus_client.exposition import generate_latest

from pincite.server.jobs import Status

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.5, 10.0)  # seconds; 0.2 is our aim


class Metrics:
    """Of one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._seconds = Histogram(
            "pincite_request_seconds",
            "Time to answer, by route and status.",
            ("method", "route", "status"),
            registry=self._registry,
            buckets=BUCKETS,
        )
        self._jobs = Gauge(
            "pincite_jobs", "Jobs in the database, by state.", ("status",), registry=self._registry
        )

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """One answered request; `route` is its pattern, never what stood in the address."""
        known = method if method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD") else "other"
        self._seconds.labels(known, route, str(status)).observe(seconds)

    def text(self, jobs: Mapping[Status, int]) -> tuple[bytes, str]:
        """What Prometheus reads, and its media type."""
        for status, n in jobs.items():
            self._jobs.labels(status.value).set(n)
        return generate_latest(self._registry), CONTENT_TYPE_LATEST
