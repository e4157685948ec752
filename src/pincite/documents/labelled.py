"""Files of claims with evidence and a label: what verifiers are trained on and measured with.

One JSON object a line, plain or .gz: `id, evidence, claim, label` and optionally `meta`, with label
`support`, `refute`, `nei`, `partial` or `not_support` (refute and nei not told apart).
"""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pincite.errors import InputError

LABELS = ("support", "refute", "nei", "partial", "not_support")


@dataclass(frozen=True, slots=True)
class LabelledClaim:
    """A claim, its evidence as one text, and what people said of them."""

    row_id: str
    claim: str
    evidence: str
    label: str
    meta: Mapping[str, Any] = field(default_factory=dict, compare=False)


def read_labelled(
    path: Path, on_bad: Callable[[InputError], None] | None = None
) -> Iterator[LabelledClaim]:
    """The rows of a file in order.

    Args:
        path: the file.
        on_bad: hears of each row that cannot be used, which is then skipped; None: it is raised.

    Raises:
        InputError: names the file, the line, and what is missing or wrong.
    """
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    yield _row(line, f"{path} line {number}")
                except InputError as bad:
                    if on_bad is None:
                        raise
                    on_bad(bad)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def _row(line: bytes, place: str) -> LabelledClaim:
    try:
        value = json.loads(line)
        row = LabelledClaim(
            str(value["id"]),
            value["claim"],
            value["evidence"],
            value["label"],
            value.get("meta") or {},
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        fields = "id, evidence, claim, label"
        raise InputError(f"{place}: expected a JSON object with {fields}; got {error!r}") from error
    if not isinstance(row.claim, str) or not isinstance(row.evidence, str):
        raise InputError(f"{place}: claim and evidence must be strings.")
    try:
        f"{row.claim}{row.evidence}".encode()
    except UnicodeEncodeError as error:  # half a surrogate pair, as "\ud800" spells it
        raise InputError(f"{place}: {error}; expected text that UTF-8 can write.") from error
    if not row.claim.strip():
        raise InputError(f"{place}: the claim is empty.")
    if row.label not in LABELS:
        raise InputError(f"{place}: label is {row.label!r}; expected one of {', '.join(LABELS)}.")
    if not isinstance(row.meta, dict):
        raise InputError(f"{place}: meta must be an object.")
    return row
