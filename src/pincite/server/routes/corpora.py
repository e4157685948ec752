"""Corpora over HTTP: make, describe, share and delete them; documents, searching, and the pages.

The folder of a new corpus is made with its first documents. Nothing here names a folder.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel, Field, StringConstraints

from pincite.contract import codec
from pincite.corpus.catalogue import Listed, Order, Which
from pincite.corpus.embedded import EmbeddedCorpus
from pincite.corpus.protocol import Catalogue, Way
from pincite.errors import ConfigError, CorpusError, CorpusInUse
from pincite.retrieval.filters import Filters, condition
from pincite.server import forms
from pincite.server.corpora import CorpusEntry, NameTaken, Opened, Shared, without_places
from pincite.server.forms import Form
from pincite.server.identity import Identity, Librarian, Reader
from pincite.server.jobs.ingesting import Ingested
from pincite.server.problems import Problem, ProblemBody, not_found
from pincite.server.rendering import Look, page
from pincite.server.requests import (
    Body,
    Cursor,
    IngestRequest,
    IsoDate,
    Limit,
    SentFile,
    Text,
    corpora_in,
    page_of,
    read_cursor,
)
from pincite.server.routes.jobs import FILE, OF_STARTING, JobBody, form_of, form_schema
from pincite.server.routing import Router
from pincite.server.site import Site, Stores
from pincite.server.tables import iso, whole
from pincite.types import Document, Hit, Span

router = Router(
    prefix="/api/v1/corpora",
    tags=["corpora"],
    responses={n: {"model": ProblemBody} for n in (400, 401, 403, 404, 409, 413, 421, 422)},
)
SHOWN_PROBLEMS = 200
_EMPTY: dict[str, Any] = {
    **dict.fromkeys(("n_documents", "n_passages", "n_undated", "n_bytes", "n_behind"), 0),
    **dict.fromkeys(("encoder", "no_meaning", "digest"), ""),
    "listable": True,
    "kinds": {},
    "languages": {},
    "first_published": None,
    "last_published": None,
}
Name = Annotated[Text, Field(min_length=1, max_length=200, pattern=r"\S")]
About = Annotated[Text, Field(max_length=5_000)]


class CorpusChange(Body):
    """What is to be changed of a corpus; what is left out stays."""

    name: Name | None = None
    about: About | None = None
    shared: Shared | None = None


class NewCorpus(CorpusChange):
    """A corpus that is to be made."""

    name: Name
    about: About = ""
    shared: Shared = Shared.PRIVATE


class CorpusBody(BaseModel):
    """A corpus as it is listed."""

    corpus_id: str
    name: str
    about: str
    yours: bool
    shared: Shared
    linked: bool  # lies where whoever runs the server keeps it: nothing of it is changed from here
    created: str
    links: dict[str, str]


class CorpusList(BaseModel):
    """A page of corpora, by name."""

    corpora: list[CorpusBody]
    next: str | None


class UnreadBody(BaseModel):
    """A file that was sent, or a part of it, that could not be read."""

    file: str
    place: str
    reason: str
    detail: str
    at: str


class CorpusState(CorpusBody):
    """A corpus and what is in it."""

    n_documents: int
    n_passages: int
    listable: bool  # else its documents are found by searching only, and what they are is not told
    kinds: dict[str, int]  # documents of each, most first
    languages: dict[str, int]  # "": not known
    first_published: str | None
    last_published: str | None
    n_undated: int
    n_bytes: int
    encoder: str  # empty: there is nothing in it yet
    no_meaning: str  # why it can be searched by words only; empty: it need not
    digest: str  # empty where documents cannot be listed: results of jobs have it
    n_behind: int  # batches that the word index has still to take up
    ingesting: list[str]  # jobs that add to it
    n_problems: int
    problems: list[UnreadBody]  # the last ones


@router.get("", operation_id="list_corpora")
def list_corpora(who: Reader, site: Stores, limit: Limit = 50, cursor: Cursor = None) -> CorpusList:
    """One's own corpora and those that others share, by name."""
    after = read_cursor(cursor, (str, str))
    found = [entry for entry in site.corpora.listed() if who.may_read(entry)]
    if after:
        found = [entry for entry in found if (entry.name, entry.corpus_id) > after]
    page, following = page_of(found, limit, lambda entry: (entry.name, entry.corpus_id))
    return CorpusList(corpora=[body_of(site, e, who) for e in page], next=following)


