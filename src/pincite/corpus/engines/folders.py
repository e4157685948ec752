"""The embedded engine: a corpus in a folder. See `pincite.corpus.embedded`."""

from collections.abc import Callable, Sequence
from pathlib import Path

from pincite.corpus import check, generation, optimize, rebuild
from pincite.corpus.dense import Kind
from pincite.corpus.durable import Tell
from pincite.corpus.embedded import EmbeddedCorpus, is_corpus
from pincite.corpus.protocol import Address, Finding
from pincite.protocols import Encoder


class Folders:
    """A `protocol.Engine` that verifies, optimizes and rebuilds too."""

    def exists(self, address: Address) -> bool:
        """Whether the folder holds a corpus that `open` would look into."""
        return is_corpus(Path(address))

    def encoder_of(self, address: Address) -> str:
        """As `generation.encoder_of`."""
        return generation.encoder_of(Path(address))

    def create(self, address: Address, encoder: Encoder | None) -> EmbeddedCorpus:
        """As `EmbeddedCorpus.create`."""
        return EmbeddedCorpus.create(Path(address), encoder)

    def open(
        self, address: Address, encoder: Encoder | None, *, write: bool = False
    ) -> EmbeddedCorpus:
        """As `EmbeddedCorpus.open`."""
        return EmbeddedCorpus.open(Path(address), encoder, write=write)

    def verify(self, address: Address, *, repair: bool, tell: Tell) -> Sequence[Finding]:
        """As `check.verify`."""
        return check.verify(Path(address), repair=repair, tell=tell)

    def optimize(self, address: Address, tell: Tell, index: Kind | None) -> str:
        """As `optimize.optimize`."""
        gain = optimize.optimize(Path(address), tell, index)
        before, after = gain.n_bytes_before, gain.n_bytes_after
        return f"{before:,} bytes before, {after:,} after: {before - after:,} bytes gained."

    def rebuild(
        self,
        address: Address,
        encoder: Encoder | None,
        progress: Callable[[int, int], None],
        index: Kind | None,
    ) -> None:
        """As `rebuild.rebuild`."""
        rebuild.rebuild(Path(address), encoder, progress, index)


ENGINE = Folders()
