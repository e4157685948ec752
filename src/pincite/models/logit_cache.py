"""Logits that were computed once and are kept, so that a run can be stopped and go on.

The key is a hash over the network's fingerprint, the claim's text and the passage's text: another
network, an edited claim or a changed page is computed anew, a new calibration or threshold is not.
Every chunk is committed when it is done; Ctrl-C or a kill loses the chunk in work and nothing else.
"""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from pincite.cache_file import CacheFile
from pincite.protocols import Floats

COMMIT_EVERY = 64  # rows: about a second of work on two cores
_STORED = "<f4"  # the same file serves machines of either byte order

TextPairs = Sequence[tuple[str, str]]  # claim, passage


class LogitCache:
    """A file of known logits; several processes may share it."""

    def __init__(self, path: Path, network: str = "") -> None:
        """Open or make the file at `path` for the network with this fingerprint."""
        self._network = network
        self._file = CacheFile(path, "outputs (key BLOB PRIMARY KEY, logits BLOB)")

    def logits(self, pairs: TextPairs, compute: Callable[[TextPairs], Floats]) -> Floats:
        """(n_pairs, n_labels) float32; `compute` is asked in chunks, for unknown pairs only."""
        keys = [self._key(pair) for pair in pairs]
        known = self._file.values("logits", keys)
        todo = list({key: i for i, key in enumerate(keys) if key not in known}.values())
        todo.sort(key=lambda i: len(pairs[i][0]) + len(pairs[i][1]))  # chunks of like lengths
        for start in range(0, len(todo), COMMIT_EVERY):
            chunk = todo[start : start + COMMIT_EVERY]
            fresh = compute([pairs[i] for i in chunk])
            rows = [
                (keys[i], row.astype(_STORED).tobytes())
                for i, row in zip(chunk, fresh, strict=True)
            ]
            self._file.put(rows)
            known.update(rows)
        stored = np.frombuffer(b"".join(known[key] for key in keys), dtype=_STORED)
        return stored.reshape(len(keys), -1 if keys else 1).astype(np.float32)

    def forget(self) -> int:
        """Remove all, also while a run uses them; returns how many there were."""
        return self._file.clear()

    def n_kept(self) -> int:
        """How many pairs are kept, of all networks."""
        return self._file.n_rows()

    def close(self) -> None:
        """Close the file; the object is of no use afterwards."""
        self._file.close()

    def _key(self, pair: tuple[str, str]) -> bytes:
        content = "\0".join((self._network, *pair))
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).digest()[:16]
