"""`pincite train encoder`: a bi-encoder, trained by sentence-transformers.

As in DPR (Karpukhin et al. 2020) a claim's passage is told from all others of its batch; beside
them stands one that words or meanings find for the claim in another document. The model's cosine is
the dense retriever's score.
"""

import gzip
import json
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pincite.corpus.ingest import passage_text
from pincite.documents import jsonl
from pincite.documents.jsonl import LabelledClaim, read_labelled
from pincite.errors import InputError, MissingModel
from pincite.models import weights
from pincite.models.encoder import OnnxEncoder
from pincite.retrieval import queries
from pincite.training import loop, network, prepare
from pincite.training.groups import cut
from pincite.training.recipe import EncoderRecipe
from pincite.training.run import MODEL, Run, begun, write_model
from pincite.types import Claim, Document, Passage, Span
from pincite.wiki.wafer import WaferRecord, claim_of, read_records

KIND = "encoder"  # in the card
BASE = "base"  # in a run's folder: the shipped encoder as a Hugging Face folder
PAIRS = "pairs.jsonl"
CHECKPOINTS = "checkpoints"
SAVE_EVERY = 50  # steps

Pair = dict[str, str]  # anchor, positive and, where negatives are wanted, negative


def train_encoder(
    run: Run[EncoderRecipe], tell: prepare.Tell, warn: prepare.Warn, progress: loop.Progress
) -> Path:
    """Prepare, train and write the encoder, or what of it is still to do; the model's folder.

    Raises:
        ConfigError: the folder holds another run, or there is no such device.
        InputError: the data cannot be used.
        MissingModel: the base is nowhere.
    """
    device, recipe = begun(run), run.recipe
    body = run.folder / BASE
    if not body.exists():
        write_model(*load_body(run.base), body)
    pairs = prepared(run, tell, warn)

    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.losses import MultipleNegativesRankingLoss
    from sentence_transformers.models import Normalize, Pooling, Transformer
    from sentence_transformers.training_args import BatchSamplers
    from transformers.trainer_utils import get_last_checkpoint

    read = Transformer(str(body), max_seq_length=recipe.max_tokens)
    pooled = Pooling(read.get_word_embedding_dimension(), pooling_mode=recipe.pooling)
    model = SentenceTransformer(modules=[read, pooled, Normalize()], device=device)
    checkpoints = run.folder / CHECKPOINTS
    trainer = SentenceTransformerTrainer(
        model=model,
        args=SentenceTransformerTrainingArguments(
            output_dir=str(checkpoints),
            per_device_train_batch_size=recipe.batch_claims,
            batch_sampler=BatchSamplers.NO_DUPLICATES,
            max_steps=recipe.steps or -1,
            num_train_epochs=1,
            **trainer_arguments(recipe, device),
        ),
        train_dataset=Dataset.from_list(pairs),
        loss=MultipleNegativesRankingLoss(model, scale=1 / recipe.score_temperature),
        callbacks=[progress_callback(progress)],
    )
    last = get_last_checkpoint(str(checkpoints)) if checkpoints.is_dir() else None
    trainer.train(resume_from_checkpoint=last)
    _write(model[0].auto_model, network.tokenizer_of(str(body)), recipe, run.folder / MODEL)
    return run.folder / MODEL


def trainer_arguments(recipe: Any, device: str) -> dict[str, Any]:
    """What both library trainers are told: pace, chance, a checkpoint now and then, no reports."""
    return {
        "learning_rate": recipe.learning_rate,
        "warmup_steps": recipe.warmup,  # below 1 it is a share
        "weight_decay": recipe.weight_decay,
        "seed": recipe.seed,
        "save_steps": SAVE_EVERY,
        "save_total_limit": 1,
        "logging_steps": 1,
        "report_to": "none",
        "disable_tqdm": True,
        "use_cpu": device == "cpu",
        "dataloader_pin_memory": device != "cpu",
    }


def progress_callback(progress: loop.Progress) -> Any:
    """A callback of transformers' trainer that passes on steps and losses."""
    from transformers import TrainerCallback

    class Steps(TrainerCallback):  # type: ignore[misc]  # Any to mypy
        def on_log(self, _: Any, state: Any, __: Any, logs: Any = None, **___: Any) -> None:
            if logs and "loss" in logs:
                progress(state.global_step, state.max_steps, float(logs["loss"]))

    return Steps()


