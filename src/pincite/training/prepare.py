"""From a folder of claims files to the groups of a run, made once and kept in the run's folder."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from pincite.corpus import engines
from pincite.corpus.protocol import Corpus
from pincite.documents.jsonl import LabelledClaim, read_labelled
from pincite.errors import InputError
from pincite.protocols import Encoder
from pincite.training.groups import (
    Group,
    Read,
    Reading,
    groups_of,
    read_file,
    read_groups,
    read_set,
    write_groups,
)
from pincite.training.recipe import EncoderRecipe, Extra, Recipe, SetRecipe
from pincite.types import Document, Passage

GROUPS = "groups.jsonl"
MAX_BAD = 20  # bad rows of one file that are skipped before the run is refused

Tell = Callable[[str, int, int], None]
Warn = Callable[[str], None]
OwnRows = Sequence[tuple[SetRecipe, Reading]]


def prepared(  # noqa: PLR0913 - each from its own place
    data: Path,
    recipe: Recipe,
    encoder: Encoder | None,
    folder: Path,
    tell: Tell,
    warn: Warn,
    max_bad: int = MAX_BAD,
    own: OwnRows = (),
) -> list[Group]:
    """The groups in `folder`, or new ones from the files in `data`, which are then kept there.

    Those of `own` come after the recipe's, which stay as they would be without them.

    Raises:
        InputError: a file is missing, or has more than `max_bad` bad rows.
    """
    if (folder / GROUPS).exists():
        return read_groups(folder / GROUPS)
    readings = read_sets(data, recipe, warn, max_bad)
    found = _negatives(readings, recipe, encoder, folder, tell)
    groups: list[Group] = []
    all_sets = [*((wanted, readings[wanted.name]) for wanted in recipe.sets), *own]
    for n, (wanted, reading) in enumerate(all_sets, 1):
        groups += groups_of(reading.rows, wanted, recipe, lambda row: found.get(row.claim, ()))
        tell("cutting evidence", n, len(all_sets))
    write_groups(folder / GROUPS, groups)
    return groups


def read_sets(
    data: Path,
    recipe: Recipe | EncoderRecipe,
    warn: Warn,
    max_bad: int,
    read: Read = read_labelled,
) -> dict[str, Reading]:
    """The recipe's sets by name; what was skipped is warned of once all could be read.

    Raises:
        InputError: a file is missing, or has more than `max_bad` bad rows.
    """
    readings = {each.name: read_set(data, each, recipe.seed, max_bad, read) for each in recipe.sets}
    _warn_of_bad(readings.values(), warn)
    return readings


def read_own(extra: Extra, seed: int, warn: Warn, max_bad: int) -> OwnRows:
    """The rows of a user's own, each file a set.

    Raises:
        InputError: a file cannot be read, has no rows, or more than `max_bad` bad ones.
    """
    try:
        own = [
            (wanted, read_file(path, wanted, seed, max_bad))
            for path, wanted in zip(extra.files, extra.sets, strict=True)
        ]
    except InputError as error:
        raise InputError(
            "A file of --extra cannot be used; expected what `pincite feedback export --format "
            f"claims` writes: {error}"
        ) from error
    _warn_of_bad([reading for _, reading in own], warn)
    return own


def _warn_of_bad(readings: Iterable[Reading], warn: Warn) -> None:
    for reading in readings:
        for message in reading.bad:
            warn(f"skipped: {message}")


def _negatives(
    readings: dict[str, Reading], recipe: Recipe, encoder: Encoder | None, folder: Path, tell: Tell
) -> dict[str, list[str]]:
    searched = [row for s in recipe.sets if s.retrieve for row in readings[s.name].rows]
    if not searched or not recipe.negatives:
        return {}
    evidences = [row.evidence for row in searched]
    with indexed(folder / "evidence", evidences, encoder, tell) as corpus:
        return negatives(corpus, searched, encoder is not None, tell)


# Negatives from retrieval: what BM25 and the dense index bring for a claim, from other documents.

DEPTH = 20
# The very first are often the evidence in other words: a right passage taken for a wrong one
# teaches more harm than a weak negative.
SKIPPED = 2
_BATCH = 200  # documents in one transaction
_QUERIES = 256
_URL = "evidence:"


def indexed(
    folder: Path,
    evidences: Sequence[str],
    encoder: Encoder | None,
    tell: Tell,
    titles: Mapping[str, str] | None = None,
) -> Corpus:
    """A corpus of the distinct evidences, new or gone on with; its documents' urls are numbers.

    `titles`: evidence → the title of its page, where it has one.
    """
    corpus = engines.open_or_create(folder, encoder)
    distinct = list(dict.fromkeys(evidences))
    for start in range(0, len(distinct), _BATCH):
        corpus.add(
            [
                Document(f"{_URL}{n}", (titles or {}).get(text, ""), text)
                for n, text in enumerate(distinct[start : start + _BATCH], start)
            ]
        )
        tell("indexing evidence", min(start + _BATCH, len(distinct)), len(distinct))
    return corpus


def negatives(
    corpus: Corpus, rows: Sequence[LabelledClaim], dense: bool, tell: Tell
) -> dict[str, list[str]]:
    """Claim → passages from the depth of both rankings, those of its own evidences left out."""
    own: dict[str, list[str]] = {}
    for row in rows:
        own.setdefault(row.claim, []).append(row.evidence)
    found = brought(corpus, list(own), dense, tell)
    return {
        claim: [p.text for p in some if not any(p.text in e for e in own[claim])]
        for claim, some in found.items()
    }


def brought(
    corpus: Corpus, asked: Sequence[str], dense: bool, tell: Tell
) -> dict[str, list[Passage]]:
    """Query → what both rankings bring behind their first, by words before by meaning."""
    retrievers = [corpus.lexical()] + ([corpus.dense()] if dense else [])
    found: dict[str, list[Passage]] = {query: [] for query in asked}
    for start in range(0, len(asked), _QUERIES):
        chunk = asked[start : start + _QUERIES]
        for retriever in retrievers:
            for query, hits in zip(chunk, retriever.retrieve(chunk, DEPTH), strict=True):
                found[query] += [hit.passage for hit in hits[SKIPPED:]]
        tell("searching negatives", min(start + _QUERIES, len(asked)), len(asked))
    return found


def number_of(passage: Passage) -> int:
    """Which of the distinct evidences that `indexed` was given the passage comes from."""
    return int(passage.url.removeprefix(_URL))
