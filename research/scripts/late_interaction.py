"""Would late interaction (ColBERT) tell support better than one vector per passage?

    python research/scripts/late_interaction.py claims/dev/scifact_dev.jsonl.gz

Khattab & Zaharia (2020), as SIDE scores: the mean over the claim's tokens of the largest cosine
with a passage's token; the best passage counts. The tokens are the shipped encoder's, which was
not trained for it. Rows labelled partial are left out.
"""

import sys
from pathlib import Path

import numpy as np

from pincite.documents.jsonl import read_labelled
from pincite.models import weights
from pincite.models.session import ENCODER_TOKENS, Session
from pincite.protocols import Floats
from pincite_lab.evaluation.claims import CutRow, cut
from pincite_lab.evaluation.measures import aurocs


def main(path: Path) -> None:
    """Print the AUROC of support of both readouts."""
    session = Session(weights.locate("all-MiniLM-L6-v2"), max_tokens=ENCODER_TOKENS)
    rows = [cut(row) for row in read_labelled(path) if row.label != "partial"]
    scores = np.array([best(session, row) for row in rows if row.passages])
    supported = np.array([row.row.label == "support" for row in rows if row.passages])
    ones = np.ones((1, len(scores)))
    for name, values in zip(("one vector", "late interaction"), scores.T, strict=True):
        print(f"{name:18}{aurocs(supported, values, ones)[0]:.3f}  of {len(values)} rows")


def best(session: Session, row: CutRow) -> tuple[float, float]:
    """Return the best passage's cosine of means, and its mean of largest cosines."""
    outputs = dict(session.run([row.row.claim, *(p.text for p in row.passages)]))
    claim = outputs.pop(0)
    means = [unit(claim.mean(0)) @ unit(tokens.mean(0)) for tokens in outputs.values()]
    late = [(unit(claim) @ unit(tokens).T).max(1).mean() for tokens in outputs.values()]
    return float(max(means)), float(max(late))


def unit(vectors: Floats) -> Floats:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
