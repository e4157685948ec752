"""Files of JSON lines for tests."""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path

from pincite_lab.evaluation.wafer import WaferRecord, to_line


def write_jsonl(path: Path, *records: object) -> Path:
    """A record a line, gzipped if the name says so; a str or bytes is written as the line it is."""
    lines = [r if isinstance(r, str | bytes) else json.dumps(r) for r in records]
    encoded = [r.encode("utf-8", "surrogateescape") if isinstance(r, str) else r for r in lines]
    content = b"\n".join(encoded)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def write_records(records: Iterable[WaferRecord], path: str | Path) -> None:
    """The lines of a WAFER file."""
    write_jsonl(Path(path), *map(to_line, records))
