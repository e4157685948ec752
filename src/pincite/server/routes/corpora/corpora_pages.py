"""The pages of corpora: make one, add files, leaf through it, search it, remove it."""

from collections.abc import Sequence
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel, Field

from pincite.contract import codec
from pincite.corpus.catalogue import Order
from pincite.errors import ConfigError
from pincite.server.jobs.ingesting import Ingested
from pincite.server.library.register import CorpusEntry
from pincite.server.pages import forms
from pincite.server.pages.forms import Form
from pincite.server.pages.rendering import page
from pincite.server.pages.viewer import Look
from pincite.server.people.identity import Identity, Librarian, Reader
from pincite.server.problems import Problem
from pincite.server.requests import corpora_in
from pincite.server.routes.corpora import corpora as api_corpora
from pincite.server.routes.corpora import documents as api_documents
from pincite.server.routes.corpora import search as api_search
from pincite.server.routes.corpora.corpora import CorpusChange, CorpusState, NewCorpus
from pincite.server.routes.corpora.documents import DocumentQuery, Word
from pincite.server.routes.corpora.search import SearchQuery, SearchResult
from pincite.server.routing import Router
from pincite.server.site import Site, Stores

router = Router(include_in_schema=False)
ROWS = 25
HITS = 10


class Asked(BaseModel):
    """What the page of a corpus shows: documents of a kind, hits of a search; fields of two forms.

    What is wrong with a search stands beside its box, so nothing of it is refused here.
    """

    q: Annotated[str, Field(max_length=2_000)] = ""
    by: Annotated[str, Field(max_length=20)] = ""
    published_from: Annotated[str, Field(max_length=20)] = ""
    published_to: Annotated[str, Field(max_length=20)] = ""
    text: Word = ""
    kind: Word = ""
    order: Order = "added"
    cursor: Annotated[str, Field(max_length=4_000)] = ""


@router.get("/corpora")
def corpora(request: Request, who: Reader, site: Stores) -> HTMLResponse:
    """All that one may read, and a form for a new one."""
    found = [entry for entry in site.corpora.listed() if who.may_read(entry)]
    listed = [(entry, _size(site, entry)) for entry in found]
    return page(request, "corpora.html", who, corpora=listed, groups=_groups(site, who))


@router.post("/corpora")
def create(form: Form, who: Librarian, site: Stores) -> RedirectResponse:
    """Make one, and go there."""
    asked = {name: forms.text(form, name) for name in ("name", "about")}
    entry = api_corpora.created(site, who, forms.checked(NewCorpus, {**asked, **_shared(form)}))
    return forms.to(f"/corpora/{entry.corpus_id}")


@router.get("/corpora/{corpus_id}")
def corpus(
    corpus_id: str, request: Request, asked: Annotated[Asked, Query()], who: Reader, site: Stores
) -> HTMLResponse:
    """What is in it; its documents, or the passages that were searched for."""
    entry = api_corpora.readable(site, corpus_id, who)
    values = asked.model_dump(include={"text", "order", "kind"})
    documents = DocumentQuery(**values, limit=ROWS, cursor=asked.cursor or None)
    state = api_corpora.state_of(site, entry, who)
    return page(
        request,
        "corpus.html",
        who,
        corpus=state,
        may_change=_may_change(site, entry, who),
        listed=api_documents.listed(site, entry, documents) if state.listable else None,
        asked=asked,
        groups=_groups(site, who),
        **_found(site, entry, asked),
    )


@router.post("/corpora/{corpus_id}")
def change(corpus_id: str, form: Form, who: Librarian, site: Stores) -> RedirectResponse:
    """Rename, describe or share it."""
    asked = {name: forms.text(form, name) for name in ("name", "about")}
    body = forms.checked(CorpusChange, {**asked, **_shared(form)})
    api_corpora.changed(site, who, corpus_id, body)
    return forms.to(f"/corpora/{corpus_id}")


@router.post("/corpora/{corpus_id}/documents")
async def add(corpus_id: str, request: Request, who: Librarian, site: Stores) -> RedirectResponse:
    """Send files, and go where one sees how far they are."""
    entry = await run_sync(api_corpora.changeable, site, corpus_id, who)
    job = await api_documents.sent(site, entry, who, request)
    return forms.to(f"/jobs/{job.job_id}")


