"""`/api/v1/session`: log in and out, with a name and a password."""

from typing import Annotated

from fastapi import Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from pincite.server.people.audited import noted
from pincite.server.people.identity import PUBLIC, Identity, InPerson
from pincite.server.people.login import clear_cookie, cookie_name, set_cookie
from pincite.server.problems import Problem, ProblemBody
from pincite.server.requests import Text
from pincite.server.routes.accounts.bodies import PersonBody, person_body, with_accounts
from pincite.server.routing import Router
from pincite.server.site import Site, Stores

router = Router(
    prefix="/api/v1/session",
    tags=["accounts"],
    responses={n: {"model": ProblemBody} for n in (400, 401, 403, 404, 413, 421, 422, 429)},
    dependencies=[Depends(with_accounts)],
)


class LoginRequest(BaseModel):
    """Who somebody says to be."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[Text, Field(min_length=1, max_length=200)]
    password: Annotated[Text, Field(min_length=1, max_length=1000)]


@router.post("", operation_id="log_in", dependencies=[PUBLIC])
def log_in(body: LoginRequest, request: Request, response: Response, site: Stores) -> PersonBody:
    """Log in: the answer sets the session's cookie."""
    who = logged_in(request, response, site, body.name, body.password)
    return person_body(site, who)


@router.delete("", operation_id="log_out", status_code=204)
def log_out(who: InPerson, response: Response, site: Stores) -> None:
    """Log out: the session's token opens nothing any more."""
    site.people.sessions.end(who.account_id, [who.session_id])
    clear_cookie(response, site.server)


def logged_in(
    request: Request, response: Response, site: Site, name: str, password: str
) -> Identity:
    """Who logged in with a name and a password; `response` gets the cookie.

    Raises:
        Problem: 401, the same whatever was wrong; 429, too many tries.
    """
    right = request.app.state.limits.try_login(request, name)
    account = site.people.accounts.proved(name, password)
    if account is None:
        named = site.people.accounts.named(name)
        target = named.account_id if named else ""
        request_id = request.state.request_id
        site.people.audit.record("", "log_in_failed", target, request_id=request_id)
        raise Problem(401, "wrong_password", "The name or the password is wrong.")
    right()
    return begun(request, response, site, account.account_id)


def begun(request: Request, response: Response, site: Site, account_id: str) -> Identity:
    """A new session for the browser that asks; the one that it had ends."""
    earlier = request.cookies.get(cookie_name(site.server))
    agent = request.headers.get("user-agent", "")
    token = site.people.sessions.begin(account_id, agent, earlier)
    set_cookie(response, site.server, token)
    identity = site.people.sessions.identity(token)
    if identity is None:  # disabled or deleted between two lines
        raise Problem(401, "wrong_password", "The name or the password is wrong.")
    request.state.identity = identity
    noted(request, account_id)
    return identity
