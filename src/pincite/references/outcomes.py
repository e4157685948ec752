"""Decides what is known of a reference, from the records that the sources returned.

Only a positive finding accuses: an identifier that cannot exist, or one behind which a source has
another work. A work that no source has may well exist.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, NamedTuple

from pincite.documents.dates import stated_date
from pincite.notes import Note
from pincite.references import matching
from pincite.references.matching import Authors, Likeness
from pincite.references.works import (
    ARXIV_DOI,
    Lookups,
    Notice,
    NoticeKind,
    Unanswered,
    Work,
    ids_of,
)
from pincite.types import Citation, Doc, written


class Status(StrEnum):
    """What was found about a reference; the worst first."""

    OTHER_WORK = "other_work"  # an identifier belongs to another work
    RETRACTED = "retracted"
    WITHDRAWN = "withdrawn"
    IMPOSSIBLE = "impossible"  # an identifier cannot exist
    PARTLY_RETRACTED = "partly_retracted"
    CONCERN = "expression_of_concern"
    DIFFERS = "differs"  # the work was found; the reference describes it differently
    UNVERIFIED = "unverified"  # no source that was asked has it
    UNCHECKED = "unchecked"  # a source gave no answer
    SUPERSEDED = "superseded"
    CORRECTED = "corrected"
    AGREES = "agrees"

    @property
    def accuses(self) -> bool:
        return self in (Status.OTHER_WORK, Status.IMPOSSIBLE)


_GRAVE = {
    NoticeKind.RETRACTED: Status.RETRACTED,
    NoticeKind.WITHDRAWN: Status.WITHDRAWN,
    NoticeKind.PARTLY_RETRACTED: Status.PARTLY_RETRACTED,
    NoticeKind.CONCERN: Status.CONCERN,
}
_LESSER = {NoticeKind.SUPERSEDED: Status.SUPERSEDED, NoticeKind.CORRECTED: Status.CORRECTED}


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
    unknown_ids: Annotated[tuple[tuple[str, str], ...], Doc("that no source has")] = ()
    unconfirmed: Annotated[str, Doc("venue of a reference whose only record is a preprint")] = ""
    other: Annotated[Work | None, Doc("the work that a wrong identifier belongs to")] = None
    asked: Annotated[tuple[str, ...], Doc("sources that answered")] = ()
    failed: Annotated[tuple[Unanswered, ...], Doc("sources that gave no answer")] = ()

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was found and what to do, for a reader."""
        return tuple(_notes(self))

    @property
    @written
    def messages(self) -> tuple[str, ...]:
        return tuple(map(str, self.notes))


SAME_TITLE_WORDS = 6  # from here, two works with one title but other authors are too rare to expect
FEW_TITLE_WORDS = 4  # with the same year or venue; below, a title says nothing without authors
PREPRINT_YEARS = 3  # a preprint may be published so much later
NEAR_YEARS = 1  # online first, or printed in January


class _Match(NamedTuple):
    """A record compared with a reference."""

    work: Work
    title: Likeness
    authors: Authors
    years: int | None  # between the two; negative: the record is older. None: unknown
    venue: Likeness

    @property
    def names_agree(self) -> bool:
        return self.authors in (Authors.SAME, Authors.FEWER)

    @property
    def rank(self) -> tuple[bool, bool, bool, float]:
        """Orders records by how well they fit."""
        names = self.names_agree or self.authors is Authors.UNKNOWN
        return self.title is Likeness.SAME, names, self.year_agrees, self.venue is Likeness.SAME

    @property
    def year_agrees(self) -> bool:
        if self.years is None:
            return True
        is_preprint = self.work.kind == "preprint" or matching.is_preprint(self.work.venue)
        return abs(self.years) <= NEAR_YEARS or (is_preprint and -PREPRINT_YEARS <= self.years < 0)


