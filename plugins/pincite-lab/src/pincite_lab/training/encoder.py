"""`pincite train encoder`: train a bi-encoder with sentence-transformers.

As in DPR (Karpukhin et al. 2020), a claim's passage is contrasted with all others of its batch and
with one that a search finds for the claim in another document. The model's cosine is the dense
retriever's score.
"""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pincite import durable
from pincite.corpus.generation import passage_text
from pincite.documents import jsonl
from pincite.documents.jsonl import LabelledClaim, read_labelled
from pincite.errors import InputError
from pincite.models import weights
from pincite.models.session import OnnxEncoder
from pincite.retrieval import retrievers
from pincite.types import Claim, Document, Passage, Span
from pincite_lab.evaluation.wafer import claim_of, read_records
from pincite_lab.training import groups as grouped
from pincite_lab.training import network
from pincite_lab.training.groups import Tell, Warn
from pincite_lab.training.recipe import MODEL, EncoderRecipe, Run, begun
from pincite_lab.training.verifier import Progress

BASE = "base"  # in a run's folder: the base as a Hugging Face folder
PAIRS = "pairs.jsonl"
CHECKPOINTS = "checkpoints"
SAVE_EVERY = 50  # steps

Pair = dict[str, str]  # anchor, positive, negative


def train_encoder(run: Run[EncoderRecipe], tell: Tell, warn: Warn, progress: Progress) -> Path:
    """Prepare, train and write the encoder, resuming where a run stopped; returns its folder.

    Raises ConfigError, InputError and MissingModel as `verifier.train_verifier`.
    """
    device, recipe = begun(run), run.recipe
    body = run.folder / BASE
    if not body.exists():
        network.write_model(*network.load_body(run.base), body)
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

    read = Transformer(str(body), max_seq_length=recipe.max_tokens)
    pooled = Pooling(read.get_word_embedding_dimension(), pooling_mode=recipe.pooling)
    model = SentenceTransformer(modules=[read, pooled, Normalize()], device=device)
    trainer = SentenceTransformerTrainer(
        model=model,
        args=SentenceTransformerTrainingArguments(
            per_device_train_batch_size=recipe.batch_claims,
            batch_sampler=BatchSamplers.NO_DUPLICATES,
            num_train_epochs=1,
            **trainer_arguments(run, device),
        ),
        train_dataset=Dataset.from_list(pairs),
        loss=MultipleNegativesRankingLoss(model, scale=1 / recipe.score_temperature),
        callbacks=[progress_callback(progress)],
    )
    resume(trainer, run)
    card = {"kind": "encoder", "pooling": recipe.pooling, "max_tokens": recipe.max_tokens}
    tokenizer = network.tokenizer_of(str(body))
    network.write_model(model[0].auto_model, tokenizer, run.folder / MODEL, card)
    return run.folder / MODEL


