"""PowerPoint files: slides as pages, with tables, diagrams and notes."""

import io
import zipfile
from collections.abc import Mapping

from support.found import document, refusal

from pincite.documents.read import read_bytes
from pincite.text.page_numbers import number_at
from pincite.types import Reason

URL = "https://e.org/talk"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
NAMES = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    f'xmlns:r="{OFFICE}" xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
)


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


TABLE = (
    "<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tr><a:tc><a:txBody><a:p><a:r><a:t>Year"
    "</a:t></a:r></a:p></a:txBody></a:tc><a:tc><a:txBody><a:p><a:r><a:t>Riders</a:t></a:r></a:p>"
    "</a:txBody></a:tc></a:tr><a:tr><a:tc><a:txBody><a:p><a:r><a:t>1911</a:t></a:r></a:p>"
    "</a:txBody></a:tc><a:tc><a:txBody><a:p><a:r><a:t>1,200</a:t></a:r></a:p></a:txBody></a:tc>"
    "</a:tr></a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
)
DIAGRAM = (
    f'<d:dataModel xmlns:d="d" {NAMES}><d:ptLst><d:pt><d:t><a:p><a:r><a:t>Survey, then build'
    "</a:t></a:r></a:p></d:t></d:pt></d:ptLst></d:dataModel>"
)
FILES = {
    "_rels/.rels": relations(r1="officeDocument=ppt/presentation.xml"),
    "ppt/presentation.xml": f'<p:presentation {NAMES}><p:sldIdLst><p:sldId id="256" r:id="r2"/>'
    '<p:sldId id="257" r:id="r3"/><p:sldId id="258" r:id="r1"/></p:sldIdLst></p:presentation>',
    "ppt/_rels/presentation.xml.rels": relations(
        r1="slide=slides/slide1.xml", r2="slide=slides/slide2.xml", r3="slide=slides/slide3.xml"
    ),
    "ppt/slides/slide1.xml": slide(shape("It closed in 1960."), TABLE),
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


def pptx(files: Mapping[str, str | bytes] = FILES) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in files.items():
            file.writestr(name, text)
    return packed.getvalue()


def test_slides_come_in_the_order_of_the_talk() -> None:
    found = document(read_bytes(pptx(), url=URL))
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


def test_bad_presentations_are_refused() -> None:
    for name, text, reason in (
        ("ppt/slides/slide1.xml", bytes(5_000_000), Reason.TOO_LARGE),
        ("ppt/slides/slide1.xml", b'<!DOCTYPE p [<!ENTITY x "y">]><p>&x;</p>', Reason.UNDECODABLE),
        ("ppt/presentation.xml", b"<presentation/>", Reason.EMPTY),
    ):
        assert refusal(read_bytes(pptx({**FILES, name: text}), url=URL)).reason is reason
    only = {"ppt/presentation.xml.bak": "x"}
    assert refusal(read_bytes(pptx(only), url=URL)).reason is Reason.EMPTY
