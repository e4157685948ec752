"""What Ray's workers are given to do in test_ray_workers.py, by a name that they can import."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path


def dies_once(mark: Path) -> str:
    """The process is killed at its first try; the second is told by the mark."""
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return mark.name


def dies_in_between(mark: Path) -> Iterator[int]:
    """The same after 100 of 200 numbers: more than travel together."""
    for number in range(200):
        if number == 100:
            dies_once(mark)
        yield number


def counts(items: str) -> Iterator[int]:
    """The numbers in a text; raises at what is none."""
    return map(int, items.split())


def waits(number: int) -> int:
    time.sleep(0.2)
    return number
