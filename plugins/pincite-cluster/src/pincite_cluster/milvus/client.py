"""The two collections of a corpus in a Milvus, and all that is said to its server.

A corpus's name is an alias. It stands for the collection of its documents, `NAME_ID_documents`;
`NAME_ID` beside it has the passages. So a rebuild fills two new collections, and one change of the
alias puts both in place of the old ones. Who has the old ones open goes on reading them.

Everything written has a key that follows from what it says, and is put there by an upsert: so
pymilvus may send a call again when the connection was lost, and nothing stands there twice.
"""

import contextlib
import json
import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from pincite.errors import ConfigError, CorpusError, MissingExtra, install_command
from pincite_cluster.filters import MAX_FACETS
from pincite_cluster.remote import portions

TOKEN = "PINCITE_MILVUS_TOKEN"  # noqa: S105 - the name of a variable
PORT = 19_530
# Seconds until a call gives up; a server that restarts is back in less. Meanwhile pymilvus asks
# again, with growing pauses, whatever may be asked again.
PATIENCE, CONNECTING, PAUSE = 60.0, 10.0, 0.2
LIMIT = 16_384  # rows that Milvus gives for one search or query
ROWS_AT_ONCE = 500  # of an upsert: 2 MB with vectors of 384 numbers; a message holds 64 MB
IDS_AT_ONCE = 1_000
QUERIES_AT_ONCE = 8  # Milvus-lite takes seconds for each, of 60 (PATIENCE)
MAX_BYTES = 65_535  # of a text
KEY_BYTES = 128
HNSW = "hnsw"
WIDTH = 500  # of a search in a graph, as the embedded engine's
# Kinds of vector index: what each is built with, and searched with. HNSW: links as `corpus.dense`
# has them, the width as Milvus advises. The others have values from the middle of what its
# documents advise (2.6: ivf-rabitq.md, diskann.md) and were never run: Milvus-lite lacks them.
INDEXES: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    HNSW: ({"M": 32, "efConstruction": 200}, {"ef": WIDTH}),
    "ivf_rabitq": (
        {"nlist": 1_024, "refine": True, "refine_type": "SQ8"},
        {"nprobe": 64, "rbq_query_bits": 6, "refine_k": 4},
    ),
    "diskann": ({}, {"search_list": WIDTH}),
}
OF_LITE = (HNSW,)  # Milvus-lite takes the others too, and then fails at the first large segment
CONSISTENCY = ("Strong", "Bounded", "Session", "Eventually")
PROPERTY = "pincite.manifest"
# gRPC's servers hang up on who asks more often than every five minutes whether they are there.
PINGS = {"grpc.keepalive_time_ms": 300_000, "grpc.keepalive_permit_without_calls": False}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_DOCUMENTS = "_documents"
# What a server says that is starting, or was started anew: some seconds later it answers.
_LOST = re.compile(
    "unavailable|fail connecting|connection (refused|reset)|not (fully )?loaded|call load",
    re.IGNORECASE,
)
_UNLOADED = re.compile("loaded|call load", re.IGNORECASE)
_MAKING, _READING = "the corpus could not be created", "it could not be read"
_ASKING = "its contents could not be listed"


class Place(NamedTuple):
    """An address, taken apart."""

    uri: str
    database: str
    name: str
    consistency: str
    kind: str  # of vector index; empty: as the corpus has it, of a new one HNSW
    address: str


