"""Texts as vectors from a server: OpenAI's `/v1/embeddings`, which most speak, and TEI's `/embed`.

Texts go only where a person set the address, and nothing is believed of a reply that is not looked
at: as many vectors as texts, all of one length, finite, in the order of the texts.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from pincite.errors import BadReply, ServerRefused
from pincite.llm.chat import EMBEDDINGS_KEY_VARIABLE
from pincite.llm.client import SHOWN, Call, Client, Limits, checked_url
from pincite.protocols import Floats

# A server that restarts in the middle of a large corpus has half a minute; 2,048 vectors of 768
# numbers in JSON are some 30 MB.
LIMITS = Limits(seconds=260.0, reply_bytes=64_000_000, attempts=6)
BATCH = 32  # texts of a request
# A text that the server finds too long is cut in half, as often as it stays longer than this. What
# is refused still is refused for another reason.
SHORTEST = 200  # characters


class ServedEncoder(Client):
    """An `Encoder` that a server runs. Which weights it has only the server knows (`is_served`)."""

    _setting, _variable = "the address of the encoder", EMBEDDINGS_KEY_VARIABLE
    _check = "Check the encoder's address (…/v1, or …/embed of TEI) and its name."
    is_served = True  # `corpus.ingest.check_same` looks whether it is still the same

    def __init__(
        self,
        model: str,
        url: str,
        key: str = "",
        prefixes: tuple[str, str] = ("", ""),
        batch: int = BATCH,
        limits: Limits | None = None,
    ) -> None:
        """Nothing is asked yet.

        Args:
            model: its name on the server.
            url: up to `/v1`, or TEI's that ends in `/embed`.
            key: as the server gave it, or "" where it wants none.
            prefixes: what the model wants before queries and before passages.
            batch: texts of a request.
            limits: None: those of this module.
        """
        self._is_tei = url.rstrip("/").endswith("/embed")
        self._path = "" if self._is_tei else "/embeddings"
        address = checked_url(url, self._setting, EMBEDDINGS_KEY_VARIABLE)
        super().__init__(address, key, limits or LIMITS)
        self._model, self._batch = model, batch
        self._prefixes = dict(zip(("query", "passage"), prefixes, strict=True))
        self._dim = 0

    @classmethod
    def from_environment(
        cls,
        model: str,
        url: str,
        prefixes: tuple[str, str] = ("", ""),
        batch: int = BATCH,
        *,
        seconds: float = LIMITS.seconds,
        at_once: int = LIMITS.at_once,
    ) -> "ServedEncoder":
        """An encoder with the key that the environment's variable holds, if it holds one."""
        key = os.environ.get(EMBEDDINGS_KEY_VARIABLE, "").strip()
        limits = replace(LIMITS, seconds=seconds, at_once=at_once)
        return cls(model, url, key, prefixes, batch, limits)

    def __repr__(self) -> str:
        return f"ServedEncoder({self._model!r}, {self.url!r})"

    @property
    def fingerprint(self) -> str:
        """`NAME@server`, with a hash of the prefixes if it has any: an address may change."""
        prefixes = list(self._prefixes.values())
        digest = hashlib.sha256(json.dumps(prefixes).encode()).hexdigest()[:8]
        return f"{self._model}@server" + (f"-{digest}" if any(prefixes) else "")

    @property
    def dim(self) -> int:
        """The number of dimensions; the server is asked for a vector if none came yet."""
        if not self._dim:
            self.encode(["dimensions"], "query")
        return self._dim

    def encode(self, texts: Sequence[str], role: Literal["query", "passage"]) -> Floats:
        """Unit vectors, (n_texts, dim) float32.

        Raises:
            ServerError: the server fails, or replies with something else.
        """
        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        prefix = self._prefixes[role]
        given = [prefix + text for text in texts]
        starts = range(0, len(given), self._batch)
        found = self._each(self._embedded, [given[n : n + self._batch] for n in starts])
        widths = {vectors.shape[1] for vectors in found} | ({self._dim} if self._dim else set())
        if len(widths) > 1:
            raise self._bad(f"vectors of {' and of '.join(map(str, sorted(widths)))} numbers")
        (self._dim,) = widths
        return np.concatenate(found)

    def _embedded(self, texts: list[str], call: Call) -> Floats:
        """The texts' vectors; a batch, then a text, that is too large for the server in halves."""
        try:
            return self._persistently(lambda: self._vectors(texts, call), call)
        except ServerRefused as refused:
            if refused.lasting or (len(texts) == 1 and len(texts[0]) <= SHORTEST):
                raise
        if len(texts) == 1:
            return self._embedded([texts[0][: len(texts[0]) // 2]], call)
        half = len(texts) // 2
        parts = (texts[:half], texts[half:])
        return np.concatenate([self._embedded(part, call) for part in parts])

    def _vectors(self, texts: list[str], call: Call) -> Floats:
        with self._wire.opened(self._request(texts), call) as response:
            status, headers = response.status_code, dict(response.headers)
            body = self._wire.body(response)
        if status != 200:
            raise self._failure(status, headers, body)
        try:
            given = json.loads(body)
        except (ValueError, RecursionError) as error:
            said = self._wire.told(body[: 4 * SHOWN].decode("utf-8", "replace"))
            raise self._bad(said or "nothing") from error
        return self._checked(self._in_order(given), len(texts))

    def _request(self, texts: list[str]) -> dict[str, Any]:
        if self._is_tei:
            return {"inputs": texts, "normalize": True, "truncate": True}
        return {"model": self._model, "input": texts, "encoding_format": "float"}

    def _in_order(self, given: Any) -> list[Any]:
        """The vectors of a reply; OpenAI's are ordered by their indexes."""
        rows = given.get("data") if isinstance(given, dict) else given
        if not isinstance(rows, list):
            raise self._bad(self._wire.told(json.dumps(given)))
        if not all(isinstance(row, dict) for row in rows):
            return rows
        indexes = [row.get("index", n) for n, row in enumerate(rows)]
        if not all(type(n) is int for n in indexes) or sorted(indexes) != [*range(len(rows))]:
            raise self._bad(f"vectors with the indexes {self._wire.told(str(indexes))}")
        vectors = dict(zip(indexes, (row.get("embedding") for row in rows), strict=True))
        return [vectors[n] for n in range(len(rows))]

    def _checked(self, rows: list[Any], n_texts: int) -> Floats:
        if len(rows) != n_texts:
            raise self._bad(f"{len(rows)} vectors for {n_texts} texts")
        if not all(isinstance(row, list) and row for row in rows):
            raise self._bad("something else than lists of numbers")
        if len(lengths := {len(row) for row in rows}) > 1:
            raise self._bad(f"vectors of {' and of '.join(map(str, sorted(lengths)))} numbers")
        if not all(type(number) in (int, float) for row in rows for number in row):
            raise self._bad("something else than numbers in a vector")
        vectors = np.array(rows, dtype=np.float64)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(norms).all() and norms.all()):
            raise self._bad("a vector that is not finite, or has no length")
        return np.asarray(vectors / norms, dtype=np.float32)

    def _bad(self, what: str) -> BadReply:
        return BadReply(
            f"{self.url} replied with {what}; expected a vector of finite numbers for each text, "
            f"all of one length. Is {self._model!r} an embedding model, and the address …/v1 of an "
            "OpenAI-compatible server or …/embed of TEI?",
            200,
        )
