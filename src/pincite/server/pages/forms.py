"""What browsers send with a form: read, checked, and answered by going to another page."""

from typing import Annotated, TypeVar

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData, UploadFile

from pincite.server.problems import Problem

MAX_FIELDS = 200
Model = TypeVar("Model", bound=BaseModel)


async def _read(request: Request) -> FormData:
    """The fields of a form; a file is one of them.

    Raises:
        Problem: 422, it is no form.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("application/x-www-form-urlencoded", "multipart/form-data"):
        raise Problem(422, "invalid_request", "Expected a form.")
    return await request.form(
        max_files=10, max_fields=MAX_FIELDS, max_part_size=_part_bytes(request)
    )


def _part_bytes(request: Request) -> int:
    return int(request.app.state.site.server.body_megabytes * 1e6)


Form = Annotated[FormData, Depends(_read)]


def text(form: FormData, name: str) -> str:
    """A field without space around it; empty if it is not there."""
    value = form.get(name)
    return value.strip() if isinstance(value, str) else ""


def texts(form: FormData, name: str) -> list[str]:
    """All that was chosen under a name, without what is empty."""
    return [each for each in form.getlist(name) if isinstance(each, str) and each]


def file(form: FormData, name: str) -> tuple[str, bytes] | None:
    """Name and content of a file that was chosen; None if there is none."""
    value = form.get(name)
    if not isinstance(value, UploadFile) or not value.filename:
        return None
    return value.filename, value.file.read()


def checked(model: type[Model], values: dict[str, object]) -> Model:
    """The values as a body of the API wants them.

    Raises:
        Problem: 422, and which of them is wrong.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        errors = [
            {
                "where": ".".join(map(str, each["loc"])) or "form",
                "what": str(each["msg"]),
                "kind": each["type"],
            }
            for each in error.errors()
        ]
        first = errors[0]
        detail = f"{first['where']}: {first['what']}."
        raise Problem(422, "invalid_request", detail, errors=errors) from error


def to(path: str) -> RedirectResponse:
    """The answer to a form: look there."""
    return RedirectResponse(path, 303)


def local(path: str) -> str:
    r"""The path if it leads to a page of this site, else the start.

    >>> local("/jobs/x?k=1"), local("//evil.example"), local("/\\evil.example"), local("https:x")
    ('/jobs/x?k=1', '/', '/', '/')
    """
    inside = path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if inside and path.isprintable() and path.isascii() else "/"
