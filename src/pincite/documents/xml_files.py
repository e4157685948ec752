"""Files of PubMed's and of JATS articles: told by their root and what stands before it, and read.

Their records come in order, each at its own address; one that is broken costs only itself.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from pincite.documents import confined
from pincite.documents.body import Limits
from pincite.documents.language import with_language
from pincite.types import Document, Unchecked

Reader = Callable[[Path, Limits], Iterator[Document | Unchecked]]
_MARK = b"<"
_BEFORE = b" \t\r\n\xef\xbb\xbf\xff\xfe\0"  # white space and byte order marks


def reader_of(path: Path) -> Reader | None:
    """The reader for a file of PubMed's or of JATS articles; None if it is another kind of file."""
    with path.open("rb") as opened:
        start = opened.read(512)
    if start[:2] != b"\x1f\x8b" and not start.lstrip(_BEFORE).startswith(_MARK):
        return None  # most files; lxml is then not even loaded
    from pincite.documents.xml import jats, pubmed, records

    head = records.head_of(path)
    if records.root_of(head) in pubmed.ROOTS:
        return lambda file, limits: confined.read_many(pubmed.RECORD, pubmed.bodies(file, limits))
    return _articles if jats.is_article(head) else None


def _articles(path: Path, limits: Limits) -> Iterator[Document | Unchecked]:
    from pincite.documents.xml import jats

    return map(with_language, confined.read_many(jats.RECORD, jats.bodies(path, limits)))
