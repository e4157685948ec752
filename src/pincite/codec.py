"""Dataclasses to JSON, JSON to dataclasses, and the JSON Schema of both.

A dataclass is written with its fields, placed as their metadata says, and its properties marked
`@written` (see `pincite.types`). Reading and the schema need pydantic, which is imported only then;
writing does without it.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import Field, fields, is_dataclass
from enum import StrEnum
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Self, TypeAlias, TypeVar, get_args, get_type_hints

from annotated_types import Interval

from pincite.errors import InputError, usable
from pincite.notes import Note, texts
from pincite.types import written

T = TypeVar("T")
DIGITS = 4  # decimals in reports: more would be noise that differs between machines
MAX_BYTES = 500_000_000  # per file; a thousand answers with their full texts are smaller
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")
_ABSENT = object()
_SCALARS = {str, int, bool, type(None)}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
Whole: TypeAlias = Annotated[int, Interval(ge=0)]
Probability: TypeAlias = Annotated[float, Interval(ge=0, le=1)]


# ── Written ──────────────────────────────────────────────────────────────────────────────────────


def to_json(value: object, indent: int | None = 1) -> str:
    """Format a record or plain values as JSON; NaN and infinity become null."""
    text = json.dumps(
        values_of(value), ensure_ascii=False, indent=indent, allow_nan=False, default=str
    )
    # UTF-8 has no lone surrogates; the JSON escape reads back as the same character.
    return _LONE_SURROGATES.sub(lambda half: f"\\u{ord(half[0]):04x}", text) + "\n"


def values_of(value: Any, digits: int | None = None) -> Any:
    """Convert a dataclass to its JSON values; `digits`: decimals, except in mappings."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return value if digits is None else round(value, digits)
    if type(value) in _SCALARS:
        return value
    if isinstance(value, list | tuple):
        return [values_of(part, digits) for part in value]
    if is_dataclass(value):
        return _of_dataclass(value, digits, {})
    if isinstance(value, Mapping):
        return {str(key): values_of(part) for key, part in value.items()}
    return str(value) if isinstance(value, StrEnum) else value


def _of_dataclass(
    value: Any, digits: int | None, writers: Mapping[str, Callable[[Any], Any]]
) -> dict[str, Any]:
    """`writers`: how fields are written that are not written as `values_of` does, by name."""
    kind: Any = type(value)
    values: dict[str, Any] = {}
    for field in _written_fields(kind):
        part = getattr(value, field.name)
        if field.metadata.get("inline"):
            values |= values_of(part, digits)
        elif keys := field.metadata.get("split"):
            types = _types_of(kind, field.name)
            written = values_of(part, digits)
            for key, one in zip(keys, types, strict=True):
                values[key] = written if isinstance(part, one) else None
        else:
            write = writers.get(field.name, partial(values_of, digits=digits))
            values[field.metadata.get("key", field.name)] = write(part)
    for name, get in written_properties(kind).items():
        values[get.written] = values_of(getattr(value, name), digits)
    return values


@cache
def _written_fields(kind: Any) -> tuple[Field[Any], ...]:
    return tuple(field for field in fields(kind) if field.metadata.get("written", True))


@cache
def _types_of(kind: Any, name: str) -> tuple[Any, ...]:
    hint = get_type_hints(kind)[name]
    return get_args(hint) or (hint,)


@cache
def written_properties(kind: Any) -> Mapping[str, Any]:
    members = {name: it for base in reversed(kind.__mro__) for name, it in vars(base).items()}
    return {
        name: member.fget
        for name, member in members.items()
        if isinstance(member, property) and getattr(member.fget, "written", False)
    }


def build(kind: type[T], *sources: object, **given: Any) -> T:
    """Build a record from `given` and from equally named attributes of the sources; first wins."""
    for name in kind.__dataclass_fields__:  # type: ignore[attr-defined]  # a dataclass
        for source in sources:
            if name in given:
                break
            if (value := getattr(source, name, _ABSENT)) is not _ABSENT:
                given[name] = value
    return kind(**given)


# ── Read ─────────────────────────────────────────────────────────────────────────────────────────


def from_file(kind: type[T], path: Path) -> T:
    return from_json(kind, content_of(path), str(path))


def content_of(path: Path, most: int = MAX_BYTES) -> bytes:
    """Return a file's bytes; raises InputError if it cannot be read or has more than `most`."""
    with usable(path, "read as JSON"):
        if path.stat().st_size > most:
            raise InputError(
                f"{path} has more than {most:,} bytes: nothing that Pincite writes is so large."
            )
        return path.read_bytes()


