"""The bi-encoder under training: a network for claims and one for passages, often the same.

As in DPR (Karpukhin et al. 2020, §3) a text is one vector, and the score of a pair an inner
product; here of unit vectors, as the index keeps them. The default base is the encoder that
Pincite runs on, whose weights come out of its int8 ONNX file as the verifier's base does.
"""

import copy
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from pincite.errors import ConfigError, MissingModel
from pincite.models import weights
from pincite.protocols import Floats
from pincite.training import network
from pincite.training.recipe import EncoderRecipe
from pincite.training.run import write_model

KIND = "encoder"
_BATCH = 64  # texts encoded at once; `network.in_chunks` cuts them smaller
_MASKS = ("[MASK]", "<mask>")

Role = Literal["query", "passage"]


class Towers(torch.nn.Module):  # type: ignore[misc]  # Any to mypy
    """Both networks with their tokenizer. `fixed`: the passages' network is not trained."""

    def __init__(self, query: Any, passage: Any, tokenizer: Any, pooling: str) -> None:
        super().__init__()
        self.query, self.passage = query, passage
        self.tokenizer, self.pooling, self.fixed = tokenizer, pooling, False

    @property
    def shared(self) -> bool:
        """Whether one network encodes both."""
        return self.query is self.passage

    @property
    def mask(self) -> str | None:
        """The tokenizer's word for what is hidden."""
        return next((m for m in _MASKS if self.tokenizer.token_to_id(m) is not None), None)

    def vectors(self, texts: Sequence[str], role: Role, max_tokens: int) -> Tensor:
        """Unit vectors, (n_texts, dim) float32; longer texts are cut on the right."""
        model = self.query if role == "query" else self.passage
        if self.fixed and role == "passage":
            with network.at_rest(model):
                return self._vectors(model, texts, max_tokens)
        return self._vectors(model, texts, max_tokens)

    def judged(self, texts: Sequence[str], role: Role, max_tokens: int) -> Tensor:
        """The same without gradient or dropout."""
        with network.at_rest(self):
            return self.vectors(texts, role, max_tokens)

    def starts(self, text: str) -> list[int]:
        """Where each token of a text begins, as `retrieval.queries.context_query` asks it."""
        self.tokenizer.no_truncation()
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        return [start for start, _ in encoding.offsets]

    def _vectors(self, model: Any, texts: Sequence[str], max_tokens: int) -> Tensor:
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(max_tokens)
        encodings = self.tokenizer.encode_batch(list(texts))

        def run(some: list[Any]) -> Tensor:
            inputs = network.inputs_of(model, some)
            return self._pooled(model(**inputs).last_hidden_state, inputs["attention_mask"])

        device = next(model.parameters()).device
        return normalize(network.in_chunks(encodings, device, run).float(), dim=-1)

    def _pooled(self, hidden: Tensor, mask: Tensor) -> Tensor:
        if self.pooling == "cls":
            return hidden[:, 0]
        there = mask.unsqueeze(-1).to(hidden.dtype)
        return (hidden * there).sum(dim=1) / there.sum(dim=1)


def load(base: str, recipe: EncoderRecipe) -> Towers:
    """The towers that a recipe wants, from one base or from what an earlier run wrote.

    Args:
        base: `weights.ENCODER`, a folder or id of Hugging Face, or the folder `model` of a run.
        recipe: says whether they are one, how they pool, and what of them is trained.

    Raises:
        MissingModel: there is no such network, or it has no fast tokenizer.
        ConfigError: texts may be longer than the network has places for, or a field is to be
            masked and the tokenizer has no word for that.
    """
    passage, tokenizer = _body(base)
    query = passage
    if recipe.towers != "shared":
        own = Path(base) / weights.QUERY_TOWER
        query = _body(str(own))[0] if own.is_dir() else copy.deepcopy(passage)
    towers = Towers(query, passage, tokenizer, recipe.pooling)
    for model in {id(m): m for m in (query, passage)}.values():
        network.freeze(model, recipe.frozen_layers)
    if recipe.towers == "query":
        towers.fixed = True
        passage.requires_grad_(False)
    _require_fit(towers, recipe)
    return towers


