"""Reports for tests that care about a few of their values: the rest is as empty as it may be."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pincite.codec import Within
from pincite.types import Span
from pincite.verbs.verify.coverage import Stage

ABSENT = object()
EMPTY: dict[Any, Any] = {str: "", int: 0, float: 0.0, bool: False, Span: [0, 0]}


def filled(kind: Any, given: Any = ABSENT) -> Any:
    """What is given as JSON values of such a record, completed."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _limited(args, given)
    if origin in (Union, UnionType):
        return _optional(args, given)
    if isinstance(kind, type) and is_dataclass(kind) and (given is ABSENT or type(given) is dict):
        hints = get_type_hints(kind, include_extras=True)
        known: dict[str, Any] = given if isinstance(given, dict) else {}
        found: dict[str, Any] = {}
        for each in fields(kind):
            hint, key = hints[each.name], each.metadata.get("key", each.name)
            if each.metadata.get("inline"):
                found |= filled(hint, known)
            elif keys := each.metadata.get("split"):
                found |= {name: known.get(name) for name in keys}
            else:
                found[key] = filled(hint, known.get(key, ABSENT))
        return found
    if origin is tuple and isinstance(given, list):
        return [filled(args[0], each) for each in given]
    if given is not ABSENT:
        return given
    if origin is Mapping and args[0] is Stage:  # a funnel counts each
        return {str(stage): filled(args[1]) for stage in Stage}
    if origin in (tuple, Mapping):
        return [] if origin is tuple else {}
    if origin is Literal or (isinstance(kind, type) and issubclass(kind, Enum)):
        return args[0] if origin is Literal else next(iter(kind))
    return EMPTY[kind]


def _limited(args: tuple[Any, ...], given: Any) -> Any:
    for each in args[1:]:
        if given is ABSENT and isinstance(each, Within):
            return each.ge
    return filled(args[0], given)


def _optional(args: tuple[Any, ...], given: Any) -> Any:
    if given is None or (given is ABSENT and NoneType in args):
        return None
    return filled(next(each for each in args if each is not NoneType), given)
