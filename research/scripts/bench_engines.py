"""One collection in two corpora: time of a search, agreement of the rankings, evidence found.

    python research/scripts/bench_engines.py wafer-like/ kb/ postgresql://localhost/bench/kb --n 100

Of the first `--n` dev claims whose evidence is marked. The first corpus is what the others are
compared with; a claim's query is the one that `verify` asks, 100 passages deep.
"""

import argparse
import time
from pathlib import Path

from pincite import runtime
from pincite.corpus import engines
from pincite_lab.evaluation import wafer, wafer_measures
from pincite.retrieval import fusion
from pincite.retrieval.fusion import HybridQuery, Fused
from pincite.settings import load
from pincite.types import Hit
from pincite_lab.evaluation.wafer import claim_of

DEPTH, SHOWN = 100, 10


def timed(search: Fused, asked: list[HybridQuery]) -> tuple[list[list[Hit]], list[float]]:
    search.retrieve(asked[:3], DEPTH)
    hits, seconds = [], []
    for one in asked:
        started = time.perf_counter()
        hits += search.retrieve([one], DEPTH)
        seconds.append(time.perf_counter() - started)
    return hits, sorted(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collection", type=Path)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--n", type=int, default=100)
    given = parser.parse_args()
    records = wafer.open_collection(given.collection, "dev").records
    chosen = [record for record in records if record.supporting][: given.n]
    claims = list(map(claim_of, chosen))
    asked = [
        HybridQuery(fusion.lexical_query(one), fusion.dense_query(one)) for one in claims
    ]
    encoder, first = runtime.encoder(load({})), dict[str, list[list[Hit]]]()
    for address in given.corpora:
        with engines.open(address, encoder) as corpus:
            words, meaning = corpus.lexical(), corpus.dense()
            ways = {"words": Fused(words, None), "meaning": Fused(None, meaning)}
            for name, search in {**ways, "both": Fused(words, meaning)}.items():
                hits, seconds = timed(search, asked)
                levels = wafer_measures.measures_by_level(chosen, corpus, {"weighted": hits})
                found = levels["evidence"]["weighted"]
                known = first.setdefault(name, hits)
                shared = sum(len(best(a) & best(b)) for a, b in zip(known, hits, strict=True))
                print(
                    f"{address} {name}: p50 {1e3 * seconds[len(seconds) // 2]:.0f} ms,"
                    f" p95 {1e3 * seconds[int(len(seconds) * 0.95)]:.0f} ms;"
                    f" overlap@{SHOWN} {shared / sum(len(best(a)) for a in known):.3f};"
                    f" evidence P@1 {found['P@1']:.3f}, SR@10 {found['SR@10']:.3f}"
                )


def best(hits: list[Hit]) -> set[str]:
    return {hit.passage.passage_id for hit in hits[:SHOWN]}


if __name__ == "__main__":
    main()
