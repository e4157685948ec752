"""Fit and measure `wiki.uncited`: python research/scripts/fit_citation_need.py ARTICLES [--write]

ARTICLES are JSON lines with `title` and `wikitext`. By a hash of the title a quarter is held back
for the report; the rest trains. The label is weak: does the sentence have a reference? Sentences
that a later reference of their paragraph stands for are left out, since nobody knows of which of
them it speaks; so are those that may go without one anyway. How much an article cites at all is no
matter of its sentences: in training each article has an intercept of its own. Only weights are
written.
"""

import argparse
import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_recall_curve

from pincite.types import Uncited
from pincite.wiki import uncited
from pincite.wiki.article import read_articles
from pincite.wiki.uncited import Sourced, about_living, find_uncited, place_of, prose
from pincite_lab.evaluation.measures import auroc_interval, binary_measures

C = 0.1  # inverse strength of the penalty: from 0.01 to 1 nothing changes by more than 0.01
MOST = 80  # sentences that an article counts as, at most: some have five hundred
LIVING = 0.5  # added for living people, by policy (WP:BLP): too few articles tell
THRESHOLD = 0.55
RECALLS = (0.1, 0.25, 0.5, 0.75)
PARTS = {"training": 200, "report": 256}  # up to this byte of the hash


class Row(NamedTuple):
    part: str
    title: str
    cited: bool
    features: dict[str, float]


def part_of(title: str) -> str:
    byte = hashlib.sha256(f"uncited:{title}".encode()).digest()[0]
    return next(name for name, end in PARTS.items() if byte < end)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("articles", type=Path)
    parser.add_argument("--write", action="store_true", help="replace the weights")
    parser.add_argument("--read", metavar="PART", help="print 50 findings of this part, drawn")
    given = parser.parse_args()
    articles = list(read_articles(given.articles))
    if given.read:
        show([(a.title, each) for a in articles if part_of(a.title) == given.read
              for each in find_uncited(a)])  # fmt: skip
        return
    rows = []
    for article in articles:
        living = about_living(article)
        rows += [
            Row(
                part_of(article.title),
                article.title,
                each.sourced is Sourced.CITED,
                uncited.features(each.claim.text, place_of(each, living=living)),
            )
            for each in prose(article)
            if each.exempt is None and each.sourced is not Sourced.COVERED
        ]
    training = [row for row in rows if row.part == "training"]
    names = sorted({name for row in training for name in row.features} - {"living"})
    weights, intercept = fitted(training, names)
    print(f"{Counter(part_of(article.title) for article in articles)} articles")
    report(rows, weights, intercept)
    if given.write:
        write(weights | {"living": LIVING}, intercept, training)


def fitted(rows: Sequence[Row], names: Sequence[str]) -> tuple[dict[str, float], float]:
    titles = sorted({row.title for row in rows})
    shares = Counter(row.title for row in rows)
    own = np.array([[row.title == title for title in titles] for row in rows], dtype=float)
    model = LogisticRegression(C=C, max_iter=5000).fit(
        np.hstack([matrix(rows, names), own]),
        [row.cited for row in rows],
        sample_weight=[min(1.0, MOST / shares[row.title]) for row in rows],
    )
    weights, of_articles = np.split(model.coef_[0], [len(names)])
    return (
        dict(zip(names, map(float, weights), strict=True)),
        float(model.intercept_[0] + of_articles.mean()),
    )


def matrix(rows: Sequence[Row], names: Sequence[str]) -> np.ndarray:
    return np.array([[row.features.get(name, 0.0) for name in names] for row in rows])


def report(rows: Sequence[Row], weights: dict[str, float], intercept: float) -> None:
    for part in PARTS:
        of_part = [row for row in rows if row.part == part]
        cited = np.array([row.cited for row in of_part])
        log_odds = intercept + matrix(of_part, list(weights)) @ np.array([*weights.values()])
        values = 1 / (1 + np.exp(-log_odds))
        n = len({row.title for row in of_part})
        measured = binary_measures(cited, values)
        print(f"{part}: {n} articles, {len(cited)} sentences, {cited.mean():.3f} with a citation")
        print(
            f"  AUROC {measured['auroc']:.3f} {auroc_interval(cited, values)}, "
            f"average precision {measured['average_precision']:.3f}"
        )
        precision, recall, _ = precision_recall_curve(cited, values)
        print("  " + ", ".join(
            f"P {max(precision[recall >= wanted]):.3f} at R {wanted}" for wanted in RECALLS
        ))  # fmt: skip
        above = values >= THRESHOLD
        print(
            f"  from {THRESHOLD}: P {cited[above].mean():.3f}, R {above[cited].mean():.3f}; "
            f"{int(above[~cited].sum())} of {int((~cited).sum())} uncited sentences are findings"
        )


def write(weights: dict[str, float], intercept: float, rows: Sequence[Row]) -> None:
    lines = [
        "# Written by research/scripts/fit_citation_need.py: logistic regression, cited against uncited",
        f"# sentences ({len(rows)}) of {len({row.title for row in rows})} articles of Wikipedia",
        "# in English (2016, CC BY-SA).",
        '# "living" is no estimate: policy asks for more of articles on living people.',
        f"threshold = {THRESHOLD}",
        f"intercept = {intercept:.3f}",
        "",
        "[weights]",
        *(f"{name} = {weight:.3f}" for name, weight in sorted(weights.items())),
    ]
    uncited.WEIGHTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def show(found: Sequence[tuple[str, Uncited]], n: int = 50) -> None:
    drawn = random.Random(7).sample(found, min(n, len(found)))  # noqa: S311
    print(f"{len(found)} findings in {len({title for title, _ in found})} articles")
    for number, (title, each) in enumerate(drawn, 1):
        section = " › ".join(each.claim.section)
        print(f"\n{number}. {title} › {section} · {each.probability:.2f}")
        print(f"   … {each.claim.before[-160:]}")
        print(f"   {each.claim.text}\n   {'; '.join(each.reasons)}")


if __name__ == "__main__":
    main()
