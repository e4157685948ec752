"""Which collection an XML file is: told by its root and what stands before it, not by its name."""

from collections.abc import Callable, Iterator
from pathlib import Path

from pincite.documents.body import Limits
from pincite.types import Document, Unchecked

Reader = Callable[[Path, Limits], Iterator[Document | Unchecked]]
_MARK = b"<"
_BEFORE = b" \t\r\n\xef\xbb\xbf\xff\xfe\0"  # white space and byte order marks


def reader_of(path: Path) -> Reader | None:
    """The reader for a file of PubMed's or of JATS articles; None if it is another kind of file."""
    with path.open("rb") as file:
        start = file.read(512)
    if start[:2] != b"\x1f\x8b" and not start.lstrip(_BEFORE).startswith(_MARK):
        return None  # most files; lxml is then not even loaded
    from pincite.documents.xml import jats, pubmed, records

    head = records.head_of(path)
    if records.root_of(head) in pubmed.ROOTS:
        return pubmed.documents
    return jats.documents if jats.is_article(head) else None
