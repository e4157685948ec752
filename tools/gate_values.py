"""How often values that are equal to a reader are read as equal, and rewrites as supported.

    python tools/gate_values.py [--half open|sealed|both] [--only pairs|rewrites] [--json]

The sets are described in `tests/cases/values/README.md`. Only counts are printed, never the cases,
so that the sealed half stays sealed.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pincite.judgement import decide
from pincite.judgement.atoms import unstated_atoms
from pincite.models import weights
from pincite.models.verifier import CrossEncoderVerifier
from pincite.text import names, quantities
from pincite.types import Claim, Evidence, Label, Passage, Span

CASES = Path(__file__).parents[1] / "tests/cases/values"
HALVES = ("open", "sealed")
KINDS = ("number", "date", "unit", "name")
# A label further right is worse for the one whose true sentence gets it.
WORSE = (Label.SUPPORTED, Label.PARTLY_SUPPORTED, Label.NOT_SUPPORTED, Label.REFUTED)
BATCH = 16


@dataclass(frozen=True, slots=True)
class Pair:
    """A value in a sentence, and a source that states it in another form or states another."""

    id: str
    kind: str
    claim: str
    source: str
    equal: bool
    value: str
    note: str


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A sentence that its source supports, and the same in other words."""

    id: str
    source: str
    claim: str
    rewrite: str
    how: str


def main() -> None:
    """Print the counts of the halves that the command names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--half", choices=(*HALVES, "both"), default="both")
    parser.add_argument("--only", choices=("pairs", "rewrites"))
    parser.add_argument("--json", action="store_true", help="one JSON object, no table")
    given = parser.parse_args()
    halves = HALVES if given.half == "both" else (given.half,)
    found: dict[str, dict[str, Any]] = {half: {} for half in halves}
    if given.only != "rewrites":
        for half in halves:
            found[half]["pairs"] = of_pairs(read_pairs(half))
    if given.only != "pairs":
        verifier = CrossEncoderVerifier(weights.locate(weights.VERIFIER))
        for half in halves:
            found[half]["rewrites"] = of_rewrites(read_rewrites(half), verifier)
    print(json.dumps(found) if given.json else _table(found))


def read_pairs(half: str) -> list[Pair]:
    """The pairs of a half, in the order of the file."""
    return [Pair(**row) for row in _rows(f"pairs-{half}.jsonl")]


def read_rewrites(half: str) -> list[Rewrite]:
    """The rewrites of a half, in the order of the file."""
    return [Rewrite(**row) for row in _rows(f"rewrites-{half}.jsonl")]


def _rows(name: str) -> list[dict[str, Any]]:
    lines = (CASES / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def says_same(claim: str, value: str, source: str) -> bool:
    """Whether the rules find that `source` states `value`, which stands in `claim`.

    It does if no value and no name that they call missing overlaps the words of `value`.
    """
    start = claim.index(value)
    spans = [found.span for found in quantities.unstated_values(claim, source)]
    for name in names.missing(claim, source):
        at = claim.find(name)
        spans.append(Span(at, at + len(name)))
    return not any(span.start < start + len(value) and start < span.end for span in spans)


def of_pairs(pairs: Sequence[Pair]) -> dict[str, dict[str, int]]:
    """Counts by kind and of all: equal pairs, how many read as equal, and so for unequal ones."""
    counts = {kind: Counter[str]() for kind in (*KINDS, "all")}
    for pair in pairs:
        word = "equal" if pair.equal else "unequal"
        right = says_same(pair.claim, pair.value, pair.source) is pair.equal
        for kind in (pair.kind, "all"):
            counts[kind].update({word: 1, f"{word}_right": int(right)})
    return {kind: dict(found) for kind, found in counts.items()}


def of_rewrites(
    rewrites: Sequence[Rewrite], verifier: CrossEncoderVerifier
) -> dict[str, dict[str, int]]:
    """Counts of false flags: by the verifier's probabilities alone, and with the missing values."""
    before = _judged([(each.claim, each.source) for each in rewrites], verifier)
    after = _judged([(each.rewrite, each.source) for each in rewrites], verifier)
    claims, reworded = [e.claim for e in rewrites], [e.rewrite for e in rewrites]
    alone = _false_flags(_labels(claims, before), _labels(reworded, after))
    shown = _false_flags(
        _labels(claims, before, with_missing=True), _labels(reworded, after, with_missing=True)
    )
    lacking = [
        sum(bool(unstated_atoms(text, [found.passage])) for text, found in judged)
        for judged in (zip(claims, before, strict=True), zip(reworded, after, strict=True))
    ]
    named = {"claims_with_missing": lacking[0], "rewrites_with_missing": lacking[1]}
    return {"verifier": alone, "with_missing_values": {**shown, **named}}


def _judged(pairs: Sequence[tuple[str, str]], verifier: CrossEncoderVerifier) -> list[Evidence]:
    """Evidence for each (sentence, source); a source is one passage."""
    given = [(Claim("", text), _passage(source)) for text, source in pairs]
    starts = range(0, len(given), BATCH)
    return [found for at in starts for found in verifier.verify(given[at : at + BATCH])]


def _passage(source: str) -> Passage:
    return Passage("source", "", "", source, Span(0, len(source)))


def _labels(
    texts: Sequence[str], judged: Sequence[Evidence], *, with_missing: bool = False
) -> list[Label]:
    """The label of each sentence; `with_missing`: as `verify` labels one of a single clause."""
    return [
        decide.label_of(found, atoms=unstated_atoms(text, [found.passage]) if with_missing else ())
        for text, found in zip(texts, judged, strict=True)
    ]


def _false_flags(claims: Sequence[Label], rewrites: Sequence[Label]) -> dict[str, int]:
    both = list(zip(claims, rewrites, strict=True))
    return {
        "n": len(both),
        "claims_not_supported": sum(label is not Label.SUPPORTED for label in claims),
        "claims_refuted": sum(label is Label.REFUTED for label in claims),
        "rewrites_not_supported": sum(label is not Label.SUPPORTED for label in rewrites),
        "rewrites_worse": sum(WORSE.index(new) > WORSE.index(old) for old, new in both),
        "rewrites_refuted": sum(label is Label.REFUTED for label in rewrites),
    }


def _table(found: dict[str, dict[str, Any]]) -> str:
    lines = []
    for half, of_half in found.items():
        for kind, n in of_half.get("pairs", {}).items():
            shares = [f"{word} {n[f'{word}_right']} of {n[word]}" for word in ("equal", "unequal")]
            lines.append(f"{half:6} {kind:6} right: {', '.join(shares)}")
        for way, counts in of_half.get("rewrites", {}).items():
            lines.append(f"{half:6} rewrites, {way.replace('_', ' ')}:")
            lines += [f"         {name.replace('_', ' ')}: {n}" for name, n in counts.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
