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

from pincite.corpus.generation import ENCODED_AT_ONCE, NO_ENCODER, encoding_with, reusing
from pincite.corpus.lexical import (
    CUT,
    LEXICAL_RULE,
    SCORE_DECIMALS,
    TITLE_BOOST,
    weights,
    words_of,
)
from pincite.corpus.protocol import Comparison, Corpus, CorpusRetriever, CorpusStatus, Merge
from pincite.corpus.ranking import best, merged, text_of
from pincite.corpus.store import content_hash, share_of_digest
from pincite.errors import CorpusError
from pincite.protocols import Encoder, Floats, Query
from pincite.text.hosts import is_below
from pincite.text.languages import identify
from pincite.text.passages import passages
from pincite.types import Document, Hit, Passage
from pincite_cluster.milvus.client import INDEXES, LIMIT, WIDTH, Collections
from pincite_cluster.milvus.rows import (
    ELSEWHERE,
    HEADS,
    Found,
    Head,
    document_of,
    document_rows,
    expression,
    head_fields,
    head_of,
    key_of,
    parts_of,
    passage_key,
    passage_rows,
)

OWN_RULES = {"format": "milvus-1", "lexical_rule": LEXICAL_RULE}  # beside the embedded engine's
# Vectors of one text differ beyond the sixth decimal by the order of their sums, and would not tie.
VECTOR_DECIMALS = 6
STEPS = 20  # a weighted word is asked for up to so many times: weights are kept to a twentieth
DOCUMENTS_AT_ONCE = 256
# Reading a million ids takes a minute; a larger corpus is named by what it is and how many it has.
MOST_DIGESTED = 1_000_000


