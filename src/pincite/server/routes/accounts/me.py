"""`/api/v1/me`: what somebody may see, change, take with them and delete of their own account."""

import tempfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from fastapi.responses import FileResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.background import BackgroundTask

from pincite.errors import ConfigError
from pincite.server.people import personal
from pincite.server.people.accounts import LastAdmin
from pincite.server.people.audited import noted
from pincite.server.people.identity import ALLOWED, Anybody, Identity, InPerson, May
from pincite.server.people.login import clear_cookie
from pincite.server.people.sessions import ApiKey
from pincite.server.problems import Problem, ProblemBody, not_found
from pincite.server.requests import IdPath, Text
from pincite.server.routes.accounts.bodies import (
    FRESH_SECONDS,
    PersonBody,
    person_body,
    with_accounts,
)
from pincite.server.routes.accounts.session import begun
from pincite.server.routing import Router
from pincite.server.site import Site, Stores
from pincite.server.tables import now
from pincite.server.texts import iso

router = Router(
    prefix="/api/v1/me",
    tags=["accounts"],
    responses={n: {"model": ProblemBody} for n in (400, 401, 403, 404, 409, 413, 421, 422, 429)},
)
ACCOUNTS = [Depends(with_accounts)]
Password = Annotated[Text, Field(min_length=1, max_length=1000)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PasswordRequest(_Body):
    """A new password, and the one it replaces, if there is one."""

    old: Password | None = None
    new: Password


class KeyRequest(_Body):
    """An API key to be made."""

    name: Annotated[Text, Field(min_length=1, max_length=100)]
    scopes: Annotated[list[May], Field(min_length=1, max_length=len(May))]
    days: Annotated[int, Field(ge=1, le=366)] = 90


class DeleteRequest(_Body):
    """Proof that it is the account's owner who wants it gone."""

    password: Password | None = None


class KeyBody(BaseModel):
    """An API key; its text is shown once, when it is made."""

    key_id: str
    name: str
    prefix: str
    scopes: list[May]
    created: str
    expires: str
    used: str | None


class NewKeyBody(KeyBody):
    """An API key that was just made."""

    key: str


class KeyList(BaseModel):
    """All keys of an account, the newest first."""

    keys: list[KeyBody]


class SessionBody(BaseModel):
    """A browser that is logged in."""

    session_id: str
    created: str
    seen: str
    agent: str
    this: bool


class SessionList(BaseModel):
    """Where an account is logged in."""

    sessions: list[SessionBody]


@router.get("", operation_id="get_me")
def get_me(who: Anybody, site: Stores) -> PersonBody:
    """Who asks, and what they may do."""
    return person_body(site, who)


@router.post("/password", operation_id="set_password", status_code=204, dependencies=ACCOUNTS)
def set_password(
    body: PasswordRequest, who: InPerson, request: Request, response: Response, site: Stores
) -> None:
    """Set the password. Everywhere else one is logged out, and API keys are revoked."""
    proven(site, request, who, body.old)
    try:
        site.people.accounts.change(who.account_id, password=body.new)
    except ConfigError as error:
        raise Problem(422, "bad_password", str(error)) from error
    begun(request, response, site, who.account_id)


@router.get("/sessions", operation_id="list_sessions", dependencies=ACCOUNTS)
def list_sessions(who: InPerson, site: Stores) -> SessionList:
    """Where one is logged in."""
    found = site.people.sessions.of(who.account_id)
    return SessionList(
        sessions=[
            SessionBody(
                session_id=each.session_id,
                created=iso(each.created),
                seen=iso(each.seen),
                agent=each.agent,
                this=each.session_id == who.session_id,
            )
            for each in found
        ]
    )


@router.delete(
    "/sessions/{session_id}",
    operation_id="end_session",
    status_code=204,
    dependencies=ACCOUNTS,
)
def end_session(session_id: IdPath, who: InPerson, site: Stores) -> None:
    """Log out somewhere."""
    if not site.people.sessions.end(who.account_id, [session_id]):
        raise not_found()


@router.get("/keys", operation_id="list_keys", dependencies=ACCOUNTS)
def list_keys(who: InPerson, site: Stores) -> KeyList:
    """One's API keys."""
    return KeyList(keys=[KeyBody(**_shown(key)) for key in site.people.keys.of(who.account_id)])


@router.post("/keys", operation_id="create_key", status_code=201, dependencies=ACCOUNTS)
def create_key(body: KeyRequest, who: InPerson, request: Request, site: Stores) -> NewKeyBody:
    """A new API key. Its text is in this answer and nowhere else."""
    key, text = new_key(site, request, who, body)
    return NewKeyBody(**_shown(key), key=text)


@router.delete("/keys/{key_id}", operation_id="revoke_key", status_code=204, dependencies=ACCOUNTS)
def revoke_key(key_id: IdPath, who: InPerson, site: Stores) -> None:
    """Revoke a key: it opens nothing from now on."""
    if not site.people.keys.revoke(who.account_id, key_id):
        raise not_found()


@router.delete(
    "/logins/{provider}", operation_id="unlink_login", status_code=204, dependencies=ACCOUNTS
)
def unlink_login(provider: IdPath, who: InPerson, site: Stores) -> None:
    """Have a provider's account open this one no longer."""
    try:
        if not site.people.logins.unlink(who.account_id, provider):
            raise not_found()
    except ConfigError as error:
        raise Problem(409, "last_way_in", str(error)) from error


@router.get(
    "/export",
    operation_id="export_me",
    response_class=FileResponse,
    responses={200: {"content": {"application/zip": {}}, "description": "A ZIP file."}},
)
def export_me(who: InPerson, request: Request, site: Stores) -> FileResponse:
    """All that the server keeps of whoever asks, as a ZIP file of JSON lines."""
    noted(request)
    with tempfile.NamedTemporaryFile(suffix=".zip", delete=False) as file:
        path = Path(file.name)
        try:
            copies = site.own.of(who.account_id)
            personal.export(site.database, who.account_id, copies, file)
        except BaseException:
            path.unlink()
            raise
    return FileResponse(
        path,
        media_type="application/zip",
        filename="pincite-export.zip",
        background=BackgroundTask(path.unlink, missing_ok=True),
    )


@router.delete("", operation_id="delete_me", status_code=204, dependencies=ACCOUNTS)
def delete_me(
    body: DeleteRequest, who: InPerson, request: Request, response: Response, site: Stores
) -> None:
    """Delete the account and what is its own, for good: with the password, or soon after login."""
    forgotten(site, request, who, body.password)
    clear_cookie(response, site.server)


def proven(site: Site, request: Request, who: Identity, password: str | None) -> None:
    """Refuse unless the password is right, or, for accounts without one, the login was just now.

    Raises:
        Problem: 403; 429, too many tries.
    """
    account = site.people.accounts.get(who.account_id)
    if account and not account.has_password:
        if now() - who.proved < FRESH_SECONDS:
            return
        raise Problem(403, "login_too_old", "Log out and in again first: this cannot be undone.")
    right = request.app.state.limits.try_login(request, who.name)
    if password is None or site.people.accounts.proved(who.name, password) is None:
        raise Problem(403, "wrong_password", "The password is wrong.")
    right()


def forgotten(site: Site, request: Request, who: Identity, password: str | None) -> None:
    """Delete the account of whoever asks.

    Raises:
        Problem: 403 as `proven`; 409, it is the only admin's.
    """
    proven(site, request, who, password)
    try:
        personal.forget(site.database, who.account_id, site.own)
    except LastAdmin as error:
        raise Problem(409, "last_admin", str(error)) from error
    site.tidy()
    request.state.identity = None  # nobody's deed: the log says that an account was deleted
    site.people.audit.record("", "delete_me", request_id=request.state.request_id)


def new_key(site: Site, request: Request, who: Identity, body: KeyRequest) -> tuple[ApiKey, str]:
    """A new key of whoever asks, and its text.

    Raises:
        Problem: 422, it would allow what its owner may not.
    """
    beyond = sorted(set(body.scopes) - ALLOWED[who.role])
    if beyond:
        raise Problem(422, "beyond_role", f"Your role does not allow {beyond[0].value!r}.")
    key, text = site.people.keys.add(who.account_id, body.name, sorted(set(body.scopes)), body.days)
    noted(request, key.key_id, {"scopes": [scope.value for scope in key.scopes]})
    return key, text


def _shown(key: ApiKey) -> dict[str, Any]:
    return {
        "key_id": key.key_id,
        "name": key.name,
        "prefix": key.prefix,
        "scopes": list(key.scopes),
        "created": iso(key.created),
        "expires": iso(key.expires),
        "used": iso(key.used) if key.used else None,
    }
