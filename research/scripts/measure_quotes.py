"""How often is a quote a sentence that people marked? python research/scripts/measure_quotes.py FILE...

    python research/scripts/measure_quotes.py claims/dev/wice_claim_dev.jsonl.gz --scifact scifact/

FILE: claims with evidence and labels, whose `meta.supporting` numbers the lines that speak for the
claim (WiCE, and Check-COVID as `research/scripts/claim_sets.py` writes it). FOLDER: SciFact, of which the dev
claims with their rationales are read.

Each claim that is supported, wholly or in part, is judged as `pincite verify` judges a citation. Of
those whose best passage holds a marked sentence the quotes are counted that overlap one: as they
are, and as the claim's words alone would choose them.
"""

import argparse
import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pincite.documents.jsonl import LabelledClaim, read_labelled
from pincite.judgement import decide
from pincite.models import weights
from pincite.models.verifier import CrossEncoderVerifier
from pincite.text import words
from pincite.types import Claim
from pincite_lab.evaluation.claims import cut
from pincite_lab.evaluation.measures import wilson

SPEAKS = ("support", "partial")
MOST_OF = 0.8  # of a sentence's words: then it is in the quote, wherever the text was cut
HALF = 0.5  # of a sentence's letters: then it is told by a quote from its midst


def main() -> None:
    """Judge, and print a JSON object for each file and label."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--scifact", type=Path, help="folder with corpus and claims_dev")
    parser.add_argument("--threads", type=int, default=0)
    args = parser.parse_args()
    verifier = CrossEncoderVerifier(weights.locate(weights.VERIFIER), threads=args.threads)
    sets = [(path.name, list(read_labelled(path))) for path in args.files]
    if args.scifact:
        sets.append(("scifact, dev", list(scifact(args.scifact))))
    for name, rows in sets:
        for label in SPEAKS:
            of_label = [row for row in rows if row.label == label and marked(row)]
            if of_label:
                print(json.dumps({"file": name, "label": label, **told(of_label, verifier)}))


def scifact(folder: Path) -> Iterator[LabelledClaim]:
    """The dev claims with each abstract that supports them, a sentence a line."""
    abstracts = {str(row["doc_id"]): row["abstract"] for row in _lines(folder / "corpus.jsonl.gz")}
    for claim in _lines(folder / "claims_dev.jsonl.gz"):
        for doc_id, found in claim["evidence"].items():
            if found[0]["label"] == "SUPPORT":
                lines = [" ".join(line.split()) for line in abstracts[doc_id]]
                sets = [each["sentences"] for each in found]
                text = "\n".join(lines)
                yield LabelledClaim(doc_id, claim["claim"], text, "support", {"supporting": sets})


def marked(row: LabelledClaim) -> list[str]:
    """The lines that people marked, with single blanks."""
    lines = row.evidence.split("\n")
    numbers = {n for each in row.meta.get("supporting", ()) for n in each if n < len(lines)}
    return [line for n in sorted(numbers) if (line := " ".join(lines[n].split()))]


def told(rows: Iterable[LabelledClaim], verifier: CrossEncoderVerifier) -> dict[str, Any]:
    """How many best passages hold a marked sentence, and of those how many quotes overlap one."""
    n = n_hold = n_now = n_words = 0
    for row in rows:
        pairs = [(Claim("", row.claim), passage) for passage in cut(row).passages]
        best = decide.best(verifier.verify(pairs))
        n += 1
        if best is None or not _overlap(best.passage.text, marked(row)):
            continue
        by_words = words.best_quote(row.claim, best.passage.text)
        n_hold += 1
        n_now += _overlap(best.quoted, marked(row))
        n_words += by_words is not None and _overlap(by_words.of(best.passage.text), marked(row))
    return {
        "n": n,
        "passage_holds": n_hold,
        "quote_says": round(n_now / max(1, n_hold), 3),
        "interval": wilson(n_now, n_hold),
        "by_words_alone": round(n_words / max(1, n_hold), 3),
        "by_words_alone_interval": wilson(n_words, n_hold),
    }


def _overlap(text: str, lines: Iterable[str]) -> bool:
    """Whether a text holds one of the lines, most of its words, or half of it and nothing else."""
    text = " ".join(text.split())
    said = set(text.split())
    return any(
        line in text
        or (text in line and len(text) > HALF * len(line))
        or len(said & set(line.split())) > MOST_OF * len(set(line.split()))
        for line in lines
    )


def _lines(path: Path) -> Iterator[Any]:
    with gzip.open(path, "rt", encoding="utf-8") as rows:
        yield from map(json.loads, rows)


if __name__ == "__main__":
    main()