def place_of(address: str) -> Place:
    """What an address says.

    Raises:
        ConfigError: it has another form.

    >>> place_of("milvus://db.example/wafer")[:4]
    ('http://db.example:19530', '', 'wafer', 'Strong')
    """
    try:
        parts, port = urlsplit(address), urlsplit(address).port or PORT
    except ValueError as error:
        raise ConfigError(f"{address}: {error}. Expected milvus://host:19530/name") from error
    *database, name = parts.path.strip("/").split("/")
    asked = parse_qs(parts.query)
    consistency = asked.pop("consistency", ["Strong"])[-1].capitalize()
    if not parts.hostname or len(database) > 1 or not all(map(_NAME.fullmatch, (*database, name))):
        raise ConfigError(
            f"{address} is not the address of a corpus in Milvus. Expected "
            "milvus://host:19530/name, or milvus://host:19530/database/name; names "
            "contain only letters, digits and _."
        )
    index = asked.pop("index", [""])[-1].lower()
    if asked or consistency not in CONSISTENCY or index not in ("", *INDEXES):
        raise ConfigError(
            f"{address}: after the ?, expected consistency={'|'.join(CONSISTENCY)} or "
            f"index={'|'.join(INDEXES)}"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    http = "http" if parts.scheme == "milvus" else "https"
    return Place(f"{http}://{host}:{port}", "".join(database), name, consistency, index, address)


class Collections:
    """The documents and passages of one corpus, whose collections `find` or `make` names."""

    def __init__(self, address: str) -> None:
        """Connect.

        Raises:
            ConfigError, MissingExtra
            CorpusError: the server does not answer, or refuses the token.
        """
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # else it writes on stderr what it mends
        self.place = place_of(address)
        self.passages = self.documents = ""
        try:
            import grpc
            import pymilvus
        except ImportError as error:
            raise MissingExtra(
                f"{address} is a corpus in Milvus, which needs pymilvus, which is not installed. "
                f"Install with: {install_command('milvus')}"
            ) from error
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # what it logs, it raises too
        self._library: Any = pymilvus
        self._errors = (pymilvus.MilvusException, grpc.RpcError)
        try:
            self._client: Any = pymilvus.MilvusClient(
                uri=self.place.uri,
                token=os.environ.get(TOKEN, ""),
                db_name=self.place.database,
                timeout=CONNECTING,
                dedicated=True,  # a shared one outlives us, and the server that it led to
                grpc_options=PINGS,
            )
        except self._errors as error:
            raise CorpusError(self._message("it could not be reached", _words(error))) from error

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._client.close()

    # ── What there is ────────────────────────────────────────────────────────────────────────────

    def exist(self) -> bool:
        """Whether there is a corpus, or anything else, under the name."""
        return bool(self._said(_ASKING, self._client.has_collection, self.place.name))

    def manifest(self) -> dict[str, str]:
        """Find the collections that the corpus has now; what it was made with.

        Raises:
            CorpusError: there is none, or it is none of ours.
        """
        if not self.exist():
            raise CorpusError(
                f"{self.place.address} does not exist: the server has no alias "
                f"{self.place.name!r}. Create it: pincite corpus add {self.place.address} PATH…"
            )
        try:
            if self.place.name in self._said(_ASKING, self._client.list_collections):
                raise ValueError("a collection has that name, not an alias")
            found = self._said(_ASKING, self._client.describe_alias, self.place.name)
            self._name(str(found["collection_name"]).removesuffix(_DOCUMENTS))
            about = json.loads(self._about(self.documents))
            return {str(key): str(value) for key, value in about.items()}
        except (ValueError, AttributeError, KeyError) as error:
            raise CorpusError(
                f"{self.place.address}: what the server has under the name {self.place.name!r} "
                "was not made by Pincite. Choose another name."
            ) from error

    def _name(self, passages: str) -> None:
        self.passages, self.documents = passages, passages + _DOCUMENTS

    def _about(self, collection: str) -> str:
        found = self._said(_ASKING, self._client.describe_collection, collection)
        return str((found.get("properties") or {}).get(PROPERTY) or found.get("description", ""))

    def make(self, manifest: Mapping[str, str], dim: int) -> None:
        """Make both collections, empty and loaded; they stand under the name after `publish`.

        Raises:
            ConfigError: the server lacks the kind of index.
        """
        self._check_index(manifest["index"])
        self._name(f"{self.place.name}_{manifest['identity'][:8]}")
        kinds, about = self._library.DataType, json.dumps(dict(manifest), sort_keys=True)
        vectors = (dim, manifest["index"]) if dim else None
        self._make(self.passages, *self._passages(kinds, vectors, about), about)
        self._make(self.documents, *self._documents(kinds, about), about)

    def _check_index(self, index: str) -> None:
        version = str(self._said(_ASKING, self._client.get_server_version))
        if "lite" in version and index not in OF_LITE:
            raise ConfigError(
                f"{self.place.address}: Milvus Lite has no index {index!r}. Expected "
                f"index={'|'.join(OF_LITE)}, or none."
            )

    def publish(self) -> None:
        """From now on these are the collections that the name stands for."""
        there = self.exist()
        put = self._client.alter_alias if there else self._client.create_alias
        self._said("the alias could not be set", put, self.documents, self.place.name)

    def unnamed(self) -> list[str]:
        """Collections of this corpus that its name does not stand for: what rebuilds left."""
        ours = re.compile(rf"{self.place.name}_[0-9a-f]{{8}}({_DOCUMENTS})?")
        every = self._said(_ASKING, self._client.list_collections)
        others = set(filter(ours.fullmatch, every)) - {self.passages, self.documents}
        return sorted(name for name in others if '"passage_rule"' in self._about(name))

    def drop(self, collections: Sequence[str]) -> None:
        for name in collections:
            self._said("a collection could not be dropped", self._client.drop_collection, name)

    def _make(self, name: str, schema: Any, index: Any, about: str) -> None:
        self._said(
            _MAKING,
            self._client.create_collection,
            name,
            schema=schema,
            index_params=index,
            properties={PROPERTY: about},
            consistency_level=self.place.consistency,
        )

    def _passages(self, kinds: Any, vectors: tuple[int, str] | None, about: str) -> tuple[Any, Any]:
        """`vectors`: of how many numbers, and their index; None: words only."""
        library, index = self._library, self._client.prepare_index_params()
        schema = self._client.create_schema(description=about)
        text = {"datatype": kinds.VARCHAR, "max_length": MAX_BYTES}
        schema.add_field("id", kinds.VARCHAR, max_length=KEY_BYTES, is_primary=True)
        schema.add_field("document", kinds.VARCHAR, max_length=KEY_BYTES)
        schema.add_field("text", **text)
        for words, found in (("words", "by_words"), ("title", "by_title")):
            # They are cut and stemmed by us, as the embedded engine does: only blanks matter here.
            rule = {"tokenizer": "standard"}
            schema.add_field(
                words, **text, enable_analyzer=True, enable_match=True, analyzer_params=rule
            )
            schema.add_field(found, kinds.SPARSE_FLOAT_VECTOR)
            bm25 = library.FunctionType.BM25
            schema.add_function(library.Function(f"bm25_{words}", bm25, [words], [found]))
            index.add_index(
                found,
                index_type="SPARSE_INVERTED_INDEX",
                metric_type="BM25",
                params={"bm25_k1": 1.2, "bm25_b": 0.75},  # Lucene's
            )
        schema.add_field("facets", kinds.ARRAY, element_type=kinds.INT64, max_capacity=MAX_FACETS)
        schema.add_field("first_day", kinds.INT64)
        schema.add_field("last_day", kinds.INT64)
        schema.add_field("numbers", kinds.JSON)
        index.add_index("document", index_type="INVERTED")
        if vectors:
            schema.add_field("vector", kinds.FLOAT_VECTOR, dim=vectors[0])
            built = dict(INDEXES[vectors[1]][0])
            kind = vectors[1].upper()
            index.add_index("vector", index_type=kind, metric_type="IP", params=built)
        return schema, index

    def _documents(self, kinds: Any, about: str) -> tuple[Any, Any]:
        schema = self._client.create_schema(description=about)
        schema.add_field("id", kinds.VARCHAR, max_length=KEY_BYTES, is_primary=True)
        schema.add_field("version", kinds.VARCHAR, max_length=KEY_BYTES)
        schema.add_field("facts", kinds.VARCHAR, max_length=MAX_BYTES)
        schema.add_field("text", kinds.VARCHAR, max_length=MAX_BYTES)
        schema.add_field("n_blocks", kinds.INT64)
        schema.add_field("n_passages", kinds.INT64)
        schema.add_field("unused", kinds.FLOAT_VECTOR, dim=2)  # Milvus wants one in each collection
        index = self._client.prepare_index_params()
        index.add_index("unused", index_type="FLAT", metric_type="IP")
        return schema, index

    def load(self) -> None:
        """Make it searchable: a server that was started anew may have let go of it."""
        for name in (self.documents, self.passages):
            self._said("it could not be loaded", self._client.load_collection, name)

    # ── Rows ─────────────────────────────────────────────────────────────────────────────────────

    def upsert(self, collection: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Put rows there; what has such a key is replaced."""
        what = "the documents could not be added; run the same command again to continue"
        for portion in portions(rows, ROWS_AT_ONCE):
            self._said(what, self._client.upsert, collection, [dict(r) for r in portion])

    def remove(self, collection: str, ids: Sequence[str]) -> None:
        """Delete the rows with these keys; others are no error."""
        what = "the documents could not be deleted; run the same command again to continue"
        for portion in portions(ids, IDS_AT_ONCE):
            self._said(what, self._client.delete, collection, ids=portion)

    def get(self, collection: str, ids: Sequence[str], fields: Sequence[str]) -> list[Any]:
        """The rows that there are of these keys, in any order."""
        found: list[Any] = []
        for portion in portions(ids, IDS_AT_ONCE):
            ask = self._client.get
            found += self._said(_READING, ask, collection, portion, list(fields), **self._seen)
        return found

    def rows(self, collection: str, where: str, fields: Sequence[str]) -> Iterator[Any]:
        """All rows that meet the expression, by ascending key; `fields` has the key."""
        last, found = "", [None]
        while found:
            behind = f'id > "{last}"'
            asked = f"({where}) and {behind}" if where else behind
            found = self._said(_READING, self._page, collection, asked, fields)
            yield from found
            last = found[-1]["id"] if found else last

    def _page(
        self, collection: str, where: str, fields: Sequence[str], timeout: float
    ) -> list[Any]:
        """The first rows by ascending key: what the iterator's first step gives."""
        how = {"timeout": timeout, **self._seen}
        portions = self._client.query_iterator(
            collection, IDS_AT_ONCE, filter=where, output_fields=list(fields), **how
        )
        try:
            return list(portions.next())
        finally:
            portions.close()

    def count(self, collection: str, where: str = "") -> int:
        """How many rows there are, or meet the expression."""
        ask, fields = self._client.query, ["count(*)"]
        found = self._said(_READING, ask, collection, where, fields, **self._seen)
        return int(found[0]["count(*)"])

    def search(
        self, field: str, asked: Sequence[Any], depth: int, where: str, how: Mapping[str, Any]
    ) -> list[list[tuple[str, float]]]:
        """For each query the keys of at most `depth` passages with their scores, best first."""
        found: list[list[tuple[str, float]]] = []
        for portion in portions(asked, QUERIES_AT_ONCE):
            results = self._said(
                "it could not be searched",
                self._client.search,
                self.passages,
                portion,
                filter=where,
                limit=min(depth, LIMIT),
                anns_field=field,
                search_params=dict(how),
                **self._seen,
            )
            found += [[(str(h["id"]), float(h["distance"])) for h in hits] for hits in results]
        return found

    def compact(self) -> None:
        """Ask the server to drop what was deleted, which it does some time; Milvus-lite cannot."""
        with contextlib.suppress(self._library.MilvusException):
            self._client.compact(self.passages, timeout=PATIENCE)

    def flush(self) -> None:
        """Ask the server to close its segments, which it may refuse to do too often."""
        with contextlib.suppress(self._library.MilvusException):
            for name in (self.passages, self.documents):
                self._client.flush(name, timeout=PATIENCE)

    @property
    def _seen(self) -> dict[str, Any]:
        return {"consistency_level": self.place.consistency}

    def _said(self, what: str, ask: Callable[..., Any], *given: Any, **how: Any) -> Any:
        """What the server answers. Whatever we say to it may be said again: no answer is no harm.

        pymilvus asks again too, but gives up on a server that takes longer to start.
        """
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return ask(*given, timeout=PATIENCE, **how)
            except self._errors as error:
                said = _words(error)
                if not _LOST.search(said) or time.monotonic() > until:
                    raise CorpusError(self._message(what, said)) from error
            time.sleep(PAUSE)
            if _UNLOADED.search(said):
                self.load()

    def _message(self, what: str, said: str) -> str:
        secret = os.environ.get(TOKEN, "")
        detail = " ".join((said.replace(secret, "…") if secret else said).split())[:300]
        if re.search("auth|permission|privilege", detail, re.IGNORECASE):
            what = f"it refused the token, which comes from {TOKEN}"
        return (
            f"{self.place.address}: {what} ({detail}). Is Milvus running at {self.place.uri}, "
            f"and is {TOKEN} set if it needs one?"
        )


def _words(error: Exception) -> str:
    return str(getattr(error, "message", "") or error)
