"""What may stand in a setting: the types, ranges and choices that annotate the fields of a record.

A record of settings is a frozen dataclass. Its fields are settings (`Annotated[int, Range(1, 20)]`,
`Literal["a", "b"]`, `str`, `bool`, `tuple[str, ...]`) or, one level up, further records. A setting
is known by its full name, `web.pause`: the field `pause` of the record in the field `web`. The
outermost record checks all of them; what must go together, the record that holds it.
"""

import contextlib
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from pincite.errors import ConfigError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from `low` to `high`; a round bracket in `ends` leaves that end out.

    >>> str(Range(0, 64, zero="all cores")), str(Range(0, 1, "()")), str(Range(1))
    ('0 (all cores) to 64', 'between 0 and 1', '1 or more')
    """

    low: float
    high: float = math.inf
    ends: Literal["[]", "[)", "(]", "()"] = "[]"
    zero: str = ""  # what 0 means, for messages

    def __contains__(self, value: float) -> bool:
        """Whether a setting may have this value."""
        above = value > self.low if self.ends[0] == "(" else value >= self.low
        below = value < self.high if self.ends[1] == ")" else value <= self.high
        return above and below and math.isfinite(value)

    def __str__(self) -> str:
        """As it is put into messages after "expected"."""
        low = f"{self.low} ({self.zero})" if self.zero else f"{self.low}"
        if math.isinf(self.high):
            return f"more than {low}" if self.ends[0] == "(" else f"{low} or more"
        if self.ends == "()":
            return f"between {low} and {self.high}"
        return f"{low} to {'below ' * (self.ends[1] == ')')}{self.high}"


Share = Annotated[float, Range(0, 1, "()")]


@cache
def types_of(schema: Hashable) -> Mapping[str, Any]:
    """The annotated type of each setting of a record, by full name, in the order of the fields."""
    found: dict[str, Any] = {}
    for name, kind in get_type_hints(schema, include_extras=True).items():
        if hasattr(kind, "__dataclass_fields__"):
            found |= {f"{name}.{leaf}": of_leaf for leaf, of_leaf in types_of(kind).items()}
        else:
            found[name] = kind
    return found


def flat(record: Any) -> dict[str, Any]:
    """The values of a record's settings by full name."""
    return {name: attrgetter(name)(record) for name in types_of(record.__class__)}


def made(schema: type[T], values: Mapping[str, Any]) -> T:
    """A record with these values by full name, and its defaults for the others."""
    given: dict[str, dict[str, Any]] = {"": {}}
    for name, value in values.items():
        table, _, leaf = name.rpartition(".")
        given.setdefault(table, {})[leaf] = value
    kinds, own = get_type_hints(schema), given.pop("")
    return schema(**own, **{table: kinds[table](**leaves) for table, leaves in given.items()})


def check(record: Any, table: str = "") -> None:
    """Refuse a record in which a setting is out of its range or none of its choices.

    Raises:
        ConfigError: names the setting, its value and what was expected.
    """
    types, before = types_of(record.__class__), f"{table}." if table else ""
    for name, value in flat(record).items():
        if wanted := _refusal(types[name], value):
            raise ConfigError(f"{before}{name} is {value!r}; expected {wanted}.")


def converted(name: str, value: Any, kind: Any, place: str) -> Any:
    """A value from a file, a variable or an option as the setting's type wants it.

    Raises:
        ConfigError: another type, out of range, none of the choices; names `place`.
    """
    plain = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    found = _of_type(plain, value)
    if found is None:
        wanted = plain.__name__ if plain in (str, int, float, bool) else "list of strings"
    else:
        wanted = _refusal(kind, found)
    if wanted:
        raise ConfigError(f"{place}: {name} is {value!r}; expected {wanted}.")
    return found


def _refusal(kind: Any, value: Any) -> str:
    """What was expected instead of a value of the right type; empty if it is as it should be."""
    if get_origin(kind) is Literal:
        return "" if value in get_args(kind) else " or ".join(map(repr, get_args(kind)))
    marks = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    return next((str(m) for m in marks if isinstance(m, Range) and value not in m), "")


def _of_type(wanted: Any, value: Any) -> Any:
    """None if it is of another type and cannot be read as this one."""
    if get_origin(wanted) is Literal or type(value) is wanted:
        return value
    if wanted is bool:  # variables are texts
        return {"true": True, "false": False}.get(str(value).lower())
    if wanted not in (str, int, float):  # a list of strings, or one string with commas
        if isinstance(value, str):
            return tuple(filter(None, map(str.strip, value.split(","))))
        listed = isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
        return tuple(map(str.strip, value)) if listed else None
    if isinstance(value, str) or (wanted is float and type(value) is int):
        with contextlib.suppress(ValueError):
            return wanted(value)
    return None
