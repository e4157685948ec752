"""Records of works, what has become of them, and the sources that return them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, NamedTuple, Protocol

from pincite.errors import FetchError
from pincite.text.identifiers import isbn13
from pincite.types import Citation, Doc, Reason


class NoticeKind(StrEnum):
    """What a notice says of a work; the gravest first."""

    RETRACTED = "retracted"
    WITHDRAWN = "withdrawn"
    PARTLY_RETRACTED = "partly_retracted"
    CONCERN = "expression_of_concern"
    SUPERSEDED = "superseded"  # a later version or edition exists
    CORRECTED = "corrected"
    REINSTATED = "reinstated"  # the retraction was taken back


@dataclass(frozen=True, slots=True)
class Notice:
    """One notice about a work."""

    kind: NoticeKind
    doi: Annotated[str, Doc("of the notice itself; empty: unknown")] = ""
    date: Annotated[str, Doc("ISO, as exact as known")] = ""
    stated_by: Annotated[str, Doc("the record that says so")] = ""


@dataclass(frozen=True, slots=True)
class Work:
    """A bibliographic record, as a source returned it."""

    title: str
    authors: tuple[str, ...] = ()  # "Holm, Ida Marie", or a group
    years: tuple[int, ...] = ()  # in print, online, as a preprint: the first is shown
    venue: str = ""  # the journal, book or conference
    doi: str = ""  # lower case
    pmid: str = ""
    pmc: str = ""
    arxiv: str = ""  # without its version
    isbns: tuple[str, ...] = ()  # 13 digits each
    issn: str = ""
    kind: str = ""  # "article", "book", "preprint", …
    volume: str = ""
    issue: str = ""
    pages: str = ""
    publisher: str = ""
    url: str = ""
    source: Annotated[str, Doc("the catalogue or service that has it")] = ""
    notices: tuple[Notice, ...] = ()

    @property
    def ids(self) -> frozenset[tuple[str, str]]:
        """Its identifiers, each with its kind."""
        named = {"doi": self.doi, "pmid": self.pmid, "pmc": self.pmc, "arxiv": self.arxiv}
        pairs = {(name, value) for name, value in named.items() if value}
        return frozenset(pairs | {("isbn", isbn) for isbn in self.isbns})


GRAVE = tuple(NoticeKind)[:4]  # what a reinstatement takes back


def in_force(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """The notices of a work, each kind with its date if one is known, the gravest first.

    Retractions that were taken back later are left out.
    """
    stated = dict.fromkeys(notices)
    reinstated = max((n.date for n in stated if n.kind is NoticeKind.REINSTATED), default="")
    dated = {n.kind for n in stated if n.date}
    kept = [
        n
        for n in stated
        if n.kind is not NoticeKind.REINSTATED
        and (n.date or n.kind not in dated)
        and not (n.kind in GRAVE and reinstated and n.date <= reinstated)
    ]
    return tuple(sorted(kept, key=lambda n: (list(NoticeKind).index(n.kind), n.date)))


class Unanswered(NamedTuple):
    """A source that gave no answer."""

    source: str
    reason: Reason
    detail: str = ""


class Source(Protocol):
    """Where records are looked up."""

    @property
    def name(self) -> str: ...

    def lookup(self, citation: Citation) -> list[Work] | None:
        """Return the records with an identifier of the citation, and those with a title like its.

        An empty list: the source has none. None: it was not asked, for lack of what it takes.

        Raises:
            FetchError: it gave no answer: it is down, or allows no more requests.
        """
        ...


class Lookup(NamedTuple):
    """A service asked in one way; a source."""

    name: str
    lookup: Callable[[Citation], list[Work] | None]
    is_search: bool = False  # for a work of which no identifier is known


class Lookups(NamedTuple):
    """What all sources returned for one reference."""

    works: Sequence[Work] = ()
    asked: Sequence[str] = ()  # names of the sources that answered
    failed: Sequence[Unanswered] = ()


def ask(
    citation: Citation,
    sources: Sequence[Source],
    services: Sequence[Lookup] = (),
    is_needed: Callable[[Lookup, Lookups], bool] = lambda service, found: True,
) -> Lookups:
    """Ask every source, then each service that is needed after what was found before.

    A failure of one costs only its own answer.
    """
    works, asked, failed = list[Work](), list[str](), list[Unanswered]()
    found = Lookups(works, asked, failed)
    for source in (*sources, *services):
        if isinstance(source, Lookup) and not is_needed(source, found):
            continue
        try:
            records = source.lookup(citation)
        except FetchError as error:
            failed.append(Unanswered(source.name, error.reason, str(error)))
        else:
            works += [replace(w, source=w.source or source.name) for w in records or ()]
            asked += [source.name] if records is not None else []
    return found


def ids_of(citation: Citation) -> list[tuple[str, str]]:
    """The identifiers of a citation in the form of `Work.ids`, those that decide first."""
    found = []
    if doi := (citation.doi or "").lower():
        found.append(("doi", doi))
        if number := arxiv_of(doi):
            found.append(("arxiv", number))
    if citation.arxiv:
        found.append(("arxiv", unversioned(citation.arxiv.lower())))
    if pmid := (citation.pmid or "").strip().lstrip("0"):
        found.append(("pmid", pmid))
    if pmc := (citation.pmc or "").strip().upper().removeprefix("PMC"):
        found.append(("pmc", pmc))
    if isbn := isbn13(citation.isbn or ""):
        found.append(("isbn", isbn))
    return list(dict.fromkeys(found))


ARXIV_DOI = "10.48550/arxiv."  # registered by DataCite since 2022


def arxiv_of(doi: str) -> str:
    """The arXiv number, without its version, of a DOI that arXiv gave; else empty."""
    doi = doi.lower()
    return unversioned(doi.removeprefix(ARXIV_DOI)) if doi.startswith(ARXIV_DOI) else ""


def unversioned(arxiv: str) -> str:
    """An arXiv number without its version.

    >>> unversioned("2101.00001v2"), unversioned("hep-th/9901001")
    ('2101.00001', 'hep-th/9901001')
    """
    number, _, version = arxiv.rpartition("v")
    return number if number and version.isdecimal() else arxiv
