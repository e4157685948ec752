"""What goes into a format's reader: the bytes, what is known of them, and how much is allowed.

Every limit is here, so that one line in the settings changes it for all formats. The defaults suit
a machine with 4 GB of memory that reads pages strangers wrote.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from pincite.types import Reason, Unchecked


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one source may cost; over a limit it is `Unchecked`, never cut off silently."""

    max_bytes: int = 50_000_000  # a scanned book has 20 to 40 MB
    max_chars: int = 10_000_000  # the longest novels have 3 to 4 million
    line_bytes: int = 20_000_000  # one record of a JSONL file
    pdf_pages: int = 3_000
    # Of processor time, for one document: a book of 3,000 pages, at 100 full ones a second.
    seconds: float = 30.0
    memory: int = 2_000_000_000  # address space of its reader, code and libraries included
    # The same for PDFs, which are read page by page: more is a page of forms within forms.
    pdf_memory: int = 1_000_000_000


DEFAULT_LIMITS = Limits()
# Packed text is 4 to 20 times smaller, gzip reaches 1,030 times on zeros: more is an attack on the
# disk or the clock, once it is also more than `max_bytes`.
MAX_RATIO = 200
# So many refusals in a row, and a file of records is given up: it is no such file, or not any more.
MAX_REFUSED_IN_A_ROW = 10_000
CHECKSUM = ".md5"  # the ending of a file with the digest of the one beside it
_DIGEST = re.compile(r"(?<![0-9a-fA-F])[0-9a-fA-F]{32}(?![0-9a-fA-F])")


def is_bomb(n_unpacked: int, n_packed: int, limits: Limits) -> bool:
    """Whether so many bytes were packed into so few that more of them are not worth the wait."""
    return n_unpacked > max(limits.max_bytes, MAX_RATIO * n_packed)


@dataclass(frozen=True, slots=True)
class Body:
    """One source as bytes, with what its server or its file name says about it."""

    url: str
    data: bytes
    content_type: str | None = None
    fetched: str | None = None
    limits: Limits = DEFAULT_LIMITS

    @property
    def charset(self) -> str | None:
        """The `charset=` of the declared content type."""
        _, _, parameters = (self.content_type or "").lower().partition("charset=")
        return parameters.split(";")[0].strip(" \"'") or None


def too_large(url: str, n_bytes: int, limit: int, what: str = "the file") -> Unchecked:
    """The result for a source over a limit, with both sizes for the reader.

    >>> too_large("u", 61_000_000, 50_000_000).detail
    'the file has 61.0 MB, the limit is 50.0 MB'
    """
    detail = f"{what} has {_megabytes(n_bytes)}, the limit is {_megabytes(limit)}"
    return Unchecked(url, Reason.TOO_LARGE, detail)


def unusable(text: str, url: str, where: str, limits: Limits) -> Unchecked | None:
    """Why the text of a record is no source: no words, or too many; `where` is file and line."""
    if not text:
        return Unchecked(url, Reason.EMPTY, f"{where}: the text has no words")
    if len(text) > limits.max_chars:
        detail = f"{where}: {len(text)} characters, the limit is {limits.max_chars}"
        return Unchecked(url, Reason.TOO_LARGE, detail)
    return None


def _megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 100_000 else f"{n_bytes} bytes"


def mismatch(path: Path) -> str:
    """What is wrong with a file according to `FILE.md5`; empty if nothing is, or there is none.

    NLM writes `MD5(name)= digest`, md5sum `digest  name`; both are read. It tells a broken
    download, not a forged one.
    """
    side = path.with_name(path.name + CHECKSUM)
    if not side.is_file():
        return ""
    with side.open("rb") as file:
        stated = _DIGEST.search(file.read(4_096).decode("latin-1"))
    if not stated:
        return f"{side.name} holds no MD5 digest; fetch it again, or remove it"
    with path.open("rb") as file:
        found = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if found == stated[0].lower():
        return ""
    return f"its MD5 digest is {found}, {side.name} says {stated[0].lower()}; fetch it again"
