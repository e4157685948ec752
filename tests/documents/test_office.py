"""Word, PowerPoint, EPUB, RTF and MHTML: their text, and hostile packages."""

import quopri
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from documents.builders import zipped
from support.found import document, refusal
from support.rows import each_row, text_of

from pincite.documents import office
from pincite.documents.body import Body, Limits
from pincite.documents.collection import open_sources
from pincite.documents.read import read_bytes, read_path
from pincite.text.page_numbers import number_at
from pincite.types import Document, Reason, Unchecked

URL = "https://e.org/report"


def read(data: str | bytes, **limits: int) -> Document:
    data = data.encode("latin-1") if isinstance(data, str) else data
    return document(read_bytes(data, url=URL, limits=Limits(**limits)))


def refused(data: bytes, **limits: int) -> Unchecked:
    return refusal(read_bytes(data, url=URL, limits=Limits(**limits)))


OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def relations(**targets: str) -> str:
    each = "".join(
        f'<Relationship Id="{key}" Type="{OFFICE}/{target.partition("=")[0]}" '
        f'Target="{target.partition("=")[2]}"/>'
        for key, target in targets.items()
    )
    return (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f"{each}</Relationships>"
    )


# ── Word ──────────────────────────────────────────────────────────────────────────────────────────

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
CORE = (
    '<cp:coreProperties xmlns:cp="c" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:t="t">'
    "<dc:title>The plan</dc:title><dc:creator>Ines Holm</dc:creator>"
    "<t:created>2021-03-04T05:06:07Z</t:created></cp:coreProperties>"
)


def word(body: str, more: Mapping[str, str] | None = None, namespace: str = WORD) -> bytes:
    """A Word file with this body and further parts."""
    document = f'<w:document xmlns:w="{namespace}"><w:body>{body}</w:body></w:document>'
    main = {
        "_rels/.rels": relations(r1="officeDocument=word/document.xml"),
        "word/document.xml": document,
    }
    return zipped(main | dict(more or {}))


def p(*runs: str, style: str = "") -> str:
    """A paragraph; what begins with < stands as it is, other runs are text."""
    styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    inside = "".join(r if r.startswith("<") else f"<w:r><w:t>{r}</w:t></w:r>" for r in runs)
    return f"<w:p>{styled}{inside}</w:p>"


@pytest.mark.parametrize("namespace", [WORD, STRICT])
def test_paragraphs_title_author(namespace: str) -> None:
    body = p("The tram ", "opened in 1931.") + p("It closed in 1960.")
    found = read(word(body, {"docProps/core.xml": CORE}, namespace))
    assert found.text == "The tram opened in 1931.\n\nIt closed in 1960."
    assert (found.title, found.kind, found.url) == ("The plan", "docx", URL)
    assert found.meta == {"author": "Ines Holm", "created": "2021-03-04"}
    assert found.published is None  # when a file was made says nothing on when it was published


def test_a_styled_title_precedes_the_metadata() -> None:
    body = p("Tram ", "report", style="Title") + p("It opened.", style="Heading1")
    assert read(word(body, {"docProps/core.xml": CORE})).title == "Tram report"
    assert read(word(p("Costs", style="Heading1"))).title == "Costs"


def test_changes_are_read_as_accepted_and_hidden_text_is_not_read() -> None:
    inserted = '<w:ins w:id="1"><w:r><w:t> in May</w:t></w:r></w:ins>'
    deleted = '<w:del w:id="2"><w:r><w:delText> in June</w:delText></w:r></w:del>'
    hidden = "<w:r><w:rPr><w:vanish/></w:rPr><w:t> secretly</w:t></w:r>"
    shown = '<w:r><w:rPr><w:vanish w:val="false"/></w:rPr><w:t> at last</w:t></w:r>'
    found = read(word(p("It opened", inserted, deleted, hidden, shown, "<w:r><w:tab/></w:r>")))
    assert found.text == "It opened in May at last"


