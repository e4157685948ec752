"""Titles guessed by a model of one's own: what `pincite train titles` writes, run with torch.

Any sequence-to-sequence or causal language model of Hugging Face does. The folder's card says
which of the two it is and how many tokens it reads and writes, so that a context comes to it here
as it came in training.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pincite.errors import MissingExtra, MissingModel
from pincite.models import weights
from pincite.retrieval.titles import cleaned

if TYPE_CHECKING:
    import torch

KIND = "titles"  # in the card
CUE = "\nTitle:"  # between context and title where one sequence holds both
BEAMS = 5  # SIDE had 15, at three times the price
AT_ONCE = 16  # contexts in one batch
TOP_P = 0.95  # of what is drawn: the tail below it is noise (Holtzman et al. 2020)

Form = Literal["seq2seq", "causal"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How contexts and titles become tokens, in training and afterwards alike."""

    tokenizer: Any
    form: Form
    max_context_tokens: int
    max_title_tokens: int

    def context(self, text: str) -> list[int]:
        """Token ids of a context, the cue behind it; cut from the left: the claim stands last."""
        self.tokenizer.truncation_side = "left"
        encoded = self.tokenizer(text, truncation=True, max_length=self.max_context_tokens)
        ids: list[int] = list(encoded["input_ids"])
        if self.form == "seq2seq":
            return ids
        if ids and ids[-1] == self.tokenizer.eos_token_id:
            ids.pop()  # some tokenizers end every text, but here the title follows
        return ids + self._plain(CUE)

    def title(self, text: str) -> list[int]:
        """Token ids of a title with the token that ends it."""
        if self.form == "seq2seq":
            return list(self.tokenizer(text_target=text)["input_ids"])
        return [*self._plain(f" {text}"), self.tokenizer.eos_token_id]

    @property
    def padding(self) -> int:
        """The token that fills short rows; where there is none, the one that ends a text."""
        pad = self.tokenizer.pad_token_id
        return int(self.tokenizer.eos_token_id if pad is None else pad)

    def _plain(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])


class TrainedTitles:
    """A `protocols.TitleWriter` over a folder of `pincite train titles`.

    Beams give the likeliest titles. Sampling draws them, by a chance that the seed and the context
    alone decide, so that the same call gives the same titles in whatever company.
    """

    warnings: tuple[str, ...] = ()  # a model that is here does not fail

    def __init__(
        self, folder: Path, *, n: int = 1, sampled: bool = False, seed: int = 13, threads: int = 0
    ) -> None:
        """`n`: at most so many titles a context; `threads`: torch's, 0 leaves them.

        Raises:
            MissingExtra: torch or transformers is not installed.
            MissingModel: the folder holds no model that writes titles.
        """
        card = weights.read_card(folder)
        if card.get("kind") != KIND:
            raise MissingModel(
                f"{folder} holds no model that writes titles; expected the folder `model` of a "
                "run of: pincite train titles"
            )
        require_extra("Titles need")
        import torch

        if threads:
            torch.set_num_threads(threads)
        self._folder, self._n, self._sampled, self._seed = folder, n, sampled, seed
        self._model, tokenizer, form = load(str(folder))
        self._model.eval()
        self._reading = Reading(
            tokenizer, form, int(card["max_context_tokens"]), int(card["max_title_tokens"])
        )

    @cached_property
    def fingerprint(self) -> str:
        """`name@` and 12 hex digits of SHA-256 over weights, tokenizer and card; and how."""
        digest = hashlib.sha256()
        names = [*sorted(self._folder.glob("*.safetensors")), self._folder / "tokenizer.json"]
        for path in [*names, self._folder / "pincite.json"]:
            with path.open("rb") as content:
                digest.update(hashlib.file_digest(content, "sha256").digest())
        how = f"sampled, seed {self._seed}" if self._sampled else f"{BEAMS} beams"
        return f"{self._folder.resolve().name}@{digest.hexdigest()[:12]} ({how})"

    def titles(self, contexts: Sequence[str]) -> list[list[str]]:
        """At most `n` titles each, the likeliest first; what says nothing is left out."""
        ids = [self._reading.context(context) for context in contexts]
        found: list[list[str]] = [[] for _ in contexts]
        size = 1 if self._sampled else AT_ONCE
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))  # little padding
        for start in range(0, len(order), size):
            some = order[start : start + size]
            written = self._written([ids[i] for i in some])
            for place, i in enumerate(some):
                replies = written[place * self._n : (place + 1) * self._n]
                found[i] = list(dict.fromkeys(filter(None, map(cleaned, replies))))
        return found

    def _written(self, rows: Sequence[list[int]]) -> list[str]:
        """`n` texts for each row, one row after the other."""
        import torch

        inputs = padded(rows, self._reading, left=self._reading.form == "causal")
        n_read = inputs["input_ids"].shape[1] if self._reading.form == "causal" else 0
        how: dict[str, Any] = {"num_beams": max(BEAMS, self._n), "early_stopping": True}
        if self._sampled:
            how = {"do_sample": True, "top_p": TOP_P, "top_k": 0}
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            content = f"{self._seed} {rows[0]}".encode()
            torch.manual_seed(int.from_bytes(hashlib.sha256(content).digest()[:6], "big"))
            written = self._model.generate(
                **inputs,
                **how,
                num_return_sequences=self._n,
                max_new_tokens=self._reading.max_title_tokens,
                pad_token_id=self._reading.padding,
            )
        texts = self._reading.tokenizer.batch_decode(written[:, n_read:], skip_special_tokens=True)
        return list(texts)


def require_extra(what: str) -> None:
    """Raises MissingExtra where torch cannot run a model; `what` begins the message."""
    if absent := [name for name in ("torch", "transformers") if find_spec(name) is None]:
        raise MissingExtra(
            f"{what} {' and '.join(absent)}, not installed here: pip install 'pincite[train]'"
        )


def load(base: str) -> tuple[Any, Any, Form]:
    """The model in float32, its tokenizer, and which of the two forms it has.

    Args:
        base: a folder or id of Hugging Face, with weights as safetensors.

    Raises:
        MissingModel: there is no such model, it cannot write, or no token ends its texts.
    """
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        config = AutoConfig.from_pretrained(base)
        form: Form = "seq2seq" if config.is_encoder_decoder else "causal"
        kind = AutoModelForSeq2SeqLM if form == "seq2seq" else AutoModelForCausalLM
        model = kind.from_pretrained(base, config=config, use_safetensors=True)
        tokenizer = AutoTokenizer.from_pretrained(base)
    except Exception as error:  # transformers raises what its parts raise
        raise MissingModel(
            f"{base} cannot be loaded as a Hugging Face model that writes text: {error}"
        ) from error
    if tokenizer.eos_token_id is None:
        raise MissingModel(
            f"The tokenizer of {base} names no eos_token; expected one that ends a text."
        )
    return model.float(), tokenizer, form


def padded(
    rows: Sequence[list[int]], reading: Reading, *, left: bool = False
) -> "dict[str, torch.Tensor]":
    """`input_ids` and `attention_mask`, (n_rows, longest)."""
    import torch

    longest = max(map(len, rows))
    ids, mask = [], []
    for row in rows:
        fill, ones = [reading.padding] * (longest - len(row)), [1] * len(row)
        ids.append(fill + row if left else row + fill)
        mask.append([0] * len(fill) + ones if left else ones + [0] * len(fill))
    return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}
