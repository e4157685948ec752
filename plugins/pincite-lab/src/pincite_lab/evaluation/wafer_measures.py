"""Measures on WAFER's records, as in SIDE: retrieval (table 4), failed citations (fig. 2c).

For retrieval they are, as in KILT (Petroni et al. 2021): *page*, by its best passage; *evidence*, a
passage with a sentence that annotators marked; *answer in context*, a passage of any page with an
answer's words, or with all sentences of a marked set where answers are addresses.
"""

import math
import re
import string
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from pincite.corpus.protocol import Corpus
from pincite.documents.jsonl import LabelledClaim
from pincite.durable import Tell
from pincite.protocols import Query, Verifier, WordRetriever
from pincite.retrieval import fusion
from pincite.settings import RetrievalSettings
from pincite.text.passages import passages
from pincite.types import Claim, Document, Hit
from pincite_lab.evaluation import claims, measures
from pincite_lab.evaluation.claims import FAILS, CutRow, Scores, cut
from pincite_lab.evaluation.wafer import Collection, WaferRecord, claim_of

SYSTEMS = ("side", "sparse", "dense", *fusion.MODES, "verified")
QUERIES_AT_ONCE = 64
_ADDRESS = re.compile(r"\w+://|\{")  # nor is "{Failed verification}" an answer
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)

Runs = dict[str, list[list[Hit]]]  # hits for each claim, by system


def evaluate_retrieval(
    collection: Collection,
    corpus: Corpus,
    verifier: Verifier,
    retrieval: RetrievalSettings,
    tell: Tell,
) -> dict[str, Any]:
    """Return all measures: `{"page": {"sparse": {…}, …}, "evidence": {…}, …}`.

    As in `verify`, sparse and dense return `depth` passages each, which are fused in every mode;
    "verified" is the chosen mode with its first `judged` passages reordered by the verifier.
    """
    queries = [claim_of(record) for record in collection.records]
    runs = _retrieve(queries, corpus, retrieval.depth, tell)
    runs["verified"] = _rerank(queries, runs[retrieval.fusion], verifier, retrieval.judged, tell)
    result = measures_by_level(collection.records, corpus, runs)
    is_featured = [record.featured for record in collection.records]
    if any(is_featured):
        parts = {"featured": is_featured, "others": [not flag for flag in is_featured]}
        result["by_featured"] = {
            name: measures_by_level(
                list(compress(collection.records, is_in_part)),
                corpus,
                {system: list(compress(run, is_in_part)) for system, run in runs.items()},
            )
            for name, is_in_part in parts.items()
        }
    return result


def measures_by_level(records: Sequence[WaferRecord], corpus: Corpus, runs: Runs) -> dict[str, Any]:
    cited = {str(n): dict.fromkeys(sorted(r.urls), 1) for n, r in enumerate(records)}
    marked = {str(n): r for n, r in enumerate(records) if r.supporting}
    evidence = {query: dict.fromkeys(_evidence_of(r, corpus), 1) for query, r in marked.items()}
    in_corpus = {query: grades for query, grades in evidence.items() if grades}
    systems = [system for system in SYSTEMS if system in runs]

    def ranking(system: str, field: str) -> dict[str, list[str]]:
        return {
            str(n): list(dict.fromkeys(getattr(hit.passage, field) for hit in hits))
            for n, hits in enumerate(runs[system])
        }

    return {
        "page": {s: measures.ranking_measures(cited, ranking(s, "url")) for s in systems},
        "evidence": {
            "n": len(in_corpus),
            "n_without_marks": len(records) - len(marked),
            "n_not_in_corpus": len(marked) - len(in_corpus),
            **{s: measures.ranking_measures(in_corpus, ranking(s, "passage_id")) for s in systems},
        },
        "answer_in_context": answers_in_context(records, {s: runs[s] for s in systems}),
    }


