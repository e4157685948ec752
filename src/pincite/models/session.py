"""Transformers on ONNX Runtime: texts or text pairs in, raw outputs or vectors out.

Each row is run alone. Nothing is padded, a row's logits do not depend on the rest of its batch
(int8 activations are scaled by batch), and on CPUs it is no slower than batches of 4, which are
faster than larger ones. Each core runs one row at a time, the longest first. Scores do not depend
on the processor: where its fast int8 products are inexact, slower ones are used.
"""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pincite.errors import MissingModel
from pincite.models import weights
from pincite.protocols import Floats

# No script has longer tokens on average: words are cut into pieces, scripts without spaces into
# characters.
CHARS_PER_TOKEN = 64

# The network's input → the attribute of an encoding that fills it.
_FIELDS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}

# Runs layer norms and the sums before them value by value: a fifth of a short row's time.
_SLOW = ["SkipLayerNormFusion"]

# The graph c = MatMulInteger(a, b) of unsigned and signed bytes, as `onnx.helper` writes it.
_PRODUCT = (
    b'\x08\x04:>\n\x18\n\x01a\n\x01b\x12\x01c"\rMatMulInteger\x12\x01pZ\t\n\x01a\x12\x04\n\x02\x08\x02'
    b"Z\t\n\x01b\x12\x04\n\x02\x08\x03b\t\n\x01c\x12\x04\n\x02\x08\x06B\x04\n\x00\x10\n"
)

ENCODER_TOKENS = 256  # what all-MiniLM-L6-v2 was trained with
POOLINGS = ("mean", "cls")  # of the last hidden states: their mean, or the first token's

Rows = Sequence[str] | Sequence[tuple[str, str]]


class Session:
    """A loaded network with its tokenizer."""

    def __init__(self, folder: Path, *, max_tokens: int, threads: int = 0) -> None:
        """Load `folder`'s model.onnx and tokenizer.json.

        Args:
            folder: as `pincite.models.weights.locate` returns it.
            max_tokens: longer rows are cut on the right; of a pair, its second text is cut.
            threads: 0 means all cores.

        Raises:
            MissingModel: a file is missing or cannot be read as what it should be.
        """
        from onnxruntime import InferenceSession, SessionOptions
        from tokenizers import Tokenizer

        options = SessionOptions()
        options.intra_op_num_threads = 1
        self._threads = threads or cores()
        # The arena keeps the largest batch for ever: a third of the demo's memory for nothing.
        options.enable_cpu_mem_arena = False
        if products_saturate():
            options.add_session_config_entry("session.x64quantprecision", "1")
        options.log_severity_level = 3  # warnings about graph details help no user
        try:
            self._network = InferenceSession(
                str(folder / "model.onnx"),
                options,
                providers=["CPUExecutionProvider"],
                disabled_optimizers=_SLOW,
            )
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # both libraries raise bare Exception and RuntimeError
            raise MissingModel(
                f"{folder} holds no model that can be loaded ({error}); expected model.onnx and "
                "tokenizer.json. If it came with Pincite, install that again: pip install "
                "--force-reinstall pincite"
            ) from error
        self._inputs = [field.name for field in self._network.get_inputs()]
        self._tokenizer.no_padding()
        self._max_chars = CHARS_PER_TOKEN * max_tokens
        self._tokenizer.enable_truncation(max_tokens, strategy="longest_first")

    @property
    def width(self) -> int:
        """Size of the last axis of the output: 1 or 3 logits, or the width of the vectors."""
        return int(self._network.get_outputs()[0].shape[-1])

    def logits(self, rows: Rows) -> Floats:
        """(n_rows, width) of a network with one output a row, in the order of the caller."""
        logits = np.zeros((len(rows), self.width), dtype=np.float32)
        for row, output in self.run(rows):
            logits[row] = output
        return logits

    def n_tokens(self, text: str) -> int:
        """Without those that mark beginning and end; at most as many as a row may have."""
        return len(self._tokenizer.encode(text[: self._max_chars], add_special_tokens=False).ids)

    def run(self, rows: Rows) -> Iterator[tuple[int, Floats]]:
        """Each row's position and output, the longest rows first: memory peaks at the start."""
        encodings: list[Any] = self._tokenizer.encode_batch([self._bounded(row) for row in rows])
        order = sorted(range(len(encodings)), key=lambda row: -len(encodings[row].ids))
        if self._threads == 1 or len(order) < 2:
            for row in order:
                yield self._output(row, encodings[row])
            return
        with ThreadPoolExecutor(self._threads, "pincite-model") as pool:
            under_way: deque[Future[tuple[int, Floats]]] = deque()
            for row in order:
                if len(under_way) > self._threads:  # outputs are large: few wait for the caller
                    yield under_way.popleft().result()
                under_way.append(pool.submit(self._output, row, encodings[row]))
            while under_way:
                yield under_way.popleft().result()

    def _bounded(self, row: str | tuple[str, str]) -> str | tuple[str, str]:
        """A row whose texts have no more characters than its tokens can need.

        The tokenizer takes 300 bytes of memory for each, even of what it then cuts off.
        """
        if isinstance(row, str):
            return row[: self._max_chars]
        return row[0][: self._max_chars], row[1][: self._max_chars]

    def _output(self, row: int, encoding: Any) -> tuple[int, Floats]:
        feed = {
            name: np.array([getattr(encoding, _FIELDS[name])], dtype=np.int64)
            for name in self._inputs
        }
        return row, np.asarray(self._network.run(None, feed)[0][0], dtype=np.float32)


@cache
def products_saturate() -> bool:
    """Whether the fast int8 kernels lose what does not fit into 16 bits: x86 without VNNI.

    With the precise kernels, which take 1.6 times as long where nothing is lost, scores are the
    same on every processor. Found by trying, since no library says it on every system.
    """
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = 1
    network = InferenceSession(_PRODUCT, options, providers=["CPUExecutionProvider"])
    largest = {"a": np.full((4, 16), 255, np.uint8), "b": np.full((16, 32), 127, np.int8)}
    return bool((network.run(None, largest)[0] != 255 * 127 * 16).any())


def cores() -> int:
    """How many cores this process may use; all, if the system does not say."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class OnnxEncoder:
    """A bi-encoder: the last hidden states pooled as its card says, L2-normalised."""

    def __init__(self, folder: Path, *, threads: int = 0) -> None:
        """Load the model; raises MissingModel where the folder holds none that can be used."""
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
        """Unit vectors, (n_texts, dim) float32."""
        prefix = self._prefix.get(role, "")
        embeddings = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, output in self._session.run([prefix + text for text in texts]):
            pooled = output.mean(axis=0) if self._pooling == "mean" else output[0]
            embeddings[row] = pooled / np.linalg.norm(pooled)
        return embeddings
