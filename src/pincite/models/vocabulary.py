"""A vocabulary that networks share: SentencePiece's pieces, and the pieces' vectors.

The vectors of XLM-R's 250,037 pieces take more room than the layers of two networks. They lie once
in a folder above the networks', in 4 bits, and are mapped into memory: only the pages of vectors
that are looked up are read. SentencePiece takes 65 MB for the pieces, `tokenizers` would take 290.
"""

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pincite.errors import MissingExtra, install_command
from pincite.protocols import Floats

PIECES, VECTORS = "sentencepiece.model", "vectors.npy"
_ZERO = 8  # the half-byte that stands for 0


def row_type(width: int) -> np.dtype[np.void]:
    """Return the type of a vector in VECTORS: Q4_0, where 32 values share a scale.

    Byte j of 16 holds the values j and j + 16 of its block in its lower and upper half.
    """
    n_blocks = width // 32
    return np.dtype([("scales", "<f2", (n_blocks,)), ("halves", "u1", (n_blocks, 16))])


def dequantised(rows: npt.NDArray[np.void]) -> Floats:
    halves = rows["halves"]
    steps = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32) - _ZERO
    steps *= rows["scales"][..., None]
    return steps.reshape(len(rows), -1)


@dataclass(frozen=True)
class Encoding:
    """A row's pieces; the attributes are those of `tokenizers.Encoding`, as far as needed."""

    ids: list[int]
    end: int  # the piece that ends a text
    table: npt.NDArray[np.void]

    @property
    def vectors(self) -> Floats:
        return dequantised(self.table[self.ids])

    @property
    def type_ids(self) -> list[int]:
        """Return 0 up to the end of the first text, 1 from there on."""
        n_first = self.ids.index(self.end) + 1
        return [0] * n_first + [1] * (len(self.ids) - n_first)


class Tokenizer:
    """XLM-R's tokenizer, with the vectors of its pieces."""

    def __init__(self, folder: Path, max_tokens: int) -> None:
        """Open the vocabulary in `folder` or above it; longer rows are truncated.

        Raises:
            OSError, ValueError, RuntimeError: it is missing or damaged.
            MissingExtra: sentencepiece is not installed.
        """
        place = folder if (folder / VECTORS).is_file() else folder.parent
        self._pieces, self._table = _open(place)
        self._max_tokens = max_tokens

    def encode_batch(self, rows: Sequence[str] | Sequence[tuple[str, str]]) -> list[Encoding]:
        end = self._pieces.eos_id()
        return [Encoding(self._ids(row), end, self._table) for row in rows]

    def _ids(self, row: str | tuple[str, str]) -> list[int]:
        start, end = self._pieces.bos_id(), self._pieces.eos_id()
        if isinstance(row, str):
            return [start, *self._pieces.encode(row)[: self._max_tokens - 2], end]
        first, second = map(self._pieces.encode, row)
        room = self._max_tokens - 4
        first = first[: max(room // 2, room - len(second))]
        return [start, *first, end, end, *second[: room - len(first)], end]


@cache
def _open(folder: Path) -> tuple[Any, npt.NDArray[np.void]]:
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError as error:
        raise MissingExtra(
            f"sentencepiece is not installed. Install with: {install_command('multilingual')}"
        ) from error
    table: Any = np.load(folder / VECTORS, mmap_mode="r", allow_pickle=False)
    if hasattr(mmap, "MADV_RANDOM"):  # Windows has none
        table.base.madvise(mmap.MADV_RANDOM)  # else 25 pages around each vector are read too
    pieces = SentencePieceProcessor(model_file=str(folder / PIECES))
    if table.dtype.names != ("scales", "halves") or len(table) < pieces.get_piece_size():
        raise ValueError(f"{folder / VECTORS} does not have a vector for each piece")
    return pieces, table
