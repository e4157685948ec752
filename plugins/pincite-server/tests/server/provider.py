"""A provider of logins on loopback that holds clients to OAuth 2 with PKCE (RFC 6749, 7636).

People "log in" there by `allow`, which a test calls in their place. It refuses, as a real one
does: another client, another redirect address, a code twice, a wrong verifier.
"""

import base64
import contextlib
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

CLIENT, SECRET = "pincite-test", "the client's secret"


class Provider:
    """What the server knows."""

    def __init__(self) -> None:
        self.profile: dict[str, Any] = {"sub": 17, "username": "Ada W."}
        self.codes: dict[str, dict[str, str]] = {}
        self.tokens: set[str] = set()
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.broken = ""  # how the token endpoint misbehaves
        self.lifetime = 3600  # seconds that tokens claim to live
        self.pause = 0.0  # seconds between the bytes of a reply
        self.padding = 0  # spaces after a reply
        self.odd_path = ""  # the only path that is slow or padded
        self.base = ""
        self.issuer: dict[str, Any] = {}  # differences of its OpenID configuration

    def allow(self, url: str) -> str:
        """Somebody is sent to `url`, logs in and allows it: where they are sent back to."""
        assert url.startswith(f"{self.base}/rest.php/oauth2/authorize?"), url
        asked = {key: value[0] for key, value in parse_qs(urlsplit(url).query).items()}
        assert asked["response_type"] == "code"
        assert asked["client_id"] == CLIENT
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        back = urlencode({"code": code, "state": asked["state"]})
        return f"{asked['redirect_uri']}?{back}"

    def configuration(self) -> dict[str, Any]:
        """What OpenID Connect Discovery states."""
        base = f"{self.base}/rest.php/oauth2"
        return {
            "issuer": self.base,
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/access_token",
            "userinfo_endpoint": f"{base}/resource/profile",
        } | self.issuer

    def exchange(self, given: dict[str, str]) -> tuple[int, object]:
        """The token endpoint."""
        asked = self.codes.pop(given.get("code", ""), None)
        digest = hashlib.sha256(given.get("code_verifier", "").encode()).digest()
        proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if (given.get("client_id"), given.get("client_secret")) != (CLIENT, SECRET):
            return 401, {"error": "invalid_client"}
        if (
            asked is None
            or proof != asked["code_challenge"]
            or given.get("redirect_uri") != asked["redirect_uri"]
            or given.get("grant_type") != "authorization_code"
        ):
            return 400, {"error": "invalid_grant"}
        token = secrets.token_urlsafe(16)
        self.tokens.add(token)
        return 200, {"access_token": token, "token_type": "Bearer", "expires_in": self.lifetime}


@contextmanager
def running() -> Iterator[Provider]:
    """A provider that listens until the end of the block."""
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            given = {key: value[0] for key, value in parse_qs(body).items()}
            kind, _, proof = self.headers.get("Authorization", "").partition(" ")
            if kind == "Basic":
                user, _, password = base64.b64decode(proof).decode().partition(":")
                given |= {"client_id": user, "client_secret": password}
            provider.seen.append((self.path, dict(self.headers)))
            assert self.path == "/rest.php/oauth2/access_token"
            if provider.broken:
                self._answer(200, provider.broken.encode())
            else:
                status, reply = provider.exchange(given)
                self._answer(status, json.dumps(reply).encode())

        def do_GET(self) -> None:
            provider.seen.append((self.path, dict(self.headers)))
            if self.path == "/.well-known/openid-configuration":
                self._answer(200, json.dumps(provider.configuration()).encode())
                return
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            known = token in provider.tokens and self.path == "/rest.php/oauth2/resource/profile"
            self._answer(200 if known else 401, json.dumps(provider.profile).encode())

        def _answer(self, status: int, body: bytes) -> None:
            is_odd = self.path == provider.odd_path
            body += b" " * provider.padding * is_odd
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(OSError):  # the client has hung up
                size = 1 if is_odd and provider.pause else len(body)
                for start in range(0, len(body), size):
                    self.wfile.write(body[start : start + size])
                    time.sleep(provider.pause)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.base = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
