"""The engine behind `milvus://…` addresses: corpora made, opened, looked through and swept."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from pincite.corpus.durable import Tell
from pincite.corpus.engines.milvus import FORMAT, MilvusCorpus
from pincite.corpus.engines.milvus_client import Collections
from pincite.corpus.engines.milvus_rows import HEADS, Head, head_fields, head_of, parts_of
from pincite.corpus.generation import NO_ENCODER, version_of
from pincite.corpus.intake import ENCODED_TEXT
from pincite.corpus.lexical import LEXICAL_RULE
from pincite.corpus.protocol import Address, Finding
from pincite.protocols import Encoder
from pincite.text.passages import PASSAGE_RULE


class Milvus:
    """A `protocol.Engine` that verifies and optimizes too."""

    def exists(self, address: Address) -> bool:
        """Whether the server has the corpus."""
        with closing(Collections(str(address))) as there:
            return there.exist()

    def encoder_of(self, address: Address) -> str:
        """The fingerprint of the encoder that the corpus was built with, or "none"."""
        with closing(Collections(str(address))) as there:
            return there.manifest().get("encoder", NO_ENCODER)

    def create(self, address: Address, encoder: Encoder | None) -> MilvusCorpus:
        """A new, empty corpus, open for writing."""
        there = Collections(str(address))
        manifest = {
            "format": FORMAT,
            "identity": uuid4().hex,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "passage_rule": PASSAGE_RULE,
            "encoded_text": ENCODED_TEXT,
            "lexical_rule": LEXICAL_RULE,
            "encoder": encoder.fingerprint if encoder else NO_ENCODER,
            "dim": str(encoder.dim if encoder else 0),
            "versions": f"pincite {version_of('pincite')}, pymilvus {version_of('pymilvus')}",
        }
        there.create(manifest, encoder.dim if encoder else 0)
        return MilvusCorpus(there, encoder, write=True)

    def open(
        self, address: Address, encoder: Encoder | None, *, write: bool = False
    ) -> MilvusCorpus:
        """An existing one."""
        return MilvusCorpus(Collections(str(address)), encoder, write=write)

    def verify(self, address: Address, *, repair: bool, tell: Tell) -> Sequence[Finding]:
        """Documents that lack passages, and what kills left; `repair` removes the latter."""
        with closing(Collections(str(address))) as there:
            heads, left, counted = _surveyed(there, tell)
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
                _swept(there, left)
            if n_left:
                problem = f"{n_left} rows of processes that were killed; no search finds them"
                remedy = f"Remove them: pincite corpus optimize {address}"
                found.append(Finding("leftover", str(address), problem, remedy, repair))
        return found

    def optimize(self, address: Address, tell: Tell, index: Any) -> str:
        """Remove what kills left. Nothing may be added meanwhile."""
        with closing(Collections(str(address))) as there:
            _, left, _ = _surveyed(there, tell)
            _swept(there, left)
            there.compact()
        return f"{sum(map(len, left.values())):,} rows that killed processes had left are removed."


def _surveyed(
    there: Collections, tell: Tell
) -> tuple[dict[str, Head], dict[str, list[str]], dict[str, int]]:
    """All documents by key; keys of rows that none of them has, by collection; passages of each."""
    heads: dict[str, Head] = {}
    left: dict[str, list[str]] = {there.documents: [], there.passages: []}
    counted: dict[str, int] = {}
    for row in there.rows(there.documents, HEADS, head_fields()):
        heads[row["id"]] = head_of(row)
    owned = {block for head in heads.values() for block in head.blocks}
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


def _swept(there: Collections, left: Mapping[str, Sequence[str]]) -> None:
    for collection, ids in left.items():
        there.remove(collection, ids)


ENGINE = Milvus()
