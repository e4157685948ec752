"""The engine behind `postgresql://…` addresses: corpora made, opened, rebuilt and verified."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from importlib.metadata import version
from typing import Any, TypeAlias

from pincite.corpus.generation import check_fit, new_manifest
from pincite.corpus.protocol import Address, Finding
from pincite.corpus.store import content_hash
from pincite.durable import Tell
from pincite.errors import ConfigError
from pincite.protocols import Encoder
from pincite.text.passages import passages
from pincite_cluster.postgres.corpus import DOCUMENTS_AT_ONCE, OWN_RULES, PostgresCorpus
from pincite_cluster.postgres.database import BUILDING, Database

Progress: TypeAlias = Callable[[int, int], None]  # documents done, documents in all


class Postgres:
    """The `protocol.Engine` of `postgresql://` addresses."""

    def exists(self, address: Address) -> bool:
        with closing(Database(str(address))) as there:
            return there.exists()

    def encoder_of(self, address: Address) -> str:
        with closing(Database(str(address))) as there:
            return there.find()["encoder"]

    def create(self, address: Address, encoder: Encoder | None) -> PostgresCorpus:
        there = Database(str(address))
        there.create(_manifest(encoder))
        return PostgresCorpus(there, encoder, write=True)

    def open(
        self, address: Address, encoder: Encoder | None, *, write: bool = False
    ) -> PostgresCorpus:
        there = Database(str(address))
        try:
            check_fit(address, there.find(), encoder, **OWN_RULES)
        except BaseException:
            there.close()
            raise
        return PostgresCorpus(there, encoder, write=write)

    def rebuild(
        self, address: Address, encoder: Encoder | None, progress: Progress, index: Any
    ) -> None:
        """Fill new tables, then use them: searches never wait.

        What is added meanwhile comes along; one that is killed starts anew. Who has the corpus open
        with another encoder reads the old tables, until `optimize` removes them.

        Raises:
            ConfigError: another index was asked for than HNSW.
        """
        _require_hnsw(address, index)
        with closing(Database(str(address))) as one, closing(Database(str(address))) as other:
            one.find()
            other.writing(lambda: other.make(_manifest(encoder)))
            old = PostgresCorpus(one, None, write=False)
            new = PostgresCorpus(other, encoder, write=True, state=BUILDING)
            with new.indexing_behind():
                _follow(old, new, progress)

            def publish() -> None:  # nobody else writes meanwhile
                _follow(old, new, progress)
                other.publish()

            other.writing(publish)

    def verify(self, address: Address, *, repair: bool, tell: Tell) -> Sequence[Finding]:
        """Compares texts and passages with what was stored; `repair` removes older builds."""
        with closing(Database(str(address))) as there:
            there.find()
            corpus = PostgresCorpus(there, None, write=repair)
            flaws, others = there.reading(lambda: (list(_flaws(corpus, tell)), there.others()))
            if repair:
                there.writing(lambda: there.drop(others))
        problem, remedy = "has an older build", f"Remove it: pincite corpus optimize {address}"
        left = [Finding("leftover", str(address), problem, remedy, repair) for _ in others]
        return [*flaws, *left]

    def optimize(self, address: Address, tell: Tell, index: Any) -> str:
        """Remove what rebuilds left, and make the index that the size asks for."""
        _require_hnsw(address, index)
        with closing(Database(str(address))) as there:
            there.find()
            others = there.others()
            there.writing(lambda: there.drop(others))
            PostgresCorpus(there, None, write=True).optimize()
        return f"{len(others)} older builds removed. PostgreSQL reuses the space of deleted rows."


def _follow(old: PostgresCorpus, new: PostgresCorpus, progress: Progress) -> None:
    """Make the new one hold what the old one does, until there is nothing left to do."""
    same = all(old.made_with[key] == new.made_with[key] for key in ("encoder", "encoded_text"))
    wanted, done = old.versions(), new.versions()
    while wanted != done:
        behind = [url for url, version in wanted.items() if done.get(url) != version]
        for at in range(0, len(behind), DOCUMENTS_AT_ONCE):
            batch = old.get(behind[at : at + DOCUMENTS_AT_ONCE])
            documents = [document for document in batch if document is not None]
            cut = [passage for document in documents for passage in passages(document)]
            new.add_with(documents, old.vectors(cut) if same else {})
            progress(len(wanted) - len(behind) + at + len(batch), len(wanted))
        new.delete([url for url in done if url not in wanted])
        wanted, done = old.versions(), new.versions()


def _flaws(corpus: PostgresCorpus, tell: Tell) -> Iterator[Finding]:
    """Documents that are not what was stored, or whose passages are not those of their text."""
    n_done, n_all = 0, corpus.status().n_documents
    every = list(corpus.every())
    for at in range(0, len(every), DOCUMENTS_AT_ONCE):
        heads = every[at : at + DOCUMENTS_AT_ONCE]
        stored = corpus.get([head.facts.url for head in heads])
        spans = corpus.spans([head.key for head in heads])
        for head, document in zip(heads, stored, strict=True):
            cut = [passage.span for passage in passages(document)] if document else None
            if document is None or content_hash(document) != head.version or spans[head.key] != cut:
                problem = "its text, metadata or passages are not what was stored"
                remedy = "Delete it, and add it again: pincite corpus delete, pincite corpus add"
                yield Finding("document", head.facts.url, problem, remedy)
        n_done += len(heads)
        tell("looking at documents", n_done, n_all)


def _require_hnsw(address: Address, index: Any) -> None:
    if index not in (None, "hnsw"):
        raise ConfigError(f"{address}: PostgreSQL has no index {index!r}. Expected hnsw, or none.")


def _manifest(encoder: Encoder | None) -> dict[str, str]:
    versions = f"pincite {version('pincite')}, psycopg {version('psycopg')}"
    return new_manifest(encoder, **OWN_RULES, versions=versions)


ENGINE = Postgres()
