"""Who may see what is not their own."""

from pincite.server.corpora import CorpusEntry, Shared
from pincite.server.identity import Identity


def may_read(corpus: CorpusEntry, who: Identity) -> bool:
    """Whether somebody may search a corpus and read its documents."""
    if who.owns(corpus.owner) or corpus.shared is Shared.EVERYBODY:
        return True
    return corpus.shared is Shared.GROUP and corpus.group_id in who.groups
