"""Is what is shipped as good as it was? The verifier's figures on pinned sets, against floors.

    python tools/gate.py            # a table; exits with 1 where a figure is below its floor
    python tools/gate.py --write    # after a new network or new sets: write new figures and floors

The sets are those of `tests/cases/gate` and `tests/cases/values`, which were written for the
project; only figures are printed, never rows, so that their sealed halves stay sealed.

* `auroc`, `weighted_f1`: 180 statements, each against the page that it is about, read as `verify`
  reads: is it supported there, and is it supported, refuted or neither? One that nothing settles is
  read against the page of its domain that has most of its words.
* `evidence_p1`: of the 60 true ones, how often the passage that is ranked first has a sentence that
  supports it.
* `values_auroc`: 200 sentences with a value, against a source that states it in another form, or
  states another value.
* `rewrites_supported`: of 150 true sentences in other words than their source's, the share that is
  called supported.
"""

import argparse
import hashlib
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import gate_check
import gate_values
from pincite.documents.collection import collect
from pincite.documents.jsonl import LabelledClaim
from pincite.judgement.decide import THRESHOLD
from pincite.models import weights
from pincite.models.verifier import CrossEncoderVerifier
from pincite.protocols import Verifier
from pincite.retrieval import cascade
from pincite.text import words
from pincite.text.passages import cited_passages
from pincite.types import Claim, Document, Evidence, Passage, Span
from pincite_lab.evaluation import claims

CASES = Path(__file__).parents[1] / "tests/cases"
FLOORS = CASES / "gate/floors.json"
LABEL_OF = {"confirmed": "support", "disconfirmed": "refute", "none": "nei"}
# How far a floor lies below its figure: int8 kernels round differently on other processors. AUROCs
# move in the third place, and a row at a threshold or a tie counts 1/60 to 1/300 of a share.
MARGIN = 0.03


def main() -> None:
    """Print the figures beside their floors, or write new ones."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="take today's figures for the floors")
    given = parser.parse_args()
    if not given.write and (why := changed()):
        sys.exit(why)
    verifier = CrossEncoderVerifier(weights.locate(weights.VERIFIER))
    found = figures(verifier)
    if given.write:
        write(found, verifier.fingerprint)
    floors = read()["floors"]
    print(table(found, floors))
    if low := below(found, floors):
        sys.exit(f"Below the floor: {', '.join(low)}.")


def figures(verifier: Verifier) -> dict[str, float]:
    """What is measured, by name; each is 1 where every row is read rightly."""
    return {**of_statements(verifier), **of_values(verifier)}


def of_statements(verifier: Verifier) -> dict[str, float]:
    """AUROC of supported against the rest, F1 of the three labels, and P@1 of the evidence."""
    asked = statements()
    labels = [LABEL_OF[row["expected"]] for row, _ in asked]
    pages = [
        (row["statement"], cascade.worth_reading(row["statement"], cited_passages(page)))
        for row, page in asked
    ]
    found, best = _measured(labels, pages, verifier)
    hits = [
        any(line in _flat(one.passage.text) for line in lines(row))
        for (row, _), one in zip(asked, best, strict=True)
        if row["expected"] == "confirmed"
    ]
    return {
        "auroc": found["auroc"],
        "weighted_f1": found["weighted_f1"],
        "evidence_p1": round(sum(hits) / len(hits), 4),
    }


def of_values(verifier: Verifier) -> dict[str, float]:
    """Of values in other forms, and of true sentences in other words."""
    pairs, rewrites = gate_values.read_pairs("open"), gate_values.read_rewrites("open")
    found, _ = _measured(
        ["support" if pair.equal else "not_support" for pair in pairs],
        [(pair.claim, [_passage(pair.source)]) for pair in pairs],
        verifier,
    )
    told = [(Claim("", each.rewrite), [_passage(each.source)]) for each in rewrites]
    borne_out = [one.prob_supported >= THRESHOLD for (one,) in claims.all_evidence(verifier, told)]
    return {
        "values_auroc": found["auroc"],
        "rewrites_supported": round(sum(borne_out) / len(borne_out), 4),
    }


def _measured(
    labels: Sequence[str], pages: Sequence[tuple[str, Sequence[Passage]]], verifier: Verifier
) -> tuple[dict[str, Any], list[Evidence]]:
    """The measures of `pincite eval claims`, and for each claim the passage that speaks for it."""
    rows = tuple(
        LabelledClaim(str(n), claim, "", label)
        for n, (label, (claim, _)) in enumerate(zip(labels, pages, strict=True))
    )
    cut = [claims.CutRow(row, tuple(found)) for row, (_, found) in zip(rows, pages, strict=True)]
    scores = claims.verifier_scores(verifier, cut, lambda n: None)
    found = claims.measure(claims.Predictions("gate", rows, {"pincite": scores}), THRESHOLD)[
        "systems"
    ][0]
    return found, [one for one in scores.evidence or () if one]


def _passage(text: str) -> Passage:
    return Passage("source", "", "", text, Span(0, len(text)))


@cache
def statements() -> tuple[tuple[dict[str, str], Document], ...]:
    """Each statement of the gate set with the page against which it is read."""
    return tuple(
        (row, pages[row["document"]] if row["document"] else nearest(row["statement"], pages))
        for domain in gate_check.DOMAINS
        for pages in [read_pages(gate_check.SET / domain / "documents")]
        for half in gate_check.HALVES
        for row in gate_check.statements(domain, half)
    )


def read_pages(folder: Path) -> dict[str, Document]:
    """The documents of a folder, by file."""
    found: dict[str, Document] = {}
    for path in sorted(folder.iterdir()):
        collection = collect([path])
        read = [one for piece in collection.pieces for one in collection.read(piece)]
        (found[path.name],) = [one for one in read if isinstance(one, Document)]
    return found


def nearest(statement: str, pages: Mapping[str, Document]) -> Document:
    """The page with most of the statement's words; of equals, that whose file comes first."""
    return max(pages.values(), key=lambda page: words.overlap(statement, page.text))


