"""How a corpus's documents, passages and vectors stand in SQLite's rows, and how damage shows.

SQLite has no checksums, so a flipped bit on the disk would come back as another address, another
span or another score. Texts are compressed, which has a checksum; a vector carries one that covers
its key; a document's *seal* covers its row and the rows of its passages, and is looked at when a
passage is shown. Rows of an earlier Pincite lack both and are believed.
"""

import hashlib
import json
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pincite.protocols import Floats
from pincite.types import Document, Span, about

Keys = npt.NDArray[np.int64]

# Of a text that are compressed together: about six passages. Unpacking takes 0.02 ms, a quarter of
# what a block of four times the size takes, and each passage that is shown needs one or two.
BLOCK_CHARACTERS = 4_096
BLOCK_CHARACTERS_BEFORE = 16_384  # of stores whose manifest does not say
_BLOCK_BYTES = 4 * BLOCK_CHARACTERS_BEFORE  # of UTF-8: what unpacks to more, nobody wrote
HASH_DIGITS = 16  # of a content hash; its document's seal stands behind it
_VECTOR = np.dtype("<f2")
_CHECK_BYTES = 4
SEALED = (  # what a seal covers, the passages written as `passage_list` does
    "SELECT key, doc_id, url, title, kind, published, fetched, language, meta, content_hash,"
    " (SELECT COALESCE(group_concat('[' || key || ', ' || first || ', ' || last || ']', ', '), '')"
    "  FROM (SELECT key, first, last FROM passages WHERE document = documents.key ORDER BY key))"
    " FROM documents WHERE key IN (SELECT value FROM json_each(?))"
)
UNIT_TOLERANCE = 2e-3  # half precision moves a unit vector's length by 0.0005 at most


class Place(NamedTuple):
    """Where a passage stands: enough to rank it, without its text."""

    key: int
    document: int
    doc_id: str
    url: str
    title: str
    span: Span
    published: str | None
    meta: str  # JSON, read only of what is shown

    @property
    def about(self) -> str:
        """The same as `Passage.about`; raises ValueError or TypeError of damaged metadata."""
        return about(self.title, self.published, json.loads(self.meta))

    @property
    def passage_id(self) -> str:
        """The same as `Passage.passage_id`."""
        return f"{self.doc_id}:{self.span.start}-{self.span.end}"


def content_hash(document: Document) -> str:
    """Equal for documents that need no new copy: all fields but the day they were fetched."""
    fields = (document.kind, document.published, document.language, dict(document.meta))
    content = json.dumps((document.doc_id, *fields), sort_keys=True)
    return hashlib.sha256(content.encode("ascii")).hexdigest()[:HASH_DIGITS]


def seal(fields: Sequence[object], passages: str) -> str:
    """8 hex digits over a document's fields and its passages, written as `passage_list` does."""
    content = f"{json.dumps(fields)[:-1]}, [{passages}]]"
    return f"{zlib.crc32(content.encode('utf-8', 'surrogatepass')):08x}"


def passage_list(keys: Iterable[int], spans: Iterable[Span]) -> str:
    """Keys and spans as `SEALED` has SQLite write them, which is quicker than Python."""
    pairs = zip(keys, spans, strict=True)
    return ", ".join(f"[{key}, {span.start}, {span.end}]" for key, span in pairs)


def share_of_digest(doc_id: str) -> int:
    """What one document adds to a corpus's digest, which is the sum modulo 2**128."""
    return int(hashlib.sha256(doc_id.encode()).hexdigest()[:32], 16)


def damaged(path: Path, detail: str) -> str:
    """The message about a store that can be trusted no more."""
    return (
        f"{path} is damaged ({detail}). It holds the documents themselves, so it cannot be derived "
        f"again. What is affected says: pincite corpus verify {path.parent.parent}"
    )


def raw(text: str) -> bytes:
    """SQLite keeps any bytes as text; Python's own way refuses half a surrogate pair."""
    return text.encode("utf-8", "surrogatepass")


def listed(keys: Iterable[int]) -> str:
    """Keys as the JSON that SQLite's `json_each` takes."""
    return json.dumps([int(key) for key in keys])