def decide(citation: Citation, found: Lookups, *, is_record: bool = False) -> Outcome:
    """Decide on a reference.

    Args:
        citation: the reference, with its faults.
        found: what all sources returned.
        is_record: it comes from a bibliography's file, whose authors and venue are complete.
    """
    matches = [_compared(citation, work) for work in found.works]
    wanted = ids_of(citation)
    wrong = _wrong_ids(wanted, matches)
    own = [m for m in matches if _shares_id(m.work, wanted) and not _is_other(m)]
    by_title = [m for m in matches if _is_by_title(m)]
    best = max(own or by_title, key=lambda m: m.rank, default=None)
    if own and best and best.title is Likeness.SAME and best.names_agree:
        # The preprint of an identifier may also have been published.
        same = [m for m in by_title if m.title is Likeness.SAME and m.names_agree]
        best = max([best, *same], key=lambda m: m.rank)
    known_ids = {pair for match in matches for pair in match.work.ids}
    unknown = _unknown_ids(wanted, known_ids) if found.asked else []
    outcome = Outcome(
        Status.UNVERIFIED,
        asked=tuple(dict.fromkeys(found.asked)),
        failed=tuple(found.failed),
        wrong_ids=tuple(wrong),
        unknown_ids=tuple(unknown),
        other=next((m.work for m in matches if _shares_id(m.work, wrong) and _is_other(m)), None),
    )
    if best:
        differences = _differences(citation, best, is_record, [*wrong, *unknown])
        venue = _unconfirmed(citation, best) if is_record else ""
        outcome = replace(
            outcome, work=best.work, differences=tuple(differences), unconfirmed=venue
        )
        outcome = replace(outcome, notices=_in_force(m.work for m in (own or by_title)))
    else:
        outcome = replace(outcome, work=_closest(citation, matches))
    return replace(outcome, status=_status(citation, outcome, best is not None, found.failed))


def _status(
    citation: Citation, outcome: Outcome, is_found: bool, failed: Sequence[Unanswered]
) -> Status:
    kinds = [notice.kind for notice in outcome.notices]
    found = [(_GRAVE | _LESSER)[kind] for kind in kinds if is_found]
    if outcome.wrong_ids:
        found.append(Status.OTHER_WORK)
    if any(fault.kind.is_impossible for fault in citation.faults):
        found.append(Status.IMPOSSIBLE)
    if not is_found:
        found.append(Status.UNCHECKED if failed or not outcome.asked else Status.UNVERIFIED)
    if outcome.differences:
        found.append(Status.DIFFERS)
    doi = any(kind == "doi" for kind, _ in outcome.unknown_ids)
    # The work exists, but no source knows this DOI of it, or its publication.
    if (doi and not failed) or outcome.unconfirmed:
        found.append(Status.UNVERIFIED)
    return min(found, key=list(Status).index, default=Status.AGREES)


# ── Comparing ────────────────────────────────────────────────────────────────────────────────────


def _compared(citation: Citation, work: Work) -> _Match:
    title = matching.titles(citation.title or "", work.title)
    if title is not Likeness.SAME and work.venue:  # a chapter, cited by its book
        whole = matching.titles(citation.title or "", work.venue)
        title = whole if whole is Likeness.SAME else title
    year = _year(citation)
    gaps = [known - year for known in work.years] if year else []
    venue = matching.venues(citation.publisher or "", work.venue)
    if venue is Likeness.OTHER and work.publisher:
        named = matching.venues(citation.publisher or "", work.publisher)
        venue = named if named is Likeness.SAME else venue
    return _Match(
        work,
        title,
        matching.authors(citation.authors, work.authors, more=_has_more(citation)),
        min(gaps, key=abs, default=None),
        venue,
    )


def _year(citation: Citation) -> int | None:
    stated = stated_date(citation.date or "")
    return int(stated[:4]) if stated else None


def _has_more(citation: Citation) -> bool:
    return any(matching.ET_AL.search(f" {name}") for name in citation.authors)


def _shares_id(work: Work, wanted: Sequence[tuple[str, str]]) -> bool:
    return not work.ids.isdisjoint(wanted)


def _is_other(match: _Match) -> bool:
    """Whether a record is certainly of another work: by its title, and by its authors or year."""
    if match.title is not Likeness.OTHER:
        return False
    if match.authors is Authors.UNKNOWN:
        return match.years is not None and abs(match.years) > NEAR_YEARS
    return match.authors is Authors.DISJOINT


def _wrong_ids(
    wanted: Sequence[tuple[str, str]], matches: Sequence[_Match]
) -> list[tuple[str, str]]:
    """The identifiers that every source has for another work."""
    wrong = []
    for pair in wanted:
        having = [match for match in matches if pair in match.work.ids]
        if having and all(map(_is_other, having)):
            wrong.append(pair)
    return wrong


def _unknown_ids(
    wanted: Sequence[tuple[str, str]], known: set[tuple[str, str]]
) -> list[tuple[str, str]]:
    """The identifiers that no record has; a DOI of arXiv counts as its arXiv number."""
    lacking = [pair for pair in wanted if pair not in known]
    has_arxiv = any(kind == "arxiv" and (kind, value) in known for kind, value in wanted)
    return [p for p in lacking if not (has_arxiv and p[0] == "doi" and p[1].startswith(ARXIV_DOI))]


