"""Dataclasses as JSON, JSON as dataclasses, and the JSON Schema of both.

A dataclass is written with its fields, but for those with `metadata=UNWRITTEN`, and its properties
that are marked `@written` (`pincite.types`). Reading and the schema use pydantic, which is imported
then; writing does without it.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Self, TypeAlias, TypeVar, get_type_hints

from pincite.errors import InputError
from pincite.types import Says, Span

T = TypeVar("T")
MAX_BYTES = 500_000_000  # of a file; a thousand answers with their full texts have less
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")
_ABSENT = object()
_SCALARS = {str, int, bool, type(None)}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class Within:
    """Limits of a number, checked in reading and stated in the JSON Schema.

    As in `Annotated[float, Within(0, 1)]`: pydantic calls the method.
    """

    ge: float
    le: float | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> dict[str, Any]:
        limits = {"ge": self.ge, "le": self.le}
        return {**handler(source), **{k: v for k, v in limits.items() if v is not None}}


Whole: TypeAlias = Annotated[int, Within(0)]
Probability: TypeAlias = Annotated[float, Within(0, 1)]
Offsets: TypeAlias = Annotated[Span, Says("half-open character offsets")]


# ── Written ──────────────────────────────────────────────────────────────────────────────────────


def to_json(value: object, indent: int | None = 1) -> str:
    """A record, or plain values, as JSON with a line break at its end.

    A number that is none (NaN, infinity) is written as null: JSON has no word for it.
    """
    text = json.dumps(
        values_of(value), ensure_ascii=False, indent=indent, allow_nan=False, default=str
    )
    # UTF-8 has no lone surrogates; JSON's escape for them reads back as what it was.
    return _LONE_SURROGATES.sub(lambda half: f"\\u{ord(half[0]):04x}", text) + "\n"


def values_of(value: Any, digits: int | None = None) -> Any:
    """A dataclass as the dictionaries, lists and scalars that its JSON holds.

    `digits`: decimals of its numbers; those in mappings, such as settings, stay as they are.
    """
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return value if digits is None else round(value, digits)
    if type(value) in _SCALARS:
        return value
    if isinstance(value, list | tuple):
        return [values_of(each, digits) for each in value]
    if is_dataclass(value):
        kind: Any = type(value)
        names = _fields(kind) + tuple(computed(kind))
        return {name: values_of(getattr(value, name), digits) for name in names}
    if isinstance(value, Mapping):
        return {str(key): values_of(each) for key, each in value.items()}
    return str(value) if isinstance(value, StrEnum) else value


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    """Names of the fields that are written."""
    return tuple(f.name for f in fields(kind) if f.metadata.get("written", True))


@cache
def computed(kind: Any) -> Mapping[str, Any]:
    """The properties that are written, with the getter of each."""
    members = {name: it for base in reversed(kind.__mro__) for name, it in vars(base).items()}
    return {
        name: member.fget
        for name, member in members.items()
        if isinstance(member, property) and getattr(member.fget, "written", False)
    }


def made(kind: type[T], *sources: object, **given: Any) -> T:
    """A record of what is given and of the equally named attributes of the sources, first wins."""
    for name in kind.__dataclass_fields__:  # type: ignore[attr-defined]  # a dataclass
        for source in sources:
            if name in given:
                break
            if (value := getattr(source, name, _ABSENT)) is not _ABSENT:
                given[name] = value
    return kind(**given)


# ── Read ─────────────────────────────────────────────────────────────────────────────────────────


def from_file(kind: type[T], path: Path) -> T:
    """The record in a JSON file.

    Raises:
        InputError: it cannot be read, or holds something else.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path} has more than {MAX_BYTES:,} bytes: no report is so large.")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read as JSON: {error.strerror}.") from error
    return from_json(kind, data, str(path))


