"""Names of accounts and groups: what may stand in one, and when two are the same."""

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, Field

from pincite.errors import ConfigError

MAX_NAME = 60
MAX_KEY = 240  # a few signs stand for a dozen letters


def key_of(name: str) -> str:
    """By which names are told apart: `Ada` and `ADA` are one, so are wide and narrow letters.

    >>> key_of("Ａda")
    'ada'
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def checked(name: str) -> str:
    """The name, composed (NFC).

    Raises:
        ConfigError: nobody could read or type it: signs without a shape, blanks at its ends.
    """
    composed = unicodedata.normalize("NFC", name)
    if (
        not composed.isprintable()  # also what turns text around, and half a surrogate pair
        or " ".join(composed.split()) != composed
        or not 1 <= len(composed) <= MAX_NAME
        or not 1 <= len(key_of(composed).strip()) <= MAX_KEY
    ):
        raise ConfigError(
            f"{name!a} is no name. Expected 1 to {MAX_NAME} visible characters, words parted by "
            "single blanks."
        )
    return composed


def _of_request(name: str) -> str:
    try:
        return checked(name)
    except ConfigError as error:
        raise ValueError(str(error)) from error


Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(_of_request)]
