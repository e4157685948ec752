"""Texts as vectors: a bi-encoder whose cosine is the dense retriever's score."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from pincite.errors import MissingModel
from pincite.models import weights
from pincite.models.session import Session
from pincite.protocols import Floats

MAX_TOKENS = 256  # what all-MiniLM-L6-v2 was trained with
POOLINGS = ("mean", "cls")  # of the last hidden states: their mean, or the first token's


class OnnxEncoder:
    """A sentence encoder: the last hidden states pooled as its card says, L2-normalised."""

    def __init__(self, folder: Path, *, threads: int = 0) -> None:
        """Load the model; raises MissingModel where the folder holds none that can be used."""
        card = weights.read_card(folder)
        self._pooling: str = card.get("pooling", "mean")
        if self._pooling not in POOLINGS:
            raise MissingModel(
                f"{folder}/pincite.json names the pooling {self._pooling!r}; expected one of "
                f"{', '.join(POOLINGS)}."
            )
        max_tokens = card.get("max_tokens", MAX_TOKENS)
        self._session = Session(folder, max_tokens=max_tokens, threads=threads)
        self._prefix: dict[str, str] = card.get("prefix", {})
        self.dim = self._session.width
        self.fingerprint = weights.fingerprint(folder)

    def encode(self, texts: Sequence[str], role: Literal["query", "passage"]) -> Floats:
        """Unit vectors, (n_texts, dim) float32."""
        prefix = self._prefix.get(role, "")
        embeddings = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, output in self._session.run([prefix + text for text in texts]):
            pooled = output.mean(axis=0) if self._pooling == "mean" else output[0]
            embeddings[row] = pooled / np.linalg.norm(pooled)
        return embeddings
