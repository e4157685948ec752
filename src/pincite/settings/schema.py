"""How a setting is declared, where it can be set, and which place wins.

A group of settings is a frozen dataclass. The type of a field holds its limits and its help:

    depth: Annotated[int, Range(1, 10_000), "Passages from each retriever."] = 100

Settings file, environment variables, command-line options, request bodies and the options page of
the documentation are all derived from this declaration. A setting's full name is its table and its
field: `retrieval.depth`. A path in a settings file is relative to that file's folder.

Precedence, lowest first: the default; `config.toml` in the user's settings folder; `pincite.toml`
in the working folder (or a given file instead of both); a variable such as
`PINCITE_RETRIEVAL_DEPTH`; an option of the command. pydantic-settings has the same order, but
reports neither which place won nor which setting a misspelt name resembles.
"""

import contextlib
import dataclasses
import difflib
import json
import math
import os
import re
import tomllib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_origin
from typing import get_type_hints as hints_of

import platformdirs

from pincite import durable
from pincite.errors import ConfigError
from pincite.llm import client

T = TypeVar("T")
PREFIX = "PINCITE_"
OPTION = "option"  # origin
# Variables that are not settings.
_OTHER_VARIABLES = {"PINCITE_CACHE", "PINCITE_SHARED", "PINCITE_WIKI_KEY", client.KEY_VARIABLE}
_OTHER_VARIABLES |= {client.EMBEDDINGS_KEY_VARIABLE, client.JUDGE_KEY_VARIABLE}
SEPARATE = ("server",)  # tables with a separate schema


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from `low` to `high`; a round bracket in `ends` excludes that end.

    >>> str(Range(0, 64, zero="all cores")), str(Range(0, 1, "()")), str(Range(1))
    ('0 (all cores) to 64', 'between 0 and 1', '1 or more')
    """

    low: float
    high: float = math.inf
    ends: Literal["[]", "[)", "(]", "()"] = "[]"
    zero: str = ""  # what 0 means

    def __contains__(self, value: float) -> bool:
        above = value > self.low if self.ends[0] == "(" else value >= self.low
        below = value < self.high if self.ends[1] == ")" else value <= self.high
        return above and below and math.isfinite(value)

    def __str__(self) -> str:
        low = f"{self.low} ({self.zero})" if self.zero else f"{self.low}"
        if math.isinf(self.high):
            return f"more than {low}" if self.ends[0] == "(" else f"{low} or more"
        if self.ends == "()":
            return f"between {low} and {self.high}"
        return f"{low} to {'below ' * (self.ends[1] == ')')}{self.high}"

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> dict[str, Any]:
        limits = {"gt" if self.ends[0] == "(" else "ge": self.low}
        if math.isfinite(self.high):
            limits["lt" if self.ends[1] == ")" else "le"] = self.high
        return {**handler(source), **limits}


PATH = object()  # marks a setting that names a file or folder
Share = Annotated[float, Range(0, 1, "()")]
_EXPECTED = {str: "text", int: "an integer", float: "a number", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting as declared."""

    name: str  # in full: "web.pause"
    kind: Any  # str, int, float, bool, tuple[str, ...] or a Literal
    limits: Range | None
    help: str
    default: Any
    annotated: Any  # the declared type with its limits
    is_path: bool = False

    @property
    def choices(self) -> tuple[Any, ...]:
        return get_args(self.kind) if get_origin(self.kind) is Literal else ()

    @property
    def is_list(self) -> bool:
        return get_origin(self.kind) is tuple

    def refusal(self, value: Any) -> str:
        """Describe the expected values if a value of the right type is not allowed; else empty."""
        if self.choices:
            return "" if value in self.choices else " or ".join(map(repr, self.choices))
        return str(self.limits) if self.limits and value not in self.limits else ""

    def resolve(self, value: Any, folder: Path) -> Any:
        """Return the value; a path, also as NAME=PATH in a list, with `folder` before it."""
        if self.is_list and self.is_path:
            return tuple(name + _inside(folder, path) for name, path in map(_split_name, value))
        return _inside(folder, value) if self.is_path else value

    def read(self, value: Any, place: str, table: str = "") -> Any:
        """Convert a value from a file, a variable or an option; raises ConfigError."""
        converted = self._convert(value)
        expected = _EXPECTED.get(self.kind, "a list of strings")
        wanted = expected if converted is None else self.refusal(converted)
        if wanted:
            name = f"{table}.{self.name}" if table else self.name
            raise ConfigError(f"{place}: {name} is {value!r}; expected {wanted}.")
        return converted

    def _convert(self, value: Any) -> Any:
        """Convert the value; None if that is impossible."""
        kind = self.kind
        if self.choices or type(value) is kind:
            return value
        if kind is bool:  # variables are texts
            return {"true": True, "false": False}.get(str(value).lower())
        if kind not in (str, int, float):  # a list of strings, or one string with commas
            if isinstance(value, str):
                return tuple(filter(None, map(str.strip, value.split(","))))
            listed = isinstance(value, list | tuple) and all(isinstance(x, str) for x in value)
            return tuple(map(str.strip, value)) if listed else None
        if isinstance(value, str) or (kind is float and type(value) is int):
            with contextlib.suppress(ValueError):
                return kind(value)
        return None


