"""The pages of `verify`: the box where an article and its sources go in."""

from collections.abc import Mapping
from typing import Any

from anyio.to_thread import run_sync
from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from pincite.server import demo
from pincite.server.library.multipart import Form as SentForm
from pincite.server.library.multipart import Sent
from pincite.server.pages import faults, forms, languages
from pincite.server.pages.forms import Form
from pincite.server.pages.rendering import page
from pincite.server.people.identity import Identity, Reader, Runner
from pincite.server.problems import Problem
from pincite.server.requests import SentFile, VerifyFilesRequest, VerifyRequest
from pincite.server.routes.job import started
from pincite.server.routes.receiving import form_of
from pincite.server.routing import Router
from pincite.server.site import Site, Stores

SOURCES = "sources"  # fields of files; every other file is the article
MAX_TITLE = 2000

router = Router(include_in_schema=False)


@router.get("/")
def home(request: Request, who: Reader, site: Stores) -> HTMLResponse:
    """One box, and examples."""
    return _form(request, who, site)


@router.get("/verify/files")
def sent_before(_who: Reader) -> RedirectResponse:
    """The address of a form with a fault, asked for again."""
    return forms.to("/")


@router.post("/verify", response_model=None)
def verify(form: Form, request: Request, who: Runner, site: Stores) -> Response:
    """Start what the box asks for, or an example."""
    try:
        body = forms.checked(VerifyRequest, _asked(form) | _beside(form, site))
        job = started(site, who, "verify", body, Response(), None)
    except Problem as problem:
        return _form(request, who, site, faults.back(request, problem, faults.kept(form)))
    return forms.to(f"/jobs/{job.job_id}")


@router.post("/verify/files", response_model=None)
async def verify_files(request: Request, who: Runner, site: Stores) -> Response:
    """The same with files of sources, which go to the disk as they come."""
    sent: SentForm | None = None
    try:
        long = {"article": int(site.server.body_megabytes * 1e6)}
        async with form_of(request, who, site, long) as (upload_id, sent):
            location, keeps = await run_sync(_started, site, who, upload_id, sent)
    except Problem as problem:
        if sent is None:
            raise
        back = faults.back(request, problem, sent.fields)
        return await run_sync(_form, request, who, site, back)
    if not keeps:
        await run_sync(site.library.uploads.remove, upload_id)
    return forms.to(location)


def _started(site: Site, who: Identity, upload_id: str, sent: SentForm) -> tuple[str, bool]:
    """The page of the job, and whether it reads files of the upload.

    Raises:
        Problem: 422, the form says too little.
        AccountFull, QueueFull, TooManyOfYours
    """
    article = next((file for file in sent.files if file.field == "file"), None)
    sources = [_named(file) for file in sent.files if file.field.startswith(SOURCES)]
    n_bytes = sum(file.n_bytes for file in sources)
    if n_bytes:
        site.room.check_account(who.account_id, n_bytes)
    chosen = _read(site, article) if article else None
    values = _values(sent.fields, chosen)
    if sources:
        values |= {"upload": upload_id, "files": sources}
    model = VerifyFilesRequest if sources else VerifyRequest
    body = forms.checked(model, values)
    job = started(site, who, "verify", body, Response(), None)
    return f"/jobs/{job.job_id}", bool(sources)


def _read(site: Site, article: Sent) -> tuple[str, bytes]:
    """Name and content of the article's file, which is not kept.

    Raises:
        Problem: 422, it is larger than an article may be.
    """
    if article.n_bytes > site.server.body_megabytes * 1e6:
        too_long = {"where": "text", "what": "too long", "kind": "too_long"}
        raise Problem(422, "invalid_request", "The file is too long.", errors=[too_long])
    content = article.path.read_bytes()
    article.path.unlink()
    return article.name, content


def _named(file: Sent) -> SentFile:
    return SentFile(stored=file.path.name, name=file.name, n_bytes=file.n_bytes)


def _form(
    request: Request, who: Identity, site: Site, back: faults.Back = faults.FRESH
) -> HTMLResponse:
    """The box; with what is wrong, and what was written in it."""
    corpora = [entry for entry in site.corpora.listed() if who.may_read(entry)]
    return page(
        request,
        "home.html",
        who,
        online=site.settings.web.online,
        corpora=corpora,
        examples=_examples(request),
        megabytes=site.server.upload_megabytes,
        **back.values,
    )


def _asked(form: Form) -> dict[str, Any]:
    """The form as the API's body."""
    if example := forms.text(form, "example"):
        return {"example": example}
    return _values(faults.kept(form), forms.file(form, "file"))


def _values(fields: Mapping[str, str], chosen: tuple[str, bytes] | None) -> dict[str, Any]:
    """Several lines or markup are a text, one line is a name; a file counts before both."""
    given, title = fields.get("article", "").strip(), fields.get("title", "").strip()
    corpora = fields.get("corpus", "").split()
    beside: dict[str, Any] = {"corpus": corpora} if corpora else {}
    if fields.get("uncited"):
        beside |= {"settings": {"verify_uncited": True}}
    markup = "wikitext"
    if chosen:
        name, content = chosen
        given = content.decode("utf-8", "replace").replace("\0", "\ufffd")
        title = title or name.rpartition("/")[2].rpartition(".")[0]
        if name.lower().endswith((".html", ".htm")):
            markup = "html"
    elif "\n" not in given and not any(mark in given for mark in ("<ref", "{{", "[[")):
        return {"article": given, **beside} if given else beside
    return {"text": given, "markup": markup, "title": title[:MAX_TITLE], **beside}


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
