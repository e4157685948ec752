"""The corpora of `pincite serve --demo`: bundled documents, all fictional."""

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pincite import runtime
from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.update import ingest
from pincite_server.corpora import Shared
from pincite_server.identity import LOCAL
from pincite_server.requests import DEMO
from pincite_server.site import Site
from pincite_server.tables import Kind

WEB = "Demo: the web around Varrowmouth"
KNOWLEDGE = "Demo: a knowledge base"
ABSTRACTS = "Demo: sixty abstracts"
_ASIDE = ".demo-"  # prefix of temporary folders
_CORPORA = {
    WEB: (
        DEMO / "verify" / "corpus",
        "Pages of museums, newspapers and councils; for Verify.",
    ),
    KNOWLEDGE: (DEMO / "check" / "documents", "Thirty documents; for Check."),
    ABSTRACTS: (DEMO / "ask" / "abstracts.xml", "Papers, some retracted; for Ask."),
}


def furnish(site: Site, say: Callable[[str], None]) -> None:
    """Create the missing corpora: in a temporary folder, so that a kill leaves no partial one."""
    for left in site.server.folder.glob(f"{_ASIDE}*"):  # from a killed start
        shutil.rmtree(left, ignore_errors=True)
    existing = {entry.name: entry for entry in site.corpora.entries() if entry.owner == LOCAL}
    filled = {name for name, entry in existing.items() if not site.corpora.is_empty(entry)}
    missing = [name for name in _CORPORA if name not in filled]
    encoder = runtime.encoder(site.settings) if missing else None
    for name in missing:
        if name in existing:
            site.corpora.remove(existing[name].corpus_id)
        say(f"Indexing “{name}” …")
        documents, about = _CORPORA[name]
        with tempfile.TemporaryDirectory(prefix=_ASIDE, dir=site.server.folder) as aside:
            folder = Path(aside) / "corpus"
            with EmbeddedCorpus.create(folder, encoder) as corpus:
                ingest(corpus, [documents])
            entry = site.corpora.add(LOCAL, name, about=about, shared=Shared.EVERYBODY)
            place = site.corpora.folder_of(entry.corpus_id)
            place.parent.mkdir(parents=True, exist_ok=True)
            folder.rename(place)


class Examples(NamedTuple):
    """Texts to try with a corpus."""

    corpus_id: str
    texts: list[str]


def web(site: Site) -> str | None:
    """The id of the corpus of better sources for the first example; None without `--demo`."""
    return _corpus(site, WEB)


def examples(site: Site, kind: Kind) -> Examples | None:
    """Example statements or questions with their corpus; None without `--demo`."""
    name, item = (KNOWLEDGE, "statement") if kind == "check" else (ABSTRACTS, "question")
    corpus_id = _corpus(site, name)
    if corpus_id is None:
        return None
    expected = json.loads((DEMO / kind / "expected.json").read_text(encoding="utf-8"))
    return Examples(corpus_id, [example[item] for example in expected[f"{item}s"]])


def _corpus(site: Site, name: str) -> str | None:
    return next((entry.corpus_id for entry in site.corpora.entries() if entry.name == name), None)
