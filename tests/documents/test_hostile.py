"""Files packed to break readers: each costs itself, and the good file beside it is read."""

import gzip
import io
import os
import random
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace

import pytest
from documents.builders import assembled_pdf, zipped
from support.found import document, refusal
from support.table_files import sheet, workbook

from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.origins import Origins
from pincite.corpus.update import MAX_REFUSALS, UpdateOptions, update
from pincite.documents import body, sandbox
from pincite.documents.body import Limits
from pincite.documents.collection import collect, open_sources
from pincite.documents.office import read_sheets
from pincite.documents.read import read_bytes
from pincite.types import Document, Reason, Unchecked

GOOD = "The old bridge at Varde was opened in 1931.\n"
RANDOM = random.Random(7)
SMALL = Limits(max_bytes=3_000_000, seconds=2)  # so that bombs need not be large to be bombs

WORDS = b"word " * 30
LAUGHS = b'<!DOCTYPE l [<!ENTITY a "ha">' + b"".join(
    b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(12)
)
ARTICLE = (
    b"<article><front><article-meta><title-group><article-title>T</article-title></title-group>"
    b"</article-meta></front><body><p>%s</p></body></article>"
)


def drawing(content: str, objects: str) -> list[str]:
    """The objects of a PDF with one page, which draws others by their names."""
    return [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R "
        f"/Resources << /XObject << {objects} >> >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
    ]


def nested_forms(depth: int, width: int, loop: bool = False) -> bytes:
    """A PDF whose page draws a form `width` times, which draws another …: width^depth words."""
    page = "/F Do " * width
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    objects = [*drawing(page, "/F 6 0 R"), font]
    for level in range(depth):
        is_leaf = level == depth - 1 and not loop
        draws = "BT /H 9 Tf 10 10 Td (word word) Tj ET" if is_leaf else page
        inner = f"/XObject << /F {6 if loop else 7 + level} 0 R >>"
        uses = "/Font << /H 5 0 R >>" if is_leaf else inner
        objects.append(
            f"<< /Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << {uses} >> "
            f"/Length {len(draws)} >>\nstream\n{draws}\nendstream"
        )
    return assembled_pdf(objects)


