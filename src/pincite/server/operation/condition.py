"""Whether all is well with a server: what `pincite server check` says, and `/readyz` in short."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pincite.errors import PinciteError
from pincite.library.own_copies import OwnCopies
from pincite.server.database import Database
from pincite.server.jobs.store import JobStore, Status
from pincite.server.library.linked import fault
from pincite.server.library.own import SHELVES
from pincite.server.library.register import CorpusRegister
from pincite.server.settings import ServerSettings


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a server, and how it is."""

    name: str
    well: bool
    what: str


def examined(settings: ServerSettings) -> Iterator[Part]:
    """Every part; those that depend on a faulty one are left out."""
    yield folder(settings)
    database = Database(settings.database_url)
    try:
        found = tables(database)
        yield found
        if found.well:
            yield from _kept(database, settings)
    finally:
        database.close()


def folder(settings: ServerSettings) -> Part:
    """Whether the data folder can be written, and has as much room as is to stay free."""
    path = settings.folder
    if not (path.is_dir() and os.access(path, os.W_OK)):
        return Part("folder", False, f"{path} is not there, or cannot be written")
    free = shutil.disk_usage(path).free
    return Part(
        "folder", free >= settings.disk_free_megabytes * 1e6, f"{path}: {free / 1e9:,.1f} GB free"
    )


def tables(database: Database) -> Part:
    """Whether the database answers, and is of this version."""
    try:
        found = database.revision()
    except PinciteError as error:
        return Part("database", False, str(error))
    if found != database.newest:
        behind = (
            f"its tables are of {found or 'no version'}; `pincite serve` brings them up to date"
        )
        return Part("database", False, f"{database.shown}: {behind}")
    return Part("database", True, f"{database.shown} ({found})")


def _kept(database: Database, settings: ServerSettings) -> Iterator[Part]:
    faults = database.faults()
    yield Part("rows", not faults, "; ".join(faults) or "whole")
    jobs = JobStore(database)
    counts, lost = jobs.counts(), jobs.abandoned()
    told = ", ".join(f"{n} {status.value}" for status, n in counts.items() if n) or "none"
    if lost:
        told += f"; of {lost} no worker has given a sign of life: run `pincite worker`"
    waiting = counts[Status.QUEUED] < settings.queue
    yield Part("jobs", waiting and not lost, told if waiting else f"{told}; the queue is full")
    yield _corpora(CorpusRegister(database, settings.folder / "corpora"))
    yield _copies(settings.folder / SHELVES)


def _corpora(register: CorpusRegister) -> Part:
    every = register.listed()
    if faults := list(filter(None, (fault(each) for each in every if register.is_linked(each)))):
        return Part("corpora", False, "; ".join(faults))
    told = f"{len(every)}; `pincite corpus verify FOLDER` looks into one"
    # One that was made here has a folder from its first document on.
    if empty := [each.corpus_id for each in every if register.is_empty(each)]:
        told += f"; nothing is in {', '.join(empty)}"
    return Part("corpora", True, told)


def _copies(folder: Path) -> Part:
    """Whether own copies are where their shelves say; those of whoever runs it locally are not."""
    shelves = [path for path in sorted(folder.glob("*")) if path.is_dir()]
    damaged = []
    for shelf in shelves:
        try:
            if n_lost := OwnCopies(shelf).faults():
                damaged.append(f"{shelf} ({n_lost} files)")
        except PinciteError as error:
            damaged.append(str(error))
    told = f"damaged: {'; '.join(damaged)}" if damaged else f"{len(shelves)} shelves"
    return Part("copies", not damaged, told)