def place(row: Sequence[Any]) -> Place:
    """Where a passage stands, from a row of the passages joined with their documents."""
    key, document, doc_id, url, title, first, last, published, meta = row
    if not 0 <= first < last:
        raise ValueError(f"passage {key} spans {first} to {last}")
    return Place(key, document, doc_id, url, title, Span(first, last), published, meta)


def blocks_of(span: Span, size: int) -> range:
    """The numbers of the blocks of text, of `size` characters, that a span needs."""
    return range(span.start // size, (span.end - 1) // size + 1)


def text_of(place: Place, blocks: Mapping[tuple[int, int], str], size: int) -> str:
    """The text of a passage, from the blocks that it needs."""
    numbers = blocks_of(place.span, size)
    offset = numbers.start * size
    text = "".join(blocks[place.document, number] for number in numbers)
    return text[place.span.start - offset : place.span.end - offset]


def packed(key: int | None, text: str, size: int) -> Iterator[tuple[int | None, int, bytes]]:
    """A document's text as rows of compressed blocks of `size` characters."""
    for start in range(0, len(text), size):
        yield key, start // size, zlib.compress(raw(text[start : start + size]), 6)


def unpacked(data: bytes) -> str:
    """The text of a block.

    Raises:
        ValueError: It is damaged (or `zlib.error`).
    """
    unpacking = zlib.decompressobj()
    text = unpacking.decompress(data, _BLOCK_BYTES)
    if not unpacking.eof:
        raise ValueError("a block of text is cut, or longer than any that was written")
    return text.decode("utf-8", "surrogatepass")


def packed_vector(key: int, vector: Floats) -> bytes:
    """A vector (dim,) as it is stored: half precision, then its checksum."""
    data = vector.astype(_VECTOR).tobytes()
    return data + _checksum(key, data)


def sound_rows(rows: Sequence[tuple[int, bytes]], dim: int) -> dict[int, bytes]:
    """The stored vectors that are what was written, and of unit length, by key."""
    sound = {key: data for key, data in rows if _is_sound(key, data, dim)}
    keys, vectors = matrix(list(sound.items()), dim)
    with np.errstate(all="ignore"):  # a damaged one of an earlier Pincite may hold infinities
        unit = np.abs(np.linalg.norm(vectors, axis=1) - 1) <= UNIT_TOLERANCE
    return {int(key): sound[int(key)] for key in keys[unit]}


def matrix(rows: Sequence[tuple[int, bytes]], dim: int) -> tuple[Keys, Floats]:
    """Keys and vectors (n_rows, dim).

    Raises:
        ValueError: One of the vectors is damaged.
    """
    for key, data in rows:
        if not _is_sound(key, data, dim):
            raise ValueError(f"that of passage {key} is not what was written")
    n_bytes = dim * _VECTOR.itemsize
    keys = np.array([key for key, _ in rows], dtype=np.int64)
    values = np.frombuffer(b"".join(data[:n_bytes] for _, data in rows), dtype=_VECTOR)
    return keys, values.reshape(len(rows), dim).astype(np.float32)


def miscounted(indexed: Counter[int], stored: set[int]) -> Iterator[str]:
    """How the keys that an index holds, each so often, differ from those of the store."""
    for problem, keys in (
        ("lacks", stored - indexed.keys()),
        ("holds, though they were deleted,", indexed.keys() - stored),
        ("holds more than once", {key for key, n in indexed.items() if n > 1}),
    ):
        if keys:
            yield f"{problem} {len(keys)} passages, the first with key {min(keys)}"


def _is_sound(key: int, data: bytes, dim: int) -> bool:
    n_bytes = dim * _VECTOR.itemsize
    if not isinstance(data, bytes) or len(data) not in (n_bytes, n_bytes + _CHECK_BYTES):
        return False
    return len(data) == n_bytes or data[n_bytes:] == _checksum(key, data[:n_bytes])


def _checksum(key: int, data: bytes) -> bytes:
    return struct.pack("<I", zlib.crc32(data, key & 0xFFFFFFFF))
