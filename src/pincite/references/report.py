"""Checks a list of references, and reports on them as a table, CSV, JSON or a bibliography."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

from rich.console import Console
from rich.text import Text

from pincite import errors
from pincite.notes import Note
from pincite.references import faults, outcomes
from pincite.references.outcomes import Answers, Outcome, Service, Source, Status, ask, decide
from pincite.references.read import Reference
from pincite.references.works import ARXIV_DOI, Work
from pincite.report import cells
from pincite.report.cells import WORKS
from pincite.text.dates import stated_date
from pincite.text.identifiers import ET_AL
from pincite.types import INLINE, Doc, written

ORDER = list(Status)  # the worst first
COLUMNS = (
    "id status title authors date venue doi pmid faults findings record_title record_authors "
    "record_year record_venue record_doi record_source notice_doi notice_date asked"
).split()
TITLE_WIDTH, LINE_WIDTH = 100, 240
KINDS = frozenset("article-journal book chapter paper-conference report thesis webpage".split())


@dataclass(frozen=True, slots=True)
class Result:
    """One reference, and what is known of it."""

    reference: Reference = field(metadata=INLINE)
    outcome: Outcome

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is wrong with it as written, and what was found."""
        return (*(fault.note for fault in self.reference.citation.faults), *self.outcome.notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencesReport:
    """The results of one run, in the order of the file."""

    schema_version: Literal["1"] = "1"
    results: tuple[Result, ...]
    n_references: Annotated[int, Doc("more than results if the run was stopped")]
    sources: Annotated[tuple[str, ...], Doc("where the references were looked up")]
    stopped: Annotated[bool, Doc("by Ctrl-C")] = False
    created: Annotated[str, Doc("ISO timestamp, UTC")]

    @property
    @written
    def counts(self) -> Mapping[str, int]:
        counts = Counter(result.outcome.status for result in self.results)
        return {str(status): counts[status] for status in ORDER}


def check(
    references: Sequence[Reference],
    sources: Sequence[Source],
    today: date,
    progress: Callable[[str, int, int], None] = lambda step, done, total: None,
    services: Sequence[Service] = (),
) -> ReferencesReport:
    """Look every reference up. After Ctrl-C, report on those that were."""
    cited = faults.with_faults([reference.citation for reference in references], today)
    results, stopped = list[Result](), False
    try:
        for reference, citation in zip(references, cited, strict=True):
            results.append(_result(replace(reference, citation=citation), sources, services))
            progress("looking up references", len(results), len(references))
    except KeyboardInterrupt:
        stopped = True
    return ReferencesReport(
        results=tuple(results),
        n_references=len(references),
        sources=tuple(dict.fromkeys(source.name for source in (*sources, *services))),
        stopped=stopped,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _result(reference: Reference, sources: Sequence[Source], services: Sequence[Service]) -> Result:
    def look_up() -> Outcome:
        answers = ask(citation, sources, services)
        return decide(citation, answers, is_record=reference.is_record)

    citation = reference.citation  # a bug costs one reference
    return Result(reference, errors.attempt(look_up, lambda _: decide(citation, Answers())))


def print_report(report: ReferencesReport, console: Console) -> None:
    """Print the counts, then every reference that needs a look, the worst first."""
    for status in ORDER:
        if n := report.counts[status]:
            look = WORKS[status]
            console.print(Text(f"{n:5} {look.sign} {look.label}", look.style))
    for result in sorted(report.results, key=lambda r: ORDER.index(r.outcome.status)):
        if not (notes := result.notes):
            continue
        look, citation = WORKS[result.outcome.status], result.reference.citation
        name = cells.shorten(citation.title or citation.text or citation.url or "–", TITLE_WIDTH)
        text = Text(f"\n{look.sign} {look.label}  ", look.style)
        text.append(f"{cells.one_line(citation.citation_id)}  {name}", "not bold default")
        text.append("".join(f"\n    {cells.shorten(str(n), LINE_WIDTH)}" for n in notes), "dim")
        console.print(text)


def to_csv(report: ReferencesReport) -> str:
    return cells.csv_text(COLUMNS, (_row(result) for result in report.results))


def _row(result: Result) -> list[str | float | None]:
    citation, outcome = result.reference.citation, result.outcome
    work = outcome.work or outcome.other or Work("")
    notice = next(iter(outcome.notices), None)
    return [
        *(citation.citation_id, str(outcome.status), citation.title),
        *("; ".join(citation.authors), citation.date, citation.publisher),
        *(citation.doi, citation.pmid),
        " | ".join(fault.message for fault in citation.faults),
        " | ".join(outcome.messages),
        *(work.title, "; ".join(work.authors), "".join(map(str, work.years[:1]))),
        *(work.venue, work.doi, work.source),
        *((notice.doi, notice.date) if notice else ("", "")),
        ", ".join(outcome.asked),
    ]


def csl_item(result: Result) -> dict[str, Any]:
    """Return a reference as a CSL-JSON item, with the fields of its record if that was found.

    The record of a work that was not verified, or that is another work, changes nothing.
    """
    reference, outcome = result.reference, result.outcome
    citation = reference.citation
    record = (outcome.work if outcome.status not in outcomes.NOT_FOUND else None) or Work("")
    year = str(record.years[0]) if record.years else ""
    stated = stated_date(citation.date or "")
    issued = stated if not year or stated[:4] == year else year
    fields = {
        "title": record.title or citation.title,
        "container-title": record.venue or citation.publisher,
        "DOI": record.doi or citation.doi or (citation.arxiv and f"{ARXIV_DOI}{citation.arxiv}"),
        "PMID": record.pmid or citation.pmid, "ISBN": citation.isbn, "URL": citation.url,
        "PMCID": (record.pmc and f"PMC{record.pmc}") or citation.pmc,
        "volume": record.volume or reference.volume, "issue": record.issue or reference.issue,
        "page": record.pages or citation.pages, "ISSN": record.issn or citation.issn,
    }  # fmt: skip
    names = record.authors or citation.authors
    people = [name for name in names if not ET_AL.fullmatch(f" {name}")]
    item = {
        "id": citation.citation_id,
        "type": reference.kind if reference.kind in KINDS else "document",
        **{name: cells.one_line(value or "") for name, value in fields.items()},
        "author": people,
        "more": len(people) < len(names),  # no field of CSL: "et al."
        "issued": {"date-parts": [[int(part) for part in issued.split("-")]]} if issued else {},
        "status": "retracted" if outcome.status is Status.RETRACTED else "",
    }
    return {name: value for name, value in item.items() if value}
