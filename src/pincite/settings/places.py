"""Where settings may stand, what wins, and how what stands there becomes a checked value.

Weakest first: the default in the code, `config.toml` in the user's settings folder, `pincite.toml`
in the working folder (or the file named instead of both), a variable `PINCITE_…`, an option of the
command. A file names a setting by its table (`[web] pause = 2`), a variable by both words
(`PINCITE_WEB_PAUSE`), an option by its short name (`web_pause`). pydantic-settings would bring
pydantic into the core for the same precedence, and says neither which place won nor which known key
an unknown one is nearest to.
"""

import difflib
import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import platformdirs

from pincite.errors import ConfigError
from pincite.llm import chat
from pincite.settings.values import converted, types_of

PREFIX = "PINCITE_"
DEFAULT, OPTION = "default", "option"
# Read elsewhere.
_NOT_SETTINGS = {"PINCITE_CACHE", "PINCITE_SHARED", chat.EMBEDDINGS_KEY_VARIABLE}
_NOT_SETTINGS |= {chat.KEY_VARIABLE, chat.JUDGE_KEY_VARIABLE}
TABLES = ("server",)  # of a file; what stands in them are settings of their own
NO_NAMES: Mapping[str, str] = MappingProxyType({})


class Placed(NamedTuple):
    """A value and where it was found: `default`, `option`, `variable PINCITE_K`, a file."""

    value: Any
    origin: str


def placed(
    schema: type,
    options: Mapping[str, object],
    config: Path | None = None,
    *,
    table: str = "",
    short: Mapping[str, str] = NO_NAMES,
) -> dict[str, Placed]:
    """What was set anywhere, by full name; what was not is left out.

    Args:
        schema: the record of settings.
        options: what the command line gave; None values are left to the other places.
        config: a TOML file instead of the usual two.
        table: the part of the files, and of the variables' names, where they stand; empty: outside
            all of `TABLES`.
        short: the full name of each short one, for options.

    Raises:
        ConfigError: unknown key, wrong type or range, unreadable TOML; names the place.
    """
    found: dict[str, Placed] = {}
    for path in [config] if config else usual_files():
        if config or path.is_file():
            values = checked(schema, _part(_read(path), table, path), str(path), table=table)
            found |= {name: Placed(value, str(path)) for name, value in values.items()}
    for variable, name in _variables(schema, table):
        origin = f"variable {variable}"
        values = checked(schema, {name: os.environ[variable]}, origin, table=table)
        found |= {name: Placed(value, origin) for name, value in values.items()}
    given = {key: value for key, value in options.items() if value is not None}
    values = checked(schema, given, "command line", short, table)
    return found | {name: Placed(value, OPTION) for name, value in values.items()}


def usual_files() -> list[Path]:
    """The user's file and the project's, the weaker first; they need not exist."""
    return [Path(platformdirs.user_config_dir("pincite")) / "config.toml", Path("pincite.toml")]


def put(path: Path, name: str, value: str | None) -> None:
    """Set a string of a table in a file, or take it out (None); all else stays as it stands.

    Raises:
        ConfigError: the file cannot be read or written, or is laid out so that a line more or less
            would say something else; says what to do by hand.
    """
    path = path.resolve()
    before = _read(path) if path.is_file() else {}
    lines = path.read_text(encoding="utf-8").splitlines() if before else []
    text = "".join(f"{line}\n" for line in _with(lines, name, value))
    wanted = {key: old for key, old in _leaves(before).items() if key != name}
    try:
        if _leaves(tomllib.loads(text)) != wanted | ({} if value is None else {name: value}):
            raise ValueError("its layout is an unusual one")
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(path.name + ".part")
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except (OSError, ValueError) as error:
        todo = f"take {name} out" if value is None else f"set {name} to {json.dumps(value)}"
        raise ConfigError(f"{path} cannot be changed ({error}): {todo} there yourself.") from error


