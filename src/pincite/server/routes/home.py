"""The visitor's language and colours, and the help page."""

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse

from pincite.server import forms, rendering
from pincite.server.forms import Form
from pincite.server.identity import PUBLIC, Guest
from pincite.server.rendering import page
from pincite.server.routing import Router
from pincite.server.site import Site, Stores

router = Router(include_in_schema=False)
KEPT_SECONDS = 365 * 86400


@router.post("/preferences", dependencies=[PUBLIC])
def preferences(form: Form, site: Stores) -> RedirectResponse:
    """Keep a language or colours in a cookie, and go back."""
    answer = forms.to(forms.local(forms.text(form, "back")))
    if (language := forms.text(form, "language")) in rendering.LANGUAGES:
        keep(answer, site, rendering.LANGUAGE, language)
    if theme := forms.text(form, "theme"):
        keep(answer, site, rendering.THEME, theme if theme in rendering.THEMES else "auto")
    return answer


@router.get("/help")
def help_page(request: Request, who: Guest) -> HTMLResponse:
    """Keys, words, and what the pages keep."""
    return page(request, "help.html", who, keys=_keys(request))


def _keys(request: Request) -> list[tuple[str, str]]:
    _ = rendering.translations(rendering.language_of(request)).gettext
    return [
        ("j", _("next finding")),
        ("k", _("previous finding")),
        ("o", _("open the source in a new tab")),
        ("1", _("this label is right")),
        ("2", _("this label is wrong")),
        ("3", _("say more about this label")),
        ("c", _("copy the wikitext")),
        ("?", _("these keys")),
    ]


def keep(answer: RedirectResponse, site: Site, name: str, value: str) -> None:
    """Set a cookie that no script reads."""
    answer.set_cookie(
        name,
        value,
        max_age=KEPT_SECONDS,
        httponly=True,
        samesite="lax",
        secure=site.server.mode == "server" and site.server.secure_cookies,
    )
