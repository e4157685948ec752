"""Real PubMed records and JATS articles: nothing of an abstract or a body is lost.

They lie outside of the project; set PINCITE_SHARED to a folder that holds `data/pubmed` and
`data/plos-jats`. What must be contained is read by another way than the readers': all text in an
element, with nothing but letters and digits compared.
"""

import gzip
import os
import re
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from pincite.documents.read import read_path
from pincite.types import Document, Reason, Unchecked

SHARED = Path(os.environ.get("PINCITE_SHARED", Path(__file__).parents[3] / "shared"))
FILES = sorted(
    path
    for pattern in ("pubmed/*/*.xml", "pubmed/*/*.nxml", "plos-jats/*.xml.gz")
    for path in (SHARED / "data").glob(pattern)
)
# Stand beside a paragraph in its document, or are a picture's or a formula's business.
BESIDE = {"fig", "table-wrap", "list", "def-list", "fn", "disp-quote", "boxed-text", "p"}
FORMULAS = {"math", "tex-math", "disp-formula", "inline-formula", "alternatives", "AbstractText"}
UNREAD = {"graphic", "inline-graphic", "object-id", "media", "ref", "ref-list", "permissions"}

pytestmark = pytest.mark.skipif(
    not FILES, reason=f"no articles in {SHARED / 'data'}; set PINCITE_SHARED to read them"
)


def name_of(element: Any) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def tree(path: Path) -> Any:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return etree.fromstring(data, etree.XMLParser(load_dtd=False, no_network=True))


def words(text: str) -> str:
    return re.sub(r"[\W_]|formula", "", text.lower())


def runs(element: Any) -> list[str]:
    """The text in an element, broken where something else stands in its midst."""
    parts = [element.text or ""]
    for child in element:
        name = name_of(child)
        if name in BESIDE or name in FORMULAS:
            parts.append("\0")
        elif name and name not in UNREAD:
            parts += runs(child)
        parts.append(child.tail or "")
    return parts


def expected(path: Path) -> list[str]:
    root = tree(path)
    wanted = "//AbstractText | //body//p | //abstract//p | //body//title | //body//td | //body//th"
    found = [
        e for e in root.xpath(wanted) if not e.xpath("ancestor::permissions | ancestor::media")
    ]
    texts = ["".join(runs(element)).split("\0") for element in found]
    return [run for text in texts for part in text if len(run := words(part)) > 2]


def squeezed(document: Document) -> str:
    return words(document.text)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_every_abstract_and_every_paragraph_is_in_the_text(path: Path) -> None:
    found = list(read_path(path))
    documents = [page for page in found if isinstance(page, Document)]
    others = [page.reason for page in found if isinstance(page, Unchecked)]
    assert set(others) <= {Reason.TITLE_ONLY}
    assert documents
    text = " ".join(map(squeezed, documents))
    missing = [run for run in expected(path) if run not in text]
    assert missing == []
    for document in documents:
        assert document.title
        assert document.published
        assert document.meta["journal"]
        assert document.meta["coverage"] == (
            "abstract" if document.kind == "pubmed" else "full text"
        )
        if document.kind == "pubmed":
            assert document.meta["authors"]
            assert document.meta["retracted"] in ("yes", "corrected", "no")
