"""Runs the parsers of untrusted formats in a subprocess.

The parent starts workers (`python -m pincite.documents.sandbox`), asks them over standard input and
reads their standard output, in frames: JSON and the bytes of documents in, JSON out. A worker reads
one document after the other, so that its start is paid for once; whatever a document does to it,
the caller gets a result, and the next document gets a process that works.

Before each document a worker limits its processor time, by a timer of the system which ends it, and
its address space. Elapsed time is not limited, so a busy machine turns no document away. Windows
has neither limit: there a timer ends the process after some time, and where a search in C lets no
timer run, a thread that needs no lock of the interpreter does.
"""

import atexit
import contextlib
import faulthandler
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
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import IO, Any, cast

from pincite.documents.body import Body, Format, Limits
from pincite.types import Document, Reason, Unchecked

Found = Document | Unchecked
LIMITED = importlib.util.find_spec("resource") is not None  # not on Windows
# How a worker ends whose document took too long: by the system's timer, or by faulthandler's.
_SPENT = -signal.SIGPROF if LIMITED else 1
_READERS = {
    Format.HTML: ("html", "read_html"),
    Format.PDF: ("pdf", "read_pdf"),
    Format.DOCX: ("docx", "read_docx"),
    Format.TEXT: ("text", "read_text"),
    Format.MARKDOWN: ("text", "read_markdown"),
    Format.JATS: ("papers", "read_jats"),
    "jats record": ("papers", "read_jats_record"),
    "pubmed record": ("papers", "read_pubmed_record"),
}
_ENDING_SECONDS = 5.0  # what has closed its pipes needs milliseconds to be gone
_TOGETHER, _TOGETHER_BYTES = 64, 1 << 20
_LENGTH = struct.Struct(">Q")
# More than one thread of a numerical library would only take address space, which is limited.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def read(reader: str, body: Body) -> list[Found]:
    """What `reader`, a name that `read_here` knows, finds in a body; or why it found nothing.

    Raises:
        ImportError: a library that the reader needs is missing.
        KeyboardInterrupt: the worker ends with what it was reading.
    """
    reply = _POOL.ask(reader, [body])
    if "found" in reply:
        return [_found(one) for one in reply["found"][0]]
    if "missing" in reply:
        raise ModuleNotFoundError(reply["missing"], name=reply["name"])
    return [_refusal(reply, body, reader)]


def read_many(reader: str, items: Iterable[Body | Found]) -> Iterator[Found]:
    """What `read` finds in each body, in order; what has been read stays as it is.

    Small ones travel together: sending a record of PubMed's takes longer than reading it.
    """
    group: list[Body | Found] = []
    n_bytes = 0
    for item in items:
        group.append(item)
        n_bytes += len(item.data) if isinstance(item, Body) else 0
        if n_bytes > _TOGETHER_BYTES or len(group) == _TOGETHER:
            yield from _of_group(reader, group)
            group, n_bytes = [], 0
    yield from _of_group(reader, group)


def _of_group(reader: str, group: Sequence[Body | Found]) -> Iterator[Found]:
    bodies = [item for item in group if isinstance(item, Body)]
    reply = _POOL.ask(reader, bodies, again=False) if len(bodies) > 1 else {}
    answers = iter(reply.get("found", ()))
    for item in group:
        if not isinstance(item, Body):
            yield item
        elif "found" in reply:
            yield from map(_found, next(answers))
        else:  # one of them broke the worker: each is read by itself, to see which
            yield from read(reader, item)


def read_here(reader: str, body: Body) -> list[Found]:
    """What a reader finds in a body, in this process; its libraries load with its first body.

    `reader`: a `Format`, or `pubmed record` or `jats record` for a piece of a file.
    """
    module, name = _READERS[reader]
    found = getattr(import_module(f"pincite.documents.{module}"), name)(body)
    return found if isinstance(found, list) else [found]


def memory_of(reader: str, limits: Limits) -> int:
    """Bytes of address space that a reader may take."""
    return min(limits.memory, limits.pdf_memory) if reader == Format.PDF else limits.memory


def write_frame(file: IO[bytes], data: bytes) -> None:
    """Write the length of some bytes, and the bytes."""
    file.write(_LENGTH.pack(len(data)))
    file.write(data)
    file.flush()


def read_frame(file: IO[bytes]) -> bytes | None:
    """What `write_frame` wrote; None if the other end is gone."""
    head = file.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = file.read(length)
    return data if len(data) == length else None


