"""The calibration of a verifier: from its network's output and rules to three probabilities.

Two linear models, fitted by pincite-lab and stored next to the weights they belong to:

    score            = log-odds of support = w·x + b
    prob_supported   = σ(score)
    prob_refuted     = (1 − prob_supported) · σ(v·x + c)

with x as `FEATURES` names them. Networks miss some changed figures ("1911", "1913"); rules do not.
The scale is fitted on dev rows (Platt 1999), so that σ(score) is the share of such pairs that
people called supported.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from pincite.errors import MissingModel
from pincite.protocols import Floats
from pincite.text import names, quantities, tables, words
from pincite.text.antonyms import contrasts
from pincite.text.languages import common
from pincite.text.quantities import values as values_of
from pincite.types import Claim, Passage, Span, Witness

FEATURES = (
    "support",  # the network's log-odds of support; the relevance logit if it has only one
    "refuted",  # its log-odds of refuted against neutral; 0 if it has only one logit
    "figures_missing",  # not found on the passage's page, if available
    "names_missing",  # the same for names
    "negation_differs",
    "figure_differs",
    "contrast_differs",  # an antonym in the quote, without the claim's own word
    "witness",  # a rule shows that a sentence says otherwise
)
# Counts, not shares: one wrong year is as bad in a long claim as in a short one. Beyond the third,
# another missing figure adds no information.
MOST_MISSING = 3
FILE = "calibration.json"  # next to model.onnx
NEVER = 99.0
# For uncalibrated networks: high, since nothing is known about them. They must give "refuted" a
# probability of 0.9 (0.92 where a claim denies) and leave at most 0.08 to support.
CONTRARY_FROM, DENIED_FROM = 4.7, 5.0
# Lower log-odds of support are raised to this (a probability of 0.08): a network that is sure of no
# support, and torn between refuted and neutral, must not refute by that alone.
LEAST_SUPPORT = -2.5
# What each gap in a text costs it, in log-odds of support: sentences torn from their neighbours are
# read as if they were about one thing. Of 0, 0.05, 0.1, 0.15: research/verifier.md.
OF_A_GAP = 0.1


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights in the order of FEATURES, the intercept last."""

    support: tuple[float, ...]
    refute: tuple[float, ...]
    name: str = "uncalibrated"
    # `contrary` from which the network refutes without a rule's witness; and the same for a claim
    # that denies, since networks learn that "no" in a claim is a sign of falsehood.
    contrary_from: float = NEVER
    denied_from: float = NEVER
    # The same for a claim and a passage in two languages, where no rule compares words.
    across_from: float = NEVER
    # (threshold, share of failing citations below it, share of sound ones below it), by threshold.
    flags: tuple[tuple[float, float, float], ...] = ()

    def scores(self, features: Floats) -> tuple[Floats, Floats]:
        """Return log-odds of support, and of refutation given no support: (n_pairs,) each."""
        with_intercept = np.hstack([features, np.ones((len(features), 1), dtype=np.float32)])
        support = with_intercept @ np.array(self.support, dtype=np.float32)
        refute = with_intercept @ np.array(self.refute, dtype=np.float32)
        return support, refute

    def bounds(self, pairs: Iterable[tuple[Claim, Passage]]) -> Floats:
        """Return from which `contrary` the network refutes each claim: (n_pairs,)."""
        bounds = {"contrary": self.contrary_from, "denied": self.denied_from}
        bounds["across"] = self.across_from
        return np.array([bounds[kind_of(*pair)] for pair in pairs], dtype=np.float32)

    def rates_at(self, threshold: float) -> tuple[float, float] | None:
        """Return the shares of failing and of sound citations that are flagged, from dev rows.

        None if nothing was measured, or only at higher thresholds.
        """
        at = bisect_right([flag[0] for flag in self.flags], threshold + 1e-9)
        return self.flags[at - 1][1:] if at else None


_NO_RULES = (0.0,) * (len(FEATURES) - 2)
# Uncalibrated networks: their outputs are used unchanged. A network with one logit never refutes.
THREE_WAY = Calibration(
    (1.0, 0.0, *_NO_RULES, 0.0),
    (0.0, 1.0, *_NO_RULES, 0.0),
    contrary_from=CONTRARY_FROM,
    denied_from=DENIED_FROM,
)
ONE_LOGIT = Calibration((1.0, 0.0, *_NO_RULES, 0.0), (0.0, 0.0, *_NO_RULES, -20.0))


