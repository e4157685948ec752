"""Rows of claims files as training groups: a claim, the passages of its evidence, and negatives.

Which passage of a long evidence decides the label is latent; EM in the loop finds it. Negatives are
of three kinds: passages of other documents that were retrieved for the claim; passages of the right
page that lack the evidence, where annotators marked what speaks; and the claim changed in one place
(a figure, a date, a name, a negation) or a wrong claim before the right page.
"""

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pincite.documents.jsonl import LabelledClaim, read_labelled
from pincite.errors import InputError
from pincite.text import perturbations, words
from pincite.text.passages import cited_passages, windows
from pincite.training.recipe import Recipe, SetRecipe
from pincite.types import Document, Passage, Span

# Evidence that does not say the claim in its words need not refute what was made of it: that counts
# as not supported. So does a passage that was retrieved for the claim: it may refute as well as say
# nothing.
MADE_LABEL = "not_support"
_WORD, _DIGIT = re.compile(r"\w+"), re.compile(r"\d")
_POSSIBLE = re.compile(r"\b(?:may|might|could)\b")  # "may not" does not deny "may"


HELD_BACK = 5  # one claim in so many


@dataclass(frozen=True, slots=True)
class Group:
    """What one step sees of one row."""

    set_name: str
    row_id: str
    claim: str
    label: str  # of the claim with the passage that decides it: one of labelled.LABELS
    passages: tuple[str, ...]  # of the right document; which of them speaks is latent
    negatives: tuple[str, ...] = ()  # passages of other documents, retrieved for the claim
    rivals: tuple[tuple[str, str], ...] = ()  # (changed or wrong claim, its label), same passage
    weight: float = 1.0


@dataclass(slots=True)
class Reading:
    """Rows that could be read, and a message for each that could not."""

    rows: list[LabelledClaim]
    bad: list[str]


Read = Callable[[Path, Callable[[InputError], None]], Iterator[LabelledClaim]]


def read_set(
    folder: Path, wanted: SetRecipe, seed: int, max_bad: int, read: Read = read_labelled
) -> Reading:
    """The chosen rows of one set, as `read_file` reads them.

    Raises:
        InputError: there is no such file, or as `read_file`.
    """
    path = next(
        (p for end in (".jsonl.gz", ".jsonl") if (p := folder / (wanted.name + end)).exists()), None
    )
    if path is None:
        raise InputError(f"{folder} has no {wanted.name}.jsonl.gz, which the recipe names.")
    return read_file(path, wanted, seed, max_bad, read)


def read_file(
    path: Path, wanted: SetRecipe, seed: int, max_bad: int, read: Read = read_labelled
) -> Reading:
    """The chosen rows of a file, in an order that the seed decides; `read` knows its format.

    Raises:
        InputError: the file cannot be read, has no rows, or more than `max_bad` bad ones.
    """
    bad: list[str] = []

    def note(error: InputError) -> None:
        bad.append(str(error))
        if len(bad) > max_bad:
            raise InputError(
                f"{path} has more than {max_bad} bad rows; the last: {error} Mend the file, or "
                "raise --max-bad-rows."
            ) from error

    rows = list(read(path, note))
    if not rows:
        raise InputError(f"{path} has no rows that can be used; expected claims with evidence.")
    random.Random(f"{seed} {wanted.name}").shuffle(rows)  # noqa: S311 - a sample, not a secret
    return Reading(rows[: wanted.rows] if wanted.rows else rows, bad)


def is_held_back(claim: str, seed: int) -> bool:
    """Whether a claim is one of the fifth that is never trained on, whatever set it stands in.

    Letters' case and blanks do not count: one claim is often before several evidences.
    """
    return _drawn(claim, f"{seed} held back") % HELD_BACK == 0


def half_of(claim: str, seed: int) -> str:
    """Of claims held back: those that `fit` thresholds, and those that `measure` them."""
    return ("fit", "measure")[_drawn(claim, f"{seed} half") % 2]


def _drawn(claim: str, salt: str) -> int:
    plain = " ".join(claim.casefold().split())
    return int.from_bytes(blake2b(f"{salt} {plain}".encode(), digest_size=8).digest())


@dataclass(frozen=True, slots=True)
class Cut:
    """A row's evidence in passages: those that may decide the label, and those known not to."""

    latent: tuple[str, ...]
    lacking: tuple[str, ...] = ()


