"""The user script is ECMAScript 2016: all that some releases of MediaWiki accept in common.js.

esprima reads ECMAScript 2017 and properties from spreads; what is newer than 2016 is refused here.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

esprima = pytest.importorskip("esprima", reason="tests of the user script need esprima")

SCRIPTS = sorted((Path(__file__).parents[2] / "gadget").glob("*.js"))
_IN_OBJECTS = {"ObjectExpression": "SpreadElement", "ObjectPattern": "RestElement"}
_NEWER_REGEX = re.compile(r"\(\?<|\\p\{")  # lookbehind, named groups, properties: ES2018


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for each in value:
            yield from nodes(each)
    elif isinstance(value, dict):
        yield value
        yield from nodes(list(value.values()))


def newer_than_2016(script: str) -> list[str]:
    """The constructs of a script that came after ECMAScript 2016, or that esprima cannot read."""
    try:
        parsed = esprima.parseScript(script, tokens=True)
    except esprima.Error as error:
        return [str(error)]
    found = [
        f"{a.value}{b.value}"  # an empty last element, as in [a,], is old
        for a, b in zip(parsed.tokens, parsed.tokens[1:], strict=False)
        if (a.value, b.value) == (",", ")")
    ]
    for node in nodes(parsed.toDict()):
        kind, regex = node.get("type"), node.get("regex") or {}
        if node.get("async") or node.get("isAsync") or kind in ("AwaitExpression", "Import"):
            found.append("async")
        inside = [each["type"] for each in node.get("properties") or ()]
        if _IN_OBJECTS.get(str(kind)) in inside:
            found.append("...")
        if not set(regex.get("flags", "")) <= set("gimuy") or _NEWER_REGEX.search(
            regex.get("pattern", "")
        ):
            found.append(f"/{regex['pattern']}/{regex['flags']}")
    return found


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_user_script_is_accepted_in_common_js(path: Path) -> None:
    assert newer_than_2016(path.read_text(encoding="utf-8")) == []
