"""Embeddings from a server: OpenAI's `/v1/embeddings`, which most support, or TEI's `/embed`."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from pincite.errors import BadReply, ServerRefused
from pincite.llm.chat import EMBEDDINGS_KEY_VARIABLE
from pincite.llm.client import SHOWN, Call, Client, Limits, check_url
from pincite.protocols import Floats

# Six attempts give a server that restarts in the middle of a large corpus half a minute; 2,048
# vectors of 768 numbers are some 30 MB of JSON.
LIMITS = Limits(seconds=260.0, reply_bytes=64_000_000, attempts=6)
BATCH = 32  # texts per request
# A rejected text longer than this is cut in half; a shorter one is rejected for another reason than
# its length.
SHORTEST = 200  # characters


class ServedEncoder(Client):
    """An `Encoder` on a server. Only the server knows its weights (`is_served`)."""

    _setting, _variable = "the address of the encoder", EMBEDDINGS_KEY_VARIABLE
    _check = "Check the encoder's address (…/v1, or …/embed of TEI) and its name."
    is_served = True  # so `corpus.generation.check_same` compares its vectors

    def __init__(
        self,
        model: str,
        url: str,
        key: str = "",
        prefixes: tuple[str, str] = ("", ""),
        batch: int = BATCH,
        limits: Limits | None = None,
    ) -> None:
        """`url`: up to `/v1`, or TEI's ending in `/embed`; `prefixes`: of queries, of passages."""
        self._is_tei = url.rstrip("/").endswith("/embed")
        self._path = "" if self._is_tei else "/embeddings"
        address = check_url(url, self._setting, EMBEDDINGS_KEY_VARIABLE)
        super().__init__(address, key, limits or LIMITS)
        self._model, self._batch = model, batch
        self._prefixes = dict(zip(("query", "passage"), prefixes, strict=True))
        self._dim = 0

    @property
    def fingerprint(self) -> str:
        """`NAME@server`, with a hash of any prefixes; the address may change."""
        prefixes = list(self._prefixes.values())
        digest = hashlib.sha256(json.dumps(prefixes).encode()).hexdigest()[:8]
        return f"{self._model}@server" + (f"-{digest}" if any(prefixes) else "")

    @property
    def dim(self) -> int:
        """The number of dimensions; requests a vector if none is known yet."""
        if not self._dim:
            self.encode(["dimensions"], "query")
        return self._dim

    def encode(self, texts: Sequence[str], role: Literal["query", "passage"]) -> Floats:
        """Return unit vectors, (n_texts, dim) float32; raises ServerError."""
        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        prefixed = [self._prefixes[role] + text for text in texts]
        starts = range(0, len(prefixed), self._batch)
        arrays = self._each(self._embed, [prefixed[n : n + self._batch] for n in starts])
        lengths = {vectors.shape[1] for vectors in arrays}
        self._check_lengths(lengths | ({self._dim} if self._dim else set()))
        (self._dim,) = lengths
        return np.concatenate(arrays)

    def _embed(self, texts: list[str], call: Call) -> Floats:
        """Return the texts' vectors. A rejected batch is halved; a single rejected text is cut."""
        try:
            return self._persistently(lambda: self._vectors(texts, call), call)
        except ServerRefused as refused:
            if refused.lasting or (len(texts) == 1 and len(texts[0]) <= SHORTEST):
                raise
        if len(texts) == 1:
            return self._embed([texts[0][: len(texts[0]) // 2]], call)
        half = len(texts) // 2
        return np.concatenate([self._embed(part, call) for part in (texts[:half], texts[half:])])

    def _vectors(self, texts: list[str], call: Call) -> Floats:
        request: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._is_tei:
            request = {"inputs": texts, "normalize": True, "truncate": True}
        with self._response(request, call) as response:
            body = self._body(response)
        if response.status_code != 200:
            raise self._failure(response.status_code, response.headers, body)
        try:
            reply = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise self._bad(
                self._printable(body[: 4 * SHOWN].decode("utf-8", "replace")) or "nothing"
            ) from error
        return self._checked(self._in_order(reply), len(texts))

    def _in_order(self, reply: Any) -> list[Any]:
        """Return the vectors of a reply in order; OpenAI's are sorted by index."""
        rows = reply.get("data") if isinstance(reply, dict) else reply
        if not isinstance(rows, list):
            raise self._bad(self._printable(json.dumps(reply)))
        if not all(isinstance(row, dict) for row in rows):
            return rows
        indexes = [row.get("index", n) for n, row in enumerate(rows)]
        if sorted(map(repr, indexes)) != sorted(map(repr, range(len(rows)))):
            raise self._bad(f"vectors with the indexes {self._printable(str(indexes))}")
        return [rows[indexes.index(n)].get("embedding") for n in range(len(rows))]

    def _checked(self, rows: list[Any], n_texts: int) -> Floats:
        if len(rows) != n_texts:
            raise self._bad(f"{len(rows)} vectors for {n_texts} texts")
        for row in rows:
            if not (isinstance(row, list) and row and all(type(n) in (int, float) for n in row)):
                raise self._bad("a vector that is not a list of numbers")
        self._check_lengths({len(row) for row in rows})
        vectors = np.array(rows, dtype=np.float64)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(norms).all() and norms.all()):
            raise self._bad("a vector that is not finite, or has no length")
        return np.asarray(vectors / norms, dtype=np.float32)

    def _check_lengths(self, lengths: set[int]) -> None:
        if len(lengths) > 1:
            raise self._bad(f"vectors of {' and of '.join(map(str, sorted(lengths)))} numbers")

    def _bad(self, what: str) -> BadReply:
        return BadReply(
            f"{self.url} replied with {what}; expected a vector of finite numbers for each text, "
            f"all of one length. Is {self._model!r} an embedding model, and the address …/v1 of an "
            "OpenAI-compatible server or …/embed of TEI?",
            200,
        )
