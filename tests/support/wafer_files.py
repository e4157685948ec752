"""WAFER files for tests."""

import gzip
from collections.abc import Iterable
from pathlib import Path

from pincite.wiki.wafer import WaferRecord, to_line


def write_records(records: Iterable[WaferRecord], path: str | Path) -> None:
    """One record a line; gzipped if the name ends in .gz."""
    text = "".join(to_line(record) + "\n" for record in records).encode()
    Path(path).write_bytes(gzip.compress(text) if str(path).endswith(".gz") else text)
