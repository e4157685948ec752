"""How documents and passages stand in Milvus's rows.

A document's row has a key made of its address and holds its *version*: a hash of all that it says.
A passage's key is made of both and its span, so the search gives all that ranking needs. A passage
counts only while the row of its document has its version: that row is written last and deleted
first, so what a kill leaves behind is never found.
"""

import base64
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pincite.corpus.lexical import words_of
from pincite.corpus.store import content_hash, raw
from pincite.errors import CorpusError
from pincite.protocols import Floats
from pincite.retrieval.filters import Facts
from pincite.text.languages import identify
from pincite.types import Document, Passage, Span
from pincite_cluster import remote
from pincite_cluster.filters import Dialect, days_of, facets_of, numbers_of
from pincite_cluster.milvus.client import MAX_BYTES
from pincite_cluster.remote import Head, key_of, stated

BLOCK_CHARACTERS = 10_000  # of text in a row: at most 54,000 bytes, however badly it compresses
ELSEWHERE = "\0"  # stands for a passage's text that a row cannot hold: it is in the document
HEADS = "n_blocks >= 0"  # which rows are documents, and not further blocks of their texts
DIALECT = Dialect("array_contains_any(facets, {})".format, 'numbers["{}"]'.format)
_FIELDS = ("version", "facts", "n_blocks", "n_passages")


def passage_key(key: str, version: str, span: Span) -> str:
    return f"{key}.{version}.{span.start}-{span.end}"


def parts_of(passage: str) -> tuple[str, str, Span]:
    """What a passage's key was made of."""
    key, version, span = passage.split(".")
    start, end = span.split("-")
    return key, version, Span(int(start), int(end))


def block_keys(key: str, version: str, n_blocks: int) -> list[str]:
    """The keys of the rows with a document's text behind its first block."""
    return [f"{key}.{version}.{n}" for n in range(1, n_blocks)]


def blocks_of(head: Head) -> list[str]:
    return block_keys(head.key, head.version, head.n_blocks)


def document_rows(document: Document, n_passages: int) -> list[dict[str, Any]]:
    """The rows of a document; the first, which makes the others count, is written last.

    Raises:
        CorpusError: what is known of it besides its text is longer than a row.
    """
    key, version = key_of(document.url), content_hash(document)
    facts = _packed(stated(document))
    if len(facts) > MAX_BYTES:
        raise CorpusError(
            f"{document.url}: its title and metadata are longer than the {MAX_BYTES} bytes that "
            "Milvus keeps, packed. Nothing of this batch was kept."
        )
    size, text = BLOCK_CHARACTERS, document.text
    blocks = [_packed(text[at : at + size]) for at in range(0, len(text), size)] or [_packed("")]
    rest = {"version": version, "n_passages": n_passages, "unused": [1.0, 0.0]}
    head = {"id": key, "facts": facts, "text": blocks[0], "n_blocks": len(blocks), **rest}
    further = zip(block_keys(key, version, len(blocks)), blocks[1:], strict=True)
    others = [{"id": k, "facts": "", "text": b, "n_blocks": -1, **rest} for k, b in further]
    return [head, *others]


def head_of(row: Mapping[str, Any]) -> Head:
    """A document from its row, read with `head_fields`."""
    counts = row["n_blocks"], row["n_passages"]
    return remote.head_of(row["id"], row["version"], _unpacked(row["facts"]), *counts)


def head_fields() -> list[str]:
    return ["id", *_FIELDS]


def document_of(head: Head, blocks: Sequence[str]) -> Document:
    """The document, of all its rows' texts in order."""
    return head.with_text("".join(map(_unpacked, blocks)))


def passage_rows(
    document: Document, cut: Sequence[Passage], vectors: Floats | None
) -> Iterator[dict[str, Any]]:
    key, version = key_of(document.url), content_hash(document)
    facts = Facts.of(document)
    first_day, last_day = days_of(document.published)
    shared = {
        "document": key,
        "title": _words(document.title, identify(document.title, document.language)),
        "facets": facets_of(facts),
        "first_day": first_day,
        "last_day": last_day,
        "numbers": numbers_of(facts),
    }
    for n, passage in enumerate(cut):
        own = {"text": _text(passage.text), "words": _words(passage.text, passage.language)}
        vector = {"vector": vectors[n].tolist()} if vectors is not None else {}
        yield {"id": passage_key(key, version, passage.span), **own, **shared, **vector}


def _words(text: str, language: str | None) -> str:
    """The words by which a text is found, as the embedded engine has them, with blanks between."""
    joined = " ".join(words_of(text, language)).encode("utf-8")
    return joined[:MAX_BYTES].decode("utf-8", "ignore")


def _text(text: str) -> str:
    try:
        fits = len(text.encode("utf-8")) <= MAX_BYTES and not text.startswith(ELSEWHERE)
    except UnicodeEncodeError:  # half a surrogate pair
        fits = False
    return text if fits else ELSEWHERE


def _packed(text: str) -> str:
    return base64.b64encode(zlib.compress(raw(text), 6)).decode("ascii")


def _unpacked(data: str) -> str:
    return zlib.decompress(base64.b64decode(data)).decode("utf-8", "surrogatepass")
