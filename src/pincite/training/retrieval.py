"""Negatives from retrieval: what BM25 and the dense index bring for a claim, from other documents.

The evidence of the searched sets is indexed as Pincite's own corpus, so that a verifier is trained
against the very passages that the retrievers will put before it.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pincite.corpus import engines
from pincite.corpus.protocol import Corpus
from pincite.documents.lines.labelled import LabelledClaim
from pincite.protocols import Encoder
from pincite.types import Document, Passage

DEPTH = 20
# The very first are often the evidence in other words: a right passage taken for a wrong one
# teaches more harm than a weak negative.
SKIPPED = 2
_BATCH = 200  # documents in one transaction
_QUERIES = 256
_URL = "evidence:"

Tell = Callable[[str, int, int], None]


def indexed(
    folder: Path,
    evidences: Sequence[str],
    encoder: Encoder | None,
    tell: Tell,
    titles: Mapping[str, str] | None = None,
) -> Corpus:
    """A corpus of the distinct evidences, new or gone on with; its documents' urls are numbers.

    `titles`: evidence → the title of its page, where it has one.
    """
    corpus = engines.open_or_create(folder, encoder)
    distinct = list(dict.fromkeys(evidences))
    for start in range(0, len(distinct), _BATCH):
        corpus.add(
            [
                Document(f"{_URL}{n}", (titles or {}).get(text, ""), text)
                for n, text in enumerate(distinct[start : start + _BATCH], start)
            ]
        )
        tell("indexing evidence", min(start + _BATCH, len(distinct)), len(distinct))
    return corpus


def negatives(
    corpus: Corpus, rows: Sequence[LabelledClaim], dense: bool, tell: Tell
) -> dict[str, list[str]]:
    """Claim → passages from the depth of both rankings, those of its own evidences left out."""
    own: dict[str, list[str]] = {}
    for row in rows:
        own.setdefault(row.claim, []).append(row.evidence)
    found = brought(corpus, list(own), dense, tell)
    return {
        claim: [p.text for p in some if not any(p.text in e for e in own[claim])]
        for claim, some in found.items()
    }


def brought(
    corpus: Corpus, asked: Sequence[str], dense: bool, tell: Tell
) -> dict[str, list[Passage]]:
    """Query → what both rankings bring behind their first, by words before by meaning."""
    retrievers = [corpus.lexical()] + ([corpus.dense()] if dense else [])
    found: dict[str, list[Passage]] = {query: [] for query in asked}
    for start in range(0, len(asked), _QUERIES):
        chunk = asked[start : start + _QUERIES]
        for retriever in retrievers:
            for query, hits in zip(chunk, retriever.retrieve(chunk, DEPTH), strict=True):
                found[query] += [hit.passage for hit in hits[SKIPPED:]]
        tell("searching negatives", min(start + _QUERIES, len(asked)), len(asked))
    return found


def number_of(passage: Passage) -> int:
    """Which of the distinct evidences that `indexed` was given the passage comes from."""
    return int(passage.url.removeprefix(_URL))
