"""Language and colours, and the help."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from pincite.report import wording
from pincite.server.pages import forms, languages, rendering
from pincite.server.pages.forms import Form
from pincite.server.pages.rendering import page
from pincite.server.people.identity import PUBLIC, Guest
from pincite.server.site import Site, Stores
from pincite.types import Label

router = APIRouter(include_in_schema=False)
KEPT_SECONDS = 365 * 86400


@router.post("/preferences", dependencies=[PUBLIC])
def preferences(form: Form, site: Stores) -> RedirectResponse:
    """Keep a language or colours in a cookie, and go back."""
    answer = forms.to(forms.local(forms.text(form, "back")))
    if (language := forms.text(form, "language")) in languages.LANGUAGES:
        keep(answer, site, languages.COOKIE, language)
    if theme := forms.text(form, "theme"):
        keep(answer, site, rendering.THEME, theme if theme in rendering.THEMES else "auto")
    return answer


@router.get("/help")
def help_page(request: Request, who: Guest) -> HTMLResponse:
    """Keys, words, and what the pages keep."""
    return page(request, "help.html", who, meanings=_meanings(request), keys=_keys(request))


def _meanings(request: Request) -> list[tuple[Label, str]]:
    _ = languages.translations(languages.language_of(request)).gettext
    meanings = {
        Label.REFUTED: _("The source seems to say something else."),
        Label.NOT_SUPPORTED: _("The statement was not found in the source."),
        Label.PARTLY_SUPPORTED: _("One part of it stands in the source; what is missing is named."),
        Label.UNCHECKED: _("The source could not be read; nothing is said about the statement."),
        Label.SUPPORTED: _("The source bears the statement out."),
    }
    return [(label, meanings[label]) for label in wording.ORDER]


def _keys(request: Request) -> list[tuple[str, str]]:
    _ = languages.translations(languages.language_of(request)).gettext
    return [
        ("j", _("next finding")),
        ("k", _("finding before")),
        ("o", _("open the source in a new tab")),
        ("1", _("this verdict is right")),
        ("2", _("this verdict is wrong")),
        ("3", _("say more about this verdict")),
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
