"""Pages of long lists: a cursor names the last row that was seen; the server remembers nothing."""

import base64
import binascii
import json
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import Query

from pincite.server.problems import Problem

Row = TypeVar("Row")
Limit = Annotated[int, Query(ge=1, le=200, description="Rows of a page.")]
Cursor = Annotated[
    str | None, Query(max_length=500, description="`next` of the page before; none: the first.")
]


def cursor_of(*values: Any) -> str:
    """An opaque text for the values by which a list is ordered.

    >>> read_cursor(cursor_of(1.5, "a"), (float, str))
    (1.5, 'a')
    """
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


def _no_number(text: str) -> float:
    raise ValueError(f"{text} orders nothing")


def read_cursor(cursor: str | None, kinds: tuple[type, ...]) -> tuple[Any, ...] | None:
    """The values of a cursor; None without one.

    Raises:
        Problem: 422, it is none of ours.
    """
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        text = base64.b64decode(padded, altchars=b"-_", validate=True)
        values = json.loads(text, parse_constant=_no_number)
    except (ValueError, binascii.Error, RecursionError):
        values = None
    if (
        not isinstance(values, list)
        or len(values) != len(kinds)
        or any(type(value) is not kind for value, kind in zip(values, kinds, strict=True))
        or any(isinstance(value, str) and "\0" in value for value in values)
        or any(isinstance(value, int) and abs(value) >= 2**63 for value in values)
    ):
        raise Problem(422, "invalid_cursor", "The cursor is none that this server gave.")
    return tuple(values)


def page_of(
    rows: list[Row], limit: int, key: Callable[[Row], tuple[Any, ...]]
) -> tuple[list[Row], str | None]:
    """The first `limit` rows, and the cursor of the next page; None if these are all.

    `key`: the values by which the list is ordered.

    >>> page_of(["a", "b"], 2, lambda row: (row,)), page_of(["a", "b"], 1, lambda row: (row,))[0]
    ((['a', 'b'], None), ['a'])
    """
    page = rows[:limit]
    return page, cursor_of(*key(page[-1])) if len(rows) > limit else None
