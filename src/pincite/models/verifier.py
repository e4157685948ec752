"""The cross-encoder that judges (claim, passage) pairs, and what it can say about why."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pincite.core import figures, wording
from pincite.models import calibration, weights
from pincite.models.session import Session
from pincite.protocols import Floats
from pincite.types import Claim, Evidence, Passage

MAX_TOKENS = 320  # a claim of 60 words and a passage of 100 fit; of longer rows the end is cut
MAX_NAMED = 3  # names listed in a reason


class CrossEncoderVerifier:
    """A one-logit cross-encoder, calibrated together with features that rules compute."""

    def __init__(self, folder: Path, *, threads: int = 0) -> None:
        """Load the model; raises MissingModel where the folder holds none."""
        card = weights.read_card(folder)
        self._session = Session(
            folder, max_tokens=card.get("max_tokens", MAX_TOKENS), threads=threads
        )
        network = weights.fingerprint(folder)
        self.calibration = calibration.calibration_for(network)
        self.fingerprint = f"{network}+{self.calibration.name}"

    def verify(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Evidence]:
        """Evidence for each pair, in order."""
        features = calibration.features(pairs, self.logits(pairs))
        support, refute = self.calibration.scores(features)
        supported = _sigmoid(support)
        refuted = (1 - supported) * _sigmoid(refute)
        return [
            _evidence(claim, passage, float(supported[i]), float(refuted[i]), float(support[i]))
            for i, (claim, passage) in enumerate(pairs)
        ]

    def logits(self, pairs: Sequence[tuple[Claim, Passage]]) -> Floats:
        """The network's raw output, (n_pairs,). Claim first and bare: a title before it did harm.

        On the dev pages of the WAFER-like collection, P@1 of a supporting passage was 0.88 with
        the bare claim, the same with the article's title, 0.65 with the sentence before.
        """
        logits = np.zeros(len(pairs), dtype=np.float32)
        rows = [(claim.text, passage.text) for claim, passage in pairs]
        for batch in self._session.run(rows):
            logits[batch.rows] = batch.output[:, 0]
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
        quote=wording.best_sentence(claim.text, passage.text),
        reasons=reasons(claim.text, passage),
    )


def reasons(claim: str, passage: Passage) -> tuple[str, ...]:
    """What a person should compare: figures and names of the claim that the passage lacks."""
    source = f"{passage.title}\n{passage.text}"
    found = [
        f"the claim says “{figure.span.of(claim)}”, the passage does not"
        for figure in figures.missing(claim, source)[:MAX_NAMED]
    ]
    absent = wording.missing_names(claim, source)
    if absent:
        found.append(f"the passage does not name {', '.join(absent[:MAX_NAMED])}")
    sentence = wording.best_sentence(claim, passage.text)
    if sentence and wording.is_negated(claim) != wording.is_negated(sentence.of(passage.text)):
        found.append("one of claim and quote is negated, the other is not")
    return tuple(found)


def _sigmoid(x: Floats) -> Floats:
    clipped = np.clip(x, -30, 30)  # beyond, the result is 0 or 1 in float32 anyway
    return np.asarray(1 / (1 + np.exp(-clipped)), dtype=np.float32)