@router.post("", status_code=201, operation_id="create_corpus")
def create_corpus(body: NewCorpus, response: Response, who: Librarian, site: Stores) -> CorpusBody:
    """A new, empty corpus."""
    entry = created(site, who, body)
    response.headers["Location"] = f"/api/v1/corpora/{entry.corpus_id}"
    return body_of(site, entry, who)


@router.get("/{corpus_id}", operation_id="get_corpus")
def get_corpus(corpus_id: str, who: Reader, site: Stores) -> CorpusState:
    """What is in a corpus, and what of the files that were sent could not be read."""
    return state_of(site, readable(site, corpus_id, who), who)


@router.patch("/{corpus_id}", operation_id="change_corpus")
def change_corpus(corpus_id: str, body: CorpusChange, who: Librarian, site: Stores) -> CorpusBody:
    """Give it another name or description, or share it with others."""
    return body_of(site, changed(site, who, corpus_id, body), who)


@router.delete("/{corpus_id}", status_code=204, operation_id="delete_corpus")
def delete_corpus(corpus_id: str, who: Librarian, site: Stores) -> None:
    """Remove a corpus with all its documents, for good; jobs that add to it end."""
    site.library.delete(changeable(site, corpus_id, who))


# ── Also for the pages ───────────────────────────────────────────────────────────────────────────


def created(site: Site, who: Identity, body: NewCorpus) -> CorpusEntry:
    """A new corpus in the register."""
    try:
        return site.corpora.add(
            who.account_id,
            " ".join(body.name.split()),
            about=body.about,
            shared=body.shared,
        )
    except NameTaken as error:
        raise Problem(409, "name_taken", str(error)) from error


def changed(site: Site, who: Identity, corpus_id: str, body: CorpusChange) -> CorpusEntry:
    """A corpus as it is after the change."""
    changeable(site, corpus_id, who)
    values: dict[str, object] = body.model_dump(include={"about", "shared"}, exclude_none=True)
    if body.name is not None:
        values["name"] = " ".join(body.name.split())
    try:
        if values:
            site.corpora.change(corpus_id, **values)
    except NameTaken as error:
        raise Problem(409, "name_taken", str(error)) from error
    return changeable(site, corpus_id, who)


def readable(site: Site, corpus_id: str, who: Identity) -> CorpusEntry:
    """A corpus that the one who asks may read; else 404."""
    entry = site.corpora.get(corpus_id) if "\0" not in corpus_id else None
    if entry is None or not who.may_read(entry):
        raise not_found()
    return entry


def changeable(site: Site, corpus_id: str, who: Identity) -> CorpusEntry:
    """A corpus that the one who asks may change.

    Raises:
        Problem: 404, or 403 for one that they may only read, or 409 for a linked one.
    """
    entry = readable(site, corpus_id, who)
    if not who.owns(entry.owner):
        raise Problem(403, "not_yours", "This corpus is somebody else's; you may read it.")
    if site.corpora.is_linked(entry):
        detail = (
            "This corpus is linked by the server's settings. Whoever runs the server changes its "
            "documents with pincite corpus, and its name or that it is here in server.corpora."
        )
        raise Problem(409, "linked", detail)
    return entry


def catalogue_of(found: Opened) -> Catalogue:
    """The corpus, to leaf through.

    Raises:
        Problem: 409, its engine cannot.
    """
    if found.catalogue is None:
        detail = "The documents of this corpus cannot be listed or shown here. Search it instead."
        raise Problem(409, "no_catalogue", detail)
    return found.catalogue


@contextmanager
def opened(site: Site, entry: CorpusEntry) -> Iterator[Opened | None]:
    """The corpus, open for reading; None while nothing was added to it.

    Raises:
        Problem: 503, it cannot be read; says what is wrong with it, not where it lies.
    """
    if site.corpora.is_empty(entry):
        yield None
        return
    try:
        with site.library.pool.reading(entry.address) as found:
            yield found
    except CorpusError as error:
        detail = without_places(error, [entry.address])
        raise Problem(503, "corpus_unreadable", detail) from error


def state_of(site: Site, entry: CorpusEntry, who: Identity) -> CorpusState:
    """A corpus and what is in it."""
    body = body_of(site, entry, who).model_dump()
    n_problems, problems = site.corpora.problems(entry.corpus_id, SHOWN_PROBLEMS)
    unread = [UnreadBody(**each | {"at": iso(each["at"])}) for each in problems]
    waiting = site.jobs.open_requests("ingest")
    jobs = [job_id for job_id, request in waiting if request["corpus"] == entry.corpus_id]
    body |= {"ingesting": jobs, "n_problems": n_problems, "problems": unread}
    with opened(site, entry) as found:
        return CorpusState(**body, **_counts(found))


