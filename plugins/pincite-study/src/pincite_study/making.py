"""Creates studies for `pincite study`, in the database of a server that need not run."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pincite.corpus.engines import EmbeddedCorpus
from pincite.documents.collection import open_sources
from pincite.errors import InputError
from pincite.types import CitationResult, Document, Evidence
from pincite.verbs.ask.report import AnswerReport
from pincite.verbs.verify.report import Report
from pincite_server.database import Database
from pincite_server.identity import LOCAL
from pincite_server.jobs import JobStore
from pincite_server.settings import load
from pincite_study.items import DocumentOf, Sample, documents_beside, draw_sample
from pincite_study.preferences import Comparison
from pincite_study.studies import (
    CONSENTS,
    Plan,
    Study,
    StudyStore,
    default_sample,
    plan_answers,
    plan_reports,
)


@dataclass(frozen=True, slots=True)
class Making:
    """The options of `pincite study create`."""

    name: str | None = None  # None: as the first article
    compare: Comparison = "citations"
    sample: Sample | None = None  # None: low scores; of answers, any
    n: int | None = None  # items at most; None: all
    worst: float | None = None  # share of the items with the lowest scores; None: see `draw_sample`
    per_item: int = 3
    seed: int = 0
    consent: Path | None = None  # None: the text that is shipped
    sources: Path | None = None  # where the cited pages lie
    corpus: Path | None = None  # where the suggestions lie


@dataclass(frozen=True, slots=True)
class Stores:
    """The parts of a server's database that studies need."""

    studies: StudyStore
    jobs: JobStore

    def study(self, study_id: str) -> Study:
        """Return a study by its id; raise InputError if there is none."""
        study = self.studies.get(study_id)
        if study is None:
            raise InputError(f"There is no study {study_id!r}. List them: pincite study list")
        return study


@contextmanager
def open_stores(given: Mapping[str, object], config: Path | None) -> Iterator[Stores]:
    """Open the stores of the server with these settings, and create missing tables."""
    settings = load(given, config)
    database = Database(settings.database_url)
    try:
        database.create_tables()
        yield Stores(StudyStore(database), JobStore(database))
    finally:
        database.close()


def create_study(stores: Stores, results: Sequence[str], how: Making) -> Study:
    """Create a study of files or jobs; raise InputError if they have nothing that can be rated."""
    consent = text_of(how.consent) if how.consent else CONSENTS[how.compare]
    sample = how.sample or default_sample(how.compare)
    plan = Plan(how.name or "", consent, sample, how.per_item, how.seed, how.compare)
    if how.compare == "answers":
        by_name = [(Path(result).stem, _answers(stores, result)) for result in results]
        plan, items = plan_answers(plan, by_name)
        chosen = draw_sample(items, plan.sample, how.n, plan.seed, plan.compare)
        return stores.studies.create(LOCAL, plan, chosen)
    with ExitStack() as stack:
        places = _Places(how, stack)
        reports = [_report(stores, result, places) for result in results]
        plan, items = plan_reports(plan, reports)
    chosen = draw_sample(items, plan.sample, how.n, plan.seed, plan.compare, worst=how.worst or 0.0)
    first_title = reports[0][0].title
    plan = replace(plan, name=how.name or first_title or "Untitled")
    return stores.studies.create(LOCAL, plan, chosen)


def _report(stores: Stores, result: str, places: "_Places") -> tuple[Report, DocumentOf]:
    """A report, and where its documents are."""
    path = Path(result)
    if not path.is_file() and (kept := stores.jobs.result(result)) is not None:
        return _parse(kept.decode(), result), documents_beside(stores.jobs, result)
    report = _parse(text_of(path), result)
    return report, places.document_of(report)


def _answers(stores: Stores, result: str) -> AnswerReport:
    path = Path(result)
    kept = None if path.is_file() else stores.jobs.result(result)
    try:
        return AnswerReport.from_json(text_of(path) if kept is None else kept.decode())
    except InputError as error:
        raise InputError(f"{result} is not a report of `pincite ask --json`: {error}") from error


def _parse(text: str, name: str) -> Report:
    try:
        return Report.from_json(text)
    except InputError as error:
        raise InputError(f"{name} is not a report of `pincite verify --json`: {error}") from error


class _Places:
    """Folders where documents lie, asked by the addresses that a report names."""

    def __init__(self, how: Making, stack: ExitStack) -> None:
        self._sources = open_sources(how.sources) if how.sources else None
        self._corpus = (
            stack.enter_context(EmbeddedCorpus.open(how.corpus, None)) if how.corpus else None
        )

    def document_of(self, report: Report) -> DocumentOf:
        """Find documents by id; one whose text has changed has another id."""
        cited = [self._cited(r) for finding in report.findings for r in finding.citations]
        urls = [s.evidence.passage.url for finding in report.findings for s in finding.suggestions]
        suggested = self._corpus.get(urls) if self._corpus else ()
        return {document.doc_id: document for document in (*cited, *suggested) if document}.get

    def _cited(self, result: CitationResult) -> Document | None:
        if self._sources is None or not isinstance(result.outcome, Evidence):
            return None
        document = self._sources.get(result.citation.url or result.outcome.passage.url)
        return document if isinstance(document, Document) else None


def text_of(path: Path) -> str:
    """The text of a file; InputError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from error
