"""`pincite serve` and `pincite worker`: run the application, or jobs, until a signal."""

import asyncio
import contextlib
import errno
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from pincite import settings as pipeline_settings
from pincite.errors import ConfigError
from pincite_server.app import create_app
from pincite_server.corpora import fault, link
from pincite_server.demo import furnish
from pincite_server.identity import LOCAL
from pincite_server.logs import configure_logs
from pincite_server.settings import LOCAL_NAMES, ServerSettings, load
from pincite_server.site import Site, open_site
from pincite_server.wikis import browser_token
from pincite_server.worker import Worker

Say = Callable[[str], None]
KEEP_ALIVE_SECONDS = 30
BACKLOG = 2048
SHUTDOWN_SECONDS = 5  # for open event streams, which clients resume
REQUEST_SECONDS = 20.0  # for a request's headers; a body gets more by BYTES_A_SECOND
BYTES_A_SECOND = 10_000  # slower bodies are dropped; the slowest mobile networks are faster
TICKS = 5  # checks of a connection per REQUEST_SECONDS
OWING = (h11.IDLE, h11.SEND_BODY)  # states in which the client has to send something


def serve(
    options: Mapping[str, object], config: Path | None, say: Say, *, demo: bool = False
) -> None:
    """Serve until Ctrl-C or SIGTERM. Raises ConfigError: bad settings, or the port is in use.

    `options` has settings from the command line, and `config` is a TOML file with other settings.
    `demo` adds the bundled documents as corpora; without a data folder, everything is then stored
    in a temporary one.
    """
    with contextlib.ExitStack() as stack:
        if demo and not options.get("data"):
            temporary = tempfile.TemporaryDirectory(prefix="pincite-demo-")
            options = {**options, "data": stack.enter_context(temporary)}
        server = load(options, config)
        if demo:  # keeps fictional sources out of the user's copies; job processes inherit it
            os.environ["PINCITE_LIBRARY_OWN_COPIES"] = str(server.folder / "demo-copies")
        site = open_site(server, pipeline_settings.load({}, config))
        stack.callback(site.close)
        for entry in link(site.corpora, LOCAL, server.corpora):
            if problem := fault(entry):
                say(problem)
        listening = stack.enter_context(_listening(server))  # before the demo is indexed
        if demo:
            furnish(site, say)
        for line in (*_advice(site, config), *_addresses(server, listening)):
            say(line)
        configure_logs(server.log, requests=server.log_requests)
        slots = server.jobs_at_once
        worker = Worker(site.jobs, server, slots=slots, config=config, tidy=site.tidy)
        running = uvicorn.Server(_configure(create_app(site, worker)))
        # When uvicorn exits, it raises the signal again, which would end this process before
        # running jobs have been requeued.
        signal.signal(signal.SIGTERM, lambda *_: None)
        worker.start()
        stack.callback(worker.stop)  # before the site is closed
        running.run(sockets=[listening])


def _addresses(server: ServerSettings, listening: socket.socket) -> Iterator[str]:
    host, port = listening.getsockname()[:2]
    host = "localhost" if host in ("0.0.0.0", "::") else host  # noqa: S104 - not opened
    shown = f"[{host}]" if ":" in host else host
    yield f"Pincite is at http://{shown}:{port}/   (press Ctrl-C to stop)"
    if server.wikis and server.mode == "local":
        yield f"Token for {', '.join(server.wikis)}: {browser_token(server.folder)}"


def _advice(site: Site, config: Path | None) -> Iterator[str]:
    """What still keeps users from logging in to a server with accounts."""
    server = site.server
    if server.mode == "local":
        return
    place = f" --config {config}" if config else ""
    name = server.shared_account
    if name and site.people.accounts.by_name(name) is None:
        yield f"No account for visitors. Create it: pincite server user add {name}{place}"
    elif not site.people.accounts.list_accounts(1):
        yield f"No accounts yet. Create one: pincite server user add NAME --role admin{place}"
    is_public = server.host not in LOCAL_NAMES
    if is_public and server.secure_cookies and not server.address.startswith("https://"):
        yield (
            "Logins need https: put a proxy that speaks https in front of this server, and set "
            "server.address to its https:// address. Over plain http, on a network that you "
            "trust, set server.secure_cookies = false."
        )


def work(options: Mapping[str, object], config: Path | None, say: Say) -> None:
    """Run jobs until Ctrl-C or SIGTERM. Raises ConfigError: a setting is invalid."""
    server = load(options, config)
    with contextlib.closing(open_site(server, pipeline_settings.load({}, config))) as site:
        slots = max(1, server.jobs_at_once)
        worker = Worker(site.jobs, server, slots=slots, config=config, tidy=site.tidy)
        configure_logs(server.log)
        ended = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ended.set())
        worker.start()
        say(f"Running jobs of {site.database.shown}, {slots} at once   (press Ctrl-C to stop)")
        ended.wait()
        worker.stop()


class ImpatientProtocol(H11Protocol):
    """Closes a connection whose client stops sending in the middle of a request.

    Time counts only while the server waits for the first or a begun request's headers, or for a
    body that it is ready to read. Between requests, `KEEP_ALIVE_SECONDS` is the limit.
    """

    seconds: float = REQUEST_SECONDS
    _waited = 0.0  # seconds of this request
    _n_bytes = 0  # received of this request

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._tick()

    def data_received(self, data: bytes) -> None:
        """Reset the timer when a request is complete."""
        super().data_received(data)
        self._n_bytes += len(data)
        if self.conn.their_state not in OWING:
            self._waited, self._n_bytes = 0.0, 0

    def _tick(self) -> None:
        if self.transport.is_closing():
            return
        if self._is_owed_data:
            self._waited += self.seconds / TICKS
        if self._waited > self._allowed_seconds:
            self.transport.close()
            return
        self.loop.call_later(self.seconds / TICKS, self._tick)

    @property
    def _is_owed_data(self) -> bool:
        state = self.conn.their_state
        between_requests = state is h11.IDLE and self.timeout_keep_alive_task is not None
        return state in OWING and not between_requests and not self.flow.read_paused

    @property
    def _allowed_seconds(self) -> float:
        # A body that has already been answered gets no extra time.
        is_read = self.cycle is not None and not self.cycle.response_complete
        return self.seconds + (self._n_bytes / BYTES_A_SECOND if is_read else 0.0)


def _configure(app: FastAPI) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=ImpatientProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # read by the middleware of `create_app`
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        h11_max_incomplete_event_size=64_000,
    )


def _listening(settings: ServerSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio sets TCP_NODELAY only for an explicit protocol; without it, each response takes 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(BACKLOG)  # before the address is printed
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            what = f"Port {settings.port} is in use. Choose another with --port."
        else:
            what = f"Cannot listen on {settings.host}:{settings.port}: {error.strerror}."
        raise ConfigError(what) from error
    return listening
