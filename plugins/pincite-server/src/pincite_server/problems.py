"""HTTP errors: `application/problem+json` (RFC 9457) for programs, a page for browsers.

`code` is stable for use by programs, `retryable` says whether the same request may succeed later,
and `request_id` also appears in the log.
"""

import difflib
import logging
from collections.abc import Collection, Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from pincite.errors import ConfigError, PinciteError
from pincite_server.database import DatabaseError

MEDIA_TYPE = "application/problem+json"
LOG = logging.getLogger("pincite.server")
_CODES = {413: "too_large"}  # Python's name differs between versions
FIRST = {"not_logged_in": "/login", "consent_required": "/consent"}  # pages, by code
_RETRYABLE = (408, 425, 429, 500, 502, 503, 504, 507)


Headers = Mapping[str, str] | None
Errors = list[dict[str, Any]] | None


class ProblemBody(BaseModel):
    """An error (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    instance: str
    code: str
    retryable: bool
    request_id: str
    errors: Errors = None


class Problem(PinciteError):
    """An error that becomes the response to a request; the stores raise it, too."""

    exit_code = 2

    def __init__(
        self, status: int, code: str, detail: str, *, headers: Headers = None, errors: Errors = None
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail
        self.headers, self.errors = dict(headers or {}), errors

    @property
    def of_values(self) -> bool:
        """Whether values of a form caused it, so that the form is shown again."""
        return self.status == 422 and self.code != "account_full"


def not_found(detail: str = "") -> Problem:
    """404, for missing objects and for objects of other users."""
    default = "There is nothing at this address, or nothing that you may see."
    return Problem(404, "not_found", detail or default)


_OBJECT = "expected an object"
# For a client, where pydantic's words are for the programmer of a model.
_WORDS = {
    "unknown_field": "{what}",
    "value_error": "{error}",
    "too_long": "has {actual_length} items; at most {max_length} are allowed",
    "too_short": "has {actual_length} items; expected at least {min_length}",
    **dict.fromkeys(("model_attributes_type", "model_type", "dict_type"), _OBJECT),
}


def unknown_field(name: str, known: Collection[str]) -> str:
    """The reason for refusing a field, with the nearest known one."""
    if close := difflib.get_close_matches(name, known, n=1):
        return f"unknown field (did you mean {close[0]!r}?)"
    return f"unknown field; expected {', '.join(known)}"


def invalid_request(details: Sequence[Mapping[str, Any]]) -> Problem:
    """422, with the errors that pydantic found in a request."""
    errors = []
    for error in details:
        values = error.get("ctx", {})
        where = [*error["loc"], *filter(None, [values.get("field")])]
        words = _WORDS.get(error["type"])
        what = words.format(**values) if words else str(error["msg"])
        path = ".".join(map(str, where)) or "form"
        errors.append({"where": path, "what": what, "kind": error["type"]})
    first = errors[0]
    return Problem(422, "invalid_request", f"{first['where']}: {first['what']}.", errors=errors)


def install(app: FastAPI) -> None:
    """Register handlers that turn every error into a problem."""

    async def answer(request: Request, error: Exception) -> Response:
        return response(request, _problem(error))

    for kind in (RequestValidationError, HTTPException, PinciteError):
        app.add_exception_handler(kind, answer)


def _problem(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, RequestValidationError):
        return invalid_request(error.errors())
    if isinstance(error, HTTPException):
        code = _CODES.get(error.status_code) or HTTPStatus(error.status_code).name.lower()
        return Problem(error.status_code, code, str(error.detail), headers=error.headers)
    if isinstance(error, DatabaseError):
        # Its message includes the database URL; `Database` has logged it.
        detail = "The database does not answer. Try again later."
        return Problem(503, "database_unavailable", detail, headers={"Retry-After": "10"})
    if isinstance(error, ConfigError):
        return Problem(422, "invalid_setting", str(error))
    return Problem(500, "internal", str(error))


def path_of(request: Request) -> str:
    """The path of a request, with its query."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def response(request: Request, problem: Problem) -> Response:
    """Return a problem as JSON, or as a page if a browser asks for one; log those of the server."""
    if problem.status >= 500:
        extra = {"status": problem.status, "code": problem.code}
        LOG.error("%d %s: %s", *extra.values(), problem.detail, extra=extra)
    body = ProblemBody(
        title=HTTPStatus(problem.status).phrase,
        status=problem.status,
        detail=problem.detail,
        instance=request.url.path,
        code=problem.code,
        retryable=problem.status in _RETRYABLE or "Retry-After" in problem.headers,
        request_id=getattr(request.state, "request_id", ""),
        errors=problem.errors,
    )
    is_api = request.url.path.startswith("/api/")
    wants_page = not is_api and "text/html" in request.headers.get("accept", "")
    if wants_page and problem.code in FIRST and request.method == "GET":
        next_page = urlencode({"next": path_of(request)})
        return RedirectResponse(f"{FIRST[problem.code]}?{next_page}", 303)
    page = getattr(request.app.state, "problem_page", None)
    if wants_page and page:
        shown: Response = page(request, body)
        shown.headers.update(problem.headers)
        return shown
    content = body.model_dump(exclude_none=True)
    return JSONResponse(content, problem.status, problem.headers, MEDIA_TYPE)