def test_tables_controls_links_boxes_and_notes() -> None:
    cell = "<w:tc>{}</w:tc>"
    row = "<w:tr>" + cell.format(p("Year")) + cell.format(p("Riders")) + "</w:tr>"
    nested = cell.format(f"<w:tbl><w:tr>{cell.format(p('inner'))}</w:tr></w:tbl>")
    table = f"<w:tbl>{row}<w:sdt><w:sdtContent><w:tr>{nested}</w:tr></w:sdtContent></w:sdt></w:tbl>"
    control = f"<w:sdt><w:sdtContent>{p('In a control.')}</w:sdtContent></w:sdt>"
    link = "<w:hyperlink><w:r><w:t>the site</w:t></w:r></w:hyperlink>"
    box = (
        '<w:r><mc:AlternateContent xmlns:mc="m"><mc:Choice><w:txbxContent>'
        f"{p('In a box.')}</w:txbxContent></mc:Choice><mc:Fallback>{p('In a box.')}</mc:Fallback>"
        "</mc:AlternateContent></w:r>"
    )
    notes = f'<w:footnotes xmlns:w="{WORD}"><w:footnote>{p("A note.")}</w:footnote></w:footnotes>'
    found = read(word(table + control + p("See ", link, box), {"word/footnotes.xml": notes}))
    assert found.text.split("\n\n") == [
        "Year | Riders\ninner",
        "In a control.",
        "See the site",
        "In a box.",
        "A note.",
    ]


def test_marks_above_a_table_do_not_cost_its_first_row() -> None:
    rows = (("Built", "1650"), ("Burnt", "1800"))
    cells = ["".join(f"<w:tc>{p(text)}</w:tc>" for text in row) for row in rows]
    table = "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in cells) + "</w:tbl>"
    assert read(word(p("***") + table)).text == "***\n\nBuilt: 1650\nBurnt: 1800"
    assert read(word(p("The mill [1]") + table)).text.count("The mill") == 1


def test_the_document_may_have_another_name() -> None:
    more = {
        "_rels/.rels": relations(r1="officeDocument=/word/document2.xml"),
        "word/document2.xml": f'<w:document xmlns:w="{WORD}">{p("Here.")}</w:document>',
    }
    assert read(word(p("Not here."), more)).text == "Here."


@each_row("documents/docx/a_dtd_is_refused")
def test_a_dtd_is_refused(start: str) -> None:
    document = f'{start}<w:document xmlns:w="{WORD}"><w:p><w:t>&x;</w:t></w:p></w:document>'
    found = refused(word("", {"word/document.xml": document}))
    assert found.reason is Reason.UNDECODABLE


def test_too_many_entries_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office, "MAX_ENTRIES", 1)
    found = refusal(office.read_docx(Body(URL, word(p("One.")))))
    assert "2 files" in found.detail


def test_a_locked_part_and_broken_bytes() -> None:
    data = bytearray(word(p("One.")))
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        place = data.find(signature)
        while place >= 0:
            data[place + offset] |= 1
            place = data.find(signature, place + 4)
    assert refused(bytes(data)).reason is Reason.ENCRYPTED
    whole = word(p("One."))
    for cut in range(10, len(whole), 37):
        assert "the reader failed" not in refused(whole[:cut]).detail


# ── PowerPoint ────────────────────────────────────────────────────────────────────────────────────

NAMES = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    f'xmlns:r="{OFFICE}" xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
)


