"""One transformer on ONNX Runtime: texts or text pairs in, the raw output of the network out.

Decisions hidden here: each row is run alone. Nothing is padded, a row's logits do not depend on
what else was asked (int8 activations are scaled by batch), and on processors it is no slower than
batches of 4, which are faster than larger ones: caches, not calls, decide. Each core runs a row of
its own, the longest first. ONNX Runtime and tokenizers are named here only.
"""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from pincite.errors import MissingModel
from pincite.protocols import Floats

# No writing has longer ones on average: words are cut into pieces, what has no spaces into signs.
CHARS_PER_TOKEN = 64

# The network's input → the attribute of an encoding that fills it.
_FIELDS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}

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
        # Without VNNI the fast int8 kernels saturate, and a score would depend on the machine.
        options.add_session_config_entry("session.x64quantprecision", "1")
        options.log_severity_level = 3  # warnings about graph details help no user
        try:
            self._network = InferenceSession(
                str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
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
        """Each text's, or pair of texts', position and output, without an axis for it.

        The longest come first: memory peaks at the start.
        """
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


def cores() -> int:
    """How many this process may use; where the system does not say, how many there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
