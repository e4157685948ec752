"""All settings in force with their origins, for `pincite config show`: never a secret."""

import dataclasses
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pincite.models import chat
from pincite.pipeline import places
from pincite.pipeline.check_settings import TABLE, CheckSettings
from pincite.pipeline.settings import Settings


class Row(NamedTuple):
    """A setting by its full name, a value that JSON knows, and where it was set."""

    name: str
    value: Any
    origin: str


def rows(config: Path | None = None) -> list[Row]:
    """Every setting in the order of the code, then which secrets are set.

    Raises:
        ConfigError: something that is set cannot be used; names the place.
    """
    check = _made(CheckSettings, config, TABLE)
    found = [*_rows(*_made(Settings, config, ""), ""), *_rows(*check, f"{TABLE}.")]
    variables = {chat.KEY_VARIABLE, *(model.key_variable for model in check[0].models.values())}
    return [*found, *map(_secret, sorted(variables))]


def _made(schema: type, config: Path | None, table: str) -> tuple[Any, Mapping[str, str]]:
    """The settings, constructed and so checked, and the origin of what is no default."""
    found = places.placed(schema, {}, config, table)
    made = schema(**{name: value for name, (value, _) in found.items()})
    return made, {name: origin for name, (_, origin) in found.items()}


def _rows(settings: Any, origins: Mapping[str, str], prefix: str) -> Iterator[Row]:
    for name, value in dataclasses.asdict(settings).items():
        yield Row(prefix + name, _plain(value), origins.get(name, places.DEFAULT))


def _secret(variable: str) -> Row:
    known = bool(os.environ.get(variable, "").strip())
    return Row(variable, "set" if known else "not set", f"variable {variable}")


def _plain(value: Any) -> Any:
    """For JSON. Addresses hold no password here: the settings refuse one (`chat.checked_url`)."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return list(value) if isinstance(value, tuple) else value
