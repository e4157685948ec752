"""Bulk work on the workers of a Ray cluster: `--on ray`.

Only functions of Pincite's modules, their arguments and our records travel between the driver and
its workers; Ray serialises them with cloudpickle, between its processes and never from a file.
Tasks are used instead of actors: they take a slot only while they compute. Readers take none, as
they mostly wait: with every slot taken, reading would never start (ray#44687).
"""

import _thread
import contextlib
import os
import socket
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Literal, TypeVar

import numpy as np

from pincite.documents.inputs import WAITING_PARTS, Parallel, in_parts
from pincite.errors import InputError, PinciteError, StaleCorpus
from pincite.protocols import Encoder, Floats

Item = TypeVar("Item")
T = TypeVar("T")

RETRIES = 10  # of a task whose worker died; after so many, its input is to blame
ENCODED_TOGETHER = 16  # texts: half a second of one core, against 1 ms for the round trip
ANSWER_SECONDS = 20.0  # for a head's reply; Ray ends this process 60 s after the last one
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"  # of gRPC: RFC 9113, 3.4
STORE_BYTES = 500_000_000  # of shared memory in a local cluster; Ray's default is 30 % of all


@contextmanager
def opened(workers: int = 0) -> Iterator[Parallel]:
    """Yield the cluster at RAY_ADDRESS, or one started here; 0 workers: one per processor.

    Raises:
        PinciteError: The cluster cannot be reached.
    """
    address = os.environ.get("RAY_ADDRESS", "")
    if not address:
        # Ray obeys any caller, so it listens only on loopback. By default its workers run at a
        # lower priority than other processes of this machine; ours must not.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
        os.environ.setdefault("RAY_worker_niceness", "0")
    import ray

    own: dict[str, Any] = {
        "address": "local",  # never a cluster that happens to run here
        "num_cpus": workers or os.cpu_count() or 1,  # logical: may exceed the real number
        "include_dashboard": False,
        "object_store_memory": STORE_BYTES,
    }
    try:
        if ":" in address:  # else Ray looks for a cluster on this machine
            _greet(address)
        ray.init(log_to_driver=False, logging_level="ERROR", **({} if address else own))
    except (OSError, RuntimeError, ValueError) as error:  # no answer, or not to us
        raise _lost(error) from error
    try:
        slots = max(1, int(ray.cluster_resources().get("CPU", 0)))
        with _watch_head(address if ":" in address else ray.get_runtime_context().gcs_address):
            yield OnRay(ray, min(workers or slots, slots), shared=bool(address) and workers > 0)
    finally:
        ray.shutdown()


def _greet(address: str) -> None:
    """Wait for a head to answer; raises OSError. Ray itself waits for minutes."""
    host, _, port = address.rpartition("//")[2].rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS) as connection:
        connection.sendall(GREETING)
        with contextlib.suppress(ConnectionResetError):  # it wants TLS
            connection.recv(1)


@contextmanager
def _watch_head(address: str) -> Iterator[None]:
    """Interrupt the body when the head stops answering: Ray would end this process in silence.

    Raises:
        PinciteError: The head died.
    """
    done, lost = threading.Event(), list[OSError]()

    def watch() -> None:
        while not done.wait(ANSWER_SECONDS):
            try:
                _greet(address)
            except OSError as error:
                lost.append(error)
                _thread.interrupt_main()
                return

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    except KeyboardInterrupt:
        if not lost:
            raise
    finally:
        done.set()
    if lost:
        raise _lost(lost[0]) from lost[0]


