"""Who did what when to what. Ids only: no title, no claim and no text of anybody stands in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pincite.server.database import Database
from pincite.server.tables import audit, new_id, now


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that somebody did."""

    audit_id: str
    at: float
    account_id: str  # "": the account was deleted since, or nobody was logged in
    action: str  # the API's name of the operation: "create_key"
    target: str
    detail: Mapping[str, Any]
    request_id: str  # as in the server's log


class AuditLog:
    """What was done on a server. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def record(
        self,
        account_id: str,
        action: str,
        target: str = "",
        detail: Mapping[str, Any] | None = None,
        request_id: str = "",
    ) -> None:
        """Write down what was done."""
        row = {
            "audit_id": new_id(),
            "at": now(),
            "account_id": account_id,
            "action": action[:60],
            "target": target[:200],
            "detail": dict(detail or {}),
            "request_id": request_id,
        }
        with self._db.writing() as db:
            db.execute(audit.insert().values(row))

    def listed(
        self,
        limit: int,
        before: tuple[float, str] | None = None,
        *,
        account_id: str | None = None,
        action: str | None = None,
    ) -> list[Entry]:
        """At most `limit` entries, the newest first.

        Args:
            limit: how many.
            before: time and id of the last one that was seen.
            account_id: only what this account did.
            action: only these.
        """
        wanted = sa.select(*(audit.c[name] for name in Entry.__slots__))
        if account_id is not None:
            wanted = wanted.where(audit.c.account_id == account_id)
        if action is not None:
            wanted = wanted.where(audit.c.action == action)
        if before:
            at, audit_id = before
            earlier = (audit.c.at == at) & (audit.c.audit_id < audit_id)
            wanted = wanted.where((audit.c.at < at) | earlier)
        ordered = wanted.order_by(audit.c.at.desc(), audit.c.audit_id.desc()).limit(limit)
        with self._db.reading() as db:
            return [Entry(*row) for row in db.execute(ordered)]

    def delete_older(self, before: float) -> int:
        """Remove entries from before a time; returns how many."""
        with self._db.writing() as db:
            return db.execute(audit.delete().where(audit.c.at < before)).rowcount
