"""Rows of claims files as training groups: a claim, the passages of its evidence, and negatives.

Which passage of a long evidence bears the label is latent; EM in the loop finds it. Negatives come
in two kinds: passages of other documents that were retrieved for the claim, and the claim changed
in one place (a figure, a date, a name, a negation) or a wrong claim before the right page.
"""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pincite.core import swaps, wording
from pincite.core.passages import cited_passages
from pincite.documents.labelled import LabelledClaim, read_labelled
from pincite.errors import InputError
from pincite.training.recipe import Recipe, SetRecipe
from pincite.types import Document

# A row that says "supported" although the claim was changed would teach the wrong thing: a made
# claim counts as not supported, and as refuted only where the evidence states the original figure.
MADE_LABEL = "not_support"


@dataclass(frozen=True, slots=True)
class Group:
    """What one step sees of one row."""

    set_name: str
    row_id: str
    claim: str
    label: str  # of the claim with the passage that bears it: one of labelled.LABELS
    passages: tuple[str, ...]  # of the right document; which of them speaks is latent
    negatives: tuple[str, ...] = ()  # passages of other documents, retrieved for the claim
    rivals: tuple[tuple[str, str], ...] = ()  # (changed or wrong claim, its label), same passage
    weight: float = 1.0


@dataclass(slots=True)
class Reading:
    """Rows that could be read, and a message for each that could not."""

    rows: list[LabelledClaim]
    bad: list[str]


def read_set(folder: Path, wanted: SetRecipe, seed: int, max_bad: int) -> Reading:
    """The chosen rows of one set, in an order that the seed decides.

    Raises:
        InputError: the file cannot be read, or more than `max_bad` of its rows are bad.
    """
    path = next(
        (p for p in (folder / f"{wanted.name}.jsonl.gz", folder / f"{wanted.name}.jsonl") if p.exists()),
        None,
    )
    if path is None:
        raise InputError(f"{folder} has no {wanted.name}.jsonl.gz, which the recipe names.")
    bad: list[str] = []

    def note(error: InputError) -> None:
        bad.append(str(error))
        if len(bad) > max_bad:
            raise InputError(
                f"{path} has more than {max_bad} bad rows; the last: {error} Mend the file, or "
                "raise --max-bad-rows."
            ) from error

    rows = list(read_labelled(path, note))
    random.Random(f"{seed} {wanted.name}").shuffle(rows)  # noqa: S311 - a sample, not a secret
    return Reading(rows[: wanted.rows] if wanted.rows else rows, bad)


def cut(row: LabelledClaim, most: int) -> tuple[str, ...]:
    """The row's evidence in passages as `verify` cuts a cited source, best `most` first in order.

    The best share most words with the claim: a cheap choice before EM makes the costly one.
    """
    found = cited_passages(Document(row.row_id, "", row.evidence))
    texts = [passage.text for passage in found] or [row.evidence]
    if len(texts) <= most:
        return tuple(texts)
    wanted = set(wording.content_words(row.claim))
    shared = [len(wanted & set(wording.content_words(text))) for text in texts]
    chosen = sorted(range(len(texts)), key=lambda i: (-shared[i], i))[:most]
    return tuple(texts[i] for i in sorted(chosen))


def made_claims(
    row: LabelledClaim, names: Sequence[str], others: Sequence[str], chance: random.Random
) -> tuple[tuple[str, str], ...]:
    """Changed and wrong claims for a supported row, each with its label; one of each at most."""
    kinds = list(swaps.KINDS)
    chance.shuffle(kinds)
    for kind in kinds:
        swap = swaps.swap_of(kind, row.claim, names, chance)
        if swap and (kind == "negation" or swap.text not in row.evidence):
            label = "refute" if kind == "negation" else MADE_LABEL
            made = [(swap.text, label)]
            break
    else:
        made = []
    if others and (not made or chance.random() < 0.3):
        made.append((chance.choice(others), MADE_LABEL))
    return tuple(made)


def groups_of(
    rows: Sequence[LabelledClaim],
    wanted: SetRecipe,
    recipe: Recipe,
    retrieved: Callable[[LabelledClaim], Sequence[str]],
) -> Iterator[Group]:
    """A group a visit of each row, with negatives drawn anew at every visit.

    `retrieved` gives passages of other documents for a row's claim, best first.
    """
    chance = random.Random(f"{recipe.seed} {wanted.name} made")  # noqa: S311
    names = [name for row in rows for name in wording.names(row.claim)]
    claims = [row.claim for row in rows]
    for row in rows:
        passages = cut(row, recipe.max_passages)
        for _ in range(wanted.visits):
            rivals = negatives = ()  # type: tuple[tuple[str, str], ...], tuple[str, ...]
            if row.label == "support" and chance.random() < recipe.swaps:
                others = [c for c in chance.sample(claims, min(3, len(claims))) if c != row.claim]
                rivals = made_claims(row, names, others, chance)
            if wanted.retrieve and chance.random() < recipe.negatives:
                found = [text for text in retrieved(row) if text not in row.evidence]
                negatives = (chance.choice(found),) if found else ()
            yield Group(
                wanted.name, row.row_id, row.claim, row.label, passages,
                negatives, rivals, wanted.weight,
            )  # fmt: skip


def write_groups(path: Path, groups: Sequence[Group]) -> None:
    """Keep groups as JSON lines, whole or not at all: a resumed run must see the same."""
    beside = path.with_suffix(".part")
    with beside.open("w", encoding="utf-8") as out:
        for group in groups:
            out.write(json.dumps(asdict(group), ensure_ascii=False) + "\n")
    beside.replace(path)


def read_groups(path: Path) -> list[Group]:
    """What `write_groups` wrote."""
    with path.open(encoding="utf-8") as lines:
        values = [json.loads(line) for line in lines]
    return [
        Group(**value | {
            "passages": tuple(value["passages"]),
            "negatives": tuple(value["negatives"]),
            "rivals": tuple((claim, label) for claim, label in value["rivals"]),
        })
        for value in values
    ]  # fmt: skip
