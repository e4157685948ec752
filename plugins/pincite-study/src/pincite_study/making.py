"""Creates studies for `pincite study`, in the database of a server that need not run."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pincite.corpus.engines import EmbeddedCorpus
from pincite.documents.collection import Sources, open_sources
from pincite.errors import InputError
from pincite.types import Document, Evidence
from pincite.verbs.ask.report import AnswerReport
from pincite.verbs.verify.report import Report
from pincite_server.database import Database
from pincite_server.identity import LOCAL
from pincite_server.jobs import JobStore
from pincite_server.settings import load
from pincite_study.items import (
    DocumentOf,
    Gathered,
    Sample,
    answers_of,
    documents_beside,
    draw_sample,
    gather,
)
from pincite_study.preferences import Comparison
from pincite_study.studies import CONSENTS, Plan, Study, StudyStore, default_sample

_Report = TypeVar("_Report", Report, AnswerReport)


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
    with closing(Database(load(given, config).database_url)) as database:
        database.create_tables()
        yield Stores(StudyStore(database), JobStore(database))


def create_study(stores: Stores, results: Sequence[str], how: Making) -> Study:
    """Create a study of files or jobs; raise InputError if they have nothing that can be rated."""
    if how.compare == "answers":
        answers = [(Path(name).stem, _read(stores, name, AnswerReport)[0]) for name in results]
        gathered, name = answers_of(answers), " / ".join(name for name, _ in answers)
    else:
        gathered, name = _gather(stores, results, how)
    sample = how.sample or default_sample(how.compare)
    worst = how.worst or 0.0
    chosen = draw_sample(gathered.items, sample, how.n, how.seed, how.compare, worst=worst)
    plan = Plan(
        name=how.name or name,
        consent=text_of(how.consent) if how.consent else CONSENTS[how.compare],
        sample=sample,
        per_item=how.per_item,
        seed=how.seed,
        compare=how.compare,
        n_without_text=gathered.n_without_text,
        n_one_passage=gathered.n_one_passage,
    )
    return stores.studies.create(LOCAL, plan, chosen)


def _gather(stores: Stores, results: Sequence[str], how: Making) -> tuple[Gathered, str]:
    """What reports of `verify` have that can be rated, and the title of the first."""
    sources = open_sources(how.sources) if how.sources else None
    gathered, titles = Gathered(), list[str]()
    with ExitStack() as stack:
        corpus = stack.enter_context(EmbeddedCorpus.open(how.corpus, None)) if how.corpus else None
        for result in results:
            report, is_job = _read(stores, result, Report)
            beside = documents_beside(stores.jobs, result)
            document_of = beside if is_job else _at_hand(report, sources, corpus)
            gathered += gather(report, document_of, how.compare, how.seed)
            titles.append(report.title)
    return gathered, titles[0] or "Untitled"


def _read(stores: Stores, result: str, kind: type[_Report]) -> tuple[_Report, bool]:
    """The report in a file or of a server's job, and whether it is a job's."""
    kept = None if Path(result).is_file() else stores.jobs.result(result)
    text = text_of(Path(result)) if kept is None else kept.decode()
    try:
        return kind.from_json(text), kept is not None
    except InputError as error:
        verb = "verify" if kind is Report else "ask"
        raise InputError(f"{result} is not a report of `pincite {verb} --json`: {error}") from error


def _at_hand(report: Report, sources: Sources | None, corpus: EmbeddedCorpus | None) -> DocumentOf:
    """Find a report's documents by id where they lie; one whose text has changed has another id."""
    outcomes = [(r.citation.url, r.outcome) for f in report.findings for r in f.citations]
    read = [url or seen.passage.url for url, seen in outcomes if isinstance(seen, Evidence)]
    cited = [sources.get(url) for url in read] if sources else []
    urls = [s.evidence.passage.url for f in report.findings for s in f.suggestions]
    suggested = corpus.get(urls) if corpus else []
    return {d.doc_id: d for d in (*cited, *suggested) if isinstance(d, Document)}.get


def text_of(path: Path) -> str:
    """The text of a file; InputError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from error
