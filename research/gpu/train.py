"""One verifier run inside a time limit: python train.py run KIT OUT --seconds 480 [--teacher FOLDER] [--body FOLDER]

KIT is the folder that pack.py built. The run

1. chooses for each row the passage that decides it (hard EM as in SIDE, Petroni et al. 2023, by the shipped network), and asks
   the shipped network about it (prepared.npz);
2. trains the teacher, a larger body (--teacher), for --teacher-epochs, and asks it too (answers.npz);
3. trains the student (the shipped network, or --body) for --epochs with its labels and both answers;
4. evaluates the shipped network, the student, the mean of both, and the teacher on the dev and held-back rows;
5. writes figures.json and the changed weights in pieces of at most 15 MiB.

A new body (--body, made by pack_body.py) is first warmed up: its head is new, and all sets at once leave it at chance.

3a. its head's features are standardised, then --warm-up steps on sentence inference alone, the head faster than the body;
3b. all rows, held to what the shipped network, and a teacher, say of the English ones and of the English originals of the others.

`--prepare` stops after step 1, so that the shipped network's weights and the body's need not travel together. Runs of their own
share its file (--prepared), and a body waits for the answers of a teacher that another run trains (--answers).

The rate of learning falls with the steps or the time that is left, whichever is less; weights are written after each stage, so a
run that is cut off leaves what it had. It needs torch, transformers, tokenizers, numpy and onnx, not Pincite.

    python train.py join FOLDER PIECES... --to FOLDER   # here: the shipped network or the body with a run's weights
"""

import argparse
import json
import lzma
import math
import random
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bert_onnx
import numpy as np
import numpy.typing as npt
import torch
from input_scales import input_scales
from tokenizers import Tokenizer
from torch.nn import functional
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    BertConfig,
    BertForSequenceClassification,
    BertModel,
)
from transformers.modeling_outputs import SequenceClassifierOutput

SUPPORTED, REFUTED, NEUTRAL = range(3)
LABELS = ("supported", "refuted", "neutral")
GOLD = ("support", "refute", "nei")  # the same, as the rows have them
CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")
MAX_TOKENS = 320
STEP_TOKENS = 16384 if CUDA else 4096
PREDICT_TOKENS = 131072 if CUDA else 2048
PIECE = 15 << 20  # bytes
FROZEN_LAYERS = 3
SMOOTHING = 0.05
CLASS_WEIGHTS = (1.0, 1.3, 1.0)
SAVE_SECONDS = 60 if CUDA else 300
WARMUP = 0.06  # of the steps
# Of a new body: its head must have found its way before the layers move.
WARM_UP_RISE, WARM_UP_TOKENS, WARM_UP_SHARE = (
    0.2,
    4096,
    0.3,
)  # of the steps; a step's; of the seconds
STANDARDISED = 512  # rows
WATCHED = 512  # held-back pairs of sentence inference
MOST_TOKENS = 448  # of the product's rows
FREQUENT = 500  # pieces; the vocabulary is sorted by frequency
# Shares of the loss: what the labels say, what the teacher says, what the shipped network said (old rows only).
LABEL, TEACHER, PAST = 0.5, 0.3, 0.2
_FROZEN = re.compile(r"(^|\.)embeddings\.")
# What a label says of (supported, refuted, neutral). Of "not_support" only that it is not the first.
TARGETS = {
    "support": (1.0, 0.0, 0.0),
    "refute": (0.0, 1.0, 0.0),
    "nei": (0.0, 0.0, 1.0),
    "partial": (0.35, 0.0, 0.65),
    "not_support": (0.0, -1.0, -1.0),
}
Floats = npt.NDArray[np.float32]


def log(text: str) -> None:
    """Print with the seconds since the start."""
    print(f"{time.monotonic() - STARTED:7.1f} s  {text}", flush=True)


STARTED = time.monotonic()


