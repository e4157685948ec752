"""Writes into the audit log what was changed over HTTP, whichever route did it."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pincite.server.guard import SAFE
from pincite.server.people.audit import AuditLog


class Audited:
    """An ASGI middleware: an entry for each request that changed something, after it did.

    A route adds with `noted` what its address does not tell.
    """

    def __init__(self, app: ASGIApp, *, log: AuditLog) -> None:
        self._app, self._log = app, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        status = 500

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        await self._app(scope, receive, sent)
        state = scope.get("state", {})
        changed = scope["type"] == "http" and (scope["method"] not in SAFE or "noted" in state)
        who = state.get("identity")
        if changed and status < 400 and who is not None:
            route = scope["route"]
            note = state.get("noted", {})
            detail = {**note.get("detail", {}), **({"key": who.key_id} if who.key_id else {})}
            target = note.get("target") or ",".join(map(str, scope["path_params"].values()))
            name = getattr(route, "operation_id", None) or route.name
            request_id = state.get("request_id", "")
            write = partial(self._log.record, who.account_id, name, target, detail, request_id)
            await run_sync(write)


def noted(request: Request, target: str = "", detail: Mapping[str, Any] | None = None) -> None:
    """Have this request audited, with what it was done to (an id) and how; no text of anybody."""
    request.state.noted = {"target": target, "detail": dict(detail or {})}
