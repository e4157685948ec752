"""A run that trains an encoder: from a folder of sets to a folder with its towers."""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pincite.corpus.intake import passage_text
from pincite.documents.lines.labelled import LabelledClaim
from pincite.errors import InputError
from pincite.models import weights
from pincite.models.encoder import OnnxEncoder
from pincite.models.verifier import CrossEncoderVerifier
from pincite.protocols import Encoder
from pincite.training import loop, prepare, retrieval
from pincite.training.encoder import towers
from pincite.training.encoder.contrast import SearchObjective
from pincite.training.encoder.searches import (
    Found,
    Search,
    Sources,
    asked_of,
    context_of,
    documents_by_query,
    key_of,
    read_either,
    read_searches,
    searches_of,
)
from pincite.training.groups import Reading, write_groups
from pincite.training.recipe import EncoderRecipe
from pincite.training.run import MODEL, Run, begun
from pincite.types import Claim, Passage, Span

JUDGED = "judged.sqlite"  # the teacher's answers, so that a stopped run need not ask again

Judge = Callable[[Sequence[tuple[str, str]]], Sequence[float]]


def train_encoder(
    run: Run[EncoderRecipe], tell: prepare.Tell, warn: prepare.Warn, progress: loop.Progress
) -> Path:
    """Prepare, train and write the towers, or what of it is still to do; the model's folder.

    Raises:
        ConfigError: the folder holds another run, or there is no such device.
        InputError: the data cannot be used, or the state does not fit.
        MissingModel: base or teacher is nowhere.
    """
    device = begun(run)
    both = towers.load(run.base, run.recipe).to(device)
    searches = prepared(run, both, tell, warn)
    batches = plan(len(searches), run.recipe)
    work = loop.Work(searches, batches, SearchObjective(run.recipe, both), both)
    loop.descend(work, run.recipe, run.folder, progress)
    towers.write(both, run.recipe, run.folder / MODEL)
    return run.folder / MODEL


def plan(n_searches: int, recipe: EncoderRecipe) -> list[list[int]]:
    """Batches of search numbers by chance alone: like with like would make negatives alike too."""
    order = list(range(n_searches))
    random.Random(recipe.seed).shuffle(order)  # noqa: S311 - an order, not a secret
    size = recipe.batch_claims
    batches = [order[start : start + size] for start in range(0, n_searches, size)]
    return batches[: recipe.steps or None]


def prepared(
    run: Run[EncoderRecipe], both: towers.Towers, tell: prepare.Tell, warn: prepare.Warn
) -> list[Search]:
    """The searches in the run's folder, or new ones from its data, which are then kept there.

    Raises:
        InputError: a file is missing, has too many bad rows, or no row has evidence to be found.
    """
    kept = run.folder / prepare.GROUPS
    if kept.exists():
        return read_searches(kept)
    readings = prepare.read_sets(run.data, run.recipe, warn, run.max_bad, read_either)
    documents = documents_by_query([row for r in readings.values() for row in r.rows])
    encoder = _miner(run, both) if run.dense else None
    found = _found(readings, run, documents, encoder, tell)
    searches: list[Search] = []
    with _judging(run) as judge:
        sources = Sources(documents, found, judge)
        for n, wanted in enumerate(run.recipe.sets, 1):
            searches += searches_of(readings[wanted.name].rows, wanted, run.recipe, sources)
            tell("cutting evidence", n, len(run.recipe.sets))
    if not searches:
        raise InputError(
            f"{run.data} has no row whose evidence is to be found. Expected rows with the label "
            "support, partial or (where the recipe says refuted = true) refute."
        )
    write_groups(kept, searches)
    return searches


def _miner(run: Run[EncoderRecipe], both: towers.Towers) -> Encoder:
    """The encoder that training starts from; on ONNX Runtime where it lies there, for speed."""
    if run.base == weights.ENCODER:
        return OnnxEncoder(weights.locate(run.base), threads=run.threads)
    return towers.TowersEncoder(both, run.base, run.recipe.max_passage_tokens)


@contextmanager
def _judging(run: Run[EncoderRecipe]) -> Iterator[Judge | None]:
    """The teacher as log-odds of support; None where the run has none."""
    if run.teacher is None:
        yield None
        return
    teacher = CrossEncoderVerifier(run.teacher, threads=run.threads, judged=run.folder / JUDGED)

    def judge(pairs: Sequence[tuple[str, str]]) -> list[float]:
        asked = [
            (Claim("", claim), Passage("", "", "", text, Span(0, len(text))))
            for claim, text in pairs
        ]
        return [float(odds) for odds in teacher.log_odds(asked)[:, 0]]

    try:
        yield judge
    finally:
        teacher.close()


def _found(
    readings: dict[str, Reading],
    run: Run[EncoderRecipe],
    documents: dict[str, tuple[str, ...]],
    encoder: Encoder | None,
    tell: prepare.Tell,
) -> dict[str, list[Found]]:
    """Query → passages of documents that nobody laid beside it."""
    searched = [r for s in run.recipe.sets if s.retrieve for r in readings[s.name].rows]
    if not searched or not (run.recipe.negatives or run.recipe.confusing):
        return {}
    evidences = list(dict.fromkeys(row.evidence for row in searched))
    titles = {row.evidence: context_of(row)[3] for row in searched}
    with retrieval.indexed(run.folder / "evidence", evidences, encoder, tell, titles) as corpus:
        asked = list(dict.fromkeys(map(asked_of, searched)))
        brought = retrieval.brought(corpus, asked, encoder is not None, tell)
    keys = [key_of(evidence) for evidence in evidences]
    own = _own_texts(searched)
    return {
        query: _others(passages, keys, documents[query], own[query])
        for query, passages in brought.items()
    }


def _own_texts(rows: Sequence[LabelledClaim]) -> dict[str, list[str]]:
    own: dict[str, list[str]] = {}
    for row in rows:
        own.setdefault(asked_of(row), []).append(row.evidence)
    return own


def _others(
    passages: Sequence[Passage], keys: Sequence[str], none: Sequence[str], own: Sequence[str]
) -> list[Found]:
    """Of those passages the ones of other documents, each once."""
    found: dict[Found, None] = {}
    for passage in passages:
        key = keys[retrieval.number_of(passage)]
        if key not in none and not any(passage.text in evidence for evidence in own):
            found[key, passage_text(passage)] = None
    return list(found)
