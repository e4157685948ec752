"""A corpus copied into another, of whatever engine, with its vectors; then both are compared.

What the other one has already is passed over, so a copy that was stopped is started again and goes
on. Nothing is taken out of it: what it has besides is counted.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from pincite.corpus.protocol import Copied, Corpus
from pincite.errors import ConfigError
from pincite.text.passages import passages

DOCUMENTS_AT_ONCE = 256  # a batch: what a kill costs


@dataclass(slots=True)
class Copy:
    """What a copy did, and how both corpora stand afterwards."""

    n_copied: int = 0  # documents that the other one lacked, or had otherwise
    n_known: int = 0  # that it had
    n_vectors: int = 0  # taken over
    n_different: int = 0  # documents that it lacks or has otherwise still: written to meanwhile?
    n_besides: int = 0  # that only the other one has
    n_passages: tuple[int, int] = (0, 0)  # of both

    @property
    def is_complete(self) -> bool:
        """Whether all of the first stands in the second."""
        return not self.n_different


def copy(source: Corpus, target: Corpus, tell: Callable[[int, int], None]) -> Copy:
    """Copy all documents of `source`; `tell` hears how many of how many are done.

    Raises:
        ConfigError: one of them is of an engine that cannot be copied.
        CorpusError
    """
    for corpus in (source, target):
        if not isinstance(corpus, Copied):
            raise ConfigError(
                f"{corpus!r} cannot be copied: its engine gives out no vectors. Add the documents "
                "themselves: pincite corpus add"
            )
    assert isinstance(source, Copied)
    assert isinstance(target, Copied)
    done, n_all = Copy(), source.status().n_documents
    same = source.manifest()["encoder"] == target.manifest()["encoder"]
    for urls in _batches(source.urls()):
        _copy(source, target, urls, same, done)
        tell(done.n_copied + done.n_known, n_all)
    _compare(source, target, done)
    return done


def _copy(source: Copied, target: Copied, urls: list[str], same: bool, done: Copy) -> None:
    documents = [document for document in source.get(urls) if document is not None]
    states = target.compared(documents)
    new = [d for d, state in zip(documents, states, strict=True) if state != "same"]
    cut = [passage for document in new for passage in passages(document)] if same else []
    known = source.vectors(cut)
    target.add_with(new, known)
    done.n_copied += len(new)
    done.n_known += len(documents) - len(new)
    done.n_vectors += len(known)


def _compare(source: Copied, target: Copied, done: Copy) -> None:
    n_both = 0
    for urls in _batches(source.urls()):
        pairs = list(zip(source.ids(urls), target.ids(urls), strict=True))
        n_both += sum(other is not None for _, other in pairs)
        done.n_different += sum(one != other for one, other in pairs)
    status = target.status()
    done.n_besides = status.n_documents - n_both
    done.n_passages = source.status().n_passages, status.n_passages


def _batches(urls: Iterator[str]) -> Iterator[list[str]]:
    while batch := list(islice(urls, DOCUMENTS_AT_ONCE)):
        yield batch
