"""Share links: a result for whoever has the address, read only, until it expires or is revoked."""

import secrets
from dataclasses import dataclass

import sqlalchemy as sa

from pincite.server.database import Database
from pincite.server.people.sessions import DAY, hash_of
from pincite.server.tables import accounts, jobs, new_id, now, share_links


@dataclass(frozen=True, slots=True)
class ShareLink:
    """A link to a job's result; its token is not kept."""

    link_id: str
    job_id: str
    created: float
    expires: float


_SHOWN = [share_links.c[name] for name in ShareLink.__slots__]


class ShareLinks:
    """The links of a server. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, job_id: str, days: float) -> tuple[ShareLink, str]:
        """A new link and its token, 43 characters of 256 random bits, which is not shown again."""
        token, at = secrets.token_urlsafe(32), now()
        link = ShareLink(new_id(), job_id, at, at + days * DAY)
        row = {"link_id": link.link_id, "job_id": job_id, "created": at, "expires": link.expires}
        with self._db.writing() as db:
            db.execute(share_links.insert().values(**row, token_hash=hash_of(token)))
        return link, token

    def job_of(self, token: str) -> str | None:
        """The id of the job that a token opens; None: it opens none (any more).

        Links to jobs of a disabled account open nothing.
        """
        owners = sa.outerjoin(jobs, accounts, jobs.c.owner == accounts.c.account_id)
        wanted = (
            sa.select(share_links.c.job_id)
            .join_from(share_links, owners, share_links.c.job_id == jobs.c.job_id)
            .where(share_links.c.token_hash == hash_of(token), share_links.c.expires > now())
            .where(accounts.c.disabled.is_not(True))  # in local mode there is no account
        )
        with self._db.reading() as db:
            return db.execute(wanted).scalar()

    def of(self, job_id: str) -> list[ShareLink]:
        """The links to a job that open it, the newest first."""
        wanted = sa.select(*_SHOWN).where(
            share_links.c.job_id == job_id, share_links.c.expires > now()
        )
        ordered = wanted.order_by(share_links.c.created.desc(), share_links.c.link_id)
        with self._db.reading() as db:
            return [ShareLink(*row) for row in db.execute(ordered)]

    def revoke(self, job_id: str, link_id: str) -> bool:
        """Delete a job's link; False if it has none of this id."""
        this = (share_links.c.job_id == job_id) & (share_links.c.link_id == link_id)
        with self._db.writing() as db:
            return db.execute(share_links.delete().where(this)).rowcount == 1

    def delete_expired(self) -> int:
        """Remove what opens nothing any more; returns how many."""
        with self._db.writing() as db:
            return db.execute(share_links.delete().where(share_links.c.expires < now())).rowcount
