"""Asks sources for the records of a reference, and decides what is known of it.

Only a positive finding accuses: an identifier that cannot exist, or one behind which a source has
another work. A work that no source has may well exist.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, NamedTuple, Protocol

from pincite.errors import FetchError
from pincite.notes import Note
from pincite.references import matching
from pincite.references.matching import Authors, Likeness
from pincite.references.works import (
    ABOUT_OTHERS,
    ARXIV_DOI,
    Notice,
    NoticeKind,
    Work,
    WorkId,
    arxiv_of,
    ids_of,
    in_force,
)
from pincite.text.identifiers import ET_AL
from pincite.types import Citation, Doc, FaultKind, Reason, WorkStatus, written

Status = WorkStatus
GRAVE_STATUSES = tuple(Status(kind) for kind in NoticeKind if kind.is_grave)
SAME_TITLE_WORDS = 6  # from here, two works with one title but other authors are too rare to expect
FEW_TITLE_WORDS = 4  # with the same year or venue; below, a title says nothing without authors
PREPRINT_YEARS = 3  # a preprint may be published so much later
NEAR_YEARS = 1  # online first, or printed in January
CLOSE_FROM = 0.5  # share of words in common: from here the closest title is worth showing
_ID_OF = {  # the identifier that a fault says cannot exist
    FaultKind.DOI: "doi",
    FaultKind.REGISTRANT: "doi",
    FaultKind.ARXIV: "arxiv",
    FaultKind.PMID: "pmid",
    FaultKind.PMC: "pmc",
    FaultKind.ISBN: "isbn",
}
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
NOT_FOUND = (Status.OTHER_WORK, Status.IMPOSSIBLE, Status.UNVERIFIED, Status.UNCHECKED)
_NAMES = {"doi": "DOI ", "pmid": "PMID ", "pmc": "PMC", "arxiv": "arXiv:", "isbn": "ISBN "}


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
        Raises FetchError if it gave no answer: it is down, or allows no more requests.
        """
        ...


class Service(NamedTuple):
    """A service on the web, asked in one way; a source."""

    name: str
    lookup: Callable[[Citation], list[Work] | None]
    is_search: bool = False  # for a work of which no identifier is known
    is_status: bool = False  # for the notices about a work that the user's own sources have


@dataclass(slots=True)
class Answers:
    """What the sources that were asked about one reference have returned so far."""

    works: list[Work] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)  # names of the sources that answered
    failed: list[Unanswered] = field(default_factory=list)
    services: list[str] = field(default_factory=list)  # that were asked, even in vain

    def ask(self, source: Source, citation: Citation) -> bool:
        """Add a source's records, or its failure; False if it has no way to be asked."""
        try:
            records = source.lookup(citation)
        except FetchError as error:
            self.failed.append(Unanswered(source.name, error.reason, str(error)))
            return True
        if records is None:
            return False
        self.works += [replace(work, source=work.source or source.name) for work in records]
        self.answered.append(source.name)
        return True


class Field(StrEnum):
    """A part of a reference that is compared with the record."""

    TITLE = "title"
    AUTHORS = "authors"
    YEAR = "year"
    VENUE = "venue"
    DOI = "doi"


@dataclass(frozen=True, slots=True)
class Difference:
    """What the reference says, and what the record has."""

    field: Field
    cited: str
    known: str

    @property
    def note(self) -> Note:
        return Note(f"{self.field}_differs", {"cited": self.cited, "known": self.known})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known of one reference."""

    status: Status
    work: Annotated[
        Work | None, Doc("the record compared; if the work was not verified, the closest")
    ] = None
    differences: tuple[Difference, ...] = ()
    notices: Annotated[tuple[Notice, ...], Doc("in force, the gravest first")] = ()
    wrong_ids: Annotated[tuple[tuple[str, str], ...], Doc("identifiers of another work")] = ()
    unknown_ids: Annotated[
        tuple[tuple[str, str], ...], Doc("that no source has, though they can exist")
    ] = ()
    unconfirmed: Annotated[str, Doc("venue of a reference whose only record is a preprint")] = ""
    other: Annotated[Work | None, Doc("the work that a wrong identifier belongs to")] = None
    asked: Annotated[tuple[str, ...], Doc("sources that answered")] = ()
    failed: Annotated[tuple[Unanswered, ...], Doc("sources that gave no answer")] = ()
    archived: Annotated[str, Doc("the Wayback Machine's copy of the page cited")] = ""

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was found and what to do, for a reader."""
        return tuple(_notes(self))

    @property
    @written
    def messages(self) -> tuple[str, ...]:
        return tuple(map(str, self.notes))


