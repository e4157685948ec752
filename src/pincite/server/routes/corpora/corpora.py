"""`/api/v1/corpora`: make, describe, share and delete corpora; what is in one.

The folder of a new corpus is made with its first documents. Nothing here names a folder.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Self

from fastapi import Response
from pydantic import BaseModel, Field, model_validator

from pincite.corpus.protocol import Catalogue
from pincite.errors import CorpusError
from pincite.server.library.linked import without_places
from pincite.server.library.open_corpora import Opened
from pincite.server.library.register import CorpusEntry, NameTaken, Shared
from pincite.server.paging import Cursor, Limit, page_of, read_cursor
from pincite.server.people.identity import Identity, Librarian, Reader
from pincite.server.problems import Problem, ProblemBody, not_found
from pincite.server.requests import Body, Id, Text
from pincite.server.routing import Router
from pincite.server.site import Site, Stores
from pincite.server.texts import iso, whole

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


class NewCorpus(Body):
    """A corpus that is to be made."""

    name: Name
    about: About = ""
    shared: Shared = Shared.PRIVATE
    group_id: Id | None = None  # of `shared` = group

    @model_validator(mode="after")
    def _a_group(self) -> Self:
        if (self.shared is Shared.GROUP) != (self.group_id is not None):
            raise ValueError("expected a group_id with shared = group, and with nothing else")
        return self


class CorpusChange(Body):
    """What is to be changed of a corpus; what is left out stays."""

    name: Name | None = None
    about: About | None = None
    shared: Shared | None = None
    group_id: Id | None = None

    @model_validator(mode="after")
    def _a_group(self) -> Self:
        if (self.shared is Shared.GROUP) != (self.group_id is not None):
            raise ValueError("expected a group_id with shared = group, and with nothing else")
        return self


class CorpusBody(BaseModel):
    """A corpus as it is listed."""

    corpus_id: str
    name: str
    about: str
    yours: bool
    shared: Shared
    group_id: str | None
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
    _check_group(who, body.group_id)
    try:
        return site.corpora.add(
            who.account_id,
            " ".join(body.name.split()),
            about=body.about,
            shared=body.shared,
            group_id=body.group_id,
        )
    except NameTaken as error:
        raise Problem(409, "name_taken", str(error)) from error


def changed(site: Site, who: Identity, corpus_id: str, body: CorpusChange) -> CorpusEntry:
    """A corpus as it is after the change."""
    changeable(site, corpus_id, who)
    _check_group(who, body.group_id)
    values: dict[str, object] = body.model_dump(include={"about", "shared"}, exclude_none=True)
    if body.name is not None:
        values["name"] = " ".join(body.name.split())
    if body.shared is not None:
        values["group_id"] = body.group_id
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
        with site.library.shelf.reading(entry.address) as found:
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
        group_id=entry.group_id,
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


def _check_group(who: Identity, group_id: str | None) -> None:
    if group_id is not None and group_id not in who.groups and not who.is_admin:
        raise Problem(422, "unknown_group", "There is no such group, or you are not in it.")
