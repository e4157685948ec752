"""The form for an article, and the API that takes its files."""

from functools import partial
from pathlib import Path
from typing import Any

from anyio.to_thread import run_sync
from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from pincite.errors import InputError
from pincite.wiki.article import Markup, article_text, title_of
from pincite_server import demo, forms
from pincite_server.forms import Form
from pincite_server.identity import Identity, Reader, Runner
from pincite_server.jobs import Job
from pincite_server.problems import Problem
from pincite_server.rendering import page
from pincite_server.requests import VerifyFilesRequest, VerifyRequest
from pincite_server.routes.jobs import (
    FILE,
    OF_STARTING,
    JobBody,
    accepted_job,
    filled_corpora,
    form_schema,
    last_job,
    start_job,
    upload_form,
)
from pincite_server.routing import Router
from pincite_server.site import Site, Stores
from pincite_server.tables import whole
from pincite_server.uploads import Form as SentForm

SOURCES = "sources"  # prefix of fields with source files; any other file is the article
MAX_TITLE = 255  # characters; MediaWiki's limit
SENTENCE = 5  # words; a title that ends with a full stop has fewer: "Ada Berg Jr."

_COPIES = {"type": "array", "items": FILE, "description": "Copies of its sources, or a zip."}
FIELDS = {
    "article": {"type": "string", "description": "A title, an address, or the whole text."},
    "file": FILE | {"description": "The article, instead of `article`: wikitext or HTML."},
    "title": {"type": "string", "description": "Of the article, if its text does not state it."},
    SOURCES: _COPIES,
    f"{SOURCES}-folder": _COPIES,
    "corpus": {"type": "string", "description": "Id of a corpus to search for better sources."},
    "verify_uncited": {"type": "string", "description": "1: also find sentences without sources."},
    "draft": {"type": "string", "description": "1: the same, to be summed up at /jobs/ID/draft."},
}
api = Router(prefix="/api/v1", tags=["jobs"])
pages = Router(include_in_schema=False)


@pages.get("/")
def home(request: Request, who: Reader, site: Stores) -> Response:
    start = site.server.start
    return forms.redirect(f"/{start}") if start != "verify" else _form(request, who, site)


@pages.get("/verify")
def verify_page(request: Request, who: Reader, site: Stores) -> HTMLResponse:
    return _form(request, who, site)


@pages.post("/verify/example")
def verify_example(form: Form, who: Runner, site: Stores) -> RedirectResponse:
    """Verify a shipped article; the first one with a corpus if the server has the demo's."""
    name = forms.text(form, "example")
    corpus = demo.web(site) if name == "article" else None
    body = forms.validate(VerifyRequest, {"example": name, "corpus": corpus})
    return forms.redirect(f"/jobs/{start_job(site, who, 'verify', body).job_id}")


@pages.post("/verify", response_model=None)
async def verify(request: Request, who: Runner, site: Stores) -> Response:
    received: list[SentForm] = []
    try:
        job = await _job_of_form(request, who, site, received)
    except Problem as problem:
        if not received:
            raise
        again = forms.rejected_values(request, problem, received[0].fields)
        return await run_sync(partial(_form, request, who, site, **again))
    is_draft = received[0].fields.get("draft")
    return forms.redirect(f"/jobs/{job.job_id}{'/draft' if is_draft else ''}")


@api.post(
    "/verify/files",
    status_code=202,
    operation_id="verify_files",
    openapi_extra=form_schema(FIELDS, []),
    responses=OF_STARTING,
)
async def verify_files(request: Request, response: Response, who: Runner, site: Stores) -> JobBody:
    """Check an article with copies of its sources, sent as the start page's form sends them."""
    return accepted_job(await _job_of_form(request, who, site, []), response)


async def _job_of_form(
    request: Request, who: Identity, site: Site, received: list[SentForm]
) -> Job:
    """Start the job of a form, which is appended to `received` even if its values are refused."""
    long = {"article": int(site.server.body_megabytes * 1e6)}
    async with upload_form(request, who, site, FIELDS, long) as (upload_id, sent):
        received.append(sent)
        job = await run_sync(_start, site, who, upload_id, sent)
    if "upload" not in job.request:
        await run_sync(site.uploads.remove, upload_id)
    return job


def _start(site: Site, who: Identity, upload_id: str, sent: SentForm) -> Job:
    """Start the job that a form describes. Raises Problem: 422, the form is incomplete."""
    sources = [file for field, file in sent.files if field.startswith(SOURCES)]
    if n_bytes := sum(file.n_bytes for file in sources):
        site.check_account(who.account_id, n_bytes)
    values = _article(site, sent, site.uploads.at(upload_id))
    if corpora := sent.fields.get("corpus", "").split():
        values["corpus"] = corpora
    if sent.fields.get("verify_uncited") or sent.fields.get("draft"):
        values["settings"] = {"verify_uncited": True}
    if sources:
        values |= {"upload": upload_id, "files": sources}
    body = forms.validate(VerifyFilesRequest if sources else VerifyRequest, values)
    return start_job(site, who, "verify", body)


def _article(site: Site, sent: SentForm, folder: Path) -> dict[str, Any]:
    """The article of a form: a file, else a text with several lines or markup, else a title."""
    text, title = (sent.fields.get(name, "").strip() for name in ("article", "title"))
    file = next((file for field, file in sent.files if field == "file"), None)
    if file is None:
        if any(mark in text for mark in ("\n", "<ref", "{{", "[[")) or _is_prose(text):
            return {"text": text, "title": title}
        return {"article": text} if text else {}
    if file.n_bytes > site.server.body_megabytes * 1e6:
        too_long = {"where": "text", "what": "too long", "kind": "too_long"}
        raise Problem(422, "invalid_request", "The file is too long.", errors=[too_long])
    try:
        text = article_text((folder / file.stored).read_bytes(), file.name).replace("\0", "\ufffd")
    except InputError as error:
        raise Problem(422, "unreadable_article", whole(str(error))) from error
    (folder / file.stored).unlink()
    stem = file.name.rpartition("/")[2].rpartition(".")[0]
    markup: Markup = "html" if file.name.lower().endswith((".html", ".htm")) else "wikitext"
    return {"text": text, "markup": markup, "title": title or title_of(text, stem, markup)}


def _is_prose(text: str) -> bool:
    """Whether one line is a pasted text rather than a title or an address."""
    is_sentence = text.endswith(".") and len(text.split()) >= SENTENCE
    return not text.startswith(("http://", "https://")) and (is_sentence or len(text) > MAX_TITLE)


def _form(request: Request, who: Identity, site: Site, **again: Any) -> HTMLResponse:
    values: dict[str, Any] = {
        "online": site.settings.web.online,
        "searches_web": site.searches_web,
        "corpora": filled_corpora(site, who, last_job(site, who, "verify"), demo.web(site)),
        "megabytes": site.server.upload_megabytes,
        "invented": not site.server.examples,  # beside an operator's own they would confuse
    }
    return page(request, "home.html", who, **values | again)
