"""Ctrl-C while files are written: it waits until they are whole."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def held_back() -> Iterator[None]:
    """Ctrl-C takes effect when the body is done. For the main thread, and for short bodies.

    Raises:
        KeyboardInterrupt: at the end, if it was pressed meanwhile.
    """
    pressed = False

    def note(_signal: int, _frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # ignored, as for jobs in the background
        yield
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt
