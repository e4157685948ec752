"""Work in the order of its items: on this machine's threads, or on the workers of a Ray cluster.

Only functions of Pincite's modules, their arguments and our own records travel between the driver
and its workers; Ray serialises them with cloudpickle, between its own processes and never from a
file. Tasks, not actors: a slot is taken only while something is computed. Readers take none, as
they mostly wait: with every slot taken, reading would never start (ray#44687).
"""

import atexit
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any, Literal, TypeVar

import numpy as np

from pincite.documents.prefetch import Ahead
from pincite.errors import InputError, PinciteError, StaleCorpus
from pincite.protocols import Encoder, Floats

Item = TypeVar("Item")
T = TypeVar("T")
Where = Literal["local", "ray"]

RETRIES = 10  # of a task whose worker died; one that broke so many is broken by what it is given
PART_CHARS = 100_000  # of text that travels together; the driver commits after four times as much
PART_ITEMS = 64
WAITING_PARTS = 2  # of a stream that were not taken yet: then its reader pauses
ENCODED_TOGETHER = 16  # texts: half a second of one core, against 1 ms for the way there and back
STORE_BYTES = 500_000_000  # of shared memory, in a cluster of our own; Ray would take 30 % of all


class Parallel:
    """Where work is done: in this process, with streams read ahead by threads.

    Results come in the order of the items; few are begun ahead.
    """

    def map(self, function: Callable[[Item], T], items: Iterable[Item]) -> Iterator[T]:
        """What `function`, of a module, makes of each item; raises what it raises."""
        return map(function, items)

    def streams(
        self, function: Callable[[Item], Iterable[T]], items: Iterable[Item]
    ) -> Generator[tuple[Item, Iterator[T]], None, None]:
        """Each item with what `function` yields for it, which ends or raises as it would here."""
        return iter(Ahead((item, function(item)) for item in items))


@contextmanager
def opened(where: Where, workers: int = 0) -> Iterator[Parallel]:
    """This process, or Ray with so many workers; 0: as many as there are processors.

    Raises:
        PinciteError: the cluster cannot be reached.
        MissingExtra: Ray is not installed.
    """
    if where == "local":
        yield Parallel()
        return
    elsewhere = bool(os.environ.get("RAY_ADDRESS"))
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # read when Ray is imported: nothing is reported
    if not elsewhere:
        # Ray obeys any caller, so it listens on loopback alone. Its workers would run at a lower
        # priority than every other process of this machine; work done here does not.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
        os.environ.setdefault("RAY_worker_niceness", "0")
    import ray

    own: dict[str, Any] = {
        "address": "local",  # never a cluster that happens to run here
        "num_cpus": workers or os.cpu_count() or 1,  # logical: may be more than there are
        "include_dashboard": False,
        "object_store_memory": STORE_BYTES,
    }
    try:
        ray.init(log_to_driver=False, logging_level="ERROR", **({} if elsewhere else own))
    except (OSError, RuntimeError, ValueError) as error:  # nothing answers, or not to us
        raise _lost(error) from error
    try:
        slots = max(1, int(ray.cluster_resources().get("CPU", 0)))
        yield OnRay(ray, min(workers or slots, slots), shared=elsewhere and workers > 0)
    finally:
        ray.shutdown()


