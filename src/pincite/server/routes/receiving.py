"""Forms with files, which go to the disk as they come; their token is looked at here."""

import errno
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from anyio.to_thread import run_sync
from fastapi import Request
from starlette.requests import ClientDisconnect

from pincite.server.library.multipart import BadForm, Form, received
from pincite.server.library.quotas import DiskFull
from pincite.server.people.identity import Identity
from pincite.server.people.login import CSRF_FIELD, CSRF_HEADER, check_token
from pincite.server.problems import Problem
from pincite.server.site import Site

FILE = {"type": "string", "format": "binary"}


def form_schema(
    fields: Mapping[str, object], required: Sequence[str], description: str = ""
) -> dict[str, Any]:
    """What OpenAPI says of a route that reads its form by itself, for its `openapi_extra`."""
    schema = {"type": "object", "required": [*required], "properties": {**fields}}
    if description:
        schema["description"] = description
    content = {"multipart/form-data": {"schema": schema}}
    return {"requestBody": {"required": True, "content": content}}


@asynccontextmanager
async def form_of(
    request: Request, who: Identity, site: Site, long: Mapping[str, int] | None = None
) -> AsyncIterator[tuple[str, Form]]:
    """The id of an upload, and the form whose files lie in it; removed if the block fails.

    Args:
        request: brings it.
        who: asks.
        site: has the room.
        long: fields that may be long, see `multipart.received`.

    Raises:
        Problem: another session's form, no form.
        DiskFull
    """
    token = request.headers.get(CSRF_HEADER)
    if token is not None and who.csrf:
        check_token(token, who.csrf)  # before anything is kept
    kind = request.headers.get("content-type", "")
    await run_sync(site.room.check_disk)
    try:
        with site.library.uploads.filling() as upload_id:
            folder = site.library.uploads.at(upload_id)
            form = await received(kind, _body(request), folder, long or {})
            if token is None and who.csrf:
                check_token(form.fields.get(CSRF_FIELD), who.csrf)
            yield upload_id, form
    except BadForm as error:
        raise Problem(422, "invalid_form", str(error)) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull("The server's disk is full; nothing was kept.") from error
        raise


async def _body(request: Request) -> AsyncIterator[bytes]:
    try:
        async for chunk in request.stream():
            yield chunk
    except ClientDisconnect as error:
        raise BadForm("The sender hung up.") from error
