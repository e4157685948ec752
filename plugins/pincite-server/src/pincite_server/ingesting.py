"""Add the uploaded files of a job to a corpus."""

import filecmp
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from pincite import codec, runtime
from pincite.corpus import engines
from pincite.corpus.origins import Origins
from pincite.corpus.protocol import Corpus
from pincite.corpus.update import Outcome, UpdateOptions, update
from pincite.errors import CorpusInUse, InputError
from pincite.protocols import Encoder
from pincite.settings import Settings
from pincite.types import Reason, Unchecked
from pincite_server.jobs import Done, Emit
from pincite_server.requests import IngestRequest, SentFile
from pincite_server.tables import whole

WAIT_SECONDS = 1.0  # between attempts, while another job writes to the corpus
MAX_DETAIL = 500
SCHEME = "upload:"


@dataclass(frozen=True, slots=True)
class Unread:
    """A file, or a record in a file, that could not be read."""

    file: str  # its original name; empty if unknown
    place: str  # URL or line of the record; empty for the whole file
    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class Ingested:
    """The result of adding files to a corpus."""

    complete: bool  # False if stopped; documents added so far are kept
    n_files: int
    n_added: int
    n_changed: int
    n_unchanged: int
    n_removed: int
    n_superseded: int
    passed_over: Mapping[str, int]
    n_problems: int
    problems: tuple[Unread, ...]  # the first `update.MAX_REFUSALS`
    restarted: bool = False  # documents that it added before the restart count as unchanged


def upload_url(name: str) -> str:
    """The address of a file that states none. Uploading the same name again replaces the file.

    >>> upload_url("two words.pdf")
    'upload:two%20words.pdf'
    """
    return SCHEME + quote(name, errors="replace")


def ingest(
    request: Mapping[str, Any],
    corpus: Path,
    folder: Path,
    settings: Settings,
    emit: Emit,
    *,
    restarted: bool = False,
) -> Done:
    """Add the files in `folder` to a corpus, whose folder is created if missing.

    Committed documents are kept and adding a file twice changes nothing, so a job whose process was
    killed can simply run again. `restarted`: an earlier attempt was interrupted.

    Raises PinciteError: the job cannot be done; the message is for the user.
    """
    if not folder.is_dir():
        raise InputError("The files no longer exist. Upload them again.")
    files = _named_apart(IngestRequest.model_validate(request).files, folder)
    # A `file:` URL would reveal the server's folders.
    urls = {(folder / file.stored).resolve().as_uri(): upload_url(file.name) for file in files}
    called = {file.name: folder / file.stored for file in files}
    how = UpdateOptions(reread=True, called=called, named=lambda url: urls.get(url, url))
    outcome, complete = Outcome(), True

    def progress(now: Outcome) -> None:
        nonlocal outcome
        outcome = now
        n_documents = len(now.added) + len(now.changed)
        emit("reading", {"done": now.n_files_done, "total": now.n_files, "documents": n_documents})

    try:
        writing = _writing(corpus, runtime.encoder(settings), emit)
        with writing as opened, Origins(folder.parent) as origins:
            outcome = update(opened, origins, [*called.values()], how, progress)
    except KeyboardInterrupt:
        complete = False
    result = codec.build(
        Ingested,
        outcome,
        complete=complete,
        n_added=len(outcome.added),
        n_changed=len(outcome.changed),
        n_removed=len(outcome.removed),
        n_problems=outcome.n_unread,
        problems=tuple(_unread(unread, folder, files) for unread in outcome.unread),
        restarted=restarted,
    )
    return Done(codec.to_json(result), complete)


def _named_apart(files: Sequence[SentFile], folder: Path) -> list[SentFile]:
    """The files with unique names: "a.pdf" and "a (2).pdf"; equal files of one name only once."""
    by_name = dict[str, SentFile]()
    for file in files:
        ending = PurePosixPath(file.name).suffix
        name, n = file.name, 1
        while (other := by_name.get(name)) and not filecmp.cmp(
            folder / other.stored, folder / file.stored, shallow=False
        ):
            n += 1
            name = f"{file.name.removesuffix(ending)} ({n}){ending}"
        by_name.setdefault(name, file.model_copy(update={"name": name}))
    return [*by_name.values()]


def _writing(folder: Path, encoder: Encoder, emit: Emit) -> Corpus:
    """Wait while another job writes to the corpus."""
    emitted = False
    while True:
        try:
            return engines.open_or_create(folder, encoder)
        except CorpusInUse:
            if not emitted:
                emit("waiting", {"for": "corpus"})
                emitted = True
            time.sleep(WAIT_SECONDS)


def _unread(unread: Unchecked, folder: Path, files: Sequence[SentFile]) -> Unread:
    """Describe a read failure with original file names instead of server paths."""
    name = next((file.name for file in files if unread.url == upload_url(file.name)), "")
    place, detail = ("" if name else unread.url), unread.detail
    for file in files:
        if not name and (place.startswith(file.stored) or file.stored in detail):
            name = file.name
        for stored in (str(folder / file.stored), file.stored):
            place, detail = place.replace(stored, file.name), detail.replace(stored, file.name)
    detail = detail.replace(str(folder), "")
    return Unread(name, whole(place)[:MAX_DETAIL], unread.reason, whole(detail)[:MAX_DETAIL])