def _inside(folder: Path, path: str) -> str:
    return path if not path or path.startswith("~") or "://" in path else str(folder / path)


def _split_name(text: str) -> tuple[str, str]:
    name = re.match(r"[^=/\\]+=", text)
    return (name[0], text[name.end() :]) if name else ("", text)


@cache
def settings_of(schema: Hashable) -> Mapping[str, Setting]:
    """Return every setting of a record and its nested records, by full name, in order."""
    settings: dict[str, Setting] = {}
    hints = hints_of(schema, include_extras=True)
    for field in dataclasses.fields(schema):  # type: ignore[arg-type]  # mypy: not Hashable
        annotated = hints[field.name]
        if hasattr(annotated, "__dataclass_fields__"):
            for leaf in settings_of(annotated).values():
                name = f"{field.name}.{leaf.name}"
                settings[name] = dataclasses.replace(leaf, name=name)
            continue
        is_marked = get_origin(annotated) is Annotated
        kind, *marks = get_args(annotated) if is_marked else (annotated,)
        limits = next((mark for mark in marks if isinstance(mark, Range)), None)
        text = next((mark for mark in marks if isinstance(mark, str)), "")
        values = (field.name, kind, limits, text, field.default, annotated, PATH in marks)
        settings[field.name] = Setting(*values)
    return settings


def flat(record: Any) -> dict[str, Any]:
    return {name: attrgetter(name)(record) for name in settings_of(record.__class__)}


def build(schema: type[T], values: Mapping[str, Any]) -> T:
    tables: dict[str, dict[str, Any]] = {"": {}}
    for name, value in values.items():
        table, _, leaf = name.rpartition(".")
        tables.setdefault(table, {})[leaf] = value
    kinds, own = hints_of(schema), tables.pop("")
    return schema(**own, **{table: kinds[table](**leaves) for table, leaves in tables.items()})


def check(record: Any, table: str = "") -> None:
    """Check every range and choice; the ConfigError names the value and what was expected."""
    settings = settings_of(record.__class__)
    for name, value in flat(record).items():
        if wanted := settings[name].refusal(value):
            name = f"{table}.{name}" if table else name
            raise ConfigError(f"{name} is {value!r}; expected {wanted}.")