def lines(row: Mapping[str, str]) -> list[str]:
    """The sentences of the page that decide a statement."""
    return [_flat(line) for line in row["witness"].splitlines()]


def _flat(text: str) -> str:
    return " ".join(text.split())


def digest() -> str:
    """SHA-256 of the sets' files with their names, in the order of the names."""
    found = hashlib.sha256()
    for path in sorted(_files()):
        found.update(path.relative_to(CASES).as_posix().encode() + b"\0")
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def _files() -> Iterator[Path]:
    yield from (CASES / "gate").glob("*/*.jsonl")
    yield from (CASES / "gate").glob("*/documents/*")
    yield from (CASES / "values").glob("*-open.jsonl")


def changed() -> str:
    """What to say if the sets are not those that the floors were measured on; empty if they are."""
    if digest() == read()["sha256"]:
        return ""
    return (
        f"The gate's sets are not those that {FLOORS.name} was measured on: tools/gate.py --write"
    )


def read() -> dict[str, Any]:
    """The digest of the sets, the verifier that was measured, and by figure what it was."""
    found: dict[str, Any] = json.loads(FLOORS.read_text(encoding="utf-8"))
    return found


def write(found: Mapping[str, float], verifier: str) -> None:
    """State the figures as measured, with floors a margin below them.

    No floor is lowered while the sets are the same: what falls has to be looked at, not allowed.
    """
    before = read()["floors"] if FLOORS.exists() and not changed() else {}
    floors = {}
    for name, value in found.items():
        least = before.get(name, {}).get("floor", 0)
        floor = max(math.floor(1000 * (value - MARGIN)) / 1000, least)
        floors[name] = {"measured": value, "floor": floor}
    kept = {"sha256": digest(), "verifier": verifier, "floors": floors}
    FLOORS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def table(found: Mapping[str, float], floors: Mapping[str, Mapping[str, float]]) -> str:
    """A row for each figure: now, when the floor was set, and the floor."""
    rows = [f"{'figure':20}{'now':>8}{'was':>8}{'floor':>8}"]
    for name, value in found.items():
        was, floor = floors[name]["measured"], floors[name]["floor"]
        low = "  below" if value < floor else ""
        rows.append(f"{name:20}{value:8.3f}{was:8.3f}{floor:8.3f}{low}")
    return "\n".join(rows)


def below(found: Mapping[str, float], floors: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The figures below their floors; one that is not a number is below every floor."""
    return [name for name, value in found.items() if not value >= floors[name]["floor"]]


if __name__ == "__main__":
    main()