class _Process:
    def __init__(self) -> None:
        # -P: no module of the current folder may stand in for one of ours.
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

    def ask(self, frames: Sequence[bytes]) -> dict[str, Any]:
        """Its reply; `died` if it ended instead, with the code of its end."""
        self.n_read += 1
        reply = None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for frame in frames:
                write_frame(self._stdin, frame)
            reply = read_frame(self._stdout)
        if reply is None:  # it has closed its end of the pipes, so there is no more to come
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_ENDING_SECONDS)
            self.end()
            return {"died": self._process.returncode}
        found: dict[str, Any] = json.loads(reply)
        return found

    def end(self) -> None:
        """It is gone when this returns."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._stdin, self._stdout):
            with contextlib.suppress(OSError):
                pipe.close()


class _Pool:
    """Workers that wait for documents: as many as there were threads that read at once."""

    def __init__(self) -> None:
        self._idle: list[_Process] = []
        self._lock = threading.Lock()

    def ask(self, reader: str, bodies: Sequence[Body], *, again: bool = True) -> dict[str, Any]:
        """A worker's reply about bodies of the same limits, or how it ended.

        Memory that earlier documents took, or a library that they damaged, is not this document's
        fault: one that seems to have broken a used worker is read `again` by a fresh one.
        """
        known = [
            {"url": b.url, "content_type": b.content_type, "fetched": b.fetched} for b in bodies
        ]
        request = {"reader": reader, "limits": asdict(bodies[0].limits), "bodies": known}
        frames = [json.dumps(request).encode(), *(body.data for body in bodies)]
        with self._lock:
            process = self._idle.pop() if self._idle else _Process()
        reply = self._reply(process, frames)
        broke = "memory" in reply or reply.get("died", _SPENT) != _SPENT
        return self._reply(_Process(), frames) if again and broke and process.n_read > 1 else reply

    def end(self) -> None:
        """End all that wait."""
        with self._lock:
            idle, self._idle = self._idle, []
        for process in idle:
            process.end()

    def forget(self) -> None:
        """Leave them to the process that this one is a copy of."""
        self._idle, self._lock = [], threading.Lock()

    def _reply(self, process: _Process, frames: Sequence[bytes]) -> dict[str, Any]:
        try:
            reply = process.ask(frames)
        except BaseException:  # Ctrl-C: the document is not wanted any more
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
    os.register_at_fork(after_in_child=_POOL.forget)


def _found(reply: Mapping[str, Any]) -> Found:
    if "reason" in reply:
        return Unchecked(reply["url"], Reason(reply["reason"]), reply["detail"])
    return Document(**reply)


def _refusal(reply: Mapping[str, Any], body: Body, reader: str) -> Unchecked:
    reason, limits = Reason.UNDECODABLE, body.limits
    if "memory" in reply:
        reason = Reason.TOO_LARGE
        detail = f"reading it took more than {memory_of(reader, limits) / 1e9:g} GB of memory"
    elif "failed" in reply:
        detail = f"the reader failed: {reply['failed']}"
    elif (code := reply["died"]) == _SPENT:
        reason, detail = (
            Reason.TIMED_OUT,
            f"it was not read in {limits.seconds:g} s of processor time",
        )
    else:
        how = signal.Signals(-code).name if code < 0 else f"status {code}"
        detail = f"the reader ended with {how}"
    return Unchecked(body.url, reason, detail)


# ── In the worker ─────────────────────────────────────────────────────────────────────────────────

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
    while not last and (data := read_frame(sys.stdin.buffer)) is not None:
        request = json.loads(data)
        bodies = [read_frame(sys.stdin.buffer) for _ in request["bodies"]]
        if None in bodies:
            return
        reply = _answer(request, cast(list[bytes], bodies))
        last = "memory" in reply or _bytes_held() > FAT
        write_frame(answers, json.dumps(reply | {"last": last}).encode())


def _answer(request: Mapping[str, Any], bodies: Sequence[bytes]) -> dict[str, Any]:
    """What is found in each body; if one cannot be read, only why not."""
    reader, limits = request["reader"], Limits(**request["limits"])
    found = list[list[dict[str, Any]]]()
    try:
        for known, data in zip(request["bodies"], bodies, strict=True):
            with _limited(limits, memory_of(reader, limits)):
                documents = read_here(reader, Body(data=data, limits=limits, **known))
                found.append(
                    [{name: getattr(d, name) for name in d.__dataclass_fields__} for d in documents]
                )
    except MemoryError:
        return {"memory": True}
    except ModuleNotFoundError as error:  # another ImportError is a library without memory
        return {"missing": str(error), "name": error.name}
    except Exception as error:  # unexpected bytes cost their page, not the run
        return {"failed": f"{type(error).__name__}: {error}"[:300]}
    return {"found": found}


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


def limit(what: int, amount: int) -> None:
    """Limit this process, as far as the system can and may (macOS bounds no address space)."""
    _, hard = resource.getrlimit(what)
    bounds = [bound for bound in (amount, hard) if bound != resource.RLIM_INFINITY]
    bound = min(bounds, default=resource.RLIM_INFINITY)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(what, (bound, hard))


def _bytes_held() -> int:
    """The memory that this process has; where the system does not show it, the most it has had.

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