def shape(*paragraphs: str, kind: str = "body") -> str:
    texts = "".join(f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>" for text in paragraphs)
    return (
        f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr><p:txBody>{texts}'
        "</p:txBody></p:sp>"
    )


def slide(*shapes: str, tag: str = "sld", show: str = "1") -> str:
    return (
        f'<p:{tag} {NAMES} show="{show}"><p:cSld><p:spTree>{"".join(shapes)}</p:spTree></p:cSld>'
        f"</p:{tag}>"
    )


CELL = "<a:tc><a:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></a:txBody></a:tc>"
TABLE = "".join(
    f"<a:tr>{CELL.format(name)}{CELL.format(value)}</a:tr>"
    for name, value in (("Year", "Riders"), ("1911", "1,200"))
)
DIAGRAM = (
    f'<d:dataModel xmlns:d="d" {NAMES}><d:ptLst><d:pt><d:t><a:p><a:r><a:t>Survey, then build'
    "</a:t></a:r></a:p></d:t></d:pt></d:ptLst></d:dataModel>"
)
SLIDES = {
    "_rels/.rels": relations(r1="officeDocument=ppt/presentation.xml"),
    "ppt/presentation.xml": f'<p:presentation {NAMES}><p:sldIdLst><p:sldId id="256" r:id="r2"/>'
    '<p:sldId id="257" r:id="r3"/><p:sldId id="258" r:id="r1"/></p:sldIdLst></p:presentation>',
    "ppt/_rels/presentation.xml.rels": relations(
        r1="slide=slides/slide1.xml", r2="slide=slides/slide2.xml", r3="slide=slides/slide3.xml"
    ),
    "ppt/slides/slide1.xml": slide(shape("It closed in 1960."), f"<a:tbl>{TABLE}</a:tbl>"),
    "ppt/slides/slide2.xml": slide(
        shape("7", kind="sldNum"),
        shape("The tram opened ", "in 1931."),
        shape("The Norlund tram", kind="ctrTitle"),
        shape("Confidential", kind="ftr"),
    ),
    "ppt/slides/_rels/slide2.xml.rels": relations(
        r1="notesSlide=../notesSlides/notesSlide1.xml",
        r2="image=../media/a.png",
        r3="diagramData=../diagrams/data1.xml",
    ),
    "ppt/slides/slide3.xml": slide(shape("Not to be shown."), show="0"),
    "ppt/notesSlides/notesSlide1.xml": slide(
        shape("Mention the mayor."), shape("7", kind="sldNum"), tag="notes"
    ),
    "ppt/diagrams/data1.xml": DIAGRAM,
    "docProps/core.xml": '<c:coreProperties xmlns:c="c" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    "><dc:title>PowerPoint Presentation</dc:title><dc:creator>Ines Holm</dc:creator>"
    "</c:coreProperties>",
}


def test_slides_come_in_the_order_of_the_talk() -> None:
    found = read(zipped(SLIDES))
    assert found.text.split("\n\n") == [
        "The Norlund tram",
        "The tram opened",
        "in 1931.",
        "Survey, then build",
        "Mention the mayor.",
        "It closed in 1960.",
        "Year: 1911; Riders: 1,200",
    ]
    assert (found.title, found.kind) == ("The Norlund tram", "pptx")
    assert found.meta["author"] == "Ines Holm"
    places = [number_at(found, found.text.index(words)) for words in ("mayor", "closed", "1,200")]
    assert [place.label for place in places if place] == ["1", "3", "3"]  # the second is hidden


def test_diagrams_of_a_slide_come_in_the_order_of_their_numbers_before_its_notes() -> None:
    parts = {
        "ppt/slides/_rels/slide1.xml.rels": relations(
            r1="notesSlide=../notes.xml",
            r2="diagramData=../data10.xml",
            r3="diagramData=../data2.xml",
        ),
        "ppt/notes.xml": slide(shape("Notes.")),
        "ppt/data2.xml": slide(shape("Two.")),
        "ppt/data10.xml": slide(shape("Ten.")),
    }
    text = read(zipped({**SLIDES, **parts})).text
    assert "Two.\n\nTen.\n\nNotes." in text


# ── EPUB ──────────────────────────────────────────────────────────────────────────────────────────

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
CHAPTERS = {"OPS/Text/chapter 2.xhtml": TWO, "Text/one.xhtml": ONE, "OPS/Text/nav.xhtml": ONE}


def epub(files: Mapping[str, str | bytes] = CHAPTERS, package: str = PACKAGE) -> bytes:
    container = CONTAINER.format("OPS/book.opf")
    parts = {"mimetype": "application/epub+zip", "META-INF/container.xml": container}
    return zipped({**parts, "OPS/book.opf": package, **files})


def test_chapters_come_in_the_order_of_the_spine_and_once() -> None:
    found = read(epub())
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
    found = read(epub({**CHAPTERS, "Text/one.xhtml": chapter(body)}))
    assert found.text.startswith("The ferry crossed the sound in 1911.\n\nIt sank.\n\nCafé")


def test_a_protected_book_is_not_read_as_noise() -> None:
    lock = (
        '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><EncryptedData><Cipher'
        'Data><CipherReference URI="{}"/></CipherData></EncryptedData></encryption>'
    )
    fonts = {**CHAPTERS, "META-INF/encryption.xml": lock.format("OPS/font.otf")}
    assert "1911" in read(epub(fonts)).text
    book = {**CHAPTERS, "META-INF/encryption.xml": lock.format("OPS/Text/chapter%202.xhtml")}
    assert refused(epub(book)).reason is Reason.ENCRYPTED


# ── RTF ───────────────────────────────────────────────────────────────────────────────────────────


def test_characters_title_and_author_of_rtf() -> None:
    found = read(
        r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fswiss Arial;}}{\colortbl;\red0\green0;}"
        r"{\info{\title The caf\'e9 {\u321 ?}}{\author Ines Holm}}"
        r"{\header Draft}\pard The \b caf\'e9\b0  of \uc1\u321?\'f3d\u378\'9f\par"
        "\n"
        r"cost \'80\u8239?40 \emdash  in \'93May\'94. \u-10179?\u-8704?\par}"
    )
    assert found.text == "The café of Łódź\ncost € 40 — in “May”. 😀"
    assert (found.title, found.kind, found.meta) == ("The café Ł", "rtf", {"author": "Ines Holm"})