def _is_by_title(match: _Match) -> bool:
    """Whether a record is of the work that a reference names, without its identifiers."""
    n_words = len(matching.words_of(match.work.title))
    dated = match.years is not None and abs(match.years) <= NEAR_YEARS
    if match.title is Likeness.SAME:
        if match.names_agree:
            return match.year_agrees or n_words >= FEW_TITLE_WORDS
        agrees = dated or match.venue is Likeness.SAME
        return n_words >= SAME_TITLE_WORDS or (n_words >= FEW_TITLE_WORDS and agrees)
    # "A model for trams" may be another paper by the authors of "A model of trams".
    near = match.title is Likeness.NEAR and match.authors is Authors.SAME and dated
    return near and len(match.work.authors) > 1 and match.venue is not Likeness.OTHER


def _closest(citation: Citation, matches: Sequence[_Match]) -> Work | None:
    def likeness(match: _Match) -> float:
        return matching.similarity(citation.title or "", match.work.title)

    best = max(matches, key=likeness, default=None)
    return best.work if best and likeness(best) >= CLOSE_FROM else None


CLOSE_FROM = 0.5  # share of words in common from which the closest title is worth showing


def _differences(
    citation: Citation, match: _Match, is_record: bool, not_its: Sequence[tuple[str, str]]
) -> Iterable[Difference]:
    work = match.work
    if match.title in (Likeness.NEAR, Likeness.OTHER):
        yield Difference(Field.TITLE, citation.title or "", work.title)
    unlike = (Authors.OTHERS, Authors.DISJOINT, *([Authors.FEWER] if is_record else []))
    if match.authors in unlike:
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


def _unconfirmed(citation: Citation, match: _Match) -> str:
    """The venue of a reference if its record is only a preprint."""
    venue, work = citation.publisher or "", match.work
    is_only_preprint = not work.venue or matching.is_preprint(work.venue)
    cited_as_published = venue and not matching.is_preprint(venue)
    return venue if work.kind == "preprint" and is_only_preprint and cited_as_published else ""


def _in_force(works: Iterable[Work]) -> tuple[Notice, ...]:
    """The notices of a work, without retractions that were taken back later."""
    stated = {notice: None for work in works for notice in work.notices}
    reinstated = max((n.date for n in stated if n.kind is NoticeKind.REINSTATED), default="")
    order = list(NoticeKind)
    kept = [n for n in stated if n.kind is not NoticeKind.REINSTATED]
    kept = [n for n in kept if n.kind not in _GRAVE or n.date > reinstated or not reinstated]
    return tuple(sorted(kept, key=lambda n: (order.index(n.kind), n.date)))


# ── Messages ─────────────────────────────────────────────────────────────────────────────────────


def _notes(outcome: Outcome) -> Iterable[Note]:
    work, sources = outcome.work, ", ".join(outcome.asked)
    for notice in outcome.notices:
        about = ", ".join(filter(None, (notice.date, notice.doi and f"doi:{notice.doi}")))
        yield Note(f"work_{notice.kind}", {"about": f" ({about})" if about else ""})
    if outcome.wrong_ids and outcome.other:
        title = outcome.other.title
        yield Note("id_of_other_work", {"id": _shown(outcome.wrong_ids), "title": title})
    if outcome.status is Status.UNCHECKED:
        yield Note(
            "reference_unchecked",
            {"why": "; ".join(f"{each.source}: {each.reason}" for each in outcome.failed)},
        )
    elif outcome.unknown_ids and outcome.status is not Status.OTHER_WORK:
        yield Note("id_unknown", {"id": _shown(outcome.unknown_ids), "sources": sources})
    yield from (difference.note for difference in outcome.differences)
    if outcome.unconfirmed:
        yield Note("venue_unconfirmed", {"venue": outcome.unconfirmed})
    elif outcome.status is Status.UNVERIFIED and not outcome.unknown_ids:
        yield Note("reference_unverified", {"sources": sources})
    if outcome.status is Status.UNVERIFIED and work and not outcome.unconfirmed:
        yield Note("closest_record", {"title": work.title})


_NAMES = {"doi": "DOI ", "pmid": "PMID ", "pmc": "PMC", "arxiv": "arXiv:", "isbn": "ISBN "}


def _shown(ids: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{_NAMES[kind]}{value}" for kind, value in ids)