class MilvusCorpus(Corpus):
    """A corpus behind an address; several threads may use it."""

    def __init__(
        self,
        there: Collections,
        encoder: Encoder | None,
        *,
        write: bool,
        manifest: Mapping[str, str] | None = None,
    ) -> None:
        """Open what the name stands for, or collections that `there` made with this manifest."""
        self._there, self.encoder, self._write = there, encoder, write
        self.made_with = manifest or there.manifest()  # encoder, index and so on
        self.address = there.place.address
        there.load()

    def close(self) -> None:
        self._there.close()

    @property
    def name(self) -> str:
        return self._there.place.name

    @property
    def has_vectors(self) -> bool:
        return self.made_with["encoder"] != NO_ENCODER

    def built_with(self) -> str:
        return self.made_with["encoder"]

    # ── Writing ──────────────────────────────────────────────────────────────────────────────────

    def add_with(self, documents: Sequence[Document], known: Mapping[str, Floats]) -> int:
        """After a kill or a lost connection some documents are there and others not."""
        self._require_write()
        latest = {document.url: document for document in documents}
        heads = self._heads(map(key_of, latest))
        new = [
            document
            for document in latest.values()
            if not (head := heads.get(key_of(document.url)))
            or head.version != content_hash(document)
        ]
        if new:
            self._put(new, heads, known)
        return len(new)

    def _put(
        self, new: Sequence[Document], heads: Mapping[str, Head], known: Mapping[str, Floats]
    ) -> None:
        cut = [passages(document) for document in new]
        vectors = iter(self._vectors([p for of_one in cut for p in of_one], known))
        rows: list[dict[str, Any]] = []
        stored = [document_rows(d, len(ps)) for d, ps in zip(new, cut, strict=True)]
        for document, of_one in zip(new, cut, strict=True):
            own = np.stack([next(vectors) for _ in of_one]) if self.has_vectors and of_one else None
            rows += passage_rows(document, of_one, own)
        changed = {key_of(document.url) for document in new} & heads.keys()
        old = self._passages_of(changed)
        self._there.upsert(self._there.passages, rows)
        self._there.upsert(self._there.documents, [r for of_one in stored for r in of_one[1:]])
        self._there.upsert(self._there.documents, [of_one[0] for of_one in stored])  # it is there
        stale = set(old) - {row["id"] for row in rows}
        self._there.remove(self._there.passages, sorted(stale))
        written = {row["id"] for of_one in stored for row in of_one}
        blocks = [block for key in changed for block in heads[key].blocks]
        self._there.remove(self._there.documents, sorted(set(blocks) - written))

    def _vectors(self, cut: Sequence[Passage], known: Mapping[str, Floats]) -> Iterator[Floats]:
        """The vectors of passages, in order, all made before any is given: or none."""
        if not self.has_vectors:
            return iter(())
        encode = reusing(lambda _: known, lambda new: encoding_with(self.needed_encoder())(new))
        starts = range(0, len(cut), ENCODED_AT_ONCE)
        return iter([v for at in starts for v in encode(cut[at : at + ENCODED_AT_ONCE])])

    @contextmanager
    def indexing_behind(self) -> Iterator[None]:
        """Milvus searches what is in no index yet; at the end it is asked to close its segments.

        For many batches: a closed segment has indexes, another is compared row by row.
        """
        yield
        self._there.flush()

    def delete(self, urls: Sequence[str]) -> int:
        self._require_write()
        heads = self._heads(map(key_of, urls))
        self._there.remove(self._there.documents, sorted(heads))  # from here on none is found
        blocks = (block for head in heads.values() for block in head.blocks)
        self._there.remove(self._there.documents, sorted(blocks))
        self._there.remove(self._there.passages, self._passages_of(heads))
        return len(heads)

    def _require_write(self) -> None:
        if not self._write:
            raise CorpusError(
                f"{self.address} was opened for reading. Open it with write=True to change it."
            )

    # ── What stands in it ────────────────────────────────────────────────────────────────────────

    def compared(self, documents: Sequence[Document]) -> list[Comparison]:
        heads = self._heads(key_of(document.url) for document in documents)
        found = [(heads.get(key_of(d.url)), content_hash(d)) for d in documents]
        return [
            "new" if head is None else "same" if head.version == now else "changed"
            for head, now in found
        ]

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
        further = [block for head in heads for block in head.blocks]
        texts |= {row["id"]: row["text"] for row in self._there.get(documents, further, ["text"])}
        whole = [(h, [h.key, *h.blocks]) for h in heads]
        return {
            head.key: document_of(head, [texts[block] for block in blocks])
            for head, blocks in whole
            if all(block in texts for block in blocks)
        }

    def ids(self, urls: Sequence[str]) -> list[str | None]:
        heads = self._heads(map(key_of, urls))
        found = [heads.get(key_of(url)) for url in urls]
        return [head.doc_id if head else None for head in found]

    def versions(self) -> dict[str, str]:
        """The version of each document, by address."""
        rows = self._there.rows(self._there.documents, HEADS, head_fields())
        return {head.facts.url: head.version for head in map(head_of, rows)}

    def urls(self) -> Iterator[str]:
        rows = self._there.rows(self._there.documents, HEADS, head_fields())
        return (head_of(row).facts.url for row in rows)

    def vectors(self, passages: Sequence[Passage]) -> dict[str, Floats]:
        if not self.has_vectors:
            return {}
        heads = self._heads(key_of(passage.url) for passage in passages)
        found = [(heads.get(key_of(p.url)), p) for p in passages]
        keys = {passage_key(h.key, h.version, p.span): p.passage_id for h, p in found if h}
        rows = self._there.get(self._there.passages, list(keys), ["vector"])
        return {keys[r["id"]]: np.asarray(r["vector"], dtype=np.float32) for r in rows}

    def _heads(self, keys: Iterable[str]) -> dict[str, Head]:
        rows = self._there.get(self._there.documents, list(dict.fromkeys(keys)), head_fields())
        return {row["id"]: head_of(row) for row in rows}

    def _passages_of(self, keys: Collection[str]) -> list[str]:
        """The keys of all passages of these documents, of whatever version."""
        chosen, found = sorted(keys), list[str]()
        for at in range(0, len(chosen), DOCUMENTS_AT_ONCE):
            where = f"document in {_quoted(chosen[at : at + DOCUMENTS_AT_ONCE])}"
            found += (row["id"] for row in self._there.rows(self._there.passages, where, ["id"]))
        return found

    def manifest(self) -> Mapping[str, str]:
        return {**self.made_with, "digest": self._digest()}

    def _digest(self) -> str:
        """As the embedded engine's: of the same documents the same, whatever the history."""
        n = self._there.count(self._there.documents, HEADS)
        if n > MOST_DIGESTED:
            return hashlib.sha256(f"{self.made_with['identity']} {n}".encode()).hexdigest()[:32]
        rows = self._there.rows(self._there.documents, HEADS, head_fields())
        return f"{sum(share_of_digest(head_of(row).doc_id) for row in rows) % 2**128:032x}"

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

    def together(
        self,
        searches: Sequence[tuple[CorpusRetriever, Sequence[Query]]],
        n: int,
        merge: Merge,
    ) -> list[list[Hit]]:
        seen: dict[str, Head] = {}
        ranked = [self._ranked(*one, n, seen) for one in searches]
        return merged(self._read, ranked, merge)

    def _ranked(
        self, retriever: CorpusRetriever, queries: Sequence[Query], k: int, seen: dict[str, Head]
    ) -> list[list[tuple[Found, float]]]:
        filters, where = retriever.filters, expression(retriever.filters)
        vectors = None
        if retriever.by == "dense" and queries:
            vectors = self.needed_encoder().encode(list(map(text_of, queries)), "query")

        def search(positions: Sequence[int], depth: int) -> list[list[tuple[str, float]]]:
            depth = min(depth, LIMIT)
            if vectors is not None:
                return self._by_meaning(vectors[list(positions)], depth, where)
            return self._by_words([queries[i] for i in positions], depth, where)

        def places_of(keys: Iterable[str]) -> dict[str, Found]:
            found = self._found(list(keys), seen)
            return {
                key: place
                for key, place in found.items()
                if not is_below(place.head.facts.url, retriever.exclude)
                and (not filters or filters.accepts(place.head.facts))
            }

        return best(search, places_of, len(queries), k)

    def _found(self, keys: Sequence[str], seen: dict[str, Head]) -> dict[str, Found]:
        """The passages that count: those of the version that their document has now."""
        parts = {key: parts_of(key) for key in keys}
        seen |= self._heads(key for key, _, _ in parts.values() if key not in seen)
        return {
            passage: Found(passage, span, seen[key])
            for passage, (key, version, span) in parts.items()
            if key in seen and seen[key].version == version
        }

    def _by_meaning(self, vectors: Floats, depth: int, where: str) -> list[list[tuple[str, float]]]:
        params = {
            name: max(depth, value) if value == WIDTH else value
            for name, value in INDEXES[self.made_with["index"]][1].items()
        }
        how = {"metric_type": "IP", "params": params}
        found = self._there.search("vector", vectors.tolist(), depth, where, how)
        return [[(key, round(score, VECTOR_DECIMALS)) for key, score in hits] for hits in found]

    def _by_words(
        self, queries: Sequence[Query], depth: int, where: str
    ) -> list[list[tuple[str, float]]]:
        """By the words of the texts and, a fifth as much, of the titles, as `lexical` has it."""
        asked = [_repeated(_words(query)) for query in queries]
        some = [i for i, (text, _) in enumerate(asked) if text]
        texts, how = [asked[i][0] for i in some], {"metric_type": "BM25"}
        runs = [
            self._there.search(field, texts, depth, where, how) if texts else []
            for field in ("by_words", "by_title")
        ]
        results: list[list[tuple[str, float]]] = [[] for _ in queries]
        for i, in_text, in_title in zip(some, *runs, strict=True):
            scale = asked[i][1]
            # A score by words is never negative, but Milvus-lite gives it with a minus sign.
            scores = {key: abs(score) / scale for key, score in in_text}
            for key, score in in_title:
                scores[key] = scores.get(key, 0.0) + TITLE_BOOST * abs(score) / scale
            pairs = ((key, round(score, SCORE_DECIMALS)) for key, score in scores.items())
            results[i] = sorted(pairs, key=lambda pair: -pair[1])[:depth]
        return results

    def _read(self, places: Sequence[Found]) -> list[Passage]:
        """The passages at `places`, in their order."""
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
            [hits] = self._by_meaning(asked, k * 2, where)  # an older version's may be among them
            places = self._found([key for key, _ in hits], seen)
            found.append(self._read([places[key] for key, _ in hits if key in places][:k]))
        return found

    def counted(self, words: Sequence[str]) -> tuple[int, list[tuple[str, int]]]:
        forms = [next(iter(words_of(word)), "") for word in words]
        having = {"": 0}
        for form in set(forms) - {""}:
            safe = "".join(filter(str.isalnum, form))  # it cannot end its quotes
            having[form] = self._there.count(self._there.passages, f"text_match(words, '{safe}')")
        return self._there.count(self._there.passages), [(form, having[form]) for form in forms]


def _quoted(keys: Sequence[str]) -> str:
    """Our own keys, which have digits only, as a list in an expression."""
    return "[" + ", ".join(f'"{key}"' for key in keys) + "]"


def _words(query: Query) -> Mapping[str, float]:
    """A query's words. Of an English one no other forms, which are rare but say nothing."""
    found, english = weights(query), identify(text_of(query)) == "en"
    return {w: x for w, x in found.items() if not (english and w.endswith(CUT))}


def _repeated(asked: Mapping[str, float]) -> tuple[str, float]:
    """A query whose words stand there as often as they weigh, and by what its scores are divided.

    >>> _repeated({"oak": 1.0, "old": 2.0}), _repeated({"oak": 0.5, "old": 1.0})[1]
    (('oak old old', 1.0), 20.0)
    """
    whole = all(weight == int(weight) for weight in asked.values())
    scale = 1.0 if whole or not asked else STEPS / max(asked.values())
    counts = {word: max(1, round(weight * scale)) for word, weight in asked.items()}
    return " ".join(word for word, n in counts.items() for _ in range(n)), scale
