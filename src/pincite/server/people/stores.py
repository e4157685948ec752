"""The stores of server mode, in one place, and what they forget as time goes by."""

from dataclasses import dataclass
from pathlib import Path

from pincite.server.database import Database
from pincite.server.people.accounts import Accounts, Logins
from pincite.server.people.attempts import LoginAttempts
from pincite.server.people.audit import AuditLog
from pincite.server.people.groups import Groups
from pincite.server.people.links import ShareLinks
from pincite.server.people.oauth import Provider, providers
from pincite.server.people.sessions import DAY, ApiKeys, Sessions
from pincite.server.settings import ServerSettings
from pincite.server.tables import now

KEYS_SHOWN_DAYS = 30.0  # after they expired, so that their owners see why something stopped


@dataclass(frozen=True, slots=True)
class People:
    """Who may come in, and what is known of them."""

    settings: ServerSettings
    accounts: Accounts
    logins: Logins
    attempts: LoginAttempts
    sessions: Sessions
    keys: ApiKeys
    groups: Groups
    links: ShareLinks
    audit: AuditLog
    providers: dict[str, Provider]

    def forget_old(self) -> None:
        """Remove what has expired, and what is older than the settings keep it."""
        self.sessions.delete_ended()
        self.keys.delete_expired(now() - KEYS_SHOWN_DAYS * DAY)
        self.links.delete_expired()
        self.attempts.delete_expired()
        if self.settings.audit_days:
            self.audit.delete_older(now() - self.settings.audit_days * DAY)


def people_of(database: Database, settings: ServerSettings) -> People:
    """The stores over a database.

    Raises:
        ConfigError: the file of providers cannot be read.
    """
    hours, days = settings.session_hours, settings.session_days
    return People(
        settings,
        Accounts(database),
        Logins(database),
        LoginAttempts(database),
        Sessions(database, idle_hours=hours, days=days),
        ApiKeys(database),
        Groups(database),
        ShareLinks(database),
        AuditLog(database),
        providers(Path(settings.oauth) if settings.oauth else None),
    )
