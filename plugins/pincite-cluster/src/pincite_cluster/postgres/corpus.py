"""A corpus in a PostgreSQL, which several servers may share.

Every batch is a transaction: readers see all of it or nothing, and a kill leaves nothing behind.
Meaning is compared one by one, or found in a graph (HNSW) where there are many passages. Words are
found by full-text search over the same stems as in a folder, and ranked by BM25: how many passages
have each word is counted here. PostgreSQL reads every passage with one of the words it looks for:
so it looks for the query's rarest, and its own rank of each, times idf, chooses what BM25 ranks.
"""

# ruff: noqa: S608 - statements are made of our own words; what comes from outside is a parameter

import itertools
import json
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from pincite.corpus import lexical
from pincite.corpus.generation import ENCODED_AT_ONCE, NO_ENCODER, encoding_with, reusing
from pincite.corpus.protocol import (
    Comparison,
    Corpus,
    CorpusRetriever,
    CorpusStatus,
    Merge,
    best,
    idf,
    merge_runs,
    text_of,
)
from pincite.corpus.store import content_hash, raw, share_of_digest
from pincite.errors import CorpusError, StaleCorpus
from pincite.protocols import Encoder, Floats, Query
from pincite.retrieval.filters import Facts, Filters
from pincite.text.hosts import is_below
from pincite.text.languages import identify
from pincite.text.page_numbers import confidence_in
from pincite.text.passages import passages
from pincite.types import Document, Hit, Passage, Span, Voice, about
from pincite_cluster.filters import days_of, expression, facets_of, numbers_of
from pincite_cluster.postgres.database import BUILDING, CURRENT, TABLES, Database

_T = TypeVar("_T")
Scored: TypeAlias = list[tuple[Any, float]]  # keys of passages with their scores, best first
Vectors: TypeAlias = Mapping[str, Floats]  # of passages, by id
Prepared: TypeAlias = tuple[Document, Sequence[Passage], Sequence[Floats]]  # with its vectors
OWN_RULES = {"format": "postgres-2", "lexical_rule": lexical.LEXICAL_RULE}
FEW = 20_000  # up to so many passages are compared one by one, as in a folder
WIDTH = 500  # of a search in the graph, as the embedded engine's
MOST_DIMENSIONS = 4_000  # of a vector in pgvector's graphs
SCANNED = 20_000  # pgvector's default: rows that a filtered search in the graph looks at
# Passages with one of the rarest words, and of those, times the depth, that BM25 ranks: 0.99 of
# BM25's ten are found among 102,040 passages, 0.98 among 306,120 (research/scripts/bench_scale.py).
CANDIDATES, RANKED = 5_000, 8
K1, B = 1.2, 0.75  # of BM25, as in tantivy
WORD_DECIMALS = 6
KEY_DIGITS = 24  # 96 bits: of a billion addresses no two are taken for one
# Vectors of one text differ beyond the sixth decimal by the order of their sums, and would not tie.
VECTOR_DECIMALS = 6
DOCUMENTS_AT_ONCE = 256
MAX_WORD_BYTES, MAX_TEXT_BYTES = 100, 500_000  # of the words of a passage: tsvector ends at 1 MB
MAX_POSITION = 16_383  # of tsvector
IN_TITLE = "ǁ"  # behind a word of the title, so that it is none of the text
_HEAD = "d.key, d.version, d.facts, d.n_passages"
_JOIN = "{passages} p JOIN {documents} d ON d.id = p.document"
_DOCUMENT = "id key version facts n_passages text facets first_day last_day numbers".split()
_PASSAGE = "document first last first_byte n_bytes n_words words".split()
_BM25 = f"""
WITH query AS MATERIALIZED (SELECT * FROM unnest(%s::text[], %s::float8[]) AS query(word, weight)),
likely AS MATERIALIZED (SELECT p.id, p.words, {K1} * (1 - {B} + {B} * p.n_words / %s) AS length
    FROM {{among}} AND p.words @@ %s::tsquery ORDER BY {{rank}} DESC LIMIT %s)
SELECT id, (SELECT sum(weight * n * {K1 + 1} / (n + length)) FROM unnest(words) AS own
    JOIN query ON word = lexeme, cardinality(positions) AS n) AS score
FROM likely ORDER BY score DESC LIMIT %s"""
# Within the transaction: how wide the graph is searched, and how far on where a filter leaves few.
_GRAPH = (
    "SELECT set_config('hnsw.ef_search', %s, true), set_config('hnsw.max_scan_tuples', %s, true),"
    " set_config('hnsw.iterative_scan', 'relaxed_order', true)"
)


