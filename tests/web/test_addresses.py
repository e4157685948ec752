"""No spelling of an inner address is ever connected to; checked where sockets connect."""

import socket
from collections.abc import Callable, Iterator

import pytest
from support.rows import each_row
from web.zoo import reply, zoo_server

from pincite.errors import FetchError
from pincite.types import Reason
from pincite.web.addresses import parse_target, system_resolver
from pincite.web.fetch import WebClient, WebRules

# Hosts as they may stand in an address; the C library takes most of them for inner ones.
HOSTS = """
127.0.0.1 127.0.0.53 127.1 127.0.1 0.0.0.0 0 0.0.0.1 10.0.0.1 10.255.255.255 172.16.0.1 172.31.9.9
192.168.0.1 192.168.255.255 169.254.169.254 169.254.0.1 168.63.129.16 100.64.0.1 100.127.255.255
192.0.0.1 192.0.0.192 192.0.2.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9 192.88.99.1
224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
2130706433 0x7f000001 0X7F000001 017700000001 0x7f.0.0.1 0x7f.1 0177.0.0.1 0177.1 00000177.1
127.0.0.0x1 127.0.0.01 3232235521 0xa9fea9fe 2852039166 0251.0376.0251.0376 0xa9.254.0251.254
4294967295 127.0.0.1. 2130706433. ①②⑦.⓪.⓪.① １２７.０.０.１ 127。0。0。1 %31%32%37.0.0.1 0x7f%2e1
[::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:a9fe:a9fe] [::127.0.0.1] [0:0:0:0:0:0:0:1]
[64:ff9b::7f00:1] [64:ff9b::a9fe:a9fe] [64:ff9b:1::a00:1] [2002:7f00:1::] [2002:a9fe:a9fe::1]
[2001:0:4136:e378:8000:63bf:3fff:fdd2] [fd00:ec2::254] [fc00::1] [fe80::1] [fe80::1%25eth0]
[ff02::1] [2001:db8::1] [3fff::1] [100::1] [2001:10::1] [2001:2::1] [fec0::1] [5f00::1]
[::ffff:0:127.0.0.1] [2620:4f:8000::1]
""".split()
URLS = """
file:///etc/passwd ftp://example.org/ gopher://127.0.0.1/ dict://127.0.0.1:11211/ data:text/html,x
javascript:alert(1) //127.0.0.1/ http:/127.0.0.1 http:// http:///a https://:443/ http://user@8.8.8.8/
http://a:b@8.8.8.8/ http://8.8.8.8@127.0.0.1/ http://8.8.8.8:22/ http://8.8.8.8:0/ http://8.8.8.8:99999/
http://8.8.8.8:6379/ http://8.8.8.8:-1/ http://127.0.0.1\\@8.8.8.8/ http://8.8.8.8\\@127.0.0.1/
http://[127.0.0.1]/ http://[::1 http://a..b/ http://-a.example/ http://?x http://@/ http://8.8.8.8:8080x/
unix:///run/docker.sock jar:http://8.8.8.8/ ws://8.8.8.8/ http://1.2.3.4.5/ http://256.1.1.1/
http://08.8.8.8/ http://example.0x1/ http://a.b.c.0x/
""".split()
LIST = [
    *URLS,
    "http://exa mple.org/",
    "http://a\tb.org/",
    "http://example.org/\r\nHost: 127.0.0.1",
    "http://example.org/" + "x" * 5000,
    "",
]


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every address that a socket tried to connect to."""
    seen: list[object] = []

    def connect(self: socket.socket, address: object) -> None:
        seen.append(address)
        raise OSError("the test connects nowhere")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket.socket, "connect_ex", connect)
    return seen


def client(resolve: Callable[[str, int], list[str]] = system_resolver) -> WebClient:
    return WebClient(WebRules(online=True, pause=0, first_wait=0, attempts=2), resolve=resolve)


def is_unsafe(error: FetchError) -> bool:
    return error.reason in (Reason.UNSAFE_ADDRESS, Reason.NOT_ALLOWED)


def refused(web: WebClient, url: str) -> bool:
    """Whether an address is refused as unsafe, and nothing else comes of it."""
    try:
        web.get(url)
    except FetchError as error:
        return is_unsafe(error)
    return False


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_no_spelling_of_an_inner_address_connects(scheme: str, attempts: list[object]) -> None:
    assert [host for host in HOSTS if not refused(client(), f"{scheme}://{host}/")] == []
    assert attempts == []


@pytest.mark.parametrize("order", ["alone", "last", "first"])
def test_no_name_of_an_inner_address_connects(order: str, attempts: list[object]) -> None:
    public = "8.8.8.8"
    for host in HOSTS:
        inner = host.strip("[]")
        answers = {"alone": [inner], "last": [public, inner], "first": [inner, public]}[order]

        def resolve(_host: str, _port: int, answers: list[str] = answers) -> list[str]:
            return answers

        assert refused(client(resolve), "http://innocent.example/"), host
    assert attempts == []


def test_invalid_addresses_are_refused(attempts: list[object]) -> None:
    assert [url for url in LIST if not refused(client(), url)] == []
    assert attempts == []


def test_localhost_by_name(attempts: list[object]) -> None:
    for name in ("localhost", "LOCALHOST.", "localhost.localdomain", "foo.localhost"):
        with pytest.raises(FetchError, check=lambda e: is_unsafe(e) or e.reason is Reason.NO_HOST):
            client().get(f"http://{name}/")
    assert attempts == []


def rebinding() -> Callable[[str, int], list[str]]:
    answers: Iterator[list[str]] = iter([["93.184.216.34"], ["127.0.0.1"], ["127.0.0.1"]])
    return lambda _host, _port: next(answers)


def test_dns_rebinding_does_not_work(attempts: list[object]) -> None:
    """One look-up a connection, and the connection goes to what was looked at."""
    with pytest.raises(
        FetchError, check=is_unsafe
    ):  # the second attempt asks again, and is refused
        client(rebinding()).get("http://rebind.example/")
    assert attempts == [("93.184.216.34", 80)]


def test_no_redirect_leads_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through two public hosts to each spelling of an inner address, at the socket."""
    seen: list[object] = []
    connect = socket.socket.connect

    def public_is_the_zoo(self: socket.socket, address: object) -> None:
        seen.append(address)
        connect(self, ("127.0.0.1", zoo.port))

    monkeypatch.setattr(socket.socket, "connect", public_is_the_zoo)
    with zoo_server() as zoo:
        rules = WebRules(online=True, pause=0, ports=(zoo.port,), attempts=1)
        with WebClient(rules, resolve=lambda *_: ["93.184.216.34"]) as web:
            for number, host in enumerate(HOSTS):
                inside = f"http://{host}:{zoo.port}/".encode().decode("latin-1")
                zoo.pages["b.test", f"/{number}"] = reply(b"", "302 F", Location=inside)
                there = zoo.url("b.test", f"/{number}")
                zoo.pages["a.test", f"/{number}"] = reply(b"", "301 M", Location=there)
                with pytest.raises(FetchError, check=is_unsafe):
                    web.get(zoo.url("a.test", f"/{number}"))
        port = zoo.port
    assert set(seen) == {("93.184.216.34", port)}
    assert len(seen) == 2 * len(HOSTS)


