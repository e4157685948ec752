"""Corpora: manage and search them and their documents; API and pages.

The folder of a new corpus is created with its first documents. No response reveals a folder.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, StringConstraints

from pincite import codec
from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.protocol import Catalogue, Order, Selection, Way
from pincite.errors import ConfigError, CorpusError, CorpusInUse
from pincite.retrieval.filters import Filters, condition
from pincite.text.hosts import without_folder
from pincite.types import Document, Hit, Span
from pincite_server import forms
from pincite_server.corpora import CorpusEntry, Opened, Shared, hide_places
from pincite_server.forms import Form, also_posted
from pincite_server.identity import CorpusEditor, Identity, Permission, Reader
from pincite_server.ingesting import Ingested
from pincite_server.problems import Problem, not_found
from pincite_server.rendering import Look, page
from pincite_server.requests import (
    Body,
    IngestRequest,
    IsoDate,
    Moment,
    Shown,
    Text,
    page_of,
    read_cursor,
)
from pincite_server.routes.jobs import (
    FILE,
    OF_STARTING,
    JobBody,
    accepted_job,
    form_schema,
    upload_form,
)
from pincite_server.routing import Router
from pincite_server.site import Site, Stores
from pincite_server.tables import whole

ROWS, HITS = 25, 10  # per page
SEARCH_FIELDS = ("q", "by", "published_from", "published_to")  # of a corpus's page
LIST_FIELDS = ("text", "kind", "order", "cursor")
FIELD = "files"
FILES = form_schema({FIELD: {"type": "array", "minItems": 1, "items": FILE}}, [FIELD])
Name = Annotated[
    Text,
    Field(min_length=1, max_length=200, pattern=r"\S"),
    AfterValidator(lambda name: " ".join(name.split())),
]
About = Annotated[Text, Field(max_length=5_000)]
Words = Annotated[str, StringConstraints(max_length=300)]
Values = Annotated[tuple[Words, ...], Field(max_length=20)]
Whole = Annotated[str, BeforeValidator(whole)]  # a document's text, made valid UTF-8
Url = Annotated[Whole, AfterValidator(without_folder)]  # a file's name: not where it is stored

api = Router(prefix="/api/v1/corpora", tags=["corpora"])
pages = Router(include_in_schema=False)


class CorpusChange(Body):
    """What to change of a corpus."""

    name: Name | None = None
    about: About | None = None
    shared: Shared | None = None


class NewCorpus(CorpusChange):
    """A corpus to be created."""

    name: Name
    about: About = ""
    shared: Shared = Shared.PRIVATE


class CorpusBody(BaseModel):
    """A corpus in a list."""

    corpus_id: str
    name: str
    about: str
    yours: bool
    shared: Shared
    linked: bool  # stored outside the server, and read-only here
    created: Moment


class CorpusList(BaseModel):
    """Corpora by name."""

    corpora: list[CorpusBody]


class CorpusState(CorpusBody):
    """A corpus and its contents."""

    n_documents: int = 0
    n_passages: int = 0
    listable: bool = True  # if false, documents can only be found by searching
    kinds: dict[Whole, int] = {}  # documents of each kind, most frequent first
    languages: dict[Whole, int] = {}  # "" for unknown
    first_published: str | None = None
    last_published: str | None = None
    n_undated: int = 0
    n_bytes: int = 0
    encoder: str = ""  # empty if the corpus is empty
    no_meaning: str = ""  # why only keyword search works; empty if semantic search works too
    ingesting: list[str]  # jobs that are adding documents


class DocumentQuery(Body):
    """Which documents to list, in which order; empty fields do not filter."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: Annotated[str, Field(max_length=4_000)] | None = None
    order: Order = "added"
    text: Words = ""  # in the title or the URL
    kind: Words = ""
    language: Words = ""


class ListedBody(Shown):
    """A document without its text."""

    doc_id: str
    url: Url
    title: Whole
    kind: str
    published: str | None
    language: str | None
    n_passages: int


class DocumentList(BaseModel):
    """A page of documents."""

    documents: list[ListedBody]
    next: str | None


