"""The stores of a running server, shared by all routes; and what involves several of them."""

import logging
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request

from pincite import runtime
from pincite.durable import n_bytes
from pincite.library.private_copies import folder_of
from pincite.settings import Settings
from pincite_server.accounts import Accounts, name_key
from pincite_server.corpora import CorpusEntry, CorpusPool, CorpusRegister, remove_folder
from pincite_server.database import Database, create_folder
from pincite_server.feedback import FeedbackStore
from pincite_server.identity import DAY, HOUR, ApiKeys, Identity, Sessions
from pincite_server.jobs import JobStore
from pincite_server.oauth import Provider, providers
from pincite_server.private_copies import OF_ACCOUNTS, AccountCopies
from pincite_server.problems import Problem
from pincite_server.settings import ServerSettings
from pincite_server.share_links import ShareLinks
from pincite_server.tables import api_keys, invitations, now, password_links, sessions, share_links
from pincite_server.uploads import Uploads

LOG = logging.getLogger("pincite.server.corpora")
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
        at = now()
        with self.database.writing() as db:
            db.execute(sessions.delete().where(~self.sessions.alive(at)))
            db.execute(api_keys.delete().where(api_keys.c.expires < at - KEYS_SHOWN_DAYS * DAY))
            for links in (share_links, password_links, invitations):
                db.execute(links.delete().where(links.c.expires < at))


def open_people(database: Database, settings: ServerSettings) -> People:
    """The account stores of a database. Raises ConfigError: the file of providers is not valid."""
    idle, whole = settings.session_hours * HOUR, settings.session_days * DAY
    return People(
        database,
        settings,
        Accounts(database),
        Sessions(database, idle, whole, shared=name_key(settings.shared_account)),
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
    pool: CorpusPool
    uploads: Uploads
    own: AccountCopies
    feedback: FeedbackStore
    people: People  # for server mode; its tables are empty in local mode

    def corpora_for(self, who: Identity) -> list[CorpusEntry]:
        """The corpora that a user may read, by name."""
        return [entry for entry in self.corpora.entries() if who.may_read(entry)]

    def close(self) -> None:
        self.pool.close()
        self.database.close()

    @property
    def searches_web(self) -> bool:
        """Whether a search engine looks for better sources, with or without a corpus."""
        return bool(self.settings.web.online and self.settings.web.search_url)

    def delete_corpus(self, entry: CorpusEntry) -> None:
        """Delete a corpus; the folder of a linked one is kept."""
        self.corpora.mark_deleted(entry.corpus_id)
        for job_id, request in self.jobs.open_requests("ingest"):
            if request["corpus"] == entry.corpus_id:
                self.jobs.cancel(job_id)
        self.pool.drop(entry.address)
        self.tidy()

    def tidy(self) -> None:
        """Finish interrupted deletions; delete expired data, and uploads that no job references."""
        for entry in self.corpora.deleted_entries():
            folder = self.corpora.folder_of(entry.corpus_id)
            if self.corpora.is_linked(entry) or remove_folder(folder):
                self.corpora.remove(entry.corpus_id)
        waiting = {request["upload"] for _, request in self.jobs.open_requests("ingest")}
        if n_swept := self.uploads.sweep(waiting | self.jobs.upload_sizes().keys()):
            LOG.warning("%s uploads that no job uses were removed", n_swept)
        self.own.tidy(lambda owner: self.people.accounts.get(owner) is not None)
        self.people.forget_old()

    def check_disk(self) -> None:
        """Refuse new jobs and files while the disk is nearly full. Raises Problem: 507."""
        if shutil.disk_usage(self.server.folder).free < self.server.disk_free_megabytes * 1e6:
            what = "The server's disk is nearly full, so it takes no new jobs or files."
            raise Problem(507, "disk_full", f"{what} Try again later, or tell the operator.")

    def check_account(self, owner: str, n_more: int = 0) -> None:
        """Refuse `n_more` bytes of files beyond the account's limit. Raises Problem: 422."""
        limit = self.server.account_megabytes * 1e6
        if not limit or self.server.mode == "local":
            return
        own = {
            entry.corpus_id: n_bytes(self.corpora.folder_of(entry.corpus_id))
            for entry in self.corpora.entries()
            if entry.owner == owner
        }
        sizes = {
            "corpora": sum(own.values()),
            "own copies": sum(copy.n_bytes for copy in self.own.of(owner).all()),
            "sources of articles": sum(self.jobs.upload_sizes(owner).values()),
        }
        used = sum(sizes.values())
        n_more += sum(  # files that queued jobs will add to these corpora
            file["n_bytes"]
            for _, request in self.jobs.open_requests("ingest")
            if request["corpus"] in own
            for file in request["files"]
        )
        if used + n_more > limit:
            parts = ", ".join(f"{name} {_mb(size)}" for name, size in sizes.items())
            what = f"An account may store {_mb(limit)}. Yours stores {_mb(used)} ({parts})"
            what += f", and {_mb(n_more)} would be added. Delete something, or upload less."
            raise Problem(422, "account_full", what)


def _mb(size: float) -> str:
    return f"{size / 1e6:,.1f} MB"


def account_copies(server: ServerSettings, settings: Settings) -> AccountCopies:
    """The private copies of a server's accounts; in local mode, those of `pincite source`."""
    local = folder_of(settings.library.own_copies) if server.mode == "local" else None
    return AccountCopies(server.folder / OF_ACCOUNTS, local)


def open_site(server: ServerSettings, settings: Settings) -> Site:
    """Open the stores, creating folders and tables as needed."""
    create_folder(server.folder)
    database = Database(server.database_url)
    database.create_tables()
    per_owner = server.queue_each if server.mode == "server" else 0
    site = Site(
        server=server,
        settings=settings,
        database=database,
        jobs=JobStore(database, queue=server.queue, per_owner=per_owner),
        corpora=CorpusRegister(database, server.folder / "corpora"),
        pool=CorpusPool(lambda: runtime.encoder(settings)),
        uploads=Uploads(server.folder / "uploads"),
        own=account_copies(server, settings),
        feedback=FeedbackStore(database),
        people=open_people(database, server),
    )
    site.tidy()
    return site


def _site(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


Stores = Annotated[Site, Depends(_site)]


def base_of(request: Request, site: Site) -> str:
    """The address that links to this server begin with."""
    return (site.server.address or str(request.base_url)).rstrip("/")
