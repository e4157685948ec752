"""All settings in force with their origins, for `pincite config show`: never a secret."""

import dataclasses
import os
from pathlib import Path
from typing import Any, NamedTuple

from pincite.llm import chat
from pincite.settings import Settings, places


class Row(NamedTuple):
    """A setting by its full name, a value that JSON knows, and where it was set."""

    name: str
    value: Any
    origin: str


def rows(config: Path | None = None) -> list[Row]:
    """Every setting in the order of the alphabet, then which secrets are set.

    Raises:
        ConfigError: something that is set cannot be used; names the place.
    """
    found = places.placed(Settings, {}, config)
    settings = Settings(**{name: value for name, (value, _) in found.items()})
    known = [
        Row(name, _plain(value), found[name].origin if name in found else places.DEFAULT)
        for name, value in sorted(dataclasses.asdict(settings).items())
    ]
    key = "set" if os.environ.get(chat.KEY_VARIABLE, "").strip() else "not set"
    return [*known, Row(chat.KEY_VARIABLE, key, f"variable {chat.KEY_VARIABLE}")]


def _plain(value: Any) -> Any:
    """For JSON. Addresses hold no password here: the settings refuse one (`chat.checked_url`)."""
    return list(value) if isinstance(value, tuple) else value
