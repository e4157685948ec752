"""Records of works, what has become of them, and the sources that return them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, NamedTuple, Protocol

from pincite.errors import FetchError
from pincite.text.identifiers import isbn13
from pincite.types import Citation, Doc, Reason


class NoticeKind(StrEnum):
    """What a notice says of a work; the gravest first. All but the last are `Status`es."""

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


NOTICE = "notice"  # the kind of a record that is about other works: an erratum, a retraction


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
    kind: str = ""  # "article", "book", "preprint", NOTICE, …
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


def about(notice: Notice, **ids: str) -> Work:
    """What a notice says about a work that another record describes."""
    return Work("", **ids, kind=NOTICE, notices=(notice,))  # type: ignore[arg-type]


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
    is_status: bool = False  # for the notices about a work that the user's own sources have


class Lookups(NamedTuple):
    """What all sources returned for one reference."""

    works: Sequence[Work] = ()
    asked: Sequence[str] = ()  # names of the sources that answered
    failed: Sequence[Unanswered] = ()
    tried: Sequence[str] = ()  # services that were asked


def ask(
    citation: Citation,
    sources: Sequence[Source],
    services: Sequence[Lookup] = (),
    needed: Callable[[Lookup, Lookups], Citation | None] = lambda service, found: None,
) -> Lookups:
    """Ask every source, then each service for what is needed of it after what was found before.

    A failure of one costs only its own answer.
    """
    works, asked, failed, tried = list[Work](), list[str](), list[Unanswered](), list[str]()
    found = Lookups(works, asked, failed, tried)

    def look_up(source: Source, wanted: Citation) -> bool:
        try:
            records = source.lookup(wanted)
        except FetchError as error:
            failed.append(Unanswered(source.name, error.reason, str(error)))
            return True
        works.extend(replace(w, source=w.source or source.name) for w in records or ())
        asked.extend([source.name] * (records is not None))
        return records is not None

    for source in sources:
        look_up(source, citation)
    for service in services:
        if (wanted := needed(service, found)) and look_up(service, wanted):
            tried.append(service.name)
    return found


def ids_of(citation: Citation) -> list[tuple[str, str]]:
    """The identifiers of a citation in the form of `Work.ids`, those that decide first."""
    doi = (citation.doi or "").lower()
    stated = (
        ("doi", doi),
        ("arxiv", arxiv_of(doi)),
        ("arxiv", unversioned((citation.arxiv or "").lower())),
        ("pmid", (citation.pmid or "").strip().lstrip("0")),
        ("pmc", (citation.pmc or "").strip().upper().removeprefix("PMC")),
        ("isbn", isbn13(citation.isbn or "") or ""),
    )
    return list(dict.fromkeys((kind, value) for kind, value in stated if value))


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
