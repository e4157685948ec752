"""Accounts, sessions, keys, groups, logins by providers, share links, the audit log."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "accounts",
        sa.Column("account_id", sa.String(length=22), nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("name_key", sa.String(length=240), nullable=False),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.Column("password", sa.String(length=200), nullable=True),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("last_login", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_accounts")),
        sa.UniqueConstraint("name_key", name=op.f("uq_accounts_name_key")),
    )
    op.create_table(
        "audit",
        sa.Column("audit_id", sa.String(length=22), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("account_id", sa.String(length=22), nullable=False),
        sa.Column("action", sa.String(length=60), nullable=False),
        sa.Column("target", sa.String(length=200), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Column("request_id", sa.String(length=40), nullable=False),
        sa.PrimaryKeyConstraint("audit_id", name=op.f("pk_audit")),
    )
    op.create_index("ix_audit_account_id_at", "audit", ["account_id", "at"], unique=False)
    op.create_index("ix_audit_at", "audit", ["at", "audit_id"], unique=False)
    op.create_table(
        "groups",
        sa.Column("group_id", sa.String(length=22), nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("name_key", sa.String(length=240), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("group_id", name=op.f("pk_groups")),
        sa.UniqueConstraint("name_key", name=op.f("uq_groups_name_key")),
    )
    op.create_table(
        "login_attempts",
        sa.Column("state_hash", sa.String(length=64), nullable=False),
        sa.Column("provider", sa.String(length=30), nullable=False),
        sa.Column("browser_hash", sa.String(length=64), nullable=False),
        sa.Column("verifier", sa.String(length=128), nullable=False),
        sa.Column("account_id", sa.String(length=22), nullable=True),
        sa.Column("next", sa.Text(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("state_hash", name=op.f("pk_login_attempts")),
    )
    op.create_table(
        "api_keys",
        sa.Column("key_id", sa.String(length=22), nullable=False),
        sa.Column("account_id", sa.String(length=22), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("prefix", sa.String(length=20), nullable=False),
        sa.Column("key_hash", sa.String(length=64), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.Column("used", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.account_id"],
            name=op.f("fk_api_keys_account_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("key_id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("key_hash", name=op.f("uq_api_keys_key_hash")),
    )
    op.create_index(op.f("ix_api_keys_account_id"), "api_keys", ["account_id"], unique=False)
    op.create_table(
        "group_members",
        sa.Column("group_id", sa.String(length=22), nullable=False),
        sa.Column("account_id", sa.String(length=22), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.account_id"],
            name=op.f("fk_group_members_account_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["group_id"],
            ["groups.group_id"],
            name=op.f("fk_group_members_group_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("group_id", "account_id", name=op.f("pk_group_members")),
    )
    op.create_index(
        op.f("ix_group_members_account_id"), "group_members", ["account_id"], unique=False
    )
    op.create_table(
        "logins",
        sa.Column("provider", sa.String(length=30), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.Column("account_id", sa.String(length=22), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.account_id"],
            name=op.f("fk_logins_account_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("provider", "subject", name=op.f("pk_logins")),
    )
    op.create_index(op.f("ix_logins_account_id"), "logins", ["account_id"], unique=False)
    op.create_table(
        "sessions",
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("session_id", sa.String(length=22), nullable=False),
        sa.Column("account_id", sa.String(length=22), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("proved", sa.Double(), nullable=False),
        sa.Column("seen", sa.Double(), nullable=False),
        sa.Column("agent", sa.String(length=200), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.account_id"],
            name=op.f("fk_sessions_account_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_sessions")),
        sa.UniqueConstraint("session_id", name=op.f("uq_sessions_session_id")),
    )
    op.create_index(op.f("ix_sessions_account_id"), "sessions", ["account_id"], unique=False)
    op.create_table(
        "share_links",
        sa.Column("link_id", sa.String(length=22), nullable=False),
        sa.Column("job_id", sa.String(length=22), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.job_id"], name=op.f("fk_share_links_job_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("link_id", name=op.f("pk_share_links")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_share_links_token_hash")),
    )
    op.create_index(op.f("ix_share_links_job_id"), "share_links", ["job_id"], unique=False)
