"""The server's log: text or JSON lines, with the id of the request.

Lines contain the request id that is also in the response. They never contain a claim, and URLs
appear as route patterns.
"""

import json
import logging
import sys
from contextvars import ContextVar

from pincite_server.settings import LogForm
from pincite_server.tables import iso

REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
REQUESTS = logging.getLogger("pincite.requests")
AUDIT = logging.getLogger("pincite.audit")
# Extra fields of log lines about requests.
EXTRA = ("method", "route", "status", "code", "seconds", "account", "action", "target")
TEXT = "%(asctime)s %(levelname)s %(name)s %(message)s%(mark)s"


def configure_logs(form: LogForm, *, requests: bool = False) -> None:
    """Log warnings, errors and changes by accounts to stderr and, if `requests`, each request."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form == "json" else logging.Formatter(TEXT))
    handler.addFilter(_with_request)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    REQUESTS.setLevel(logging.INFO if requests else logging.WARNING)
    AUDIT.setLevel(logging.INFO)


def _with_request(record: logging.LogRecord) -> bool:
    record.request_id = request_id = REQUEST_ID.get()
    record.mark = f" [{request_id}]" if request_id else ""
    return True


class _Json(logging.Formatter):
    """A JSON object per line, for log collectors."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": iso(record.created),
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