@dataclass
class Network:
    """A classifier with its tokenizer; token ids are cached, since both networks see each pair often."""

    name: str
    model: Any
    tokenizer: Tokenizer

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[npt.NDArray[np.int32], int]]:
        """Token ids of each pair, and where the passage begins."""
        found = []
        for start in range(0, len(pairs), 20000):
            for encoding in self.tokenizer.encode_batch(list(pairs[start : start + 20000])):
                types = encoding.type_ids
                split = types.index(1) if 1 in types else len(types)
                found.append((np.array(encoding.ids, np.int32), split))
        return found

    def inputs(
        self, encoded: Sequence[tuple[npt.NDArray[np.int32], int]]
    ) -> dict[str, torch.Tensor]:
        """A padded batch on the device."""
        longest = max(len(ids) for ids, _ in encoded)
        ids = np.zeros((len(encoded), longest), np.int64)
        ids.fill(self.model.config.pad_token_id or 0)
        mask, types = np.zeros_like(ids), np.zeros_like(ids)
        for row, (tokens, split) in enumerate(encoded):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
            types[row, split : len(tokens)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask}
        if getattr(self.model.config, "type_vocab_size", 0) > 1:
            inputs["token_type_ids"] = types
        return {k: torch.from_numpy(v).to(DEVICE, non_blocking=True) for k, v in inputs.items()}

    def logits(self, encoded: Sequence[tuple[npt.NDArray[np.int32], int]]) -> torch.Tensor:
        """(n, 3) logits of a batch."""
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled=CUDA):
            return self.model(**self.inputs(encoded)).logits.float()

    @torch.no_grad()
    def predict(self, encoded: Sequence[tuple[npt.NDArray[np.int32], int]]) -> Floats:
        """(n, 3) log-probabilities."""
        self.model.eval()
        found = np.zeros((len(encoded), 3), np.float32)
        for batch in batches([len(ids) for ids, _ in encoded], PREDICT_TOKENS):
            scores = functional.log_softmax(self.logits([encoded[i] for i in batch]), -1)
            found[batch] = scores.cpu().numpy()
        return found

    def state(self) -> dict[str, torch.Tensor]:
        """A copy of the weights on the CPU."""
        return {
            name: value.detach().cpu().clone() for name, value in self.model.state_dict().items()
        }


class Means(torch.nn.Module):
    """A BERT whose head reads the means of claim and passage, as `bert_onnx.build` writes it.

    A linear probe of the frozen multilingual-e5-small is right for 0.56 of 500 pairs of MNLI with them, for 0.47 with
    the first token. Both texts have the first token type, as in the training of XLM-R's vocabulary.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        self.bert = BertModel(config, add_pooling_layer=False)
        width = config.hidden_size
        standard = {"weight": torch.ones(4 * width), "bias": torch.zeros(4 * width)}
        self.pooler = torch.nn.ModuleDict(
            {
                "standard": torch.nn.ParameterDict(standard),
                "dense": torch.nn.Linear(4 * width, width),
            }
        )
        self.classifier = torch.nn.Linear(width, len(LABELS))

    def means(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
    ) -> torch.Tensor:
        """The means of the two texts' tokens, their absolute difference and product, in float32."""
        hidden = self.bert(input_ids, attention_mask).last_hidden_state.float()
        first, second = (
            (hidden * part[..., None]).sum(1) / part.sum(1, keepdim=True)
            for part in (attention_mask - token_type_ids, token_type_ids)
        )
        return torch.cat([first, second, (first - second).abs(), first * second], -1)

    def forward(self, **inputs: torch.Tensor) -> SequenceClassifierOutput:
        standard = self.pooler["standard"]
        read = self.means(**inputs) * standard["weight"] + standard["bias"]
        return SequenceClassifierOutput(
            logits=self.classifier(torch.tanh(self.pooler["dense"](read)))
        )


@torch.no_grad()
def standardise(network: Network, encoded: Sequence[tuple[npt.NDArray[np.int32], int]]) -> None:
    """Let the head's features have mean 0 and deviation 1 on some rows: some of a cosine network's are 40 times others."""
    network.model.eval()
    found = []
    for batch in batches([len(ids) for ids, _ in encoded], PREDICT_TOKENS):
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled=CUDA):
            found.append(network.model.means(**network.inputs([encoded[i] for i in batch])))
    features = torch.cat(found)
    standard = network.model.pooler["standard"]
    standard["weight"].copy_(1 / features.std(0).clamp(min=1e-4))
    standard["bias"].copy_(-features.mean(0) * standard["weight"])


