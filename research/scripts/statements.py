"""Public claims as a knowledge base with labelled statements.

    python research/scripts/statements.py scifact FOLDER_OF_SCIFACT OUT
    python research/scripts/statements.py climate climate_fever.jsonl.gz OUT

writes OUT/documents.jsonl and OUT/statements.jsonl (of SciFact also OUT/train.jsonl).

SciFact: the abstracts, and claims with the label of their rationales; a claim whose abstracts say
nothing is inconclusive, though another abstract may speak of it. Climate-FEVER: each evidence
sentence is a document. A claim with support and no refutation among its five is confirmed, the
other way round disconfirmed, with neither inconclusive; those with both (disputed) are left out. Of
Climate-FEVER only claims are taken of which the shipped verifier saw no row in its training.
"""

import argparse
import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pincite.documents.jsonl import LabelledClaim, read_labelled
from pincite_lab.training.groups import read_set
from pincite_lab.training.recipe import SHIPPED, Recipe, recipe_in

NAME = "climate_fever"
SIGNS = {"SUPPORT": "confirmed", "CONTRADICT": "disconfirmed"}


def main() -> None:
    """Write what the command names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("collection", choices=("scifact", "climate"))
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    {"scifact": scifact, "climate": climate}[given.collection](given.source, given.out)


def scifact(source: Path, out: Path) -> None:
    """The official files: corpus.jsonl.gz, claims_train.jsonl.gz, claims_dev.jsonl.gz."""
    documents = [
        {
            "url": f"https://scifact.example/{row['doc_id']}",
            "title": row["title"],
            "text": " ".join(sentence.strip() for sentence in row["abstract"]),
        }
        for row in _lines(source / "corpus.jsonl.gz")
    ]
    _write(out / "documents.jsonl", documents)
    for split, name in (("train", "train.jsonl"), ("dev", "statements.jsonl")):
        claims = _lines(source / f"claims_{split}.jsonl.gz")
        _write(out / name, [_labelled(claim) for claim in claims])


def _labelled(claim: Mapping[str, Any]) -> dict[str, str]:
    found = {each["label"] for of_document in claim["evidence"].values() for each in of_document}
    label = SIGNS[found.pop()] if len(found) == 1 else "inconclusive"
    return {"statement": claim["claim"], "label": label}


def climate(source: Path, out: Path) -> None:
    """Climate-FEVER in the schema of the claims sets."""
    seen, rows = trained_on(source)
    of_claim = defaultdict(list)
    for row in rows:
        of_claim[row.claim].append(row)
    statements = []
    for claim, of_one in of_claim.items():
        signs = {row.label for row in of_one} & {"support", "refute"}
        if len(signs) < 2 and not any(row.row_id in seen for row in of_one):
            label = {"support": "confirmed", "refute": "disconfirmed"}.get("".join(signs))
            statements.append({"statement": claim, "label": label or "inconclusive"})
    documents = [
        {
            "url": f"https://climate.example/{row.row_id.rpartition(':')[2]}",
            "title": str(row.meta.get("article", "")),
            "text": row.evidence,
        }
        for row in rows
    ]
    _write(out / "documents.jsonl", documents)
    _write(out / "statements.jsonl", statements)


def trained_on(source: Path) -> tuple[set[str], list[LabelledClaim]]:
    """Ids of the rows that the shipped verifier's recipe takes, and all rows."""
    recipe = recipe_in(SHIPPED, Recipe)
    wanted = next(each for each in recipe.sets if each.name == NAME)
    taken = read_set(source.parent, wanted, recipe.seed, 0).rows
    return {row.row_id for row in taken}, list(read_labelled(source))


def _lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    written = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    path.write_text("".join(written), encoding="utf-8")
    print(f"{path}: {len(written):,}")


if __name__ == "__main__":
    main()
