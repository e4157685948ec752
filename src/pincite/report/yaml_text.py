"""JSON values as YAML that people like to read, without a library.

Every text is a JSON string, which YAML reads as a double-quoted one: nothing in it can become a
date, a boolean, a tag or another document.
"""

import json
import re
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_NOT_KEYS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}  # YAML 1.1's booleans


def to_yaml(value: Any) -> str:
    """The values as a YAML document.

    >>> print(to_yaml({"a": [1, {"b": "no"}], "c": {}}), end="")
    a:
    - 1
    - b: "no"
    c: {}
    """
    return "\n".join(_lines(value, "")) + "\n"


def _lines(value: Any, indent: str) -> list[str]:
    if isinstance(value, dict) and value:
        return [line for key, each in value.items() for line in _entry(key, each, indent)]
    if isinstance(value, list) and value:
        return [line for each in value for line in _item(each, indent)]
    return [indent + _scalar(value)]


def _entry(key: str, value: Any, indent: str) -> list[str]:
    bare = _BARE_KEY.fullmatch(key) and key.lower() not in _NOT_KEYS
    name = key if bare else _scalar(key)
    if isinstance(value, dict | list) and value:
        return [
            f"{indent}{name}:",
            *_lines(value, indent + ("  " if isinstance(value, dict) else "")),
        ]
    return [f"{indent}{name}: {_scalar(value)}"]


def _item(value: Any, indent: str) -> list[str]:
    if isinstance(value, list) and value:
        return [f"{indent}-", *_lines(value, indent + "  ")]
    first, *rest = _lines(value, indent + "  ")
    return [f"{indent}- {first.removeprefix(indent + '  ')}", *rest]


def _scalar(value: Any) -> str:
    # ASCII: YAML allows fewer characters in a text than JSON, and breaks lines at more.
    text = json.dumps(value, ensure_ascii=True)
    if isinstance(value, float) and "e" in text and "." not in text:
        return text.replace("e", ".0e")  # YAML 1.1 reads "1e-05" as a text
    return text
