"""The engine behind `postgresql://…` addresses: corpora made, opened, rebuilt and verified."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from importlib.metadata import version
from typing import Any

from pincite.corpus.generation import check_fit, new_manifest
from pincite.corpus.protocol import Address, Finding
from pincite.corpus.store import content_hash
from pincite.durable import Tell
from pincite.errors import ConfigError
from pincite.protocols import Encoder
from pincite.text.passages import passages
from pincite_cluster.postgres.corpus import OWN_RULES, PostgresCorpus
from pincite_cluster.postgres.database import Database
from pincite_cluster.remote import DOCUMENTS_AT_ONCE, Progress, follow, portions


class Postgres:
    """The `protocol.Engine` of `postgresql://` addresses."""

    def exists(self, address: Address) -> bool:
        with closing(Database(str(address))) as there:
            return there.exists()

    def encoder_of(self, address: Address) -> str:
        with closing(Database(str(address))) as there:
            return there.find()["encoder"]

    def create(self, address: Address, encoder: Encoder | None) -> PostgresCorpus:
        there, manifest = Database(str(address)), _manifest(encoder)
        there.create(manifest)
        return PostgresCorpus(there, encoder, manifest, write=True)

    def open(
        self, address: Address, encoder: Encoder | None, *, write: bool = False
    ) -> PostgresCorpus:
        there = Database(str(address))
        try:
            manifest = there.find()
            check_fit(address, manifest, encoder, **OWN_RULES)
        except BaseException:
            there.close()
            raise
        return PostgresCorpus(there, encoder, manifest, write=write)

    def rebuild(
        self, address: Address, encoder: Encoder | None, progress: Progress, index: Any
    ) -> None:
        """Fill new tables, then use them: searches never wait.

        What is added meanwhile comes along; one that is killed starts anew. Who has the corpus open
        reads the old tables, until `optimize` removes them.

        Raises:
            ConfigError: another index was asked for than HNSW.
        """
        _require_hnsw(address, index)
        with closing(Database(str(address))) as one, closing(Database(str(address))) as other:
            old = PostgresCorpus(one, None, one.find(), write=False)
            manifest = _manifest(encoder)
            other.writing(lambda: other.make(manifest), "the corpus could not be rebuilt")
            new = PostgresCorpus(other, encoder, manifest, write=True, building=True)
            with new.indexing_behind():
                follow(old, new, progress)

            def publish() -> None:  # nobody else writes meanwhile
                follow(old, new, progress)
                other.publish()

            other.writing(publish, "the corpus could not be rebuilt")

    def verify(self, address: Address, *, repair: bool, tell: Tell) -> Sequence[Finding]:
        """Compares texts, passages and counts; `repair` counts again and removes old builds."""
        with closing(Database(str(address))) as there:
            corpus = PostgresCorpus(there, None, there.find(), write=repair)
            found = there.reading(lambda: list(_flaws(corpus, tell)))
            is_miscounted = not there.reading(corpus.is_counted_right)
            others = there.others()
            if repair and is_miscounted:
                there.writing(corpus.count_again)
            if repair:
                there.writing(lambda: there.drop(others))
        if is_miscounted:
            problem = "how many passages have which words is counted wrong"
            found.append(_derived("words", address, problem, repair))
        if others:
            found.append(_derived("leftover", address, f"{len(others)} older builds", repair))
        return found

    def optimize(self, address: Address, tell: Tell, index: Any) -> str:
        """Remove what rebuilds left, make what the size asks for, and give room back."""
        _require_hnsw(address, index)
        with closing(Database(str(address))) as there:
            corpus = PostgresCorpus(there, None, there.find(), write=True)
            before = sum(corpus.status().n_bytes.values())
            others = there.others()
            there.writing(lambda: there.drop(others))
            corpus.index_if_due()
            there.vacuum()
            after = sum(corpus.status().n_bytes.values())
        return f"{len(others)} older builds removed; {before:,} bytes before, {after:,} after."


def _flaws(corpus: PostgresCorpus, tell: Tell) -> Iterator[Finding]:
    """Documents that are not what was stored, or whose passages are not those of their text."""
    n_done, n_all = 0, corpus.status().n_documents
    for heads in portions(list(corpus.every()), DOCUMENTS_AT_ONCE):
        stored = corpus.get([head.facts.url for head in heads])
        spans = corpus.spans([head.key for head in heads])
        for head, document in zip(heads, stored, strict=True):
            is_same = document is not None and content_hash(document) == head.version
            if document is None or not is_same:
                problem = "its text or metadata is not what was stored"
            elif spans[head.key] != [passage.span for passage in passages(document)]:
                problem = "it lacks passages, or has others than its text"
            else:
                continue
            remedy = "Delete it, and add it again: pincite corpus delete, pincite corpus add"
            yield Finding("document", head.facts.url, problem, remedy)
        n_done += len(heads)
        tell("looking at documents", n_done, n_all)


def _derived(kind: str, address: Address, problem: str, repaired: bool) -> Finding:
    remedy = f"Run: pincite corpus verify {address} --repair"
    return Finding(kind, str(address), problem, remedy, repaired)


def _require_hnsw(address: Address, index: Any) -> None:
    if index not in (None, "hnsw"):
        raise ConfigError(
            f"{address}: PostgreSQL has no index {index!r}. Expected hnsw, which a corpus gets by "
            "itself when it is large enough."
        )


def _manifest(encoder: Encoder | None) -> dict[str, str]:
    versions = f"pincite {version('pincite')}, psycopg {version('psycopg')}"
    return new_manifest(encoder, **OWN_RULES, versions=versions)


ENGINE = Postgres()
