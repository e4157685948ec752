"""What the server writes to stderr: lines for people, or JSON for programs that collect them.

Each line that belongs to a request carries its id, which the reply carried too. No claim stands in
any line, and of addresses only their pattern.
"""

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Literal

LogForm = Literal["text", "json"]
REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
EXTRA = ("method", "route", "status", "seconds")  # of a line about a request


def configure(form: LogForm, *, requests: bool = False) -> None:
    """From now on: warnings and worse, and, if asked for, one line for each request."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form == "json" else _Text())
    handler.addFilter(_with_request)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("pincite.requests").setLevel(logging.INFO if requests else logging.WARNING)


def _with_request(record: logging.LogRecord) -> bool:
    record.request_id = REQUEST_ID.get()
    return True


class _Text(logging.Formatter):
    """One line, and a traceback under it where there is one."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """With the request's id at the end."""
        request_id = getattr(record, "request_id", "")
        return super().formatMessage(record) + (f" [{request_id}]" if request_id else "")


class _Json(logging.Formatter):
    """One JSON object in each line."""

    def format(self, record: logging.LogRecord) -> str:
        """Its time in UTC, its traceback as a text."""
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
        }
        if request_id := getattr(record, "request_id", ""):
            line["request_id"] = request_id
        line |= {name: getattr(record, name) for name in EXTRA if hasattr(record, name)}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)
