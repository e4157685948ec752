"""Starting a server or a worker, and ending it without losing anything. Knows uvicorn."""

import asyncio
import contextlib
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from pincite import settings as pipeline_settings
from pincite.errors import ConfigError
from pincite.server import logs
from pincite.server.app import create_app
from pincite.server.backup import using
from pincite.server.corpora import fault, link
from pincite.server.demo import furnish
from pincite.server.identity import LOCAL
from pincite.server.settings import ServerSettings, load
from pincite.server.site import Site, opened
from pincite.server.wikis import browser_token
from pincite.server.worker import Worker

Say = Callable[[str], None]
KEEP_ALIVE_SECONDS = 30
BACKLOG = 2048
SHUTDOWN_SECONDS = 5  # for open event streams; they are resumed from where they were
REQUEST_SECONDS = 20.0  # for a request's headers, and for a body beside what its bytes may take
BYTES_A_SECOND = 10_000  # a slower body is given up: below the slowest mobile network
TICKS = 5  # looks at a connection in that time
OWING = (h11.IDLE, h11.SEND_BODY)  # states of a client that is to send something


def serve(
    given: Mapping[str, object], config: Path | None, say: Say, *, demo: bool = False
) -> None:
    """Serve until Ctrl-C or SIGTERM.

    Args:
        given: settings of the command line.
        config: a TOML file with others.
        say: tells a person where it is.
        demo: start with the shipped documents as corpora; without a data folder in one that is
            removed at the end.

    Raises:
        ConfigError: a setting means nothing, or the port is taken.
        InUse: a backup is being restored.
    """
    with contextlib.ExitStack() as stack:
        if demo and not given.get("data"):
            removed = tempfile.TemporaryDirectory(prefix="pincite-demo-")
            given = {**given, "data": stack.enter_context(removed)}
        folder = load(given, config).folder
        stack.enter_context(using(folder))
        if demo:  # its books are invented: none for the user's shelf. Jobs' processes see it, too.
            os.environ["PINCITE_LIBRARY_OWN_COPIES"] = str(folder / "demo-copies")
        site = _site(given, config)
        for entry in link(site.corpora, LOCAL, site.server.corpora):
            if problem := fault(entry):
                say(problem)
        if demo:
            furnish(site, say)
        _serve(site, config, say)


def _serve(site: Site, config: Path | None, say: Say) -> None:
    slots = site.server.jobs_at_once
    worker = Worker(site.jobs, site.server, slots=slots, config=config, tidy=site.tidy)
    listening = _listening(site.server)
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    say(f"Pincite is at http://{shown}:{port}/   (Ctrl-C ends it)")
    if site.server.wikis and site.server.mode == "local":
        say(f"Token for {', '.join(site.server.wikis)}: {browser_token(site.server.folder)}")
    logs.configure(site.server.log, requests=site.server.log_requests)
    server = uvicorn.Server(_as_uvicorn_wants(create_app(site, worker)))
    # When it has ended, uvicorn sends itself the signal again, which would end this process
    # before the jobs that run are back in the queue.
    signal.signal(signal.SIGTERM, lambda *_: None)
    worker.start()
    try:
        server.run(sockets=[listening])
    finally:
        worker.stop()
        site.library.pool.close()
        site.database.close()


def work(given: Mapping[str, object], config: Path | None, say: Say) -> None:
    """Run jobs until Ctrl-C or SIGTERM.

    Raises:
        ConfigError: a setting means nothing.
        InUse: a backup is being restored.
    """
    with using(load(given, config).folder):
        site = _site(given, config)
        slots = max(1, site.server.jobs_at_once)
        worker = Worker(site.jobs, site.server, slots=slots, config=config, tidy=site.tidy)
        logs.configure(site.server.log)
        ended = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ended.set())
        worker.start()
        say(f"Working for {site.database.shown}, {slots} jobs at once   (Ctrl-C ends it)")
        ended.wait()
        worker.stop()
        site.library.pool.close()
        site.database.close()


class ImpatientProtocol(H11Protocol):
    """Closes a connection whose client does not go on with its request, which uvicorn never does.

    What counts is the time in which the client owes us headers or a body that we are ready to read.
    """

    seconds: float = REQUEST_SECONDS
    _owed, _n_bytes = 0.0, 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._tick()

    def data_received(self, data: bytes) -> None:
        """Read on; a request that is complete owes nothing."""
        super().data_received(data)
        self._n_bytes += len(data)
        if self.conn.their_state not in OWING:
            self._owed, self._n_bytes = 0.0, 0

    def _tick(self) -> None:
        if self.transport.is_closing():
            return
        if self.conn.their_state in OWING and not self.flow.read_paused:
            self._owed += self.seconds / TICKS
        # The rest of a body whose answer is sent already is not waited for, however fast it comes.
        is_body = self.cycle is not None and not self.cycle.response_complete
        if self._owed > self.seconds + is_body * self._n_bytes / BYTES_A_SECOND:
            self.transport.close()
            return
        self.loop.call_later(self.seconds / TICKS, self._tick)


def _as_uvicorn_wants(app: FastAPI) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=ImpatientProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # who asks is what the connection says
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        h11_max_incomplete_event_size=64_000,
    )


def _site(given: Mapping[str, object], config: Path | None) -> Site:
    return opened(load(given, config), pipeline_settings.load({}, config))


def _listening(settings: ServerSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # The protocol is named because asyncio asks for it before it switches off the system's waiting
    # for more to send, which costs each answer 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(BACKLOG)  # who reads the address that is printed next may ask at once
    except OSError as error:
        listening.close()
        what = f"{settings.host}:{settings.port} cannot be listened on ({error.strerror})."
        raise ConfigError(f"{what} Give another --port.") from error
    return listening
