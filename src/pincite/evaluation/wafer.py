"""A WAFER-like collection: is the cited page found, and is the passage that supports the claim?

Two levels. *Page*, by KILT (Petroni et al. 2021): a page's rank is that of its best passage,
pages are matched by url. *Evidence*: a passage counts if it holds a sentence that people marked as
supporting; claims without such marks are left out and counted.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pincite.corpus.embedded import EmbeddedCorpus
from pincite.errors import InputError
from pincite.evaluation import measures
from pincite.protocols import Query, WordRetriever
from pincite.retrieval import fusion, queries
from pincite.text.passages import passages
from pincite.types import Claim, Document, Hit, Passage
from pincite.verbs.verify.pipeline import VerifyPipeline
from pincite.wiki.wafer import WaferRecord, claim_of, read_records

EXPANDED = "sparse + expansion"  # a row where the pipeline expands queries
SYSTEMS = ("side", "sparse", EXPANDED, "dense", *fusion.MODES, "verified")
QUERIES_AT_ONCE = 64

Progress = Callable[[str, int, int], None]  # what, done, in all
Ask = Callable[[Sequence[Claim]], Sequence[Query]]  # claims → the query of each


@dataclass(frozen=True, slots=True)
class Collection:
    """The claims of a split with the pages that people cited for them."""

    records: tuple[WaferRecord, ...]
    corpus_file: Path

    @property
    def claims(self) -> list[Claim]:
        """The claims in the order of the records."""
        return [claim_of(record) for record in self.records]


def open_collection(folder: Path, split: str) -> Collection:
    """Read `SPLIT.jsonl` and find `corpus-SPLIT.jsonl` or `corpus.jsonl`, each plain or .gz.

    Raises:
        InputError: a file is missing or a record is malformed.
    """
    records = tuple(read_records(_existing(folder, [split])))
    if not records:
        raise InputError(f"{folder} has no records in split {split!r}; expected WAFER JSON lines.")
    return Collection(records, _existing(folder, [f"corpus-{split}", "corpus"]))


def evaluate(
    collection: Collection,
    corpus: EmbeddedCorpus,
    pipeline: VerifyPipeline,
    progress: Progress | None = None,
    mode: fusion.Mode = "weighted",
) -> dict[str, Any]:
    """All measures: `{"page": {"sparse": {…}, …}, "evidence": {…}, …}`.

    As `pipeline` does it: sparse and dense give `depth` passages each, these are fused in each way
    there is, and verified is `mode` with its first `judged` passages in the order of
    the verifier's score and their rank. Where it expands queries, these are fused, and "sparse"
    stands beside for comparison.
    """
    tell = progress or _silent
    runs = _retrieved(collection.claims, corpus, pipeline, tell)
    runs["verified"] = _verified(collection.claims, runs[mode], pipeline, tell)
    rows = list(enumerate(collection.records))
    featured = [n for n, record in rows if record.featured]
    parts = {"featured": featured, "others": [n for n, r in rows if not r.featured]}
    result = _levels(collection.records, corpus, runs)
    if featured:
        result["by_featured"] = {
            name: _levels(
                [collection.records[n] for n in numbers],
                corpus,
                {system: [run[n] for n in numbers] for system, run in runs.items()},
            )
            for name, numbers in parts.items()
        }
    return result


def _levels(
    records: Sequence[WaferRecord], corpus: EmbeddedCorpus, runs: dict[str, list[list[Hit]]]
) -> dict[str, Any]:
    pages = {str(n): frozenset(record.urls) for n, record in enumerate(records)}
    marked = {
        str(n): frozenset(_evidence_of(record, corpus))
        for n, record in enumerate(records)
        if record.supporting
    }
    found = {query: passages_ for query, passages_ in marked.items() if passages_}
    systems = [system for system in SYSTEMS if system in runs]
    return {
        "page": {s: measures.ranking_measures(pages, _by_page(runs[s])) for s in systems},
        "evidence": {
            "n": len(found),
            "n_without_marks": len(records) - len(marked),
            "n_not_in_corpus": len(marked) - len(found),
            **{s: measures.ranking_measures(found, _by_passage(runs[s])) for s in systems},
        },
    }


def _retrieved(
    claims: Sequence[Claim], corpus: EmbeddedCorpus, pipeline: VerifyPipeline, tell: Progress
) -> dict[str, list[list[Hit]]]:
    ways: dict[str, tuple[WordRetriever, Ask]] = {
        "side": (corpus.lexical(), _each(queries.side_query)),
        "sparse": (corpus.lexical(), _each(queries.lexical_query)),
        "dense": (corpus.dense(), _each(queries.dense_query)),
    }
    if pipeline.expander:
        ways[EXPANDED] = (corpus.lexical(), pipeline.expander.expand)
    runs: dict[str, list[list[Hit]]] = {}
    for name, (retriever, ask) in ways.items():
        runs[name] = []
        for start in range(0, len(claims), QUERIES_AT_ONCE):
            asked = ask(claims[start : start + QUERIES_AT_ONCE])
            runs[name] += retriever.retrieve(asked, pipeline.depth)
            tell(name, len(runs[name]), len(claims))
    both = list(zip(runs.get(EXPANDED, runs["sparse"]), runs["dense"], strict=True))
    for mode in fusion.MODES:
        runs[mode] = [fusion.fused(*hits, 2 * pipeline.depth, mode) for hits in both]
    return runs


def _each(query_of: Callable[[Claim], Query]) -> Ask:
    return lambda claims: [query_of(claim) for claim in claims]


def _verified(
    claims: Sequence[Claim],
    fused: list[list[Hit]],
    pipeline: VerifyPipeline,
    tell: Progress,
) -> list[list[Hit]]:
    """The first `judged` in the order that `verify` gives them; the rest follow."""
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


def _evidence_of(record: WaferRecord, corpus: EmbeddedCorpus) -> Iterator[str]:
    """Ids of the passages of the cited pages that hold a supporting sentence."""
    wanted = [_flat(sentence) for sentences in record.supporting for sentence in sentences]
    documents: list[Document | None] = corpus.get(record.urls)
    cut: list[Passage] = [p for document in documents if document for p in passages(document)]
    for passage in cut:
        text = _flat(passage.text)
        if any(sentence in text for sentence in wanted if sentence):
            yield passage.passage_id


def _flat(text: str) -> str:
    return " ".join(text.split())


def _by_page(run: list[list[Hit]]) -> dict[str, list[str]]:
    return {str(n): list(dict.fromkeys(h.passage.url for h in hits)) for n, hits in enumerate(run)}


def _by_passage(run: list[list[Hit]]) -> dict[str, list[str]]:
    return {str(n): [hit.passage.passage_id for hit in hits] for n, hits in enumerate(run)}


def _existing(folder: Path, names: Sequence[str]) -> Path:
    candidates = [folder / f"{name}{end}" for name in names for end in (".jsonl", ".jsonl.gz")]
    for path in candidates:
        if path.is_file():
            return path
    tried = ", ".join(path.name for path in candidates)
    raise InputError(f"{folder} holds none of {tried}; expected a WAFER-like collection.")


def _silent(what: str, done: int, total: int) -> None:
    """No progress is shown."""
