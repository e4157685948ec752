"""The stores of a running server, shared by all routes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request

from pincite import runtime
from pincite.library.private_copies import folder_of
from pincite.settings import Settings
from pincite_server.accounts import Accounts, name_key
from pincite_server.corpora import CorpusEntry, CorpusPool, CorpusRegister, Library, Quotas
from pincite_server.database import Database, create_folder
from pincite_server.feedback import FeedbackStore
from pincite_server.identity import DAY, ApiKeys, Identity, Sessions
from pincite_server.jobs import JobStore
from pincite_server.oauth import Provider, providers
from pincite_server.private_copies import OF_ACCOUNTS, AccountCopies
from pincite_server.settings import ServerSettings
from pincite_server.share_links import ShareLinks
from pincite_server.tables import api_keys, invitations, now, password_links, sessions, share_links
from pincite_server.uploads import Uploads

KEYS_SHOWN_DAYS = 30.0  # after expiry, so that owners see why a program stopped working


@dataclass(frozen=True, slots=True)
class People:
    """The stores of accounts and account data."""

    database: Database
    settings: ServerSettings
    accounts: Accounts
    sessions: Sessions
    keys: ApiKeys
    links: ShareLinks
    providers: dict[str, Provider]

    def forget_old(self) -> None:
        """Delete expired rows."""
        at = now()
        with self.database.writing() as db:
            db.execute(sessions.delete().where(~self.sessions.alive(at)))
            db.execute(api_keys.delete().where(api_keys.c.expires < at - KEYS_SHOWN_DAYS * DAY))
            for links in (share_links, password_links, invitations):
                db.execute(links.delete().where(links.c.expires < at))


def open_people(database: Database, settings: ServerSettings) -> People:
    """Create the account stores for a database.

    Raises ConfigError: the file of providers cannot be read.
    """
    hours, days = settings.session_hours, settings.session_days
    return People(
        database,
        settings,
        Accounts(database),
        Sessions(database, idle_hours=hours, days=days, shared=name_key(settings.shared_account)),
        ApiKeys(database),
        ShareLinks(database),
        providers(Path(settings.oauth) if settings.oauth else None),
    )


@dataclass(frozen=True, slots=True)
class Site:
    """A running server."""

    server: ServerSettings
    settings: Settings  # of the pipelines
    database: Database
    jobs: JobStore
    corpora: CorpusRegister
    library: Library
    own: AccountCopies
    quotas: Quotas
    feedback: FeedbackStore
    people: People  # for server mode; its tables are empty in local mode

    def corpora_for(self, who: Identity) -> list[CorpusEntry]:
        """The corpora that a user may read, by name."""
        return [entry for entry in self.corpora.listed() if who.may_read(entry)]

    def close(self) -> None:
        self.library.pool.close()
        self.database.close()

    @property
    def searches_web(self) -> bool:
        """Whether a search engine looks for better sources, with or without a corpus."""
        return bool(self.settings.web.online and self.settings.web.search_url)

    def tidy(self) -> None:
        """Finish interrupted deletions and delete expired data."""
        self.library.tidy()
        self.own.tidy(lambda owner: self.people.accounts.get(owner) is not None)
        self.people.forget_old()


def account_copies(server: ServerSettings, settings: Settings) -> AccountCopies:
    """The private copies of a server's accounts; in local mode, those of `pincite source`."""
    local = folder_of(settings.library.own_copies) if server.mode == "local" else None
    return AccountCopies(server.folder / OF_ACCOUNTS, local)


def opened(server: ServerSettings, settings: Settings) -> Site:
    """Open the stores, creating folders and tables as needed."""
    create_folder(server.folder)
    database = Database(server.database_url)
    database.create_tables()
    each = server.queue_each if server.mode == "server" else 0
    jobs = JobStore(database, queue=server.queue, each=each)
    corpora = CorpusRegister(database, server.folder / "corpora")
    pool = CorpusPool(lambda: runtime.encoder(settings))
    library = Library(corpora, Uploads(server.folder / "uploads"), jobs, pool)
    own = account_copies(server, settings)
    quotas = Quotas(server, library, own)
    feedback, people = FeedbackStore(database), open_people(database, server)
    stores = (jobs, corpora, library, own, quotas, feedback, people)
    site = Site(server, settings, database, *stores)
    site.tidy()
    return site


def _site(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


Stores = Annotated[Site, Depends(_site)]


def base_of(request: Request, site: Site) -> str:
    """The address that links to this server begin with."""
    return (site.server.address or str(request.base_url)).rstrip("/")
