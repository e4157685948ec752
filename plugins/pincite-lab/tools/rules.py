"""How often each rule fires and is right, on rows that did not choose it: a rule's budget.

    python plugins/pincite-lab/tools/rules.py ROWS.jsonl.gz... [--most 1500] [--show RULE]

ROWS have `claim`, `evidence` and `label`; names of their files are printed. A rule that contradicts
is right on refuted claims (where the file tells them apart, else on unsupported ones), one that
limits or refuses on all that are not wholly supported. A rule with fewer than ten hits or a
precision below 0.8 goes (docs/judging.md).
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from pincite.documents.jsonl import LabelledClaim, read_labelled
from pincite.judgement.attribution import misattribution
from pincite.judgement.contradictions import contradictions
from pincite.judgement.force import find_weakening
from pincite.judgement.other_values import value_of_another
from pincite.text.passages import cited_passages
from pincite.types import Claim, Document

LEAST_HITS, LEAST_PRECISION = 10, 0.8


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--most", type=int, default=1500, help="rows of a file")
    parser.add_argument("--show", default="", help="print the hits of this rule")
    args = parser.parse_args()
    hits: dict[str, Counter[tuple[str, bool]]] = defaultdict(Counter)
    for file in args.files:
        rows = list(read_labelled(file))
        refuted = any(row.label == "refute" for row in rows)
        for row in rows[:: max(1, len(rows) // args.most)]:
            for rule, words in dict(fired(row)).items():
                contrary = rule.startswith("contradicts") and refuted
                right = row.label == "refute" if contrary else row.label != "support"
                hits[rule][file.name.removesuffix(".jsonl.gz"), right] += 1
                if args.show and args.show in rule:
                    print("+" if right else "-", row.row_id, row.label, words)
    print(f"{'rule':<38}{'hits':>6}{'right':>7}{'precision':>11}  by file")
    for rule, counted in sorted(hits.items()):
        n = counted.total()
        n_right = sum(count for (_, is_right), count in counted.items() if is_right)
        files = sorted({name for name, _ in counted})
        by_file = ", ".join(
            f"{f} {counted[f, True]}/{counted[f, True] + counted[f, False]}" for f in files
        )
        goes = n < LEAST_HITS or n_right < LEAST_PRECISION * n
        print(f"{rule:<38}{n:>6}{n_right:>7}{n_right / n:>11.2f}  {'GOES ' * goes}{by_file}")


def fired(row: LabelledClaim) -> Iterator[tuple[str, str]]:
    """Yield each rule that fires on some passage of a row, once, with the words it shows."""
    title = row.meta.get("title") or ""
    claim, document = Claim(row.row_id, row.claim, title), Document("", title, row.evidence)
    for passage in cited_passages(document):
        for rule, witness in contradictions(claim, passage, document.text):
            yield f"contradicts: {rule}", f"{witness.source} · {witness.claim}"
        if limit := find_weakening(claim, passage):
            yield "limits: force", limit.source
        if given := value_of_another(claim.text, passage.text):
            yield "limits: owner", f"{given.source} · {given.claim}"
        if other := misattribution(claim, passage):
            yield f"refuses: {other.kind}", str(other.note)


if __name__ == "__main__":
    main()
