"""Groups of accounts, with whom a corpus can be shared."""

from dataclasses import dataclass

import sqlalchemy as sa

from pincite.server.database import Database
from pincite.server.library.register import Shared
from pincite.server.people.accounts import AccountExists
from pincite.server.people.names import checked, key_of
from pincite.server.tables import accounts, corpora, group_members, groups, new_id, now


@dataclass(frozen=True, slots=True)
class Group:
    """Accounts under a name."""

    group_id: str
    name: str
    created: float
    members: tuple[tuple[str, str], ...]  # id and name of the accounts, by name


class Groups:
    """The groups of a server. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, name: str) -> Group:
        """A new group without members.

        Raises:
            ConfigError: the name will not do.
            AccountExists: there is one of this name.
        """
        name = checked(name)
        group = Group(new_id(), name, now(), ())
        row = {"group_id": group.group_id, "name": name, "created": group.created}
        try:
            with self._db.writing() as db:
                db.execute(groups.insert().values(**row, name_key=key_of(name)))
        except sa.exc.IntegrityError as error:
            raise AccountExists(f"There is a group called {name!r} already.") from error
        return group

    def get(self, group_id: str) -> Group | None:
        """A group, or None."""
        with self._db.reading() as db:
            wanted = sa.select(groups).where(groups.c.group_id == group_id)
            row = db.execute(wanted).first()
            return _group(db, row) if row else None

    def listed(
        self, limit: int, after: str | None = None, member: str | None = None
    ) -> list[Group]:
        """At most `limit` groups, by name.

        Args:
            limit: how many.
            after: `key_of` the last name that was seen.
            member: only those that this account is in; None: all.
        """
        wanted = sa.select(groups).order_by(groups.c.name_key).limit(limit)
        if after is not None:
            wanted = wanted.where(groups.c.name_key > after)
        if member is not None:
            mine = sa.select(group_members.c.group_id).where(group_members.c.account_id == member)
            wanted = wanted.where(groups.c.group_id.in_(mine))
        with self._db.reading() as db:
            return [_group(db, row) for row in db.execute(wanted).all()]

    def join(self, group_id: str, account_id: str) -> bool:
        """Make an account a member; False if one of the two is not there."""
        row = {"group_id": group_id, "account_id": account_id}
        try:
            with self._db.writing() as db:
                member = (group_members.c.group_id == group_id) & (
                    group_members.c.account_id == account_id
                )
                if db.execute(sa.select(group_members).where(member)).first() is None:
                    db.execute(group_members.insert().values(row))
        except sa.exc.IntegrityError:
            return False
        return True

    def leave(self, group_id: str, account_id: str) -> bool:
        """End a membership; False if there was none."""
        member = (group_members.c.group_id == group_id) & (group_members.c.account_id == account_id)
        with self._db.writing() as db:
            return db.execute(group_members.delete().where(member)).rowcount == 1

    def remove(self, group_id: str) -> bool:
        """Delete a group; corpora that were shared with it are their owners' alone again."""
        with self._db.writing() as db:
            shared = corpora.update().where(corpora.c.group_id == group_id)
            db.execute(shared.values(shared=Shared.PRIVATE.value, group_id=None))
            return db.execute(groups.delete().where(groups.c.group_id == group_id)).rowcount == 1


def _group(db: sa.Connection, row: sa.Row[tuple[object, ...]]) -> Group:
    values = row._mapping
    members = (
        sa.select(accounts.c.account_id, accounts.c.name)
        .join_from(group_members, accounts)
        .where(group_members.c.group_id == values["group_id"])
        .order_by(accounts.c.name_key)
    )
    found = tuple((account_id, name) for account_id, name in db.execute(members))
    return Group(str(values["group_id"]), str(values["name"]), values["created"], found)