class OnRay(Parallel):
    """Tasks of a cluster; what a dead worker was doing is done again by another."""

    def __init__(self, ray: Any, n_workers: int, *, shared: bool) -> None:
        self._ray = ray
        # The first of several may take longest: the others go on meanwhile. On a cluster that is
        # not ours no more than asked for are under way at once.
        self._most = n_workers if shared else 4 * n_workers
        self._most_streams = max(2, n_workers)
        self._call = ray.remote(num_cpus=1, max_retries=RETRIES)(_called)
        self._stream = ray.remote(
            num_cpus=0,
            scheduling_strategy="SPREAD",  # else all would be on the driver's node
            max_retries=RETRIES,
            num_returns="streaming",
            _generator_backpressure_num_objects=WAITING_PARTS,
        )(_parts)

    def map(self, function: Callable[[Item], T], items: Iterable[Item]) -> Iterator[T]:
        under_way = deque[Any]()
        with self._failures(), self._ended(under_way):
            shared = self._ray.put(function)
            for item in items:
                under_way.append(self._call.remote(shared, item))
                if len(under_way) >= self._most:
                    yield self._ray.get(under_way.popleft())
            while under_way:
                yield self._ray.get(under_way.popleft())

    def streams(
        self, function: Callable[[Item], Iterable[T]], items: Iterable[Item]
    ) -> Generator[tuple[Item, Iterator[T]], None, None]:
        under_way, order = deque[Any](), deque[Item]()
        with self._failures(), self._ended(under_way):
            shared = self._ray.put(function)
            for item in items:
                order.append(item)
                under_way.append(self._stream.remote(shared, item))
                if len(under_way) >= self._most_streams:
                    yield order.popleft(), self._found(under_way.popleft())
            while under_way:
                yield order.popleft(), self._found(under_way.popleft())

    def _found(self, stream: Any) -> Iterator[Any]:
        with self._failures():
            for part in stream:
                yield from self._ray.get(part)

    @contextmanager
    def _ended(self, under_way: deque[Any]) -> Iterator[None]:
        try:
            yield
        finally:
            for reference in under_way:
                self._ray.cancel(reference)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Raises what a function raised as it was raised there, and Ray's own errors as ours."""
        errors = self._ray.exceptions
        try:
            yield
        except errors.RayTaskError as error:
            raise error.cause from None
        except (errors.WorkerCrashedError, errors.OutOfMemoryError) as error:
            raise InputError(f"each of {RETRIES} workers that had it ended: {error}") from error
        except errors.RayError as error:
            raise _lost(error) from error


def _lost(error: Exception) -> PinciteError:
    place = os.environ.get("RAY_ADDRESS", "this machine")
    return PinciteError(
        f"The Ray cluster on {place} failed: {error}. What was committed stays; the same command "
        "goes on from there."
    )


# ── In the workers ───────────────────────────────────────────────────────────────────────────────

_OPEN = ExitStack()
_MADE: dict[str, Any] = {}  # models and the like, by what they are
atexit.register(_OPEN.close)


def once(key: str, make: Callable[[], AbstractContextManager[T]]) -> T:
    """What `make` gives, made once in this process and closed at its end."""
    if key not in _MADE:
        _MADE[key] = _OPEN.enter_context(make())
    found: T = _MADE[key]
    return found


def _called(function: Callable[[Item], T], item: Item) -> T:
    return function(item)


def _parts(function: Callable[[Item], Iterable[T]], item: Item) -> Iterator[list[T]]:
    part, n_chars = list[T](), 0
    try:
        for found in function(item):
            part.append(found)
            n_chars += len(getattr(found, "text", ""))
            if n_chars >= PART_CHARS or len(part) >= PART_ITEMS:
                yield part
                part, n_chars = [], 0
    except Exception:  # what came before it counts, as it does in one process
        yield part
        raise
    yield part


class SpreadEncoder:
    """An encoder whose passages workers encode, a few in each task; queries are encoded here."""

    def __init__(self, encoder: Encoder, load: Callable[[], Encoder], parallel: Parallel) -> None:
        """`load`, of a module, gives the same encoder in a worker."""
        self._encoder, self._load, self._parallel = encoder, load, parallel
        self.dim, self.fingerprint = encoder.dim, encoder.fingerprint

    def encode(self, texts: Sequence[str], role: Literal["query", "passage"]) -> Floats:
        """Unit vectors, (n_texts, dim) float32.

        Raises:
            StaleCorpus: a worker has another encoder under that name.
        """
        if role == "query" or len(texts) <= ENCODED_TOGETHER:
            return self._encoder.encode(texts, role)
        starts = range(0, len(texts), ENCODED_TOGETHER)
        parts = [(self._load, self.fingerprint, texts[n : n + ENCODED_TOGETHER]) for n in starts]
        return np.concatenate(list(self._parallel.map(_encoded, parts)))


def _encoded(task: tuple[Callable[[], Encoder], str, Sequence[str]]) -> Floats:
    load, fingerprint, texts = task
    encoder = once(fingerprint, lambda: nullcontext(load()))
    if encoder.fingerprint != fingerprint:
        raise StaleCorpus(
            f"A worker has the encoder {encoder.fingerprint}; expected {fingerprint}. Install the "
            "same Pincite, and the same models, on every node of the cluster."
        )
    return encoder.encode(texts, "passage")
