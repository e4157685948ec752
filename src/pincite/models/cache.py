"""A verifier that never judges the same pair twice, so that a run can be stopped and go on.

The key is a hash over the model's fingerprint, the claim's text and the passage's title and text:
another model, an edited claim or a changed page is judged anew. Every batch is committed when it
is done; Ctrl-C or a kill loses the batch in work and nothing else.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from pincite.protocols import Verifier
from pincite.types import Claim, Evidence, Passage, Span

COMMIT_EVERY = 64  # pairs: about a second of work on two cores
_LOOKUP = 500  # keys in one SELECT; SQLite's limit on variables is higher everywhere

Pairs = Sequence[tuple[Claim, Passage]]
T = TypeVar("T")


class CachedVerifier:
    """Is a Verifier: asks `verifier` only for pairs that the file does not hold."""

    def __init__(self, verifier: Verifier, path: Path) -> None:
        """Open or make the file at `path`; several processes may share it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._verifier = verifier
        self.fingerprint = verifier.fingerprint
        self._db = sqlite3.connect(path, timeout=30)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS evidence (key BLOB PRIMARY KEY, value TEXT) WITHOUT ROWID"
        )

    def verify(self, pairs: Pairs) -> list[Evidence]:
        """As the verifier inside."""
        keys = [self._key(claim, passage) for claim, passage in pairs]
        known = self._known(keys)
        todo = list({key: i for i, key in enumerate(keys) if key not in known}.values())
        for chunk in _chunks(todo, COMMIT_EVERY):
            fresh = self._verifier.verify([pairs[i] for i in chunk])
            rows = [(keys[i], _packed(e)) for i, e in zip(chunk, fresh, strict=True)]
            with self._db:
                self._db.executemany("INSERT OR REPLACE INTO evidence VALUES (?, ?)", rows)
            known.update(rows)
        return [
            _unpacked(known[key], passage) for key, (_, passage) in zip(keys, pairs, strict=True)
        ]

    def close(self) -> None:
        """Close the file; the object is of no use afterwards."""
        self._db.close()

    def _key(self, claim: Claim, passage: Passage) -> bytes:
        content = "\0".join((self.fingerprint, claim.text, passage.title, passage.text))
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).digest()[:16]

    def _known(self, keys: list[bytes]) -> dict[bytes, str]:
        found: dict[bytes, str] = {}
        for chunk in _chunks(keys, _LOOKUP):
            marks = ",".join("?" * len(chunk))
            query = f"SELECT key, value FROM evidence WHERE key IN ({marks})"  # noqa: S608 - marks
            found.update(self._db.execute(query, chunk).fetchall())
        return found


def _packed(evidence: Evidence) -> str:
    return json.dumps(
        [
            evidence.prob_supported,
            evidence.prob_refuted,
            evidence.prob_neutral,
            evidence.score,
            evidence.quote,
            evidence.reasons,
        ]
    )


def _unpacked(value: str, passage: Passage) -> Evidence:
    supported, refuted, neutral, score, quote, reasons = json.loads(value)
    span = Span(*quote) if quote else None
    return Evidence(passage, supported, refuted, neutral, score, span, tuple(reasons))


def _chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
