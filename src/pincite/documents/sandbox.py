"""Runs the parsers of untrusted formats in subprocesses, under limits of memory and processor time.

The parent talks to workers over stdin and stdout in frames: JSON and document bytes in, JSON out.
If a document crashes its worker, the caller gets a result, and the next document a fresh worker.
Elapsed time is limited only on Windows, which has no other limit: a busy machine rejects nothing.
"""

import atexit
import contextlib
import importlib.util
import json
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from importlib import import_module
from pathlib import Path
from typing import IO, Any, cast

from pincite.documents.body import Body, Format, Limits
from pincite.types import Document, Reason, Unchecked

Found = Document | Unchecked
LIMITED = importlib.util.find_spec("resource") is not None  # not on Windows
# Exit code of a worker that ran out of time: from the system's timer, or ended by the parent.
_TIMED_OUT = -signal.SIGPROF if LIMITED else 1
_READERS = {str(kind): kind.reader for kind in Format}
_READERS["pubmed record"] = "papers.read_pubmed_record"
_READERS |= {name: f"bibliographies.read_{name}" for name in ("ris", "bibtex")}
_READERS["scanned pdf"] = "ocr.read_scanned_pdf"
UNCOUNTED = 4  # elapsed seconds per processor second, where the latter is not measured
_ENDING_SECONDS = 5.0  # a worker that closed its pipes needs milliseconds to exit
_BATCH, _BATCH_BYTES = 64, 1 << 20
_LENGTH = struct.Struct(">Q")
# More threads of a numerical library would only use up address space, which is limited.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def read(reader: str, body: Body) -> list[Found]:
    """Read a body by `read_here` in a worker; raises ImportError if a library is missing."""
    reply = _POOL.request(reader, [body])
    if "found" in reply:
        return [found_in(one) for one in reply["found"][0]]
    if "missing" in reply:
        raise ModuleNotFoundError(reply["missing"], name=reply["name"])
    return [_refusal(reply, body)]


def read_many(reader: str, items: Iterable[Body | Found]) -> Iterator[Found]:
    """Read bodies in order; items that are already results pass through."""
    # Small bodies are batched: sending a PubMed record takes longer than reading it.
    group, n_bytes = list[Body | Found](), 0
    for item in items:
        group.append(item)
        n_bytes += len(item.data) if isinstance(item, Body) else 0
        if n_bytes > _BATCH_BYTES or len(group) == _BATCH:
            yield from _read_group(reader, group)
            group, n_bytes = [], 0
    yield from _read_group(reader, group)


def _read_group(reader: str, group: Sequence[Body | Found]) -> Iterator[Found]:
    bodies = [item for item in group if isinstance(item, Body)]
    reply = _POOL.request(reader, bodies, retry=False) if len(bodies) > 1 else {}
    results = iter(reply.get("found", ()))
    for item in group:
        if not isinstance(item, Body):
            yield item
        elif "found" in reply:
            yield from map(found_in, next(results))
        else:  # one of them broke the worker: read each alone to find it
            yield from read(reader, item)


def read_here(reader: str, body: Body) -> list[Found]:
    """Read a body in this process by one of `_READERS`, whose libraries load on first use."""
    module, _, name = _READERS[reader].partition(".")
    outcomes = getattr(import_module(f"pincite.documents.{module}"), name)(body)
    return outcomes if isinstance(outcomes, list) else [outcomes]


def write_frame(file: IO[bytes], data: bytes) -> None:
    file.write(_LENGTH.pack(len(data)))
    file.write(data)
    file.flush()


def read_frame(file: IO[bytes]) -> bytes | None:
    """Read what `write_frame` wrote; None if the other end closed."""
    head = file.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = file.read(length)
    return data if len(data) == length else None


class _Process:
    def __init__(self) -> None:
        # -P: no module in the current folder may shadow ours.
        command = [sys.executable, "-P", "-m", "pincite.documents.sandbox"]
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | _ONE_THREAD,
        )
        self._stdin = cast(IO[bytes], self._process.stdin)
        self._stdout = cast(IO[bytes], self._process.stdout)
        self.n_read = 0

    def request(self, frames: Sequence[bytes], seconds: float) -> dict[str, Any]:
        """Return the reply within `seconds` of the processor, or `died` with the exit code."""
        self.n_read += 1
        reply = None
        timer = threading.Timer(UNCOUNTED * seconds, self._process.kill)
        timer.daemon = True
        if not LIMITED:
            timer.start()
        try:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                for frame in frames:
                    write_frame(self._stdin, frame)
                reply = read_frame(self._stdout)
        finally:
            timer.cancel()
        if reply is None:  # the pipe is closed, so there is no more to come
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_ENDING_SECONDS)
            self.end()
            return {"died": self._process.returncode}
        answer: dict[str, Any] = json.loads(reply)
        return answer

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._stdin, self._stdout):
            with contextlib.suppress(OSError):
                pipe.close()


