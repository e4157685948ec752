"""A corpus in a PostgreSQL, which several servers may share.

Every batch is a transaction: readers see all of it or nothing, and a kill leaves nothing behind.
Meaning is compared one by one, or found in a graph (HNSW) where there are many passages. Words are
found by full-text search over the same stems as in a folder. PostgreSQL's own ranks know nothing
of how rare a word is: so how many passages have each word is counted here, and a passage's score
is the sum over the query's words of idf times PostgreSQL's rank for that word alone, which grows
ever more slowly with the word's count and falls with the logarithm of the passage's length.
"""

# ruff: noqa: S608 - statements are made of our own words; what comes from outside is a parameter

import json
import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pincite.corpus.lexical import COMMON_SHARE, LEXICAL_RULE, TITLE_BOOST, words_of
from pincite.corpus.protocol import CorpusStatus
from pincite.corpus.ranking import idf
from pincite.corpus.store import content_hash, raw, share_of_digest
from pincite.errors import StaleCorpus
from pincite.protocols import Encoder, Floats, Query
from pincite.retrieval.filters import Facts, Filters
from pincite.text.languages import identify
from pincite.text.passages import passages
from pincite.types import Document, Passage, Span
from pincite_cluster.filters import Dialect, days_of, expression, facets_of, numbers_of
from pincite_cluster.postgres.database import BUILDING, CURRENT, Database
from pincite_cluster.remote import (
    DOCUMENTS_AT_ONCE,
    VECTOR_DECIMALS,
    Found,
    Head,
    RemoteCorpus,
    Scored,
    head_of,
    key_of,
    stated,
    words_in,
)

OWN_RULES = {"format": "postgres-1", "lexical_rule": LEXICAL_RULE}
DIALECT = Dialect("d.facets && ARRAY{}::bigint[]".format, "(d.numbers->>'{}')::float8".format)
# Up to so many passages are compared one by one, as in a folder.
FEW = 20_000
WIDTH = 200  # of a search in the graph: recall@10 is 0.99 of 100,000 passages
MOST_DIMENSIONS = 4_000  # of a vector in pgvector's graphs
SCANNED = 20_000  # pgvector's default: rows that a filtered search in the graph looks at
# A corpus this large is searched without words that more than `COMMON_SHARE` of its passages have,
# unless the others find too few: PostgreSQL reads every passage that has one of the words.
LARGE = 20_000
WORD_DECIMALS = 6
MAX_WORD_BYTES, MAX_TEXT_BYTES = 100, 500_000  # of the words of a passage: tsvector ends at 1 MB
MAX_POSITION = 16_383  # of tsvector
# What a word counts in the text (D) and in the title (A), as ts_rank takes it.
_WEIGHTS = f"ARRAY[1, 0, 0, {TITLE_BOOST}]::real[]"
_HEAD = "d.key, d.version, d.facts, d.n_passages"


