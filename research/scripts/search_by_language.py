"""Measures word search by language: is a claim's own passage found among all passages of its set?

Usage: python research/scripts/search_by_language.py claims/dev/multilingual_dev.jsonl.gz
"""

import gzip
import json
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from pincite.corpus import engines
from pincite.documents.text import language_of
from pincite.types import Document


def main(path: Path) -> None:
    """Print recall@1 and recall@10 per pair of languages (claim, passage)."""
    rows = [json.loads(line) for line in gzip.open(path, "rt", encoding="utf-8")]
    texts = list(dict.fromkeys(row["evidence"] for row in rows))
    documents = [Document(f"{n}", "", t, language=language_of(t)) for n, t in enumerate(texts)]
    address = dict(zip(texts, documents, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        corpus = engines.create(Path(folder) / "corpus", None)
        corpus.add(documents)
        found = corpus.lexical().retrieve([row["claim"] for row in rows], 40)
        corpus.close()
    ranks = defaultdict[tuple[str, str], list[int]](list)
    for row, hits in zip(rows, found, strict=True):
        urls = list(dict.fromkeys(hit.passage.url for hit in hits))  # a text may have two passages
        url = address[row["evidence"]].url
        pair = row["meta"]["lang_claim"], row["meta"]["lang_passage"]
        ranks[pair].append(urls.index(url) if url in urls else 99)
    print(
        f"{len(texts)} texts\n| claim | passage | n | recall@1 | recall@10 |\n|---|---|---|---|---|"
    )
    for (claim, passage), of in sorted(ranks.items(), key=lambda x: (x[0][0] != x[0][1], x[0])):
        first, ten = (sum(rank < k for rank in of) / len(of) for k in (1, 10))
        print(f"| {claim} | {passage} | {len(of)} | {first:.2f} | {ten:.2f} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