class _Match(NamedTuple):
    """A record compared with a reference."""

    work: Work
    title: Likeness
    common: float  # share of words that the titles have in common
    authors: Authors
    years: int | None  # between the two; negative: the record is older. None: unknown
    venue: Likeness

    @property
    def is_same(self) -> bool:
        """Whether title and authors say that it is the work."""
        return self.title is Likeness.SAME and self.authors in (Authors.SAME, Authors.FEWER)

    @property
    def is_other(self) -> bool:
        """Whether it is certainly another work: by its title, and by its authors or year."""
        if self.title is not Likeness.OTHER or self.common >= CLOSE_FROM:
            return False
        if self.authors is Authors.UNKNOWN:
            return self.years is not None and abs(self.years) > NEAR_YEARS
        return self.authors is Authors.DISJOINT

    @property
    def is_by_title(self) -> bool:
        """Whether it is the work that the reference names, without its identifiers."""
        n_words = len(matching.words_of(self.work.title))
        dated = self.years is not None and abs(self.years) <= NEAR_YEARS
        is_titled = self.title is Likeness.SAME and self.year_agrees
        if self.work.kind == ABOUT_OTHERS and not is_titled:
            return False  # "Erratum: …"
        if self.is_same:
            return self.year_agrees or n_words >= FEW_TITLE_WORDS
        if self.title is Likeness.SAME:
            agrees = dated or self.venue is Likeness.SAME
            return n_words >= SAME_TITLE_WORDS or (n_words >= FEW_TITLE_WORDS and agrees)
        # "A model for trams" may be another paper by the authors of "A model of trams".
        near = self.title is Likeness.NEAR and self.authors is Authors.SAME and dated
        return near and len(self.work.authors) > 1 and self.venue is not Likeness.OTHER

    @property
    def rank(self) -> tuple[bool, ...]:
        """Orders records by how well they fit; one without a title only has notices."""
        names = self.authors in (Authors.SAME, Authors.FEWER, Authors.UNKNOWN)
        is_same, has_title = self.title is Likeness.SAME, bool(self.work.title)
        return is_same, has_title, names, self.year_agrees, self.venue is Likeness.SAME

    @property
    def year_agrees(self) -> bool:
        if self.years is None or abs(self.years) <= NEAR_YEARS:
            return True
        is_preprint = self.work.kind == "preprint" or matching.is_preprint(self.work.venue)
        return is_preprint and -PREPRINT_YEARS <= self.years < 0


def ask(citation: Citation, sources: Sequence[Source], services: Sequence[Service] = ()) -> Answers:
    """Ask every source, then each service what is still needed; a failure costs one answer."""
    answers = Answers()
    for source in sources:
        answers.ask(source, citation)
    for service in services:
        question = question_for(citation, service, answers)
        if question and answers.ask(service, question):
            answers.services.append(service.name)
    return answers


def decide(citation: Citation, answers: Answers, *, is_record: bool = False) -> Outcome:
    """Decide on a reference.

    Args:
        citation: the reference, with its faults.
        answers: of all sources.
        is_record: it comes from a bibliography's file, whose authors and venue are complete.
    """
    matches = [_compare(citation, work) for work in answers.works]
    wanted = ids_of(citation)
    wrong = [pair for pair in wanted if _is_wrong(pair, citation, matches)]
    own = [m for m in matches if not m.is_other and not m.work.ids.isdisjoint(wanted)]
    same = [m for m in matches if m.is_by_title]
    best = _best(own, same)
    unknown = _unknown_ids(wanted, matches) if answers.answered else []
    impossible = {_ID_OF.get(fault.kind) for fault in citation.faults}
    of_wrong = (m.work for m in matches if m.is_other and not m.work.ids.isdisjoint(wrong))
    outcome = Outcome(
        Status.UNVERIFIED,
        asked=tuple(dict.fromkeys(answers.answered)),
        failed=tuple(dict.fromkeys(answers.failed)),
        wrong_ids=tuple(wrong),
        unknown_ids=tuple(pair for pair in unknown if pair[0] not in impossible),
        other=next(of_wrong, None),
        archived=next((work.url for work in answers.works if not work.title and work.url), ""),
    )
    if best:
        versions = [best.work, *(m.work for m in (*own, *same) if m.is_same)]
        versions += [m.work for m in matches if _ids(m.work) & _ids(best.work)]
        outcome = replace(
            outcome,
            work=best.work,
            differences=tuple(_differences(citation, best, is_record, [*wrong, *unknown])),
            unconfirmed=_unconfirmed_venue(citation, best.work) if is_record else "",
            notices=in_force(n for work in versions for n in work.notices),
        )
    elif closest := max(matches, key=lambda m: m.common, default=None):
        outcome = replace(outcome, work=closest.work if closest.common >= CLOSE_FROM else None)
    return replace(outcome, status=_status(citation, outcome, is_found=best is not None))