class _Pool:
    """Idle workers: as many as there were concurrent readers."""

    def __init__(self) -> None:
        self._idle: list[_Process] = []
        self._lock = threading.Lock()

    def request(self, reader: str, bodies: Sequence[Body], *, retry: bool = True) -> dict[str, Any]:
        """Return a worker's reply about bodies with the same limits, or how it ended.

        A used worker may fail because of earlier documents, so a fresh one retries (`retry`).
        """
        names = ("url", "content_type", "fetched")
        known = [{name: getattr(body, name) for name in names} for body in bodies]
        request = {"reader": reader, "limits": asdict(bodies[0].limits), "bodies": known}
        frames = [json.dumps(request).encode(), *(body.data for body in bodies)]
        with self._lock:
            process = self._idle.pop() if self._idle else _Process()
        seconds = bodies[0].limits.seconds * len(bodies)
        reply = self._reply(process, frames, seconds)
        broke = "memory" in reply or reply.get("died", _TIMED_OUT) != _TIMED_OUT
        if retry and broke and process.n_read > 1:
            reply = self._reply(_Process(), frames, seconds)
        return reply

    def end(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for process in idle:
            process.end()

    def abandon(self) -> None:
        """After a fork, leave the workers to the parent process."""
        self._idle, self._lock = [], threading.Lock()

    def _reply(self, process: _Process, frames: Sequence[bytes], seconds: float) -> dict[str, Any]:
        try:
            reply = process.request(frames, seconds)
        except BaseException:  # Ctrl-C: the document is no longer needed
            process.end()
            raise
        if reply.get("last"):
            process.end()
        elif "died" not in reply:
            with self._lock:
                self._idle.append(process)
        return reply


_POOL = _Pool()
atexit.register(_POOL.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOL.abandon)


def found_in(reply: Mapping[str, Any]) -> Found:
    if "reason" in reply:
        return Unchecked(reply["url"], Reason(reply["reason"]), reply["detail"])
    return Document(**reply)


def _refusal(reply: Mapping[str, Any], body: Body) -> Unchecked:
    reason, limits = Reason.UNDECODABLE, body.limits
    # Libraries in C++ and Rust abort the process if they get no memory.
    if "memory" in reply or reply.get("died") == -signal.SIGABRT:
        reason = Reason.TOO_LARGE
        detail = f"reading it took more than {limits.memory / 1e9:g} GB of memory"
    elif "failed" in reply:
        detail = f"the reader failed: {reply['failed']}"
    elif (code := reply["died"]) == _TIMED_OUT:
        reason = Reason.TIMED_OUT
        detail = f"reading it took more than {limits.seconds:g} s of processor time"
    else:
        how = signal.Signals(-code).name if code < 0 else f"status {code}"
        detail = f"the reader ended with {how}"
    return Unchecked(body.url, reason, detail)


# ── In the worker ─────────────────────────────────────────────────────────────────────────────────

# Freed memory seldom returns to the system, so a worker this large is replaced.
MAX_BYTES_HELD = 600_000_000

resource: Any = import_module("resource") if LIMITED else None


def main() -> None:
    """Read documents until stdin closes or the process has grown too large."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent process
    if LIMITED:
        limit(resource.RLIMIT_CORE, 0)
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # prints of libraries must not mix with replies
    last = False
    while not last and (data := read_frame(sys.stdin.buffer)) is not None:
        request = json.loads(data)
        bodies = [read_frame(sys.stdin.buffer) for _ in request["bodies"]]
        if None in bodies:
            return
        reply = _read_bodies(request, cast(list[bytes], bodies))
        last = "memory" in reply or _bytes_held() > MAX_BYTES_HELD
        write_frame(output, json.dumps(reply | {"last": last}).encode())


def _read_bodies(request: Mapping[str, Any], bodies: Sequence[bytes]) -> dict[str, Any]:
    """Read each body; if one cannot be read, return only the reason."""
    reader, limits = request["reader"], Limits(**request["limits"])
    by_body = list[list[dict[str, Any]]]()
    try:
        for known, data in zip(request["bodies"], bodies, strict=True):
            with _limit(limits):
                documents = read_here(reader, Body(data=data, limits=limits, **known))
                by_body.append([{f.name: getattr(d, f.name) for f in fields(d)} for d in documents])
    except MemoryError:
        return {"memory": True}
    except ModuleNotFoundError as error:  # other ImportErrors: a library ran out of memory
        return {"missing": str(error), "name": error.name}
    except Exception as error:  # unexpected bytes fail their page, not the run
        return {"failed": f"{type(error).__name__}: {error}"[:300]}
    return {"found": by_body}


@contextmanager
def _limit(limits: Limits) -> Iterator[None]:
    """Limit the process's time and memory within the context; exceeding the time ends it."""
    if not LIMITED:
        yield
        return
    limit(resource.RLIMIT_AS, limits.memory)
    signal.setitimer(signal.ITIMER_PROF, limits.seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        limit(resource.RLIMIT_AS, resource.RLIM_INFINITY)  # for the reply


def limit(what: int, amount: int) -> None:
    """Set a resource limit as far as the system allows (macOS does not limit address space)."""
    _, hard = resource.getrlimit(what)
    bounds = [bound for bound in (amount, hard) if bound != resource.RLIM_INFINITY]
    bound = min(bounds, default=resource.RLIM_INFINITY)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(what, (bound, hard))


def _bytes_held() -> int:
    """The process's memory on Linux; 0 on other systems."""
    with contextlib.suppress(OSError, ValueError, IndexError, AttributeError):
        n_pages = int(Path("/proc/self/statm").read_text().split()[1])
        return n_pages * int(resource.getpagesize())
    return 0


if __name__ == "__main__":
    main()
