import gzip
from pathlib import Path

import pytest
from documents.builders import pdf_of
from hypothesis import given, settings
from hypothesis import strategies as st
from support.found import document
from support.rows import each_row

from pincite.documents.read import Limits, read_bytes, read_path
from pincite.errors import InputError
from pincite.types import Document, Reason, Unchecked

URL = "https://e.org/a"
PAGE = b"<html><head><title>A bridge</title></head><body><p>Opened in 1931.</p></body></html>"


def reason(found: Document | Unchecked) -> Reason | None:
    assert isinstance(found, Document) or found.detail
    return found.reason if isinstance(found, Unchecked) else None


@pytest.mark.parametrize(
    ("data", "known", "expected"),
    [
        (PAGE, {"status": 402}, Reason.PAYWALL),
        (b"", {}, Reason.EMPTY),
        (b" \n\0", {}, Reason.EMPTY),
        (b"GIF89a", {}, Reason.UNSUPPORTED_TYPE),
        (b"PK\3\4....", {"content_type": "text/html"}, Reason.UNSUPPORTED_TYPE),
        (b"%PDF-1.7\n", {}, Reason.UNDECODABLE),
        (b"\x00\x01\x02\x03" * 99, {"content_type": "text/plain"}, Reason.UNDECODABLE),
        (b"word " * 30, {"limits": Limits(max_bytes=100)}, Reason.TOO_LARGE),
        (b"word " * 30, {"limits": Limits(max_chars=100)}, Reason.TOO_LARGE),
        (gzip.compress(bytes(10**7)), {"limits": Limits(max_bytes=10**6)}, Reason.TOO_LARGE),
        (gzip.compress(gzip.compress(PAGE)), {}, Reason.UNSUPPORTED_TYPE),
        (gzip.compress(PAGE), {"content_type": "text/html"}, None),
        (gzip.compress(PAGE * 9)[:-12], {"content_type": "text/html"}, None),
        (PAGE.decode().encode("utf-16"), {}, None),
        (PAGE, {"content_type": "text/html; charset=nonsense"}, None),
    ],
)
def test_bodies_that_cannot_be_read_have_a_reason(
    data: bytes, known: dict[str, object], expected: Reason | None
) -> None:
    assert reason(read_bytes(data, url=URL, **known)) is expected  # type: ignore[arg-type]


TYPES = (
    "|text/html|text/html; charset=utf-16|text/plain;charset=gb18030|image/png|text/markdown|"
    "application/xhtml+xml|application/octet-stream|;;;|text/\0"
)
PIECES = st.sampled_from(
    (
        b"<html>|<p>|</p>|<table><td>|<!--|-->|<script>|</script>|&#x0;|\0|\xff\xfe|\xed\xa0\x80|"
        b"<div hidden>|# |](|word |<a href='//['>|\x1f\x8b\x08|<meta charset=utf-7>|\r|&#55296;|"
        b"<time datetime='9999-99-99'>"
    ).split(b"|")
)


@settings(max_examples=150)
@given(
    st.one_of(st.binary(max_size=400), st.lists(PIECES, max_size=40).map(b"".join)),
    st.sampled_from([None, *TYPES.split("|")]),
    st.sampled_from([URL, "", "http://[", "file:///a.md", "https://e.org/\ud800.html"]),
)
def test_no_bytes_make_it_raise(data: bytes, content_type: str | None, url: str) -> None:
    if b"%PDF-" in data[:1024]:  # a process each: test_pdf.py has those
        return
    found = read_bytes(data, url=url, content_type=content_type)
    assert isinstance(found, Document | Unchecked)
    assert found.url == url
    if isinstance(found, Document):
        found.text.encode()
        assert found.text
        assert found.doc_id
    else:
        assert found.detail


def test_a_lone_file(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_bytes(PAGE)
    notes = tmp_path / "notes é.md"
    notes.write_text("# Notes\n\nOpened in *1931*.")
    report = tmp_path / "report.pdf"
    report.write_bytes(pdf_of([[["Opened in 1931."]]]))
    for path, kind in ((page, "html"), (notes, "markdown"), (report, "pdf")):
        found = document(*read_path(path))
        assert (found.url, found.kind) == (path.resolve().as_uri(), kind)
        assert "Opened in 1931." in found.text


@each_row("documents/read/stated_addresses_of_saved_pages")
def test_stated_addresses_of_saved_pages(tmp_path: Path, mark: bytes, url: str | None) -> None:
    path = tmp_path / "page.html.gz"
    path.write_bytes(gzip.compress(PAGE.replace(b"<head>", b"<head>" + mark)))
    assert document(*read_path(path)).url == (url or path.resolve().as_uri())


def test_a_large_file_is_not_even_opened(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    path.write_bytes(b"word " * 100)
    (found,) = read_path(path, limits=Limits(max_bytes=100))
    assert reason(found) is Reason.TOO_LARGE


def test_paths_that_are_not_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder"):
        list(read_path(tmp_path))
    with pytest.raises(InputError, match="does not exist"):
        list(read_path(tmp_path / "absent.html"))