def from_json(kind: type[T], data: bytes | str, name: str = "the report") -> T:
    """The record in JSON, which messages call `name`.

    Raises:
        InputError: it is no JSON, or describes something else; the message names the first place.
    """
    try:
        values = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} cannot be read as JSON: {error}") from error
    try:
        return from_values(kind, values)
    except InputError as error:
        raise InputError(f"{name} is not a report of this kind: {error}") from error


def from_values(kind: type[T], values: object) -> T:
    """The record that JSON values describe; raises InputError as `from_json` does."""
    from pydantic import ValidationError

    wanted: Any = kind
    try:
        found: T = _validator(wanted).validate_python(values)
    except ValidationError as error:
        raise InputError(_said(error.errors(include_url=False)[0])) from error
    return found


def _said(error: Mapping[str, Any]) -> str:
    if error["loc"] == ("schema_version",) and error["type"] == "literal_error":
        reads = error["ctx"]["expected"]
        return (
            f"schema_version is {error['input']!r}, this Pincite reads {reads}. "
            "Run the command that wrote it again."
        )
    keys = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in error["loc"])
    return f"{''.join(keys).removeprefix('.') or 'the whole'}: {error['msg']}"


@cache
def _validator(kind: Any) -> Any:
    from pydantic import TypeAdapter
    from pydantic_core import SchemaValidator

    return SchemaValidator(_strict(TypeAdapter(kind).core_schema))


def _strict(schema: Any) -> Any:
    """No number out of a text, no true for 1; lists and texts may stand for tuples and enums."""
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _strict(each) for key, each in schema.items()}
    more: dict[str, dict[str, Any]] = {
        "int": {"strict": True},
        "bool": {"strict": True},
        "float": {"strict": True, "allow_inf_nan": False},
    }
    kind = found.get("type")
    return found | more.get(kind, {}) if isinstance(kind, str) else found


class JsonReport:
    """A base of dataclasses that are written to files and read from them."""

    __slots__ = ()

    def to_values(self) -> dict[str, Any]:
        """The report as its JSON has it."""
        raise NotImplementedError

    def to_json(self) -> str:
        """The report as indented JSON with a line break at its end."""
        return to_json(self.to_values())

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """The report that `to_json` wrote, but for rounding.

        Raises:
            InputError: it is no such report; the message names the first place that is wrong.
        """
        return from_json(cls, data)

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """The same of a file; also raises InputError if it cannot be read."""
        return from_file(cls, path)


# ── Described ────────────────────────────────────────────────────────────────────────────────────


def schema(kind: type[Any], title: str) -> dict[str, Any]:
    """The JSON Schema of what is written: every key is there, and no other."""
    return {"$schema": _DIALECT, "title": title, **described(kind, "#/$defs/")}


def described(kind: type[Any], at: str) -> dict[str, Any]:
    """As `schema`, for a larger document, in which what stands below `$defs` has its place `at`."""
    from pydantic import TypeAdapter

    found: dict[str, Any] = TypeAdapter(kind).json_schema(
        ref_template=at + "{model}", schema_generator=_generator()
    )
    closed: dict[str, Any] = _closed(found)
    return closed


@cache
def _generator() -> Any:
    """Pydantic's generator of schemas, with the properties that are written."""
    from pydantic import TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema

    class Generator(GenerateJsonSchema):
        def dataclass_schema(self, schema: Any) -> Any:
            found, kind = super().dataclass_schema(schema), schema["cls"]
            written = {name: found["properties"][name] for name in _fields(kind)}
            for name, get in computed(kind).items():
                value = TypeAdapter(get_type_hints(get, include_extras=True)["return"])
                written[name] = self.generate_inner(value.core_schema)
            return found | {"properties": written}

    return Generator


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    # What pydantic derives from names says nothing new; a property called "title" is an object.
    names = {"title": str, "default": object}
    kept = {k: v for k, v in schema.items() if k not in names or not isinstance(v, names[k])}
    found = {key: _closed(each) for key, each in kept.items()}
    if "properties" in found and found.get("type") == "object":
        found |= {"required": list(found["properties"]), "additionalProperties": False}
    return found
