"""Pages of accounts: logging in, one's own settings, administration."""
