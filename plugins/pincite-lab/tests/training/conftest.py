"""Tiny networks of random weights, a tokenizer, and invented claims with evidence."""

import random
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pincite.cli import main

TOWNS = "Varde Holm Skov Lund Aaby Brenn Tofte Nesby Gram Olst".split()
THINGS = "bridge mill tower school harbour church".split()
WORDS = (
    "[PAD] [UNK] [CLS] [SEP] the of in was is not built opened closed town river old it and by a "
    "people remember market fair summer every one . , 0 1 2 3 4 5 6 7 8 9 ##0 ##1 ##2 ##3 ##4 ##5 "
    "##6 ##7 ##8 ##9"
).split()


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """Two threads on networks this small wait for each other longer than they work."""
    if find_spec("torch"):
        import torch

        torch.set_num_threads(1)


def write_network(folder: Path, kind: str, **more: int) -> Path:
    """A Hugging Face folder with random weights, three labels, and a WordPiece tokenizer."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    from conftest import save_tokenizer

    vocabulary = {w: i for i, w in enumerate([*WORDS, *map(str.lower, TOWNS), *THINGS])}
    sizes = {"vocab_size": len(vocabulary), "hidden_size": 32, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": 4, "intermediate_size": 48, "num_labels": 3} | more
    torch.manual_seed(1)
    # Embeddings of 0.02 would leave two layers of random weights nothing to tell words apart by.
    config = getattr(transformers, f"{kind}Config")(initializer_range=0.2, **sizes)
    model = getattr(transformers, f"{kind}ForSequenceClassification")(config)
    model.save_pretrained(folder)
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    save_tokenizer(tokenizer, folder)
    return folder


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base") / "bert"
    return write_network(folder, "Bert", max_position_embeddings=96)


@pytest.fixture(scope="session")
def tiny_roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    more = {"max_position_embeddings": 98, "type_vocab_size": 1, "pad_token_id": 1}
    return write_network(tmp_path_factory.mktemp("base") / "roberta", "Roberta", **more)


def invented(n: int, seed: int = 0) -> list[dict[str, Any]]:
    """Rows of a claims file: true, denied, and such as the evidence says nothing of."""
    chance = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for number in range(n):
        town, thing = chance.choice(TOWNS), chance.choice(THINGS)
        year = chance.randint(1810, 1990)
        label = ("support", "refute", "nei")[number % 3]
        told = {
            "support": f"The {thing} of {town} was opened in {year}.",
            "refute": f"The {thing} of {town} was not opened in {year}.",
            "nei": f"The people of {town} remember the old {thing}.",
        }[label]
        row = {"id": f"row-{seed}-{number}", "label": label}
        row["claim"] = f"The {thing} of {town} was opened in {year}."
        row["evidence"] = f"{told} The market of {town} is a fair by the river."
        rows.append(row)
    return rows


@pytest.fixture
def pincite(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Runs the command with these arguments; its messages, if it ends with the code."""

    def call(*arguments: object, code: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["pincite", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        message = capsys.readouterr().err
        assert (ended.value.code or 0) == code, message
        return message

    return call
