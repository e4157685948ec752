"""The server: the ASGI application, its OpenAPI document, and the commands that run it.

All parts of the server return errors as `application/problem+json`.
"""

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
from typing import Any

import h11
import uvicorn
from fastapi import Depends, FastAPI
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.h11_impl import H11Protocol

from pincite import codec
from pincite import settings as pipeline_settings
from pincite.errors import ConfigError
from pincite.verbs.ask.report import AnswerReport
from pincite.verbs.check.report import CheckReport, Interpretation
from pincite.verbs.verify.report import Report
from pincite_server import operator_texts, plugins, problems, rendering, static_files
from pincite_server.accounts import AccountExists, LastAdmin
from pincite_server.corpora import AccountFull, DiskFull, NameTaken, fault, link
from pincite_server.demo import furnish
from pincite_server.identity import LOCAL, Identify, identify_local
from pincite_server.ingesting import Ingested
from pincite_server.jobs import QueueFull, TooManyOfYours
from pincite_server.logs import configure_logs
from pincite_server.middleware import Limits, SecurityMiddleware
from pincite_server.oauth import LoginFailed
from pincite_server.operation import Metrics
from pincite_server.problems import MEDIA_TYPE, ProblemBody
from pincite_server.routes import (
    accounts,
    admin,
    ask,
    check,
    citations,
    copies,
    corpora,
    feedback,
    jobs,
    login,
    meta,
    results,
    verify,
)
from pincite_server.routing import UPLOADS, csrf_checked, identifier
from pincite_server.settings import LOCAL_NAMES, ServerSettings, load, read_examples
from pincite_server.site import Site, opened
from pincite_server.wikis import Wikis, browser_token, with_token
from pincite_server.worker import Worker

ROUTERS = (
    *(meta.api, jobs.api, verify.api, citations.api, copies.api, corpora.api, feedback.api),
    accounts.api,
    *(static_files.router, meta.pages, verify.pages, copies.pages, check.pages, ask.pages),
    *(corpora.pages, feedback.pages, results.pages, login.pages, accounts.pages, admin.pages),
)
REFUSALS: problems.Refusals = {
    QueueFull: (429, "queue_full", {"Retry-After": "30"}),
    TooManyOfYours: (429, "too_many_of_yours", {"Retry-After": "30"}),
    NameTaken: (409, "name_taken", {}),
    AccountExists: (409, "name_taken", {}),
    LastAdmin: (409, "last_admin", {}),
    LoginFailed: (403, "login_refused", {}),
    DiskFull: (507, "disk_full", {}),
    AccountFull: (422, "account_full", {}),
}
ABOUT = """Does the source support the statement, and if not, which one would?

Start a job with `POST /api/v1/verify`, `/check` or `/ask`, follow its `events`, and get its
`result`, which is the JSON that the command line prints with `--json`.
"""


def create_app(site: Site, worker: Worker | None = None) -> FastAPI:
    """Create the application; `worker` is the worker in this process, if any, for `/readyz`."""
    server = site.server
    app = FastAPI(
        title="Pincite",
        description=ABOUT,
        version="1",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # the page would load scripts from other sites
        redoc_url=None,
        dependencies=[Depends(csrf_checked)],
    )
    app.state.site = site
    app.state.worker = worker
    app.state.metrics = metrics = Metrics()
    app.state.limits = limits = Limits(server)
    app.state.texts = operator_texts.read_texts(server.texts)
    app.state.terms = terms = operator_texts.read_terms(server.consent)
    app.state.identify = _identify(site, "\0".join(terms.values()))
    app.state.examples = {
        "check": read_examples(server.examples),
        "ask": read_examples(server.questions),
    }
    app.state.problem_page = rendering.problem_page
    problems.install(app, REFUSALS)
    added = (router for plugin in plugins.loaded() for router in plugin.routers)
    for router in (*ROUTERS, *added):
        app.include_router(router)
    _describe(app)

    def body_bytes(path: str) -> int:
        megabytes = server.upload_megabytes if UPLOADS.fullmatch(path) else server.body_megabytes
        return int(megabytes * 1e6)

    # If cookies require https, an http page is not ours.
    https_only = server.mode == "server" and server.secure_cookies
    app.add_middleware(
        SecurityMiddleware,
        hosts=LOCAL_NAMES | set(server.names),
        schemes=("https",) if https_only else ("http", "https"),
        body_bytes=body_bytes,
        limits=limits,
        observe=metrics.observe,
    )
    if server.wikis:
        app.add_middleware(Wikis, origins=server.wikis)
    if server.proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=[*server.proxies])
    return app


def _identify(site: Site, terms: str) -> Identify:
    if site.server.mode == "local" and site.server.wikis:
        return with_token(identify_local, browser_token(site.server.folder))
    if site.server.mode == "local":
        return identify_local
    return identifier(site.people.sessions, site.people.keys, site.server, terms)


# ── OpenAPI ──────────────────────────────────────────────────────────────────────────────────────

SCHEMAS = "#/components/schemas/"
RESULT = "/api/v1/jobs/{job_id}/result"
# `Interpretation` is the result of a check for readings only, `Ingested` that of a file upload.
RESULTS = (Report, CheckReport, Interpretation, AnswerReport, Ingested)
ERRORS = {
    "403": "Not allowed, or the request comes from a page on another site.",
    "413": "The body exceeds the server's limit.",
    "421": "This server does not answer to the name in `Host`.",
    "422": "The request is not valid.",
    "503": "The database does not answer; `Retry-After` says when to try again.",
    "default": "Any other error.",
}


