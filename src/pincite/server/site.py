"""What all routes share: the stores of a running server, in one place."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from pincite.pipeline.settings import Settings
from pincite.server.corpora import CorpusRegister
from pincite.server.database import Database
from pincite.server.jobs import JobStore
from pincite.server.settings import ServerSettings
from pincite.server.tallies import Tallies


@dataclass(frozen=True, slots=True)
class Site:
    """A running server."""

    server: ServerSettings
    settings: Settings  # of the pipelines
    database: Database
    jobs: JobStore
    corpora: CorpusRegister
    tallies: Tallies


def opened(server: ServerSettings, settings: Settings) -> Site:
    """The stores, with the database's tables brought to this version."""
    server.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    database = Database(server.database_url)
    database.migrate()
    return Site(
        server,
        settings,
        database,
        JobStore(database, queue=server.queue),
        CorpusRegister(database, server.folder / "corpora"),
        Tallies(database),
    )


def _of(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


Stores = Annotated[Site, Depends(_of)]
