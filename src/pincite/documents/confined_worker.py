"""The process that reads strangers' files: `python -m pincite.documents.confined_worker`.

Asked over standard input and answering over standard output, in frames as `confined` writes them:
JSON and the bytes of a document in, JSON out. Before each document it sets itself limits that it
cannot outlive: processor time by a timer of the system, which ends it, and address space. Parsers
in C have crashed on hand-made files before: here is no other part of the program beside them.
"""

import contextlib
import json
import os
import resource
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pincite.documents.body import Body, Limits
from pincite.documents.confined import read_frame, read_here, write_frame
from pincite.types import Document, Unchecked

# What a document took, the system seldom gets back: a worker of this size makes room for a new one.
FAT = 600_000_000


def main() -> None:
    """Read documents until standard input ends, or until it has taken too much memory."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    _limit(resource.RLIMIT_CORE, 0)
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
    _limit(resource.RLIMIT_AS, body.limits.memory)
    signal.setitimer(signal.ITIMER_PROF, body.limits.seconds)
    try:
        return {"found": [_as_json(one) for one in read_here(reader, body)]}
    except MemoryError:
        return {"memory": True}
    except ModuleNotFoundError as error:  # another ImportError is a library without memory
        return {"missing": str(error), "name": error.name}
    except Exception as error:  # a reader met bytes that nobody thought of: the page, not the run
        return {"failed": f"{type(error).__name__}: {error}"[:300]}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        _limit(resource.RLIMIT_AS, resource.RLIM_INFINITY)  # for the answer


def _as_json(found: Document | Unchecked) -> dict[str, Any]:
    return {name: getattr(found, name) for name in found.__dataclass_fields__}


def _limit(what: int, amount: int) -> None:
    """Set a limit, as far as the system has it and allows it (macOS bounds no address space)."""
    _, hard = resource.getrlimit(what)
    bounds = [bound for bound in (amount, hard) if bound != resource.RLIM_INFINITY]
    bound = min(bounds, default=resource.RLIM_INFINITY)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(what, (bound, hard))


def _bytes_held() -> int:
    """The memory that this process has; where no file says so, the most that it has had.

    Linux counts as the most what the process that started this one had, too.
    """
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


if __name__ == "__main__":
    main()
