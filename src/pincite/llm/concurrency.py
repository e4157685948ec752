"""Tasks that wait for a server, several at a time, until they are done or Ctrl-C ends them."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Protocol, TypeAlias, TypeVar

T = TypeVar("T")
Task: TypeAlias = Callable[[], T]

_LOOK = 0.5  # seconds between looks at the keyboard: waiting without end would not hear Ctrl-C


class Stoppable(Protocol):
    """What the tasks wait for."""

    def stop(self) -> None:
        """End all waiting now."""


def all_at_once(
    tasks: Sequence[Task[T]],
    at_once: int,
    waited_for: Stoppable,
    tell: Callable[[int, int], None] | None = None,
) -> list[T | None]:
    """What each task gives, in order; None of those that Ctrl-C kept from beginning.

    Ctrl-C stops what is waited for, so that tasks under way end by themselves and are kept.
    """
    if not tasks:
        return []
    with ThreadPoolExecutor(max(1, min(at_once, len(tasks))), "pincite-ask") as pool:
        futures = [pool.submit(task) for task in tasks]
        try:
            _follow(futures, tell)
        except KeyboardInterrupt:
            for future in futures:
                future.cancel()
            waited_for.stop()
    return [None if future.cancelled() else future.result() for future in futures]


def in_calls(
    tell: Callable[[int, int], None] | None, n_calls: int
) -> Callable[[int, int], None] | None:
    """Tells of calls where it is told of tasks, each of so many calls."""
    if tell is None:
        return None
    return lambda done, total: tell(done * n_calls, total * n_calls)


def _follow(futures: Sequence[Future[T]], tell: Callable[[int, int], None] | None) -> None:
    pending = set(futures)
    if tell:
        tell(0, len(futures))
    while pending:
        _, pending = wait(pending, _LOOK, FIRST_COMPLETED)
        if tell:
            tell(len(futures) - len(pending), len(futures))
