"""The process that reads strangers' files: `python -m pincite.documents.sandbox_worker`.

Asked over standard input and answering over standard output, in frames as `sandbox` writes them:
JSON and the bytes of a document in, JSON out. Before each document it sets itself limits that it
cannot outlive: processor time by a timer of the system, which ends it, and address space. Parsers
in C have crashed on hand-made files before: here is no other part of the program beside them.

Windows has neither limit: there a timer ends the process after some time, and where a search in C
lets no timer run, a thread that needs no lock of the interpreter does.
"""

import contextlib
import faulthandler
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from pincite.documents.body import Body, Limits
from pincite.documents.sandbox import LIMITED, memory_of, read_frame, read_here, write_frame
from pincite.types import Document, Unchecked

# What a document took, the system seldom gets back: a worker of this size makes room for a new one.
FAT = 600_000_000
SECOND_CHANCE = 5.0  # seconds after which it is ended in the rougher way
UNCOUNTED = 4  # seconds of time for one of processor time, where the system does not count these

resource: Any = import_module("resource") if LIMITED else None


def main() -> None:
    """Read documents until standard input ends, or until it has taken too much memory."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    if LIMITED:
        limit(resource.RLIMIT_CORE, 0)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    last = False
    while not last and (request := read_frame(sys.stdin.buffer)) is not None:
        if (data := read_frame(sys.stdin.buffer)) is None:
            return
        said = _answer(json.loads(request), data)
        last = "memory" in said or _bytes_held() > FAT
        write_frame(answers, json.dumps(said | {"last": last}).encode())


def _answer(request: Mapping[str, Any], data: bytes) -> dict[str, Any]:
    """What is found in each body; if one cannot be read, only why not."""
    limits, start, found = Limits(**request["limits"]), 0, []
    for known, size in zip(request["bodies"], request["sizes"], strict=True):
        body = Body(data=data[start : start + size], limits=limits, **known)
        said = _of_body(request["reader"], body)
        if "found" not in said:
            return said
        found.append(said["found"])
        start += size
    return {"found": found}


def _of_body(reader: str, body: Body) -> dict[str, Any]:
    try:
        with _limited(body.limits, memory_of(reader, body.limits)):
            return {"found": [_as_json(one) for one in read_here(reader, body)]}
    except MemoryError:
        return {"memory": True}
    except ModuleNotFoundError as error:  # another ImportError is a library without memory
        return {"missing": str(error), "name": error.name}
    except Exception as error:  # a reader met bytes that nobody thought of: the page, not the run
        return {"failed": f"{type(error).__name__}: {error}"[:300]}


@contextmanager
def _limited(limits: Limits, memory: int) -> Iterator[None]:
    """Inside, more than this much time ends the process, and more memory cannot be had."""
    if not LIMITED:
        allowed = UNCOUNTED * limits.seconds
        timer = threading.Timer(allowed, os._exit, [1])
        timer.daemon = True
        timer.start()
        # It needs no interpreter's lock, which a long search in C holds. But it reads frames that
        # may change meanwhile: alone, it failed in one run of four. So it comes second.
        faulthandler.dump_traceback_later(allowed + SECOND_CHANCE, exit=True)
        try:
            yield
        finally:
            timer.cancel()
            faulthandler.cancel_dump_traceback_later()
        return
    limit(resource.RLIMIT_AS, memory)
    signal.setitimer(signal.ITIMER_PROF, limits.seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        limit(resource.RLIMIT_AS, resource.RLIM_INFINITY)  # for the answer


def _as_json(found: Document | Unchecked) -> dict[str, Any]:
    return {name: getattr(found, name) for name in found.__dataclass_fields__}


def limit(what: int, amount: int) -> None:
    """Limit this process, as far as the system can and may (macOS bounds no address space)."""
    _, hard = resource.getrlimit(what)
    bounds = [bound for bound in (amount, hard) if bound != resource.RLIM_INFINITY]
    bound = min(bounds, default=resource.RLIM_INFINITY)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(what, (bound, hard))


def _bytes_held() -> int:
    """The memory that this process has; where no file says so, the most that it has had.

    Linux counts as the most what the process that started this one had, too. Windows says nothing.
    """
    if not LIMITED:
        return 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        n_pages = int(Path("/proc/self/statm").read_text().split()[1])
        return n_pages * int(resource.getpagesize())
    most: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


if __name__ == "__main__":
    main()
