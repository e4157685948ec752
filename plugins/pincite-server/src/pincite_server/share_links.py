"""Links that open a job's result for anyone who has them."""

import secrets
from dataclasses import asdict, dataclass

import sqlalchemy as sa

from pincite_server.database import Database
from pincite_server.tables import accounts, hash_secret, jobs, new_id, now, share_links


@dataclass(frozen=True, slots=True)
class ShareLink:
    """A link that opens a job's result; its token is not stored."""

    link_id: str
    job_id: str
    created: float
    expires: float


class ShareLinks:
    """The share links of a server. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, job_id: str, days: float) -> tuple[ShareLink, str]:
        """Create a link; return it and its token, which is not stored."""
        token, at = secrets.token_urlsafe(32), now()
        link = ShareLink(new_id(), job_id, at, at + days * 86_400)
        self._db.write(share_links.insert().values(**asdict(link), token_hash=hash_secret(token)))
        return link, token

    def job_of(self, token: str) -> str | None:
        """The job that a token opens; None if invalid, expired, or the owner is disabled."""
        owners = sa.outerjoin(jobs, accounts, jobs.c.owner == accounts.c.account_id)
        wanted = (
            sa.select(share_links.c.job_id)
            .join_from(share_links, owners, share_links.c.job_id == jobs.c.job_id)
            .where(share_links.c.token_hash == hash_secret(token), share_links.c.expires > now())
            .where(accounts.c.disabled.is_not(True))  # there are no accounts in local mode
        )
        job_id: str | None = self._db.scalar(wanted)
        return job_id

    def of(self, job_id: str) -> list[ShareLink]:
        """The unexpired links to a job, newest first."""
        fields = [share_links.c[name] for name in ShareLink.__slots__]
        is_valid = (share_links.c.job_id == job_id) & (share_links.c.expires > now())
        ordered = sa.select(*fields).order_by(share_links.c.created.desc(), share_links.c.link_id)
        return [ShareLink(*row) for row in self._db.rows(ordered.where(is_valid))]

    def revoke(self, job_id: str, link_id: str) -> bool:
        this = (share_links.c.job_id == job_id) & (share_links.c.link_id == link_id)
        return self._db.write(share_links.delete().where(this)) == 1