def trainer_arguments(run: Run[Any], device: str) -> dict[str, Any]:
    recipe = run.recipe
    return {
        "output_dir": str(run.folder / CHECKPOINTS),
        "max_steps": recipe.steps or -1,
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


def progress_callback(progress: Progress) -> Any:
    from transformers import TrainerCallback

    class Steps(TrainerCallback):  # type: ignore[misc]  # Any to mypy
        def on_log(self, _: Any, state: Any, __: Any, logs: Any = None, **___: Any) -> None:
            if logs and "loss" in logs:
                progress(state.global_step, state.max_steps, float(logs["loss"]))

    return Steps()


def resume(trainer: Any, run: Run[Any]) -> None:
    from transformers.trainer_utils import get_last_checkpoint

    checkpoints = run.folder / CHECKPOINTS
    last = get_last_checkpoint(str(checkpoints)) if checkpoints.is_dir() else None
    trainer.train(resume_from_checkpoint=last)


def prepared(run: Run[EncoderRecipe], tell: Tell, warn: Warn) -> list[Pair]:
    """Load the pairs saved in the run's folder, or make them from the data and save them.

    Raises:
        InputError: A file is missing, has too many malformed rows, or no row has usable evidence.
    """
    kept, recipe = run.folder / PAIRS, run.recipe
    if kept.exists():
        return [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    sets = grouped.read_sets(run.data, recipe, warn, read_either)
    rows = [
        row
        for wanted in recipe.sets
        for row in sets[wanted.name] * wanted.visits
        if row.label in ("support", "partial", "refute")  # refuting evidence is on topic too
    ]
    if not rows:
        raise InputError(
            f"{run.data} has no row whose evidence should be found. Expected rows with the label "
            "support, partial or refute."
        )
    found = _negatives(rows, run, tell)
    chance = random.Random(recipe.seed)  # noqa: S311 - a sample, not a secret
    pairs = []
    for row in rows:
        query = query_of(row)
        negative = chance.choice(found[query] or [_shown(chance.choice(rows))])
        pairs.append({"anchor": query, "positive": _shown(row), "negative": negative})
    chance.shuffle(pairs)
    durable.write_text(kept, "".join(json.dumps(pair) + "\n" for pair in pairs))
    return pairs


def _negatives(
    rows: Sequence[LabelledClaim], run: Run[EncoderRecipe], tell: Tell
) -> dict[str, list[str]]:
    """Map each query to passages of other documents that words and meaning find."""
    own: dict[str, list[str]] = {}
    for row in rows:
        own.setdefault(query_of(row), []).append(row.evidence)
    titles = {row.evidence: context_of(row, "page") for row in rows}
    miner = OnnxEncoder(weights.locate(weights.ENCODER), threads=run.threads) if run.dense else None
    folder = run.folder / "evidence"
    with grouped.indexed(folder, list(titles), miner, tell, titles) as corpus:
        found = grouped.negatives(corpus, own, miner is not None, tell)
    return {query: list(map(passage_text, passages)) for query, passages in found.items()}


def _shown(row: LabelledClaim) -> str:
    """Return the passage that shares most words with the claim, in the encoder's input format."""
    (text,) = grouped.cut(row, 1).latent
    return passage_text(Passage("", "", context_of(row, "page"), text, Span(0, len(text))))


def query_of(row: LabelledClaim) -> str:
    """Return the row's query for both rankings; its article's title resolves "it" and "he"."""
    return retrievers.dense_query(Claim(row.row_id, row.claim, context_of(row, "title")))


def context_of(row: LabelledClaim, field: str) -> str:
    """Return the article's `title` or the cited `page`'s, from `meta.context`; "" if unknown."""
    context = row.meta.get("context")
    value = context.get(field) if isinstance(context, dict) else ""
    return value if isinstance(value, str) else ""


def read_either(path: Path, on_bad: Callable[[InputError], None]) -> Iterator[LabelledClaim]:
    """Read the rows of a claims file, or of WAFER-like records with the texts of their pages.

    The field `input` in the first line identifies records. A cited page's text is in the record, or
    in `corpus-NAME.jsonl` or `corpus.jsonl` (plain or .gz) beside the file.
    """
    is_wafer = any("input" in record for record in jsonl.first_records(path)[:1])
    yield from _cited(path, on_bad) if is_wafer else read_labelled(path, on_bad)


def _cited(path: Path, on_bad: Callable[[InputError], None]) -> Iterator[LabelledClaim]:
    """Yield a row for each cited page with a known text."""
    pages = _pages_beside(path, on_bad)
    unknown = Document("", "", "")
    for record in read_records(path, on_bad):
        try:
            claim = claim_of(record)
        except InputError as error:
            on_bad(error)
            continue
        titles: dict[str, str] = {}  # by text
        for page in (page for output in record.outputs for page in output.provenance):
            known = pages.get(page.url, unknown)
            if text := page.text or known.text:
                titles[text] = page.title or known.title
        if not claim.text or not titles:
            lack = "no cited page with a text" if claim.text else "an empty claim"
            on_bad(InputError(f"{path}: record {record.id} has {lack}."))
            continue
        for text, title in titles.items():
            meta = {"context": {"title": claim.title, "page": title}}
            yield LabelledClaim(record.id, claim.text, text, "support", meta)


def _pages_beside(path: Path, on_bad: Callable[[InputError], None]) -> dict[str, Document]:
    """Read `corpus-NAME.jsonl` or `corpus.jsonl` beside a file of records; pages by address."""
    name = path.name.removesuffix(".gz").removesuffix(".jsonl")
    place = jsonl.find(path.parent, f"corpus-{name}", "corpus")
    pages: dict[str, Document] = {}
    for found in jsonl.documents(place) if place else ():
        if isinstance(found, Document):
            pages[found.url] = found
        else:
            on_bad(InputError(f"{place}: {found.detail}."))
    return pages