def from_json(kind: type[T], data: bytes | str, name: str = "the report") -> T:
    """Read a record from JSON; raises InputError, which names the first invalid place."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} cannot be read as JSON: {error}") from error
    try:
        return from_values(kind, values)
    except InputError as error:
        raise InputError(f"{name} is not a report of this kind: {error}") from error


def from_values(kind: type[T], values: object) -> T:
    """Read a record from JSON values; raises InputError as `from_json` does."""
    from pydantic import ValidationError

    wanted: Any = kind
    try:
        record: T = _validator(wanted).validate_python(values)
    except ValidationError as error:
        raise InputError(_describe_error(error.errors(include_url=False)[0])) from error
    return record


def _describe_error(error: Mapping[str, Any]) -> str:
    if error["loc"] == ("schema_version",) and error["type"] == "literal_error":
        reads = error["ctx"]["expected"]
        return (
            f"schema_version is {error['input']!r}, this Pincite reads {reads}. "
            "Run the command that wrote it again."
        )
    loc = (key for key in error["loc"] if not str(key).startswith("function-before"))
    keys = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in loc)
    return f"{''.join(keys).removeprefix('.') or 'the whole'}: {error['msg']}"


@cache
def _validator(kind: Any) -> Any:
    from pydantic import TypeAdapter
    from pydantic_core import SchemaValidator

    return SchemaValidator(_strict(TypeAdapter(kind).core_schema))


def _strict(schema: Any) -> Any:
    """Make the schema strict: no number from a text, no true from 1."""
    if isinstance(schema, list):
        return [_strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {key: _strict(part) for key, part in schema.items()}
    more: dict[str, dict[str, Any]] = {
        "int": {"strict": True},
        "bool": {"strict": True},
        "float": {"strict": True, "allow_inf_nan": False},
    }
    kind = strict.get("type")
    if kind == "dataclass" and any(field.metadata for field in fields(strict["cls"])):
        place = partial(_nest, strict["cls"])
        ref = {"ref": strict.pop("ref")} if "ref" in strict else {}
        called = {"type": "no-info", "function": place}
        return {"type": "function-before", "function": called, "schema": strict, **ref}
    return strict | more.get(kind, {}) if isinstance(kind, str) else strict


def _nest(kind: Any, values: Any) -> Any:
    if not isinstance(values, Mapping):
        return values
    nested = dict(values)
    for field in fields(kind):
        if not field.metadata.get("written", True):
            nested.pop(field.name, None)  # the key belongs to another record
        elif field.metadata.get("inline"):
            nested[field.name] = values
        elif keys := field.metadata.get("split"):
            given = [values[key] for key in keys if values.get(key) is not None]
            nested[field.name] = given[0] if given else None
        elif (key := field.metadata.get("key")) in values:
            nested[field.name] = values[key]
    return nested


class JsonReport:
    """Base class of dataclasses that are written to files and read from them."""

    __slots__ = ()
    warnings_coded: tuple[Note, ...]

    @property
    @written
    def warnings(self) -> tuple[str, ...]:
        return texts(self.warnings_coded)

    def writers(self) -> Mapping[str, Callable[[Any], Any]]:
        """How fields are written of which one bad part must not cost the rest, by name."""
        raise NotImplementedError

    def as_read(self) -> Self:
        """Restore what the JSON stores only once."""
        return self

    def to_values(self) -> dict[str, Any]:
        """Return the values written as JSON. A part that cannot be written costs itself."""
        return _of_dataclass(self, DIGITS, self.writers())

    def to_json(self) -> str:
        return to_json(self.to_values())

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        return from_json(cls, data).as_read()

    @classmethod
    def from_file(cls, path: Path) -> Self:
        return from_file(cls, path).as_read()


# ── Described ────────────────────────────────────────────────────────────────────────────────────


def schema(kind: type[Any], title: str) -> dict[str, Any]:
    """Return the JSON Schema of the output: every key is required, and no other is allowed."""
    return {"$schema": _DIALECT, "title": title, **schema_within(kind, "#/$defs/")}


def schema_within(kind: type[Any], at: str) -> dict[str, Any]:
    """As `schema`, for a larger document whose `$defs` are at `at`."""
    from pydantic import TypeAdapter

    raw: dict[str, Any] = TypeAdapter(kind).json_schema(
        ref_template=at + "{model}", schema_generator=_generator()
    )
    closed: dict[str, Any] = _close(raw)
    return closed


@cache
def _generator() -> Any:
    """Return pydantic's schema generator, extended by the written properties."""
    from pydantic import TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema

    class Generator(GenerateJsonSchema):
        def dataclass_schema(self, schema: Any) -> Any:
            json_schema, kind = super().dataclass_schema(schema), schema["cls"]
            written: dict[str, Any] = {}
            optional: set[str] = set()
            for field in _written_fields(kind):
                own = json_schema["properties"][field.name]
                if field.metadata.get("inline"):
                    kinds = [self.of(one) for one in _types_of(kind, field.name)]
                    for one in kinds:
                        written |= one["properties"]
                        optional |= set(one.get("optional", ()))
                    shared = set.intersection(*(set(one["properties"]) for one in kinds))
                    optional |= {key for one in kinds for key in one["properties"]} - shared
                elif keys := field.metadata.get("split"):
                    for key, one in zip(keys, _types_of(kind, field.name), strict=True):
                        adapter = TypeAdapter(one | None)
                        written[key] = self.generate_inner(self.unwrap(adapter.core_schema))
                else:
                    written[field.metadata.get("key", field.name)] = own
            for get in written_properties(kind).values():
                value = TypeAdapter(get_type_hints(get, include_extras=True)["return"])
                written[get.written] = self.generate_inner(self.unwrap(value.core_schema))
            return json_schema | {"properties": written, "optional": sorted(optional)}

        def of(self, kind: Any) -> dict[str, Any]:
            json_schema: dict[str, Any] = self.dataclass_schema(
                self.unwrap(TypeAdapter(kind).core_schema)
            )
            return json_schema

        def unwrap(self, schema: Any) -> Any:
            """Unwrap the definitions that pydantic adds around types with shared parts."""
            if schema["type"] != "definitions":
                return schema
            known = {}
            for one in schema["definitions"]:
                self.generate_inner(one)
                known[one["ref"]] = one
            inner = schema["schema"]
            return known[inner["schema_ref"]] if inner["type"] == "definition-ref" else inner

    return Generator


def _close(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_close(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    # What pydantic derives from names adds nothing; a property called "title" is an object.
    names = {"title": str, "default": object}
    kept = {k: v for k, v in schema.items() if k not in names or not isinstance(v, names[k])}
    closed = {key: _close(part) for key, part in kept.items()}
    if "properties" in closed and closed.get("type") == "object":
        optional = closed.pop("optional", ())
        required = [name for name in closed["properties"] if name not in optional]
        closed |= {"required": required, "additionalProperties": False}
    return closed