def cut(row: LabelledClaim, most: int, n_words: int = 0) -> Cut:
    """The row's evidence in passages as `verify` cuts a cited source, at most `most` of a kind.

    With `n_words` they are all about so long.

    The best share most words with the claim: a cheap choice before EM makes the costly one. Where
    `meta.supporting` marks the lines that speak (sets of line numbers, as WiCE has them), passages
    without any of these are passages of the right page that lack the evidence.
    """
    page = Document(row.row_id, "", row.evidence)
    found = windows(page, n_words) if n_words else cited_passages(page)
    wanted = set(words.content_words(row.claim))
    marked = _marked(row)

    def best(passages: Sequence[Passage]) -> tuple[str, ...]:
        shared = [len(wanted & set(words.content_words(p.text))) for p in passages]
        chosen = sorted(range(len(passages)), key=lambda i: (-shared[i], i))[:most]
        return tuple(passages[i].text for i in sorted(chosen))

    speaking = [p for p in found if any(p.span.overlaps(line) for line in marked)]
    if not speaking:
        return Cut(best(found) or (row.evidence,))
    return Cut(best(speaking), best([p for p in found if p not in speaking]))


def _marked(row: LabelledClaim) -> list[Span]:
    """The lines of the evidence that its annotators marked; none where the set has no marks."""
    marks = row.meta.get("supporting")  # other sets may use the word for something else
    lists = [group for group in marks if isinstance(group, list)] if isinstance(marks, list) else []
    wanted = {line for group in lists for line in group if isinstance(line, int)}
    spans, start = [], 0
    for number, line in enumerate(row.evidence.split("\n")):
        if number in wanted:
            spans.append(Span(start, start + len(line)))
        start += len(line) + 1
    return spans


def made_claims(
    row: LabelledClaim, names: Sequence[str], others: Sequence[str], chance: random.Random
) -> tuple[tuple[str, str], ...]:
    """Changed and wrong claims for a supported row, each with its label; one of each at most."""
    kinds = [*perturbations.KINDS, *perturbations.HARD_KINDS]
    chance.shuffle(kinds)
    for kind in kinds:
        swap = perturbations.swap_of(kind, row.claim, names, chance, row.evidence)
        if swap and (kind == "negation" or swap.text not in row.evidence):
            made = [(swap.text, _label_of(swap, row))]
            break
    else:
        made = []
    if others and (not made or chance.random() < 0.3):
        made.append((chance.choice(others), MADE_LABEL))
    return tuple(made)


def _label_of(swap: perturbations.Swap, row: LabelledClaim) -> str:
    """Refuted where the evidence has what was changed; else it may say nothing of it.

    Another name need not exclude the first: two towns may have voted for it.
    """
    before = swap.span.of(row.claim)
    named = swap.kind == "name" or (swap.kind == "rival" and not _DIGIT.search(before))
    if named or _POSSIBLE.search(row.claim):
        return MADE_LABEL
    told = set(_WORD.findall(row.evidence.casefold()))
    stated = told.issuperset(_WORD.findall(before.casefold()))
    return "refute" if swap.kind == "negation" or stated else MADE_LABEL


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
    if wanted.held_back:  # nor may such a claim stand as a wrong one before another's evidence
        rows = [row for row in rows if not is_held_back(row.claim, recipe.seed)]
    names = [name for row in rows for name in words.names(row.claim)]
    for row in rows:
        evidence = cut(row, recipe.max_passages, wanted.window_words or recipe.window_words)
        for _ in range(wanted.visits):
            rivals: tuple[tuple[str, str], ...] = ()
            negatives: tuple[str, ...] = ()
            if row.label == "support" and chance.random() < recipe.swaps:
                drawn = chance.sample(rows, min(3, len(rows)))
                # Claims cut from one sentence share their evidence, which may support them all.
                others = [other.claim for other in drawn if other.evidence != row.evidence]
                rivals = made_claims(row, names, others, chance)
            if wanted.retrieve and chance.random() < recipe.negatives:
                found = [text for text in retrieved(row) if text not in row.evidence]
                negatives = (chance.choice(found),) if found else ()
            if evidence.lacking:
                negatives = (*negatives, chance.choice(evidence.lacking))
            yield Group(
                wanted.name, row.row_id, row.claim, row.label, evidence.latent,
                negatives, rivals, wanted.weight,
            )  # fmt: skip


def write_groups(path: Path, groups: Sequence[Any]) -> None:
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