@each_row("documents/rtf/code_pages")
def test_characters_of_every_code_page_are_read(head: str, body: str, expected: str) -> None:
    assert read(rf"{{\rtf1{head} {body}\par}}").text == expected


def test_tables_links_and_hidden_text_of_rtf() -> None:
    found = read(
        r"{\rtf1\ansi\ansicpg1252 \trowd Year\cell Riders\cell\row 1911\cell 1,200\cell\row\pard "
        r'See {\field{\*\fldinst{HYPERLINK "https://e.org/a"}}{\fldrslt{the site}}} today.\par '
        r"{\rtlch\fcs1 \af0 \ltrch \v\insrsid7 secret }{\deleted old }{\*\comment x}Open | closed"
        r"{\pict\pngblip " + "89504e47\n" * 100 + r"}\par}"
    )
    assert found.text == ("Year | Riders\n1911 | 1,200\nSee the site today.\nOpen | closed")


def test_pictures_take_no_time() -> None:
    start = time.process_time()
    big = rb"{\rtf1 {\pict " + b"0123456789abcdef\n" * 500_000 + rb"}It opened in 1911.\par}"
    assert read(big).text == "It opened in 1911."
    assert time.process_time() - start < 5


# ── MHTML ─────────────────────────────────────────────────────────────────────────────────────────

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


def test_mail_without_a_page_is_text() -> None:
    found = document(read_bytes(b"From: A\nSubject: Tram\n\nIt opened.\n", url="u"))
    assert found.kind == "text"


# ── Files that are refused ────────────────────────────────────────────────────────────────────────

BOMB = bytes(5_000_000)
ENTITY = '<!DOCTYPE p [<!ENTITY x "y">]><p>&x;</p>'


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (word(p(" ")), Reason.EMPTY),
        (word(p("a" * 5_000_000)), Reason.TOO_LARGE),
        (zipped({"word/document.xml": "<document/>"}, zipfile.ZIP_BZIP2), Reason.UNDECODABLE),
        (zipped({**SLIDES, "ppt/slides/slide1.xml": BOMB}), Reason.TOO_LARGE),
        (zipped({**SLIDES, "ppt/slides/slide1.xml": ENTITY}), Reason.UNDECODABLE),
        (zipped({**SLIDES, "ppt/presentation.xml": "<presentation/>"}), Reason.EMPTY),
        (zipped({"ppt/presentation.xml.bak": "x"}), Reason.EMPTY),
        (epub({**CHAPTERS, "Text/one.xhtml": BOMB}), Reason.TOO_LARGE),
        (epub(CHAPTERS, ENTITY), Reason.UNDECODABLE),
        (epub(CHAPTERS, "no XML"), Reason.UNDECODABLE),
        (epub({}), Reason.EMPTY),
        (zipped({"META-INF/container.xml": "<container/>"}), Reason.UNDECODABLE),
        (rb"{\rtf1\ansi{\info{\title x}}}", Reason.EMPTY),
        (
            b"Content-Type: multipart/related; boundary=x\r\n\r\n--x\r\n\r\nwords",
            Reason.UNDECODABLE,
        ),
    ],
)
def test_empty_broken_and_hostile_files_are_refused(data: bytes, reason: Reason) -> None:
    assert refused(data).reason is reason


def test_all_parts_together_have_a_limit() -> None:
    assert refused(word(p("ab" * 200)), max_bytes=600).reason is Reason.TOO_LARGE
    data = epub({**CHAPTERS, "Text/one.xhtml": chapter("<p>The ferry.</p>" * 1_000)})
    assert len(data) < 10_000
    assert refused(data, max_bytes=10_000).reason is Reason.TOO_LARGE