def batches(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Indices grouped by like length, each group at most `tokens` with padding."""
    found: list[list[int]] = []
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and lengths[i] * (len(batch) + 1) > tokens:
            found.append(batch)
            batch = []
        batch.append(i)
    return [*found, batch] if batch else found


def group_batches(
    groups: Sequence[Sequence[int]], lengths: Sequence[int], tokens: int
) -> list[list[int]]:
    """Indices of whole groups of like length, each batch at most `tokens` with padding if its groups allow it."""
    longest = [max(lengths[i] for i in group) for group in groups]
    found: list[list[int]] = []
    batch: list[int] = []
    for n in sorted(range(len(groups)), key=longest.__getitem__):
        if batch and longest[n] * (len(batch) + len(groups[n])) > tokens:
            found.append(batch)
            batch = []
        batch = [*batch, *groups[n]]
    return [*found, batch] if batch else found


def tokenizer_of(folder: Path) -> Tokenizer:
    """The tokenizer of a model folder, cutting the longer of a pair's texts."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS, strategy="longest_first")
    return tokenizer


def shipped(folder: Path) -> Network:
    """The float weights behind the int8 file of the shipped verifier."""
    state = {
        n: torch.from_numpy(np.array(v))
        for n, v in bert_onnx.state_dict(folder / "model.onnx").items()
    }
    state = {
        n if n.startswith(("bert.", "classifier")) else f"bert.{n}": v for n, v in state.items()
    }
    words = state["bert.embeddings.word_embeddings.weight"]
    config = BertConfig(
        vocab_size=words.shape[0],
        hidden_size=words.shape[1],
        num_hidden_layers=1 + max(int(n.split(".")[3]) for n in state if ".layer." in n),
        num_attention_heads=bert_onnx.HEADS,
        intermediate_size=state["bert.encoder.layer.0.intermediate.dense.weight"].shape[0],
        max_position_embeddings=state["bert.embeddings.position_embeddings.weight"].shape[0],
        num_labels=3,
        attention_probs_dropout_prob=0.0,
        hidden_dropout_prob=0.0,
    )
    model = BertForSequenceClassification(config)
    model.load_state_dict(state)
    return Network(folder.name, model.to(DEVICE), tokenizer_of(folder))


def loaded(folder: Path) -> Network:
    """A Hugging Face folder, or one that pack_body.py made; a new head where it has none of three."""
    labels = {
        "id2label": dict(enumerate(LABELS)),
        "label2id": {name: i for i, name in enumerate(LABELS)},
    }
    if (folder / "weights.0.npz").exists():
        config = AutoConfig.from_pretrained(folder, num_labels=len(LABELS), **labels)
        model = AutoModelForSequenceClassification.from_config(config)
        found = model.load_state_dict(packed_weights(folder), strict=False)
        lacking = [
            name for name in found.missing_keys if not name.startswith(("classifier.", "pooler."))
        ]
        if any("position_ids" not in name for name in lacking):
            raise SystemExit(f"{folder} lacks weights of its body: {lacking}")
    else:
        model = AutoModelForSequenceClassification.from_pretrained(
            folder, num_labels=len(LABELS), **labels
        )
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return Network(folder.name, model.float().to(DEVICE), tokenizer_of(folder))


def new_body(folder: Path) -> Network:
    """A BERT that pack_body.py made, with a new head on its means."""
    config = BertConfig.from_pretrained(
        folder, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    model = Means(config)
    found = model.load_state_dict(packed_weights(folder), strict=False)
    if found.unexpected_keys or any(name.startswith("bert.") for name in found.missing_keys):
        raise SystemExit(f"{folder} is no BERT without a head: {found}")
    return Network(folder.name, model.to(DEVICE), tokenizer_of(folder))


def packed_weights(folder: Path) -> dict[str, torch.Tensor]:
    """The weights that pack_body.py wrote."""
    return unpacked(sorted(folder.glob("weights.*.npz")))


def unpacked(files: Iterable[Path]) -> dict[str, torch.Tensor]:
    """Weights from float16, int8 rows with a scale each, or blocks of 4 bits with a scale each (Q4_0)."""
    state = {}
    for file in files:
        arrays = np.load(file)
        for key in arrays.files:
            name, _, part = key.partition("|")
            if part == "scale":
                continue
            if part == "halves":
                halves, scale = arrays[key], arrays[f"{name}|scale"].astype(np.float32)
                value = np.concatenate([halves & 15, halves >> 4], -1).astype(np.float32) - 8
                value = (value * scale[..., None]).reshape(len(value), -1)
            else:
                value = arrays[key].astype(np.float32)
                if f"{name}|scale" in arrays.files:
                    value *= arrays[f"{name}|scale"].astype(np.float32)[:, None]
            state[name] = torch.from_numpy(value)
    return state


@dataclass
class Rows:
    """Claims with one passage each, and what is to be learnt of them."""

    pairs: list[tuple[str, str]]
    labels: list[str]
    weights: Floats
    old: npt.NDArray[np.bool_]
    evidence: list[str]  # rows of the same evidence are ranked against each other

    def __len__(self) -> int:
        return len(self.pairs)

    def some(self, of: Sequence[int]) -> "Rows":
        """Those with these indices."""
        lists = ([values[i] for i in of] for values in (self.pairs, self.labels, self.evidence))
        pairs, labels, evidence = lists
        return Rows(pairs, labels, self.weights[of], self.old[of], evidence)


def read(file: Path) -> list[dict[str, Any]]:
    """The rows of a packed file."""
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def in_english(row: dict[str, Any]) -> dict[str, Any] | None:
    """The row as the shipped network can read it: a translated one by its English original. None without one."""
    if "english" in row:
        claim, passage = row["english"]
        return row | {"claim": claim, "passages": [passage]}
    return None if "languages" in row else row


def is_alone(row: dict[str, Any]) -> bool:
    """Whether an English network learns the row: not those that only a new body needs."""
    return "languages" not in row and not row.get("extra")


def english_pairs(
    rows: Sequence[dict[str, Any]], chosen: npt.NDArray[np.int64], of: Sequence[int]
) -> list[tuple[str, str]]:
    """Claim and chosen passage of rows `of`, those of translated rows in English."""
    shown = ((in_english(rows[i]) or rows[i], chosen[i]) for i in of)
    return [(row["claim"], row["passages"][i]) for row, i in shown]


def waited(file: Path, until: float) -> bool:
    """Whether the run that writes a file has written it before `until` (seconds)."""
    while not file.exists() and time.monotonic() - STARTED < until:
        time.sleep(0.5)
    log(f"{file.name} {'is' if file.exists() else 'is not'} there")
    return file.exists()


def decide(rows: Sequence[dict[str, Any]], network: Network) -> npt.NDArray[np.int64]:
    """The passage of each row that the network finds most telling (the E step of hard EM): indices, (n,).

    Of a refuted row the one most likely refuted, else the one most likely supported. In other languages the first, which
    shares most words with the claim.
    """
    several = [
        i for i, row in enumerate(rows) if len(row["passages"]) > 1 and "languages" not in row
    ]
    pairs = [(rows[i]["claim"], passage) for i in several for passage in rows[i]["passages"]]
    scores = iter(network.predict(network.encode(pairs)))
    chosen = np.zeros(len(rows), np.int64)
    for i in several:
        column = REFUTED if rows[i]["label"] == "refute" else SUPPORTED
        chosen[i] = np.argmax([next(scores)[column] for _ in rows[i]["passages"]])
    return chosen


def loss_of_labels(log_p: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Cross-entropy with smoothing and class weights; of "not_support" the two others' sum."""
    either = targets[:, REFUTED] < 0
    known = torch.where(either[:, None], torch.zeros_like(targets), targets)
    known = known * (1 - SMOOTHING) + SMOOTHING / 3
    weights = torch.tensor(CLASS_WEIGHTS, device=log_p.device)
    return torch.where(
        either, -torch.logsumexp(log_p[:, REFUTED:], -1), -(known * log_p * weights).sum(-1)
    )


def loss_of_order(
    log_p: torch.Tensor, targets: torch.Tensor, evidence: Sequence[str]
) -> torch.Tensor:
    """For each row the mean softplus of how far rows with less support on its evidence lie above it (0 without any).

    Burges et al. 2005, RankNet. Claims on one passage that differ in the decisive words leave nothing else to learn.
    """
    odds = log_p[:, SUPPORTED] - torch.logsumexp(log_p[:, REFUTED:], -1)
    _, group = np.unique(evidence, return_inverse=True)
    same = torch.from_numpy(group[:, None] == group[None, :]).to(log_p.device)
    less = targets[None, :, SUPPORTED] < targets[:, None, SUPPORTED]
    pairs = (same & less).float()
    loss = functional.softplus(odds[None, :] - odds[:, None]) * pairs
    return loss.sum(-1) / pairs.sum(-1).clamp(min=1.0)


def divergence(log_p: torch.Tensor, goal: torch.Tensor) -> torch.Tensor:
    """KL(goal ‖ p) of each row."""
    return functional.kl_div(log_p, goal, log_target=True, reduction="none").sum(-1)


def train(
    network: Network,
    rows: Rows,
    *,
    epochs: float,
    until: float,
    rate: float,
    seed: int,
    frozen_layers: int,
    head_rate: float = 0.0,
    rise: float = WARMUP,
    step_tokens: int = STEP_TOKENS,
    answers: Floats | None = None,
    past: Floats | None = None,
    past_share: float = PAST,
    order_share: float = 0.0,
    most_steps: int = 0,
    save: Callable[[], None] | None = None,
) -> None:
    """Train in place for `epochs`, or as many as fit before `until` (seconds since the start).

    `save` is called every SAVE_SECONDS. The learning rate rises for a share of the steps (`rise`) and falls to nothing at the
    end, whichever comes first; that of the head is `head_rate`, if given.
    """
    for name, parameter in network.model.named_parameters():
        layer = re.search(r"layer\.(\d+)\.", name)
        low = layer is not None and int(layer[1]) < frozen_layers
        parameter.requires_grad_(not _FROZEN.search(name) and not low)
    named = [(name, p) for name, p in network.model.named_parameters() if p.requires_grad]
    learnt = [p for _, p in named]
    parts_of_it = [
        {"params": [p for name, p in named if ".layer." in name], "peak": rate},
        {"params": [p for name, p in named if ".layer." not in name], "peak": head_rate or rate},
    ]
    optimizer = torch.optim.AdamW(parts_of_it, lr=rate, weight_decay=0.01, fused=CUDA)
    encoded = network.encode(rows.pairs)
    lengths = [len(ids) for ids, _ in encoded]
    chance = random.Random(seed)
    plan: list[list[int]] = []
    groups = (
        list(by_evidence(rows.evidence).values())
        if order_share
        else [[i] for i in range(len(rows))]
    )
    one = group_batches(groups, lengths, step_tokens)
    wanted = most_steps or math.ceil(epochs * len(one))
    while len(plan) < wanted:
        chance.shuffle(one)
        plan += one
    targets = torch.tensor([TARGETS[label] for label in rows.labels])
    begun, seen, recent = time.monotonic() - STARTED, 0, 0.0
    saved = begun
    network.model.train()
    for step, batch in enumerate(plan[:wanted]):
        now = time.monotonic() - STARTED
        passed = max((step + 0.5) / wanted, (now - begun) / max(until - begun, 1.0))
        if passed >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * min(1.0, passed / rise) * (1 - passed)
        weights = torch.from_numpy(rows.weights[batch]).to(DEVICE)
        if CUDA:
            parts = [batch]
        else:
            of_batch = set(batch)
            parts = group_batches([g for g in groups if g[0] in of_batch], lengths, PREDICT_TOKENS)
        for part in parts:
            log_p = functional.log_softmax(network.logits([encoded[i] for i in part]), -1)
            share = torch.from_numpy(rows.weights[part]).to(DEVICE) / weights.sum()
            loss = loss_of_labels(log_p, targets[part].to(DEVICE))
            if answers is not None:
                told = torch.from_numpy(answers[part]).to(DEVICE)
                loss = (LABEL + PAST) * loss + TEACHER * divergence(log_p, told)
            if past is not None:
                old = torch.from_numpy(rows.old[part]).to(DEVICE)
                held = divergence(log_p, torch.from_numpy(past[part]).to(DEVICE))
                loss = torch.where(old, (1 - past_share) * loss + past_share * held, loss)
            if order_share:
                order = loss_of_order(
                    log_p, targets[part].to(DEVICE), [rows.evidence[i] for i in part]
                )
                loss = loss + order_share * order
            loss = (loss * share).sum()
            loss.backward()
            recent += float(loss.detach()) if not CUDA or step % 50 == 0 else 0.0
        torch.nn.utils.clip_grad_norm_(learnt, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        seen += sum(lengths[i] for i in batch)
        if save and now - saved > SAVE_SECONDS:
            save()
            network.model.train()
            saved = now
        if step % 50 == 0:
            spent = time.monotonic() - STARTED - begun
            log(
                f"{network.name} step {step} of {wanted} loss {recent / (1 if CUDA or not step else 50):.3f} {seen / spent:.0f} tokens/s"
            )
            recent = 0.0
    network.model.eval()


def by_evidence(evidence: Sequence[str], most: int = 12) -> dict[str, list[int]]:
    """Indices by evidence, at most `most` in a group; what is empty stands alone."""
    found: dict[str, list[int]] = {}
    for i, name in enumerate(evidence):
        key = name or f"row {i}"
        while len(found.get(key, ())) >= most:
            key += "+"
        found.setdefault(key, []).append(i)
    return found


def auroc(scores: Floats, positive: npt.NDArray[np.bool_]) -> float:
    """Area under the ROC curve, ties counted half; NaN if a class is missing."""
    n, m = int(positive.sum()), int((~positive).sum())
    if not n or not m:
        return float("nan")
    _, where, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[where]
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * m))


def by_languages(
    languages: Sequence[Sequence[str]], scores: Floats, positive: npt.NDArray[np.bool_]
) -> dict[str, float]:
    """AUROC for each pair of languages (claim, passage), and the mean over the languages of each kind of pair."""
    found: dict[str, float] = {}
    kinds: dict[str, list[float]] = {}
    names = np.array(["-".join(pair) for pair in languages])
    for claim, passage in sorted({tuple(pair) for pair in languages}):
        of = names == f"{claim}-{passage}"
        value = auroc(scores[of], positive[of])
        if math.isnan(value):
            continue
        one = "English claim" if claim == "en" else "English passage"
        kinds.setdefault("same language" if claim == passage else one, []).append(value)
        found[f"support {claim}-{passage}"] = value
    return {f"support, {kind}": float(np.mean(values)) for kind, values in kinds.items()} | found


def figures(rows: Sequence[dict[str, Any]], network: Network) -> dict[str, dict[str, float]]:
    """For each set, what a network alone is worth: the best passage counts."""
    pairs = [(row["claim"], passage) for row in rows for passage in row["passages"]]
    scores = network.predict(network.encode(pairs))
    found: dict[str, dict[str, float]] = {}
    ends = np.cumsum([len(row["passages"]) for row in rows])
    of_row = [scores[end - len(row["passages"]) : end] for end, row in zip(ends, rows, strict=True)]
    for name in sorted({row["set"] for row in rows}):
        mine = [i for i, row in enumerate(rows) if row["set"] == name]
        labels = np.array([rows[i]["label"] for i in mine])
        odds = [of_row[i] - np.log1p(-np.exp(np.minimum(of_row[i], -1e-6))) for i in mine]
        support = np.array([o[:, SUPPORTED].max() for o in odds])
        refuted = np.array([o[:, REFUTED].max() for o in odds])
        called = np.array(
            [of_row[i][o[:, SUPPORTED].argmax()].argmax() for i, o in zip(mine, odds, strict=True)]
        )
        figure = {"n": float(len(mine)), "support": auroc(support, labels == "support")}
        three = np.isin(labels, ["support", "refute", "nei"])
        if (labels == "refute").any():
            figure["refuted"] = auroc(refuted[three], labels[three] == "refute")
            order = np.argsort(-refuted[three])
            hits = np.cumsum(labels[three][order] == "refute")
            sure = np.flatnonzero(
                (hits / np.arange(1, len(hits) + 1) >= 0.85) & (np.arange(len(hits)) >= 9)
            )
            figure["refuted found at precision 0.85"] = (
                float(hits[sure[-1]] / hits[-1]) if len(sure) else 0.0
            )
        figure["supported called refuted"] = float((called[labels == "support"] == REFUTED).mean())
        if three.any():
            wanted = np.array([GOLD.index(label) for label in labels[three]])
            figure["accuracy"] = float((called[three] == wanted).mean())
        if "languages" in rows[mine[0]]:
            languages = [rows[i]["languages"] for i in mine]
            figure |= by_languages(languages, support, labels == "support")
        kinds = np.array([rows[i]["of"] for i in mine])
        for kind, wanted in (("S1", SUPPORTED), ("R1", REFUTED), ("R2", REFUTED)):
            if (kinds == kind).any():
                figure[f"{kind} called {LABELS[wanted]}"] = float(
                    (called[kinds == kind] == wanted).mean()
                )
        found[name] = {key: round(value, 4) for key, value in figure.items()}
    return found


def write_arrays(file: Path, **arrays: npt.NDArray[Any]) -> None:
    """Write a .npz that is there only when it is whole: other runs wait for it."""
    part = file.with_suffix(".part")
    with part.open("wb") as out:
        np.savez(out, **arrays)
    part.rename(file)


def write_pieces(
    state: dict[str, torch.Tensor], folder: Path, name: str, *, int8: bool = False
) -> None:
    """The weights without embeddings, as float16 or int8 rows, in files of at most PIECE bytes."""
    pieces: list[dict[str, npt.NDArray[Any]]] = [{}]
    size = 0
    for key, value in state.items():
        if _FROZEN.search(key):
            continue
        array = value.float().numpy()
        if int8 and array.ndim == 2:
            scale = np.maximum(np.abs(array).max(1), 1e-8) / 127
            entry = {
                key: np.round(array / scale[:, None]).astype(np.int8),
                f"{key}|scale": scale.astype(np.float32),
            }
        else:
            entry = {key: array.astype(np.float16)}
        n_bytes = sum(each.nbytes for each in entry.values())
        if size and size + n_bytes > PIECE:
            pieces.append({})
            size = 0
        pieces[-1] |= entry
        size += n_bytes
    for number, piece in enumerate(pieces):
        np.savez(folder / f"{name}.{number}.npz", **piece)


def averaged(network: Network, other: dict[str, torch.Tensor]) -> None:
    """Put the mean of its weights and others into a network."""
    mine = network.model.state_dict()
    network.model.load_state_dict(
        {k: (v.cpu() + other[k]) / 2 if v.is_floating_point() else v for k, v in mine.items()}
    )


def run(args: argparse.Namespace) -> None:
    """The whole run; what each stage gave is on the disk before the next begins."""
    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)
    if args.threads:
        torch.set_num_threads(args.threads)
    if CUDA:
        torch.backends.cuda.matmul.allow_tf32 = True
    rows = read(args.kit / "rows.jsonl.xz")
    held = [row for row in rows if row["kind"] == "held back"]
    rows = [row for row in rows if row["kind"] != "held back"]
    dev = read(args.kit / "dev.jsonl.xz")
    if args.rows:
        rows = rows[:: max(1, len(rows) // args.rows)][: args.rows]
        random.Random(3).shuffle(held)
        random.Random(3).shuffle(dev)
        held, dev = held[: args.rows], dev[: args.rows]
    prepared = args.prepared or args.out / "prepared.npz"
    if args.prepared and not waited(prepared, args.seconds * args.wait_share):
        raise SystemExit(f"{prepared} did not come.")
    past = None
    if not (args.body and prepared.exists()):
        past = shipped(args.kit / "pincite-verifier")
    english = [i for i, row in enumerate(rows) if in_english(row)]
    if prepared.exists():
        arrays = np.load(prepared)
        chosen, said = arrays["chosen"], arrays["said"]
    else:
        assert past is not None
        chosen, said = decide(rows, past), np.zeros((len(rows), len(LABELS)), np.float32)
        said[english] = past.predict(past.encode(english_pairs(rows, chosen, english)))
        write_arrays(prepared, chosen=chosen, said=said)
        log("passages are chosen, and the shipped network has answered")
    mine = [
        i
        for i, row in enumerate(rows)
        if row["set"] not in args.without and (args.body or is_alone(row))
    ]
    if not (args.body or args.prepare):
        held, dev = [row for row in held if is_alone(row)], [row for row in dev if is_alone(row)]
    pairs = [(rows[i]["claim"], rows[i]["passages"][chosen[i]]) for i in mine]
    answered = set(english)
    learnt = Rows(
        pairs,
        [rows[i]["label"] for i in mine],
        np.array([rows[i]["weight"] for i in mine], np.float32),
        # A new network knows nothing: all that the others can say helps.
        np.array([i in answered if args.body else rows[i]["kind"] == "old" for i in mine]),
        [rows[i]["evidence"] for i in mine],
    )
    log(f"{len(learnt)} rows, {len(held)} held back, {len(dev)} dev rows")
    before = past.state() if past else {}
    written = args.out / "figures.json"
    report: dict[str, Any] = json.loads(written.read_text()) if written.exists() else {}
    report["arguments"] = {k: str(v) for k, v in vars(args).items()}

    def evaluate(
        name: str, network: Network, dev: Sequence[Any] = dev, held: Sequence[Any] = held
    ) -> None:
        found = {"dev": figures(dev, network), "held back": figures(held, network)}
        report[name] = found
        written.write_text(json.dumps(report, indent=1))
        for of_set, figure in found["dev"].items():
            log(f"{name} {of_set} {figure}")

    if past and not args.prepared:
        dev_english, held_english = (
            [shown for row in some if (shown := in_english(row))] for some in (dev, held)
        )
        evaluate("shipped", past, dev_english, held_english)
    if args.prepare:
        return
    answers = None
    if args.teacher:
        teacher = loaded(args.teacher)
        train(
            teacher,
            learnt,
            rate=args.teacher_rate,
            seed=args.seed,
            frozen_layers=0,
            past=said[mine],
            past_share=args.teacher_past,
            order_share=args.order,
            epochs=args.teacher_epochs,
            most_steps=args.steps,
            until=args.seconds * args.teacher_share,
        )
        answers = np.zeros_like(said)
        answers[english] = teacher.predict(teacher.encode(english_pairs(rows, chosen, english)))
        write_arrays(args.out / "answers.npz", answers=answers)
        log("the teacher has answered")
        write_pieces(teacher.state(), args.out, "teacher", int8=True)
        evaluate("teacher", teacher)
        del teacher
    student = new_body(args.body) if args.body else past
    assert student is not None
    inference = [n for n, i in enumerate(mine) if rows[i].get("inference")]
    sets = {rows[mine[n]]["set"] for n in inference}
    watched = [row for row in held if row["set"] in sets and row["label"] in GOLD]
    random.Random(3).shuffle(watched)
    watched = watched[:WATCHED]

    def save() -> None:
        write_pieces(student.state(), args.out, "student")
        if watched:
            watched_pairs = [(row["claim"], row["passages"][0]) for row in watched]
            called = student.predict(student.encode(watched_pairs)).argmax(1)
            right = np.mean(called == [GOLD.index(row["label"]) for row in watched])
            log(f"right for {right:.3f} of {len(watched)} held-back pairs of sentence inference")

    shared = {"seed": args.seed, "past_share": args.past, "order_share": args.order, "save": save}
    if args.start:
        student.model.load_state_dict(unpacked(args.start), strict=False)
    elif args.body and inference and args.warm_up:
        of_them = learnt.some(inference)
        standardise(
            student,
            student.encode(random.Random(3).sample(of_them.pairs, min(STANDARDISED, len(of_them)))),
        )
        train(
            student,
            of_them,
            rate=args.warm_up_rate,
            head_rate=args.head_rate,
            frozen_layers=0,
            rise=WARM_UP_RISE,
            step_tokens=WARM_UP_TOKENS,
            past=said[mine][inference],
            epochs=0,
            most_steps=min(args.warm_up, args.steps or args.warm_up),
            until=args.seconds * WARM_UP_SHARE,
            **shared,
        )
        save()
        evaluate("warm-up", student)
    if args.answers and waited(args.answers, args.seconds * args.wait_share):
        answers = np.load(args.answers)["answers"]
    if args.body and answers is not None:  # one answer to be held to: the mean of both
        said, answers = np.logaddexp(said, answers) - math.log(2), None
    train(
        student,
        learnt,
        rate=args.rate,
        frozen_layers=0 if args.body else FROZEN_LAYERS,
        answers=None if answers is None else answers[mine],
        past=said[mine],
        epochs=args.epochs,
        most_steps=args.steps,
        until=args.seconds - args.reserve,
        **shared,
    )
    save()
    evaluate("student", student)
    if not args.body:
        averaged(student, before)
        evaluate("mean", student)
    log("done")


def join(args: argparse.Namespace) -> None:
    """A Hugging Face folder: the base with the weights of pieces. Of a new body the graph for the product, in int8."""
    changed = unpacked(args.pieces)
    if f"{bert_onnx.STANDARD}.weight" in changed:
        config = json.loads((args.base / "config.json").read_text())
        write_graph(packed_weights(args.base) | changed, config["num_attention_heads"], args.to)
        return
    network = shipped(args.base) if (args.base / "model.onnx").exists() else loaded(args.base)
    state = network.state() | changed
    if args.mean:
        before = network.state()
        state = {k: (v + before[k]) / 2 if v.is_floating_point() else v for k, v in state.items()}
    network.model.load_state_dict(state)
    network.model.save_pretrained(args.to)
    shutil.copy(args.base / "tokenizer.json", args.to)


def write_graph(state: dict[str, torch.Tensor], n_heads: int, to: Path) -> None:
    """A network that takes the vectors of pieces, which the product has for all languages; its card lacks the languages."""
    weights = {name.removeprefix("bert."): value.numpy() for name, value in state.items()}
    frequent = weights.pop(bert_onnx.WORDS)[:FREQUENT]
    known = bert_onnx.build({**weights, bert_onnx.WORDS: frequent}, n_heads, head=False)
    scales = input_scales(known, len(frequent))
    weights |= {f"{layer}{bert_onnx.INPUT_SCALE}": scale for layer, scale in scales.items()}
    to.mkdir(parents=True, exist_ok=True)
    bert_onnx.quantise(bert_onnx.build(weights, n_heads, head=True), to / "model.onnx")
    card = {
        "kind": "verifier",
        "source": "research/gpu, from intfloat/multilingual-e5-small",
        "licence": "MIT",
        "labels": LABELS,
        "max_tokens": MOST_TOKENS,
        "languages": [],
    }
    (to / "pincite.json").write_text(json.dumps(card, indent=1) + "\n")


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands: dict[str, Callable[[argparse.Namespace], None]] = {"run": run, "join": join}
    sub = parser.add_subparsers(dest="command", required=True)
    of = sub.add_parser("run")
    of.add_argument("kit", type=Path)
    of.add_argument("out", type=Path)
    of.add_argument(
        "--seconds", type=float, default=480, help="after so many seconds all is written"
    )
    of.add_argument("--reserve", type=float, default=60, help="of them for evaluation and writing")
    of.add_argument("--teacher", type=Path, help="folder of a larger body, trained first")
    of.add_argument("--teacher-share", type=float, default=0.5, help="of the seconds")
    of.add_argument("--teacher-epochs", type=float, default=3)
    of.add_argument("--teacher-rate", type=float, default=5e-5)
    of.add_argument(
        "--teacher-past", type=float, default=0.1, help="share of the shipped answers in its loss"
    )
    of.add_argument(
        "--prepared", type=Path, help="prepared.npz of a run with --prepare, waited for"
    )
    of.add_argument(
        "--answers",
        type=Path,
        help="answers.npz of a run with --teacher, waited for after the warm-up",
    )
    of.add_argument(
        "--wait-share", type=float, default=0.5, help="of the seconds, for --prepared or --answers"
    )
    of.add_argument("--without", nargs="*", default=[], help="sets that are left out (ablation)")
    of.add_argument(
        "--body", type=Path, help="another student than the shipped network, with a new head"
    )
    of.add_argument(
        "--prepare", action="store_true", help="stop when the shipped network has answered"
    )
    of.add_argument(
        "--warm-up", type=int, default=3000, help="steps of a new body on sentence inference"
    )
    of.add_argument("--warm-up-rate", type=float, default=1e-4, help="of the layers, meanwhile")
    of.add_argument("--head-rate", type=float, default=1e-3, help="of the head, meanwhile")
    of.add_argument(
        "--start", type=Path, nargs="+", help="an earlier run's student.*.npz, instead of a warm-up"
    )
    of.add_argument("--epochs", type=float, default=6)
    of.add_argument("--rate", type=float, default=7e-5)
    of.add_argument(
        "--past", type=float, default=PAST, help="share of the shipped answers in old rows' loss"
    )
    of.add_argument(
        "--order", type=float, default=0.5, help="share of the order of claims on one passage"
    )
    of.add_argument("--threads", type=int, default=0, help="of the CPU (0: all)")
    of.add_argument("--seed", type=int, default=17)
    of.add_argument(
        "--steps", type=int, default=0, help="at most so many of each network (rehearsal)"
    )
    of.add_argument("--rows", type=int, default=0, help="at most so many rows (rehearsal)")
    of = sub.add_parser("join")
    of.add_argument("base", type=Path)
    of.add_argument("pieces", type=Path, nargs="+")
    of.add_argument("--to", type=Path, required=True)
    of.add_argument("--mean", action="store_true", help="the mean with the base's weights")
    args = parser.parse_args(list(sys.argv[1:] if arguments is None else arguments))
    commands[args.command](args)


if __name__ == "__main__":
    main()