def answers_in_context(records: Sequence[WaferRecord], runs: Runs) -> dict[str, Any]:
    """Return the share of claims with an answer in their first k passages, by system and k.

    `n` is the number of claims that have an answer; if it is 0, there are no systems.
    """
    wanted = {n: answers for n, record in enumerate(records) if (answers := _answers(record))}
    shares: dict[str, Any] = {"n": len(wanted)}
    for system, run in runs.items() if wanted else ():
        ranks = [_rank_of_answer(answers, run[n]) for n, answers in wanted.items()]
        shares[system] = {
            f"AiC@{k}": round(sum(rank <= k for rank in ranks) / len(ranks), 4)
            for k in measures.CUTOFFS
        }
    return shares


def _answers(record: WaferRecord) -> list[list[str]]:
    """Return sets of texts that must all be in a passage: marked sentences, or answers in words."""
    if record.supporting:
        return [[_normal(sentence) for sentence in group] for group in record.supporting]
    words = (_normal(o.answer) for o in record.outputs if not _ADDRESS.match(o.answer))
    return [[answer] for answer in words if answer]


def _rank_of_answer(answers: list[list[str]], hits: Sequence[Hit]) -> float:
    for rank, hit in enumerate(hits, 1):
        text = f" {_normal(hit.passage.text)} "
        if any(all(f" {part} " in text for part in answer) for answer in answers):
            return rank
    return math.inf


@cache
def _normal(text: str) -> str:
    """Normalise answers like KILT: lower case, no punctuation, no articles, single spaces."""
    bare = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def _retrieve(queries: Sequence[Claim], corpus: Corpus, depth: int, tell: Tell) -> Runs:
    systems: dict[str, tuple[WordRetriever, Callable[[Claim], Query]]] = {
        "side": (corpus.lexical(), side_query),
        "sparse": (corpus.lexical(), fusion.lexical_query),
        "dense": (corpus.dense(), fusion.dense_query),
    }
    runs: Runs = {}
    for name, (retriever, query_of) in systems.items():
        runs[name] = []
        for start in range(0, len(queries), QUERIES_AT_ONCE):
            batch = [query_of(claim) for claim in queries[start : start + QUERIES_AT_ONCE]]
            runs[name] += retriever.retrieve(batch, depth)
            tell(name, len(runs[name]), len(queries))
    both = list(zip(runs["sparse"], runs["dense"], strict=True))
    for mode in fusion.MODES:
        runs[mode] = [fusion.fuse(*hits, 2 * depth, mode) for hits in both]
    return runs


def _rerank(
    queries: Sequence[Claim], fused: list[list[Hit]], verifier: Verifier, judged: int, tell: Tell
) -> list[list[Hit]]:
    """Reorder the first `judged` hits like `verify`; the rest follow."""
    reranked = []
    for claim, hits in zip(queries, fused, strict=True):
        read, unread = hits[:judged], hits[judged:]
        evidence = verifier.verify([(claim, hit.passage) for hit in read])
        scored = [
            (fusion.with_prior(support.score, share), hit)
            for support, share, hit in zip(evidence, fusion.shares(hits), read, strict=False)
        ]
        scored.sort(key=lambda pair: (-pair[0], pair[1].rank))
        scored += [(-math.inf, hit) for hit in unread]
        reranked.append(
            [Hit(hit.passage, score, rank) for rank, (score, hit) in enumerate(scored, 1)]
        )
        tell("verified", len(reranked), len(queries))
    return reranked


def _evidence_of(record: WaferRecord, corpus: Corpus) -> Iterator[str]:
    """Yield ids of the passages of the cited pages that hold a supporting sentence."""
    marked = [" ".join(sentence.split()) for group in record.supporting for sentence in group]
    documents: list[Document | None] = corpus.get(record.urls)
    for document in filter(None, documents):
        for passage in passages(document):
            text = " ".join(passage.text.split())
            if any(sentence in text for sentence in marked if sentence):
                yield passage.passage_id


# Citations that editors tagged {{failed verification}}, against others.

RECALL = 0.15  # SIDE reports the precision at this recall
_LABELS = {"supported": "support", "partially_supported": "partial", "not_supported": "not_support"}
_BOTH = {"support", "not_support"}  # without rows of both there is nothing to tell apart

Pages = Callable[[Sequence[str]], Sequence[Document | None]]