class OnRay(Parallel):
    """Tasks of a cluster; if a worker dies, another repeats its task."""

    is_remote = True

    def __init__(self, ray: Any, n_workers: int, *, shared: bool) -> None:
        self._ray = ray
        # The first of several may take longest: the others go on meanwhile. On a shared cluster,
        # never run more tasks at once than requested.
        self._most = n_workers if shared else 4 * n_workers
        self._most_streams = max(2, n_workers)
        self._call = ray.remote(num_cpus=1, max_retries=RETRIES)(_call)
        self._stream = ray.remote(
            num_cpus=0,
            scheduling_strategy="SPREAD",  # else all would be on the driver's node
            max_retries=RETRIES,
            num_returns="streaming",
            _generator_backpressure_num_objects=WAITING_PARTS,
        )(_parts)

    def map(self, function: Callable[[Item], T], items: Iterable[Item]) -> Iterator[T]:
        started = self._start(self._call, function, items, self._most)
        with self._translated_errors(), closing(started):
            for _, result in started:
                yield self._ray.get(result)

    def streams(
        self, function: Callable[[Item], Iterable[T]], items: Iterable[Item]
    ) -> Generator[tuple[Item, Iterator[T]], None, None]:
        started = self._start(self._stream, function, items, self._most_streams)
        with self._translated_errors(), closing(started):
            for item, stream in started:
                yield item, self._results(stream)

    def encoder(self, encoder: Encoder, load: Callable[[], Encoder]) -> Encoder:
        return SpreadEncoder(encoder, load, self)

    def _results(self, stream: Any) -> Iterator[Any]:
        with self._translated_errors():
            for part in stream:
                yield from self._ray.get(part)

    def _start(
        self, task: Any, function: Callable[..., object], items: Iterable[Item], most: int
    ) -> Generator[tuple[Item, Any], None, None]:
        """Yield items with their running tasks, of which at most `most` are started ahead."""
        running = deque[tuple[Item, Any]]()
        try:
            shared = self._ray.put(function)
            for item in items:
                running.append((item, task.remote(shared, item)))
                if len(running) >= most:
                    yield running.popleft()
            while running:
                yield running.popleft()
        finally:
            for _, reference in running:
                self._ray.cancel(reference)

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Re-raise a function's exceptions unchanged, and Ray's errors as ours."""
        errors = self._ray.exceptions
        try:
            yield
        except errors.RayTaskError as error:
            raise error.cause from None
        except (errors.WorkerCrashedError, errors.OutOfMemoryError) as error:
            raise InputError(f"it ended {RETRIES} workers in a row: {error}") from error
        except (errors.RayError, ConnectionError) as error:
            raise _lost(error) from error


def _lost(error: Exception) -> PinciteError:
    place = os.environ.get("RAY_ADDRESS", "this machine")
    return PinciteError(
        f"The Ray cluster on {place} failed: {error}. Committed work is kept. Run the "
        "same command again to continue."
    )


# ── In the workers ───────────────────────────────────────────────────────────────────────────────

_ENCODERS: dict[str, Encoder] = {}  # by fingerprint


def _call(function: Callable[[Item], T], item: Item) -> T:
    return function(item)


def _parts(function: Callable[[Item], Iterable[T]], item: Item) -> Iterator[list[T]]:
    yield from in_parts(function(item))


class SpreadEncoder:
    """An encoder that spreads passages over workers, a few per task; queries are encoded here."""

    def __init__(self, encoder: Encoder, load: Callable[[], Encoder], parallel: Parallel) -> None:
        """`load`, a module-level function, returns the same encoder in a worker."""
        self._encoder, self._load, self._parallel = encoder, load, parallel
        self.dim, self.fingerprint = encoder.dim, encoder.fingerprint

    def encode(self, texts: Sequence[str], role: Literal["query", "passage"]) -> Floats:
        """Return unit vectors, (n_texts, dim) float32; raises StaleCorpus."""
        if role == "query" or len(texts) <= ENCODED_TOGETHER:
            return self._encoder.encode(texts, role)
        starts = range(0, len(texts), ENCODED_TOGETHER)
        parts = [(self._load, self.fingerprint, texts[n : n + ENCODED_TOGETHER]) for n in starts]
        return np.concatenate(list(self._parallel.map(_encode, parts)))


def _encode(task: tuple[Callable[[], Encoder], str, Sequence[str]]) -> Floats:
    load, fingerprint, texts = task
    encoder = _ENCODERS.get(fingerprint) or _ENCODERS.setdefault(fingerprint, load())
    if encoder.fingerprint != fingerprint:
        raise StaleCorpus(
            f"A worker has the encoder {encoder.fingerprint}; expected {fingerprint}. Install the "
            "same Pincite, and the same models, on every node of the cluster."
        )
    return encoder.encode(texts, "passage")