def scanned(side: int) -> bytes:
    """A PDF whose page is one black picture of `side` times `side` pixels."""
    data = zlib.compress(bytes(side * side // 8)).decode("latin-1")
    objects = [
        *drawing("600 0 0 800 0 0 cm /P Do", "/P 5 0 R"),
        f"<< /Type /XObject /Subtype /Image /Width {side} /Height {side} /ColorSpace /DeviceGray "
        f"/BitsPerComponent 1 /Filter /FlateDecode /Length {len(data)} >>\n"
        f"stream\n{data}\nendstream",
    ]
    return assembled_pdf(objects)


def docx(document: bytes, name: str = "word/document.xml") -> bytes:
    return zipped({"[Content_Types].xml": b"<Types/>", name: document})


def epub(chapter: bytes, package: bytes = b"", n_times: int = 1) -> bytes:
    spine = b'<itemref idref="a"/>' * n_times
    package = package or b'<p><item id="a" href="a.xhtml"/><spine>%s</spine></p>' % spine
    container = b'<container><rootfile full-path="book.opf"/></container>'
    parts = {"META-INF/container.xml": container, "book.opf": package, "a.xhtml": chapter}
    return zipped(parts)


def pptx(
    slide: bytes, main: bytes = b"<p>" + b'<sldId xmlns:r="r" r:id="a"/>' * 1_000 + b"</p>"
) -> bytes:
    rels = (
        b'<r><r Id="a" Type="x/slide" Target="a.xml"/>'
        b'<r Id="b" Type="x/notesSlide" Target="%s"/></r>'
    )
    parts = {
        "ppt/presentation.xml": main,
        "ppt/_rels/presentation.xml.rels": rels % b"../../../a.xml",
        "ppt/a.xml": slide,
        "ppt/_rels/a.xml.rels": rels % b"a.xml",
    }
    return zipped(parts)


def mhtml(after: bytes) -> bytes:
    return b"MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=x\r\n" + after


SLIDE = b"<sld><p><r><t>word</t></r></p></sld>"
TIMING = "00:00:{:02}.000 --> 00:00:59.000\n"


FILES: dict[str, Callable[[], bytes]] = {
    # markup
    "unclosed.html": lambda: b"<html><body><p>" + b"<div>" * 100_000,
    "deep.html": lambda: b"<b>" * 200_000 + b"x" + b"</b>" * 200_000,
    "attributes.html": lambda: b"<p " + b"a=1 " * 200_000 + b">x</p>",
    "comments.html": lambda: b"<!-- -->" * 100_000,
    "comment-open.html": lambda: b"<html><!--" + b"-" * 1_000_000,
    "nul.html": lambda: b"<html>\0<body>\0<p>\0\0\0" + b"\0" * 100_000,
    "entities.html": lambda: b"<p>" + b"&#x110000;&#0;&bogus;" * 20_000,
    "surrogates.html": lambda: b"<p>" + b"&#xD800;" * 20_000 + b"</p>",
    "script.html": lambda: b"<script>" + b"x" * 1_000_000,
    "jsonld.html": lambda: b'<script type="application/ld+json">' + b"[" * 100_000 + b"</script>",
    "charset.html": lambda: b'<meta charset="utf-7"><p>+ADw-script+AD4-</p>',
    "utf16-odd.html": lambda: "<p>Hello</p>".encode("utf-16")[:-1],
    "fonts.html": lambda: b"<p><b><i><font>word " * 3_000,
    "links.html": lambda: b"<a href='" * 50_000,
    "paragraphs.html": lambda: b"<p>one</p>" * 60_000,
    "external.html": lambda: (
        b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><html><p>&x;</p></html>'
    ),
    "svg.html": lambda: b"<svg>" * 50_000,
    "tables.html": lambda: b"<table><tr><td>" * 20_000,
    # XML
    "laughs.xml": lambda: LAUGHS + b"]><article><p>&l;</p></article>",
    "laughs-jats.xml": lambda: LAUGHS + b"]>" + ARTICLE % b"&l;",
    "external.xml": lambda: (
        b'<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + ARTICLE % b"&e;"
    ),
    "cut.xml": lambda: (ARTICLE % (WORDS * 100))[:500],
    "deep.xml": lambda: b"<article><front><article-meta>" + b"<sec>" * 100_000,
    "pubmed-empty.xml": lambda: b"<PubmedArticleSet>" + b"<PubmedArticle/>" * 1_000,
    "encoding.xml": lambda: b"<?xml version='1.0' encoding='utf-7'?>" + ARTICLE % WORDS,
    "tags.xml": lambda: b"<PubmedArticleSet><PubmedArticle>" + b"<a/>" * 300_000,
    # PDF
    "cut.pdf": lambda: nested_forms(2, 2)[:300],
    "noise.pdf": lambda: b"%PDF-1.7\n" + RANDOM.randbytes(50_000),
    "loop.pdf": lambda: nested_forms(1, 10, loop=True),
    "forms.pdf": lambda: nested_forms(7, 10),
    "image.pdf": lambda: nested_forms(1, 1).replace(b"/Subtype /Form", b"/Subtype /Image"),
    "pages.pdf": lambda: nested_forms(1, 1).replace(b"/Kids [3 0 R]", b"/Kids [2 0 R]"),
    "xref.pdf": lambda: nested_forms(1, 1).replace(b"0000000", b"9999999"),
    # scans and pictures
    "huge.pdf": lambda: scanned(30_000),
    "large.pdf": lambda: scanned(9_600),
    "cut-scan.pdf": lambda: scanned(9_600)[:-4_000],
    "noise.jpg": lambda: b"\xff\xd8\xff\xe0" + RANDOM.randbytes(50_000),
    "loop.tif": lambda: b"II*\0\x08\0\0\0\0\0\x08\0\0\0",
    # Word and ZIP
    "deep.docx": lambda: docx(b"<w:p>" * 100_000),
    "traversal.docx": lambda: docx(b"<w/>", "../word/document.xml"),
    # EPUB and PowerPoint
    "deep.epub": lambda: epub(b"<div>" * 100_000 + WORDS),
    "laughs-inside.epub": lambda: epub(LAUGHS + b"]><html><p>&l;</p></html>"),
    "closed.epub": lambda: epub(b"<a" * 100_000 + b"<b " + b"/" * 100_000),
    "breaks.epub": lambda: epub(b"<p><i role='doc-pagebreak' title='1'/>word</p>" * 5_000),
    "breaks-deep.epub": lambda: epub(b"<b role='doc-pagebreak'>word" * 200),
    "private.epub": lambda: epub("<p>\ue000\ue001\ue000</p>".encode() * 5_000),
    "spine.epub": lambda: epub(b"<p>" + WORDS * 1_000 + b"</p>", n_times=100_000),
    "traversal.epub": lambda: epub(b"", b'<p><item id="a" href="../../../etc/passwd"/></p>'),
    "deep.pptx": lambda: pptx(b"<p>" * 100_000),
    "nested.pptx": lambda: pptx(b"<sld>" + b"<sp>" * 240 + SLIDE + b"</sp>" * 240 + b"</sld>"),
    "titles.pptx": lambda: pptx(b"<s>" + b'<sp><ph type="title"/></sp>' * 3_000 + b"</s>"),
    "repeated.pptx": lambda: pptx(SLIDE),
    # RTF, MHTML, subtitles
    "deep.rtf": lambda: b"{\\rtf1" + b"{" * 20_000,
    "closed.rtf": lambda: b"{\\rtf1" + b"}" * 100_000,
    "noise.rtf": lambda: b"{\\rtf1" + RANDOM.randbytes(100_000),
    "unicode.rtf": lambda: b"{\\rtf1 \\u-99999999 \\u9999999999 word}",
    "code-page.rtf": lambda: b"{\\rtf1\\ansicpg99999 \\'e9}",
    "font.rtf": lambda: b"{\\rtf1{\\fonttbl{\\f1\\fcharset78 A;}}\\f1 \\'e9 word}",
    "fonts.rtf": lambda: b"{\\rtf1{\\fonttbl" + b"\\f1\\fcharset" * 3_000,
    "links.rtf": lambda: b"{\\rtf1 " + b"{\\field{\\*\\fldinst{ HYPERLINK " * 3_000,
    "hidden.rtf": lambda: b"{\\rtf1 " + b"{\\b\\i" * 40_000 + b"{" + b"\\b" * 80_000,
    "title.rtf": lambda: b"{\\rtf1 " + b"{\\title {" * 20_000,
    "binary.rtf": lambda: b"{\\rtf1 {\\pict\\bin" + b"9" * 5_000 + b"}word}",
    "deep.mhtml": lambda: mhtml(b"\r\n" + b"--x\r\n" + (mhtml(b"\r\n--x\r\n") * 3_000)),
    "nested.mhtml": lambda: b"\r\n".join(
        b"Content-Type: multipart/related; boundary=b%d\r\n\r\n--b%d" % (n, n) for n in range(1_500)
    ),
    "parts.mhtml": lambda: mhtml(b"\r\n" + b"--x\r\nA: b\r\n\r\nc\r\n" * 10_000),
    "headers.mhtml": lambda: b"A: b\r\n" * 20_000 + mhtml(b"\r\n"),
    "folded.mhtml": lambda: mhtml(b" a\r\n" * 40_000),
    "encoded.mhtml": lambda: mhtml(
        b"\r\n--x\r\nContent-Type: text/html; charset=zlib\r\n"
        b"Content-Transfer-Encoding: base64\r\n\r\n" + b"=" * 100_000
    ),
    "repeated.vtt": lambda: ("WEBVTT\n\n" + TIMING.format(1) + "a " * 20_000 + "\n\n").encode() * 5,
    "captions.srt": lambda: "".join(
        f"1\n{TIMING.format(n % 60)}a\n\n" for n in range(10_000)
    ).encode(),
    "empty.srt": lambda: ("1\n" + TIMING.format(1)).encode() * 10_000,
    "header.vtt": lambda: b"WEBVTT" + b"\nLanguage" * 40_000,
    "tags.vtt": lambda: b"WEBVTT\n\n" + TIMING.format(1).encode() + b"<v " * 40_000,
    "numbers.srt": lambda: b"1\n00:00:01,000 --> 00:00:02,000\n" + b"1\n" * 40_000 + b"\n1 -->\n",
    "times.txt": lambda: b"0:00\n" + b"0:01 \n" * 20_000,
    # tables
    "columns.tsv": lambda: b"a\t" * 1_000_000,
    "rows.tsv": lambda: b"a\tb\n" * 700_000,
    "quote.tsv": lambda: b'a\t"' + b"b\t" * 500_000,
    "far.xlsx": lambda: workbook('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'),
    "corners.xlsx": lambda: workbook(
        '<row r="1"><c r="A1"><v>1</v></c></row>'
        '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    ),
    "merged.xlsx": lambda: workbook(
        '<row r="1"><c r="A1"><v>1</v></c><c r="B1"><v>2</v></c></row>',
        '<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>',
    ),
    "laughs.xlsx": lambda: workbook(LAUGHS.decode() + "<row><c><v>&l;</v></c></row>"),
    "noise.xlsx": lambda: b"PK\3\4xl/workbook" + RANDOM.randbytes(5_000),
    "noise.ods": lambda: (
        b"PK\3\4..mimetypeapplication/vnd.oasis.opendocument.spreadsheet" + RANDOM.randbytes(5_000)
    ),
    "repeated.ods": lambda: sheet(
        '<table:table-row table:number-rows-repeated="1048576"><table:table-cell '
        'table:number-columns-repeated="16384"><text:p>a</text:p></table:table-cell></table:table-row>'
    ),
    "spans.html": lambda: b"<table>" + b"<tr><td colspan=9999 rowspan=99999>a<td>1" * 20_000,
    "nested.html": lambda: b"<table><tr><td>a<td>" * 5_000,
    "wide.html": lambda: b"<table><tr>" + b"<td>a" * 100_000 + b"<tr><td>1",
    "open.wiki": lambda: b"{|\n" * 200_000,
    "bars.wiki": lambda: b"{|\n" + b"|a=b" * 300_000 + b"\n|}",
    "refs.wiki": lambda: b"{|\n|" + b"<ref " * 300_000 + b"\n|}",
    # gzip
    "bomb.jsonl.gz": lambda: gzip.compress(b"\n" * 40_000_000),
    # lines
    "braces.jsonl": lambda: b"{\n" * 50_000,
    "braces.jsonl.gz": lambda: gzip.compress(b"{\n" * 400_000),
    "numbers.jsonl": lambda: b'{"url": ' + b"9" * 50_000 + b', "text": 1e999}\n',
    "half-pair.jsonl": lambda: b'{"url": "https://e.org/h", "text": "\\ud800 word"}\n',
    "nul.jsonl": lambda: b'{"url": "https://e.org/\\u0000", "text": "\\u0000"}\n\0\0\n',
    "types.jsonl": lambda: b'{"url": ["x"], "text": {"a": 1}}\n[]\n1\nnull\n"x"\n',
    "manifest.jsonl": lambda: b"{\n" * 50_000,
    "cells.csv": lambda: b"url,text\n" + b"a,b,c\n" * 50_000,
    "quotes.csv": lambda: b'url,text\n"' + b'""' * 500_000,
    "noise.csv": lambda: b"url,text\n" + RANDOM.randbytes(20_000),
    "meta.json": lambda: b'{"a.txt":' * 50_000,
    # text, wrong endings and labels
    "utf8.txt": lambda: b"\xff\xfe\xfd" * 10_000 + b"\xc3\x28" * 10_000,
    "marks.txt": lambda: ("a" + "\u0301" * 500_000).encode(),
    "one-line.txt": lambda: b"a" * 2_900_000,
    "noise.txt": lambda: RANDOM.randbytes(200_000),
    "quotes.md": lambda: b">" * 100_000,
    "brackets.md": lambda: b"[" * 100_000 + b"](" * 50_000,
    "picture.html": lambda: b"\x89PNG\r\n\x1a\n" + bytes(1_000),
    "program.txt": lambda: b"\x7fELF" + bytes(1_000),
    # web archives
    "length.warc": lambda: b"WARC/1.0\r\nContent-Length: -5\r\n\r\n",
}


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_costs_itself(tmp_path: Path, name: str) -> None:
    hostile = tmp_path / name
    hostile.write_bytes(FILES[name]())
    (tmp_path / "zz-good.txt").write_text(GOOD)
    collection = collect([tmp_path], SMALL)
    found = [one for piece in collection.pieces for one in collection.read(piece)]
    assert found
    assert all(isinstance(one, (Document, Unchecked)) for one in found)
    good = (tmp_path / "zz-good.txt").resolve().as_uri()
    texts = [one.text for one in found if isinstance(one, Document) and one.url == good]
    assert texts == [GOOD.strip()]
    assert len(found) <= body.MAX_REFUSED_IN_A_ROW + 2
    open_sources(tmp_path, limits=SMALL)  # indexes it, and does not raise either


# Each file under its own label and under a wrong one; a PDF is one whatever its label.
WRONG = ("text/html", "application/pdf", "text/plain; charset=utf-16")


@pytest.mark.parametrize(("name", "wrong"), [*zip(FILES, cycle(WRONG), strict=False)])
def test_a_hostile_body_of_an_address_costs_itself(name: str, wrong: str) -> None:
    data = FILES[name]()[:300_000]
    own = "text/html" if name.endswith(".html") else None
    for label in [own] if data.startswith(b"%PDF") else {own, wrong}:
        found = read_bytes(data, url="https://e.org/x", content_type=label, limits=SMALL)
        assert isinstance(found, (Document, Unchecked))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such files here")
def test_circular_links_and_pipes_are_skipped(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    (folder / "inner").mkdir(parents=True)
    (folder / "circle.txt").symlink_to(folder / "circle.txt")
    (folder / "inner" / "up").symlink_to(folder)
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "good.txt").write_text(GOOD)
    collection = collect([folder])
    assert [piece.path.name for piece in collection.pieces] == ["good.txt"]
    open_sources(folder)


def test_links_out_of_a_folder_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    (folder / "inner").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("A private letter.\n")
    (folder / "good.txt").write_text(GOOD)
    (folder / "inner" / "out.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "inner" / "in.txt").symlink_to(folder / "good.txt")
    collection = collect([folder])
    assert [piece.path.name for piece in collection.pieces] == ["good.txt", "in.txt"]
    (refused,) = collection.missing()
    assert refused.reason is Reason.NOT_SUPPLIED
    assert refused.url.endswith("out.txt")
    named = collect([folder / "inner" / "out.txt"])  # a user's own choice
    assert [piece.path.name for piece in named.pieces] == ["out.txt"]


def test_only_the_first_refusals_are_listed(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.jsonl").write_bytes(b"{\n" * 3_000)
    (docs / "b.txt").write_text(GOOD)
    calls = list[int]()
    with (
        EmbeddedCorpus.create(tmp_path / "kb", None) as corpus,
        Origins(tmp_path / "kb") as origins,
    ):
        outcome = update(
            corpus, origins, [docs], UpdateOptions(), lambda now: calls.append(now.n_found)
        )
    assert len(outcome.unread) == MAX_REFUSALS
    assert outcome.n_unread == 3_000
    assert len(outcome.added) == 1
    assert 1_000 in calls  # progress within a long file
    assert 2_000 in calls


def restated(data: bytes, name: str, n_bytes: int) -> bytes:
    """A ZIP whose directory and part say that the part has so many bytes."""
    found = bytearray(data)
    size = struct.pack("<I", n_bytes)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        at = archive.getinfo(name).header_offset
    found[at + 22 : at + 26] = size
    at = data.rindex(name.encode()) - 46
    assert data[at : at + 4] == b"PK\1\2"
    found[at + 24 : at + 28] = size
    return bytes(found)


LONG_CELL = '<row r="1"><c r="A1" t="inlineStr"><is><t>{}</t></is></c></row>'
UNDERSTATED = [Reason.TOO_LARGE, Reason.UNDECODABLE]
SHEET = "xl/worksheets/sheet1.xml"


@pytest.mark.parametrize(
    ("file", "reasons"),
    [
        (lambda: workbook(LONG_CELL.format("word " * 400_000)), [Reason.TOO_LARGE]),
        (lambda: workbook("<row/>", strings=["word " * 400_000]), [Reason.TOO_LARGE]),
        (lambda: workbook("<row/>" * 2_000_000), [Reason.TOO_LARGE]),
        (lambda: restated(workbook("<row/>" * 2_000_000), SHEET, 1_000), UNDERSTATED),
        (lambda: restated(workbook("<row/>"), SHEET, 2**31), [Reason.TOO_LARGE]),
    ],
    ids=["cell", "string", "ratio", "understated", "overstated"],
)
def test_a_hostile_spreadsheet_is_refused_before_it_is_parsed(
    file: Callable[[], bytes], reasons: list[Reason], monkeypatch: pytest.MonkeyPatch
) -> None:
    parser = SimpleNamespace(from_filelike=lambda file: pytest.fail("it was parsed"))
    monkeypatch.setattr("python_calamine.CalamineWorkbook", parser)
    found = refusal(read_sheets(body.Body("u", file())))
    assert found.reason in reasons


@pytest.mark.skipif(sys.platform != "linux", reason="macOS bounds no address space")
def test_a_spreadsheet_that_repeats_a_text_too_often_is_too_large() -> None:
    cells = '<row><c t="s"><v>0</v></c></row>' * 250_000
    limits = Limits(memory=400_000_000)
    found = refusal(read_bytes(workbook(cells, strings=["word " * 6_000]), url="u", limits=limits))
    assert found.reason is Reason.TOO_LARGE


def test_the_longest_text_of_a_cell_is_read() -> None:
    text = "w&" * 16_383
    found = document(read_bytes(workbook(LONG_CELL.format(text.replace("&", "&amp;"))), url="u"))
    assert found.text == text


@pytest.mark.parametrize(("megabytes", "reason"), [(200, Unchecked), (1_000, Document)])
def test_nested_forms_of_a_pdf_are_limited_in_memory(megabytes: int, reason: type) -> None:
    sandbox._POOL.end()  # a process that has read other files may already hold as much
    limits = Limits(memory=megabytes * 1_000_000, seconds=60)
    found = read_bytes(nested_forms(5, 9), url="u", limits=limits)
    assert isinstance(found, reason)
    assert not isinstance(found, Unchecked) or found.reason is Reason.TOO_LARGE