class PostgresCorpus(RemoteCorpus):
    """The corpus behind an address."""

    def __init__(
        self,
        there: Database,
        encoder: Encoder | None,
        made_with: Mapping[str, str],
        *,
        write: bool,
        building: bool = False,
    ) -> None:
        """Over the build that `there` uses, which is current unless it is being built."""
        self._there, self.encoder, self.writes = there, encoder, write
        self.made_with, self.address = made_with, there.place.address
        self._state = BUILDING if building else CURRENT
        self._defers = threading.Event()  # inside `indexing_behind`

    def close(self) -> None:
        self._there.close()

    @property
    def name(self) -> str:
        return self._there.place.name

    # ── Writing ──────────────────────────────────────────────────────────────────────────────────

    def add_with(self, documents: Sequence[Document], known: Mapping[str, Floats]) -> int:
        self.require_write()
        new = self.changed(documents, self.heads(key_of(document.url) for document in documents))
        if not new:
            return 0
        cut = [passages(document) for document in new]
        vectors = self.vectors_of(cut, known)  # before the others have to wait

        def put() -> None:
            self._require_current()
            heads = self.heads(key_of(document.url) for document in new)
            left = {document.url for document in self.changed(new, heads)}  # another was faster
            self._remove([heads[key] for url in left if (key := key_of(url)) in heads])
            parts = zip(new, cut, vectors, strict=True)
            self._insert([part for part in parts if part[0].url in left])

        self._there.writing(put)
        self.index_if_due()
        return len(new)

    def delete(self, urls: Sequence[str]) -> int:
        self.require_write()

        def remove() -> int:
            self._require_current()
            heads = self.heads(map(key_of, urls))
            self._remove(list(heads.values()))
            return len(heads)

        return self._there.writing(remove)

    def _require_current(self) -> None:
        asked = "SELECT state FROM {generations} WHERE id = %s"
        if self._there.rows(asked, self._there.build) != [(self._state,)]:
            raise StaleCorpus(
                f"{self.address} was rebuilt meanwhile. Run the same command again to continue."
            )

    def _insert(self, parts: Sequence[tuple[Document, Sequence[Passage], Floats | None]]) -> None:
        ids = self._there.rows(
            "SELECT nextval(pg_get_serial_sequence('{documents}', 'id'))"
            " FROM generate_series(1, %s)",
            len(parts),
        )
        rows: list[Sequence[Any]] = []
        documents = []
        for (id_,), (document, cut, vectors) in zip(ids, parts, strict=True):
            documents.append((id_, *_document_row(document, len(cut))))
            rows += _passage_rows(id_, document, cut, vectors)
        self._there.copy("documents", ("id", *_DOCUMENT), documents)
        self._there.copy("passages", (*_PASSAGE, *["vector"] * self.has_vectors), rows)
        self._count_words([id_ for (id_,) in ids], "+")
        shares = (share_of_digest(document.doc_id) for document, *_ in parts)
        self._count(len(parts), len(rows), sum(shares))

    def _remove(self, heads: Sequence[Head]) -> None:
        if not heads:
            return
        keys = [head.key for head in heads]
        ids = [id_ for (id_,) in self._there.rows(f"SELECT id {_OF_KEYS}", keys)]
        self._count_words(ids, "-")
        self._there.run("DELETE FROM {documents} WHERE id = ANY(%s)", ids)
        n_passages, shares = (
            sum(h.n_passages for h in heads),
            (share_of_digest(h.doc_id) for h in heads),
        )
        self._count(-len(heads), -n_passages, -sum(shares))

    def _count_words(self, documents: Sequence[int], sign: str) -> None:
        self._there.run(
            f"INSERT INTO {{words}} AS w SELECT word, {sign}n FROM"
            f" ({_WORDS_COUNTED} WHERE document = ANY(%s) GROUP BY word ORDER BY word) AS counted"
            " ON CONFLICT (word) DO UPDATE SET n = w.n + excluded.n",
            documents,
        )

    def _count(self, n_documents: int, n_passages: int, share: int) -> None:
        self._there.run(
            "UPDATE {generations} SET n_documents = n_documents + %s, sequence = sequence + 1,"
            " n_passages = n_passages + %s, digest = mod(digest + %s, 2::numeric ^ 128)"
            " WHERE id = %s",
            *(n_documents, n_passages, share % 2**128, self._there.build),
        )

    @contextmanager
    def indexing_behind(self) -> Iterator[None]:
        """The graph is made at the end: much faster than to add each passage to it."""
        self._defers.set()
        try:
            yield
        finally:
            self._defers.clear()
        self.index_if_due()

    def index_if_due(self) -> None:
        if self._defers.is_set() or not self.has_vectors or self._n_passages() <= FEW:
            return
        if int(self.made_with["dim"]) <= MOST_DIMENSIONS:
            self._there.writing(self._make_index, "the vector index could not be made")

    def _make_index(self) -> None:
        if not self._there.has_index():
            self._there.make_index(int(self.made_with["dim"]))
            self._there.run("ANALYZE {passages}")

    # ── What stands in it ────────────────────────────────────────────────────────────────────────

    def heads(self, keys: Iterable[str]) -> dict[str, Head]:
        wanted = list(dict.fromkeys(keys))
        return {
            row[0]: _head(*row) for row in self._there.rows(f"SELECT {_HEAD} {_OF_KEYS}", wanted)
        }

    def get(self, urls: Sequence[str]) -> list[Document | None]:
        keys = list(map(key_of, urls))
        rows = self._there.rows(f"SELECT {_HEAD}, d.text {_OF_KEYS}", keys)
        found = {key: _head(key, *row).with_text(_read(text)) for key, *row, text in rows}
        return [found.get(key) for key in keys]

    def versions(self) -> dict[str, str]:
        return {head.facts.url: head.version for head in self.every()}

    def urls(self) -> Iterator[str]:
        return (head.facts.url for head in self.every())

    def every(self) -> Iterator[Head]:
        """All documents, in the order in which they were added."""
        last = 0
        sql = f"SELECT d.id, {_HEAD} FROM {{documents}} d WHERE d.id > %s ORDER BY d.id LIMIT %s"
        while rows := self._there.rows(sql, last, DOCUMENTS_AT_ONCE):
            yield from (_head(*row) for _, *row in rows)
            last = rows[-1][0]

    def vectors(self, passages: Sequence[Passage]) -> dict[str, Floats]:
        if not self.has_vectors:
            return {}
        keys = list({key_of(passage.url) for passage in passages})
        rows = self._there.rows(
            "SELECT d.doc_id, p.first, p.last, p.vector::real[] FROM {documents} d"
            " JOIN {passages} p ON p.document = d.id WHERE d.key = ANY(%s)",
            keys,
        )
        return {f"{i}:{a}-{b}": np.asarray(v, dtype=np.float32) for i, a, b, v in rows}

    def spans(self, keys: Sequence[str]) -> dict[str, list[Span]]:
        """The spans of the documents' passages, in order."""
        found: dict[str, list[Span]] = {key: [] for key in keys}
        for key, first, last in self._there.rows(
            "SELECT d.key, p.first, p.last FROM {documents} d JOIN {passages} p"
            " ON p.document = d.id WHERE d.key = ANY(%s) ORDER BY p.first, p.last",
            list(keys),
        ):
            found[key].append(Span(first, last))
        return found

    def is_counted_right(self) -> bool:
        """Whether the counts of words, passages and documents are those of the rows."""
        wrong = (
            f"SELECT 1 FROM ({_WORDS_COUNTED} GROUP BY word) AS a FULL JOIN"
            " (SELECT * FROM {words} WHERE n <> 0) AS w USING (word)"
            " WHERE a.n IS DISTINCT FROM w.n LIMIT 1"
        )
        counts = self._about("n_documents, n_passages, digest")
        return not self._there.rows(wrong) and counts == [self._counts()]

    def _counts(self) -> tuple[int, int, int]:
        shares = [share_of_digest(head.doc_id) for head in self.every()]
        [[n_passages]] = self._there.rows("SELECT count(*) FROM {passages}")
        return len(shares), n_passages, sum(shares) % 2**128

    def count_again(self) -> None:
        self._there.run("DELETE FROM {words}")
        self._there.run(f"INSERT INTO {{words}} {_WORDS_COUNTED} GROUP BY word")
        self._there.run(
            "UPDATE {generations} SET n_documents = %s, n_passages = %s, digest = %s WHERE id = %s",
            *(*self._counts(), self._there.build),
        )

    def manifest(self) -> Mapping[str, str]:
        [[digest]] = self._about("digest")
        return {**self._there.manifest, "digest": f"{int(digest):032x}"}

    def _about(self, columns: str) -> list[Any]:
        sql = f"SELECT {columns} FROM {{generations}} WHERE id = %s"
        return self._there.rows(sql, self._there.build)

    def _n_passages(self) -> int:
        return int(self._about("n_passages")[0][0])

    def status(self) -> CorpusStatus:
        """Counts and sizes: `words` is the table of how many passages have each word."""
        [[n_documents, n_passages, sequence]] = self._about("n_documents, n_passages, sequence")
        sizes = ", ".join(f"pg_total_relation_size('{{{t}}}')" for t in _PARTS)
        unfinished = "SELECT 1 FROM {generations} WHERE state = %s"
        return CorpusStatus(
            n_documents=n_documents,
            n_passages=n_passages,
            n_bytes=dict(zip(_PARTS, self._there.rows(f"SELECT {sizes}")[0], strict=True)),
            encoder=self.made_with["encoder"],
            created=self._there.manifest["created"],
            sequence=sequence,
            lexical_sequence=sequence,
            unfinished_rebuild=bool(self._there.rows(unfinished, BUILDING)),
        )

    # ── Searching ────────────────────────────────────────────────────────────────────────────────

    def together(self, *searches: Any) -> Any:
        """As in all corpora, on one snapshot."""
        return self._there.reading(lambda: super(PostgresCorpus, self).together(*searches))

    def by_meaning(self, vectors: Floats, depth: int, filters: Filters) -> list[Scored]:
        where, n_all = expression(filters, DIALECT), self._n_passages()
        n_left, joined = n_all, ""
        if where:
            asked = f"SELECT coalesce(sum(n_passages), 0) FROM {{documents}} d WHERE {where}"
            n_left = int(self._there.rows(asked)[0][0])
            joined = f" JOIN {{documents}} d ON d.id = p.document AND ({where})"
        dim, is_few = int(self.made_with["dim"]), n_left <= FEW
        order = "p.vector <#> q" if is_few else f"p.vector::halfvec({dim}) <#> q::halfvec({dim})"
        if not is_few:
            scanned = max(SCANNED, 2 * depth * n_all // n_left)
            values = (str(min(1_000, max(depth, WIDTH))), str(scanned))
            self._there.rows(_GRAPH, *values)
        sql = (
            f"WITH near AS MATERIALIZED (SELECT p.id, -(p.vector <#> q) AS score FROM {{passages}}"
            f" p{joined}, (SELECT %s::vector({dim}) AS q) AS question ORDER BY {order} LIMIT %s)"
            " SELECT id, score FROM near ORDER BY score DESC"
        )
        found = [self._there.rows(sql, _vector(vector), depth) for vector in vectors]
        return [[(key, round(score, VECTOR_DECIMALS)) for key, score in rows] for rows in found]

    def by_words(self, queries: Sequence[Query], depth: int, filters: Filters) -> list[Scored]:
        asked, where = list(map(words_in, queries)), expression(filters, DIALECT)
        n_all, having = self._having({word for words in asked for word in words})
        joined = f" JOIN {{documents}} d ON d.id = p.document AND ({where})" if where else ""
        found: list[Scored] = []
        for words in asked:
            known = {w: x * idf(n_all, having[w]) for w, x in words.items() if w in having}
            rare = {w: x for w, x in known.items() if having[w] <= COMMON_SHARE * n_all}
            some = rare if n_all >= LARGE else known
            rows = self._ranked_by(some, depth, joined)
            if len(rows) < depth and len(some) < len(known):
                rows = self._ranked_by(known, depth, joined)
            found.append(rows)
        return found

    def _ranked_by(self, words: Mapping[str, float], depth: int, joined: str) -> Scored:
        if not words:
            return []
        quoted = list(map(_quoted, words))
        # The length's logarithm (1) divides a word's rank.
        score = " + ".join([f"%s * ts_rank({_WEIGHTS}, p.words, %s::tsquery, 1)"] * len(words))
        sql = (
            f"SELECT p.id, ({score}) AS score FROM {{passages}} p{joined}"
            " WHERE p.words @@ %s::tsquery ORDER BY score DESC LIMIT %s"
        )
        pairs = [part for pair in zip(words.values(), quoted, strict=True) for part in pair]
        rows = self._there.rows(sql, *pairs, " | ".join(quoted), depth)
        return [(key, round(score, WORD_DECIMALS)) for key, score in rows]

    def _having(self, words: Collection[str]) -> tuple[int, dict[str, int]]:
        """The number of passages, and of those that have each word."""
        asked = "SELECT word, n FROM {words} WHERE word = ANY(%s) AND n > 0"
        return self._n_passages(), dict(self._there.rows(asked, list(words)))

    def places(self, keys: Collection[Any], seen: dict[str, Head]) -> dict[Any, Found]:
        rows = self._there.rows(
            f"SELECT p.id, p.first, p.last, {_HEAD} FROM {{passages}} p"
            " JOIN {documents} d ON d.id = p.document WHERE p.id = ANY(%s)",
            list(keys),
        )
        found = {}
        for key, first, last, *row in rows:
            head = seen.get(row[0]) or seen.setdefault(row[0], _head(*row))
            found[key] = Found(key, Span(first, last), head)
        return found

    def read(self, places: Sequence[Found]) -> list[Passage]:
        sql = (
            "SELECT p.id, substring(d.text from p.first_byte + 1 for p.n_bytes) FROM {passages} p"
            " JOIN {documents} d ON d.id = p.document WHERE p.id = ANY(%s)"
        )
        texts = dict(self._there.rows(sql, [place.key for place in places]))
        return [place.with_text(_read(texts[place.key])) for place in places]

    def nearest(self, question: str, urls: Sequence[str], k: int) -> list[list[Passage]]:
        if self.encoder is None or not self.has_vectors or not urls or k <= 0:
            return [[] for _ in urls]
        [vector] = self.encoder.encode([question], "query")
        sql = (
            "SELECT p.id FROM {documents} d JOIN {passages} p ON p.document = d.id"
            " WHERE d.key = %s ORDER BY p.vector <#> %s::vector, p.first LIMIT %s"
        )

        def read(url: str) -> list[Passage]:
            keys = [key for (key,) in self._there.rows(sql, key_of(url), _vector(vector), k)]
            places = self.places(keys, {})
            return self.read([places[key] for key in keys])

        return self._there.reading(lambda: list(map(read, urls)))

    def counted(self, words: Sequence[str]) -> tuple[int, list[tuple[str, int]]]:
        forms = [next(iter(words_of(word)), "") for word in words]
        n_all, having = self._having(set(forms))
        return n_all, [(form, having.get(form, 0)) for form in forms]


_DOCUMENT = ("key", "version", "doc_id", "facts", "n_passages", "text", "facets", "first_day")
_DOCUMENT += ("last_day", "numbers", "title", "url", "kind", "published", "language")
_PASSAGE = ("document", "first", "last", "first_byte", "n_bytes", "words")
_PARTS = ("documents", "passages", "words")
_WORDS_COUNTED = (
    "SELECT word, count(*) AS n FROM {passages}, unnest(tsvector_to_array(words)) AS word"
)
_OF_KEYS = "FROM {documents} d WHERE d.key = ANY(%s)"
# Within the transaction: how wide the graph is searched, and how far on where a filter leaves few.
_GRAPH = (
    "SELECT set_config('hnsw.ef_search', %s, true), set_config('hnsw.max_scan_tuples', %s, true),"
    " set_config('hnsw.iterative_scan', 'relaxed_order', true)"
)


def _head(key: str, version: str, facts: str, n_passages: int) -> Head:
    return head_of(key, version, facts, 1, n_passages)


def _document_row(document: Document, n_passages: int) -> tuple[Any, ...]:
    facts, key = Facts.of(document), key_of(document.url)
    row = key, content_hash(document), document.doc_id, stated(document), n_passages
    filtered = facets_of(facts), *days_of(document.published), json.dumps(numbers_of(facts))
    listed = document.title, document.url, document.kind, document.published, document.language
    return *row, raw(document.text), *filtered, *map(_plain, listed)


def _passage_rows(
    id_: int, document: Document, cut: Sequence[Passage], vectors: Floats | None
) -> Iterator[tuple[Any, ...]]:
    title = words_of(document.title, identify(document.title, document.language))
    at = n_before = 0
    for n, passage in enumerate(cut):
        start, end = passage.span
        n_before += len(raw(document.text[at:start]))
        at, n_bytes = start, len(raw(passage.text))
        words = _tsvector(words_of(passage.text, passage.language), title)
        vector = [_vector(vectors[n])] if vectors is not None else []
        yield id_, start, end, n_before, n_bytes, words, *vector


def _tsvector(text: Sequence[str], title: Sequence[str]) -> str:
    """A passage's words with their positions, those of the title marked as such."""
    positions, n_bytes = defaultdict[str, list[str]](list), 0
    for mark, words in (("A", title), ("", text)):
        for n, word in enumerate(words, 1):
            size = len(word.encode())
            n_bytes += size
            if size <= MAX_WORD_BYTES and n_bytes <= MAX_TEXT_BYTES and n <= MAX_POSITION:
                positions[word].append(f"{n}{mark}")
    return " ".join(f"{_quoted(word)}:{','.join(of_word)}" for word, of_word in positions.items())


def _quoted(word: str) -> str:
    """A word as it stands in a tsvector or a tsquery."""
    escaped = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _vector(vector: Floats) -> str:
    return "[" + ",".join(format(x, ".9g") for x in vector.tolist()) + "]"


def _read(text: bytes) -> str:
    return text.decode("utf-8", "surrogatepass")


def _plain(text: str | None) -> str | None:
    """A text that PostgreSQL takes, for listing; the exact one is among the facts."""
    return text and text.replace("\0", "").encode("utf-8", "replace").decode()
