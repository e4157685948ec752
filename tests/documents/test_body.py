import pytest

from pincite.documents.body import Format, format_of, type_of_ending

HTML = b"\n <!-- note --><!DOCTYPE html><html><body>x</body></html>"


@pytest.mark.parametrize(
    ("data", "url", "content_type", "expected"),
    [
        (HTML, "https://e.org/", "text/html; charset=utf-8", Format.HTML),
        (HTML, "https://e.org/report.pdf", "application/pdf", Format.HTML),
        (HTML, "https://e.org/a", "text/plain", Format.HTML),
        (b"\xff\xfe" + HTML.decode().encode("utf-16-le"), "u", None, Format.HTML),
        (b'<?xml version="1.0"?>\n<html xmlns="x">', "u", "application/xml", Format.HTML),
        (b"<p>fragment", "https://e.org/a", None, Format.HTML),
        (b"just words", "https://e.org/a", "text/html", Format.HTML),
        (b"junk\n%PDF-1.4", "https://e.org/a", "text/html", Format.PDF),
        (b"no pdf", "https://e.org/a.pdf", "application/pdf", Format.MISLABELLED),
        (b"no pdf", "https://e.org/a.pdf?x=1", None, Format.MISLABELLED),
        (b"words", "file:///a/notes.md", None, Format.MARKDOWN),
        (b"words", "https://e.org/README.md", "text/plain", Format.MARKDOWN),
        (b"words", "https://e.org/a", None, Format.TEXT),
        (b"words", "https://e.org/a.v2", "application/octet-stream", Format.TEXT),
        (b"words", "https://e.org/a", "text/x-something", Format.TEXT),
        (b"\x89PNG\r\n\x1a\n", "https://e.org/a", "text/html", Format.IMAGE),
        (b"PMID- 1\nTI  - A\n\nPMID- 2\n", "file:///a.nbib", None, Format.UNSUPPORTED),
        (b"PMID- 1\nTI  - A\n", "file:///a.nbib", None, Format.TEXT),
        (b"GIF89a", "https://e.org/a", "text/html", Format.UNSUPPORTED),
        (b"PK\3\4", "https://e.org/a.docx", None, Format.UNSUPPORTED),
        (b"PK\3\4...word/document.xml", "https://e.org/a", "text/html", Format.DOCX),
        (b"PK\3\4...ppt/presentation.xml..word/document", "u", None, Format.PPTX),
        (b"PK\3\4...META-INF/container.xml", "https://e.org/a", "text/html", Format.EPUB),
        (b"{\\rtf1 x}", "https://e.org/a.doc", "application/msword", Format.RTF),
        (b"WEBVTT\n\n", "https://e.org/a", "text/vtt", Format.SUBTITLES),
        (b"\xef\xbb\xbf1\r\n00:00:01,000 --> 0", "u", "application/x-subrip", Format.SUBTITLES),
        (b"0:01 a\n0:04 b\n0:09 c\n", "file:///a.txt", None, Format.SUBTITLES),
        (b"0:01 a\n0:04 b\n", "file:///a.txt", None, Format.TEXT),
        (b"From: A\r\nContent-Type: multipart/related", "u", "message/rfc822", Format.MHTML),
        (b"From: A\r\nContent-Type: text/plain", "u", "text/plain", Format.TEXT),
        (b"<svg xmlns='x'>", "https://e.org/a", "image/svg+xml", Format.UNSUPPORTED),
        (b"{}", "https://e.org/a", "application/json", Format.UNSUPPORTED),
        (b"a,b", "https://e.org/a.csv", None, Format.CSV),
        (b"x", "http://[bad", None, Format.TEXT),
    ],
)
def test_format(data: bytes, url: str, content_type: str | None, expected: Format) -> None:
    assert format_of(data, url, content_type)[0] is expected


def test_an_unsupported_format_has_a_name() -> None:
    assert format_of(b"GIF89a", "u", None)[1] == "a GIF image"


@pytest.mark.parametrize("kind", [kind for kind in Format if kind.is_text])
def test_a_text_is_of_the_format_of_its_ending_or_media_type(kind: Format) -> None:
    for ending in kind.endings:
        named = type_of_ending(ending)
        assert named == kind.media_types[0]
        for label in (named, "text/plain; charset=utf-8", None):
            assert format_of(b"words", f"https://e.org/a{ending}", label)[0] is kind
        assert format_of(b"words", "https://e.org/download?id=7", named)[0] is kind


@pytest.mark.parametrize("kind", [kind for kind in Format if kind.reader and not kind.is_text])
def test_other_bytes_are_not_of_the_format_that_is_stated(kind: Format) -> None:
    assert format_of(b"words", "https://e.org/a", kind.media_types[0])[0] is Format.MISLABELLED


def test_formats_share_no_ending_and_no_media_type() -> None:
    labels = [label for kind in Format for label in (*kind.endings, *kind.media_types)]
    assert len(labels) == len(set(labels))
