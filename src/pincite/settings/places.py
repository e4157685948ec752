"""Where settings may stand, what wins, and how what stands there becomes a checked value.

Weakest first: the default in the code, `config.toml` in the user's settings folder, `pincite.toml`
in the working folder (or the file named instead of both), a variable `PINCITE_…`, an option of the
command. The keys are the fields of a dataclass. pydantic-settings would bring pydantic into the
core for the same precedence, and says neither which place won nor which known key an unknown one
is nearest to.
"""

import contextlib
import dataclasses
import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import platformdirs

from pincite.errors import ConfigError
from pincite.llm import chat

PREFIX = "PINCITE_"
DEFAULT, OPTION = "default", "option"
_NOT_SETTINGS = {"PINCITE_CACHE", "PINCITE_SHARED", chat.KEY_VARIABLE}  # read elsewhere
TABLES = ("server",)  # of a file; what stands in them are settings of their own


class Placed(NamedTuple):
    """A value and where it was found: `default`, `option`, `variable PINCITE_K`, a file."""

    value: Any
    origin: str


def placed(
    schema: type, options: Mapping[str, object], config: Path | None = None, table: str = ""
) -> dict[str, Placed]:
    """What was set anywhere, by field of the dataclass `schema`; what was not is left out.

    Args:
        schema: its fields are the settings.
        options: what the command line gave; None values are left to the other places.
        config: a TOML file instead of the usual two.
        table: the part of the files, and of the variables' names, where they stand; empty: outside
            all of `TABLES`.

    Raises:
        ConfigError: unknown key, wrong type, unreadable TOML; names the place.
    """
    found: dict[str, Placed] = {}
    for path in [config] if config else usual_files():
        if config or path.is_file():
            found |= _checked(schema, _part(_read(path), table, path), str(path))
    prefix = f"{PREFIX}{table.upper()}_" if table else PREFIX
    others = tuple(f"{PREFIX}{name.upper()}_" for name in TABLES if name != table)
    names = {prefix + field.name.upper(): field.name for field in dataclasses.fields(schema)}
    for variable, text in os.environ.items():
        if (
            variable.startswith(prefix)
            and not variable.startswith(others)
            and variable not in _NOT_SETTINGS
        ):
            found |= _checked(schema, {names.get(variable, variable): text}, f"variable {variable}")
    given = {key: value for key, value in options.items() if value is not None}
    return found | {key: Placed(value, OPTION) for key, value in given.items()}


def usual_files() -> list[Path]:
    """The user's file and the project's, the weaker first; they need not exist."""
    return [Path(platformdirs.user_config_dir("pincite")) / "config.toml", Path("pincite.toml")]


def checked(schema: type, values: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The values as the fields' types want them.

    Raises:
        ConfigError: unknown key or wrong type; names `place`.
    """
    return {key: found.value for key, found in _checked(schema, values, place).items()}


def _part(values: dict[str, Any], table: str, path: Path) -> dict[str, Any]:
    """One table of a file, or what stands outside of all that have settings of their own."""
    if not table:
        return {key: value for key, value in values.items() if key not in TABLES}
    found = values.get(table, {})
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: {table} is {found!r}; expected a table, [{table}].")
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as TOML: {error}") from error


def _checked(schema: type, values: Mapping[str, Any], place: str) -> dict[str, Placed]:
    types = get_type_hints(schema)
    for key in values:
        if key not in types:
            close = difflib.get_close_matches(key.lower(), types, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            known = ", ".join(types)
            raise ConfigError(f"{place}: unknown setting {key!r}.{hint} Known: {known}.")
    return {
        key: Placed(_converted(key, value, types[key], place), place)
        for key, value in values.items()
    }


def _converted(key: str, value: Any, wanted: Any, place: str) -> Any:
    if get_origin(wanted) is Literal:
        if value in get_args(wanted):
            return value
        raise ConfigError(f"{place}: {key} is {value!r}; expected {either(wanted)}.")
    if wanted is bool:
        if str(value).lower() in ("true", "false"):  # variables are strings
            return str(value).lower() == "true"
    elif wanted not in (str, int, float):
        if (items := _strings(value)) is not None:
            return items
    elif type(value) is wanted:
        return value
    elif isinstance(value, str) or (wanted is float and type(value) is int):
        with contextlib.suppress(ValueError):  # else the error names the place
            return wanted(value)
    name = getattr(wanted, "__name__", "list of strings")
    raise ConfigError(f"{place}: {key} is {value!r}; expected {name}.")


def _strings(value: Any) -> tuple[str, ...] | None:
    """A list of strings, or one string with commas; None for anything else."""
    items = value.split(",") if isinstance(value, str) else value
    if isinstance(items, list) and all(isinstance(item, str) for item in items):
        return tuple(item for item in map(str.strip, items) if item or not isinstance(value, str))
    return None


def either(choices: Any) -> str:
    """`'a' or 'b'`, of a Literal."""
    return " or ".join(map(repr, get_args(choices)))
