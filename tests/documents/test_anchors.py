"""Named places of pages, found again in what was extracted of them."""

from pincite.documents import html as html_page
from pincite.documents.read import read_bytes
from pincite.types import Document

FILLER = "The river runs by the town and boats lie at its quays all summer. " * 6
PAGE = f"""<html><head><title>Bridge</title></head><body>
<nav><a href="#History">History</a></nav>
<main><ul><li><a href="#History">History</a></li><li><a href="#Cost">Cost</a></li></ul>
<h1>The bridge</h1><p>{FILLER}</p>
<h2 id="History">History</h2><p>The bridge opened in 1911 after long delay. {FILLER}</p>
<h2><span id="Cost">Cost</span></h2><p>It took two million crowns to build. {FILLER}</p>
<p><a name="old"></a>Names of old pages work as well as new ones. {FILLER}</p>
<p id="hidden" style="display:none">Nobody sees what is written here.</p>
</main></body></html>"""


def read(html: str) -> Document:
    found = read_bytes(html.encode(), url="https://varde.example/bridge")
    assert isinstance(found, Document)
    return found


def test_names_lead_to_what_follows_them() -> None:
    page = read(PAGE)
    following = {name: " ".join(page.text[at:].split()[:4]) for name, at in page.anchors.items()}
    assert following == {
        "History": "History The bridge opened",
        "Cost": "Cost It took two",
        "old": "Names of old pages",
    }


def test_a_document_is_the_same_with_and_without_its_names() -> None:
    named, unnamed = read(PAGE), read(PAGE.replace(' id="History"', ""))
    assert named.anchors != unnamed.anchors
    assert (named, named.doc_id) == (unnamed, unnamed.doc_id)


def test_limits() -> None:
    names = [(f"n{i}", "one two three") for i in range(2 * html_page.MAX_ANCHORS)]
    assert len(html_page.located(names, "one two three")) == html_page.MAX_ANCHORS
    assert html_page.located(names, "one two three " * 200_000) == {}
    assert html_page.located([("a", ""), ("b", "not there at all")], "one two") == {}
