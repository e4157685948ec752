"""Taking documents in: which are new, how they are cut, and what of a passage is encoded."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from pincite.corpus.store import Store, content_hash
from pincite.errors import CorpusError, StaleCorpus
from pincite.protocols import Encoder, Floats
from pincite.text.passages import passages
from pincite.types import Document, Passage

# What `passage_text` does. It stands in the manifest: change it with the function.
ENCODED_TEXT = "title-newline-text-v1"
# Passages encoded in one call: enough for an encoder to sort by length, and a kill costs at most
# the batch anyway; 1,024 vectors of 384 dimensions are 1.5 MB.
ENCODED_AT_ONCE = 1_024

# Cosine of a passage's stored vector and its new one: a server's batches, its other hardware and
# our float16 change less, another model far more.
SAME = 0.98

Encode: TypeAlias = Callable[[Sequence[Passage]], Floats]


def passage_text(passage: Passage) -> str:
    """What an encoder reads of a passage: its document's title, which names what "it" is, first."""
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text


def encoding_with(encoder: Encoder) -> Encode:
    """Passages to vectors, checked: an encoder that gives nonsense must not spoil a corpus."""

    def encode(batch: Sequence[Passage]) -> Floats:
        vectors = encoder.encode([passage_text(passage) for passage in batch], "passage")
        if vectors.shape != (len(batch), encoder.dim) or not np.isfinite(vectors).all():
            raise CorpusError(
                f"The encoder {encoder.fingerprint} gave an array of shape {vectors.shape} for "
                f"{len(batch)} passages; finite numbers of shape {(len(batch), encoder.dim)} were "
                "expected. Nothing of this batch was kept."
            )
        return vectors

    return encode


def reusing(
    known_of: Callable[[Sequence[Passage]], Mapping[str, Floats]], encode: Encode
) -> Encode:
    """Passages to vectors, taken from what `known_of` gives by passage id; the rest is encoded."""

    def reuse(batch: Sequence[Passage]) -> Floats:
        known = known_of(batch)
        missing = [passage for passage in batch if passage.passage_id not in known]
        fresh = iter(encode(missing)) if missing else iter(())
        return np.stack(
            [known[p.passage_id] if p.passage_id in known else next(fresh) for p in batch]
        )

    return reuse


def check_same(store: Store, encoder: Encoder) -> None:
    """Whether an encoder that a server runs still gives a stored passage its vector.

    The fingerprint of such an encoder is no more than a name. One that is a file's needs no look.

    Raises:
        StaleCorpus: Another model answers there under that name.
    """
    keys = [key for (key,) in store.rows("SELECT MIN(passage) FROM vectors") if key is not None]
    if not keys or not getattr(encoder, "is_served", False):
        return
    (passage,) = store.passages(list(store.places(keys).values()))
    _, (stored,) = store.vectors(keys, int(store.manifest()["dim"]))
    (now,) = encoder.encode([passage_text(passage)], "passage")
    if now.shape == stored.shape and float(now @ stored) >= SAME:
        return
    found = f"of {len(now)} numbers" if now.shape != stored.shape else f"at {now @ stored:.2f}"
    raise StaleCorpus(
        f"The encoder {encoder.fingerprint} gives a stored passage another vector than the corpus "
        f"has ({found}; expected {len(stored)} numbers, at a cosine of {SAME} or more). The server "
        "runs another model under that name. Run the one that built the corpus, or rebuild it: "
        "pincite corpus rebuild"
    )


def take_in(store: Store, documents: Sequence[Document], encode: Encode | None) -> int:
    """Commit what is new or changed, as one batch; returns how many documents that were.

    Of two documents with one address the later one counts. Without `encode` no vectors are kept.
    """
    latest = {document.url: document for document in documents}
    new = [d for d in latest.values() if store.hash_at(d.url) != content_hash(d)]
    if not new:
        return 0
    with store.batch():
        waiting: list[tuple[int, Passage]] = []
        for document in new:
            store.remove(document.url)
            cut = passages(document)
            keys = store.put(document, [passage.span for passage in cut])
            waiting.extend(zip(keys, cut, strict=True))
            if len(waiting) >= ENCODED_AT_ONCE:
                _put_vectors(store, waiting, encode)
                waiting = []
        _put_vectors(store, waiting, encode)
    return len(new)


def _put_vectors(
    store: Store, waiting: Sequence[tuple[int, Passage]], encode: Encode | None
) -> None:
    if waiting and encode is not None:
        vectors = encode([passage for _, passage in waiting])
        store.put_vectors([key for key, _ in waiting], vectors)
