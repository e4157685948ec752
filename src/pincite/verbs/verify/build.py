"""Builds the `verify` pipeline from settings, and runs it on articles."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pincite import errors, runtime
from pincite.documents import text as document_text
from pincite.documents.collection import Problem, open_sources
from pincite.judgement.findings import flag_precisions, rank_findings
from pincite.library import private_copies
from pincite.library.exclusions import Exclusions
from pincite.llm.calls import notes_of
from pincite.models.routing import RoutedVerifier
from pincite.notes import Note, as_written
from pincite.protocols import Progress, Verifier
from pincite.references import faults, outcomes
from pincite.references.outcomes import Field, Service, Source
from pincite.references.works import ids_of
from pincite.settings import POLITENESS, Settings, public_settings
from pincite.types import (
    Article,
    Citation,
    CitedWork,
    Finding,
    Reason,
    Unchecked,
    Uncited,
    WorkStatus,
)
from pincite.verbs.verify import estimate
from pincite.verbs.verify.article_files import ArticleFiles, match_files
from pincite.verbs.verify.better_sources import BetterSources
from pincite.verbs.verify.cited_copies import CitedCopies, corpus_copies
from pincite.verbs.verify.estimate import Estimate
from pincite.verbs.verify.pipeline import VerifyPipeline
from pincite.verbs.verify.report import Report, coverage_of
from pincite.wiki.suggest import correct_template, date_format_of
from pincite.wiki.uncited import find_uncited, is_read

if TYPE_CHECKING:
    from pincite.corpora import Corpora
    from pincite.library.web_pages import WebCandidates
    from pincite.verbs.verify.second_opinion import SecondOpinion
    from pincite.web.sources import FetchStep, WebPages

# Settings that change how fast or where the work is done, but never the results.
WITHOUT_EFFECT = POLITENESS | set(
    "models.threads library.feedback_file judge.at_once judge.seconds embeddings.batch "
    "embeddings.at_once embeddings.seconds".split()
)
OF_OTHERS = ("check.", "ask.", "chat.", "claimreview.")  # settings of the other verbs
SHARED = ("chat.url", "chat.model")  # for expansion "server"
OF_A_JUDGE = ("judge.", "budget.")  # used only with a second opinion
OF_WORKS = ("journal", "book", "conference", "thesis", "report")  # in names of templates
PARAMETERS = {Field.TITLE: "title", Field.YEAR: "date", Field.VENUE: "publisher", Field.DOI: "doi"}


@dataclass(frozen=True, slots=True)
class WorkLookup:
    """Looks cited works up in the catalogue of works and, if allowed, in services."""

    sources: Sequence[Source] = ()
    services: Sequence[Service] = ()

    def on(
        self, article: Article, findings: Sequence[Finding], progress: Callable[[int, int], None]
    ) -> Iterator[Finding]:
        """Yield the findings with what is known of their works; each is looked up once."""
        cited = {r.citation.reference for finding in findings for r in finding.citations}
        known = dict[object, CitedWork | None]()
        for finding in findings:
            results = []
            for result in finding.citations:
                key = result.citation.reference
                if key not in known:
                    find = partial(self._find, article, result.citation)
                    known[key] = errors.attempt(find, lambda why: None)
                    progress(len(known), len(cited))
                results.append(replace(result, work=known[key]))
            yield replace(finding, citations=tuple(results))

    def _find(self, article: Article, citation: Citation) -> CitedWork | None:
        """Look up a work; a page without identifiers, which is fetched, only in the catalogue."""
        template = citation.template or ""
        is_page = citation.url and not any(kind in template for kind in OF_WORKS)
        is_of_work = bool(ids_of(citation) or (citation.title and not is_page))
        services = self.services if is_of_work else ()
        answers = outcomes.ask(citation, self.sources, services)
        outcome = outcomes.decide(citation, answers)
        is_open = outcome.status in (WorkStatus.UNVERIFIED, WorkStatus.UNCHECKED)
        if is_open and not (is_of_work and (outcome.asked or outcome.failed)):
            return None
        is_local = {service.name for service in services}.isdisjoint(outcome.asked)
        if is_local:  # a catalogue of one's own lacks most works and identifiers
            outcome = replace(outcome, unknown_ids=())
        is_marked = outcome.status in outcomes.GRAVE_STATUSES and citation.is_marked
        if is_marked:
            notes = tuple(difference.note for difference in outcome.differences)
        else:
            notes = () if is_open and (is_local or outcome.failed) else outcome.notes
        corrections, template_after = correct_template(
            citation.definition.of(article.source),
            article.language,
            citation.title or "",
            {PARAMETERS[d.field]: d.known for d in outcome.differences if d.field in PARAMETERS},
        )
        notice = outcome.notices[0].doi if outcome.notices else ""
        return CitedWork(outcome.status, notes, notice, corrections, template_after, is_marked)


@dataclass(frozen=True, slots=True)
class Run:
    """A `verify` pipeline, ready for any number of articles."""

    settings: Settings
    pipeline: VerifyPipeline
    versions: Mapping[str, str]
    warnings: tuple[Note, ...]
    estimate: Callable[[Article], Estimate]  # of one article; fetches nothing
    works: WorkLookup = WorkLookup()
    flag_precision: tuple[tuple[float, float], ...] = ()  # as in `Report`
    second: "SecondOpinion | None" = None  # from a language model
    files: ArticleFiles | None = None  # matched with the article's citations

    def verify(
        self,
        article: Article,
        on_progress: Progress = lambda step, done, total: None,
        on_finding: Callable[[Finding], None] = lambda finding: None,
    ) -> Report:
        """Report on an article. After Ctrl-C, report on what was done so far (`Report.stopped`).

        `on_progress` is called as `on_progress("checking claims", 3, 14)`, and `on_finding` with
        each finding as soon as it is known, in article order: a second opinion may still change it.
        """
        findings: list[Finding] = []
        uncited: tuple[Uncited, ...] | None = None
        stopped = False
        article = faults.check_references(article, datetime.now(UTC).date())
        try:
            self.pipeline.copies.prepare(article)
            for finding in self.pipeline.findings(article):
                findings.append(finding)
                on_finding(finding)
                on_progress("checking claims", len(findings), len(article.claims))
            if self.second:
                progress = partial(on_progress, "second opinions")
                findings = self.second.on(article, findings, progress)
                stopped = self.second.calls.stopped
            looked_up = self.works.on(article, findings, partial(on_progress, "looking up works"))
            for n, finding in enumerate(looked_up if not stopped else ()):
                findings[n] = finding
            if not stopped:
                uncited = self._find_uncited(article, partial(on_progress, "uncited sentences"))
        except KeyboardInterrupt:
            stopped = True
        return Report(
            title=article.title,
            language=article.language,
            date_format=date_format_of(article.source),
            revision_id=article.revision_id,
            findings=tuple(rank_findings(findings)),
            n_claims=len(article.claims),
            n_references=article.n_references,
            warnings_coded=self._warnings(article, findings, uncited or ()),
            settings=report_settings(self.settings),
            versions=self.versions,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            coverage=coverage_of(article, findings),
            # Measured on English rows.
            flag_precision=self.flag_precision if is_read(article.language) else (),
            url=article.url,
            uncited=uncited,
            stopped=stopped,
        )

    def _warnings(
        self, article: Article, findings: Sequence[Finding], uncited: Sequence[Uncited]
    ) -> tuple[Note, ...]:
        is_unread = self.settings.verify.uncited and not is_read(article.language)
        return (
            *(() if article.n_references else [Note("no_references")]),
            *as_written(*article.warnings),
            *self.warnings,
            *as_written(*self.pipeline.warnings),
            *([Note("uncited_unread", {"language": article.language})] if is_unread else ()),
            *(notes_of([self.second.calls]) if self.second else ()),
            *_not_looked_up(findings),
            *_internal_errors(findings, uncited),
        )

    def say_estimate(self, article: Article, say: Callable[[str], None]) -> None:
        """Say what the work for an article takes, unless it is too quick for that."""
        if estimate.waits_for_servers(self.settings):
            for line in estimate.describe(self.estimate(article), self.settings):
                say(f"  {line}")

    def wrote(self, report: Report) -> bool:
        """Whether this run would write the same report, as far as settings and versions tell."""
        same = decisive(report.settings) == decisive(report_settings(self.settings))
        return same and report.versions == self.versions

    def _find_uncited(
        self, article: Article, progress: Callable[[int, int], None]
    ) -> tuple[Uncited, ...] | None:
        """Find the sentences that need a citation; None if not requested or not in English."""
        if not self.settings.verify.uncited or not is_read(article.language):
            return None
        sentences = find_uncited(article)
        with_sources = []
        for n, sentence in enumerate(sentences, 1):
            with_sources.append(self.pipeline.with_sources(sentence, article.timestamp))
            progress(n, len(sentences))
        return tuple(with_sources)


class _Online(NamedTuple):
    """What is fetched if fetching is enabled: pages, better sources, and records of works."""

    pages: "WebPages | None" = None
    candidates: "WebCandidates | None" = None
    services: Sequence[Service] = ()


def _open_online(
    settings: Settings, fetching: "Callable[[FetchStep], None]", stack: ExitStack
) -> _Online:
    if not settings.web.online:
        return _Online()
    from pincite.library.web_pages import web_candidates, web_pages
    from pincite.references import online

    pages = stack.enter_context(web_pages(settings.web, fetching))
    candidates = web_candidates(settings.web, pages, settings.language, settings.filters.chosen)
    services = online.open_services(settings.references, settings.web)
    return _Online(pages, stack.enter_context(candidates), stack.enter_context(services))


def _better_sources(
    settings: Settings,
    stored: "Corpora | None",
    online: "WebCandidates | None",
    verifier: Verifier,
    exclusions: Exclusions,
) -> BetterSources | None:
    """Set up the search of corpora and web for better sources; None without either."""
    if stored is None and online is None:
        return None
    return BetterSources(
        verifier=verifier,
        search=runtime.search(settings, stored, exclusions.hosts()) if stored else None,
        documents_of=stored.get if stored else None,
        depth=settings.retrieval.depth,
        judged=settings.retrieval.judged,
        k=settings.verify.k,
        threshold=settings.verify.threshold,
        exclusions=exclusions,
        unfiltered=stored.lexical((), settings.filters.chosen) if stored else None,
        online=online,
    )


def _open_second_opinion(
    settings: Settings, copies: CitedCopies, stack: ExitStack
) -> "SecondOpinion | None":
    if not settings.judge.url:
        return None
    from pincite.verbs.verify.second_opinion import SecondOpinion

    examiner = runtime.examiner(settings, stack.enter_context(runtime.judge(settings)))
    return SecondOpinion(examiner, copies, settings.judge.limit, settings.judge.at_once)


@contextmanager
def verifying(
    settings: Settings,
    corpus: runtime.Places | None,
    sources: ArticleFiles | Sequence[Path] | None,
    *,
    keep: bool = True,
    own_copies: bool = False,
    fetching: "Callable[[FetchStep], None]" = lambda step: None,
) -> Iterator[Run]:
    """Build a `verify` pipeline and close it afterwards.

    Args:
        settings: all settings.
        corpus: where suggestions come from, as folders or open corpora; None: no suggestions.
        sources: stored copies: files matched with the article's citations, or folders and files
            that are found by address; None: cited pages are looked up in the corpus only.
        keep: whether to cache judged pairs in `runtime.judgements_file()`.
        own_copies: whether to read the user's own copies of sources; measurements must not.
        fetching: called with each fetching step, if fetching is enabled.
    """
    document_text.preload_language_model()
    with ExitStack() as stack:
        verifier = runtime.verifier(settings.models, keep=keep)
        stack.callback(verifier.close)
        stored = None
        if corpus:
            from pincite.corpora import open_corpora

            stored = stack.enter_context(open_corpora(settings, corpus))
        files = sources if isinstance(sources, ArticleFiles) else None
        pages = files.sources if files else None
        if sources and not isinstance(sources, ArticleFiles):
            pages = open_sources(*sources)
        online = _open_online(settings, fetching, stack)
        folder = private_copies.folder_of(settings.library.own_copies)
        own = private_copies.OwnSources(private_copies.OwnCopies(folder)) if own_copies else None
        works = stack.enter_context(runtime.open_users_catalogue()) if own_copies else None
        ratings = runtime.reliability_list(settings)
        exclusions = Exclusions(settings.filters.exclude_hosts, ratings.rules if ratings else None)
        copies = CitedCopies(
            None if pages is None else pages.get,
            online.pages,
            [find for find in (own, files) if find],
            corpus_copies(stored) if stored else lambda citation: None,
        )
        second = _open_second_opinion(settings, copies, stack)
        versions = {
            "pincite": version("pincite"),
            "verifier": verifier.fingerprint,
            "works": works.fingerprint() if works is not None else "",
            **(stored.versions() if stored else {}),
            "own_copies": own.copies.fingerprint() if own else "",
            "reliability": ratings.fingerprint if ratings else "",
            "judge": second.examiner.judge.model if second else "",
        }
        pipeline = VerifyPipeline(
            verifier=verifier,
            copies=copies,
            better=_better_sources(settings, stored, online.candidates, verifier, exclusions),
            languages=verifier.languages,
            read=settings.retrieval.read,
            threshold=settings.verify.threshold,
            suggest=settings.verify.suggest,
            exclusions=exclusions,
        )
        supplied = files or pages
        unused = supplied.warnings if supplied is not None else ()
        warnings = [*(stored.notes if stored else ()), *map(_unused_note, unused)]
        if pipeline.better and settings.filters.chosen.leaves_out_undated:
            warnings.append(Note("undated_not_suggested"))
        yield Run(
            settings=settings,
            pipeline=pipeline,
            versions={name: text for name, text in versions.items() if text},
            warnings=tuple(warnings),
            estimate=partial(
                estimate.estimate_article,
                copies=copies,
                time_pairs=verifier.seconds_a_pair,
                settings=settings,
                candidates=settings.retrieval.judged if stored else 0,
            ),
            works=WorkLookup([] if works is None else [works], online.services),
            flag_precision=_flag_precision(verifier, second, settings.verify.threshold),
            second=second,
            files=files,
        )


def _flag_precision(
    verifier: RoutedVerifier, second: "SecondOpinion | None", threshold: float
) -> tuple[tuple[float, float], ...]:
    """Return the precision of flags as measured: with the model's opinions if it is known."""
    measured = second.examiner.known.measured if second else None
    of_verifier = flag_precisions(verifier.calibration.rates_at(threshold))
    if measured is None or measured.threshold != threshold:
        return of_verifier
    return flag_precisions(measured.rates) or of_verifier