class SpanBody(BaseModel):
    """A passage of a document: half-open offsets into its text, in code points."""

    passage_id: str
    start: int
    end: int


class DocumentBody(ListedBody):
    """A document as it was read."""

    fetched: str | None
    meta: dict[Whole, Whole]
    text: Whole
    passages: list[SpanBody]


class SearchQuery(Body):
    """What to search for, and among which documents."""

    q: Annotated[str, StringConstraints(min_length=1, max_length=2_000)]
    by: Way | None = None  # by default hybrid if possible, else lexical
    k: Annotated[int, Field(ge=1, le=100)] = 10
    published_from: IsoDate = ""
    published_to: IsoDate = ""
    undated: bool = False
    domain: Values = ()
    language: Values = ()
    kind: Values = ()
    where: Values = ()  # such as "section == news", as in --where

    @property
    def filters(self) -> Filters:
        dated = self.published_from, self.published_to, self.undated
        where = tuple(map(condition, self.where))
        return Filters(*dated, self.domain, (), self.language, self.kind, where)


class HitBody(BaseModel):
    """A passage that was found."""

    rank: int
    score: float  # comparable only within one response
    passage_id: str
    doc_id: str
    url: Url
    title: Whole
    about: Whole  # title, author, site and year, as far as known
    start: int
    end: int
    text: Whole

    @classmethod
    def of(cls, hit: Hit) -> "HitBody":
        start, end = hit.passage.span
        values = asdict(hit.passage) | {"passage_id": hit.passage.passage_id}
        return cls(rank=hit.rank, score=hit.score, start=start, end=end, **values)


class SearchResult(BaseModel):
    """What was found, and how."""

    query: str
    by: Way
    hits: list[HitBody]
    notes: list[str]  # for instance that undated documents were left out


# ── Corpora ──────────────────────────────────────────────────────────────────────────────────────


@api.get("", operation_id="list_corpora")
def list_corpora(who: Reader, site: Stores) -> CorpusList:
    """Your own corpora and those that others share, by name."""
    return CorpusList(corpora=[_body(site, entry, who) for entry in site.corpora_for(who)])


@api.post("", status_code=201, operation_id="create_corpus")
@also_posted(pages, "/corpora", then="/corpora/{result.corpus_id}")
def create_corpus(
    body: NewCorpus, response: Response, who: CorpusEditor, site: Stores
) -> CorpusBody:
    """Create an empty corpus."""
    entry = site.corpora.add(who.account_id, body.name, about=body.about, shared=body.shared)
    response.headers["Location"] = f"/api/v1/corpora/{entry.corpus_id}"
    return _body(site, entry, who)


@api.get("/{corpus_id}", operation_id="get_corpus")
def get_corpus(corpus_id: str, who: Reader, site: Stores) -> CorpusState:
    """The contents of a corpus."""
    return corpus_state(site, readable(site, corpus_id, who), who)


@api.patch("/{corpus_id}", operation_id="change_corpus")
@also_posted(pages, "/corpora/{corpus_id}", then="/corpora/{corpus_id}")
def change_corpus(
    corpus_id: str, body: CorpusChange, who: CorpusEditor, site: Stores
) -> CorpusBody:
    """Change a corpus's name, description or sharing."""
    changeable(site, corpus_id, who)
    if values := body.model_dump(exclude_none=True):
        site.corpora.change(corpus_id, **values)
    return _body(site, changeable(site, corpus_id, who), who)


@api.delete("/{corpus_id}", status_code=204, operation_id="delete_corpus")
def delete_corpus(corpus_id: str, who: CorpusEditor, site: Stores) -> None:
    """Delete a corpus with all its documents for good; jobs that add to it are stopped."""
    site.delete_corpus(changeable(site, corpus_id, who))


def readable(site: Site, corpus_id: str, who: Identity) -> CorpusEntry:
    """Raises 404 if the user cannot read the corpus."""
    entry = site.corpora.get(corpus_id) if "\0" not in corpus_id else None
    if entry is None or not who.may_read(entry):
        raise not_found()
    return entry


