"""Negatives from retrieval: what BM25 and the dense index bring for a claim, from other documents.

The evidence of the searched sets is indexed as Pincite's own corpus, so that a verifier is trained
against the very passages that the retrievers will put before it.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from pincite.documents.labelled import LabelledClaim
from pincite.index.corpus import EmbeddedCorpus
from pincite.protocols import Encoder
from pincite.types import Document

DEPTH = 20
# The very first are often the evidence in other words: a right passage taken for a wrong one
# teaches more harm than a weak negative.
SKIPPED = 2
_BATCH = 200  # documents in one transaction
_QUERIES = 256

Tell = Callable[[str, int, int], None]


def indexed(
    folder: Path, evidences: Sequence[str], encoder: Encoder | None, tell: Tell
) -> EmbeddedCorpus:
    """A corpus of the distinct evidences, new or gone on with; its documents' urls are numbers."""
    corpus = EmbeddedCorpus.open_or_create(folder, encoder)
    distinct = list(dict.fromkeys(evidences))
    for start in range(0, len(distinct), _BATCH):
        corpus.add(
            [
                Document(f"evidence:{n}", "", text)
                for n, text in enumerate(distinct[start : start + _BATCH], start)
            ]
        )
        tell("indexing evidence", min(start + _BATCH, len(distinct)), len(distinct))
    return corpus


def negatives(
    corpus: EmbeddedCorpus, rows: Sequence[LabelledClaim], dense: bool, tell: Tell
) -> dict[str, list[str]]:
    """Claim → passages from the depth of both rankings, those of its own evidences left out."""
    own: dict[str, list[str]] = {}
    for row in rows:
        own.setdefault(row.claim, []).append(row.evidence)
    claims = list(own)
    retrievers = [corpus.lexical()] + ([corpus.dense()] if dense else [])
    found: dict[str, list[str]] = {claim: [] for claim in claims}
    for start in range(0, len(claims), _QUERIES):
        chunk = claims[start : start + _QUERIES]
        for retriever in retrievers:
            for claim, hits in zip(chunk, retriever.retrieve(chunk, DEPTH), strict=True):
                texts = [hit.passage.text for hit in hits[SKIPPED:]]
                found[claim] += [t for t in texts if not any(t in e for e in own[claim])]
        tell("searching negatives", min(start + _QUERIES, len(claims)), len(claims))
    return found
