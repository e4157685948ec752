"""Texts as vectors: a bi-encoder whose cosine is the dense retriever's score."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from pincite.models import weights
from pincite.models.session import Session
from pincite.protocols import Floats

MAX_TOKENS = 256  # what all-MiniLM-L6-v2 was trained with


class OnnxEncoder:
    """A sentence encoder: the mean of the last hidden states, L2-normalised."""

    def __init__(self, folder: Path, *, threads: int = 0) -> None:
        """Load the model; raises MissingModel where the folder holds none."""
        card = weights.read_card(folder)
        self._session = Session(
            folder, max_tokens=card.get("max_tokens", MAX_TOKENS), threads=threads
        )
        self._prefix: dict[str, str] = card.get("prefix", {})
        self.dim = self._session.width
        self.fingerprint = weights.fingerprint(folder)

    def encode(self, texts: Sequence[str], role: Literal["query", "passage"]) -> Floats:
        """Unit vectors, (n_texts, dim) float32."""
        prefix = self._prefix.get(role, "")
        embeddings = np.zeros((len(texts), self.dim), dtype=np.float32)
        for batch in self._session.run([prefix + text for text in texts]):
            mask = batch.mask[:, :, None].astype(np.float32)
            means = (batch.output * mask).sum(axis=1) / mask.sum(axis=1)
            embeddings[batch.rows] = means / np.linalg.norm(means, axis=1, keepdims=True)
        return embeddings
