"""A corpus in a Milvus: the second engine, for more documents than one machine holds.

Milvus ranks by words (BM25) and by meaning (HNSW); what is best of both is decided here, by the
same code as the embedded engine's. It has no transactions: a document is visible from the moment
when its own row is written, which is last, and `rows` says why nothing is found before.
Several processes may add at once, as long as no two add the same address.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pincite.corpus.lexical import LEXICAL_RULE, SCORE_DECIMALS, TITLE_BOOST
from pincite.corpus.protocol import CorpusStatus
from pincite.corpus.store import share_of_digest
from pincite.protocols import Encoder, Floats, Query
from pincite.retrieval.filters import Filters
from pincite.text.passages import passages
from pincite.types import Document, Passage
from pincite_cluster import remote
from pincite_cluster.filters import expression
from pincite_cluster.milvus.client import INDEXES, LIMIT, WIDTH, Collections
from pincite_cluster.milvus.rows import (
    DIALECT,
    ELSEWHERE,
    HEADS,
    blocks_of,
    document_of,
    document_rows,
    head_fields,
    head_of,
    parts_of,
    passage_key,
    passage_rows,
)
from pincite_cluster.remote import Found, Head, Scored, key_of

OWN_RULES = {"format": "milvus-1", "lexical_rule": LEXICAL_RULE}  # beside the embedded engine's
STEPS = 20  # a weighted word is asked for up to so many times: weights are kept to a twentieth
# Reading a million ids takes a minute; a larger corpus is named by what it is and how many it has.
MOST_DIGESTED = 1_000_000


class MilvusCorpus(remote.RemoteCorpus):
    """The corpus behind an address."""

    def __init__(
        self,
        there: Collections,
        encoder: Encoder | None,
        *,
        write: bool,
        manifest: Mapping[str, str] | None = None,
    ) -> None:
        """Open what the name stands for, or collections that `there` made with this manifest."""
        self._there, self.encoder, self.writes = there, encoder, write
        self.made_with = manifest or there.manifest()
        self.address = there.place.address
        there.load()

    def close(self) -> None:
        self._there.close()

    @property
    def name(self) -> str:
        return self._there.place.name

    # ── Writing ──────────────────────────────────────────────────────────────────────────────────

    def add_with(self, documents: Sequence[Document], known: Mapping[str, Floats]) -> int:
        """After a kill or a lost connection some documents are there and others not."""
        self.require_write()
        heads = self.heads(key_of(document.url) for document in documents)
        new = self.changed(documents, heads)
        if new:
            self._put(new, heads, known)
        return len(new)

    def _put(
        self, new: Sequence[Document], heads: Mapping[str, Head], known: Mapping[str, Floats]
    ) -> None:
        cut = [passages(document) for document in new]
        rows: list[dict[str, Any]] = []
        stored = [document_rows(d, len(ps)) for d, ps in zip(new, cut, strict=True)]
        for parts in zip(new, cut, self.vectors_of(cut, known), strict=True):
            rows += passage_rows(*parts)
        changed = {key_of(document.url) for document in new} & heads.keys()
        old = self._passages_of(changed)
        self._there.upsert(self._there.passages, rows)
        self._there.upsert(self._there.documents, [r for of_one in stored for r in of_one[1:]])
        self._there.upsert(self._there.documents, [of_one[0] for of_one in stored])  # it is there
        stale = set(old) - {row["id"] for row in rows}
        self._there.remove(self._there.passages, sorted(stale))
        written = {row["id"] for of_one in stored for row in of_one}
        blocks = [block for key in changed for block in blocks_of(heads[key])]
        self._there.remove(self._there.documents, sorted(set(blocks) - written))

    @contextmanager
    def indexing_behind(self) -> Iterator[None]:
        """Milvus searches what is in no index yet; at the end it is asked to close its segments.

        For many batches: a closed segment has indexes, another is compared row by row.
        """
        yield
        self._there.flush()

    def delete(self, urls: Sequence[str]) -> int:
        self.require_write()
        heads = self.heads(map(key_of, urls))
        self._there.remove(self._there.documents, sorted(heads))  # from here on none is found
        blocks = (block for head in heads.values() for block in blocks_of(head))
        self._there.remove(self._there.documents, sorted(blocks))
        self._there.remove(self._there.passages, self._passages_of(heads))
        return len(heads)

    # ── What stands in it ────────────────────────────────────────────────────────────────────────

    def get(self, urls: Sequence[str]) -> list[Document | None]:
        found: dict[str, Document] = {}
        for _ in range(2):  # one that is replaced between its row and its further blocks
            missing = [key for key in dict.fromkeys(map(key_of, urls)) if key not in found]
            found |= self._documents(missing)
        return [found.get(key_of(url)) for url in urls]

    def _documents(self, keys: Sequence[str]) -> dict[str, Document]:
        documents = self._there.documents
        rows = self._there.get(documents, keys, [*head_fields(), "text"])
        heads = [head_of(row) for row in rows]
        texts = {row["id"]: row["text"] for row in rows}
        further = [block for head in heads for block in blocks_of(head)]
        texts |= {row["id"]: row["text"] for row in self._there.get(documents, further, ["text"])}
        whole = [(h, [h.key, *blocks_of(h)]) for h in heads]
        return {
            head.key: document_of(head, [texts[block] for block in blocks])
            for head, blocks in whole
            if all(block in texts for block in blocks)
        }

    def every(self) -> Iterator[Head]:
        return map(head_of, self._there.rows(self._there.documents, HEADS, head_fields()))

    def vectors(self, passages: Sequence[Passage]) -> dict[str, Floats]:
        if not self.has_vectors:
            return {}
        heads = self.heads(key_of(passage.url) for passage in passages)
        found = [(heads.get(key_of(p.url)), p) for p in passages]
        keys = {passage_key(h.key, h.version, p.span): p.passage_id for h, p in found if h}
        rows = self._there.get(self._there.passages, list(keys), ["vector"])
        return {keys[r["id"]]: np.asarray(r["vector"], dtype=np.float32) for r in rows}

    def heads(self, keys: Iterable[str]) -> dict[str, Head]:
        rows = self._there.get(self._there.documents, list(dict.fromkeys(keys)), head_fields())
        return {row["id"]: head_of(row) for row in rows}

    def _passages_of(self, keys: Collection[str]) -> list[str]:
        """The keys of all passages of these documents, of whatever version."""
        chosen, found = sorted(keys), list[str]()
        for at in range(0, len(chosen), remote.DOCUMENTS_AT_ONCE):
            where = f"document in {_quoted(chosen[at : at + remote.DOCUMENTS_AT_ONCE])}"
            found += (row["id"] for row in self._there.rows(self._there.passages, where, ["id"]))
        return found

    def manifest(self) -> Mapping[str, str]:
        return {**self.made_with, "digest": self._digest()}

    def _digest(self) -> str:
        """As the embedded engine's: of the same documents the same, whatever the history."""
        n = self._there.count(self._there.documents, HEADS)
        if n > MOST_DIGESTED:
            return hashlib.sha256(f"{self.made_with['identity']} {n}".encode()).hexdigest()[:32]
        return f"{sum(share_of_digest(head.doc_id) for head in self.every()) % 2**128:032x}"

    def status(self) -> CorpusStatus:
        """Counts; Milvus does not tell how many bytes they take, and keeps its own indexes."""
        return CorpusStatus(
            n_documents=self._there.count(self._there.documents, HEADS),
            n_passages=self._there.count(self._there.passages),
            n_bytes={},
            encoder=self.made_with["encoder"],
            created=self.made_with["created"],
            sequence=0,
            lexical_sequence=0,
            unfinished_rebuild=False,
        )

    # ── Searching ────────────────────────────────────────────────────────────────────────────────

    def places(self, keys: Collection[str], seen: dict[str, Head]) -> dict[str, Found]:
        """The passages that count: those of the version that their document has now."""
        parts = {key: parts_of(key) for key in keys}
        seen |= self.heads(key for key, _, _ in parts.values() if key not in seen)
        return {
            passage: Found(passage, span, seen[key])
            for passage, (key, version, span) in parts.items()
            if key in seen and seen[key].version == version
        }

    def by_meaning(self, vectors: Floats, depth: int, filters: Filters) -> list[Scored]:
        return self._nearest(vectors, depth, expression(filters, DIALECT))

    def _nearest(self, vectors: Floats, depth: int, where: str) -> list[Scored]:
        depth = min(depth, LIMIT)
        params = {
            name: max(depth, value) if value == WIDTH else value
            for name, value in INDEXES[self.made_with["index"]][1].items()
        }
        how = {"metric_type": "IP", "params": params}
        found = self._there.search("vector", vectors.tolist(), depth, where, how)
        return [
            [(key, round(score, remote.VECTOR_DECIMALS)) for key, score in hits] for hits in found
        ]

    def by_words(self, queries: Sequence[Query], depth: int, filters: Filters) -> list[Scored]:
        """By the words of the texts and, a fifth as much, of the titles, as `lexical` has it."""
        where, depth = expression(filters, DIALECT), min(depth, LIMIT)
        asked = [_repeated(remote.words_in(query)) for query in queries]
        some = [i for i, (text, _) in enumerate(asked) if text]
        texts, how = [asked[i][0] for i in some], {"metric_type": "BM25"}
        runs = [
            self._there.search(field, texts, depth, where, how) if texts else []
            for field in ("by_words", "by_title")
        ]
        results: list[Scored] = [[] for _ in queries]
        for i, in_text, in_title in zip(some, *runs, strict=True):
            scale = asked[i][1]
            # A score by words is never negative, but Milvus-lite gives it with a minus sign.
            scores = {key: abs(score) / scale for key, score in in_text}
            for key, score in in_title:
                scores[key] = scores.get(key, 0.0) + TITLE_BOOST * abs(score) / scale
            pairs = ((key, round(score, SCORE_DECIMALS)) for key, score in scores.items())
            results[i] = sorted(pairs, key=lambda pair: -pair[1])[:depth]
        return results

    def read(self, places: Sequence[Found]) -> list[Passage]:
        keys = [place.key for place in places]
        rows = self._there.get(self._there.passages, keys, ["text"])
        texts = {row["id"]: row["text"] for row in rows}
        long = [place for place in places if texts.get(place.key, ELSEWHERE) == ELSEWHERE]
        documents = self._documents(list({place.head.key for place in long}))
        for place in long:
            whole = documents.get(place.head.key)
            texts[place.key] = place.span.of(whole.text) if whole else ""
        return [place.with_text(texts[place.key]) for place in places]

    def nearest(self, question: str, urls: Sequence[str], k: int) -> list[list[Passage]]:
        if self.encoder is None or not self.has_vectors or not urls or k <= 0:
            return [[] for _ in urls]
        asked, seen = self.encoder.encode([question], "query"), dict[str, Head]()
        found = []
        for url in urls:
            where = f"document in {_quoted([key_of(url)])}"
            [hits] = self._nearest(asked, k * 2, where)  # an older version's may be among them
            places = self.places([key for key, _ in hits], seen)
            found.append(self.read([places[key] for key, _ in hits if key in places][:k]))
        return found

    def having(self, words: Collection[str]) -> tuple[int, Mapping[str, int]]:
        found, passages = {}, self._there.passages
        for word in words:
            safe = "".join(filter(str.isalnum, word))  # it cannot end its quotes
            found[word] = self._there.count(passages, f"text_match(words, '{safe}')")
        return self._there.count(passages), found


def _quoted(keys: Sequence[str]) -> str:
    """Our own keys, which have digits only, as a list in an expression."""
    return "[" + ", ".join(f'"{key}"' for key in keys) + "]"


def _repeated(asked: Mapping[str, float]) -> tuple[str, float]:
    """A query whose words stand there as often as they weigh, and by what its scores are divided.

    >>> _repeated({"oak": 1.0, "old": 2.0}), _repeated({"oak": 0.5, "old": 1.0})[1]
    (('oak old old', 1.0), 20.0)
    """
    whole = all(weight == int(weight) for weight in asked.values())
    scale = 1.0 if whole or not asked else STEPS / max(asked.values())
    counts = {word: max(1, round(weight * scale)) for word, weight in asked.items()}
    return " ".join(word for word, n in counts.items() for _ in range(n)), scale
