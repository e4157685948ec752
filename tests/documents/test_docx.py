"""Word files: their text, and hostile packages."""

import io
import zipfile
from collections.abc import Mapping

import pytest
from support.found import document, refusal
from support.rows import each_row

from pincite.documents import office
from pincite.documents.body import Body
from pincite.documents.read import Limits, read_bytes
from pincite.types import Document, Reason, Unchecked

URL = "https://e.org/report.docx"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
RELS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/'
    'relationships/officeDocument" Target="{}"/></Relationships>'
)
CORE = (
    '<cp:coreProperties xmlns:cp="c" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:t="t">'
    "<dc:title>The plan</dc:title><dc:creator>Ines Holm</dc:creator>"
    "<t:created>2021-03-04T05:06:07Z</t:created></cp:coreProperties>"
)


def word(body: str, more: Mapping[str, str] | None = None, namespace: str = WORD) -> bytes:
    """A Word file with this body and further parts."""
    parts = {
        "_rels/.rels": RELS.format("word/document.xml"),
        "word/document.xml": f'<w:document xmlns:w="{namespace}"><w:body>{body}</w:body>'
        "</w:document>",
        **(more or {}),
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts.items():
            file.writestr(name, text)
    return packed.getvalue()


def p(*runs: str, style: str = "") -> str:
    """A paragraph; what begins with < stands as it is, other runs are text."""
    styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    inside = "".join(r if r.startswith("<") else f"<w:r><w:t>{r}</w:t></w:r>" for r in runs)
    return f"<w:p>{styled}{inside}</w:p>"


def read(data: bytes, **limits: int) -> Document:
    return document(read_bytes(data, url=URL, limits=Limits(**limits)))


def refused(data: bytes, **limits: int) -> Unchecked:
    return refusal(read_bytes(data, url=URL, limits=Limits(**limits)))


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


def test_the_document_may_have_another_name() -> None:
    more = {
        "_rels/.rels": RELS.format("/word/document2.xml"),
        "word/document2.xml": f'<w:document xmlns:w="{WORD}">{p("Here.")}</w:document>',
    }
    assert read(word(p("Not here."), more)).text == "Here."


def test_a_file_without_words_is_empty() -> None:
    assert refused(word(p(" "))).reason is Reason.EMPTY


@each_row("documents/docx/a_dtd_is_refused")
def test_a_dtd_is_refused(start: str) -> None:
    document = f'{start}<w:document xmlns:w="{WORD}"><w:p><w:t>&x;</w:t></w:p></w:document>'
    found = refused(word("", {"word/document.xml": document}))
    assert found.reason is Reason.UNDECODABLE


def test_a_bomb_is_refused_before_it_is_parsed() -> None:
    found = refused(word(p("a" * 5_000_000)))
    assert found.reason is Reason.TOO_LARGE
    assert "implausible" in found.detail
    found = refused(word(p("ab" * 200)), max_bytes=600)  # all parts together
    assert found.reason is Reason.TOO_LARGE


def test_only_what_word_packs_is_unpacked() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_BZIP2) as file:
        file.writestr("word/document.xml", "<document/>" * 1000)
    assert "does not allow" in refused(packed.getvalue()).detail


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
        found = refusal(read_bytes(whole[:cut], url=URL))
        assert "the reader failed" not in found.detail