def changeable(site: Site, corpus_id: str, who: Identity) -> CorpusEntry:
    """A corpus that the user can change. Raises Problem: 404; 403 if shared; 409 if linked."""
    entry = readable(site, corpus_id, who)
    if not who.owns(entry.owner):
        raise Problem(403, "not_yours", "This corpus is someone else's; you may only read it.")
    if site.corpora.is_linked(entry):
        detail = "This corpus is linked by the server's settings (server.corpora)."
        raise Problem(409, "linked", f"{detail} Its operator changes it with pincite corpus.")
    return entry


@contextmanager
def open_corpus(site: Site, entry: CorpusEntry) -> Iterator[Opened | None]:
    """Open a corpus for reading; yields None while it is empty. Raises Problem: 503, unreadable."""
    if site.corpora.is_empty(entry):
        yield None
        return
    try:
        with site.pool.reading(entry.address) as opened:
            yield opened
    except CorpusError as error:
        raise Problem(503, "corpus_unreadable", hide_places(error, [entry.address])) from error


def corpus_state(site: Site, entry: CorpusEntry, who: Identity) -> CorpusState:
    waiting = site.jobs.open_requests("ingest")
    jobs = [job for job, request in waiting if request["corpus"] == entry.corpus_id]
    values = _body(site, entry, who).model_dump()
    with open_corpus(site, entry) as opened:
        return CorpusState(**values, ingesting=jobs, **(_contents(opened) if opened else {}))


def _body(site: Site, entry: CorpusEntry, who: Identity) -> CorpusBody:
    return CorpusBody(
        corpus_id=entry.corpus_id,
        name=entry.name,
        about=entry.about,
        yours=entry.owner == who.account_id,
        shared=entry.shared,
        linked=site.corpora.is_linked(entry),
        created=entry.created,  # type: ignore[arg-type]  # see `Moment`
    )


def _contents(opened: Opened) -> dict[str, Any]:
    status, contents = opened.corpus.status(), opened.contents()
    return {
        "n_documents": status.n_documents,
        "n_passages": status.n_passages,
        "listable": opened.catalogue is not None,
        "kinds": contents.kinds,
        "languages": contents.languages,
        "first_published": contents.first,
        "last_published": contents.last,
        "n_undated": contents.n_undated,
        "n_bytes": sum(status.n_bytes.values()),
        "encoder": status.encoder,
        "no_meaning": opened.no_meaning,
    }


# ── Documents ────────────────────────────────────────────────────────────────────────────────────


@api.post(
    "/{corpus_id}/documents",
    status_code=202,
    operation_id="add_documents",
    openapi_extra=FILES,
    responses=OF_STARTING,
)
async def add_documents(
    corpus_id: str, request: Request, response: Response, who: CorpusEditor, site: Stores
) -> JobBody:
    """Send files in any format that `pincite corpus add` reads; a job adds them.

    A file that states no address of its own is identified by its name: sent again under that name
    it replaces the earlier one.
    """
    entry = await run_sync(changeable, site, corpus_id, who)
    await run_sync(site.check_account, entry.owner)
    async with upload_form(request, who, site, [FIELD]) as (upload_id, form):
        if not form.files:
            raise Problem(422, "no_files", "Expected at least one file, in the field 'files'.")
        files = tuple(file for _, file in form.files)
        n_bytes = sum(file.n_bytes for file in files)
        await run_sync(site.check_account, entry.owner, n_bytes)
        body = IngestRequest(corpus=entry.corpus_id, upload=upload_id, files=files)
        values = body.model_dump(mode="json")
        job = await run_sync(site.jobs.submit, who.account_id, "ingest", body.subject, values)
    return accepted_job(job, response)


