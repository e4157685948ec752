"""All that the server keeps of an account: exported, or deleted.

A test compares `KEPT` with the tables: one that says whose a row is must be dealt with here.
"""

import dataclasses
import gzip
import json
import zipfile
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import IO, Any

import sqlalchemy as sa

from pincite.library.private_copies import AccountCopies, OwnCopies
from pincite.server import plugins
from pincite.server.accounts import spare_last_admin
from pincite.server.corpora import Shared
from pincite.server.database import Database
from pincite.server.tables import (
    accounts,
    api_keys,
    audit,
    corpora,
    feedback,
    jobs,
    login_attempts,
    logins,
    new_id,
    now,
    sessions,
)

# Whose a row is. What is deleted with the account by the database itself stands here too.
KEPT: dict[str, sa.Column[Any]] = {
    "account": accounts.c.account_id,
    "sessions": sessions.c.account_id,
    "keys": api_keys.c.account_id,
    "logins": logins.c.account_id,
    "login_attempts": login_attempts.c.account_id,
    "jobs": jobs.c.owner,
    "corpora": corpora.c.owner,
    "feedback": feedback.c.owner,
    "audit": audit.c.account_id,
}
SECRET = {"password", "token_hash", "key_hash", "state_hash", "browser_hash", "verifier"}


def kept() -> dict[str, sa.Column[Any]]:
    """Whose a row is, in the tables of plugins too."""
    return KEPT | _of_plugins()


def _of_plugins() -> dict[str, sa.Column[Any]]:
    return {name: owner for plugin in plugins.loaded() for name, owner in plugin.owners.items()}


def export(database: Database, account_id: str, copies: OwnCopies, into: IO[bytes]) -> None:
    """Write a ZIP file: JSON lines of each kind of thing, each job's result, own copies of sources.

    Documents of corpora and sources of articles are not in it: they are whole files of their
    owner's already, or others'.
    """
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, owner in kept().items():
            with packed.open(f"{name}.jsonl", "w") as out:
                for row in _rows(database, owner, account_id):
                    line = json.dumps(row, ensure_ascii=False) + "\n"
                    out.write(line.encode("utf-8", "surrogatepass"))
        wanted = sa.select(jobs.c.job_id).where(
            jobs.c.owner == account_id, jobs.c.result.is_not(None)
        )
        with database.reading() as db:
            job_ids = list(db.execute(wanted).scalars())
        for job_id in job_ids:  # one at a time: they are large
            with database.reading() as db:
                one = sa.select(jobs.c.result).where(jobs.c.job_id == job_id)
                result = db.execute(one).scalar()
            if result is not None:
                packed.writestr(f"results/{job_id}.json", gzip.decompress(result))
        _add_copies(packed, copies)


def forget(database: Database, account_id: str, copies: AccountCopies) -> bool:
    """Delete an account and what is its own; False if there is none.

    Jobs with their results, feedback, private corpora, own copies and rows of plugins are
    deleted. Corpora that are shared stay for those they are shared with, without an owner. The
    audit log keeps what was done, not by whom.

    Corpora and copies are marked as deleted: their folders go when `Site.tidy` comes by.

    Raises:
        LastAdmin
    """
    mine = corpora.c.owner == account_id
    private = mine & (corpora.c.shared == Shared.PRIVATE.value)
    with database.writing() as db:
        spare_last_admin(db, account_id)
        this = accounts.c.account_id == account_id
        if db.execute(accounts.delete().where(this)).rowcount != 1:
            return False
        copies.mark_deleted(account_id)
        gone = {"deleted": now(), "name": sa.literal("deleted ") + corpora.c.corpus_id}
        db.execute(corpora.update().where(private, corpora.c.deleted.is_(None)).values(gone))
        for corpus_id in db.execute(sa.select(corpora.c.corpus_id).where(mine)).scalars().all():
            entry = corpora.update().where(corpora.c.corpus_id == corpus_id)
            db.execute(entry.values(owner=new_id()))  # an account that there is not
        own = (jobs.c.owner, feedback.c.owner, login_attempts.c.account_id)
        for owner in (*own, *_of_plugins().values()):
            db.execute(sa.delete(owner.table).where(owner == account_id))
        db.execute(audit.update().where(audit.c.account_id == account_id).values(account_id=""))
        db.execute(audit.update().where(audit.c.target == account_id).values(target=""))
    return True


def _add_copies(packed: zipfile.ZipFile, copies: OwnCopies) -> None:
    """The files under their hashes: no name that a stranger chose becomes a path."""
    listed = copies.all()
    rows = [dataclasses.asdict(copy) for copy in listed]
    packed.writestr("copies.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    for sha256, copy in {copy.sha256: copy for copy in listed}.items():
        if copies.path_of(copy).is_file():
            ending = PurePosixPath(copy.name).suffix.lower()
            ending = ending if ending[1:].isascii() and ending[1:].isalnum() else ""
            packed.write(copies.path_of(copy), f"copies/{sha256}{ending}")


def _rows(database: Database, owner: sa.Column[Any], account_id: str) -> Iterator[dict[str, Any]]:
    """The rows of a table, without secrets and without what is packed."""
    table = owner.table
    shown = [
        column
        for column in table.c
        if column.name not in SECRET
        and not column.info.get("secret")
        and not isinstance(column.type, sa.LargeBinary)
    ]
    wanted = sa.select(*shown).where(owner == account_id)
    with database.reading() as db:
        yield from (dict(row._mapping) for row in db.execute(wanted))
