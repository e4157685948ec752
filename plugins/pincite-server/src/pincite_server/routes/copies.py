"""Private copies of sources: add one for a citation, list or remove them, check again with them."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import anyio
from anyio.to_thread import run_sync
from fastapi import Path as InPath
from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel

from pincite.errors import ConfigError, InputError
from pincite.library import private_copies
from pincite.library.private_copies import Named, OwnCopy
from pincite.report.cells import REASONS, one_line
from pincite.types import Unchecked
from pincite.verbs.verify.wording import STEPS
from pincite_server import forms
from pincite_server.forms import Form, also_posted
from pincite_server.identity import Identity, Reader, Runner
from pincite_server.jobs import Job
from pincite_server.problems import Problem, not_found
from pincite_server.rendering import Look, page
from pincite_server.requests import Shown, VerifyFilesRequest
from pincite_server.routes.findings import result_page, verified_in
from pincite_server.routes.jobs import FILE, form_schema, readable, start_job, upload_form
from pincite_server.routing import Router
from pincite_server.site import Site, Stores
from pincite_server.tables import whole
from pincite_server.uploads import Form as SentForm

api = Router(prefix="/api/v1", tags=["copies"])
pages = Router(include_in_schema=False)
LONG = {"text": 2_000_000}  # bytes: about 300,000 words; a long book should be a file
PASTED = "pasted.txt"
READERS = anyio.CapacityLimiter(2)  # files read at once; others wait
Sha256 = Annotated[str, InPath(pattern="^[0-9a-f]{64}$")]
FIELDS = {
    "file": FILE,
    "text": {"type": "string", "description": "Up to 2 MB."},
    "pages": {"type": "string", "description": "Printed on its first and last page: 120-135."},
}
FORM = form_schema(FIELDS, [], "Either `file` or `text`.")


class CopyBody(Shown):
    """A file that replaces a source in the user's own jobs."""

    sha256: str
    ref: str  # the source
    name: str  # original file name
    n_bytes: int
    pages: tuple[int, int] | None  # page numbers printed on the first and last page, if given
    n_pages: int  # 0 if this kind of file has no pages
    n_words: int
    language: str
    title: str
    added: str


class CopyList(BaseModel):
    """Copies, the oldest first."""

    copies: list[CopyBody]


@api.post(
    "/jobs/{job_id}/copies",
    status_code=201,
    operation_id="add_copy",
    openapi_extra=FORM,
    responses={507: {"description": "The server's disk is nearly full (`disk_full`)."}},
)
async def add_copy(
    job_id: str, claim: str, citation: str, request: Request, who: Runner, site: Stores
) -> CopyBody:
    """Upload your own copy of the source of a claim's citation, as a file or as text.

    Your later jobs read it first. Nobody else can read it: results quote at most 300 characters.
    """
    job = await run_sync(readable, site, job_id, who)
    async with upload_form(request, who, site, FIELDS, LONG) as (upload_id, form):
        source = await run_sync(_source, site, job, claim, citation)
        folder = site.uploads.at(upload_id)
        stored = await run_sync(_attach, site, who, source, form, folder, limiter=READERS)
    await run_sync(site.uploads.remove, upload_id)
    return CopyBody.model_validate(stored)


@api.get("/copies", operation_id="list_copies")
def list_copies(who: Reader, site: Stores) -> CopyList:
    """Your own copies."""
    copies = site.own.of(who.account_id).all()
    return CopyList(copies=[CopyBody.model_validate(copy) for copy in copies])


@api.delete("/copies/{sha256}", status_code=204, operation_id="delete_copy")
@also_posted(pages, "/copies/{sha256}/remove", then="/copies")
def delete_copy(sha256: Sha256, who: Runner, site: Stores) -> None:
    """Delete a copy, for all sources that it stands for; results keep their quotes."""
    site.own.of(who.account_id).remove(_copies_with_hash(site, who, sha256))


def _copies_with_hash(site: Site, who: Identity, sha256: str) -> list[OwnCopy]:
    """A user's copies with this content, one per source. Raises Problem: 404."""
    if copies := [copy for copy in site.own.of(who.account_id).all() if copy.sha256 == sha256]:
        return copies
    raise not_found()


def _source(site: Site, job: Job, claim: str, citation: str) -> Named:
    """The source of a citation; 404 if there is no such finding, 422 if it cannot be identified."""
    verified = verified_in(site, job)
    citations = [
        result.citation
        for finding in (verified.report.findings if verified else ())
        for result in finding.citations
        if (finding.claim.claim_id, result.citation.citation_id) == (claim, citation)
    ]
    if not citations:
        raise not_found("The report has no such citation.")
    try:
        named = private_copies.of_citation(citations[0], one_line(job.title) or "an article")
    except InputError as error:
        raise Problem(422, "unknown_source", whole(str(error))) from error
    return Named(whole(named.ref), tuple(map(whole, named.keys)))


