"""`/api/v1/corpora/…/documents`: send files, leaf through what is there, read it, remove it."""

from collections.abc import Sequence
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import Query, Request, Response
from pydantic import BaseModel, Field, StringConstraints

from pincite.corpus.catalogue import Listed, Order, Which
from pincite.corpus.embedded import EmbeddedCorpus
from pincite.errors import CorpusError, CorpusInUse
from pincite.server.library.linked import without_places
from pincite.server.library.register import CorpusEntry
from pincite.server.paging import page_of, read_cursor
from pincite.server.people.identity import Identity, Librarian, Reader
from pincite.server.problems import Problem, ProblemBody, not_found
from pincite.server.requests import Body, IngestRequest, SentFile
from pincite.server.routes.corpora.corpora import catalogue_of, changeable, opened, readable
from pincite.server.routes.job import OF_STARTING, JobBody, job_body
from pincite.server.routes.receiving import FILE, form_of, form_schema
from pincite.server.routing import Router
from pincite.server.site import Site, Stores
from pincite.server.texts import whole
from pincite.types import Document, Span

router = Router(
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


@router.post(
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


@router.get("/documents", operation_id="list_documents")
def list_documents(
    corpus_id: str, asked: Annotated[DocumentQuery, Query()], who: Reader, site: Stores
) -> DocumentList:
    """The documents of a corpus: the newest first, by title, or by date of publication."""
    return listed(site, readable(site, corpus_id, who), asked)


@router.get("/documents/{doc_id}", operation_id="get_document")
def get_document(corpus_id: str, doc_id: str, who: Reader, site: Stores) -> DocumentBody:
    """A document with its text, and where its passages stand in it."""
    return document_body(*found(site, readable(site, corpus_id, who), doc_id))


@router.delete("/documents/{doc_id}", status_code=204, operation_id="delete_document")
def delete_document(corpus_id: str, doc_id: str, who: Librarian, site: Stores) -> None:
    """Remove a document; it comes back only if it is sent again."""
    removed(site, changeable(site, corpus_id, who), doc_id)


@router.get("/passages/{passage_id}", operation_id="get_passage")
def get_passage(corpus_id: str, passage_id: str, who: Reader, site: Stores) -> PassageBody:
    """A passage, as evidence names it, with the text around it."""
    doc_id, _, place = passage_id.partition(":")
    first, _, last = place.partition("-")
    document, spans = found(site, readable(site, corpus_id, who), doc_id)
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
    await run_sync(site.room.check_account, entry.owner)
    async with form_of(request, who, site) as (upload_id, form):
        if not form.files:
            raise Problem(422, "no_files", "Expected at least one file.")
        files = tuple(
            SentFile(stored=each.path.name, name=each.name, n_bytes=each.n_bytes)
            for each in form.files
        )
        n_bytes = sum(each.n_bytes for each in files)
        await run_sync(site.room.check_account, entry.owner, n_bytes)
        body = IngestRequest(corpus=entry.corpus_id, upload=upload_id, files=files)
        values = body.model_dump(mode="json")
        subject = " ".join(body.subject.split())
        job, _ = await run_sync(site.jobs.submit, who.account_id, "ingest", subject, values, None)
    return job_body(job)


def listed(site: Site, entry: CorpusEntry, asked: DocumentQuery) -> DocumentList:
    """A page of the documents of a corpus."""
    after = read_cursor(asked.cursor, (str, int))
    which = Which(asked.order, asked.text, asked.kind, asked.language)
    with opened(site, entry) as shelf:
        rows = catalogue_of(shelf).listed(which, asked.limit + 1, after) if shelf else []
    page, following = page_of(rows, asked.limit, lambda row: (row.sorted_by, row.key))
    return DocumentList(documents=[_listed(row) for row in page], next=following)


def found(site: Site, entry: CorpusEntry, doc_id: str) -> tuple[Document, list[Span]]:
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
    document, _ = found(site, entry, doc_id)
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
