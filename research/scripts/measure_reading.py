"""What should be read of a page? python research/scripts/measure_reading.py CLAIMS SET [SET …]

Reads each row of CLAIMS/dev/SET.jsonl.gz in several ways, one after the other for every sixteen
rows, with the shipped network and calibration: passages alone (100 and 250 words, four at first and
up to sixteen while the page is open), the covering text alone, and beside passages of 100 words.
Prints the AUROC of support, its difference from passages alone (95 %, bootstrap over rows), the
share of rows called supported, and CPU-seconds a row. With --judged logits are cached, and the
times mean nothing.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from pincite.documents.jsonl import LabelledClaim, read_labelled
from pincite.judgement import decide
from pincite.models import weights
from pincite.models.verifier import CrossEncoderVerifier
from pincite.retrieval import cascade
from pincite.text.passages import PASSAGE_WORDS, WIDE_WORDS, windows
from pincite.types import Claim, Document, Evidence, Label

BATCH, SAMPLES, NOTHING = 16, 1000, -8.0
Way = Callable[[CrossEncoderVerifier, Sequence[LabelledClaim]], list[list[Evidence]]]


def alone(verifier: CrossEncoderVerifier, rows: Sequence[LabelledClaim]) -> list[list[Evidence]]:
    pages = []
    for row in rows:
        page = Document(row.row_id, "", row.evidence)
        cut = [*windows(page, PASSAGE_WORDS), *windows(page, WIDE_WORDS)]
        pages.append(cascade.Page(Claim("", row.claim), list(dict.fromkeys(cut))))
    return cascade.read_pages(pages, verifier.verify, decide.is_open, 16, 4)


def covering(most: int, first: int) -> Way:
    def way(verifier: CrossEncoderVerifier, rows: Sequence[LabelledClaim]) -> list[list[Evidence]]:
        pages = []
        for row in rows:
            cut = windows(Document(row.row_id, "", row.evidence), PASSAGE_WORDS)
            texts = cascade.with_covering(row.claim, cut)
            if most == 1:
                texts = texts[-1:]
            pages.append(cascade.Page(Claim("", row.claim), texts))
        return cascade.read_pages(pages, verifier.verify, decide.is_open, most, first)

    return way


WAYS: dict[str, Way] = {
    "passages": alone,
    "covering": covering(1, 1),
    "covering, 2": covering(2, 2),
    "covering, 2 to 4": covering(4, 2),
    "covering, 4 to 8": covering(8, 4),
    "covering, 4 to 16": covering(16, 4),
}


def report(rows: Sequence[LabelledClaim], read: dict[str, list[list[Evidence]]]) -> None:
    chance = np.random.default_rng(13)
    y = np.array([row.label == "support" for row in rows])
    draws = [chance.integers(0, len(y), len(y)) for _ in range(SAMPLES)]
    scores = {
        name: np.array([max((e.score for e in page), default=NOTHING) for page in pages])
        for name, pages in read.items()
    }
    for name, pages in read.items():
        best = [decide.deciding_evidence(page) for page in pages]
        labels = [decide.label_of(each) if each else Label.UNCHECKED for each in best]
        counts = {}
        for row, label in zip(rows, labels, strict=True):
            kind = str(row.meta.get("kind") or row.label)
            n, of = counts.get(kind, (0, 0))
            counts[kind] = (n + (label is Label.SUPPORTED), of + 1)
        accused = sum(label is Label.REFUTED for label, true in zip(labels, y, strict=True) if true)
        auroc = roc_auc_score(y, scores[name])
        gains = [
            roc_auc_score(y[d], scores[name][d]) - roc_auc_score(y[d], scores["passages"][d])
            for d in draws
            if 0 < y[d].sum() < len(d)
        ]
        low, high = np.quantile(gains, [0.025, 0.975])
        gain = auroc - roc_auc_score(y, scores["passages"])
        shares = " ".join(f"{kind} {n}/{of}" for kind, (n, of) in sorted(counts.items()))
        print(
            f"  {name:18} {auroc:.4f} {gain:+.4f} [{low:+.3f}, {high:+.3f}]  true accused {accused}  {shares}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("claims", type=Path)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--judged", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--model", default=weights.VERIFIER)
    given = parser.parse_args()
    verifier = CrossEncoderVerifier(weights.locate(given.model), threads=2, judged=given.judged)
    for name in given.sets:
        rows = list(read_labelled(given.claims / "dev" / f"{name}.jsonl.gz"))[:: given.every]
        read: dict[str, list[list[Evidence]]] = {way: [] for way in WAYS}
        spent = dict.fromkeys(WAYS, 0.0)
        for start in range(0, len(rows), BATCH):
            for way, of in WAYS.items():
                began = time.process_time()
                read[way] += of(verifier, rows[start : start + BATCH])
                spent[way] += time.process_time() - began
        print(f"{name}, {len(rows)} rows; pairs and CPU-seconds a row:")
        for way, pages in read.items():
            print(
                f"  {way:18} {sum(map(len, pages)) / len(rows):5.1f} {spent[way] / len(rows):.3f}"
            )
        report(rows, read)


if __name__ == "__main__":
    main()
