"""Fit and measure the notices of `documents.notices`: research/scripts/fit_notices.py [--write]

The pages are those of `tests/support/web_pages.py`; half of the texts is held out. A row is a page
and a kind whose cue it has; the label says whether the page is of that kind. The threshold is the
lowest at which no training page is taken for a notice that is a document, plus a margin.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests")]

from support.web_pages import Page, pages  # noqa: E402

from pincite.documents import html, html_head, html_text, markup, notices, outcome  # noqa: E402

C = 3.0  # inverse strength of the penalty
COST = 3.0  # weight of a document: calling it dead is worse than judging a notice
MARGIN = 0.05
SAME = {"blocked": ("robot", "blocked")}  # one kind of the texts, two of the cues


class Row(NamedTuple):
    page: Page
    kind: str
    label: bool
    features: dict[str, float]


def signs_of(page: Page) -> notices.Signs:
    parsed = markup.parse_page(page.source)
    assert parsed
    html_text.drop_camouflaged(parsed)
    html_text.join_terms(parsed)
    visible = html_text.visible_text(parsed)
    signs = html.signs_of(parsed, html_head.title_of(parsed), visible)
    return outcome.with_address(page.url, replace(signs, text=signs.text or visible.text))


def rows() -> list[Row]:
    found = []
    for page in pages():
        text = notices.PageText.of(signs_of(page))
        for kind in notices.possible_kinds(text):
            label = kind.name in SAME.get(page.kind, (page.kind,))
            found.append(Row(page, kind.name, label, notices.features(kind, text)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="replace the weights")
    parser.add_argument("--all", action="store_true", help="fit on both halves")
    given = parser.parse_args()
    found = rows()
    training = [row for row in found if given.all or not row.page.held_out]
    names = sorted({name for row in training for name in row.features})
    matrix = np.array([[row.features.get(name, 0.0) for name in names] for row in training])
    labels = [row.label for row in training]
    weight = [COST if row.page.kind == "document" else 1.0 for row in training]
    model = LogisticRegression(C=C, max_iter=5000).fit(matrix, labels, sample_weight=weight)
    scores = model.predict_proba(matrix)[:, 1]
    worst = max(
        (s for s, row in zip(scores, training, strict=True) if row.page.kind == "document"),
        default=0.5,
    )
    threshold = round(min(0.95, max(0.5, worst + MARGIN)), 2)
    print(f"{len(training)} rows, {sum(labels)} notices; documents at most {worst:.2f}")
    if given.write:
        write(
            dict(zip(names, map(float, model.coef_[0]), strict=True)),
            model.intercept_[0],
            threshold,
        )


def write(weights: dict[str, float], intercept: float, threshold: float) -> None:
    lines = [
        "# Written by research/scripts/fit_notices.py: logistic regression, a page and a kind of",
        "# notice whose cue it has, on pages written for the tests.",
        f"threshold = {threshold}",
        f"intercept = {intercept:.3f}",
        "",
        "[weights]",
        *(f"{name} = {weight:.3f}" for name, weight in sorted(weights.items())),
    ]
    notices.WEIGHTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
