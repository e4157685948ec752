"""Does the title help a claim with a pronoun? python research/scripts/measure_titles.py CLAIMS

CLAIMS holds dev/ with contrast_dev and wice_claim_dev. Of both, the claims that begin with a pronoun
or a general noun ("It was …", "The company …") and do not have the title. All passages are read and
judged as by `pincite verify`, with the network's input as it is and with "title: " before the claim.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from pincite.documents.jsonl import read_labelled
from pincite.judgement import decide
from pincite.models import weights
from pincite.models.verifier import CrossEncoderVerifier
from pincite.retrieval import cascade
from pincite.settings import Settings
from pincite.text import paraphrase
from pincite.text.passages import cited_passages
from pincite.types import Claim, Document, Passage
from pincite.wiki.claims import _GENERAL, _IN_BRACKETS

Row = tuple[Claim, Document, str]


class Titled(CrossEncoderVerifier):
    """Reads a claim with `about` before it."""

    def _logits(self, pairs: Sequence[tuple[Claim, Passage]]) -> Any:
        rows = []
        for claim, p in pairs:
            text, read = paraphrase.verifier_input(claim.text, p.text, p.title, p.page)
            rows.append((f"{claim.about}: {text}" if claim.about else text, read))
        return self._run(rows) if rows else np.zeros((0, self._network.width), np.float32)


def general(path: Path) -> Iterator[Row]:
    for row in read_labelled(path):
        title = (row.meta.get("context") or {}).get("title") or row.meta.get("title") or ""
        about = _IN_BRACKETS.sub("", title)
        if about and _GENERAL.match(row.claim) and about.lower() not in row.claim.lower():
            claim = Claim("", row.claim, title, about=about)
            yield claim, Document(row.row_id, "", row.evidence), row.label


def measured(verifier: CrossEncoderVerifier, rows: Sequence[Row]) -> dict[str, Any]:
    pages = [cascade.Page(claim, cited_passages(document)) for claim, document, _ in rows]
    read = cascade.read_pages(pages, verifier.verify, decide.is_open, cascade.READ)
    labels = [decide.label_of(decide.deciding_evidence(each)) for each in read]
    scores = np.array([max(e.score for e in each) for each in read])
    sure = [n for n, (_, _, label) in enumerate(rows) if label != "partial"]
    found = roc_auc_score([rows[n][2] == "support" for n in sure], scores[sure])
    counts = Counter(f"{rows[n][2]}: {label}" for n, label in enumerate(labels))
    return {"rows": len(rows), "auroc": round(float(found), 3), **counts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("claims", type=Path)
    model = weights.locate(Settings().models.verifier)
    for name in ("contrast_dev", "wice_claim_dev"):
        rows = list(general(parser.parse_args().claims / "dev" / f"{name}.jsonl.gz"))
        for kind in (CrossEncoderVerifier, Titled):
            found = measured(kind(model), rows)
            print(json.dumps({"file": name, "titled": kind is Titled, **found}), flush=True)


if __name__ == "__main__":
    main()