def load_trained(folder: Path) -> Towers:
    """What `write` wrote, ready to answer.

    Raises:
        MissingModel: the folder holds no trained encoder.
    """
    card = weights.read_card(folder)
    if card.get("kind") != KIND:
        raise MissingModel(
            f"{folder} holds no trained encoder; expected the folder `model` of a run of pincite "
            "train encoder."
        )
    passage, tokenizer = _body(str(folder))
    own = folder / weights.QUERY_TOWER
    query = _body(str(own))[0] if own.is_dir() else passage
    towers = Towers(query, passage, tokenizer, card["pooling"])
    towers.eval()
    return towers


def write(towers: Towers, recipe: EncoderRecipe, folder: Path) -> None:
    """A Hugging Face folder of the passages' tower with its card, whole or not at all.

    The claims' tower lies in it as `query`, where it is another.
    """
    beside = folder.with_name(folder.name + ".part")
    write_model(towers.passage, towers.tokenizer, beside)
    if not towers.shared:
        write_model(towers.query, towers.tokenizer, beside / weights.QUERY_TOWER)
    card = {
        "kind": KIND,
        "pooling": recipe.pooling,
        "query": recipe.query,
        "max_tokens": max(recipe.max_query_tokens, recipe.max_passage_tokens),
    }
    (beside / "pincite.json").write_text(json.dumps(card, indent=1) + "\n", "utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    beside.replace(folder)


class TowersEncoder:
    """The towers as an `Encoder` for an index that negatives are searched in."""

    def __init__(self, towers: Towers, name: str, max_tokens: int) -> None:
        """`name`: of what the towers were loaded from; another base has another."""
        self._towers, self._max_tokens = towers, max_tokens
        self.fingerprint = f"{name}@{max_tokens}"
        self.dim = int(towers.passage.config.hidden_size)

    def encode(self, texts: Sequence[str], role: Role) -> Floats:
        """Unit vectors, (n_texts, dim) float32."""
        embeddings = np.zeros((len(texts), self.dim), dtype=np.float32)
        for start in range(0, len(texts), _BATCH):
            some = texts[start : start + _BATCH]
            vectors = self._towers.judged(some, role, self._max_tokens)
            embeddings[start : start + _BATCH] = vectors.cpu().numpy()
        return embeddings


def _body(base: str) -> tuple[Any, Any]:
    """A network that gives hidden states, float32, and its tokenizer."""
    from transformers.utils import logging

    logging.set_verbosity_error()  # that a head is left out is known
    logging.disable_progress_bar()
    model, tokenizer = (
        _from_onnx(weights.locate(base)) if base == weights.ENCODER else _from_hub(base)
    )
    if getattr(model, "pooler", None) is not None:
        model.pooler = None  # of the next-sentence task: it would be trained on nothing
    return model.float(), tokenizer


def _from_hub(base: str) -> tuple[Any, Any]:
    from transformers import AutoModel

    try:
        model = AutoModel.from_pretrained(base, config=network.config_of(base))
        return model, network.tokenizer_of(base)
    except Exception as error:  # transformers raises what its parts raise
        raise MissingModel(f"{base} cannot be loaded as a Hugging Face encoder: {error}") from error


def _from_onnx(folder: Path) -> tuple[Any, Any]:
    from transformers import BertModel

    state, config = network.recovered(folder)
    model = BertModel(config, add_pooling_layer=False)
    model.load_state_dict(state)
    return model, network.tokenizer_of(str(folder))


def _require_fit(towers: Towers, recipe: EncoderRecipe) -> None:
    places = network.most_tokens(towers.passage)
    for key in ("max_query_tokens", "max_passage_tokens"):
        if places and getattr(recipe, key) > places:
            raise ConfigError(
                f"{key} is {getattr(recipe, key)}; this network has places for {places}."
            )
    if (recipe.title_dropout or recipe.section_dropout) and towers.mask is None:
        raise ConfigError(
            f"This tokenizer has none of {', '.join(_MASKS)} to put for a field. Set title_dropout "
            "and section_dropout to 0 in the recipe."
        )
