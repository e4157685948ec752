"""A WAFER-like collection: is the cited page found, and the passage that supports the claim?

Levels, as in KILT (Petroni et al. 2021): *page*, by its best passage; *evidence*, a passage with a
sentence that annotators marked; *answer in context*, a passage of any page with an answer's words,
or with all sentences of a marked set where answers are addresses.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pincite.corpus.protocol import Corpus
from pincite.documents import jsonl
from pincite.documents.jsonl import LabelledClaim
from pincite.errors import InputError
from pincite.protocols import Query, Verifier, WordRetriever
from pincite.retrieval import fusion, retrievers
from pincite.text.passages import passages
from pincite.types import Claim, Document, Hit, Passage
from pincite.verbs.verify.pipeline import VerifyPipeline
from pincite_lab.evaluation import claims, measures
from pincite_lab.evaluation.claims import FAILS, CutRow, Predictions, cut
from pincite_lab.wafer.collection import WaferRecord, claim_of, read_records

SYSTEMS = ("side", "sparse", "dense", *fusion.MODES, "verified")
QUERIES_AT_ONCE = 64
_ADDRESS = re.compile(r"\w+://|\{")  # nor is "{Failed verification}" an answer
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)

RECALL = 0.15  # SIDE reports the precision at this recall
_LABELS = {"supported": "support", "partially_supported": "partial", "not_supported": "not_support"}

Tell = Callable[[str, int, int], None]  # what, done, in all
Pages = Callable[[Sequence[str]], Sequence[Document | None]]


@dataclass(frozen=True, slots=True)
class Collection:
    """The claims of a split with the pages cited for them."""

    records: tuple[WaferRecord, ...]
    corpus_file: Path | None  # None: there is nothing to search
    failed: tuple[WaferRecord, ...] = ()  # tagged {{failed verification}}: not used for retrieval

    @property
    def claims(self) -> list[Claim]:
        return [claim_of(record) for record in self.records]


def open_collection(folder: Path, split: str) -> Collection:
    """Read `SPLIT.jsonl` and find `corpus-SPLIT.jsonl` or `corpus.jsonl`, each plain or .gz.

    The optional `fail-SPLIT.jsonl` has the citations that were tagged as failing.

    Raises:
        InputError: A file is missing or a record is malformed.
    """
    path, failures = jsonl.find(folder, split), jsonl.find(folder, f"fail-{split}")
    if path is None:
        raise InputError(f"{folder} has no {split}.jsonl; expected a WAFER-like collection.")
    records = [one for file in (path, failures) if file for one in read_records(file)]
    if not records:
        raise InputError(f"{folder} has no records in split {split!r}; expected WAFER JSON lines.")
    return Collection(
        tuple(record for record in records if not record.failed),
        jsonl.find(folder, f"corpus-{split}", "corpus"),
        tuple(record for record in records if record.failed),
    )


def evaluate(
    collection: Collection,
    corpus: Corpus,
    pipeline: VerifyPipeline,
    tell: Tell = lambda what, done, total: None,
    mode: fusion.Mode = "weighted",
) -> dict[str, Any]:
    """Return all measures: `{"page": {"sparse": {…}, …}, "evidence": {…}, …}`.

    As in `pipeline`, sparse and dense return `depth` passages each, which are fused in every mode;
    "verified" is `mode` with its first `judged` passages reordered by the verifier.
    """
    runs = _retrieved(collection.claims, corpus, pipeline, tell)
    runs["verified"] = _verified(collection.claims, runs[mode], pipeline, tell)
    rows = list(enumerate(collection.records))
    featured = [n for n, record in rows if record.featured]
    parts = {"featured": featured, "others": [n for n, r in rows if not r.featured]}
    result = levels(collection.records, corpus, runs)
    if featured:
        result["by_featured"] = {
            name: levels(
                [collection.records[n] for n in numbers],
                corpus,
                {system: [run[n] for n in numbers] for system, run in runs.items()},
            )
            for name, numbers in parts.items()
        }
    return result


def levels(
    records: Sequence[WaferRecord], corpus: Corpus, runs: dict[str, list[list[Hit]]]
) -> dict[str, Any]:
    pages = {str(n): dict.fromkeys(sorted(record.urls), 1) for n, record in enumerate(records)}
    marked = {
        str(n): dict.fromkeys(_evidence_of(record, corpus), 1)
        for n, record in enumerate(records)
        if record.supporting
    }
    found = {query: grades for query, grades in marked.items() if grades}
    systems = [system for system in SYSTEMS if system in runs]
    by_page = {
        s: {
            str(n): list(dict.fromkeys(h.passage.url for h in hits))
            for n, hits in enumerate(runs[s])
        }
        for s in systems
    }
    by_passage = {
        s: {str(n): [hit.passage.passage_id for hit in hits] for n, hits in enumerate(runs[s])}
        for s in systems
    }
    return {
        "page": {s: measures.ranking_measures(pages, by_page[s]) for s in systems},
        "evidence": {
            "n": len(found),
            "n_without_marks": len(records) - len(marked),
            "n_not_in_corpus": len(marked) - len(found),
            **{s: measures.ranking_measures(found, by_passage[s]) for s in systems},
        },
        "answer_in_context": in_context(records, {s: runs[s] for s in systems}),
    }


def in_context(
    records: Sequence[WaferRecord], runs: Mapping[str, list[list[Hit]]]
) -> dict[str, Any]:
    """Return the share of claims with an answer in their first k passages, by system and k.

    `n` is the number of claims that have an answer; if it is 0, there are no systems.
    """
    wanted = {n: answers for n, record in enumerate(records) if (answers := _answers(record))}
    shares = {system: _in_context(wanted, run) for system, run in runs.items() if wanted}
    return {"n": len(wanted), **shares}


def _answers(record: WaferRecord) -> list[list[str]]:
    """Return sets of texts that must all be in a passage: marked sentences, or answers in words."""
    if record.supporting:
        return [[_normal(sentence) for sentence in each] for each in record.supporting]
    words = (_normal(o.answer) for o in record.outputs if not _ADDRESS.match(o.answer))
    return [[answer] for answer in words if answer]


def _in_context(wanted: dict[int, list[list[str]]], run: list[list[Hit]]) -> dict[str, float]:
    places = []
    for n, answers in wanted.items():
        texts = (f" {_normal(hit.passage.text)} " for hit in run[n])
        holding = (
            rank
            for rank, text in enumerate(texts, 1)
            if any(all(f" {one} " in text for one in each) for each in answers)
        )
        places.append(next(holding, None))
    return {
        f"AiC@{k}": round(sum(p is not None and p <= k for p in places) / len(places), 4)
        for k in measures.CUTOFFS
    }


@cache
def _normal(text: str) -> str:
    """Normalise answers like KILT: lower case, no punctuation, no articles, single spaces."""
    bare = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def _retrieved(
    claims: Sequence[Claim], corpus: Corpus, pipeline: VerifyPipeline, tell: Tell
) -> dict[str, list[list[Hit]]]:
    ways: dict[str, tuple[WordRetriever, Callable[[Claim], Query]]] = {
        "side": (corpus.lexical(), retrievers.side_query),
        "sparse": (corpus.lexical(), retrievers.lexical_query),
        "dense": (corpus.dense(), retrievers.dense_query),
    }
    runs: dict[str, list[list[Hit]]] = {}
    for name, (retriever, query_of) in ways.items():
        runs[name] = []
        for start in range(0, len(claims), QUERIES_AT_ONCE):
            batch = [query_of(claim) for claim in claims[start : start + QUERIES_AT_ONCE]]
            runs[name] += retriever.retrieve(batch, pipeline.depth)
            tell(name, len(runs[name]), len(claims))
    both = list(zip(runs["sparse"], runs["dense"], strict=True))
    for mode in fusion.MODES:
        runs[mode] = [fusion.fused(*hits, 2 * pipeline.depth, mode) for hits in both]
    return runs


def _verified(
    claims: Sequence[Claim], fused: list[list[Hit]], pipeline: VerifyPipeline, tell: Tell
) -> list[list[Hit]]:
    """Reorder the first `judged` hits like `verify`; the rest follow."""
    ranked = []
    for claim, hits in zip(claims, fused, strict=True):
        read = hits[: pipeline.judged]
        evidence = pipeline.verifier.verify([(claim, hit.passage) for hit in read])
        scored = [
            (fusion.with_prior(found.score, share), hit)
            for found, share, hit in zip(evidence, fusion.shares(hits), read, strict=False)
        ]
        scored.sort(key=lambda pair: (-pair[0], pair[1].rank))
        rest = [(float("-inf"), hit) for hit in hits[pipeline.judged :]]
        ranked.append(
            [Hit(hit.passage, score, rank) for rank, (score, hit) in enumerate(scored + rest, 1)]
        )
        tell("verified", len(ranked), len(claims))
    return ranked


def _evidence_of(record: WaferRecord, corpus: Corpus) -> Iterator[str]:
    """Yield ids of the passages of the cited pages that hold a supporting sentence."""
    wanted = [_flat(sentence) for sentences in record.supporting for sentence in sentences]
    documents: list[Document | None] = corpus.get(record.urls)
    cut: list[Passage] = [p for document in documents if document for p in passages(document)]
    for passage in cut:
        text = _flat(passage.text)
        if any(sentence in text for sentence in wanted if sentence):
            yield passage.passage_id


def _flat(text: str) -> str:
    return " ".join(text.split())


# Citations tagged {{failed verification}} against those of featured articles.


def contrasted(records: Sequence[WaferRecord]) -> tuple[str, list[tuple[WaferRecord, str]]]:
    """Return the name of the contrast to failing citations, and the labelled records.

    The contrast is featured articles, as in SIDE; without them the labelled records, or else all
    untagged ones. The list is empty if nothing fails or nothing else is left.
    """
    labelled = [(r, "not_support" if r.failed else _LABELS.get(r.label or "", "")) for r in records]
    ways = {
        "featured": [(r, label if r.failed else "support") for r, label in labelled
                     if r.failed or r.featured],
        "labelled": [(r, label) for r, label in labelled if label],
        "others": [(r, label if r.failed else "support") for r, label in labelled],
    }  # fmt: skip
    for name, rows in ways.items():
        if {"support", "not_support"} <= {label for _, label in rows}:
            return name, rows
    return "", []


def measured(
    records: Sequence[WaferRecord],
    pages: Pages | None,
    verifier: Verifier | None,
    tell: Tell,
) -> dict[str, Any] | None:
    """Figure 2c: AUROC, average precision and curve of each system; None without a contrast.

    `records` are those of a split and of its failed part. `pages` returns the stored pages at
    addresses; without it or `verifier`, only the addresses are scored.
    """
    against, labelled = contrasted(records)
    rows = [_row(record, label, pages) for record, label in labelled]
    systems = [claims.by_url_depth()]
    if verifier and pages:
        first = claims.by_first_passages(verifier)
        systems = [claims.by_verifier(verifier), *systems, first]
        rows = [row for row in rows if row.row.evidence]
    if not {"support", "not_support"} <= {row.row.label for row in rows}:
        return None
    found = claims.predicted("failed verification", rows, systems, tell)
    measured_by_name = {one.name: failing(found, one.name) for one in systems}
    return {
        "against": against,
        "labels": dict(Counter(row.row.label for row in rows)),
        "n_without_page": len(labelled) - len(rows),
        "systems": {name: values for name, (values, _) in measured_by_name.items()},
        "curves": {name: points for name, (_, points) in measured_by_name.items() if points},
    }


def failing(found: Predictions, name: str) -> tuple[dict[str, Any], list[dict[str, float]]]:
    """Measure how well a system's low values find failures; partly supported rows do not fail.

    Also returns the points of precision and recall (SIDE, fig. 2c).
    """
    scores = found.systems[name]
    known = ~np.isnan(scores.values)
    fails = np.isin([row.label for row in found.rows], FAILS)[known]
    doubts = -claims.finite(scores.values[known])
    points = measures.precision_recall(fails, -doubts)
    reached = (point["precision"] for point in points if point["recall"] >= RECALL)
    found_by = measures.binary_measures(fails, doubts)
    of_system = {
        "n": int(known.sum()),
        "n_failed": int(fails.sum()),
        "auroc": found_by["auroc"],
        "auroc_interval": measures.auroc_interval(fails, doubts),
        "average_precision": found_by["average_precision"],
        "precision_at_recall": next(reached, None),
    }
    return of_system, points


def _row(record: WaferRecord, label: str, pages: Pages | None) -> CutRow:
    stored = pages(record.urls) if pages else ()
    texts = [page.text for page in stored if page] or [
        p.text for output in record.outputs for p in output.provenance if p.text
    ]
    meta = {"urls": list(record.urls)}
    claim = claim_of(record).text
    return cut(LabelledClaim(record.id, claim, "\n\n".join(texts), label, meta))