def prepared(run: Run[EncoderRecipe], tell: prepare.Tell, warn: prepare.Warn) -> list[Pair]:
    """The pairs in the run's folder, or new ones from its data, which are then kept there.

    Raises:
        InputError: a file is missing, has too many bad rows, or no row has evidence to be found.
    """
    kept, recipe = run.folder / PAIRS, run.recipe
    if kept.exists():
        return [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    readings = prepare.read_sets(run.data, recipe, warn, run.max_bad, read_either)
    sought = ("support", "partial", "refute") if recipe.refuted else ("support", "partial")
    seen = [
        row
        for wanted in recipe.sets
        for row in readings[wanted.name].rows * wanted.visits
        if row.label in sought
    ]
    if not seen:
        raise InputError(
            f"{run.data} has no row whose evidence is to be found. Expected rows with the label "
            "support, partial or (where the recipe says refuted = true) refute."
        )
    found = _negatives(seen, run, tell) if recipe.negatives else {}
    chance = random.Random(recipe.seed)  # noqa: S311 - a sample, not a secret
    pairs = []
    for row in seen:
        pair = {"anchor": asked_of(row), "positive": _shown(row)}
        if recipe.negatives:
            others = found[pair["anchor"]] or [_shown(chance.choice(seen))]
            pair["negative"] = chance.choice(others)
        pairs.append(pair)
    chance.shuffle(pairs)
    text = "".join(json.dumps(pair) + "\n" for pair in pairs)
    beside = kept.with_suffix(".part")
    beside.write_text(text, encoding="utf-8")
    beside.replace(kept)
    return pairs


def _shown(row: LabelledClaim) -> str:
    """The passage that shares most words with the claim, as the corpus shows it to an encoder."""
    (text,) = cut(row, 1).latent
    return passage_text(Passage("", "", context_of(row)[3], text, Span(0, len(text))))


def _negatives(
    rows: Sequence[LabelledClaim], run: Run[EncoderRecipe], tell: prepare.Tell
) -> dict[str, list[str]]:
    """Query → passages that words and meanings bring, of documents that no row lays beside it."""
    own: dict[str, set[str]] = {}
    for row in rows:
        own.setdefault(asked_of(row), set()).add(row.evidence)
    evidences = list(dict.fromkeys(row.evidence for row in rows))
    titles = {row.evidence: context_of(row)[3] for row in rows}
    miner = OnnxEncoder(weights.locate(weights.ENCODER), threads=run.threads) if run.dense else None
    with prepare.indexed(run.folder / "evidence", evidences, miner, tell, titles) as corpus:
        brought = prepare.brought(corpus, list(own), miner is not None, tell)
    return {
        query: [
            passage_text(passage)
            for passage in passages
            if evidences[prepare.number_of(passage)] not in own[query]
            and not any(passage.text in evidence for evidence in own[query])
        ]
        for query, passages in brought.items()
    }


def _write(model: Any, tokenizer: Any, recipe: EncoderRecipe, folder: Path) -> None:
    """A Hugging Face folder with its card, whole or not at all."""
    beside = folder.with_name(folder.name + ".part")
    shutil.rmtree(beside, ignore_errors=True)
    write_model(model, tokenizer, beside)
    card = {"kind": KIND, "pooling": recipe.pooling, "max_tokens": recipe.max_tokens}
    (beside / "pincite.json").write_text(json.dumps(card, indent=1) + "\n", "utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    beside.replace(folder)


def load_body(base: str) -> tuple[Any, Any]:
    """A network that gives hidden states, float32, and its tokenizer (of `tokenizers`).

    Args:
        base: `weights.ENCODER`, or a folder or id of Hugging Face.

    Raises:
        MissingModel: there is no such network, or it has no fast tokenizer.
    """
    from transformers import AutoModel, BertModel
    from transformers.utils import logging

    logging.set_verbosity_error()  # that a head is left out is known
    logging.disable_progress_bar()
    if base == weights.ENCODER:
        folder = weights.locate(base)
        state, config = network.recovered(folder)
        model = BertModel(config, add_pooling_layer=False)
        model.load_state_dict(state)
        return model.float(), network.tokenizer_of(str(folder))
    try:
        model = AutoModel.from_pretrained(base, config=network.config_of(base))
        tokenizer = network.tokenizer_of(base)
    except Exception as error:  # transformers raises what its parts raise
        raise MissingModel(f"{base} cannot be loaded as a Hugging Face encoder: {error}") from error
    if getattr(model, "pooler", None) is not None:
        model.pooler = None  # of the next-sentence task: it would be trained on nothing
    return model.float(), tokenizer


def read_either(path: Path, on_bad: Callable[[InputError], None]) -> Iterator[LabelledClaim]:
    """The rows of a claims file, or of WAFER-like records with their pages' texts.

    Records are told by the field `input` of their first line. The text of a cited page stands in
    the record, or in `corpus-NAME.jsonl` or `corpus.jsonl` (plain or .gz) beside the file.
    """
    yield from _cited(path, on_bad) if _is_wafer(path) else read_labelled(path, on_bad)


_UNKNOWN = Document("", "", "")


def _is_wafer(path: Path) -> bool:
    """Whether the file (plain or .gz) holds WAFER-like records."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rb") as lines:
            first = json.loads(next((line for line in lines if line.strip()), b"{}"))
    except (OSError, EOFError, ValueError, RecursionError):
        return False  # `read_labelled` says what is wrong with it
    return isinstance(first, dict) and "input" in first


def _cited(path: Path, on_bad: Callable[[InputError], None]) -> Iterator[LabelledClaim]:
    """A row for each page that a record cites and whose text is known."""
    for record, claim, cited in _cited_by_records(path, on_bad):
        found = {text: title for text, title in cited if text}
        if not claim.text or not found:
            lack = "no cited page with a text" if claim.text else "an empty claim"
            on_bad(InputError(f"{path}: record {record.id} has {lack}; expected both."))
            continue
        asked = {"title": claim.title, "section": list(claim.section), "before": claim.before}
        for text, title in found.items():
            meta = {"context": {**asked, "page": title}}
            yield LabelledClaim(record.id, claim.text, text, "support", meta)


def _cited_by_records(
    path: Path, on_bad: Callable[[InputError], None]
) -> Iterator[tuple[WaferRecord, Claim, list[tuple[str, str]]]]:
    """Records with their claim, and text and title of each page they cite; "" for what is unknown.

    What a record does not say stands in the file of pages beside it.
    """
    pages = _pages_beside(path, on_bad)
    for record in read_records(path, on_bad):
        try:
            claim = claim_of(record)
        except InputError as error:
            on_bad(error)
            continue
        cited = []
        for page in (page for output in record.outputs for page in output.provenance):
            known = pages.get(page.url, _UNKNOWN)
            cited.append((page.text or known.text, page.title or known.title))
        yield record, claim, cited


def _pages_beside(path: Path, on_bad: Callable[[InputError], None]) -> dict[str, Document]:
    """The pages in `corpus-NAME.jsonl` or `corpus.jsonl` beside a file of records, by address."""
    name = path.name.removesuffix(".gz").removesuffix(".jsonl")
    places = [path.with_name(f"{stem}.jsonl{end}")
              for stem in (f"corpus-{name}", "corpus") for end in (".gz", "")]  # fmt: skip
    place = next((place for place in places if place.exists()), None)
    pages: dict[str, Document] = {}
    for found in jsonl.documents(place) if place else ():
        if isinstance(found, Document):
            pages[found.url] = found
        else:
            on_bad(InputError(f"{place}: {found.detail}."))
    return pages


def context_of(row: LabelledClaim) -> tuple[str, tuple[str, ...], str, str]:
    """Article's title, section, text before and the page's title, from `meta.context`."""
    given = row.meta.get("context")
    given = given if isinstance(given, dict) else {}
    words = [value if isinstance(value := given.get(key), str) else ""
             for key in ("title", "before", "page")]  # fmt: skip
    section = given.get("section") or []
    path = tuple(map(str, section)) if isinstance(section, list) else (str(section),)
    return words[0], path, words[1], words[2]


def asked_of(row: LabelledClaim) -> str:
    """The row's query for both rankings: its article's title stands in for "it" and "he"."""
    title, _, _, _ = context_of(row)
    return queries.dense_query(Claim(row.row_id, row.claim, title))
