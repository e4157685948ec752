"""Readers of strangers' formats in a process of their own: what breaks there, breaks there.

Decision hidden here: how the process (`confined_worker`) is started, asked, bounded and understood.
It reads one document after the other, so that its start is paid for once; whatever a document does
to it, the caller gets a result, and the next document gets a process that works. Each has its own
limit of processor time, not of time: a busy machine turns no document away.

Where the system knows no such limits (Windows), the process is ended after some time, and may take
any memory.
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
from dataclasses import asdict
from typing import IO, Any, cast

from pincite.documents.body import Body, Limits
from pincite.documents.formats import Format
from pincite.types import Document, Reason, Unchecked

Found = Document | Unchecked
LIMITED = importlib.util.find_spec("resource") is not None  # not on Windows
# How a worker ends whose document took too long: by the system's timer, or by faulthandler's.
_SPENT = -signal.SIGPROF if LIMITED else 1
_ENDING_SECONDS = 5.0  # what has closed its pipes needs milliseconds to be gone
_TOGETHER, _TOGETHER_BYTES = 64, 1 << 20
_LENGTH = struct.Struct(">Q")
# More than one thread of a numerical library would only take address space, which is limited.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def read(reader: str, body: Body) -> list[Found]:
    """What `reader`, a name that `read_here` knows, finds in a body; or why it found nothing.

    Raises:
        ImportError: a library that the reader needs is missing.
        KeyboardInterrupt: the process ends with what it was reading.
    """
    said = _POOL.answer(*_request(reader, [body]))
    if "found" in said:
        return [_found(one) for one in said["found"][0]]
    if "missing" in said:
        raise ModuleNotFoundError(said["missing"], name=said["name"])
    return [_refusal(said, body, reader)]


def read_many(reader: str, items: Iterable[Body | Found]) -> Iterator[Found]:
    """What `read` finds in each body, in order; what has been read stays as it is.

    Small ones travel together: a record of PubMed's takes longer on the way than to read.
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
    said: Mapping[str, Any] = {}
    if len(bodies) > 1:
        said = _POOL.answer(*_request(reader, bodies), again=False)
    answers = iter(said.get("found", ()))
    for item in group:
        if not isinstance(item, Body):
            yield item
        elif "found" in said:
            yield from map(_found, next(answers))
        else:  # one of them broke the worker: each is read by itself, to see which
            yield from read(reader, item)


def read_here(reader: str, body: Body) -> list[Found]:
    """What a reader finds in a body, in this process; its libraries load with its first body.

    `reader`: a `Format`, or `pubmed record` or `jats record` for a piece of a file.
    """
    if reader == Format.HTML:
        from pincite.documents.html import read_html

        return [read_html(body)]
    if reader == Format.PDF:
        from pincite.documents.pdf import read_pdf

        return [read_pdf(body)]
    if reader == Format.DOCX:
        from pincite.documents.docx import read_docx

        return [read_docx(body)]
    if reader in (Format.TEXT, Format.MARKDOWN):
        from pincite.documents.text import read_markdown, read_text

        return [read_text(body) if reader == Format.TEXT else read_markdown(body)]
    return _read_xml(reader, body)


def _read_xml(reader: str, body: Body) -> list[Found]:
    from pincite.documents import jats, pubmed

    if reader == Format.JATS:
        return [jats.read_jats(body)]
    return [jats.read_record(body)] if reader == jats.RECORD else pubmed.read_record(body)


def memory_of(reader: str, limits: Limits) -> int:
    """Bytes of address space that a reader may take."""
    return min(limits.memory, limits.pdf_memory) if reader == Format.PDF else limits.memory


def write_frame(file: IO[bytes], data: bytes) -> None:
    """Some bytes, behind their number."""
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
    """One worker, seen from outside."""

    def __init__(self) -> None:
        # -P: no module of the current folder may stand in for one of ours.
        command = [sys.executable, "-P", "-m", "pincite.documents.sandbox_worker"]
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

    def answer(self, request: bytes, data: bytes) -> dict[str, Any]:
        """What it says of a document; `died` if it ended instead, with the code of its end."""
        self.n_read += 1
        reply = None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            write_frame(self._stdin, request)
            write_frame(self._stdin, data)
            reply = read_frame(self._stdout)
        said: dict[str, Any] = {"died": self._code()} if reply is None else json.loads(reply)
        return said

    def end(self) -> None:
        """It is gone when this returns."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._stdin, self._stdout):
            with contextlib.suppress(OSError):
                pipe.close()

    def _code(self) -> int:
        """How it ended; it has closed its end of the pipes, so there is no more to come."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING_SECONDS)
        self.end()
        return self._process.returncode


class _Pool:
    """Workers that wait for documents: as many as there were threads that read at once."""

    def __init__(self) -> None:
        self._idle: list[_Process] = []
        self._lock = threading.Lock()

    def answer(self, request: bytes, data: bytes, *, again: bool = True) -> dict[str, Any]:
        """What a worker says of a document, or how it ended.

        Memory that others before took, or a library that they damaged, is not a document's fault:
        one that seems to have broken a used worker is read `again` by a fresh one.
        """
        with self._lock:
            process = self._idle.pop() if self._idle else _Process()
        said = self._asked(process, request, data)
        if (
            again
            and process.n_read > 1
            and ("memory" in said or said.get("died", _SPENT) != _SPENT)
        ):
            return self._asked(_Process(), request, data)
        return said

    def end(self) -> None:
        """End all that wait."""
        with self._lock:
            idle, self._idle = self._idle, []
        for process in idle:
            process.end()

    def forget(self) -> None:
        """Leave them to the process that this one is a copy of."""
        self._idle, self._lock = [], threading.Lock()

    def _asked(self, process: _Process, request: bytes, data: bytes) -> dict[str, Any]:
        try:
            said = process.answer(request, data)
        except BaseException:  # Ctrl-C: nobody waits for the document any more
            process.end()
            raise
        if "died" in said:
            return said
        if said["last"]:
            process.end()
        else:
            with self._lock:
                self._idle.append(process)
        return said


_POOL = _Pool()
atexit.register(_POOL.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOL.forget)


def _request(reader: str, bodies: Sequence[Body]) -> tuple[bytes, bytes]:
    """What is asked, and the bytes of all bodies; the limits of the first are for each."""
    known = [
        {"url": body.url, "content_type": body.content_type, "fetched": body.fetched}
        for body in bodies
    ]
    asked = {
        "reader": reader,
        "limits": asdict(bodies[0].limits),
        "bodies": known,
        "sizes": [len(body.data) for body in bodies],
    }
    return json.dumps(asked).encode(), b"".join(body.data for body in bodies)


def _found(said: Mapping[str, Any]) -> Found:
    if "reason" in said:
        return Unchecked(said["url"], Reason(said["reason"]), said["detail"])
    return Document(**said)


def _refusal(said: Mapping[str, Any], body: Body, reader: str) -> Unchecked:
    limits = body.limits
    if "memory" in said:
        detail = f"reading it took more than {memory_of(reader, limits) / 1e9:g} GB of memory"
        return Unchecked(body.url, Reason.TOO_LARGE, detail)
    if "failed" in said:
        detail = f"the reader failed: {said['failed']}"
        return Unchecked(body.url, Reason.UNDECODABLE, detail)
    code = said["died"]
    if code == _SPENT:
        detail = f"it was not read in {limits.seconds:g} s of processor time"
        return Unchecked(body.url, Reason.TIMED_OUT, detail)
    how = signal.Signals(-code).name if code < 0 else f"status {code}"
    return Unchecked(body.url, Reason.UNDECODABLE, f"the reader ended with {how}")