@contextmanager
def verifying_one(
    article: Article,
    settings: Settings,
    corpus: runtime.Places | None,
    sources: Sequence[Path],
    *,
    fetching: "Callable[[FetchStep], None]",
    reading: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[Run]:
    """As `verifying`, for one article: in its language, with the files of its sources.

    Files without an address are matched with its citations; `reading` is called with (done, total).
    """
    settings = settings.replace(language=article.language)
    files = match_files(open_sources(*sources), article, reading) if sources else None
    with verifying(settings, corpus, files, own_copies=True, fetching=fetching) as run:
        yield run


def _unused_note(problem: Problem) -> Note:
    file, line, why = problem
    if line:
        return Note("unused_line", {"file": file, "line": line, "problem": why})
    return Note("unused_file", {"file": file, "problem": why})


def _not_looked_up(findings: Sequence[Finding]) -> list[Note]:
    results = [r for finding in findings for r in finding.citations]
    unknown = [r for r in results if r.work and r.work.status is WorkStatus.UNCHECKED]
    lost = {result.citation.reference for result in unknown}
    return [Note("works_unchecked", {"n": len(lost)})] if lost else []


def _internal_errors(findings: Sequence[Finding], uncited: Sequence[Uncited]) -> list[Note]:
    """Return a note on the results that a bug cost, with the kinds of errors; one per finding."""
    kinds = [sentence.failed.detail for sentence in uncited if sentence.failed]
    for finding in findings:
        unread = [r.outcome for r in finding.citations if isinstance(r.outcome, Unchecked)]
        lost = [why.detail for why in unread if why.reason is Reason.INTERNAL_ERROR]
        kinds += lost or ([finding.failed.detail] if finding.failed else [])
    if not kinds:
        return []
    return [Note("internal_errors", {"n": len(kinds), "kinds": tuple(sorted(set(kinds)))})]


def report_settings(settings: Settings) -> dict[str, str | float | int | bool | None]:
    """Return the settings that a report of `verify` records: none of `ask` or `check` alone."""
    left_out = OF_OTHERS if settings.judge.url else (*OF_OTHERS, *OF_A_JUDGE)
    return {
        name: value
        for name, value in public_settings(settings).items()
        if not name.startswith(left_out) or name in SHARED
    }


def decisive(recorded: Mapping[str, object]) -> dict[str, object]:
    """Keep the recorded settings that can change a verdict: no pauses, threads or paths."""
    return {name: value for name, value in recorded.items() if name not in WITHOUT_EFFECT}
