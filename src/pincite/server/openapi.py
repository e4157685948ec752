"""The OpenAPI document of the API: what the framework knows of it, and what it cannot know.

Errors are `application/problem+json` everywhere, whichever part of the server answers.
"""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI

from pincite.contract import codec
from pincite.contract.ask import AnswerReportRecord
from pincite.contract.check import CheckReportRecord
from pincite.contract.verify import ReportRecord
from pincite.server.jobs.ingesting import Ingested
from pincite.server.problems import MEDIA_TYPE
from pincite.verbs.check.records import Interpretation

SCHEMAS = "#/components/schemas/"
PROBLEM = {"$ref": f"{SCHEMAS}ProblemBody"}
RESULT = "/api/v1/jobs/{job_id}/result"
# A check that is to find readings only ends with these; files that were sent, with `Ingested`.
RESULTS = (ReportRecord, CheckReportRecord, Interpretation, AnswerReportRecord, Ingested)
EVERYWHERE = {
    "421": "This server does not answer to the name in `Host`.",
    "503": "The database does not answer; `Retry-After` says when to try again.",
    "default": "Any other error.",
}
OF_BODIES = {"413": "More bytes than the server's limit.", "422": "Not understood, or not allowed."}
METHODS = ("get", "put", "post", "delete", "patch", "head", "options")


def describe(app: FastAPI) -> None:
    """Let the application describe itself so, the first time somebody asks."""
    plain: Callable[[], dict[str, Any]] = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            _complete(plain())
        assert app.openapi_schema is not None
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # as the framework's manual has it


def _complete(document: dict[str, Any]) -> None:
    for path in document["paths"].values():
        for method in METHODS:
            if operation := path.get(method):
                _of_operation(operation, changes=method not in ("get", "head", "options"))
    schemas = document.get("components", {}).get("schemas", {})
    document["paths"][RESULT]["get"]["responses"]["200"]["content"]["application/json"] = {
        "schema": {"oneOf": [_added(kind, schemas) for kind in RESULTS]}
    }
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)


def _added(kind: type[Any], schemas: dict[str, Any]) -> dict[str, str]:
    """A reference to the schema of a result, which is added with all that it refers to."""
    found = codec.described(kind, SCHEMAS)
    for name, schema in [*found.pop("$defs", {}).items(), (kind.__name__, found)]:
        if schemas.setdefault(name, schema) != schema:
            raise ValueError(f"two schemas have the name {name}")
    return {"$ref": SCHEMAS + kind.__name__}


def _of_operation(operation: dict[str, Any], *, changes: bool) -> None:
    answers: dict[str, Any] = operation["responses"]
    added = dict(EVERYWHERE)
    if changes:
        added |= {"403": "Not allowed, or it comes from a page of another site."}
    if "requestBody" in operation:
        added |= OF_BODIES
    for status, description in added.items():
        answers.setdefault(status, {"description": description})
    for status, answer in answers.items():
        if status == "default" or status >= "400":
            answer["content"] = {MEDIA_TYPE: {"schema": PROBLEM}}
            if answer.get("description") == "Validation Error":
                answer["description"] = OF_BODIES["422"]
            if status in ("429", "503"):
                answer["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}