@router.post("/corpora/{corpus_id}/delete")
def delete(corpus_id: str, form: Form, who: Librarian, site: Stores) -> RedirectResponse:
    """Remove it, if its name was typed: there is no way back."""
    entry = api_corpora.changeable(site, corpus_id, who)
    if forms.text(form, "name") != entry.name:
        detail = "The name that was typed is not the corpus's. Nothing was deleted."
        raise Problem(422, "invalid_request", detail)
    site.library.delete(entry)
    return forms.to("/corpora")


@router.get("/corpora/{corpus_id}/documents/{doc_id}")
def document(
    corpus_id: str, doc_id: str, request: Request, who: Reader, site: Stores, passage: Word = ""
) -> HTMLResponse:
    """A document, with one of its passages marked."""
    entry = api_corpora.readable(site, corpus_id, who)
    found, spans = api_documents.found(site, entry, doc_id)
    marked = next((span for span in spans if f"{span.start}-{span.end}" == passage), None)
    start, end = marked or (0, 0)
    shown = api_documents.document_body(found, spans)
    return page(
        request,
        "document.html",
        who,
        corpus=entry,
        may_change=_may_change(site, entry, who),
        document=shown,
        pieces=(shown.text[:start], shown.text[start:end], shown.text[end:]),
    )


@router.post("/corpora/{corpus_id}/documents/{doc_id}/delete")
def delete_document(
    corpus_id: str, doc_id: str, _form: Form, who: Librarian, site: Stores
) -> RedirectResponse:
    """Remove a document."""
    api_documents.removed(site, api_corpora.changeable(site, corpus_id, who), doc_id)
    return forms.to(f"/corpora/{corpus_id}")


def result_page(request: Request, look: Look, _site: Site, result: bytes) -> HTMLResponse:
    """What became of files that were sent."""
    found = codec.from_json(Ingested, result)
    return page(request, "ingested.html", look.who, job=look.job, found=found)


def _shared(form: Form) -> dict[str, object]:
    """Who may read it: "private", "everybody", or a group's id."""
    value = forms.text(form, "shared") or "private"
    if value in ("private", "everybody"):
        return {"shared": value}
    return {"shared": "group", "group_id": value}


def _groups(site: Site, who: Identity) -> dict[str, str]:
    """Name of each group that one is in, by its id."""
    found = site.people.groups.listed(200, member=who.account_id)
    return {each.group_id: each.name for each in found}


def _may_change(site: Site, entry: CorpusEntry, who: Identity) -> bool:
    return who.owns(entry.owner) and not site.corpora.is_linked(entry)


def _size(site: Site, entry: CorpusEntry) -> int | None:
    """How many documents it has; None if it cannot be read, or only its engine's server knows."""
    if isinstance(entry.address, str):
        return None
    try:
        with api_corpora.opened(site, entry) as shelf:
            return shelf.corpus.status().n_documents if shelf else 0
    except Problem:
        return None


def _found(site: Site, entry: CorpusEntry, asked: Asked) -> dict[str, Any]:
    """What a search found, or what is wrong with it."""
    result: SearchResult | None = None
    wrong = ""
    values = asked.model_dump(include={"published_from", "published_to"})
    if query := asked.q.strip():
        try:
            search = forms.checked(
                SearchQuery, {**values, "q": query, "by": asked.by or None, "k": HITS}
            )
            result = api_search.searched(site, entry, search)
        except (Problem, ConfigError) as error:
            wrong = str(error)
    return {"result": result, "wrong": wrong}


def covered(
    site: Site, corpus: str | Sequence[str] | None, who: Identity
) -> list[CorpusState | None]:
    """What each corpus holds, for pages that say what an answer is made of; None: it is gone."""
    found: list[CorpusState | None] = []
    for entry in map(site.corpora.get, corpora_in(corpus)):
        try:
            known = entry and who.may_read(entry)
            found.append(api_corpora.state_of(site, entry, who) if entry and known else None)
        except Problem:
            found.append(None)
    return found
