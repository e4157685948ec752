"""What `pincite serve --demo` starts with: shipped documents as corpora, all of them invented."""

import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from pincite import runtime
from pincite.corpus.embedded import EmbeddedCorpus
from pincite.library.update import ingest
from pincite.server.corpora import CorpusEntry, Shared
from pincite.server.identity import LOCAL
from pincite.server.site import Site

ROOT = Path(__file__).parents[1]
WEB = "Demo: the web around Varrowmouth"
KNOWLEDGE = "Demo: a knowledge base"
ABSTRACTS = "Demo: sixty abstracts"
_ASIDE = ".demo-"  # folders in which corpora are made
_CORPORA = {
    WEB: (
        ROOT / "demo" / "verify" / "corpus",
        "Pages of museums, newspapers and councils; for Verify.",
    ),
    KNOWLEDGE: (ROOT / "demo" / "check" / "documents", "Thirty documents; for Check."),
    ABSTRACTS: (ROOT / "demo" / "ask" / "abstracts.xml", "Papers, some retracted; for Ask."),
}


def furnish(site: Site, say: Callable[[str], None]) -> None:
    """Make the corpora that are not there yet; takes some seconds.

    Each is made aside and put in place whole, so that after a kill the next start makes it anew.
    """
    for left in site.server.folder.glob(f"{_ASIDE}*"):  # by a start that was killed
        shutil.rmtree(left, ignore_errors=True)
    known = {entry.name: entry for entry in site.corpora.listed() if entry.owner == LOCAL}
    lacking = [name for name in _CORPORA if name not in known or site.corpora.is_empty(known[name])]
    encoder = runtime.encoder(site.settings) if lacking else None
    for name in lacking:
        if name in known:
            site.corpora.remove(known[name].corpus_id)
        say(f"Indexing “{name}” …")
        documents, about = _CORPORA[name]
        with tempfile.TemporaryDirectory(prefix=_ASIDE, dir=site.server.folder) as aside:
            folder = Path(aside) / "corpus"
            with EmbeddedCorpus.create(folder, encoder) as corpus:
                ingest(corpus, [documents], lambda _: None)
            entry = site.corpora.add(LOCAL, name, about=about, shared=Shared.EVERYBODY)
            place = site.corpora.folder_of(entry.corpus_id)
            place.parent.mkdir(parents=True, exist_ok=True)
            folder.rename(place)


class Tried(NamedTuple):
    """What can be tried on a corpus of the demo."""

    corpus_id: str
    texts: list[str]


def web(site: Site) -> CorpusEntry | None:
    """The corpus that the first example finds better sources in; None without `--demo`."""
    return _corpus(site, WEB)


def statements(site: Site) -> Tried | None:
    """Statements to check against the knowledge base; None without `--demo`."""
    return _tried(site, KNOWLEDGE, ROOT / "demo" / "check", "statements", "statement")


def questions(site: Site) -> Tried | None:
    """Questions to the abstracts; None without `--demo`."""
    return _tried(site, ABSTRACTS, ROOT / "demo" / "ask", "questions", "question")


def own(texts: Sequence[str], corpora: Sequence[CorpusEntry]) -> Tried | None:
    """Examples of whoever runs the server, on the corpus that one uses first."""
    return Tried(corpora[0].corpus_id, [*texts]) if texts and corpora else None


def _tried(site: Site, name: str, folder: Path, many: str, one: str) -> Tried | None:
    entry = _corpus(site, name)
    if entry is None:
        return None
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    return Tried(entry.corpus_id, [each[one] for each in expected[many]])


def _corpus(site: Site, name: str) -> CorpusEntry | None:
    return next((entry for entry in site.corpora.listed() if entry.name == name), None)
