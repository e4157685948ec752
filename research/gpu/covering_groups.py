"""Training groups read through the covering text: see research/recipes/verifier_covering.toml.

Each row is its claim with the covering text of its evidence. Of `pages`, a supported claim also gets
what the rest of the page would have been read as, as a negative, and a copy without one sentence
that alone has some of the claim's words, labelled "partial" (FactCG's removed relation, Lei et al.
2025). Of the other sets six rows in ten have no label: the teacher's answer is their target.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pincite.documents.jsonl import LabelledClaim
from pincite.retrieval import cascade
from pincite.text import words
from pincite.text.passages import cited_passages, units_of
from pincite.types import GAP, Document, Passage, Span
from pincite_lab.training.groups import Group, is_held_back, read_sets, write_groups
from pincite_lab.training.objective import AS_BEFORE
from pincite_lab.training.recipe import GROUPS, Recipe, recipe_in

NEW, HELD = "pages", 0.6
LEAST = 2.0  # what only the sentence taken out has of the claim: two words, or a figure


def covering(claim: str, evidence: str) -> Passage | None:
    texts = cited_passages(Document("d", "", evidence))
    found = cascade.covering(claim, texts) if texts else None
    return found or (texts[0] if texts else None)


def plain(text: str) -> str:
    return text.replace(GAP, "\n")


def without(evidence: str, spans: Sequence[Span]) -> str:
    for span in sorted(spans, reverse=True):
        evidence = f"{evidence[: span.start]}\n{evidence[span.end :]}"
    return evidence


def lacking_one(claim: str, text: str) -> str | None:
    """Return the text without the sentence that alone has most of the claim, if it has LEAST."""
    terms = words.weighted_terms(claim)
    spans = [span for span, _ in units_of(text, "en")]
    stated = [words.stated_terms(terms, span.of(text)) for span in spans]
    alone = [
        sum(terms[t] for t in own - set().union(*stated[:i], *stated[i + 1 :]))
        for i, own in enumerate(stated)
    ]
    best = max(range(len(spans)), key=lambda i: alone[i], default=None)
    if best is None or alone[best] < LEAST or sum(bool(own) for own in stated) < 2:
        return None
    return without(text, [spans[best]]).strip()


def of_pages(row: LabelledClaim, weight: float) -> Iterator[Group]:
    found = covering(row.claim, row.evidence)
    if found is None:
        return
    negatives: tuple[str, ...] = ()
    if row.label == "support":
        rest = without(row.evidence, found.pieces or (found.span,))
        other = covering(row.claim, rest)
        negatives = (plain(other.text),) if other else ()
        if less := lacking_one(row.claim, plain(found.text)):
            yield Group(NEW, f"{row.row_id}:less", row.claim, "partial", (less,), weight=weight)
    yield Group(NEW, row.row_id, row.claim, row.label, (plain(found.text),), negatives, (), weight)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("claims", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("--recipe", type=Path, required=True)
    given = parser.parse_args()
    recipe = recipe_in(given.recipe, Recipe)
    chance = random.Random(recipe.seed)  # noqa: S311 - a sample, not a secret
    groups: list[Group] = []
    for wanted in recipe.sets:
        rows = read_sets(
            given.claims / "train", replace(recipe, sets=(replace(wanted, rows=0),)), print
        )[wanted.name]
        if wanted.held_back:
            rows = [row for row in rows if not is_held_back(row.claim, recipe.seed)]
        for row in rows[: wanted.rows or None]:
            if wanted.name == NEW:
                groups += of_pages(row, wanted.weight)
            elif found := covering(row.claim, row.evidence):
                label = AS_BEFORE if chance.random() < HELD else row.label
                groups.append(
                    Group(wanted.name, row.row_id, row.claim, label, (plain(found.text),))
                )
    given.run.mkdir(parents=True, exist_ok=True)
    write_groups(given.run / GROUPS, groups)
    print(f"{len(groups)} groups")


if __name__ == "__main__":
    main()
