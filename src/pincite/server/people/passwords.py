"""Passwords: hashed with argon2id, compared in the same time whether there is an account or not.

Each hashing takes 64 MiB and some 50 ms of a core (RFC 9106's second choice, the library's
default), so only a few run at once: many logins wait for each other instead of taking the memory.
"""

import secrets
import threading
import unicodedata
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from pincite.errors import ConfigError

MIN_LENGTH, MAX_LENGTH = 10, 1000  # characters; the limit above keeps hashing cheap
AT_ONCE = 2
_HASHER = PasswordHasher()
_SLOTS = threading.BoundedSemaphore(AT_ONCE)


def hashed(password: str, name: str = "") -> str:
    """What is kept of a password.

    Raises:
        ConfigError: it is too short or too long, or the account's `name`.
    """
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        raise ConfigError(f"A password has {MIN_LENGTH} to {MAX_LENGTH} characters.")
    if password.casefold() == name.casefold():
        raise ConfigError("The password is the account's name. Expected another one.")
    with _SLOTS:
        return _HASHER.hash(_bytes(password))


def matches(kept: str | None, password: str) -> bool:
    """Whether this is the password; takes as long if there is none."""
    to_match = kept or _nobodys()
    with _SLOTS:
        try:
            _HASHER.verify(to_match, _bytes(password[: MAX_LENGTH + 1]))
        except (VerificationError, InvalidHashError):
            return False
    return kept is not None


def outdated(kept: str) -> bool:
    """Whether it was hashed with less care than passwords are now."""
    return _HASHER.check_needs_rehash(kept)


@cache
def _nobodys() -> str:
    """Of no password that anybody has: comparing with it takes as long as with another."""
    return _HASHER.hash(secrets.token_bytes(32))


def _bytes(password: str) -> bytes:
    """The same for all keyboards (RFC 8265: composed)."""
    return unicodedata.normalize("NFC", password).encode("utf-8", "surrogatepass")
