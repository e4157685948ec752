"""What is read of a request, when, and how much of it."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvicorn
from anyio.from_thread import start_blocking_portal
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st
from server.people_of_tests import SERVER, app_of
from support.rows import each_row

from pincite_server import serving
from pincite_server.identity import Permission, Role
from pincite_server.problems import Problem
from pincite_server.routing import MAX_DEPTH, MAX_ITEMS, check_json
from pincite_server.site import Site

HOST = b"pincite.example.org"
JSON = (b"content-type", b"application/json")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
SITE = SERVER


def answered(
    app: FastAPI, path: str, headers: list[tuple[bytes, bytes]], pieces: list[bytes]
) -> tuple[int, dict[str, Any], int]:
    """Status and body of the answer, and how many pieces of the request were taken for it."""
    scope: dict[str, Any] = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1"}
    scope |= {"method": "POST", "path": path, "raw_path": path.encode(), "query_string": b""}
    scope |= {"scheme": "https", "root_path": "", "headers": [(b"host", HOST), *headers]}
    scope |= {"client": ("192.0.2.1", 1), "server": ("127.0.0.1", 1)}
    taken, sent = 0, list[Any]()

    async def receive() -> dict[str, Any]:
        nonlocal taken
        taken += 1
        if taken > len(pieces):
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": pieces[taken - 1], "more_body": taken < len(pieces)}

    async def send(message: Any) -> None:
        sent.append(message)

    with start_blocking_portal() as portal:  # a browser's test may leave a loop in this thread
        portal.call(app, scope, receive, send)
    body = b"".join(each.get("body", b"") for each in sent[1:])
    return sent[0]["status"], json.loads(body), taken


@pytest.fixture
def key(site: Site) -> tuple[bytes, bytes]:
    account = site.people.accounts.add("Ada", Role.EDITOR, "correct horse battery")
    _, text = site.people.keys.add(account.account_id, "test", [Permission.READ, Permission.RUN], 1)
    return (b"authorization", f"Bearer {text}".encode())


@pytest.mark.parametrize("length", [(b"content-length", b"19500000"), (b"transfer-encoding", b"x")])
@each_row("server/routing/body_is_not_read_before_its_sender_is_known")
def test_body_is_not_read_before_its_sender_is_known(
    site: Site, path: str, kind: bytes, length: tuple[bytes, bytes]
) -> None:
    headers = [(b"content-type", kind), length]
    status, problem, taken = answered(app_of(site), path, headers, [b"["] * 9)
    assert (status, problem["code"], taken) == (401, "not_logged_in", 0)


@pytest.mark.parametrize("path", ["/password", "/login", "/preferences"])
def test_public_route_reads_little(site: Site, path: str) -> None:
    for name, value, refused in (
        (b"content-length", b"19500000", (413, "too_large", 0)),
        (b"transfer-encoding", b"chunked", (411, "length_required", 0)),
    ):
        status, problem, taken = answered(app_of(site), path, [JSON, (name, value)], [b"x"] * 9)
        assert (status, problem["code"], taken) == refused


def test_urlencoded_form_is_short(site: Site, key: tuple[bytes, bytes]) -> None:
    kind = (b"content-type", b"application/x-www-form-urlencoded")
    headers = [key, kind, (b"content-length", b"1000001")]
    status, problem, taken = answered(app_of(site), "/check", headers, [b"x"])
    assert (status, problem["code"], taken) == (413, "too_large", 0)


MUCH = [b"[" * (MAX_DEPTH + 1), b"[" + b"[]," * MAX_ITEMS]
MUCH += [b"[" + b'"",' * MAX_ITEMS, b"{" + b'"":"",' * MAX_ITEMS]


@pytest.mark.parametrize("piece", MUCH)
def test_json_with_too_much_in_it_is_refused_unparsed(
    site: Site, key: tuple[bytes, bytes], piece: bytes
) -> None:
    headers = [key, JSON, (b"transfer-encoding", b"chunked")]
    pieces = [b'{"statement": "', b'[[[[\\"', b'", "corpus": ', piece]
    status, problem, _ = answered(app_of(site), "/api/v1/check", headers, pieces)
    assert (status, problem["code"]) == (422, "json_too_complex")


@given(VALUES)
def test_marks_in_strings_do_not_count(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    check_json(json.dumps([text.decode("utf-8", "replace") * 50]).encode())


@given(st.text(alphabet='"\\[,é', max_size=60))
def test_marks_within_strings_are_not_counted(text: str) -> None:
    deep = "[" * MAX_DEPTH + json.dumps(text) + "]" * MAX_DEPTH
    check_json(deep.encode())
    with pytest.raises(Problem):
        check_json(f"[{deep}]".encode())


@pytest.mark.parametrize(
    "body", [b"]]", b'{"statement": ', b"\xff", b'{"a": 1' + b"0" * 5000 + b"}"]
)
def test_broken_json_is_a_problem(site: Site, key: tuple[bytes, bytes], body: bytes) -> None:
    status, problem, _ = answered(app_of(site), "/api/v1/check", [key, JSON], [body])
    assert status in (400, 422), problem


def test_body_that_ends_too_early_is_a_problem(site: Site, key: tuple[bytes, bytes]) -> None:
    headers = [key, JSON, (b"content-length", b"99")]
    status, problem, _ = answered(app_of(site), "/api/v1/check", headers, [])
    assert (status, problem["code"]) == (400, "incomplete")


def test_sender_is_identified_once(site: Site, key: tuple[bytes, bytes]) -> None:
    app = app_of(site)
    identify, requests = app.state.identify, []

    def counted(request: Any) -> Any:
        requests.append(request)
        return identify(request)

    app.state.identify = counted
    status, _, _ = answered(app, "/api/v1/verify", [key, JSON], [b'{"example": "article"}'])
    assert (status, len(requests)) == (202, 1)


@pytest.fixture
def served(site: Site) -> Iterator[Callable[[float], int]]:
    """Serves the application with a protocol that waits for so many seconds; gives the port."""
    servers: list[tuple[uvicorn.Server, threading.Thread]] = []

    def serve(seconds: float) -> int:
        class Protocol(serving.ImpatientProtocol):
            pass

        Protocol.seconds = seconds
        listening = socket.create_server(("127.0.0.1", 0))
        config = serving._configure(app_of(site))
        config.http = Protocol
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        servers.append((server, thread))
        return int(listening.getsockname()[1])

    yield serve
    for server, thread in servers:
        server.should_exit = True
        thread.join()


@pytest.mark.parametrize(
    "half",
    [
        b"",
        b"POST /login HTTP/1.1\r\nHost: pincite.exa",
        b"POST /login HTTP/1.1\r\nHost: pincite.example.org\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 99\r\n\r\nname=A",
    ],
)
def test_half_a_request_is_not_waited_for(served: Callable[[float], int], half: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served(0.05)), timeout=300) as connection:
        connection.sendall(half)
        assert connection.recv(100) == b""


def test_a_quiet_connection_stays_open_for_the_next_request(served: Callable[[float], int]) -> None:
    ready = b"GET /healthz HTTP/1.1\r\nHost: pincite.example.org\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served(1.0)), timeout=300) as connection:
        for pause in (0.0, 2.0):  # longer than a client may take in the middle of a request
            time.sleep(pause)
            connection.sendall(ready)
            reply = b""
            while not reply.endswith(b'{"status":"ok"}'):
                piece = connection.recv(1000)
                assert piece, "it was closed"
                reply += piece


def test_rest_of_a_refused_body_is_not_waited_for(served: Callable[[float], int]) -> None:
    begun = (
        b"POST /api/v1/check HTTP/1.1\r\nHost: pincite.example.org\r\nContent-Length: 99\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", served(0.5)), timeout=300) as connection:
        connection.sendall(begun + b"[")
        reply = b""
        while piece := connection.recv(1000):
            reply += piece
    assert reply.startswith(b"HTTP/1.1 401 ") or not reply  # closed before it was answered