def test_the_connection_goes_to_the_address_and_never_to_the_name(attempts: list[object]) -> None:
    names: list[str] = []

    def resolve(host: str, _port: int) -> list[str]:
        names.append(host)
        return ["93.184.216.34", "2606:2800:220:1::1"]

    with pytest.raises(FetchError):
        WebClient(WebRules(online=True, attempts=1), resolve=resolve).get("https://a.example:8443/")
    assert names == ["a.example"]
    assert [address[0] for address in attempts] == ["93.184.216.34", "2606:2800:220:1::1"]  # type: ignore[index]


NAMED = frozenset({("wiki.corp", 8070), ("files.corp", None), ("10.0.0.7", None)})


@each_row("web/addresses/a_named_private_host_is_connected_to")
def test_a_named_private_host_is_connected_to(
    url: str, address: str, attempts: list[object]
) -> None:
    rules = WebRules(online=True, attempts=1, private_hosts=NAMED)
    with pytest.raises(FetchError, check=lambda error: error.reason is Reason.UNREACHABLE):
        WebClient(rules, resolve=lambda *_: [address]).get(url)
    assert [tried[0] for tried in attempts] == [address]  # type: ignore[index]


@each_row("web/addresses/nothing_beside_a_named_private_host_is_connected_to")
def test_nothing_beside_a_named_private_host_is_connected_to(
    url: str, address: str, attempts: list[object]
) -> None:
    rules = WebRules(online=True, attempts=1, private_hosts=NAMED)
    with pytest.raises(FetchError, check=is_unsafe):
        WebClient(rules, resolve=lambda *_: [address]).get(url)
    assert attempts == []


@pytest.mark.parametrize("end", ["/a b", "/x", "/" + "x" * 300, ":x/"])
def test_no_password_is_shown(end: str) -> None:
    with pytest.raises(FetchError, check=lambda error: "secret" not in str(error)):
        parse_target("http://ada:secret@host.example" + end)


def test_nothing_is_fetched_by_default(attempts: list[object]) -> None:
    from pincite.errors import FetchingIsOff

    with pytest.raises(FetchingIsOff, match="--online"):
        WebClient().get("http://8.8.8.8/")
    assert attempts == []


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("http://EXAMPLE.org:80/a b".replace(" ", "%20"), "http://example.org/a%20b"),
        ("https://bücher.example/ü?q=ß", "https://xn--bcher-kva.example/%C3%BC?q=%C3%9F"),
        ("https://faß.example/", "https://xn--fa-hia.example/"),
        ("http://[2606:2800:220:1::1]:8080/x#y", "http://[2606:2800:220:1::1]:8080/x"),
        ("http://example.org.:8443?x", "http://example.org:8443/?x"),
        ("http://8.8.8.8/%zz|^", "http://8.8.8.8/%zz|%5E"),
        ("http://my_blog.example/", "http://my_blog.example/"),
    ],
)
def test_addresses_in_the_form_they_are_sent(url: str, sent: str) -> None:
    assert parse_target(url).url == sent