def _attach(site: Site, who: Identity, source: Named, form: SentForm, folder: Path) -> OwnCopy:
    text, pages = form.fields.get("text", ""), form.fields.get("pages", "").strip()
    if len(form.files) + bool(text.strip()) != 1:
        raise Problem(422, "no_file", "Expected either a file or a text.")
    path, name = folder / PASTED, PASTED
    if form.files:
        ((_, file),) = form.files
        path, name = folder / file.stored, file.name
    else:
        path.write_text(text, encoding="utf-8")
    site.check_account(who.account_id, path.stat().st_size)
    own = site.own.of(who.account_id)
    try:
        printed = private_copies.parse_pages(pages) if pages else None
        kept = private_copies.attach(own, source, path, printed, name=name)
    except InputError as error:
        raise Problem(422, "invalid_pages", str(error)) from error
    except ConfigError as error:  # the message contains the server's folder
        raise Problem(503, "not_kept", "The copy could not be stored. Try again later.") from error
    if isinstance(kept, Unchecked):
        why = whole(one_line(kept.detail)) or REASONS[kept.reason]
        step = STEPS[kept.reason]
        detail = f"The copy was not stored: {why}. {step[0].upper()}{step[1:]}."
        errors = [{"where": "file", "what": why, "reason": kept.reason.value, "step": step}]
        raise Problem(422, "unreadable_copy", detail, errors=errors)
    if site.server.mode == "server" and site.people.accounts.get(who.account_id) is None:
        site.own.mark_deleted(who.account_id)  # the account was deleted meanwhile
        site.tidy()
        raise not_found()
    return kept.copy


@pages.post("/jobs/{job_id}/copies", response_model=None)
async def hand_in(
    job_id: str, claim: str, citation: str, request: Request, who: Runner, site: Stores
) -> Response:
    """Store a copy, and show the finding with what was read, or with the error."""
    try:
        stored = await add_copy(job_id, claim, citation, request, who, site)
    except Problem as problem:
        if not problem.of_values:
            raise
        look = Look(await run_sync(readable, site, job_id, who), who)
        result = await run_sync(site.jobs.result, job_id) or b""
        shown = await run_sync(result_page, request, look, site, result, (citation, problem))
        if shown is None:
            raise
        return shown
    query = urlencode({"claim": claim, "copy": stored.sha256})
    return forms.redirect(f"/jobs/{job_id}?{query}#finding")


@pages.post("/jobs/{job_id}/again")
def again(job_id: str, who: Runner, site: Stores, form: Form) -> RedirectResponse:
    """Run a request again, with copies uploaded since, a corpus, or a corrected text."""
    job = readable(site, job_id, who)
    if job.kind != "verify":
        raise not_found()
    values = site.jobs.full_request(job)
    if corpus := forms.text(form, "corpus"):
        values["corpus"] = corpus
    if text := forms.text(form, "text").replace("\r\n", "\n"):
        replaced = ("article", "example", "revision", "markup")
        kept = {name: value for name, value in values.items() if name not in replaced}
        stated = values.get("title") or ("" if values.get("text") else job.title)
        values = kept | {"text": text, "title": stated}
    body = forms.validate(VerifyFilesRequest, values)
    return forms.redirect(f"/jobs/{start_job(site, who, 'verify', body).job_id}")


@pages.get("/copies/{_sha256}/replace")
def replaced_before(_sha256: str, _who: Reader) -> RedirectResponse:
    """The address of a form with an error, when it is reloaded."""
    return forms.redirect("/copies")


@pages.get("/copies")
def copies(request: Request, who: Reader, site: Stores) -> HTMLResponse:
    return _copies(request, who, site)


def _copies(
    request: Request, who: Identity, site: Site, refused: tuple[str, Problem] | None = None
) -> HTMLResponse:
    """The list; `refused` has the copy for which a file was sent, and the problem with it."""
    copies = site.own.of(who.account_id).all()
    status = 422 if refused else 200
    return page(request, "copies.html", who, status=status, copies=copies, refused=refused)


@pages.post("/copies/{sha256}/replace", response_model=None)
async def replace_copy(sha256: Sha256, request: Request, who: Runner, site: Stores) -> Response:
    """Store another file in the place of a copy, for all sources that it stands for."""
    try:
        async with upload_form(request, who, site, FIELDS, LONG) as (upload_id, form):
            await run_sync(_replace, site, who, sha256, form, upload_id, limiter=READERS)
    except Problem as problem:
        if not problem.of_values:
            raise
        return await run_sync(_copies, request, who, site, (sha256, problem))
    return forms.redirect("/copies")


def _replace(site: Site, who: Identity, sha256: str, form: SentForm, upload_id: str) -> None:
    replaced = _copies_with_hash(site, who, sha256)
    for copy in replaced:
        _attach(site, who, Named(copy.ref, copy.keys), form, site.uploads.at(upload_id))
    site.own.of(who.account_id).remove(replaced)
    site.uploads.remove(upload_id)
