"""Who may come in and what they may do: accounts, sessions, keys, groups, links, the audit log."""
