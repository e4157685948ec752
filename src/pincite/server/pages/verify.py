"""The pages of `verify`: the box where an article goes in, and what came of it."""

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from pincite.server import demo
from pincite.server.api import jobs as api_jobs
from pincite.server.pages import forms, languages
from pincite.server.pages.forms import Form
from pincite.server.pages.rendering import page
from pincite.server.people.identity import Reader, Runner
from pincite.server.people.sharing import may_read
from pincite.server.requests import VerifyRequest
from pincite.server.site import Site, Stores

router = APIRouter(include_in_schema=False)


@router.get("/")
def home(request: Request, who: Reader, site: Stores) -> HTMLResponse:
    """One box, and examples."""
    corpora = [entry for entry in site.corpora.listed() if may_read(entry, who)]
    return page(
        request,
        "home.html",
        who,
        online=site.settings.online,
        corpora=corpora,
        examples=_examples(request),
        given="",
    )


@router.post("/verify")
def verify(request: Request, form: Form, who: Runner, site: Stores) -> RedirectResponse:
    """Start what the box asks for."""
    body = forms.checked(VerifyRequest, _asked(form) | _beside(form, site))
    job = api_jobs.started(site, who, "verify", body, Response(), None)
    return forms.to(f"/jobs/{job.job_id}")


def _asked(form: Form) -> dict[str, Any]:
    """The form as the API's body. Several lines or markup are a text, one line is a name."""
    if example := forms.text(form, "example"):
        return {"example": example}
    given, title = forms.text(form, "article"), forms.text(form, "title")
    corpus = {"corpus": forms.text(form, "corpus")} if forms.text(form, "corpus") else {}
    markup = "wikitext"
    if chosen := forms.file(form, "file"):
        name, content = chosen
        given = content.decode("utf-8", "replace").replace("\0", "\ufffd")
        title = title or name.rpartition("/")[2].rpartition(".")[0]
        if name.lower().endswith((".html", ".htm")):
            markup = "html"
    elif "\n" not in given and not any(mark in given for mark in ("<ref", "{{", "[[")):
        return {"article": given, **corpus} if given else corpus
    return {"text": given, "markup": markup, "title": title[:2000], **corpus}


def _beside(form: Form, site: Site) -> dict[str, Any]:
    """The corpus of the first example, where there is one."""
    if forms.text(form, "example") != "article" or not (corpus := demo.web(site)):
        return {}
    return {"corpus": corpus.corpus_id}


def _examples(request: Request) -> list[tuple[str, str, str]]:
    """Name, title, and what each shows."""
    _ = languages.translations(languages.language_of(request)).gettext
    return [
        ("article", "Varrowmouth", _("A harbour town: wrong figures, dead links, a paywall")),
        ("inventor", "Edda Marrick", _("A life: what does the archive really say?")),
        ("vole", "Saltfen vole", _("An animal: abstracts, a census that nobody can open")),
    ]