def _best(own: Sequence[_Match], same: Sequence[_Match]) -> _Match | None:
    """The record to compare: one with an identifier of the reference, else one by its title."""
    best = max(own or same, key=lambda m: m.rank, default=None)
    if best and best.is_same:  # its preprint may also have been published
        return max([best, *(m for m in same if m.is_same)], key=lambda m: m.rank)
    return best


def question_for(citation: Citation, service: Service, answers: Answers) -> Citation | None:
    """What a service is to be asked after what was found: the reference, its work, or nothing.

    A work is searched for if it was not found, and identifiers are asked for until each is known
    and the reference agrees with a record. What only the user's own sources have may have been
    retracted since: its notices are asked for.
    """
    outcome = decide(citation, answers)
    if service.is_status:
        if outcome.status in (*NOT_FOUND, *GRAVE_STATUSES) or not outcome.work or answers.services:
            return None
        doi = outcome.work.doi
        return replace(citation, doi=doi or None, pmid=outcome.work.pmid if not doi else None)
    is_open = outcome.status is Status.DIFFERS or bool(outcome.unknown_ids)
    is_wanted = outcome.status in NOT_FOUND or (is_open and not service.is_search)
    return citation if is_wanted else None


def _status(citation: Citation, outcome: Outcome, *, is_found: bool) -> Status:
    statuses = [Status(notice.kind) for notice in outcome.notices]
    if outcome.wrong_ids:
        statuses.append(Status.OTHER_WORK)
    if any(fault.kind.is_impossible for fault in citation.faults):
        statuses.append(Status.IMPOSSIBLE)
    if outcome.differences:
        statuses.append(Status.DIFFERS)
    # The work may be found, but no source know this DOI of it, or its publication.
    has_unknown_doi = any(kind == "doi" for kind, _ in outcome.unknown_ids)
    if not is_found or has_unknown_doi or outcome.unconfirmed:
        is_open = bool(outcome.failed) or not outcome.asked
        statuses.append(Status.UNCHECKED if is_open else Status.UNVERIFIED)
    return min(statuses, key=list(Status).index, default=Status.AGREES)


def _compare(citation: Citation, work: Work) -> _Match:
    cited, place = citation.title or "", citation.publisher or ""
    title = matching.titles(cited, work.title)
    if title is not Likeness.SAME and matching.titles(cited, work.venue) is Likeness.SAME:
        title = Likeness.SAME  # a chapter, cited by its book
    elif title is Likeness.OTHER and matching.titles(place, work.title) is Likeness.SAME:
        title = Likeness.UNKNOWN  # a book, cited for a chapter
    stated = [int(year) for year in _YEAR.findall(citation.date or "")]
    gap = min((known - year for known in work.years for year in stated), key=abs, default=None)
    if gap and gap < 0 and "book" in work.kind and work.ids.isdisjoint(ids_of(citation)):
        gap = None  # a later edition
    venues = [matching.venues(place, name) for name in (work.venue, work.publisher)]
    more = any(ET_AL.search(f" {name}") for name in citation.authors)
    return _Match(
        work,
        title,
        matching.common_words(cited, work.title),
        matching.authors(citation.authors, work.authors, more=more),
        gap,
        Likeness.SAME if Likeness.SAME in venues else venues[0],
    )


