"""Errors over HTTP: `application/problem+json` (RFC 9457) for programs, a page for people.

`code` is stable, for programs; `retryable` says whether the same request may succeed later;
`request_id` is in the log too.
"""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from pincite.errors import ConfigError, PinciteError
from pincite.server.database import DatabaseError

MEDIA_TYPE = "application/problem+json"
LOG = logging.getLogger("pincite.server")
_CODES = {413: "too_large"}  # where Python's names differ from version to version
_RETRYABLE = (408, 425, 429, 500, 502, 503, 504, 507)
# Errors of the stores that are the answer to a request: status, code and headers of each.
Refusals = Mapping[type[PinciteError], tuple[int, str, Mapping[str, str]]]


class ProblemBody(BaseModel):
    """What went wrong (RFC 9457), with what programs ask for."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    instance: str
    code: str
    retryable: bool
    request_id: str
    errors: list[dict[str, Any]] | None = None


class Problem(Exception):
    """A request that cannot be answered as it was meant."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        errors: list[dict[str, Any]] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail
        self.headers, self.errors = dict(headers or {}), errors


def not_found(
    what: str = "There is nothing at this address, or nothing that you may see.",
) -> Problem:
    """404: for what is not there, and for what is somebody else's, alike."""
    return Problem(404, "not_found", what)


def install(app: FastAPI, refusals: Refusals) -> None:
    """Answer every error of the application as a problem."""
    app.state.refusals = refusals
    app.add_exception_handler(Problem, _of_problem)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(PinciteError, _of_pincite)


def response(request: Request, problem: Problem) -> Response:
    """As JSON, or as a page for a browser that asked for one."""
    body = ProblemBody(
        title=HTTPStatus(problem.status).phrase,
        status=problem.status,
        detail=problem.detail,
        instance=request.url.path,
        code=problem.code,
        retryable=problem.status in _RETRYABLE,
        request_id=getattr(request.state, "request_id", ""),
        errors=problem.errors,
    )
    if problem.code == "not_logged_in" and request.method == "GET" and _wants_a_page(request):
        there = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"/login?{urlencode({'next': there})}", 303)
    page = getattr(request.app.state, "problem_page", None)
    if page and _wants_a_page(request):
        shown: Response = page(request, body)
        shown.headers.update(problem.headers)
        return shown
    content = body.model_dump(exclude_none=True)
    return JSONResponse(content, problem.status, problem.headers, MEDIA_TYPE)


def _wants_a_page(request: Request) -> bool:
    if request.url.path.startswith("/api/"):
        return False
    return "text/html" in request.headers.get("accept", "")


async def _of_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return response(request, error)


async def _of_validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = [
        {"where": ".".join(map(str, each["loc"])), "what": str(each["msg"])}
        for each in error.errors()
    ]
    first = errors[0] if errors else {"where": "body", "what": "not understood"}
    detail = f"{first['where']}: {first['what']}."
    return response(request, Problem(422, "invalid_request", detail, errors=errors))


async def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _CODES.get(error.status_code) or HTTPStatus(error.status_code).name.lower()
    problem = Problem(error.status_code, code, str(error.detail), headers=error.headers)
    return response(request, problem)


async def _of_pincite(request: Request, error: Exception) -> Response:
    if isinstance(error, DatabaseError):
        LOG.error("%s", error)
        away = "The database does not answer. Try again later."  # its address is nobody's business
        again = {"Retry-After": "10"}
        return response(request, Problem(503, "database_unavailable", away, headers=again))
    refusals: Refusals = request.app.state.refusals
    for kind, (status, code, headers) in refusals.items():
        if isinstance(error, kind):
            return response(request, Problem(status, code, str(error), headers=headers))
    status = 422 if isinstance(error, ConfigError) else 500
    code = "invalid_setting" if status == 422 else "internal"
    return response(request, Problem(status, code, str(error)))
