"""Tables of server mode: who may come in, how, what they shared, and what was done.

Secrets (session tokens, API keys, tokens of share links) are kept as SHA-256 only: each has 256
random bits, so that nothing can be guessed from its hash, and a stolen database opens nothing.
"""

from typing import Any

import sqlalchemy as sa

from pincite.server.tables import ID, metadata

HASH = sa.String(64)  # SHA-256, hexadecimal


def _account(name: str = "account_id", **options: Any) -> sa.Column[str]:
    key = sa.ForeignKey("accounts.account_id", ondelete="CASCADE")
    return sa.Column(name, ID, key, nullable=False, **options)


accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("account_id", ID, primary_key=True),
    sa.Column("name", sa.String(60), nullable=False),
    sa.Column("name_key", sa.String(240), nullable=False, unique=True),  # see `names.key_of`
    sa.Column("role", sa.String(10), nullable=False),
    sa.Column("password", sa.String(200)),  # argon2id; none: by a provider only
    sa.Column("disabled", sa.Boolean, nullable=False, default=False),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("last_login", sa.Double),
)
sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("token_hash", HASH, primary_key=True),
    sa.Column("session_id", ID, nullable=False, unique=True),  # to name it by; opens nothing
    _account(index=True),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("proved", sa.Double, nullable=False),  # when its password or provider was last asked
    sa.Column("seen", sa.Double, nullable=False),
    sa.Column("agent", sa.String(200), nullable=False),  # what the browser calls itself
)
api_keys = sa.Table(
    "api_keys",
    metadata,
    sa.Column("key_id", ID, primary_key=True),
    _account(index=True),
    sa.Column("name", sa.String(100), nullable=False),
    sa.Column("prefix", sa.String(20), nullable=False),
    sa.Column("key_hash", HASH, nullable=False, unique=True),
    sa.Column("scopes", sa.JSON, nullable=False),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("expires", sa.Double, nullable=False),
    sa.Column("used", sa.Double),
)
groups = sa.Table(
    "groups",
    metadata,
    sa.Column("group_id", ID, primary_key=True),
    sa.Column("name", sa.String(60), nullable=False),
    sa.Column("name_key", sa.String(240), nullable=False, unique=True),
    sa.Column("created", sa.Double, nullable=False),
)
group_members = sa.Table(
    "group_members",
    metadata,
    sa.Column(
        "group_id", ID, sa.ForeignKey("groups.group_id", ondelete="CASCADE"), primary_key=True
    ),
    _account(primary_key=True, index=True),
)
logins = sa.Table(  # by a provider
    "logins",
    metadata,
    sa.Column("provider", sa.String(30), primary_key=True),
    sa.Column("subject", sa.String(200), primary_key=True),  # what the provider calls somebody
    _account(index=True),
    sa.Column("name", sa.String(200), nullable=False),  # there
    sa.Column("created", sa.Double, nullable=False),
)
login_attempts = sa.Table(  # begun at a provider, not come back yet
    "login_attempts",
    metadata,
    sa.Column("state_hash", HASH, primary_key=True),
    sa.Column("provider", sa.String(30), nullable=False),
    sa.Column("browser_hash", HASH, nullable=False),  # of a cookie: who begins must end
    sa.Column("verifier", sa.String(128), nullable=False),  # PKCE
    sa.Column("account_id", ID),  # that the login is to be linked with
    sa.Column("next", sa.Text, nullable=False),
    sa.Column("expires", sa.Double, nullable=False),
)
share_links = sa.Table(
    "share_links",
    metadata,
    sa.Column("link_id", ID, primary_key=True),
    sa.Column(
        "job_id",
        ID,
        sa.ForeignKey("jobs.job_id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    sa.Column("token_hash", HASH, nullable=False, unique=True),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("expires", sa.Double, nullable=False),
)
audit = sa.Table(
    "audit",
    metadata,
    sa.Column("audit_id", ID, primary_key=True),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("account_id", ID, nullable=False),  # "" where the account was deleted since
    sa.Column("action", sa.String(60), nullable=False),
    sa.Column("target", sa.String(200), nullable=False),  # ids only: no title, claim or name
    sa.Column("detail", sa.JSON, nullable=False),
    sa.Column("request_id", sa.String(40), nullable=False),
    sa.Index("ix_audit_at", "at", "audit_id"),
    sa.Index("ix_audit_account_id_at", "account_id", "at"),
)