def _describe(app: FastAPI) -> None:
    """Add result schemas and error responses to the OpenAPI document."""
    plain: Callable[[], dict[str, Any]] = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = plain()
            for path in document["paths"].values():
                for operation in path.values():
                    _add_errors(operation["responses"])
            schemas = document["components"]["schemas"]
            document["paths"][RESULT]["get"]["responses"]["200"]["content"]["application/json"] = {
                "schema": {"oneOf": [_add_schema(kind, schemas) for kind in RESULTS]}
            }
            schemas["ProblemBody"] = ProblemBody.model_json_schema(ref_template=SCHEMAS + "{model}")
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
        assert app.openapi_schema is not None
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # as FastAPI's documentation has it


def _add_errors(answers: dict[str, Any]) -> None:
    answers.pop("422", None)  # FastAPI's own description
    for status, description in ERRORS.items():
        answers.setdefault(status, {"description": description})
    for status, answer in answers.items():
        if status == "default" or status >= "400":
            answer["content"] = {MEDIA_TYPE: {"schema": {"$ref": f"{SCHEMAS}ProblemBody"}}}
            if status in ("429", "503"):
                answer["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}


def _add_schema(kind: type[Any], schemas: dict[str, Any]) -> dict[str, str]:
    """Add the schema of a result with its definitions; return a reference to it."""
    found = codec.described(kind, SCHEMAS)
    for name, schema in [*found.pop("$defs", {}).items(), (kind.__name__, found)]:
        if schemas.setdefault(name, schema) != schema:
            raise ValueError(f"two schemas have the name {name}")
    return {"$ref": SCHEMAS + kind.__name__}


# ── `pincite serve` and `pincite worker` ─────────────────────────────────────────────────────────

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
    """Serve until Ctrl-C or SIGTERM.

    `options` has settings from the command line, and `config` is a TOML file with other settings.
    `demo` adds the bundled documents as corpora; without a data folder, everything is then stored
    in a temporary one.

    Raises:
        ConfigError: a setting is invalid, or the port is in use.
    """
    with contextlib.ExitStack() as stack:
        if demo and not options.get("data"):
            temporary = tempfile.TemporaryDirectory(prefix="pincite-demo-")
            options = {**options, "data": stack.enter_context(temporary)}
        server = load(options, config)
        if demo:  # keeps fictional sources out of the user's copies; job processes inherit it
            os.environ["PINCITE_LIBRARY_OWN_COPIES"] = str(server.folder / "demo-copies")
        site = opened(server, pipeline_settings.load({}, config))
        for entry in link(site.corpora, LOCAL, server.corpora):
            if problem := fault(entry):
                say(problem)
        listening = stack.enter_context(_listening(server))  # before the demo is indexed
        if demo:
            furnish(site, say)
        for line in _advice(site, config):
            say(line)
        slots = server.jobs_at_once
        worker = Worker(site.jobs, server, slots=slots, config=config, tidy=site.tidy)
        host, port = listening.getsockname()[:2]
        host = "localhost" if host in ("0.0.0.0", "::") else host  # noqa: S104 - not opened
        shown = f"[{host}]" if ":" in host else host
        say(f"Pincite is at http://{shown}:{port}/   (press Ctrl-C to stop)")
        if server.wikis and server.mode == "local":
            say(f"Token for {', '.join(server.wikis)}: {browser_token(server.folder)}")
        configure_logs(server.log, requests=server.log_requests)
        running = uvicorn.Server(_configure(create_app(site, worker)))
        # When uvicorn exits, it raises the signal again, which would end this process before
        # running jobs have been requeued.
        signal.signal(signal.SIGTERM, lambda *_: None)
        worker.start()
        try:
            running.run(sockets=[listening])
        finally:
            worker.stop()
            site.close()


def _advice(site: Site, config: Path | None) -> Iterator[str]:
    """What still keeps users from logging in to a server with accounts."""
    server = site.server
    if server.mode == "local":
        return
    place = f" --config {config}" if config else ""
    if server.shared_account and site.people.accounts.named(server.shared_account) is None:
        name = server.shared_account
        yield f"No account for visitors. Create it: pincite server user add {name}{place}"
    elif not site.people.accounts.listed(1):
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
    site = opened(server, pipeline_settings.load({}, config))
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
    site.close()


class ImpatientProtocol(H11Protocol):
    """Closes a connection whose client stops sending in the middle of a request.

    Time counts only while the server waits for headers, or for a body that it is ready to read.
    """

    seconds: float = REQUEST_SECONDS
    _owed, _n_bytes = 0.0, 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._tick()

    def data_received(self, data: bytes) -> None:
        """Reset the timer when a request is complete."""
        super().data_received(data)
        self._n_bytes += len(data)
        if self.conn.their_state not in OWING:
            self._owed, self._n_bytes = 0.0, 0

    def _tick(self) -> None:
        if self.transport.is_closing():
            return
        if self.conn.their_state in OWING and not self.flow.read_paused:
            self._owed += self.seconds / TICKS
        # A body that has already been answered gets no extra time.
        is_body = self.cycle is not None and not self.cycle.response_complete
        if self._owed > self.seconds + is_body * self._n_bytes / BYTES_A_SECOND:
            self.transport.close()
            return
        self.loop.call_later(self.seconds / TICKS, self._tick)


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
