"""What all routes share: the stores of a running server, in one place."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from pincite import runtime
from pincite.server.database import Database, made_folder
from pincite.server.feedback import FeedbackStore
from pincite.server.jobs.store import JobStore
from pincite.server.jobs.tallies import Tallies
from pincite.server.library.library import Library
from pincite.server.library.open_corpora import Shelf
from pincite.server.library.own import OwnShelves
from pincite.server.library.quotas import Room
from pincite.server.library.register import CorpusRegister
from pincite.server.library.uploads import Uploads
from pincite.server.people.stores import People, people_of
from pincite.server.settings import ServerSettings
from pincite.server.study.rating import RatingStore
from pincite.server.study.studies import StudyStore
from pincite.settings import Settings


@dataclass(frozen=True, slots=True)
class Site:
    """A running server."""

    server: ServerSettings
    settings: Settings  # of the pipelines
    database: Database
    jobs: JobStore
    corpora: CorpusRegister
    library: Library
    own: OwnShelves
    room: Room
    feedback: FeedbackStore
    people: People  # of server mode; empty in local mode
    tallies: Tallies
    studies: StudyStore
    ratings: RatingStore

    def tidy(self) -> None:
        """Finish what was begun, and forget what has expired."""
        self.library.tidy()
        self.own.tidy(lambda owner: self.people.accounts.get(owner) is not None)
        self.people.forget_old()


def opened(server: ServerSettings, settings: Settings) -> Site:
    """The stores, with the database's tables and the folders brought to this version."""
    made_folder(server.folder)
    database = Database(server.database_url)
    database.migrate()
    each = server.queue_each if server.mode == "server" else 0
    jobs = JobStore(database, queue=server.queue, each=each)
    corpora = CorpusRegister(database, server.folder / "corpora")
    shelf = Shelf(lambda: runtime.encoder(settings))
    library = Library(corpora, Uploads(server.folder / "uploads"), jobs, shelf)
    own = OwnShelves(server, settings)
    room = Room(server, library, own)
    feedback, people = FeedbackStore(database), people_of(database, server)
    stores = (jobs, corpora, library, own, room, feedback, people, Tallies(database))
    studies = (StudyStore(database), RatingStore(database))
    site = Site(server, settings, database, *stores, *studies)
    site.tidy()
    return site


def _of(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


Stores = Annotated[Site, Depends(_of)]