def _with(lines: list[str], name: str, value: str | None) -> list[str]:
    """The lines of a TOML file with this value in the table's place, or without any (None)."""
    table, _, leaf = name.rpartition(".")
    heads = [n for n, line in enumerate(lines) if line.lstrip().startswith("[")]
    whole = rf"\s*{re.escape(name)}\s*="  # before the first table a name is given whole
    first = heads[0] if heads else len(lines)
    lines = [line for n, line in enumerate(lines) if n >= first or not re.match(whole, line)]
    said = [] if value is None else [f"{leaf} = {json.dumps(value, ensure_ascii=False)}"]
    at = next((n for n, x in enumerate(lines) if re.match(rf"\s*\[\s*{table}\s*\]", x)), None)
    if at is None:
        return [*lines, *([f"[{table}]", *said] if said else [])]
    end = next((n for n in range(at + 1, len(lines)) if lines[n].lstrip().startswith("[")), None)
    kept = [line for line in lines[at + 1 : end] if not re.match(rf"\s*{leaf}\s*=", line)]
    return [*lines[: at + 1], *said, *kept, *(lines[end:] if end else [])]


def _leaves(values: Mapping[str, Any]) -> dict[str, Any]:
    """What a file says, each by its whole name; tables within tables stay as they are."""
    tables = {key: value for key, value in values.items() if isinstance(value, dict)}
    inner = {f"{key}.{leaf}": v for key, value in tables.items() for leaf, v in value.items()}
    return {key: value for key, value in values.items() if key not in tables} | inner


def checked(
    schema: type,
    values: Mapping[str, Any],
    place: str,
    short: Mapping[str, str] = NO_NAMES,
    table: str = "",
) -> dict[str, Any]:
    """The values as the settings' types want them, by full name; a full name beats a short one.

    Args:
        schema: the record of settings.
        values: by full name, by short name, or in tables.
        place: where they stood, for messages.
        short: the full name of each short one.
        table: where all of them stand, for messages.

    Raises:
        ConfigError: unknown name, wrong type or range; names `place`.
    """
    types = types_of(schema)
    full: dict[str, Any] = {}
    tables = {name.partition(".")[0] for name in types if "." in name}
    for key, value in sorted(values.items(), key=lambda item: item[0] not in short):
        if key in tables and isinstance(value, dict):
            full |= {f"{key}.{leaf}": inner for leaf, inner in value.items()}
        elif key in tables and key not in short:
            raise ConfigError(f"{place}: {key} is {value!r}; expected a table, [{key}].")
        else:
            full[short.get(key, key)] = value
    for name in full:
        if name not in types:
            raise ConfigError(f"{place}: {_unknown(name, types, short)}")
    before = f"{table}." if table else ""
    return {
        name: converted(before + name, value, types[name], place) for name, value in full.items()
    }


def _variables(schema: type, table: str) -> list[tuple[str, str]]:
    """The variables that are set, each with the name of its setting."""
    prefix = f"{PREFIX}{table.upper()}_" if table else PREFIX
    others = tuple(f"{PREFIX}{name.upper()}_" for name in TABLES if name != table)
    names = {prefix + name.upper().replace(".", "_"): name for name in types_of(schema)}
    return [
        (variable, names.get(variable) or variable.removeprefix(prefix).lower())
        for variable in sorted(os.environ)
        if variable.startswith(prefix)
        and not variable.startswith(others)
        and variable not in _NOT_SETTINGS
    ]


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


def _unknown(key: str, types: Mapping[str, Any], short: Mapping[str, str]) -> str:
    """That there is no such setting, the nearest that there is, and the others beside it."""
    table, leaf = key.rpartition(".")[::2]
    names = {name.rpartition(".")[2]: name for name in types}
    names |= {**short, **{name: name for name in types}}
    close = [leaf] if leaf in names else []
    for text in (key.lower(), leaf.lower()):
        close += difflib.get_close_matches(text, names, n=1)
    hint = f" Did you mean {names[close[0]]!r}?" if close else ""
    beside = [name for name in types if name.startswith(f"{table}.")]
    tables = dict.fromkeys(f"[{n.partition('.')[0]}]" if "." in n else n for n in types)
    return f"unknown setting {key!r}.{hint} Known: {', '.join(beside or tables)}."
