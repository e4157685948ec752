"""The engine behind `milvus://…` addresses: corpora made, opened, rebuilt, verified and swept."""

from collections.abc import Sequence
from contextlib import closing
from importlib.metadata import version
from typing import Any

from pincite.corpus.generation import NO_ENCODER, check_fit, new_manifest
from pincite.corpus.protocol import Address, Finding
from pincite.durable import Tell
from pincite.errors import ConfigError, CorpusError
from pincite.protocols import Encoder
from pincite_cluster.milvus.client import HNSW, Collections
from pincite_cluster.milvus.corpus import OWN_RULES, MilvusCorpus
from pincite_cluster.milvus.rows import HEADS, blocks_of, head_fields, head_of, parts_of
from pincite_cluster.remote import Head, Progress, follow


class Milvus:
    """The `protocol.Engine` of `milvus://` addresses."""

    def exists(self, address: Address) -> bool:
        with closing(Collections(str(address))) as there:
            return there.exist()

    def encoder_of(self, address: Address) -> str:
        with closing(Collections(str(address))) as there:
            return there.manifest().get("encoder", NO_ENCODER)

    def create(self, address: Address, encoder: Encoder | None) -> MilvusCorpus:
        there = Collections(str(address))
        if there.exist():
            there.close()
            raise CorpusError(f"{address} already exists. Choose another name.")
        manifest = _make(there, encoder, there.place.kind or HNSW)
        there.publish()
        return MilvusCorpus(there, encoder, write=True, manifest=manifest)

    def open(
        self, address: Address, encoder: Encoder | None, *, write: bool = False
    ) -> MilvusCorpus:
        there = Collections(str(address))
        try:
            corpus = MilvusCorpus(there, encoder, write=write)
            check_fit(address, corpus.made_with, encoder, **OWN_RULES)
        except BaseException:
            there.close()
            raise
        return corpus

    def rebuild(
        self, address: Address, encoder: Encoder | None, progress: Progress, index: Any
    ) -> None:
        """Fill two new collections, then let the name stand for them: searches never wait.

        What is added meanwhile comes along until that moment; one that is killed starts anew. Who
        has the corpus open reads the old collections, until `optimize` removes them.

        Raises:
            ConfigError: the index was not asked for in the address.
        """
        if index:
            raise ConfigError(f"{address}: the index is part of the address: {address}?index=…")
        with closing(Collections(str(address))) as one, closing(Collections(str(address))) as other:
            old = MilvusCorpus(one, None, write=False)
            manifest = _make(other, encoder, other.place.kind or old.made_with["index"])
            new = MilvusCorpus(other, encoder, write=True, manifest=manifest)
            with new.indexing_behind():
                follow(old, new, progress)
            other.publish()

    def verify(self, address: Address, *, repair: bool, tell: Tell) -> Sequence[Finding]:
        """Documents that lack passages, and what kills left; `repair` removes the latter."""
        with closing(Collections(str(address))) as there:
            there.manifest()
            unnamed, (heads, left, counted) = there.unnamed(), _surveyed(there, tell)
            found = [
                Finding(
                    "document",
                    heads[key].facts.url,
                    f"has {counted.get(key, 0)} of its {heads[key].n_passages} passages",
                    "Delete it, and add it again: pincite corpus delete, pincite corpus add",
                )
                for key in sorted(heads)
                if counted.get(key, 0) != heads[key].n_passages
            ]
            n_left = sum(map(len, left.values()))
            if repair:
                for collection, ids in left.items():
                    there.remove(collection, ids)
                there.drop(unnamed)
            if n_left or unnamed:
                problem = f"{n_left} rows left by killed processes; searches never find them"
                if unnamed:
                    problem += f"; of rebuilds {', '.join(unnamed)}"
                remedy = f"Remove them: pincite corpus optimize {address}"
                found.append(Finding("leftover", str(address), problem, remedy, repair))
        return found

    def optimize(self, address: Address, tell: Tell, index: Any) -> str:
        """Remove what kills and rebuilds left. Nothing may be added or rebuilt meanwhile."""
        with closing(Collections(str(address))) as there:
            there.manifest()
            unnamed, (_, left, _) = there.unnamed(), _surveyed(there, tell)
            for collection, ids in left.items():
                there.remove(collection, ids)
            there.drop(unnamed)
            there.compact()
        n_left = sum(map(len, left.values()))
        return f"{n_left:,} rows and {len(unnamed)} collections that were left over are removed."


def _make(there: Collections, encoder: Encoder | None, index: str) -> dict[str, str]:
    """New collections, which have no name yet; the manifest that they were given."""
    versions = f"pincite {version('pincite')}, pymilvus {version('pymilvus')}"
    manifest = new_manifest(encoder, **OWN_RULES, index=index, versions=versions)
    there.make(manifest, encoder.dim if encoder else 0)
    return manifest


def _surveyed(
    there: Collections, tell: Tell
) -> tuple[dict[str, Head], dict[str, list[str]], dict[str, int]]:
    """All documents by key; keys of rows that none of them has, by collection; passages of each."""
    heads: dict[str, Head] = {}
    left: dict[str, list[str]] = {there.documents: [], there.passages: []}
    counted: dict[str, int] = {}
    for row in there.rows(there.documents, HEADS, head_fields()):
        heads[row["id"]] = head_of(row)
    owned = {block for head in heads.values() for block in blocks_of(head)}
    for row in there.rows(there.documents, "n_blocks < 0", ["id"]):
        left[there.documents] += [row["id"]] * (row["id"] not in owned)
    n_all = there.count(there.passages)
    for n_done, row in enumerate(there.rows(there.passages, "", ["id"])):
        key, version, _ = parts_of(row["id"])
        if key in heads and heads[key].version == version:
            counted[key] = counted.get(key, 0) + 1
        else:
            left[there.passages].append(row["id"])
        if n_done % 1_000 == 0:
            tell("looking at passages", n_done, n_all)
    return heads, left, counted


ENGINE = Milvus()