@api.get("/{corpus_id}/documents", operation_id="list_documents")
def list_documents(
    corpus_id: str, query: Annotated[DocumentQuery, Query()], who: Reader, site: Stores
) -> DocumentList:
    """The documents of a corpus: the newest first, by title, or by date of publication."""
    entry = readable(site, corpus_id, who)
    after = read_cursor(query.cursor, (str, int))
    criteria = Selection(query.order, query.text, query.kind, query.language)
    with open_corpus(site, entry) as opened:
        rows = _catalogue(opened).list_documents(criteria, query.limit + 1, after) if opened else []
    shown, following = page_of(rows, query.limit, lambda row: (row.sorted_by, row.key))
    listed = [ListedBody.model_validate(row) for row in shown]
    return DocumentList(documents=listed, next=following)


@api.get("/{corpus_id}/documents/{doc_id}", operation_id="get_document")
def get_document(corpus_id: str, doc_id: str, who: Reader, site: Stores) -> DocumentBody:
    """A document with its text and its passages."""
    document, spans = _document(site, readable(site, corpus_id, who), doc_id)
    passages = [SpanBody(passage_id=f"{doc_id}:{a}-{b}", start=a, end=b) for a, b in spans]
    values = asdict(document)  # the model ignores the other fields
    return DocumentBody(**values, doc_id=doc_id, n_passages=len(spans), passages=passages)


@api.delete("/{corpus_id}/documents/{doc_id}", status_code=204, operation_id="delete_document")
@also_posted(pages, "/corpora/{corpus_id}/documents/{doc_id}/delete", then="/corpora/{corpus_id}")
def delete_document(corpus_id: str, doc_id: str, who: CorpusEditor, site: Stores) -> None:
    """Delete a document; it returns only if it is sent again."""
    entry = changeable(site, corpus_id, who)
    document, _ = _document(site, entry, doc_id)
    folder = site.corpora.folder_of(entry.corpus_id)
    try:
        with EmbeddedCorpus.open(folder, None, write=True) as corpus:
            corpus.delete([document.url])
    except CorpusInUse as error:
        detail = "Files are being added to the corpus. Try again when that is done."
        raise Problem(409, "corpus_in_use", detail, headers={"Retry-After": "10"}) from error
    except CorpusError as error:
        raise Problem(503, "corpus_unreadable", hide_places(error, [folder])) from error


def _document(site: Site, entry: CorpusEntry, doc_id: str) -> tuple[Document, list[Span]]:
    """Raises 404 if there is no such document."""
    with open_corpus(site, entry) as opened:
        document = _catalogue(opened).by_id(doc_id) if opened else None
    if document is None:
        raise not_found()
    return document


def _catalogue(opened: Opened) -> Catalogue:
    if opened.catalogue is None:
        detail = "The documents of this corpus cannot be listed or shown here. Search it instead."
        raise Problem(409, "no_catalogue", detail)
    return opened.catalogue


# ── Search ───────────────────────────────────────────────────────────────────────────────────────


@api.get("/{corpus_id}/search", operation_id="search_corpus")
def search_corpus(
    corpus_id: str, query: Annotated[SearchQuery, Query()], who: Reader, site: Stores
) -> SearchResult:
    """Search by words (lexical), by meaning (dense), or both ranked together (hybrid)."""
    entry = readable(site, corpus_id, who)
    filters, settings = query.filters, site.settings
    notes = []
    if filters.leaves_out_undated:
        notes.append("Documents without a known date are left out.")
    with open_corpus(site, entry) as opened:
        if opened is None:
            empty = ["The corpus is empty."]
            return SearchResult(query=query.q, by="lexical", hits=[], notes=empty)
        way = _way_of(query, opened)
        if opened.no_meaning:
            notes.append(f"Searched by words only. {opened.no_meaning}")
        excluded, fusion = settings.filters.exclude_hosts, settings.retrieval.fusion
        (hits,) = opened.corpus.by(way, excluded, filters, fusion).retrieve([query.q], query.k)
    return SearchResult(query=query.q, by=way, hits=[*map(HitBody.of, hits)], notes=notes)


def _way_of(query: SearchQuery, opened: Opened) -> Way:
    """How to search. Raises Problem: 409, only keyword search works, and another was chosen."""
    if opened.no_meaning and query.by in ("hybrid", "dense"):
        raise Problem(409, "no_meaning", opened.no_meaning)
    return query.by or ("lexical" if opened.no_meaning else "hybrid")


