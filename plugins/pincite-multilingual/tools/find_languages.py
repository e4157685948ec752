"""Find the directions in which languages differ: find_languages.py CLAIMS.

CLAIMS: a claim file (*.jsonl.gz) with `meta.lang_claim` and `meta.lang_passage`. The means of the
passages of each language, and of all claims as queries, less the mean of all, span the directions.
Writes LANGUAGES; the network is then built again with make_multilingual.py --force.
"""

import argparse
import random
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
from make_multilingual import FOLDER, LANGUAGES, write

from pincite.documents.jsonl import read_labelled
from pincite.models.session import OnnxEncoder

WIDTH = 384
MOST_CLAIMS = 700


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("claims", type=Path)
    rows = list(read_labelled(parser.parse_args().claims))
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), np.zeros((0, WIDTH), dtype=np.float32))
        encoder = OnnxEncoder(Path(folder) / FOLDER)
    passages: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        passages[row.meta["lang_passage"]].add(row.evidence)
    means = [encoder.encode(sorted(texts), "passage").mean(0) for texts in passages.values()]
    claims = sorted({row.claim for row in rows if row.label == "support"})
    random.Random(1).shuffle(claims)  # noqa: S311
    queries = encoder.encode(claims[:MOST_CLAIMS], "query").mean(0)
    of_languages = np.stack(means) - np.mean(means, axis=0)
    _, _, axes = np.linalg.svd(of_languages, full_matrices=False)
    common = np.stack([np.mean(means, axis=0), queries])
    directions, _ = np.linalg.qr(np.vstack([axes[: len(means) - 1], common]).T)
    np.save(LANGUAGES, directions.T.astype(np.float32))
    print(f"{LANGUAGES}: {directions.shape[1]} directions from {len(means)} languages")


if __name__ == "__main__":
    main()