def body_of(site: Site, entry: CorpusEntry, who: Identity) -> CorpusBody:
    """A corpus as the API lists it."""
    here = f"/api/v1/corpora/{entry.corpus_id}"
    return CorpusBody(
        corpus_id=entry.corpus_id,
        name=entry.name,
        about=entry.about,
        yours=entry.owner == who.account_id,
        shared=entry.shared,
        linked=site.corpora.is_linked(entry),
        created=iso(entry.created),
        links={"self": here, "documents": f"{here}/documents", "search": f"{here}/search"},
    )


def _counts(found: Opened | None) -> dict[str, Any]:
    if found is None:
        return _EMPTY
    status, contents = found.corpus.status(), found.contents()
    return {
        "n_documents": status.n_documents,
        "n_passages": status.n_passages,
        "listable": found.catalogue is not None,
        "kinds": _whole(contents.kinds),
        "languages": _whole(contents.languages),
        "first_published": contents.first,
        "last_published": contents.last,
        "n_undated": contents.n_undated,
        "n_bytes": sum(status.n_bytes.values()),
        "encoder": status.encoder,
        "no_meaning": found.no_meaning,
        # Without a catalogue it may take an engine all its documents to tell.
        "digest": found.corpus.manifest()["digest"] if found.catalogue else "",
        "n_behind": max(0, status.n_batches_behind),
    }


def _whole(counts: Mapping[str, int]) -> dict[str, int]:
    return {whole(key): n for key, n in counts.items()}


documents = Router(
    prefix="/api/v1/corpora/{corpus_id}",
    tags=["corpora"],
    responses={n: {"model": ProblemBody} for n in (400, 401, 403, 404, 409, 413, 421, 422)},
)
AROUND = 1_000  # characters before and after a passage
Word = Annotated[str, StringConstraints(max_length=300)]
FORM = form_schema({"files": {"type": "array", "minItems": 1, "items": FILE}}, ["files"])