def _ids(work: Work) -> set[WorkId]:
    """What only this work has: a chapter has the ISBN of its book."""
    return {pair for pair in work.ids if pair[0] != "isbn"}


def _is_wrong(pair: WorkId, citation: Citation, matches: Sequence[_Match]) -> bool:
    """Whether every source has another work for an identifier.

    The ISBN of a book may stand with a chapter of it, unless a template says that it is the book's.
    """
    having = [match for match in matches if pair in match.work.ids]
    is_own = pair[0] != "isbn" or "book" in (citation.template or "")
    return is_own and bool(having) and all(match.is_other for match in having)


def _unknown_ids(wanted: Sequence[WorkId], matches: Sequence[_Match]) -> list[WorkId]:
    """The identifiers that no record has; a DOI of arXiv counts as its arXiv number."""
    known = {pair for match in matches for pair in match.work.ids}
    has_arxiv = any(kind == "arxiv" and (kind, value) in known for kind, value in wanted)
    lacking = [pair for pair in wanted if pair not in known]
    return [p for p in lacking if not (has_arxiv and p[0] == "doi" and arxiv_of(p[1]))]


def _differences(
    citation: Citation, match: _Match, is_record: bool, not_its: Sequence[WorkId]
) -> Iterable[Difference]:
    work = match.work
    if match.title in (Likeness.NEAR, Likeness.OTHER):
        yield Difference(Field.TITLE, citation.title or "", work.title)
    unlike = (Authors.OTHERS, Authors.DISJOINT, *([Authors.FEWER] if is_record else []))
    if match.authors in unlike and match.title is not Likeness.UNKNOWN:
        yield Difference(Field.AUTHORS, "; ".join(citation.authors), "; ".join(work.authors))
    if not match.year_agrees:
        yield Difference(Field.YEAR, citation.date or "", str(work.years[0]))
    of_journal = any(kind in (citation.template or "") for kind in ("journal", "conference"))
    if match.venue is Likeness.OTHER and (is_record or of_journal):
        yield Difference(Field.VENUE, citation.publisher or "", work.venue)
    doi = next((value for kind, value in not_its if kind == "doi"), "")
    preprints = doi.startswith(ARXIV_DOI) or work.doi.startswith(ARXIV_DOI)
    if doi and work.doi and doi != work.doi and not preprints and match.years == 0:
        yield Difference(Field.DOI, doi, work.doi)


def _unconfirmed_venue(citation: Citation, work: Work) -> str:
    """The venue of a reference if its record is only a preprint."""
    venue = citation.publisher or ""
    is_only_preprint = not work.venue or matching.is_preprint(work.venue)
    is_open = work.kind == "preprint" and is_only_preprint and not matching.is_preprint(venue)
    return venue if is_open else ""


def _notes(outcome: Outcome) -> Iterable[Note]:
    work, sources = outcome.work, ", ".join(outcome.asked)
    for notice in outcome.notices:
        about = ", ".join(filter(None, (notice.date, notice.doi and f"doi:{notice.doi}")))
        yield Note(f"work_{notice.kind}", {"about": f" ({about})" if about else ""})
    if outcome.wrong_ids and outcome.other:
        title = outcome.other.title
        yield Note("id_of_other_work", {"id": _ids_text(outcome.wrong_ids), "title": title})
    if outcome.status is Status.UNCHECKED:
        why = "; ".join(f"{failure.source}: {failure.reason}" for failure in outcome.failed)
        yield Note("reference_unchecked", {"why": why}) if why else Note("reference_not_asked")
    elif outcome.unknown_ids and outcome.status is not Status.OTHER_WORK:
        yield Note("id_unknown", {"id": _ids_text(outcome.unknown_ids), "sources": sources})
    yield from (difference.note for difference in outcome.differences)
    if outcome.unconfirmed:
        yield Note("venue_unconfirmed", {"venue": outcome.unconfirmed})
    elif outcome.status is Status.UNVERIFIED and not outcome.unknown_ids:
        yield Note("reference_unverified", {"sources": sources})
    if outcome.status is Status.UNVERIFIED and work and not outcome.unconfirmed:
        yield Note("closest_record", {"title": work.title})
    if outcome.archived:
        yield Note("page_archived", {"url": outcome.archived})


def _ids_text(ids: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{_NAMES[kind]}{value}" for kind, value in ids)
