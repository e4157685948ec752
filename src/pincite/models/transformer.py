"""Public verifiers run with torch, from safetensors alone.

No code of a repository is run, no pickle is read, and nothing is downloaded. The head of HHEM,
which comes as code, is that of T5ForTokenClassification.
"""

import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from pincite.errors import MissingExtra, MissingModel
from pincite.models import weights
from pincite.models.layouts import Layout
from pincite.protocols import Floats

BATCH = 4
# Words of a claim that are told apart; of longer ones the end is judged, but not named.
MOST_WORDS = 64
# The answers "0" and "1" begin with these tokens of T5: minicheck/inference.py.
ANSWERS = [3, 209]
_CLASSES = {
    "classes": "AutoModelForSequenceClassification",
    "tokens": "AutoModelForTokenClassification",
    "answer": "AutoModelForSeq2SeqLM",
}


class Transformer:
    """A `layouts.Backend`: a folder of Hugging Face in float32."""

    def __init__(self, folder: Path, layout: Layout, labels: Sequence[str], threads: int) -> None:
        """Load it; `threads`: torch's, 0 leaves them.

        Raises:
            MissingExtra: torch or transformers is not installed.
            MissingModel: the folder holds no complete network of this layout.
        """
        _require_extra()
        import torch

        if threads:
            torch.set_num_threads(threads)
        self._layout, self._supported = layout, labels.index("supported")
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            self._model = _loaded(folder, layout).float().eval().to(self._device)
            self._tokenizer = _tokenizer(folder, layout)
        except MissingModel:
            raise
        except Exception as error:  # transformers raises what its parts raise
            raise MissingModel(f"{folder} cannot be loaded ({error}). {_ADVICE}") from error

    def n_tokens(self, text: str) -> int:
        """Without those that mark beginning and end."""
        return len(self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def logits(self, rows: Sequence[tuple[str, str]]) -> Floats:
        """As `layouts.Backend` says."""
        order = sorted(range(len(rows)), key=lambda i: -len(rows[i][0]) - len(rows[i][1]))
        found: dict[int, Floats] = {}
        for start in range(0, len(rows), BATCH):
            some = order[start : start + BATCH]
            found.update(zip(some, self._batch([rows[i] for i in some]), strict=True))
        return np.stack([found[i] for i in range(len(rows))])

    def _batch(self, rows: Sequence[tuple[str, str]]) -> Floats:
        import torch

        rows = [(self._plain(document), self._plain(claim)) for document, claim in rows]
        read = self._read(rows)
        inputs = {k: v.to(self._device) for k, v in read.items() if k != "offset_mapping"}
        head = self._layout.head
        if head == "answer":  # T5 begins every answer with token 0
            inputs["decoder_input_ids"] = torch.zeros_like(inputs["input_ids"][:, :1])
        with torch.inference_mode():
            logits = self._model(**inputs).logits.float().cpu().numpy()
        if head == "classes":
            return np.asarray(logits)
        if head == "tokens":
            return np.stack(
                [self._of_words(logits[i], read, i, rows[i][1]) for i in range(len(rows))]
            )
        return np.asarray(logits[:, 0, ANSWERS] if head == "answer" else logits[:, 0])

    def _read(self, rows: Sequence[tuple[str, str]]) -> Any:
        """The batch as tensors; of what is too long the document is cut, not the claim."""
        eos, prompt = self._tokenizer.eos_token or self._tokenizer.sep_token, self._layout.prompt
        first = [prompt.format(document=text, claim=claim, eos=eos) for text, claim in rows]
        as_pair = "{claim}" not in prompt
        self._tokenizer.truncation_side = "right" if as_pair else "left"
        return self._tokenizer(
            first,
            [claim for _, claim in rows] if as_pair else None,
            truncation=True,
            max_length=self._layout.max_tokens,
            padding=True,
            return_tensors="pt",
            return_offsets_mapping=self._layout.head == "tokens",
        )

    def _plain(self, text: str) -> str:
        """Without the signs that end a document or a claim: a source must not write claims."""
        for token in self._tokenizer.all_special_tokens:
            text = text.replace(token, " ")
        return text

    def _of_words(self, logits: Floats, read: Any, row: int, claim: str) -> Floats:
        """Log-odds of support (1,), and of no support for each word (MOST_WORDS,), −∞ for none.

        As in LettuceDetect a claim is as likely supported as its least likely token.
        """
        odds = logits[:, 1 - self._supported] - logits[:, self._supported]
        words = [match.span() for match in re.finditer(r"\S+", claim)][:MOST_WORDS]
        of_words = np.full(MOST_WORDS, -np.inf, dtype=np.float32)
        worst = -np.inf
        for at, part in enumerate(read.sequence_ids(row)):
            if part != 1:
                continue
            worst = max(worst, float(odds[at]))
            start, end = read["offset_mapping"][row][at].tolist()
            for i, (first, last) in enumerate(words):
                if start < last and end > first:
                    of_words[i] = max(of_words[i], odds[at])
        support = -worst if np.isfinite(worst) else 0.0  # a claim without a token says nothing
        return np.concatenate([np.array([support], dtype=np.float32), of_words])


_ADVICE = (
    "Expected config.json, tokenizer.json and model.safetensors; docs/verifiers.md says how to "
    "make them of other files."
)


def _loaded(folder: Path, layout: Layout) -> Any:
    """The network; no weight of it is missing: what is made up at random would judge."""
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if layout.head == "first_token":
        return _hhem(folder, layout)
    kind = getattr(transformers, _CLASSES[layout.head])
    model, about = kind.from_pretrained(
        folder,
        local_files_only=True,
        use_safetensors=True,
        trust_remote_code=False,
        output_loading_info=True,
    )
    _check_complete(folder, set(about["missing_keys"]))
    return model


def _hhem(folder: Path, layout: Layout) -> Any:
    from safetensors.torch import load_file
    from transformers import AutoConfig, T5ForTokenClassification

    config = AutoConfig.from_pretrained(_foundation(folder, layout), local_files_only=True)
    config.num_labels = len(layout.labels)
    model = T5ForTokenClassification(config)
    stored = load_file(folder / "model.safetensors")
    mine = {name.removeprefix("t5."): value for name, value in stored.items()}
    shared, tied = "transformer.shared.weight", "transformer.encoder.embed_tokens.weight"
    if shared in mine:
        mine.setdefault(tied, mine[shared])
    missing = model.load_state_dict(mine, strict=False).missing_keys
    _check_complete(folder, set(missing))
    return model


def _tokenizer(folder: Path, layout: Layout) -> Any:
    from transformers import AutoTokenizer

    found = _foundation(folder, layout) if layout.foundation else folder
    return AutoTokenizer.from_pretrained(found, local_files_only=True, trust_remote_code=False)


def _foundation(folder: Path, layout: Layout) -> Path:
    """Where the network that it was made of has its configuration and tokenizer."""
    own = folder / weights.FOUNDATION
    found = own if own.is_dir() else weights.in_hub_cache(layout.foundation)
    if found is None:
        raise MissingModel(
            f"{folder} needs config.json and tokenizer.json of {layout.foundation}, expected in "
            f"{own}. pincite models fetch puts them there."
        )
    return found


def _check_complete(folder: Path, missing: set[str]) -> None:
    if missing:
        raise MissingModel(
            f"{folder} lacks the weights {', '.join(sorted(missing)[:3])}: it holds another kind "
            f"of network. {_ADVICE}"
        )


def _require_extra() -> None:
    if absent := [name for name in ("torch", "transformers") if find_spec(name) is None]:
        raise MissingExtra(
            f"This verifier needs {' and '.join(absent)}, not installed here: "
            "pip install 'pincite[train]'"
        )
