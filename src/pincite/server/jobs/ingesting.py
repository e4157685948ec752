"""Uploaded files into a corpus: the work of a job of the kind "ingest".

What was committed stays, whatever happens next, and adding a file twice changes nothing: a job
whose process was killed is simply run again. A file that states no address of its own is known by
its name, `upload:report.pdf`: sent again under the same name it replaces what was there.
"""

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pincite import runtime
from pincite.contract import codec
from pincite.corpus.embedded import EmbeddedCorpus
from pincite.corpus.origins import Origins
from pincite.corpus.protocol import Comparison
from pincite.errors import CorpusInUse, InputError
from pincite.library.update import How, Outcome, update
from pincite.protocols import Encoder
from pincite.server.jobs.work import Done, Tell
from pincite.server.requests import IngestRequest, SentFile
from pincite.server.tables import whole
from pincite.settings import Settings
from pincite.types import Document, Reason, Unchecked

WAIT_SECONDS = 1.0  # between two tries, while another job writes the corpus
MAX_PROBLEMS = 100  # that are told one by one, as many as `update` lists
MAX_DETAIL = 500
SCHEME = "upload:"


@dataclass(frozen=True, slots=True)
class Unread:
    """A file, or a record in one, that could not be read; never raised, always told."""

    file: str  # as its sender calls it; empty if it is not known which
    place: str  # address of the record, or line; empty: the whole file
    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class Ingested:
    """The result of adding files to a corpus."""

    complete: bool  # false: it was stopped; what was added so far stays
    n_files: int
    n_added: int
    n_changed: int
    n_unchanged: int
    n_removed: int
    n_superseded: int
    passed_over: Mapping[str, int]
    n_problems: int
    problems: tuple[Unread, ...]  # the first of them


def address_of(name: str) -> str:
    """The address of a file that states none.

    >>> address_of("two words.pdf")
    'upload:two%20words.pdf'
    """
    return SCHEME + quote(name, errors="replace")


def done(
    request: Mapping[str, Any], corpus: Path, files: Path, settings: Settings, tell: Tell
) -> Done:
    """The files of an upload added to a corpus, which is made if it is not there yet.

    Args:
        request: an accepted `IngestRequest`.
        corpus: the corpus's folder.
        files: the folder that the request's files lie in.
        settings: the server's.
        tell: hears of each file, and of each that cannot be read.

    Raises:
        PinciteError: it cannot be done; the message is for whoever asked.
    """
    body = IngestRequest.model_validate(request)
    if not files.is_dir():
        raise InputError("The files are not there any more. Send them again.")
    names = _Names(files, body.files)
    outcome, told, complete = Outcome(), 0, True

    def progress(now: Outcome) -> None:
        nonlocal outcome, told
        outcome = now
        for unread in now.unread[told:MAX_PROBLEMS]:
            tell("unread", dataclasses.asdict(names.problem(unread)))
        told = len(now.unread)
        n_documents = len(now.added) + len(now.changed)
        tell("reading", {"done": now.n_files_done, "total": now.n_files, "documents": n_documents})

    try:
        with (
            _writing(corpus, runtime.encoder(settings), tell) as opened,
            Origins(files.parent) as origins,
        ):
            paths = [files / each.stored for each in names.first.values()]
            named = _Named(opened, names)
            called = {name: files / each.stored for name, each in names.first.items()}
            outcome = update(named, origins, paths, How(reread=True, called=called), progress)
    except KeyboardInterrupt:
        complete = False
    twice = names.twice()
    problems = [names.problem(unread) for unread in outcome.unread] + twice
    made = codec.made(
        Ingested,
        outcome,
        complete=complete,
        n_added=len(outcome.added),
        n_changed=len(outcome.changed),
        n_removed=len(outcome.removed),
        n_problems=outcome.n_unread + len(twice),
        problems=tuple(problems[:MAX_PROBLEMS]),
    )
    return Done(codec.to_json(made), complete)


def _writing(folder: Path, encoder: Encoder, tell: Tell) -> EmbeddedCorpus:
    """The corpus, open for writing; waits for whoever is writing it now."""
    told = False
    while True:
        try:
            return EmbeddedCorpus.open_or_create(folder, encoder)
        except CorpusInUse:
            if not told:
                tell("waiting", {"for": "corpus"})
                told = True
            time.sleep(WAIT_SECONDS)


class _Names:
    """What the files of an upload are called, here and by their sender."""

    def __init__(self, folder: Path, files: Sequence[SentFile]) -> None:
        self._folder, self._files = folder, files
        self.first: dict[str, SentFile] = {}
        for each in files:
            self.first.setdefault(each.name, each)
        self._named = {(folder / f.stored).resolve().as_uri(): f.name for f in files}
        self._stored = {each.stored: each.name for each in files}

    def url(self, url: str) -> str:
        """An address without this server's folders."""
        return address_of(self._named[url]) if url in self._named else url

    def problem(self, unread: Unchecked) -> Unread:
        """Why something could not be read, in the sender's terms."""
        file = self._named.get(unread.url, "")
        place, detail = ("" if file else unread.url), unread.detail
        for stored, name in self._stored.items():
            if not file and (place.startswith(stored) or stored in detail):
                file = name
            place, detail = (
                text.replace(str(self._folder / stored), name).replace(stored, name)
                for text in (place, detail)
            )
        detail = detail.replace(str(self._folder), "")
        return Unread(file, whole(place)[:MAX_DETAIL], unread.reason, whole(detail)[:MAX_DETAIL])

    def twice(self) -> list[Unread]:
        """Files that have the name of one before them."""
        detail = "Another file of this upload has the same name; only the first was read."
        return [
            Unread(each.name, "", Reason.REFUSED, detail)
            for each in self._files
            if self.first[each.name] is not each
        ]


@dataclass(frozen=True, slots=True)
class _Named:
    """A corpus in which uploaded files stand under the names that their senders gave them."""

    corpus: EmbeddedCorpus
    names: _Names

    def add(self, documents: Sequence[Document]) -> int:
        return self.corpus.add(self._renamed(documents))

    def delete(self, urls: Sequence[str]) -> int:
        return self.corpus.delete([self.names.url(url) for url in urls])

    def get(self, urls: Sequence[str]) -> list[Document | None]:
        return self.corpus.get([self.names.url(url) for url in urls])

    def compared(self, documents: Sequence[Document]) -> list[Comparison]:
        return self.corpus.compared(self._renamed(documents))

    def _renamed(self, documents: Sequence[Document]) -> list[Document]:
        return [dataclasses.replace(each, url=self.names.url(each.url)) for each in documents]