def calibration_for(folder: Path, n_labels: int) -> Calibration:
    """Return the calibration next to a model's weights, else a default; raises MissingModel."""
    path = folder / FILE
    if not path.exists():
        return THREE_WAY if n_labels == 3 else ONE_LOGIT
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["features"] != [*FEATURES, "intercept"]:
            raise ValueError(f"its features are {record['features']}")
        return Calibration(
            tuple(map(float, record["support"])),
            tuple(map(float, record["refute"])),
            str(record["name"]),
            float(record["contrary_from"]),
            float(record["denied_from"]),
            float(record.get("across_from", NEVER)),
            tuple((float(t), float(caught), float(false)) for t, caught, false in record["flags"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MissingModel(
            f"{path} is not a calibration that this version reads ({error}); expected one made by "
            "make calibrate. Make it again, or delete it to use the network uncalibrated."
        ) from error


def kind_of(claim: Claim, passage: Passage) -> str:
    """Return which bound counts for a pair: "across" two languages, else "denied" or "contrary"."""
    if is_across(claim, passage):
        return "across"
    return "denied" if words.is_negated(claim.text) else "contrary"


def is_across(claim: Claim, passage: Passage) -> bool:
    return not common(claim.text, passage.text, claim.language)


def contrary(log_odds: Floats, supported: Floats | None = None) -> Floats:
    """Return how certain the network alone is of a contradiction: (n_pairs,) log-odds.

    The log-odds of refutation minus those of support, which are raised to at least LEAST_SUPPORT. A
    network that confuses who did what to whom leaves more to support than one that sees a
    contradiction, so the difference is more informative than either. `log_odds` is (n_pairs, 2), of
    support and of refuted against neutral. `supported`, (n_pairs,) log-odds such as the best of the
    page, takes the place of the former.
    """
    support, refuted = log_odds[:, 0], log_odds[:, 1]
    # P(refuted) = (1 - P(supported)) · σ(refuted); its odds are against all the rest.
    both = -np.logaddexp(0.0, support) - np.logaddexp(0.0, -refuted)
    rest = np.log(-np.expm1(np.minimum(both, -1e-6)))
    least = np.maximum(support if supported is None else supported, LEAST_SUPPORT)
    return np.asarray(both - rest - least, dtype=np.float32)


def features(
    pairs: Sequence[tuple[Claim, Passage]], log_odds: Floats, seen: Sequence[Witness | None]
) -> Floats:
    """Return (n_pairs, len(FEATURES)) float32, with columns in the order of FEATURES.

    `log_odds` is (n_pairs, 2), the first two features. `seen` are contradictions found by rules.
    """
    rows = [
        (float(row[0]), float(row[1]), *_by_rule(claim, passage), float(witness is not None))
        for (claim, passage), row, witness in zip(pairs, log_odds, seen, strict=True)
    ]
    return np.array(rows, dtype=np.float32).reshape(len(rows), len(FEATURES))


def _by_rule(stated: Claim, passage: Passage) -> tuple[float, ...]:
    claim, language = stated.text, stated.language
    sentence = words.best_sentence(claim, passage.text)
    quoted = sentence.of(passage.text) if sentence else ""
    absent = tables.unstated_values(claim, f"{passage.about}\n{passage.text}", (language, None))
    quoted_values = values_of(quoted) if absent else []
    beside = _beside(sentence, passage.text)  # "It rose until May. Then it fell."
    return (
        *_missing(claim, passage.about, passage.page or passage.text, language),
        float(bool(quoted) and words.is_negated(claim) != words.is_negated(quoted)),
        float(
            any(quantities.conflict(other, value) for value in absent for other in quoted_values)
        ),
        float(any(word.lower() not in beside for word, _ in contrasts(claim, quoted))),
    )


def _beside(sentence: Span | None, text: str) -> list[str]:
    spans = words.sentences_of(text)
    at = spans.index(sentence) if sentence else 0
    near = spans[max(0, at - 1) : at + 2]
    return re.findall(r"\w+", text[near[0].start : near[-1].end].lower()) if near else []


@lru_cache(maxsize=64)  # shared by a page's passages
def _missing(claim: str, about: str, page: str, language: str) -> tuple[float, float]:
    source = f"{about}\n{page}"
    figures = tables.unstated_values(claim, source, (language, None))
    unnamed = names.missing(claim, source, language)
    return float(min(MOST_MISSING, len(figures))), float(min(MOST_MISSING, len(unnamed)))