def request_model(
    title: str,
    settings: Mapping[str, Setting],
    base: Any,
    *,
    text: Any = str,
    most: Mapping[str, float] = MappingProxyType({}),
    instead: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    """Make a pydantic model in which a request can set these settings; None: not set.

    `settings`, `most` and `instead` are by field name. `text` is the type of texts, alone and in
    lists. `most` has lower limits than the settings' own (for a list, of its length), and
    `instead` has other types.
    """
    from pydantic import Field, create_model

    fields: dict[str, Any] = {}
    for name, setting in settings.items():
        kind = instead.get(name, setting.annotated)
        if name not in instead and setting.kind is str:
            kind = text
        elif setting.is_list:
            kind = Annotated[tuple[text, ...], Field(max_length=int(most.get(name, 20)))]
        elif name in most:
            kind = Annotated[kind, Field(le=most[name])]
        fields[name] = (kind | None, Field(None, description=setting.help))
    return create_model(title, __base__=base, **fields)


class Value(NamedTuple):
    """A value and its origin: `default`, `option`, `variable PINCITE_K`, a file."""

    value: Any
    origin: str


def load_values(
    schema: type,
    options: Mapping[str, object],
    config: Path | None = None,
    *,
    table: str = "",
    short: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Value]:
    """Return all values that were set, by full name; defaults are omitted.

    `config` is read in place of the usual two files. `table` holds the settings in files and begins
    the names of variables; empty: everything outside `SEPARATE`. `short`: short name → full name.
    Options that are None are ignored.

    Raises:
        ConfigError: Unknown key, wrong type or range, unreadable TOML; names the place.
    """
    stated: dict[str, Value] = {}
    for path in [config] if config else usual_files():
        if config or path.is_file():
            values = convert(schema, _part(read_toml(path), table, path), str(path), table=table)
            for name, value in values.items():
                value = settings_of(schema)[name].resolve(value, path.absolute().parent)
                stated[name] = Value(value, str(path))
    for variable, name in _variables(schema, table):
        origin = f"variable {variable}"
        values = convert(schema, {name: os.environ[variable]}, origin, table=table)
        stated |= {name: Value(value, origin) for name, value in values.items()}
    given = {key: value for key, value in options.items() if value is not None}
    values = convert(schema, given, "command line", short, table)
    return stated | {name: Value(value, OPTION) for name, value in values.items()}


def usual_files() -> list[Path]:
    """Return the user's file and the project's, lower precedence first; they need not exist."""
    return [Path(platformdirs.user_config_dir("pincite")) / "config.toml", Path("pincite.toml")]


def convert(
    schema: type,
    values: Mapping[str, Any],
    place: str,
    short: Mapping[str, str] = MappingProxyType({}),
    table: str = "",
) -> dict[str, Any]:
    """Convert values by full name, by short name or in tables, and return them by full name.

    A full name overrides a short one. `place` and `table` are for messages: the ConfigErrors of an
    unknown name, a wrong type and a value out of range name them.
    """
    known = settings_of(schema)
    full: dict[str, Any] = {}
    tables = {name.partition(".")[0] for name in known if "." in name}
    for key, value in sorted(values.items(), key=lambda item: item[0] not in short):
        if key in tables and isinstance(value, dict):
            full |= {f"{key}.{leaf}": inner for leaf, inner in value.items()}
        elif key in tables and key not in short:
            raise ConfigError(f"{place}: {key} is {value!r}; expected a table, [{key}].")
        else:
            full[short.get(key, key)] = value
    for name in full:
        if name not in known:
            raise ConfigError(f"{place}: {_unknown(name, known, short, full[name])}")
    return {name: known[name].read(value, place, table) for name, value in full.items()}


def put(path: Path, name: str, value: str | None) -> None:
    """Set a string in a table of a TOML file, or remove it (None); keeps layout and comments."""
    import tomlkit

    path = path.resolve()
    table, _, leaf = name.rpartition(".")
    try:
        whole = tomlkit.parse(path.read_text("utf-8") if path.is_file() else "")
        part: Any = whole.setdefault(table, tomlkit.table())
        part.pop(leaf, None)
        if value is not None:
            part[leaf] = value
        path.parent.mkdir(parents=True, exist_ok=True)
        durable.write_text(path, tomlkit.dumps(whole))
    except (OSError, ValueError) as error:
        todo = f"remove {name}" if value is None else f"set {name} to {json.dumps(value)}"
        raise ConfigError(f"{path} cannot be changed ({error}): {todo} there yourself.") from error


def _variables(schema: type, table: str) -> list[tuple[str, str]]:
    prefix = f"{PREFIX}{table.upper()}_" if table else PREFIX
    others = tuple(f"{PREFIX}{name.upper()}_" for name in SEPARATE if name != table)
    names = {prefix + name.upper().replace(".", "_"): name for name in settings_of(schema)}
    return [
        (variable, names.get(variable) or variable.removeprefix(prefix).lower())
        for variable in sorted(os.environ)
        if variable.startswith(prefix)
        and not variable.startswith(others)
        and variable not in _OTHER_VARIABLES
        and not variable.startswith(f"{client.KEY_VARIABLE}_")
    ]


def _part(values: dict[str, Any], table: str, path: Path) -> dict[str, Any]:
    if not table:
        return {key: value for key, value in values.items() if key not in SEPARATE}
    part = values.get(table, {})
    if not isinstance(part, dict):
        raise ConfigError(f"{path}: {table} is {part!r}; expected a table, [{table}].")
    return part


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(f"There is no file {path}.") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as TOML: {error}") from error


def _unknown(key: str, known: Mapping[str, Any], short: Mapping[str, str], value: object) -> str:
    tables = dict.fromkeys(f"[{n.partition('.')[0]}]" if "." in n else n for n in known)
    if isinstance(value, Mapping):  # written as a table
        written = [*tables, *(f"[{name}]" for name in SEPARATE)]
        guess = difflib.get_close_matches(f"[{key.lower()}]", written, n=1)
        hint = f" Did you mean {guess[0]}?" if guess else ""
        return f"unknown table [{key}].{hint} Known: {', '.join(written)}."
    table, leaf = key.rpartition(".")[::2]
    names = {name.rpartition(".")[2]: name for name in known}
    names |= {**short, **{name: name for name in known}}
    close = [leaf] if leaf in names else []
    for text in (key.lower(), leaf.lower()):
        close += difflib.get_close_matches(text, names, n=1)
    hint = f" Did you mean {names[close[0]]!r}?" if close else ""
    beside = [name for name in known if name.startswith(f"{table}.")]
    return f"unknown setting {key!r}.{hint} Known: {', '.join(beside or tables)}."
