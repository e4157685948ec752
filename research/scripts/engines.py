"""Other engines over a corpus's passages, for research/scripts/bench_million.py: build, then answer by number.

A builder takes the store, a scratch folder, the queries, their vectors (or None) and Anserini's
jar (or None), and returns calls that give an engine's hundred best for the query of that number.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pincite.corpus.store import Store

DEPTH = 100
Calls = dict[str, Callable[[int], Any]]


def texts(store: Store) -> Iterator[tuple[int, str]]:
    """(key, text) of all passages."""
    for places in store.places_between(1, store.last_key()):
        for place, passage in zip(places, store.passages(places), strict=True):
            yield place.key, passage.text


def bm25s(store: Store, scratch: Path, asked: list[str], known: Any, jar: Path | None) -> Calls:
    """Scores laid out in advance, in memory; stemmed as ours."""
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    passages = [text for _, text in texts(store)]
    tokens = bm25s.tokenize(passages, stopwords=None, stemmer=stemmer, show_progress=False)
    del passages
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend="numba")
    index.index(tokens, show_progress=False)
    del tokens

    def call(n: int) -> Any:
        words = bm25s.tokenize([asked[n]], stopwords=None, stemmer=stemmer, show_progress=False)
        return index.retrieve(words, k=DEPTH, show_progress=False)

    return {"bm25s (numba)": call}


def lucene(store: Store, scratch: Path, asked: list[str], known: Any, jar: Path | None) -> Calls:
    """Lucene itself, one segment, English stemming, all words kept."""
    if jar is None:
        return {}
    import jnius_config

    jnius_config.add_options("-Xmx3g", "--add-modules=jdk.incubator.vector")
    jnius_config.set_classpath(str(jar))
    from jnius import autoclass

    paths = autoclass("java.nio.file.Paths")
    directory = autoclass("org.apache.lucene.store.MMapDirectory")(paths.get(str(scratch / "luc")))
    none = autoclass("org.apache.lucene.analysis.CharArraySet").EMPTY_SET
    analyzer = autoclass("org.apache.lucene.analysis.en.EnglishAnalyzer")(none)
    writer = autoclass("org.apache.lucene.index.IndexWriter")(
        directory, autoclass("org.apache.lucene.index.IndexWriterConfig")(analyzer)
    )
    document, stored = (
        autoclass(f"org.apache.lucene.document.{name}") for name in ("Document", "Field$Store")
    )
    field = autoclass("org.apache.lucene.document.TextField")
    name = autoclass("org.apache.lucene.document.StringField")
    for key, text in texts(store):
        each = document()
        each.add(name("key", str(key), stored.YES))
        each.add(field("text", text, stored.NO))
        writer.addDocument(each)
    writer.forceMerge(1)
    writer.close()
    reader = autoclass("org.apache.lucene.index.DirectoryReader").open(directory)
    constructor = "(Lorg/apache/lucene/index/IndexReader;)V"  # one of several
    searcher = autoclass("org.apache.lucene.search.IndexSearcher")(reader, signature=constructor)
    similarity = autoclass("org.apache.lucene.search.similarities.BM25Similarity")(1.2, 0.75)
    searcher.setSimilarity(similarity)
    parser = autoclass("org.apache.lucene.queryparser.classic.QueryParser")
    reading = parser("text", analyzer)

    def call(n: int) -> Any:
        return searcher.search(reading.parse(parser.escape(asked[n])), DEPTH).scoreDocs

    return {"Lucene": call}


def lancedb(store: Store, scratch: Path, asked: list[str], known: Any, jar: Path | None) -> Calls:
    """LanceDB's word index, and IVF_RQ over the vectors where there are some.

    By default its vectors stop at codes; refined, stored vectors decide, as they do here.
    """
    import lancedb
    import pyarrow as pa

    dim = known.dim if known else 0
    fields = [pa.field("key", pa.int64()), pa.field("text", pa.string())]
    if known:
        fields.append(pa.field("vector", pa.list_(pa.float32(), dim)))
    schema = pa.schema(fields)
    table = lancedb.connect(str(scratch / "lance")).create_table(
        "passages", pa.RecordBatchReader.from_batches(schema, _batches(store, schema, dim))
    )
    stem = {"stem": True, "remove_stop_words": False, "with_position": False}
    table.create_fts_index("text", use_tantivy=False, **stem)
    table.wait_for_index(["text_idx"])

    def words(n: int) -> Any:
        found = table.search(asked[n], query_type="fts", fts_columns="text")
        return found.limit(DEPTH).select(["key"]).to_arrow()

    calls: Calls = {"LanceDB words": words}
    if known:
        table.create_index(metric="dot", index_type="IVF_RQ", vector_column_name="vector")
        table.wait_for_index(["vector_idx"])
        rows = known.vectors

        def near(n: int) -> Any:
            found = table.search(rows[n], vector_column_name="vector")
            return found.limit(DEPTH).select(["key"]).to_arrow()

        def refined(n: int) -> Any:
            found = table.search(rows[n], vector_column_name="vector").nprobes(80)
            return found.refine_factor(4).limit(DEPTH).select(["key"]).to_arrow()

        calls |= {"LanceDB vectors": near, "LanceDB vectors, refined": refined}
    return calls


def _batches(store: Store, schema: Any, dim: int) -> Iterator[Any]:
    import pyarrow as pa

    for places in store.places_between(1, store.last_key()):
        keys = [place.key for place in places]
        columns = [pa.array(keys), pa.array([p.text for p in store.passages(places)])]
        if dim:
            vectors = pa.array(store.vectors(keys, dim)[1].ravel())
            columns.append(pa.FixedSizeListArray.from_arrays(vectors, dim))
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


BUILDERS: dict[str, Callable[..., Calls]] = {"bm25s": bm25s, "Lucene": lucene, "LanceDB": lancedb}
