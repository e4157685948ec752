"""Fit the weights of `retrieval.fusion.LEARNT`: python research/scripts/fit_fusion.py RUNS

RUNS holds lexical.run, dense.run and the .qrels of claims that nothing is reported on:

    pincite eval beir COLLECTION --split train --run-out RUNS --system lexical --system dense

Each relevant document is set against each other one that either run brought for its query, and a
logistic regression without intercept over the differences of their features tells which is which
(RankNet's loss with a linear scorer: Burges et al. 2005, §3). Five folds of queries say whether it
ranks better than the weighted sum does, before all of them give the weights.
"""

import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

import ir_measures
import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from pincite.evaluation.beir import Ranked
from pincite.retrieval import fusion
from pincite.types import Hit, Passage, Span

SEED = 13
FOLDS = 5
RUNS = ("lexical", "dense")
Doubles = npt.NDArray[np.float64]
Features = dict[str, list[float]]  # document → share and reciprocal rank, of words, of meaning


def main() -> None:
    folder = Path(sys.argv[1])
    runs = [read_run(folder / f"{name}.run") for name in RUNS]
    qrels: dict[str, dict[str, int]] = {}
    for row in ir_measures.read_trec_qrels(str(next(folder.glob("*.qrels")))):
        qrels.setdefault(row.query_id, {})[row.doc_id] = row.relevance
    queries = {q: features([run.get(q, []) for run in runs]) for q in qrels}
    relevant = {q: {d for d, grade in judged.items() if grade > 0} for q, judged in qrels.items()}
    names = np.array(list(queries))
    held = []
    for train, test in KFold(FOLDS, shuffle=True, random_state=SEED).split(names):
        weights = fitted([(queries[q], relevant[q]) for q in names[train]])
        held += [reciprocal_rank(queries[q], relevant[q], weights) for q in names[test]]
    before = np.array([1 - fusion.DENSE_SHARE, 0, fusion.DENSE_SHARE, 0])
    now = [reciprocal_rank(queries[q], relevant[q], before) for q in names]
    print(f"{len(names)} queries; reciprocal rank of the first relevant document:")
    print(f"  weighted sum {statistics.mean(now):.4f}, learnt, folds {statistics.mean(held):.4f}")
    weights = fitted([(queries[q], relevant[q]) for q in names])
    weights = weights / np.abs(weights).sum()
    (a, b, c, d) = (round(float(w), 3) for w in weights)
    print(f"LEARNT = (({a}, {b}), ({c}, {d}))")


def read_run(path: Path) -> dict[str, list[Ranked]]:
    """The documents of each query, best first."""
    found: dict[str, list[Ranked]] = {}
    for row in ir_measures.read_trec_run(str(path)):
        found.setdefault(row.query_id, []).append(Ranked(row.doc_id, row.score))
    return {q: sorted(of, key=lambda one: -one.score) for q, of in found.items()}


def features(runs: Sequence[Sequence[Ranked]]) -> Features:
    found: Features = {}
    for n, run in enumerate(runs):
        hits = [Hit(Passage(d, d, "", "", Span(0, 0)), s, r) for r, (d, s) in enumerate(run, 1)]
        for hit, share in zip(hits, fusion.shares(hits), strict=True):
            row = found.setdefault(hit.passage.url, [0.0] * 4)
            row[2 * n : 2 * n + 2] = share, fusion.RRF_K / (fusion.RRF_K + hit.rank)
    return found


def fitted(queries: Sequence[tuple[Features, set[str]]]) -> Doubles:
    differences = [
        np.subtract(row, other)
        for found, relevant in queries
        for document, row in found.items()
        if document in relevant
        for name, other in found.items()
        if name not in relevant
    ]
    rows = np.array(differences)
    half = np.arange(len(rows)) % 2 == 0
    rows[half] *= -1  # both classes, as the regression asks for
    model = LogisticRegression(fit_intercept=False, C=1.0).fit(rows, ~half)
    return np.asarray(model.coef_[0])


def reciprocal_rank(found: Features, relevant: set[str], weights: Doubles) -> float:
    order = sorted(found, key=lambda name: -float(weights @ np.array(found[name])))
    return next((1 / rank for rank, name in enumerate(order, 1) if name in relevant), 0.0)


if __name__ == "__main__":
    main()
