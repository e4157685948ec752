"""Collections that hold a page in pieces, one a line: the pieces of a page made a document again.

A page's pieces mostly stand in adjacent lines, and these are joined. A page that comes back later
in the file (or is longer than a document may be) becomes further documents, whose addresses are
the page's with `#` and the document's id: nothing is lost, since a later document would otherwise
take the place of an earlier one with its address, and the same file always gives the same
addresses. Which pages were there before is remembered in a fixed room, however long the file is.

A page whose pieces are spread over several *files* is beyond this: there the last file counts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import NamedTuple

from pincite.documents.body import Limits, unusable
from pincite.documents.language import language_of
from pincite.types import Document, Unchecked

# A Bloom filter (Bloom 1970): 2^27 bits and 7 hashes take 14 million pages with 1 % errors,
# (1 − e^(−7n/m))^7. An error costs a page its plain address, never its text.
SEEN_BYTES = 1 << 24
N_HASHES = 7


class Piece(NamedTuple):
    """A part of a page; `where` is file and line, for messages."""

    where: str
    url: str
    title: str
    text: str  # cleaned
    meta: Mapping[str, str]


def joined(
    pieces: Iterable[Piece | Unchecked], glue: str, kind: str, limits: Limits
) -> Iterator[Document | Unchecked]:
    """Runs of pieces of one page as documents; a bad line within a run does not end it.

    Args:
        pieces: in the order of the file.
        glue: what stands between two pieces of a document.
        kind: of the documents.
        limits: a document has at most `max_chars` characters.
    """
    seen, run, n_chars = Seen(), list[Piece](), 0
    for piece in pieces:
        if isinstance(piece, Unchecked):
            yield piece
            continue
        if fault := unusable(piece.text, piece.url, piece.where, limits):
            yield fault
            continue
        n_more = len(glue) + len(piece.text)
        if run and (piece.url != run[0].url or n_chars + n_more > limits.max_chars):
            yield _document(run, glue, kind, seen)
            run, n_chars = [], 0
        n_chars += n_more if run else len(piece.text)
        run.append(piece)
    if run:
        yield _document(run, glue, kind, seen)


class Seen:
    """Which addresses there were, in 16 MiB: never forgets one, rarely takes a new one for old."""

    def __init__(self) -> None:
        self._bits = bytearray(SEEN_BYTES)

    def add(self, url: str) -> bool:
        """Remember `url`; says whether it was there before."""
        digest = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=4 * N_HASHES).digest()
        known = True
        for start in range(0, len(digest), 4):
            number = int.from_bytes(digest[start : start + 4]) % (8 * SEEN_BYTES)
            known &= bool(self._bits[number >> 3] & 1 << (number & 7))
            self._bits[number >> 3] |= 1 << (number & 7)
        return known


def _document(run: Sequence[Piece], glue: str, kind: str, seen: Seen) -> Document:
    first, text = run[0], glue.join(piece.text for piece in run)
    language = language_of(text)
    document = Document(first.url, first.title, text, kind, language=language, meta=first.meta)
    if seen.add(first.url):
        return replace(document, url=f"{first.url}#{document.doc_id}")
    return document
