"""The cross-encoder that judges (claim, passage) pairs, and what it can say about why."""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pincite.core import figures, wording
from pincite.core.contrasts import contrasts, other_units
from pincite.errors import MissingModel
from pincite.models import calibration, weights
from pincite.models.judged import JudgedPairs
from pincite.models.session import Session
from pincite.protocols import Floats
from pincite.types import Claim, Evidence, Passage

MAX_TOKENS = 448  # a claim of 60 words and a wide passage of 250 fit; of longer rows the end is cut
MAX_NAMED = 4  # figures or names listed in a reason
SAYS = "the claim says “%(claim)s”, the quote “%(quote)s”"
NEGATED = "one of claim and quote is negated, the other is not"
OTHER_UNITS = "the claim and the quote give “%(figure)s” in different units"
NOT_NAMED = "the passage does not name %(names)s"
NOT_STATED = "the passage does not state %(figures)s"
SENTENCES = (SAYS, NEGATED, OTHER_UNITS, NOT_NAMED, NOT_STATED)  # for who says them again


class CrossEncoderVerifier:
    """A cross-encoder, calibrated together with features that rules compute.

    Its network has three logits (supported, refuted, neutral), or one that says "relevant", as
    the rerankers on the hub have.
    """

    def __init__(self, folder: Path, *, threads: int = 0, judged: Path | None = None) -> None:
        """Load the model.

        Args:
            folder: as `weights.locate` returns it.
            threads: 0 means all cores.
            judged: a file where logits are kept; None: nothing is kept.

        Raises:
            MissingModel: the folder holds no model that can be loaded.
        """
        card = weights.read_card(folder)
        self._session = Session(
            folder, max_tokens=card.get("max_tokens", MAX_TOKENS), threads=threads
        )
        if self._session.width not in (1, 3):
            raise MissingModel(
                f"{folder} has {self._session.width} outputs; a verifier has three (supported, "
                "refuted, neutral) or one (relevance)."
            )
        network = weights.fingerprint(folder)
        self.calibration = calibration.calibration_for(folder, self._session.width)
        self.fingerprint = f"{network}+{self.calibration.name}"
        self._judged = JudgedPairs(judged, network) if judged else None

    def close(self) -> None:
        """Close the file of judged pairs; the network goes with the object."""
        if self._judged:
            self._judged.close()

    def verify(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Evidence]:
        """Evidence for each pair, in order."""
        features = calibration.features(pairs, self.log_odds(pairs))
        support, refute = self.calibration.scores(features)
        supported = _sigmoid(support)
        refuted = (1 - supported) * _sigmoid(refute)
        return [
            _evidence(claim, passage, float(supported[i]), float(refuted[i]), float(support[i]))
            for i, (claim, passage) in enumerate(pairs)
        ]

    def seconds_a_pair(self, pairs: Sequence[tuple[Claim, Passage]]) -> float:
        """How long the network takes for one of these, tried out now; nothing is kept."""
        began = time.perf_counter()
        self._run([(claim.text, passage.text) for claim, passage in pairs])
        return (time.perf_counter() - began) / max(1, len(pairs))

    def relevance(self, pairs: Sequence[tuple[Claim, Passage]]) -> Floats:
        """How likely a passage bears on a question at all: log-odds, (n_pairs,).

        Supported or refuted against neutral; of a network with one logit that logit.
        """
        found = self.log_odds(pairs)
        support, refuted = found[:, 0], found[:, 1]  # the latter against neutral, which is then 0
        if self._session.width == 1:
            return support
        both: Floats = np.logaddexp(support + np.logaddexp(refuted, 0.0), refuted)
        return both

    def log_odds(self, pairs: Sequence[tuple[Claim, Passage]]) -> Floats:
        """What the network says, (n_pairs, 2): of support, and of refuted against neutral.

        Of a network with one logit this is (logit, 0). Claim first and bare: a title before it did
        harm. On the dev pages of the WAFER-like collection, P@1 of a supporting passage was 0.88
        with the bare claim, the same with the article's title, 0.65 with the sentence before.
        """
        rows = [(claim.text, passage.text) for claim, passage in pairs]
        logits = self._judged.logits(rows, self._run) if self._judged else self._run(rows)
        if logits.shape[1] == 1:
            return np.hstack([logits, np.zeros_like(logits)])
        supported, refuted, neutral = logits.T
        return np.stack([supported - np.logaddexp(refuted, neutral), refuted - neutral], axis=1)

    def _run(self, rows: Sequence[tuple[str, str]]) -> Floats:
        logits = np.zeros((len(rows), self._session.width), dtype=np.float32)
        for batch in self._session.run(rows):
            logits[batch.rows] = batch.output
        return logits


def _evidence(
    claim: Claim, passage: Passage, supported: float, refuted: float, score: float
) -> Evidence:
    return Evidence(
        passage=passage,
        prob_supported=supported,
        prob_refuted=refuted,
        prob_neutral=max(0.0, 1.0 - supported - refuted),
        score=score,
        quote=wording.best_quote(claim.text, passage.text),
        reasons=reasons(claim.text, passage),
    )


def reasons(claim: str, passage: Passage) -> tuple[str, ...]:
    """What a person should compare: figures and names of the claim that the passage lacks."""
    source = f"{passage.about}\n{passage.text}"
    sentence = wording.quoted_sentence(claim, passage.text)
    quoted = sentence.of(passage.text) if sentence else ""
    found = _figure_reasons(claim, source, quoted)
    absent = wording.missing_names(claim, source)
    if absent:
        named = ", ".join(f"“{name}”" for name in _whole_names(claim, absent[:MAX_NAMED]))
        found.append(NOT_NAMED % {"names": named})
    if quoted and wording.is_negated(claim) != wording.is_negated(quoted):
        found.append(NEGATED)
    found += [SAYS % {"claim": a, "quote": b} for a, b in contrasts(claim, quoted)]
    found += [
        OTHER_UNITS % {"figure": figure.span.of(claim)} for figure, _ in other_units(claim, quoted)
    ]
    return tuple(found)


def _whole_names(claim: str, names: Sequence[str]) -> list[str]:
    """Words of names put together where they stand side by side in the claim."""
    whole: list[str] = []
    for name in names:
        if whole and f"{whole[-1]} {name}" in claim:
            whole[-1] += f" {name}"
        else:
            whole.append(name)
    return whole


def _figure_reasons(claim: str, source: str, quoted: str) -> list[str]:
    """A figure with what the quote says instead, or the list of those that are not there."""
    absent = figures.missing(claim, source)
    if len(absent) == 1:
        rivals = figures.rivals(absent[0], claim, quoted)
        if len(rivals) == 1:
            said = rivals[0].span.of(quoted)
            return [SAYS % {"claim": absent[0].span.of(claim), "quote": said}]
    listed = ", ".join(f"“{figure.span.of(claim)}”" for figure in absent[:MAX_NAMED])
    return [NOT_STATED % {"figures": listed}] if absent else []


def _sigmoid(x: Floats) -> Floats:
    clipped = np.clip(x, -30, 30)  # beyond, the result is 0 or 1 in float32 anyway
    return np.asarray(1 / (1 + np.exp(-clipped)), dtype=np.float32)
