"""The connection goes to an address, but the certificate must be the name's."""

import http.server
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import pytest

from pincite.errors import UntrustedHost
from pincite.web.fetch import WebClient, WebRules

pytestmark = pytest.mark.skipif(not which("openssl"), reason="makes its certificate with openssl")


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = f"{self.headers['host']} {NAMES[-1:]}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


NAMES: list[str] = []  # that clients asked for in the handshake


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """A server for good.test; its port and its certificate."""
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
    command += f"-subj /CN=good.test -addext subjectAltName=DNS:good.test -out {certificate}"
    subprocess.run([*command.split(), "-keyout", str(key)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.sni_callback = lambda _socket, name, _context: NAMES.append(name)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server.server_port, certificate
    server.shutdown()
    server.server_close()


def client(port: int, certificate: Path | None) -> WebClient:
    rules = WebRules(online=True, pause=0.0, first_wait=0.0, ports=(port,))
    trust = ssl.create_default_context(cafile=str(certificate)) if certificate else None
    return WebClient(rules, resolve=lambda *_: ["127.0.0.1"], allow={"127.0.0.1"}, trust=trust)


def test_the_name_is_sent_and_checked(secure: tuple[int, Path]) -> None:
    port, certificate = secure
    NAMES.clear()
    with client(port, certificate) as web:
        found = web.get(f"https://good.test:{port}/")
        again = web.get(f"https://good.test:{port}/b")
    assert found.body == f"good.test:{port} ['good.test']".encode()
    assert again.status == 200
    assert NAMES == ["good.test"]  # one handshake: the connection was kept


@pytest.mark.parametrize("host", ["evil.test", "127.0.0.1"])
def test_a_certificate_of_another_name(secure: tuple[int, Path], host: str) -> None:
    port, certificate = secure
    with client(port, certificate) as web, pytest.raises(UntrustedHost, match="mismatch"):
        web.get(f"https://{host}:{port}/")


def test_a_self_signed_certificate(secure: tuple[int, Path]) -> None:
    port, _ = secure
    with client(port, None) as web, pytest.raises(UntrustedHost, match=r"self.signed"):
        web.get(f"https://good.test:{port}/")