class Contrast(NamedTuple):
    """What failing citations are compared with, and the labelled records of both."""

    name: str
    rows: list[tuple[WaferRecord, str]]


# The label of a record that did not fail, by contrast; "": it is left out.
_CONTRASTS: Mapping[str, Callable[[WaferRecord], str]] = {
    "featured": lambda record: "support" if record.featured else "",  # as in SIDE
    "labelled": lambda record: _LABELS.get(record.label or "", ""),
    "others": lambda record: "support",
}


def contrast_of(records: Sequence[WaferRecord]) -> Contrast:
    """Return the first contrast that has rows of both labels; without a name if there is none."""
    for name, label_of in _CONTRASTS.items():
        labelled = [(r, "not_support" if r.failed else label_of(r)) for r in records]
        rows = [(record, label) for record, label in labelled if label]
        if {label for _, label in rows} >= _BOTH:
            return Contrast(name, rows)
    return Contrast("", [])


def measure_failures(
    collection: Collection, pages: Pages | None, verifier: Verifier | None, tell: Tell
) -> dict[str, Any] | None:
    """Return AUROC, average precision and curve of each system; None without a contrast.

    `pages` returns the stored pages at addresses; without it or `verifier`, only the addresses are
    scored.
    """
    contrast = contrast_of([*collection.records, *collection.failed])
    rows = [_cut_row(record, label, pages) for record, label in contrast.rows]
    systems = [claims.by_url_depth()]
    if verifier and pages:
        systems = [claims.by_verifier(verifier), *systems, claims.by_first_passages(verifier)]
        rows = [row for row in rows if row.row.evidence]
    labels = [row.row.label for row in rows]
    if not set(labels) >= _BOTH:
        return None
    scores = claims.predict_rows("failed verification", rows, systems, tell).systems
    results = {name: measure_system(labels, of_system) for name, of_system in scores.items()}
    return {
        "against": contrast.name,
        "labels": dict(Counter(labels)),
        "n_without_page": len(contrast.rows) - len(rows),
        "systems": {name: result.measures for name, result in results.items()},
        "curves": {name: result.curve for name, result in results.items() if result.curve},
    }


class SystemResult(NamedTuple):
    """How well one system finds failures."""

    measures: dict[str, Any]
    curve: list[dict[str, float]]  # of failures called at a score or below, lowest first


def measure_system(labels: Sequence[str], scores: Scores) -> SystemResult:
    """Measure how well low scores find failures; partly supported rows do not fail."""
    is_scored = ~np.isnan(scores.values)
    fails = np.isin(labels, FAILS)[is_scored]
    doubts = -claims.finite(scores.values[is_scored])
    points = measures.precision_recall(fails, doubts)
    reached = (point["precision"] for point in points if point["recall"] >= RECALL)
    found = measures.binary_measures(fails, doubts)
    of_system = {
        "n": len(fails),
        "n_failed": int(fails.sum()),
        "auroc": found["auroc"],
        "auroc_interval": measures.auroc_interval(fails, doubts),
        "average_precision": found["average_precision"],
        "precision_at_recall": next(reached, None),
    }
    curve = [{**point, "threshold": -point["threshold"]} for point in points]
    return SystemResult(of_system, curve)


def _cut_row(record: WaferRecord, label: str, pages: Pages | None) -> CutRow:
    stored = pages(record.urls) if pages else ()
    texts = [page.text for page in stored if page] or [
        page.text for output in record.outputs for page in output.provenance if page.text
    ]
    meta = {"urls": list(record.urls)}
    return cut(LabelledClaim(record.id, claim_of(record).text, "\n\n".join(texts), label, meta))


def side_query(claim: Claim) -> str:
    """Return SIDE's BM25 query without the generated title: the claim, then the article's title.

    (Petroni et al. 2023, Methods; the released code left a literal "[CIT]" in it.)

    >>> side_query(Claim("c1", "It opened in 1911.", title="Varde Bridge"))
    'It opened in 1911. Varde Bridge'
    """
    return " ".join(filter(None, (claim.text, claim.title)))
