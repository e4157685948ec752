"""Reports as JSON: every record reads back as it was, and is valid by its published schema."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import jsonschema
import pytest
from annotated_types import Interval
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import report
from support.rows import each_row

import make_schema
from pincite import codec
from pincite.errors import InputError
from pincite.notes import Note
from pincite.types import Evidence, Reason, Span, Stance
from pincite.verbs.verify.report import Report, Stage

# A high half before a low one reads back as the character that they are together.
HOSTILE = st.sampled_from('\udc00\udfff\x00\x1b\u202e\u2028"\\<&')
TEXTS = st.text(st.characters() | HOSTILE, max_size=5)
SPANS = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda ends: Span(*sorted(ends)))
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS,
    int: st.integers(-(2**60), 2**60),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    type(None): st.none(),
    Span: SPANS,
    Stance: st.tuples(st.floats(0, 1), st.floats(0, 1)).map(lambda two: Stance(*two)),
}


def any_of(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type as the records use it."""
    args = get_args(kind)
    if kind in SCALARS:
        return SCALARS[kind]
    if get_origin(kind) is Annotated:
        return limited(args[0], next((a for a in args[1:] if isinstance(a, Interval)), None))
    if get_origin(kind) is Literal:
        return st.sampled_from(args)
    if get_origin(kind) in (UnionType, Union):
        return st.one_of([any_of(each) for each in args])
    if get_origin(kind) is tuple and args[-1] is ...:
        return st.lists(any_of(args[0]), max_size=2).map(tuple)
    if get_origin(kind) is tuple:
        return st.tuples(*map(any_of, args))
    return a_mapping_or_record(kind)


def limited(kind: Any, limits: Any) -> st.SearchStrategy[Any]:
    if limits is None:
        return any_of(kind)
    if kind is int:
        return st.integers(int(limits.ge), 10**6)
    return st.floats(limits.ge, 1e9 if limits.le is None else limits.le)


@cache
def a_mapping_or_record(kind: Any) -> st.SearchStrategy[Any]:
    if get_origin(kind) is Mapping:
        keys, values = get_args(kind)
        if keys is Stage:  # a funnel counts each
            return st.fixed_dictionaries(dict.fromkeys(Stage, any_of(values)))
        return st.dictionaries(any_of(keys), any_of(values), max_size=2)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    assert isinstance(kind, type)
    assert is_dataclass(kind)
    hints = get_type_hints(kind, include_extras=True)
    written = [each.name for each in fields(kind) if each.metadata.get("written", True)]
    return st.builds(kind, **{name: any_of(hints[name]) for name in written})


@cache
def validator(kind: Any) -> jsonschema.Draft202012Validator:
    schema = codec.schema(kind, "any")
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("kind", [kind for kind, _ in make_schema.RECORDS.values()])
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_record_reads_back_and_is_valid(kind: Any, data: st.DataObject) -> None:
    record = data.draw(any_of(kind))
    written = codec.to_json(record)
    read = codec.from_json(kind, written.encode())  # no lone surrogate is left
    assert read == record
    assert codec.to_json(read) == written  # 1, 1.0 and true, which are equal, stay what they are
    validator(kind).validate(json.loads(written))


@pytest.mark.parametrize("path", make_schema.RECORDS, ids=lambda path: path.name)
def test_the_schemas_are_current(path: Any) -> None:
    assert path.read_text(encoding="utf-8") == make_schema.text_of(path)


@each_row("report/codec/what_is_wrong_is_named_by_its_place")
def test_what_is_wrong_is_named_by_its_place(path: list[Any], value: object, message: str) -> None:
    values: Any = report().to_values()
    inner = values
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(InputError, match=message):
        codec.from_values(Report, values)


@given(
    st.recursive(
        st.one_of(
            st.none(), st.floats(), st.integers(), TEXTS, st.sampled_from([Path("a"), Reason.DEAD])
        ),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_value_is_written_as_valid_json(value: Any) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    for indent in (None, 1):
        written = codec.to_json(value, indent)
        assert json.loads(written.encode("utf-8"), parse_constant=refuse) is not ...
        assert indent or written.count("\n") == 1


def test_numbers_have_four_decimals_but_for_settings() -> None:
    found = replace(report(), settings={"pause": 0.123456}, flag_precision=((0.02, 0.123456),))
    values = found.to_values()
    assert values["settings"] == {"pause": 0.123456}
    assert values["flag_precision"] == [[0.02, 0.1235]]


def test_computed_and_unknown_values_are_not_read() -> None:
    values: Any = report().to_values()
    first = values["findings"][0]
    assert first["prob_supported"] == 0.1824
    assert first["citations"][0]["evidence"]["quote"] == "plain"
    first |= {"prob_supported": 0.9, "source_changed": True, "mood": "of a later version"}
    assert codec.from_values(Report, values).as_read() == report()


@pytest.mark.parametrize("note", [Note("of_next_year"), Note("not_stated")])
def test_a_note_of_another_version_is_shown_by_its_code(note: Note) -> None:
    outcome = report().findings[0].citations[0].outcome
    assert isinstance(outcome, Evidence)
    assert note.code in replace(outcome, notes=(note,)).reasons