class Head(NamedTuple):
    """A document without its text."""

    key: str
    version: str
    doc_id: str
    facts: Facts
    fetched: str | None
    n_passages: int

    @property
    def about(self) -> str:
        return about(self.facts.title, self.facts.published, self.facts.meta)

    def with_text(self, text: str) -> Document:
        url, title, kind, published, language, meta = self.facts
        return Document(url, title, text, kind, published, self.fetched, language, meta)


class Found(NamedTuple):
    """A passage without its text."""

    key: Any
    span: Span
    head: Head

    @property
    def doc_id(self) -> str:
        return self.head.doc_id

    @property
    def passage_id(self) -> str:
        return f"{self.head.doc_id}:{self.span.start}-{self.span.end}"

    def with_text(self, text: str) -> Passage:
        head = self.head
        known = head.doc_id, head.facts.url, head.facts.title, text, self.span, head.about
        language = identify(text, head.facts.language)
        recognised = confidence_in(head.facts.meta, self.span)
        voice = Voice.of(head.facts.meta)
        return Passage(*known, language=language, recognised=recognised, voice=voice)


class PostgresCorpus(Corpus):
    """The corpus behind an address; several threads may use it."""

    def __init__(
        self, there: Database, encoder: Encoder | None, *, write: bool, state: str = CURRENT
    ) -> None:
        """Over the build that `there` uses, which is in this state."""
        self._there, self.encoder, self.writes, self._state = there, encoder, write, state
        self.made_with, self.address = there.manifest, there.place.address
        self._defers = threading.Event()  # inside `indexing_behind`

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

    def add_with(self, documents: Sequence[Document], known: Vectors) -> int:
        self._require_write()
        ready = self._prepare(self._to_write(documents), known)  # before the others have to wait

        def put() -> int:
            changed = self._to_write(documents)  # another may have written meanwhile
            ready.update(self._prepare([d for d in changed if d.url not in ready], known))
            self._remove([document.url for document in changed])
            self._insert([ready[document.url] for document in changed])
            if not self._defers.is_set():
                self._index()
            return len(changed)

        return self._writing(put) if ready else 0

    def delete(self, urls: Sequence[str]) -> int:
        self._require_write()
        return self._writing(lambda: self._remove(urls))

    def _require_write(self) -> None:
        if not self.writes:
            raise CorpusError(
                f"{self.address} was opened for reading. Open it with write=True to change it."
            )

    def _to_write(self, documents: Sequence[Document]) -> list[Document]:
        """The documents that are new or differ from those stored; of one address only the last."""
        latest = list({document.url: document for document in documents}.values())
        compared = zip(latest, self.compare(latest), strict=True)
        return [document for document, how in compared if how != "same"]

    def _prepare(self, documents: Sequence[Document], known: Vectors) -> dict[str, Prepared]:
        """Each document by its address with its passages and, if there is an encoder, vectors."""
        cut = [passages(document) for document in documents]
        vectors: Iterator[Floats] = iter(())
        if self.has_vectors:
            every = [passage for of_one in cut for passage in of_one]
            encode = reusing(lambda _: known, lambda new: encoding_with(self.needed_encoder())(new))
            starts = range(0, len(every), ENCODED_AT_ONCE)
            vectors = iter([v for at in starts for v in encode(every[at : at + ENCODED_AT_ONCE])])
        return {
            document.url: (document, of_one, list(itertools.islice(vectors, len(of_one))))
            for document, of_one in zip(documents, cut, strict=True)
        }

    def _writing(self, work: Callable[[], _T]) -> _T:
        def check_first() -> _T:
            if self._about("state") != [(self._state,)]:
                raise StaleCorpus(f"{self.address} was rebuilt. Run the same command again.")
            return work()

        return self._there.writing(check_first)

    def _insert(self, parts: Sequence[Prepared]) -> None:
        following = "nextval(pg_get_serial_sequence('{documents}', 'id'))"
        n = len(parts)
        ids = [i for (i,) in self._there.rows(f"SELECT {following} FROM generate_series(1, {n})")]
        documents, rows = list[tuple[Any, ...]](), list[tuple[Any, ...]]()
        for id_, (document, cut, vectors) in zip(ids, parts, strict=True):
            documents.append(_document_row(id_, document, len(cut)))
            rows += _passage_rows(id_, document, cut, vectors)
        self._there.copy("documents", _DOCUMENT, documents)
        self._there.copy("passages", (*_PASSAGE, *["vector"] * self.has_vectors), rows)
        self._count(ids, +1, [document.doc_id for document, *_ in parts], len(rows))

    def _remove(self, urls: Sequence[str]) -> int:
        heads = list(self.heads(map(key_of, urls)).values())
        asked = "SELECT id FROM {documents} WHERE key = ANY(%s)"
        ids = [id_ for (id_,) in self._there.rows(asked, [head.key for head in heads])]
        n_passages = sum(head.n_passages for head in heads)
        self._count(ids, -1, [head.doc_id for head in heads], n_passages)
        self._there.run("DELETE FROM {documents} WHERE id = ANY(%s)", ids)
        return len(heads)

    def _count(self, ids: Sequence[int], sign: int, doc_ids: Sequence[str], n: int) -> None:
        """Count these documents and their `n` passages, and how many of those have each word."""
        self._there.run(
            f"INSERT INTO {{words}} AS w SELECT word, {sign} * count(*) AS n FROM {{passages}},"
            " unnest(tsvector_to_array(words)) AS word WHERE document = ANY(%s) GROUP BY word"
            " ORDER BY word ON CONFLICT (word) DO UPDATE SET n = w.n + excluded.n",
            ids,
        )
        share = sign * sum(map(share_of_digest, doc_ids)) % 2**128
        self._there.run(
            "UPDATE {generations} SET n_documents = n_documents + %s, sequence = sequence + 1,"
            " n_passages = n_passages + %s, digest = mod(digest + %s, 2::numeric ^ 128),"
            " n_words = n_words + %s * (SELECT coalesce(sum(n_words), 0) FROM {passages}"
            " WHERE document = ANY(%s)) WHERE id = %s",
            *(sign * len(ids), sign * n, share, sign, ids, self._there.build),
        )

    @contextmanager
    def indexing_behind(self) -> Iterator[None]:
        """The graph is made at the end: much faster than to add each passage to it."""
        self._defers.set()
        try:
            yield
        finally:
            self._defers.clear()
        self.optimize()

    def optimize(self) -> None:
        """Make the graph if there are many passages, and count what planning needs."""
        self._writing(self._index)
        self._there.writing(lambda: self._there.run("ANALYZE {documents}, {passages}, {words}"))

    def _index(self) -> None:
        is_due = self.has_vectors and self._n_passages() > FEW
        if is_due and int(self.made_with["dim"]) <= MOST_DIMENSIONS:
            self._there.make_index()

    # ── What stands in it ────────────────────────────────────────────────────────────────────────

    def heads(self, keys: Iterable[str]) -> dict[str, Head]:
        sql = f"SELECT {_HEAD} FROM {{documents}} d WHERE d.key = ANY(%s)"
        return {row[0]: _head(*row) for row in self._there.rows(sql, list(dict.fromkeys(keys)))}

    def get(self, urls: Sequence[str]) -> list[Document | None]:
        keys = list(map(key_of, urls))
        sql = f"SELECT {_HEAD}, d.text FROM {{documents}} d WHERE d.key = ANY(%s)"
        rows = self._there.rows(sql, keys)
        documents = {key: _head(key, *row).with_text(_text(text)) for key, *row, text in rows}
        return [documents.get(key) for key in keys]

    def every(self) -> Iterator[Head]:
        last = 0
        sql = f"SELECT d.id, {_HEAD} FROM {{documents}} d WHERE d.id > %s ORDER BY 1 LIMIT %s"
        while rows := self._there.rows(sql, last, DOCUMENTS_AT_ONCE):
            yield from (_head(*row) for _, *row in rows)
            last = rows[-1][0]

    def compare(self, documents: Sequence[Document]) -> list[Comparison]:
        heads = self.heads(key_of(document.url) for document in documents)
        pairs = [(heads.get(key_of(d.url)), content_hash(d)) for d in documents]
        return [
            "new" if head is None else "same" if head.version == now else "changed"
            for head, now in pairs
        ]

    def versions(self) -> dict[str, str]:
        return {head.facts.url: head.version for head in self.every()}

    def urls(self) -> Iterator[str]:
        return (head.facts.url for head in self.every())

    def count_words(self, words: Sequence[str]) -> tuple[int, list[tuple[str, int]]]:
        forms = [next(iter(lexical.words_of(word)), "") for word in words]
        n_all, having = self.having(set(forms) - {""})
        return n_all, [(form, having.get(form, 0)) for form in forms]

    def ids(self, urls: Sequence[str]) -> list[str | None]:
        heads = self.heads(map(key_of, urls))
        of_urls = [heads.get(key_of(url)) for url in urls]
        return [head.doc_id if head else None for head in of_urls]

    def vectors(self, passages: Sequence[Passage]) -> dict[str, Floats]:
        wanted = {(key_of(passage.url), *passage.span): passage.passage_id for passage in passages}
        sql = f"SELECT d.key, p.first, p.last, p.vector::real[] FROM {_JOIN} WHERE d.key = ANY(%s)"
        keys = list({key for key, *_ in wanted})
        rows = self._there.rows(sql, keys) if self.has_vectors else []
        by_place = {tuple(place): np.asarray(vector, np.float32) for *place, vector in rows}
        return {id_: by_place[place] for place, id_ in wanted.items() if place in by_place}

    def spans(self, keys: Sequence[str]) -> dict[str, list[Span]]:
        by_key = defaultdict[str, list[Span]](list)
        where = f"FROM {_JOIN} WHERE d.key = ANY(%s) ORDER BY p.id"
        for key, *span in self._there.rows(f"SELECT d.key, p.first, p.last {where}", list(keys)):
            by_key[key].append(Span(*span))
        return by_key

    def manifest(self) -> Mapping[str, str]:
        [[digest]] = self._about("digest")
        return {**self._there.manifest, "digest": f"{int(digest):032x}"}

    def _about(self, columns: str) -> list[Any]:
        sql = f"SELECT {columns} FROM {{generations}} WHERE id = %s"
        return self._there.reading(lambda: self._there.rows(sql, self._there.build))

    def _n_passages(self) -> int:
        return int(self._about("n_passages")[0][0])

    def status(self) -> CorpusStatus:
        [[n_documents, n_passages, n]] = self._about("n_documents, n_passages, sequence")
        sizes = ", ".join(f"pg_total_relation_size('{{{table}}}')" for table in TABLES)
        [n_bytes] = self._there.rows(f"SELECT {sizes}")
        return CorpusStatus(
            n_documents,
            n_passages,
            n_bytes=dict(zip(TABLES, n_bytes, strict=True)),
            encoder=self.made_with["encoder"],
            created=self._there.manifest["created"],
            sequence=n,
            lexical_sequence=n,
            unfinished_rebuild=bool(self._there.others(BUILDING)),
        )

    # ── Searching ────────────────────────────────────────────────────────────────────────────────

    def together(
        self, searches: Sequence[tuple[CorpusRetriever, Sequence[Query]]], n: int, merge: Merge
    ) -> list[list[Hit]]:
        """As in all corpora, on one snapshot."""

        def search() -> list[list[Hit]]:
            seen: dict[str, Head] = {}
            ranked = [self._rank(*one, n, seen) for one in searches]
            return merge_runs(self.read, ranked, merge)

        return self._there.reading(search)

    def _rank(
        self, retriever: CorpusRetriever, queries: Sequence[Query], k: int, seen: dict[str, Head]
    ) -> list[list[tuple[Found, float]]]:
        filters, vectors = retriever.filters, None
        if retriever.by == "dense" and queries:
            vectors = self.needed_encoder().encode(list(map(text_of, queries)), "query")

        def search(positions: Sequence[int], depth: int) -> list[Scored]:
            if vectors is not None:
                return self.by_meaning(vectors[list(positions)], depth, filters)
            return self.by_words([queries[i] for i in positions], depth, filters)

        def places_of(keys: Iterable[Any]) -> dict[Any, Found]:
            return {
                key: place
                for key, place in self.places(list(keys), seen).items()
                if not is_below(place.head.facts.url, retriever.exclude)
                and (not filters or filters.accepts(place.head.facts))
            }

        return best(search, places_of, len(queries), k)

    def by_meaning(self, vectors: Floats, depth: int, filters: Filters) -> list[Scored]:
        where, n_all = expression(filters), self._n_passages()
        n_left, dim = n_all, self.made_with["dim"]
        if where:
            asked = f"SELECT coalesce(sum(n_passages), 0) FROM {{documents}} d WHERE {where}"
            n_left = int(self._there.rows(asked)[0][0])
        order = "p.vector <#> q"
        if n_left > FEW:
            order = f"p.vector::halfvec({dim}) <#> q::halfvec({dim})"
            scanned = max(SCANNED, 2 * depth * n_all // n_left)
            self._there.rows(_GRAPH, str(min(1_000, max(depth, WIDTH))), str(scanned))
        sql = (
            "WITH near AS MATERIALIZED (SELECT p.id, -(p.vector <#> q) AS score FROM"
            f" (SELECT %s::vector({dim}) AS q) AS question, {_among(where)} ORDER BY {order}"
            " LIMIT %s) SELECT id, score FROM near ORDER BY score DESC"
        )
        rankings = [self._there.rows(sql, _vector(vector), depth) for vector in vectors]
        return [[(key, round(score, VECTOR_DECIMALS)) for key, score in rows] for rows in rankings]

    def by_words(self, queries: Sequence[Query], depth: int, filters: Filters) -> list[Scored]:
        asked, among = list(map(_words_in, queries)), _among(expression(filters))
        forms = {word + form for words in asked for word in words for form in ("", IN_TITLE)}
        n_all, having = self.having(forms)
        mean = float(self._about("greatest(n_words, 1)::float8 / greatest(n_passages, 1)")[0][0])
        rankings: list[Scored] = []
        for words in asked:
            both = {**words, **{w + IN_TITLE: lexical.TITLE_BOOST * x for w, x in words.items()}}
            known = {w: x * idf(n_all, having[w]) for w, x in both.items() if w in having}
            most = n_all if n_all < lexical.LARGE else lexical.COMMON_SHARE * n_all
            known = {w: x for w, x in known.items() if having[w] <= most} or known  # as in a folder
            rarest = sorted(known, key=lambda word: having[word])
            n_passages = itertools.accumulate(having[word] for word in rarest)
            n_read = max(1, sum(n <= CANDIDATES for n in n_passages))
            rows = self._best(known, rarest[:n_read], depth, among, mean)
            if len(rows) < depth and n_read < len(rarest):
                rows = self._best(known, rarest, depth, among, mean)
            rankings.append(rows)
        return rankings

    def _best(
        self, words: Mapping[str, float], read: Sequence[str], depth: int, among: str, mean: float
    ) -> Scored:
        """The best by BM25 of all words, among passages that have one of those to `read`."""
        quoted = list(map(_quote, read))
        # The length's logarithm (1) divides a word's rank.
        rank = " + ".join(["%s * ts_rank(p.words, %s::tsquery, 1)"] * len(read))
        pairs = itertools.chain(*zip(map(words.__getitem__, read), quoted, strict=True))
        values = list(words), list(words.values()), mean, " | ".join(quoted), *pairs, RANKED * depth
        sql = _BM25.replace("{among}", among).replace("{rank}", rank or "1")
        rows = self._there.rows(sql, *values, depth)
        return [(key, round(score, WORD_DECIMALS)) for key, score in rows]

    def having(self, words: Collection[str]) -> tuple[int, dict[str, int]]:
        asked = "SELECT word, n FROM {words} WHERE word = ANY(%s) AND n > 0"
        return self._n_passages(), dict(self._there.rows(asked, list(words)))

    def places(self, keys: Collection[Any], seen: dict[str, Head]) -> dict[Any, Found]:
        sql = f"SELECT p.id, p.first, p.last, {_HEAD} FROM {_JOIN} WHERE p.id = ANY(%s)"
        by_key = {}
        for key, first, last, *row in self._there.rows(sql, list(keys)):
            head = seen.get(row[0]) or seen.setdefault(row[0], _head(*row))
            by_key[key] = Found(key, Span(first, last), head)
        return by_key

    def read(self, places: Sequence[Found]) -> list[Passage]:
        text = "substring(d.text from p.first_byte + 1 for p.n_bytes)"
        sql = f"SELECT p.id, {text} FROM {_JOIN} WHERE p.id = ANY(%s)"
        texts = dict(self._there.rows(sql, [place.key for place in places]))
        return [place.with_text(_text(texts[place.key])) for place in places]

    def nearest(self, question: str, urls: Sequence[str], k: int) -> list[list[Passage]]:
        if self.encoder is None or not self.has_vectors or k <= 0:
            return [[] for _ in urls]
        vector = _vector(self.encoder.encode([question], "query")[0])
        order = "ORDER BY p.vector <#> %s::vector, p.first LIMIT %s"

        def read(url: str) -> list[Passage]:
            sql = f"SELECT p.id FROM {_JOIN} WHERE d.key = %s {order}"
            keys = [key for (key,) in self._there.rows(sql, key_of(url), vector, k)]
            places = self.places(keys, {})
            return self.read([places[key] for key in keys])

        return self._there.reading(lambda: list(map(read, urls)))


def _among(where: str) -> str:
    """The passages of the documents that an expression lets through."""
    return f"{_JOIN} WHERE ({where})" if where else "{passages} p WHERE true"


def _head(key: str, version: str, stated: str, n_passages: int) -> Head:
    doc_id, url, title, kind, published, fetched, language, meta = json.loads(stated)
    facts = Facts(url, title, kind, published, language, meta)
    return Head(key, version, doc_id, facts, fetched, n_passages)


def key_of(url: str) -> str:
    return sha256(raw(url)).hexdigest()[:KEY_DIGITS]


def _facts_json(document: Document) -> str:
    """All that is known of a document besides its text, in ASCII."""
    facts = [document.doc_id, document.url, document.title, document.kind, document.published]
    return json.dumps([*facts, document.fetched, document.language, dict(document.meta)])


def _words_in(query: Query) -> Mapping[str, float]:
    """A query's words. Of an English one no other forms, which are rare but say nothing."""
    weights, english = lexical.weights(query), identify(text_of(query)) == "en"
    return {w: x for w, x in weights.items() if not (english and w.endswith(lexical.CUT))}


def _document_row(id_: int, document: Document, n_passages: int) -> tuple[Any, ...]:
    facts, key = Facts.of(document), key_of(document.url)
    row = id_, key, content_hash(document), _facts_json(document), n_passages, raw(document.text)
    return *row, facets_of(facts), *days_of(document.published), json.dumps(numbers_of(facts))


def _passage_rows(
    id_: int, document: Document, cut: Sequence[Passage], vectors: Sequence[Floats]
) -> Iterator[tuple[Any, ...]]:
    title = lexical.words_of(document.title, identify(document.title, document.language))
    at = n_before = 0
    for n, passage in enumerate(cut):
        start, end = passage.span
        n_before += len(raw(document.text[at:start]))
        at, n_bytes = start, len(raw(passage.text))
        words = lexical.words_of(passage.text, passage.language)
        vector = map(_vector, vectors[n : n + 1])
        yield id_, start, end, n_before, n_bytes, len(words), _tsvector(words, title), *vector


def _tsvector(text: Sequence[str], title: Sequence[str]) -> str:
    """A passage's words with their positions, and those of its title."""
    positions, n_bytes = defaultdict[str, list[str]](list), 0
    for mark, words in (("", text), (IN_TITLE, title)):
        for n, word in enumerate(words, 1):
            size = len(word.encode())
            n_bytes += size
            if size <= MAX_WORD_BYTES and n_bytes <= MAX_TEXT_BYTES and n <= MAX_POSITION:
                positions[word + mark].append(str(n))
    return " ".join(f"{_quote(word)}:{','.join(of_word)}" for word, of_word in positions.items())


def _quote(word: str) -> str:
    """A word as it stands in a tsvector or a tsquery."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def _vector(vector: Floats) -> str:
    return "[" + ",".join(format(x, ".9g") for x in vector.tolist()) + "]"


def _text(text: bytes) -> str:
    return text.decode("utf-8", "surrogatepass")
