"""From a relevance logit and what rules can see to three probabilities.

Two logistic regressions, fitted by `tools/calibrate.py` on training collections only:

    score            = log-odds of support = w·x + b
    prob_supported   = σ(score)
    prob_refuted     = (1 − prob_supported) · σ(v·x + c)

with x as `FEATURES` names them. The ms-marco cross-encoder ranks passages by relevance and cannot
tell "opened in 1911" from "opened in 1913"; the features beside its logit can.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from pincite.core import figures, wording
from pincite.protocols import Floats
from pincite.types import Claim, Passage

FEATURES = ("logit", "figures_missing", "names_missing", "negation_differs", "figure_differs")
# Counts, not shares: one wrong year is as bad in a long claim as in a short one. From the third on
# a further missing figure says nothing new.
MOST_MISSING = 3
FITTED = Path(__file__).parent / "calibrations.json"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights in the order of FEATURES, the intercept last."""

    support: tuple[float, ...]
    refute: tuple[float, ...]
    name: str = "uncalibrated"

    def scores(self, features: Floats) -> tuple[Floats, Floats]:
        """Log-odds of support, and of refutation among what is not supported: (n_pairs,) each."""
        with_intercept = np.hstack([features, np.ones((len(features), 1), dtype=np.float32)])
        support = with_intercept @ np.array(self.support, dtype=np.float32)
        refute = with_intercept @ np.array(self.refute, dtype=np.float32)
        return support, refute


# A network nobody calibrated: its logit is the score, and it never says "refuted".
UNCALIBRATED = Calibration(
    support=(1.0, *[0.0] * len(FEATURES)), refute=(*[0.0] * len(FEATURES), -20.0)
)


@cache
def calibration_for(fingerprint: str) -> Calibration:
    """The calibration fitted for these very weights, or UNCALIBRATED."""
    fitted = json.loads(FITTED.read_text(encoding="utf-8")) if FITTED.exists() else {}
    found = fitted.get(fingerprint)
    if found is None:
        return UNCALIBRATED
    return Calibration(tuple(found["support"]), tuple(found["refute"]), found["name"])


def features(pairs: Sequence[tuple[Claim, Passage]], logits: Floats) -> Floats:
    """(n_pairs, len(FEATURES)) float32, row by row as FEATURES names the columns."""
    rows = [
        (float(logit), *_by_rule(claim.text, passage))
        for (claim, passage), logit in zip(pairs, logits, strict=True)
    ]
    return np.array(rows, dtype=np.float32).reshape(len(rows), len(FEATURES))


def _by_rule(claim: str, passage: Passage) -> tuple[float, float, float, float]:
    source = f"{passage.about}\n{passage.text}"
    sentence = wording.best_sentence(claim, passage.text)
    quoted = sentence.of(passage.text) if sentence else ""
    absent = figures.missing(claim, source)
    return (
        float(min(MOST_MISSING, len(absent))),
        float(min(MOST_MISSING, len(wording.missing_names(claim, source)))),
        float(bool(quoted) and wording.is_negated(claim) != wording.is_negated(quoted)),
        float(any(figures.rivals(figure, claim, quoted) for figure in absent)),
    )
