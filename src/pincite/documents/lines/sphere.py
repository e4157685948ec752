"""Sphere, Meta's web corpus, as JSON lines: a line is a chunk of about 100 words of a web page.

`{"id": …, "url": …, "title": …, "sha": …, "raw": …, "vector": […]}`: `url` and `raw`, the chunk's
text, must be there; vectors are ignored, since the corpus has its own encoder. Adjacent chunks of a
url become one document, chunks apart by blank lines; chunks of a url that comes back later in the
file become a document at `url#…` (see `pieces`). Not `#sha`: nothing says that a chunk has a sha of
its own.

Source: Piktus et al. 2021, The Web Is Your Oyster; the fields are those of the files that Weaviate
published of it (sphere.100k.jsonl to sphere.899M.jsonl).
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pincite.documents.body import DEFAULT_LIMITS, Limits
from pincite.documents.clean import cleaned, one_line
from pincite.documents.lines import jsonl
from pincite.documents.lines.pieces import Piece, joined
from pincite.types import Document, Reason, Unchecked


def documents(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Document | Unchecked]:
    """The pages of a file in order, or what is wrong with a line; `meta` is the first chunk's."""
    return of_lines(jsonl.lines(path, limits), path, limits)


def of_lines(
    lines: Iterable[jsonl.Line], path: Path, limits: Limits
) -> Iterator[Document | Unchecked]:
    """What `documents` gives, of these lines alone."""
    chunks = (_chunk(line, path, limits) for line in lines)
    return joined(chunks, "\n\n", "jsonl", limits)


def is_chunk(record: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a line of Sphere; one with `text` is of the common kind."""
    return all(isinstance(record.get(name), str) for name in ("url", "raw")) and (
        "text" not in record and ("sha" in record or "id" in record)
    )


def _chunk(line: jsonl.Line, path: Path, limits: Limits) -> Piece | Unchecked:
    record = jsonl.record_of(line, path, limits)
    if isinstance(record, Unchecked):
        return record
    where = jsonl.place(line, path)
    url, raw = one_line(jsonl.field_of(record, "url")), record.get("raw")
    if not url or not isinstance(raw, str):
        missing = "raw, the text of the chunk" if url else "url"
        return Unchecked(url or where, Reason.UNDECODABLE, f"{where}: no {missing}")
    known = ((name, one_line(jsonl.field_of(record, name))) for name in ("id", "sha"))
    meta = {name: value for name, value in known if value}
    return Piece(where, url, one_line(jsonl.field_of(record, "title")), cleaned(raw), meta)
