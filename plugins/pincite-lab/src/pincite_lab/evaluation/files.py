"""Files of a collection: found by name, plain or .gz, and read record by record."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeGuard

from pincite.documents import jsonl
from pincite.documents.body import DEFAULT_LIMITS
from pincite.errors import InputError, usable
from pincite.types import Unchecked


def required(folder: Path, name: str, collection: str) -> Path:
    """Find a file of a `collection`, described for the error; raises InputError."""
    if path := jsonl.find(folder, name):
        return path
    raise InputError(f"{folder} has no {name}.jsonl or {name}.jsonl.gz; expected {collection}.")


def records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the JSON object of each line; raises InputError for any other line."""
    with usable(path):
        for line in jsonl.lines(path):
            record = jsonl.record_of(line, path, DEFAULT_LIMITS)
            if isinstance(record, Unchecked):
                raise InputError(f"{path.parent / record.detail}.")
            yield str(path.parent / jsonl.place(line, path)), record


def is_texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
