"""From a folder of claims files to the groups of a run, made once and kept in the run's folder."""

from collections.abc import Callable
from pathlib import Path

from pincite.documents.labelled import read_labelled
from pincite.protocols import Encoder
from pincite.training import retrieval
from pincite.training.groups import (
    Group,
    Read,
    Reading,
    groups_of,
    read_groups,
    read_set,
    write_groups,
)
from pincite.training.recipe import EncoderRecipe, Recipe

GROUPS = "groups.jsonl"
MAX_BAD = 20  # bad rows of one file that are skipped before the run is refused

Tell = Callable[[str, int, int], None]
Warn = Callable[[str], None]


def prepared(  # noqa: PLR0913 - each from its own place
    data: Path,
    recipe: Recipe,
    encoder: Encoder | None,
    folder: Path,
    tell: Tell,
    warn: Warn,
    max_bad: int = MAX_BAD,
) -> list[Group]:
    """The groups in `folder`, or new ones from the files in `data`, which are then kept there.

    Raises:
        InputError: a file is missing, or has more than `max_bad` bad rows.
    """
    if (folder / GROUPS).exists():
        return read_groups(folder / GROUPS)
    readings = read_sets(data, recipe, warn, max_bad)
    found = _negatives(readings, recipe, encoder, folder, tell)
    groups: list[Group] = []
    for n, wanted in enumerate(recipe.sets, 1):
        rows = readings[wanted.name].rows
        groups += groups_of(rows, wanted, recipe, lambda row: found.get(row.claim, ()))
        tell("cutting evidence", n, len(recipe.sets))
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
    for reading in readings.values():
        for message in reading.bad:
            warn(f"skipped: {message}")
    return readings


def _negatives(
    readings: dict[str, Reading], recipe: Recipe, encoder: Encoder | None, folder: Path, tell: Tell
) -> dict[str, list[str]]:
    searched = [row for s in recipe.sets if s.retrieve for row in readings[s.name].rows]
    if not searched or not recipe.negatives:
        return {}
    evidences = [row.evidence for row in searched]
    with retrieval.indexed(folder / "evidence", evidences, encoder, tell) as corpus:
        return retrieval.negatives(corpus, searched, encoder is not None, tell)
