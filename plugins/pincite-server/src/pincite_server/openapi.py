"""The OpenAPI document: what FastAPI makes, with the schemas of results and the errors."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI

from pincite import codec
from pincite.verbs.ask.report import AnswerReport
from pincite.verbs.check.report import CheckReport, Interpretation
from pincite.verbs.verify.report import Report
from pincite_server.ingesting import Ingested
from pincite_server.problems import MEDIA_TYPE, ProblemBody

SCHEMAS = "#/components/schemas/"
RESULT = "/api/v1/jobs/{job_id}/result"
# `Interpretation` is the result of a check for readings only, `Ingested` that of a file upload.
RESULTS = (Report, CheckReport, Interpretation, AnswerReport, Ingested)
ERRORS = {
    "403": "Not allowed, or the request comes from a page on another site.",
    "413": "The body exceeds the server's limit.",
    "421": "This server does not answer to the name in `Host`.",
    "422": "The request is not valid.",
    "503": "The database does not answer; `Retry-After` says when to try again.",
    "default": "Any other error.",
}


def describe(app: FastAPI) -> None:
    """Add result schemas and error responses to the OpenAPI document."""
    plain: Callable[[], dict[str, Any]] = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = plain()
            for path in document["paths"].values():
                for operation in path.values():
                    _add_errors(operation["responses"])
            schemas = document["components"]["schemas"]
            document["paths"][RESULT]["get"]["responses"]["200"]["content"]["application/json"] = {
                "schema": {"oneOf": [_add_schema(kind, schemas) for kind in RESULTS]}
            }
            schemas["ProblemBody"] = ProblemBody.model_json_schema(ref_template=SCHEMAS + "{model}")
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
        assert app.openapi_schema is not None
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # as FastAPI's documentation has it


def _add_errors(answers: dict[str, Any]) -> None:
    answers.pop("422", None)  # FastAPI's own description
    for status, description in ERRORS.items():
        answers.setdefault(status, {"description": description})
    for status, answer in answers.items():
        if status == "default" or status >= "400":
            answer["content"] = {MEDIA_TYPE: {"schema": {"$ref": f"{SCHEMAS}ProblemBody"}}}
            if status in ("429", "503"):
                answer["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}


def _add_schema(kind: type[Any], schemas: dict[str, Any]) -> dict[str, str]:
    """Add the schema of a result with its definitions; return a reference to it."""
    found = codec.schema_within(kind, SCHEMAS)
    for name, schema in [*found.pop("$defs", {}).items(), (kind.__name__, found)]:
        if schemas.setdefault(name, schema) != schema:
            raise ValueError(f"two schemas have the name {name}")
    return {"$ref": SCHEMAS + kind.__name__}