class DocumentQuery(Body):
    """Which documents are listed, and in which order; empty fields ask nothing."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: Annotated[str, Field(max_length=4_000)] | None = None
    order: Order = "added"
    text: Word = ""  # stands in the title or the address
    kind: Word = ""
    language: Word = ""


class SpanBody(BaseModel):
    """A passage of a document: half-open offsets into its text, in code points."""

    passage_id: str
    start: int
    end: int


class ListedBody(BaseModel):
    """A document without its text."""

    doc_id: str
    url: str  # "upload:name" of a file that states no address of its own
    title: str
    kind: str
    published: str | None
    language: str | None
    n_passages: int


class DocumentList(BaseModel):
    """A page of documents."""

    documents: list[ListedBody]
    next: str | None


class DocumentBody(ListedBody):
    """A document as it was read."""

    fetched: str | None
    meta: dict[str, str]
    text: str
    passages: list[SpanBody]


class PassageBody(BaseModel):
    """A passage and the text around it."""

    passage_id: str
    doc_id: str
    url: str
    title: str
    kind: str
    published: str | None
    language: str | None
    start: int
    end: int
    before: str
    text: str
    after: str


@documents.post(
    "/documents",
    status_code=202,
    operation_id="add_documents",
    openapi_extra=FORM,
    responses=OF_STARTING,
)
async def add_documents(
    corpus_id: str, request: Request, response: Response, who: Librarian, site: Stores
) -> JobBody:
    """Send files of any kind that `pincite corpus add` reads; a job takes them in.

    A file's name is only shown, and names a file that states no address of its own: sent again
    under its name it replaces what was there.
    """
    entry = await run_sync(changeable, site, corpus_id, who)
    job = await sent(site, entry, who, request)
    response.headers["Location"] = f"/api/v1/jobs/{job.job_id}"
    return job


@documents.get("/documents", operation_id="list_documents")
def list_documents(
    corpus_id: str, asked: Annotated[DocumentQuery, Query()], who: Reader, site: Stores
) -> DocumentList:
    """The documents of a corpus: the newest first, by title, or by date of publication."""
    return listed(site, readable(site, corpus_id, who), asked)


@documents.get("/documents/{doc_id}", operation_id="get_document")
def get_document(corpus_id: str, doc_id: str, who: Reader, site: Stores) -> DocumentBody:
    """A document with its text, and where its passages stand in it."""
    return document_body(*document_and_spans(site, readable(site, corpus_id, who), doc_id))


@documents.delete("/documents/{doc_id}", status_code=204, operation_id="delete_document")
def delete_document(corpus_id: str, doc_id: str, who: Librarian, site: Stores) -> None:
    """Remove a document; it comes back only if it is sent again."""
    removed(site, changeable(site, corpus_id, who), doc_id)


@documents.get("/passages/{passage_id}", operation_id="get_passage")
def get_passage(corpus_id: str, passage_id: str, who: Reader, site: Stores) -> PassageBody:
    """A passage, as evidence names it, with the text around it."""
    doc_id, _, place = passage_id.partition(":")
    first, _, last = place.partition("-")
    document, spans = document_and_spans(site, readable(site, corpus_id, who), doc_id)
    if not (_is_number(first) and _is_number(last)) or (int(first), int(last)) not in spans:
        raise not_found()
    start, end = int(first), int(last)
    text = document.text
    return PassageBody(
        **_head(document),
        passage_id=passage_id,
        start=start,
        end=end,
        before=whole(text[max(0, start - AROUND) : start]),
        text=whole(text[start:end]),
        after=whole(text[end : end + AROUND]),
    )


# ── Also for the pages ───────────────────────────────────────────────────────────────────────────


async def sent(site: Site, entry: CorpusEntry, who: Identity, request: Request) -> JobBody:
    """The job that takes in the files of a request.

    Raises:
        Problem: another session's form, no form, no file.
        DiskFull, AccountFull, QueueFull, TooManyOfYours
    """
    await run_sync(site.quotas.check_account, entry.owner)
    async with form_of(request, who, site) as (upload_id, form):
        if not form.files:
            raise Problem(422, "no_files", "Expected at least one file.")
        files = tuple(
            SentFile(stored=each.path.name, name=each.name, n_bytes=each.n_bytes)
            for each in form.files
        )
        n_bytes = sum(each.n_bytes for each in files)
        await run_sync(site.quotas.check_account, entry.owner, n_bytes)
        body = IngestRequest(corpus=entry.corpus_id, upload=upload_id, files=files)
        values = body.model_dump(mode="json")
        subject = " ".join(body.subject.split())
        job, _ = await run_sync(site.jobs.submit, who.account_id, "ingest", subject, values, None)
    return JobBody.model_validate(job)


def listed(site: Site, entry: CorpusEntry, asked: DocumentQuery) -> DocumentList:
    """A page of the documents of a corpus."""
    after = read_cursor(asked.cursor, (str, int))
    which = Which(asked.order, asked.text, asked.kind, asked.language)
    with opened(site, entry) as shelf:
        rows = catalogue_of(shelf).listed(which, asked.limit + 1, after) if shelf else []
    page, following = page_of(rows, asked.limit, lambda row: (row.sorted_by, row.key))
    return DocumentList(documents=[_listed(row) for row in page], next=following)


def document_and_spans(site: Site, entry: CorpusEntry, doc_id: str) -> tuple[Document, list[Span]]:
    """A document of a corpus and its passages; else 404."""
    with opened(site, entry) as shelf:
        document = catalogue_of(shelf).by_id(doc_id) if shelf else None
    if document is None:
        raise not_found()
    return document


def document_body(document: Document, spans: Sequence[Span]) -> DocumentBody:
    """A document as the API shows it."""
    return DocumentBody(
        **_head(document),
        n_passages=len(spans),
        fetched=document.fetched,
        meta={whole(key): whole(value) for key, value in document.meta.items()},
        text=whole(document.text),
        passages=[
            SpanBody(passage_id=f"{document.doc_id}:{a}-{b}", start=a, end=b) for a, b in spans
        ],
    )


def removed(site: Site, entry: CorpusEntry, doc_id: str) -> None:
    """Remove a document from a corpus, unless a job is writing it."""
    document, _ = document_and_spans(site, entry, doc_id)
    folder = site.corpora.folder_of(entry.corpus_id)
    try:
        with EmbeddedCorpus.open(folder, None, write=True) as corpus:
            corpus.delete([document.url])
    except CorpusInUse as error:
        detail = "Files are being added to the corpus. Try again when that is done."
        again = {"Retry-After": "10"}
        raise Problem(409, "corpus_in_use", detail, headers=again) from error
    except CorpusError as error:
        detail = without_places(error, [folder])
        raise Problem(503, "corpus_unreadable", detail) from error


def _listed(row: Listed) -> ListedBody:
    return ListedBody(
        doc_id=row.doc_id,
        url=whole(row.url),
        title=whole(row.title),
        kind=row.kind,
        published=row.published,
        language=row.language,
        n_passages=row.n_passages,
    )


def _head(document: Document) -> dict[str, Any]:
    return {
        "doc_id": document.doc_id,
        "url": whole(document.url),
        "title": whole(document.title),
        "kind": document.kind,
        "published": document.published,
        "language": document.language,
    }


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 12


searching = Router(
    prefix="/api/v1/corpora/{corpus_id}",
    tags=["corpora"],
    responses={n: {"model": ProblemBody} for n in (400, 401, 403, 404, 409, 421, 422, 503)},
)
Question = Annotated[str, StringConstraints(min_length=1, max_length=2_000)]
Value = Annotated[str, StringConstraints(max_length=300)]
Values = Annotated[tuple[Value, ...], Field(max_length=20)]


class SearchQuery(Body):
    """What is searched for, and among which documents."""

    q: Question
    by: Way | None = None  # None: hybrid, if it can be
    k: Annotated[int, Field(ge=1, le=100)] = 10
    published_from: IsoDate = ""
    published_to: IsoDate = ""
    undated: bool = False
    domain: Values = ()
    language: Values = ()
    kind: Values = ()
    where: Values = ()  # "section == news", as --where has it

    @property
    def filters(self) -> Filters:
        """As the retrievers take them; raises ConfigError for a date or condition that is none."""
        return Filters(
            published_from=self.published_from,
            published_to=self.published_to,
            undated=self.undated,
            domains=self.domain,
            languages=self.language,
            kinds=self.kind,
            where=tuple(map(condition, self.where)),
        )


class HitBody(BaseModel):
    """A passage that was found."""

    rank: int
    score: float  # only comparable within one answer
    passage_id: str
    doc_id: str
    url: str
    title: str
    about: str  # title, author, site and year, as far as they are known
    start: int
    end: int
    text: str


class SearchResult(BaseModel):
    """What was found, and how it was searched."""

    query: str
    by: Way
    hits: list[HitBody]
    notes: list[str]  # what a reader should know: pages without a date were left out, …


@searching.get("/search", operation_id="search_corpus")
def search_corpus(
    corpus_id: str, asked: Annotated[SearchQuery, Query()], who: Reader, site: Stores
) -> SearchResult:
    """By words (lexical), by meaning (dense), or both ranked together (hybrid)."""
    return searched(site, readable(site, corpus_id, who), asked)


def searched(site: Site, entry: CorpusEntry, asked: SearchQuery) -> SearchResult:
    """The best passages of a corpus; also for the pages.

    Raises:
        Problem: 409, it was to be searched by meaning, and cannot be.
    """
    notes, filters = [], asked.filters
    if filters.leaves_out_undated:
        notes.append("Documents without a known date are left out.")
    with opened(site, entry) as shelf:
        if shelf is None:
            return SearchResult(query=asked.q, by="lexical", hits=[], notes=["It is empty."])
        if shelf.no_meaning and asked.by in ("hybrid", "dense"):
            raise Problem(409, "no_meaning", shelf.no_meaning)
        if shelf.no_meaning:
            notes.append(f"Searched by words only. {shelf.no_meaning}")
        by = asked.by or ("lexical" if shelf.no_meaning else "hybrid")
        chosen = (site.settings.filters.exclude_hosts, filters)
        search = shelf.corpus.by(by, *chosen, site.settings.retrieval.fusion)
        (hits,) = search.retrieve([asked.q], asked.k)
    return SearchResult(query=asked.q, by=by, hits=list(map(_body, hits)), notes=notes)


def _body(hit: Hit) -> HitBody:
    passage = hit.passage
    return HitBody(
        rank=hit.rank,
        score=hit.score,
        passage_id=passage.passage_id,
        doc_id=passage.doc_id,
        url=whole(passage.url),
        title=whole(passage.title),
        about=whole(passage.about),
        start=passage.span.start,
        end=passage.span.end,
        text=whole(passage.text),
    )


pages = Router(include_in_schema=False)
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


@pages.get("/corpora")
def corpora(request: Request, who: Reader, site: Stores) -> HTMLResponse:
    """All that one may read, and a form for a new one."""
    found = [entry for entry in site.corpora.listed() if who.may_read(entry)]
    listed = [(entry, _size(site, entry)) for entry in found]
    return page(request, "corpora.html", who, corpora=listed)


@pages.post("/corpora")
def create(form: Form, who: Librarian, site: Stores) -> RedirectResponse:
    """Make one, and go there."""
    entry = created(site, who, forms.checked(NewCorpus, _described(form)))
    return forms.to(f"/corpora/{entry.corpus_id}")


@pages.get("/corpora/{corpus_id}")
def corpus(
    corpus_id: str, request: Request, asked: Annotated[Asked, Query()], who: Reader, site: Stores
) -> HTMLResponse:
    """What is in it; its documents, or the passages that were searched for."""
    entry = readable(site, corpus_id, who)
    values = asked.model_dump(include={"text", "order", "kind"})
    documents = DocumentQuery(**values, limit=ROWS, cursor=asked.cursor or None)
    state = state_of(site, entry, who)
    return page(
        request,
        "corpus.html",
        who,
        corpus=state,
        may_change=_may_change(site, entry, who),
        listed=listed(site, entry, documents) if state.listable else None,
        asked=asked,
        **_found(site, entry, asked),
    )


@pages.post("/corpora/{corpus_id}")
def change(corpus_id: str, form: Form, who: Librarian, site: Stores) -> RedirectResponse:
    """Rename, describe or share it."""
    body = forms.checked(CorpusChange, _described(form))
    changed(site, who, corpus_id, body)
    return forms.to(f"/corpora/{corpus_id}")


@pages.post("/corpora/{corpus_id}/documents")
async def add(corpus_id: str, request: Request, who: Librarian, site: Stores) -> RedirectResponse:
    """Send files, and go where one sees how far they are."""
    entry = await run_sync(changeable, site, corpus_id, who)
    job = await sent(site, entry, who, request)
    return forms.to(f"/jobs/{job.job_id}")


@pages.post("/corpora/{corpus_id}/delete")
def delete(corpus_id: str, form: Form, who: Librarian, site: Stores) -> RedirectResponse:
    """Remove it, if its name was typed: there is no way back."""
    entry = changeable(site, corpus_id, who)
    if forms.text(form, "name") != entry.name:
        detail = "The name that was typed is not the corpus's. Nothing was deleted."
        raise Problem(422, "invalid_request", detail)
    site.library.delete(entry)
    return forms.to("/corpora")


@pages.get("/corpora/{corpus_id}/documents/{doc_id}")
def document(
    corpus_id: str, doc_id: str, request: Request, who: Reader, site: Stores, passage: Word = ""
) -> HTMLResponse:
    """A document, with one of its passages marked."""
    entry = readable(site, corpus_id, who)
    found, spans = document_and_spans(site, entry, doc_id)
    marked = next((span for span in spans if f"{span.start}-{span.end}" == passage), None)
    start, end = marked or (0, 0)
    shown = document_body(found, spans)
    return page(
        request,
        "document.html",
        who,
        corpus=entry,
        may_change=_may_change(site, entry, who),
        document=shown,
        pieces=(shown.text[:start], shown.text[start:end], shown.text[end:]),
    )


@pages.post("/corpora/{corpus_id}/documents/{doc_id}/delete", name="delete_document")
def delete_document_by_form(
    corpus_id: str, doc_id: str, _form: Form, who: Librarian, site: Stores
) -> RedirectResponse:
    """Remove a document."""
    removed(site, changeable(site, corpus_id, who), doc_id)
    return forms.to(f"/corpora/{corpus_id}")


def result_page(request: Request, look: Look, _site: Site, result: bytes) -> HTMLResponse:
    """What became of files that were sent."""
    found = codec.from_json(Ingested, result)
    return page(request, "ingested.html", look.who, job=look.job, found=found)


def _described(form: Form) -> dict[str, object]:
    """The name, description and readers that a form gives a corpus."""
    asked: dict[str, object] = {name: forms.text(form, name) for name in ("name", "about")}
    return asked | {"shared": forms.text(form, "shared") or "private"}


def _may_change(site: Site, entry: CorpusEntry, who: Identity) -> bool:
    return who.owns(entry.owner) and not site.corpora.is_linked(entry)


def _size(site: Site, entry: CorpusEntry) -> int | None:
    """How many documents it has; None if it cannot be read, or only its engine's server knows."""
    if isinstance(entry.address, str):
        return None
    try:
        with opened(site, entry) as shelf:
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
            result = searched(site, entry, search)
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
            found.append(state_of(site, entry, who) if entry and known else None)
        except Problem:
            found.append(None)
    return found
