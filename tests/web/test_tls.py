"""The connection goes to an address, but the certificate must be the name's."""

import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import pytest
from support.wiki_server import Wiki, WikiPage, serving
from web.zoo import Zoo, reply, zoo_server

from pincite.errors import ConfigError, UntrustedHost
from pincite.library.web_pages import open_web
from pincite.settings import WebSettings
from pincite.web.fetch import WebClient, WebRules
from pincite.wiki.addresses import ArticleAddress, site_at
from pincite.wiki.api import ActionApi, fetch_page

pytestmark = pytest.mark.skipif(not which("openssl"), reason="makes its certificate with openssl")
NAMES: list[str] = []  # that clients sent in the handshake


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Zoo, Path]]:
    """A server for good.test, and its certificate."""
    certificate, context = certified(tmp_path_factory.mktemp("tls"), "DNS:good.test")
    context.sni_callback = lambda _socket, name, _context: NAMES.append(name)
    with zoo_server(context) as zoo:
        zoo.pages["good.test", "/"] = reply(b"good", Connection="keep-alive")
        yield zoo, certificate


def certified(folder: Path, name: str) -> tuple[Path, ssl.SSLContext]:
    """A certificate that no authority signed, and a server's context with it."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
    command += f"-subj /CN=test -addext subjectAltName={name} -out {certificate}"
    subprocess.run([*command.split(), "-keyout", str(key)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return certificate, context


def client(zoo: Zoo, certificate: Path | None) -> WebClient:
    rules = WebRules(online=True, pause=0.0, first_wait=0.0, ports=(zoo.port,))
    trust = ssl.create_default_context(cafile=str(certificate)) if certificate else None
    return WebClient(rules, resolve=lambda *_: ["127.0.0.1"], allow={"127.0.0.1"}, trust=trust)


def test_the_name_is_sent_and_checked(secure: tuple[Zoo, Path]) -> None:
    zoo, certificate = secure
    NAMES.clear()
    with client(zoo, certificate) as web:
        bodies = [web.get(f"https://good.test:{zoo.port}/").body for _ in range(2)]
    assert bodies == [b"good", b"good"]
    assert NAMES == ["good.test"]  # one handshake: the connection was kept


@pytest.mark.parametrize("host", ["evil.test", "127.0.0.1"])
def test_a_certificate_of_another_name(secure: tuple[Zoo, Path], host: str) -> None:
    zoo, certificate = secure
    with client(zoo, certificate) as web, pytest.raises(UntrustedHost, match="mismatch"):
        web.get(f"https://{host}:{zoo.port}/")


def test_a_self_signed_certificate(secure: tuple[Zoo, Path]) -> None:
    zoo, _ = secure
    with client(zoo, None) as web, pytest.raises(UntrustedHost, match=r"self.signed"):
        web.get(f"https://good.test:{zoo.port}/")


def test_a_wiki_whose_certificate_a_setting_names(tmp_path: Path) -> None:
    certificate, context = certified(tmp_path, "IP:127.0.0.1")
    with serving(Wiki([WikiPage(1, "Mill", [(10, "It burned down.")])]), context) as wiki:
        site, host = site_at(wiki.url), wiki.url.removeprefix("https://")

        def fetched(ca_file: str) -> str:
            settings = WebSettings(online=True, pause=0, private_hosts=(host,), ca_file=ca_file)
            with open_web(settings) as web:
                return fetch_page(ActionApi(site, web), ArticleAddress(site, "Mill")).wikitext

        assert fetched(str(certificate)) == "It burned down."
        with pytest.raises(UntrustedHost):
            fetched("")
        with pytest.raises(ConfigError):
            fetched(str(tmp_path / "none.pem"))
