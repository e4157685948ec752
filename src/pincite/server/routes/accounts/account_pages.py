"""One's own account: password, keys, where one is logged in, taking everything along, leaving."""

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from pincite.server.pages import forms
from pincite.server.pages.forms import Form
from pincite.server.pages.rendering import page
from pincite.server.people.identity import ALLOWED, Identity, InPerson
from pincite.server.people.login import clear_cookie
from pincite.server.requests import IdPath
from pincite.server.routes.accounts import me as api_me
from pincite.server.routes.accounts.bodies import person_body, with_accounts
from pincite.server.routes.accounts.me import KeyRequest, PasswordRequest
from pincite.server.routing import Router
from pincite.server.site import Site, Stores

router = Router(prefix="/account", include_in_schema=False, dependencies=[Depends(with_accounts)])
HERE = "/account"


@router.get("")
def account_page(request: Request, who: InPerson, site: Stores) -> HTMLResponse:
    """All about one's account."""
    return _shown(request, who, site)


@router.post("/password")
def set_password(form: Form, request: Request, who: InPerson, site: Stores) -> RedirectResponse:
    """Set the password."""
    values: dict[str, object] = {"old": form.get("old") or None, "new": form.get("new")}
    answer = forms.to(HERE)
    api_me.set_password(forms.checked(PasswordRequest, values), who, request, answer, site)
    return answer


@router.post("/keys")
def create_key(form: Form, request: Request, who: InPerson, site: Stores) -> HTMLResponse:
    """A new API key, which this page shows and none after it."""
    values: dict[str, object] = {
        "name": forms.text(form, "name"),
        "scopes": form.getlist("scopes"),
        "days": forms.text(form, "days"),
    }
    _, key = api_me.new_key(site, request, who, forms.checked(KeyRequest, values))
    return _shown(request, who, site, key)


@router.post("/keys/{key_id}/revoke")
def revoke_key(key_id: IdPath, who: InPerson, site: Stores, _form: Form) -> RedirectResponse:
    """Revoke a key."""
    api_me.revoke_key(key_id, who, site)
    return forms.to(HERE)


@router.post("/sessions/{session_id}/end")
def end_session(session_id: IdPath, who: InPerson, site: Stores, _form: Form) -> RedirectResponse:
    """Log out somewhere."""
    api_me.end_session(session_id, who, site)
    return forms.to(HERE)


@router.post("/logins/{provider}/unlink")
def unlink(provider: IdPath, who: InPerson, site: Stores, _form: Form) -> RedirectResponse:
    """Have a provider's account open this one no longer."""
    api_me.unlink_login(provider, who, site)
    return forms.to(HERE)


@router.post("/delete")
def delete(form: Form, request: Request, who: InPerson, site: Stores) -> RedirectResponse:
    """Delete the account and what is its own."""
    password = form.get("password")
    api_me.forgotten(site, request, who, password if isinstance(password, str) else None)
    answer = forms.to("/login")
    clear_cookie(answer, site.server)
    return answer


def _shown(request: Request, who: Identity, site: Site, new_key: str = "") -> HTMLResponse:
    return page(
        request,
        "account_page.html",
        who,
        person=person_body(site, who),
        keys=site.people.keys.of(who.account_id),
        sessions=site.people.sessions.of(who.account_id),
        scopes=sorted(ALLOWED[who.role]),
        providers=site.people.providers,
        new_key=new_key,
    )
