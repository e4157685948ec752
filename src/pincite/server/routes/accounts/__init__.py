"""Accounts: logging in, what people set, and what administrators do."""
