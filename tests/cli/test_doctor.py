"""`pincite doctor`: which chat servers on this machine it names."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click.testing import CliRunner

from pincite.cli import cli, local

MODELS = json.dumps({"object": "list", "data": [{"id": "qwen3:4b"}, {"id": "llama-4"}]}).encode()
PATIENT = 60.0  # seconds: no test waits for them


@contextmanager
def answering(body: bytes, status: int = 200, **headers: str) -> Iterator[tuple[int, list[str]]]:
    """A server on a free port, with what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.command} {self.path}")
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_port, asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def doctor(monkeypatch: pytest.MonkeyPatch, *ports: int, seconds: float = PATIENT) -> list[str]:
    """The lines that name a server on one of the ports."""
    monkeypatch.setattr(local, "CHAT_PORTS", ports)
    monkeypatch.setattr(local, "SECONDS_TO_ANSWER", seconds)
    result = CliRunner().invoke(cli, ["doctor"], catch_exceptions=False)
    assert result.exit_code == 0
    addresses = [f"http://localhost:{port}/v1" for port in ports]
    return [line for line in result.stdout.splitlines() if any(a in line for a in addresses)]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        return int(unused.getsockname()[1])


def test_a_server_on_a_usual_port_is_named_with_its_models_after_one_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with answering(MODELS) as (port, asked):
        (line,) = doctor(monkeypatch, free_port(), port)
    assert f"http://localhost:{port}/v1" in line
    assert "qwen3:4b, llama-4" in line
    assert asked == ["GET /v1/models"]


def test_a_port_that_accepts_and_never_answers_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert doctor(monkeypatch, silent.getsockname()[1], seconds=0.05) == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"<html>another program</html>", 200), (b"", 404), (b"[]", 200), (b'{"data": 7}', 200),
        (b'{"data": [{"name": "x"}]}', 200), (b"[" * 100_000, 200), (b" " * 300_000, 200),
        (json.dumps({"data": [{"id": "\x1b[2J"}]}).encode(), 200),
    ],
)  # fmt: skip
def test_another_program_on_a_usual_port_is_not_named(
    monkeypatch: pytest.MonkeyPatch, body: bytes, status: int
) -> None:
    with answering(body, status) as (port, _):
        assert doctor(monkeypatch, port) == []


def test_redirects_are_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(MODELS) as (other, asked):
        where = f"http://127.0.0.1:{other}/v1/models"
        with answering(b"", 302, Location=where) as (port, _):
            assert doctor(monkeypatch, port) == []
    assert asked == []


def test_only_loopback_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    connected: list[object] = []

    def refused(self: socket.socket, address: object) -> None:
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example:3128")
    ports = local.CHAT_PORTS
    assert doctor(monkeypatch, *ports) == []
    assert sorted(map(str, connected)) == sorted(str(("127.0.0.1", port)) for port in ports)
