"""EPUB books: chapters in the order of the spine, and what protects a book."""

import io
import zipfile
from collections.abc import Mapping

import pytest
from support.found import document, refusal
from support.rows import text_of

from pincite.documents.read import Limits, read_bytes
from pincite.types import Reason

URL = "https://e.org/book"
CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile '
    'full-path="{}" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
PACKAGE = text_of("documents/epub/package.opf")


def chapter(body: str, head: str = "<title/>") -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" '
        '"http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">\n'
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">'
        f"<head>{head}</head><body>{body}</body></html>"
    )


ONE = chapter(
    '<h1>The first ferry</h1><p>The ferry crossed&nbsp;the sound in 1911.<sup><a href="#n1" '
    'epub:type="noteref">1</a></sup> <script/>It carried 40 people.</p>'
    '<nav epub:type="toc"><ol><li>Contents</li></ol></nav>'
)
TWO = chapter("<p>Café &amp; bar on deck.<a id='x'/> It sank in 1950.</p>")
FILES = {"OPS/Text/chapter 2.xhtml": TWO, "Text/one.xhtml": ONE, "OPS/Text/nav.xhtml": ONE}


def epub(files: Mapping[str, str | bytes] = FILES, package: str = PACKAGE) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        file.writestr("META-INF/container.xml", CONTAINER.format("OPS/book.opf"))
        file.writestr("OPS/book.opf", package)
        for name, text in files.items():
            file.writestr(name, text)
    return packed.getvalue()


def test_chapters_come_in_the_order_of_the_spine_and_once() -> None:
    found = document(read_bytes(epub(), url=URL))
    assert found.text == (
        "The first ferry\n\nThe ferry crossed the sound in 1911. It carried 40 people.\n\n"
        "Café & bar on deck. It sank in 1950."
    )
    assert (found.title, found.kind, found.published) == (
        "The Ferries of Norlund",
        "epub",
        "2019-05-14",
    )
    assert found.meta == {"author": "Ines Holm, Ole Brand"}


def test_page_breaks_do_not_cut_words() -> None:
    body = (
        '<span epub:type="pagebreak" id="p11" title="11"/><p>The ferry crossed the so'
        '<span role="doc-pagebreak" aria-label="Page 12."/>und in 1911.</p>'
        '<div epub:type="pagebreak">13</div><p>It sank.</p>'
    )
    found = document(read_bytes(epub({**FILES, "Text/one.xhtml": chapter(body)}), url=URL))
    assert found.text.startswith("The ferry crossed the sound in 1911.\n\nIt sank.\n\nCafé")


def test_a_protected_book_is_not_read_as_noise() -> None:
    lock = (
        '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><EncryptedData><Cipher'
        'Data><CipherReference URI="{}"/></CipherData></EncryptedData></encryption>'
    )
    fonts = {**FILES, "META-INF/encryption.xml": lock.format("OPS/font.otf")}
    assert "1911" in document(read_bytes(epub(fonts), url=URL)).text
    book = {**FILES, "META-INF/encryption.xml": lock.format("OPS/Text/chapter%202.xhtml")}
    assert refusal(read_bytes(epub(book), url=URL)).reason is Reason.ENCRYPTED


@pytest.mark.parametrize(
    ("files", "package", "reason"),
    [
        ({**FILES, "Text/one.xhtml": bytes(5_000_000)}, PACKAGE, Reason.TOO_LARGE),
        (FILES, '<!DOCTYPE p [<!ENTITY x "y">]><package>&x;</package>', Reason.UNDECODABLE),
        (FILES, "no XML", Reason.UNDECODABLE),
        ({}, PACKAGE, Reason.EMPTY),
    ],
    ids=["bomb", "entities", "text", "empty"],
)
def test_bad_books_are_refused(
    files: Mapping[str, str | bytes], package: str, reason: Reason
) -> None:
    assert refusal(read_bytes(epub(files, package), url=URL)).reason is reason


def test_all_chapters_together_have_a_limit() -> None:
    data = epub({**FILES, "Text/one.xhtml": chapter("<p>The ferry.</p>" * 1_000)})
    limits = Limits(max_bytes=10_000)
    assert len(data) < limits.max_bytes
    assert refusal(read_bytes(data, url=URL, limits=limits)).reason is Reason.TOO_LARGE


def test_a_zip_without_a_package_is_no_book() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("META-INF/container.xml", "<container/>")
    assert refusal(read_bytes(packed.getvalue(), url=URL)).reason is Reason.UNDECODABLE
