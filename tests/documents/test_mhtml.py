"""Pages saved as MHTML: the page, its address and its date."""

import quopri
from pathlib import Path

import pytest
from support.found import document, refusal

from pincite.documents.body import Body
from pincite.documents.collection import open_sources
from pincite.documents.office import read_mhtml
from pincite.documents.read import read_bytes, read_path
from pincite.types import Document, Reason

PAGE = "https://harbour.example/tram?id=7"
SENTENCES = "The Norlund tram, “the Green Line”, opened in 1931 and ran through the old town. " * 8


def chrome(charset: str = "utf-8", text: str = SENTENCES) -> bytes:
    html = f"<html><head><title>Tram</title></head><body><article><p>{text}</p></article></body>"
    encoded = quopri.encodestring(html.encode(charset)).replace(b"\n", b"\r\n")
    head = (
        "From: <Saved by Blink>\r\n"
        f"Snapshot-Content-Location: {PAGE}\r\n"
        "Subject: =?utf-8?Q?Tram?=\r\n"
        "Date: Tue, 14 May 2019 09:30:00 -0000\r\n"
        "MIME-Version: 1.0\r\n"
        'Content-Type: multipart/related;\r\n\ttype="text/html";\r\n'
        '\tboundary="----MultipartBoundary--x----"\r\n\r\n\r\n'
        "------MultipartBoundary--x----\r\nContent-Type: text/html"
        + (f"; charset={charset}" if charset != "utf-8" else "")
        + "\r\nContent-ID: <frame-1@mhtml.blink>\r\nContent-Transfer-Encoding: quoted-printable\r\n"
        f"Content-Location: {PAGE}\r\n\r\n"
    )
    tail = (
        "\r\n------MultipartBoundary--x----\r\nContent-Type: image/png\r\n"
        "Content-Transfer-Encoding: base64\r\n\r\niVBORw0KGgo=\r\n"
        "------MultipartBoundary--x----\r\nContent-Type: text/html\r\n\r\n<p>An advertisement.</p>"
        "\r\n------MultipartBoundary--x------\r\n"
    )
    return head.encode() + encoded + tail.encode()


@pytest.mark.parametrize("charset", ["utf-8", "windows-1252"])
@pytest.mark.parametrize("label", [None, "multipart/related", "text/html", "message/rfc822"])
def test_the_page_is_read(charset: str, label: str | None) -> None:
    found = document(read_bytes(chrome(charset), url="u", content_type=label))
    assert found.text == SENTENCES.strip()
    assert (found.title, found.kind, found.fetched) == ("Tram", "html", "2019-05-14")


def test_the_page_states_its_address(tmp_path: Path) -> None:
    file = tmp_path / "tram.mhtml"
    file.write_bytes(chrome())
    assert [found.url for found in read_path(file)] == [PAGE]
    assert isinstance(open_sources(tmp_path).get(PAGE), Document)


def test_a_file_without_a_page_is_refused() -> None:
    body = Body("u", b"Content-Type: multipart/related; boundary=x\r\n\r\n--x\r\n\r\nwords\r\n")
    assert isinstance(found := read_mhtml(body), object)
    assert refusal(found).reason is Reason.UNDECODABLE


def test_mail_without_a_page_is_text() -> None:
    found = document(read_bytes(b"From: A\nSubject: Tram\n\nIt opened.\n", url="u"))
    assert found.kind == "text"
