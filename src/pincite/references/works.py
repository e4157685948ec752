"""Records of works and notices about them, and their identifiers."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

from pincite.durable import data_path
from pincite.text import identifiers
from pincite.types import Citation, Doc

WorkId: TypeAlias = tuple[str, str]  # its kind (doi, pmid, pmc, arxiv or isbn), and the number
ABOUT_OTHERS = "notice"  # the kind of a record that is about other works: an erratum, a retraction
ARXIV_DOI = "10.48550/arxiv."  # registered by DataCite since 2022


class NoticeKind(StrEnum):
    """What a notice says of a work; the gravest first. All but the last are `Status`es."""

    RETRACTED = "retracted"
    WITHDRAWN = "withdrawn"
    PARTLY_RETRACTED = "partly_retracted"
    CONCERN = "expression_of_concern"
    SUPERSEDED = "superseded"  # a later version or edition exists
    CORRECTED = "corrected"
    REINSTATED = "reinstated"  # the retraction was taken back

    @property
    def is_grave(self) -> bool:
        """Whether it puts the whole work, or a part, in doubt; a reinstatement takes it back."""
        return self in (self.RETRACTED, self.WITHDRAWN, self.PARTLY_RETRACTED, self.CONCERN)


SEVERITY = {kind: n for n, kind in enumerate(NoticeKind)}  # the smaller, the graver
# Crossref's types of updates, Retraction Watch's natures, and what the readers of papers state.
KINDS = {
    **dict.fromkeys(("retraction", "removal", "yes"), NoticeKind.RETRACTED),
    **dict.fromkeys(("partial retraction", "partly"), NoticeKind.PARTLY_RETRACTED),
    "withdrawal": NoticeKind.WITHDRAWN,
    "expression of concern": NoticeKind.CONCERN,
    **dict.fromkeys("correction corrected corrigendum erratum addendum clarification".split(),
                    NoticeKind.CORRECTED),
    **dict.fromkeys(("new edition", "new version"), NoticeKind.SUPERSEDED),
    "reinstatement": NoticeKind.REINSTATED,
}  # fmt: skip


def kind_of(stated: str) -> NoticeKind | None:
    return KINDS.get(re.sub(r"[_\s-]+", " ", stated).strip().lower())


@dataclass(frozen=True, slots=True)
class Notice:
    """One notice about a work."""

    kind: NoticeKind
    doi: Annotated[str, Doc("of the notice itself; empty: unknown")] = ""
    date: Annotated[str, Doc("ISO, as exact as known")] = ""
    stated_by: Annotated[str, Doc("the record that says so")] = ""


def in_force(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """The notices of a work that were not taken back, the gravest first.

    One without a date gives way to a dated one of its kind. A reinstatement takes back what is
    dated no later, or undated. If it has no date itself, the work may have been retracted again.

    >>> retracted = Notice(NoticeKind.RETRACTED, date="2019-05-03")
    >>> in_force([retracted, Notice(NoticeKind.REINSTATED, date="2019")])
    ()
    >>> in_force([retracted, Notice(NoticeKind.REINSTATED)]) == (retracted,)
    True
    """
    distinct = dict.fromkeys(notices)
    reinstated = max((n.date for n in distinct if n.kind is NoticeKind.REINSTATED), default="")
    dated_kinds = {n.kind for n in distinct if n.date}
    kept = []
    for notice in distinct:
        is_repeated = not notice.date and notice.kind in dated_kinds
        is_undone = notice.kind.is_grave and _is_no_later(notice.date, reinstated)
        if notice.kind is not NoticeKind.REINSTATED and not is_repeated and not is_undone:
            kept.append(notice)
    return tuple(sorted(kept, key=lambda notice: (SEVERITY[notice.kind], notice.date)))


def _is_no_later(stated: str, other: str) -> bool:
    """Whether a date is no later than another; the more exact one is cut to the other's parts.

    >>> _is_no_later("2019-05", "2019"), _is_no_later("2020", "2019-12-31"), _is_no_later("", "")
    (True, False, False)
    """
    return bool(other) and stated[: len(other)] <= other


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
    kind: str = ""  # "article", "book", "preprint", ABOUT_OTHERS, …
    volume: str = ""
    issue: str = ""
    pages: str = ""
    publisher: str = ""
    url: str = ""
    source: Annotated[str, Doc("the catalogue or service that has it")] = ""
    notices: tuple[Notice, ...] = ()

    @property
    def ids(self) -> frozenset[WorkId]:
        """Its identifiers, each with its kind."""
        named = {"doi": self.doi, "pmid": self.pmid, "pmc": self.pmc, "arxiv": self.arxiv}
        pairs = {(name, value) for name, value in named.items() if value}
        return frozenset(pairs | {("isbn", isbn) for isbn in self.isbns})


Imported: TypeAlias = Work | None  # None: a record that cannot be read


def notice_record(notice: Notice, ids: Iterable[WorkId]) -> Work:
    """What a notice says about a work that another record describes."""
    fields, isbns = dict[str, str](), list[str]()
    for kind, value in ids:
        if kind == "isbn":
            isbns.append(value)
        else:
            fields[kind] = value
    return Work("", isbns=tuple(isbns), **fields, kind=ABOUT_OTHERS, notices=(notice,))  # type: ignore[arg-type]


def ids_of(citation: Citation) -> list[WorkId]:
    """The identifiers of a citation in the form of `Work.ids`, those that decide first."""
    doi = (citation.doi or "").lower()
    stated = (
        ("doi", doi),
        ("arxiv", arxiv_of(doi)),
        ("arxiv", without_version((citation.arxiv or "").lower())),
        ("pmid", (citation.pmid or "").strip().lstrip("0")),
        ("pmc", (citation.pmc or "").strip().upper().removeprefix("PMC")),
        ("isbn", identifiers.isbn13(citation.isbn or "") or ""),
    )
    return list(dict.fromkeys((kind, value) for kind, value in stated if value))


def arxiv_of(doi: str) -> str:
    """The arXiv number, without its version, of a DOI that arXiv gave; else empty."""
    doi = doi.lower()
    return without_version(doi.removeprefix(ARXIV_DOI)) if doi.startswith(ARXIV_DOI) else ""


def without_version(arxiv: str) -> str:
    """An arXiv number without its version."""
    number, _, version = arxiv.rpartition("v")
    return number if number and version.isdecimal() else arxiv


def users_catalogue() -> Path:
    """Where `pincite works import` writes, unless another file is given."""
    return data_path("works.sqlite")
