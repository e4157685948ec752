"""Who asks, and what they may do.

In local mode there is one person, who may do everything: the server answers this machine only. In
server mode somebody is an account, by a session cookie or an API key; see `routing.identifier`.
What is somebody else's is answered like what is not there.

Every route declares who may use it, by one of the dependencies made here (`needs`, `public`, …): a
test walks over all routes and fails for one that declares nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Protocol, TypeVar

from fastapi import Depends, Request

from pincite.server import plugins
from pincite.server.corpora import CorpusEntry, Shared
from pincite.server.problems import Problem, not_found

LOCAL = "local"


class May(StrEnum):
    """Things that one may be allowed; also the scopes of API keys."""

    READ = "read"  # results, corpora that one may see, searching them
    RUN = "run"  # start and cancel jobs, give feedback
    CORPORA = "corpora"  # make, fill and delete corpora
    ADMIN = "admin"  # accounts, everybody's jobs, the audit log


class Role(StrEnum):
    """What an account is; each may do what those before it may."""

    RATER = "rater"
    READER = "reader"
    EDITOR = "editor"
    ADMIN = "admin"


ALLOWED: dict[Role, frozenset[May]] = {
    Role.RATER: frozenset(),  # what plugins add
    Role.READER: frozenset({May.READ}),
    Role.EDITOR: frozenset({May.READ, May.RUN, May.CORPORA}),
    Role.ADMIN: frozenset(May),
}


def allowed(role: Role) -> frozenset[str]:
    """What a role may do, with what plugins add; an administrator may everything."""
    added = {
        permission
        for plugin in plugins.loaded()
        for permission, roles in plugin.permissions.items()
        if role is Role.ADMIN or role in roles
    }
    return ALLOWED[role] | added


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody who asks. `account_id` owns what they make."""

    account_id: str
    name: str
    role: Role
    may: frozenset[str]  # of the role, and of the key if there is one
    csrf: str = ""  # of the session, for forms; empty without one
    session_id: str = ""  # of a browser that is logged in
    key_id: str = ""  # of the API key that was sent
    proved: float = 0.0  # when the password or the provider was last asked in this session

    @property
    def is_admin(self) -> bool:
        """Whether everything may be seen."""
        return May.ADMIN in self.may

    def owns(self, owner: str) -> bool:
        """Whether something of this owner may be seen and changed."""
        return self.is_admin or owner == self.account_id

    def may_read(self, corpus: CorpusEntry) -> bool:
        """Whether a corpus may be searched and its documents read."""
        return self.owns(corpus.owner) or corpus.shared is Shared.EVERYBODY


THE_LOCAL_ONE = Identity(LOCAL, "you", Role.ADMIN, frozenset(May))
Identify = Callable[[Request], Identity | None]


def identify_local(_request: Request) -> Identity | None:
    """In local mode everybody who gets through is the one person."""
    return replace(THE_LOCAL_ONE, may=allowed(Role.ADMIN))


async def public() -> None:
    """A dependency: anybody may, also who is not logged in. Needs no thread, for `/healthz`."""


def identity_of(request: Request) -> Identity | None:
    """Who asks; None: nobody is logged in. Counts towards what an account may ask in a minute.

    Raises:
        Problem: 429, too many requests.
    """
    if hasattr(request.state, "identity"):  # found before the body was read
        known: Identity | None = request.state.identity
        return known
    identify: Identify = request.app.state.identify
    identity = identify(request)
    request.state.identity = identity
    if identity is not None:
        request.app.state.spend(request, identity)
    return identity


def guest(request: Request) -> Identity | None:
    """A dependency: anybody may; says who asks if they are logged in."""
    return identity_of(request)


def anybody(request: Request) -> Identity:
    """A dependency: whoever is logged in or sends a key, whatever they may.

    Raises:
        Problem: 401
    """
    identity = identity_of(request)
    if identity is None:
        raise Problem(
            401,
            "not_logged_in",
            "Log in, or send an API key as `Authorization: Bearer …`.",
            headers={"WWW-Authenticate": "Bearer"},
        )
    return identity


def in_person(request: Request) -> Identity:
    """A dependency: whoever is logged in. A key that got lost must not open more than it is for.

    Raises:
        Problem: 401 nobody is logged in; 403 it is a program, with a key.
    """
    identity = anybody(request)
    if identity.key_id:
        raise Problem(403, "not_by_key", "This needs a person who is logged in, not an API key.")
    return identity


def needs(may: str) -> Callable[[Request], Identity]:
    """A dependency: the one who asks, if they may do this.

    Raises:
        Problem: 401 nobody is logged in; 403 they may not.
    """

    def asked_by(request: Request) -> Identity:
        identity = anybody(request)
        if may not in identity.may:
            raise Problem(403, "not_allowed", f"This needs the permission {str(may)!r}.")
        return identity

    asked_by.declares = str(may)  # type: ignore[attr-defined]
    return asked_by


def declares(dependency: object) -> str | None:
    """What a dependency of a route says about who may use it; None: nothing."""
    said: str | None = getattr(dependency, "declares", None)
    for named in (anybody, in_person):
        if dependency is named:
            return named.__name__
    return "public" if is_public(dependency) else said


def is_public(dependency: object) -> bool:
    """Whether a dependency lets everybody in."""
    return dependency in (public, guest)


class Owned(Protocol):
    """What belongs to an account."""

    @property
    def owner(self) -> str:
        """The account's id."""


Thing = TypeVar("Thing", bound=Owned)


def owned(thing: Thing | None, identity: Identity) -> Thing:
    """The thing; 404 unless it is there and the one who asks may see it."""
    if thing is None or not identity.owns(thing.owner):
        raise not_found()
    return thing


Reader = Annotated[Identity, Depends(needs(May.READ))]
Runner = Annotated[Identity, Depends(needs(May.RUN))]
Librarian = Annotated[Identity, Depends(needs(May.CORPORA))]
Admin = Annotated[Identity, Depends(needs(May.ADMIN))]
Anybody = Annotated[Identity, Depends(anybody)]
InPerson = Annotated[Identity, Depends(in_person)]
Guest = Annotated[Identity | None, Depends(guest)]
PUBLIC = Depends(public)