# ── Pages ────────────────────────────────────────────────────────────────────────────────────────


@pages.get("/corpora")
def corpora_page(request: Request, who: Reader, site: Stores) -> HTMLResponse:
    listed = [(entry, _size(site, entry)) for entry in site.corpora_for(who)]
    return page(request, "corpora.html", who, corpora=listed)


@pages.get("/corpora/{corpus_id}")
def corpus_page(corpus_id: str, request: Request, who: Reader, site: Stores) -> HTMLResponse:
    """A corpus: its documents, or what was searched for; what is wrong with a search beside it."""
    entry = readable(site, corpus_id, who)
    state = corpus_state(site, entry, who)
    to_search, to_list = (_typed(request, fields) for fields in (SEARCH_FIELDS, LIST_FIELDS))
    listed, result, wrong = None, None, ""
    if state.listable:
        documents = forms.validate(DocumentQuery, {**to_list, "limit": ROWS})
        listed = list_documents(corpus_id, documents, who, site)
    if "q" in to_search:
        try:
            search = forms.validate(SearchQuery, {**to_search, "k": HITS})
            result = search_corpus(corpus_id, search, who, site)
        except (Problem, ConfigError) as error:
            wrong = str(error)
    return page(
        request,
        "corpus.html",
        who,
        corpus=state,
        may_change=_may_change(who, entry) and not state.linked,
        listed=listed,
        query=dict.fromkeys((*SEARCH_FIELDS, *LIST_FIELDS), "") | to_search | to_list,
        result=result,
        wrong=wrong,
    )


def _typed(request: Request, fields: Sequence[str]) -> dict[str, str]:
    texts = {name: request.query_params.get(name, "").strip() for name in fields}
    return {name: text for name, text in texts.items() if text}


@pages.post("/corpora/{corpus_id}/documents")
async def add(
    corpus_id: str, request: Request, response: Response, who: CorpusEditor, site: Stores
) -> RedirectResponse:
    job = await add_documents(corpus_id, request, response, who, site)
    return forms.redirect(f"/jobs/{job.job_id}")


@pages.post("/corpora/{corpus_id}/delete")
def delete(corpus_id: str, form: Form, who: CorpusEditor, site: Stores) -> RedirectResponse:
    """Delete a corpus whose name was typed again."""
    if forms.text(form, "name") != changeable(site, corpus_id, who).name:
        detail = "The name that you typed is not the name of the corpus. Nothing was deleted."
        raise Problem(422, "invalid_request", detail)
    delete_corpus(corpus_id, who, site)
    return forms.redirect("/corpora")


@pages.get("/corpora/{corpus_id}/documents/{doc_id}")
def document_page(
    corpus_id: str, doc_id: str, request: Request, who: Reader, site: Stores, passage: Words = ""
) -> HTMLResponse:
    entry = readable(site, corpus_id, who)
    shown = get_document(corpus_id, doc_id, who, site)
    marked = f"{doc_id}:{passage}"
    places = [(p.start, p.end) for p in shown.passages if p.passage_id == marked]
    start, end = places[0] if places else (0, 0)
    return page(
        request,
        "document.html",
        who,
        corpus=entry,
        may_change=_may_change(who, entry) and not site.corpora.is_linked(entry),
        document=shown,
        pieces=(shown.text[:start], shown.text[start:end], shown.text[end:]),
    )


def result_page(request: Request, look: Look, _site: Site, result: bytes) -> HTMLResponse:
    ingested = codec.from_json(Ingested, result)
    return page(request, "ingested.html", look.who, job=look.job, found=ingested)


def _may_change(who: Identity, entry: CorpusEntry) -> bool:
    return who.owns(entry.owner) and Permission.CORPORA in who.may


def _size(site: Site, entry: CorpusEntry) -> int | None:
    """The number of documents; None if unreadable, or known only to a remote engine."""
    if isinstance(entry.address, str):
        return None
    try:
        with open_corpus(site, entry) as opened:
            return opened.corpus.status().n_documents if opened else 0
    except Problem:
        return None
