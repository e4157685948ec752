"""Rows of tests as data: `tests/cases/<package>/<module>/<name>.tsv`, one row a line.

The header names the columns. A cell is text; JSON's escapes stand for invisible characters. A cell
may be empty where the column's name ends in `?` (None) or `=` (an empty text), and may then be left
out at the end of a row. `:json`, `:tuple` or `:bytes` after the name convert the cells (a tuple is
a JSON array, at any depth). A column `id` names the row. A line that starts with `#` is a comment.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

CASES = Path(__file__).parents[1] / "cases"
_COLUMN = re.compile(r"(\w+)([?=]|:\w+)?(?:\t|$)")
_ESCAPE = re.compile(r"\\(?:u[0-9a-f]{4}|[bfnrt\\])")


class _Table(NamedTuple):
    columns: list[str]
    rows: list[tuple[Any, ...]]


def _text(cell: str) -> str:
    assert cell, "an empty cell: is a tab missing?"
    return _ESCAPE.sub(lambda escape: str(json.loads(f'"{escape[0]}"')), cell)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


_CONVERTERS: dict[str, Callable[[str], Any]] = {
    "": _text,
    "?": lambda cell: _text(cell) if cell else None,
    "=": lambda cell: _text(cell) if cell else "",
    ":json": json.loads,
    ":tuple": lambda cell: _tuples(json.loads(cell)),
    ":bytes": lambda cell: _text(cell).encode("latin-1"),
}


def _read(name: str) -> _Table:
    text = (CASES / f"{name}.tsv").read_text(encoding="utf-8")
    header, *lines = text.removesuffix("\n").split("\n")
    columns = [(name, _CONVERTERS[kind]) for name, kind in _COLUMN.findall(header)]
    rows = []
    for line in lines:
        if not line.startswith("#"):
            cells = line.split("\t")
            cells += [""] * (len(columns) - len(cells))
            rows.append(tuple(f(cell) for (_, f), cell in zip(columns, cells, strict=True)))
    return _Table([name for name, _ in columns], rows)


def rows(name: str) -> list[tuple[Any, ...]]:
    """The rows of a file, for tests that use them in their own way."""
    return _read(name).rows


def each_row(name: str) -> pytest.MarkDecorator:
    """Run a test once for each row of a file, whose columns are its arguments."""
    columns, found = _read(name)
    if columns[0] != "id":
        return pytest.mark.parametrize(columns, found)
    named = [pytest.param(*row, id=label) for label, *row in found]
    return pytest.mark.parametrize(columns[1:], named)


def text_of(name: str) -> str:
    """A document of the tests, as it is stored."""
    return (CASES / name).read_bytes().decode()
