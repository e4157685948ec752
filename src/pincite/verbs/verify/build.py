"""Builds `verify` from settings.

`verifying` opens what the settings name: models, corpora, copies, the web, a second opinion.
`Run.verify` reports on one article, for the command line, the Python API, the server's jobs and
cluster workers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

from pincite import containment, runtime
from pincite.corpus.multi_corpus import Corpora
from pincite.documents import text as document_text
from pincite.documents.collection import Problem, Sources, open_sources
from pincite.judgement import aggregation
from pincite.library import judges
from pincite.library.exclusions import Exclusions, chosen_list
from pincite.library.parallel import once
from pincite.library.private_copies import OwnCopies, OwnSources, folder_of
from pincite.library.web_pages import web_candidates, web_pages
from pincite.models.calibration import Calibration
from pincite.notes import Note, as_written
from pincite.protocols import Progress
from pincite.settings import POLITENESS, Settings, public_settings
from pincite.types import (
    Article,
    CopyKind,
    Document,
    Failed,
    Finding,
    Reason,
    Unchecked,
    Uncited,
)
from pincite.verbs.verify import coverage
from pincite.verbs.verify.cited_copies import CitedCopies, Place, without_own_copies
from pincite.verbs.verify.estimate import Estimate, Estimator
from pincite.verbs.verify.pipeline import SecondOpinion, Tell, VerifyPipeline
from pincite.verbs.verify.report import Report
from pincite.web.sources import FetchStep
from pincite.wiki.article import PageText, parse_page
from pincite.wiki.uncited import is_read, uncited

# Settings that change how fast or where the work is done, but never the results.
WITHOUT_EFFECT = POLITENESS | {
    *("models.threads", "library.feedback_file", "judge.at_once", "judge.seconds"),
    *("embeddings.batch", "embeddings.at_once", "embeddings.seconds"),
}
OF_OTHERS = ("check.", "ask.", "chat.", "claimreview.")  # settings of the other verbs
ASKED = ("chat.url", "chat.model")  # shared, for expansion "server"
OF_A_JUDGE = ("judge.", "budget.")  # used only with a second opinion


@dataclass(frozen=True, slots=True)
class Run:
    """A `verify` pipeline, ready for any number of articles."""

    settings: Settings
    pipeline: VerifyPipeline
    versions: Mapping[str, str]
    warnings: tuple[Note, ...]
    estimate: Callable[[Article], Estimate]  # for one article; fetches nothing
    flag_precision: tuple[tuple[float, float], ...] = ()  # as in `Report`
    second: SecondOpinion | None = None  # from a language model

    def verify(
        self,
        article: Article,
        on_progress: Progress = lambda step, done, total: None,
        on_finding: Callable[[Finding], None] = lambda finding: None,
    ) -> Report:
        """Report on an article. After Ctrl-C, report on what was done so far (`Report.stopped`).

        Args:
            article: the article with its claims.
            on_progress: called as `on_progress("checking claims", 3, 14)`.
            on_finding: called with each finding as soon as it is known, in article order; a second
                opinion may still change it.
        """
        findings: list[Finding] = []
        found: tuple[Uncited, ...] | None = None
        stopped = False
        try:
            self.pipeline.copies.prepare(article)
            for finding in self.pipeline.findings(article):
                findings.append(finding)
                on_finding(finding)
                on_progress("checking claims", len(findings), len(article.claims))
            if self.second:
                tell = partial(on_progress, "second opinions")
                findings = self.second.on(article, findings, tell)
                stopped = self.second.stopped
            if not stopped:
                found = self._uncited(article, partial(on_progress, "uncited sentences"))
        except KeyboardInterrupt:
            stopped = True
        return Report(
            title=article.title,
            language=article.language,
            revision_id=article.revision_id,
            findings=tuple(aggregation.ranked(findings)),
            n_claims=len(article.claims),
            n_references=article.n_references,
            warnings_coded=(
                *as_written(*article.warnings),
                *self.warnings,
                *as_written(*self.pipeline.warnings),
                *self._of_language(article),
                *_of_failures(findings, found or ()),
            ),
            settings=report_settings(self.settings),
            versions=self.versions,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            coverage=coverage.of_article(article, findings),
            flag_precision=self.flag_precision,
            url=article.url,
            uncited=found,
            stopped=stopped,
        )

    def report_on(self, page: PageText) -> Report | str:
        def report() -> Report | str:
            if page.problem:
                return page.problem
            return self.verify(parse_page(page, self.settings.language))

        return containment.attempted(report, could_not_be_checked)

    def _uncited(self, article: Article, tell: Tell) -> tuple[Uncited, ...] | None:
        """Find the sentences that need a citation, with sources that could be cited.

        Returns None if they were not requested or the article is not in English.
        """
        if not self.settings.verify.uncited or not is_read(article.language):
            return None
        found = uncited(article)
        supplied = []
        for each in found:
            supplied.append(self.pipeline.supplied(each, article.timestamp))
            tell(len(supplied), len(found))
        return tuple(supplied)

    def _of_language(self, article: Article) -> tuple[Note, ...]:
        unread = self.settings.verify.uncited and not is_read(article.language)
        return (Note("uncited_unread", {"language": article.language}),) if unread else ()


def could_not_be_checked(why: Failed) -> str:
    return f"it could not be checked: {why.detail}"


@contextmanager
def verifying(
    settings: Settings,
    corpus: runtime.Places | None,
    sources: Path | None,
    *,
    keep: bool = True,
    own_copies: bool = False,
    fetching: Callable[[FetchStep], None] = lambda step: None,
) -> Iterator[Run]:
    """Build a `verify` pipeline and close it afterwards.

    Args:
        settings: all settings.
        corpus: where suggestions come from, as folders or open corpora; None: no suggestions.
        sources: folder of stored copies; None: cited pages are looked up in the corpus only.
        keep: whether to cache judged pairs in `runtime.judgements_file()`.
        own_copies: whether to read the user's own copies of sources; measurements must not.
        fetching: called with each fetching step, if fetching is enabled.
    """
    document_text.make_ready()
    with ExitStack() as stack:
        verifier = runtime.verifier(settings.models, keep=keep)
        stack.callback(verifier.close)
        stored = stack.enter_context(runtime.open_corpora(settings, corpus)) if corpus else None
        copies = open_sources(sources) if sources else None
        web = (
            stack.enter_context(web_pages(settings.web, fetching)) if settings.web.online else None
        )
        own = OwnSources(OwnCopies(folder_of(settings.library.own_copies))) if own_copies else None
        listed = chosen_list(settings.library.reliability, settings.language)
        exclusions = Exclusions(settings.filters.exclude_hosts, listed.rules if listed else None)
        hosts = exclusions.hosts()
        pipeline = VerifyPipeline(
            verifier=verifier,
            copies=CitedCopies(_places(copies, stored), web, own or without_own_copies),
            search=runtime.search(settings, stored, hosts) if stored else None,
            documents_of=stored.get if stored else None,
            languages=runtime.languages(settings.models),
            depth=settings.retrieval.depth,
            judged=settings.retrieval.judged,
            per_page=settings.verify.per_page,
            read=settings.retrieval.read,
            k=settings.verify.k,
            threshold=settings.verify.threshold,
            suggest=settings.verify.suggest,
            exclusions=exclusions,
            unfiltered=stored.lexical((), settings.filters.chosen) if stored else None,
            online=stack.enter_context(
                web_candidates(settings.web, web, settings.language, settings.filters.chosen)
            ),
        )
        versions = {"pincite": version("pincite"), "verifier": verifier.fingerprint}
        if stored:
            versions |= stored.versions()
        if own and (attached := own.copies.fingerprint()):
            versions["own_copies"] = attached
        if listed:
            versions["reliability"] = listed.fingerprint
        # Not `if copies`: an empty collection is falsy, but may have warnings.
        warnings = tuple(map(_of_copies, copies.warnings)) if copies is not None else ()
        if (stored or pipeline.online) and settings.filters.chosen.leaves_out_undated:
            warnings = (*warnings, Note("undated_not_suggested"))
        precision = flag_precision(verifier.calibration, settings.verify.threshold)
        estimator = Estimator(
            stored=pipeline.copies.at_hand,
            seconds_a_pair=verifier.seconds_a_pair,
            of_a_page=settings.retrieval.read,
            candidates=settings.retrieval.judged if stored else 0,
            rules=web.sources.rules if web else settings.web.rules,
            judge_tokens=settings.judge.source_tokens if settings.judge.url else 0,
            uncited=settings.verify.uncited,
        )
        if web:
            estimator = replace(
                estimator,
                asked=pipeline.copies.asked_first,
                is_kept=web.sources.is_kept,
                host_of=web.sources.host_of,
            )
        second = None
        if settings.judge.url:
            chosen, threshold = settings.judge, settings.verify.threshold
            judge = stack.enter_context(runtime.judge(settings))
            versions["judge"] = judge.model
            second = SecondOpinion(
                judge, pipeline.copies, threshold, chosen.band, chosen.every, chosen.at_once
            )
            measured = judges.rates_of(
                judges.file_of(settings.library.judges), chosen.model, threshold
            )
            precision = aggregation.precisions(measured) or precision
        yield Run(settings, pipeline, versions, warnings, estimator.of, precision, second)


def _of_copies(problem: Problem) -> Note:
    file, line, said = problem
    if line:
        return Note("unused_line", {"file": file, "line": line, "problem": said})
    return Note("unused_file", {"file": file, "problem": said})


def flag_precision(calibration: Calibration, threshold: float) -> tuple[tuple[float, float], ...]:
    """Return (base rate, precision of flags) pairs; empty if no rates were measured."""
    return aggregation.precisions(calibration.rates_at(threshold))


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What a worker process needs to write the same reports as this one."""

    settings: Settings
    corpora: Sequence[Path | str] | None
    sources: Path | None

    def report_on(self, page: PageText) -> Report | str:
        opened = partial(
            verifying,
            self.settings.replace(threads=1),
            self.corpora,
            self.sources,
            keep=False,  # the cache of judged pairs belongs to one machine
            own_copies=True,
        )
        return replace(once(repr(self), opened), settings=self.settings).report_on(page)


def _of_failures(findings: Sequence[Finding], uncited: Sequence[Uncited]) -> tuple[Note, ...]:
    kinds = [each.failed.detail for each in uncited if each.failed]
    for finding in findings:
        outcomes = [result.outcome for result in finding.citations]
        internal = [
            outcome.detail
            for outcome in outcomes
            if isinstance(outcome, Unchecked) and outcome.reason is Reason.INTERNAL_ERROR
        ]
        kinds += internal or ([finding.failed.detail] if finding.failed else [])
    named = tuple(sorted(set(kinds)))
    return (Note("internal_errors", {"n": len(kinds), "kinds": named}),) if kinds else ()


def report_settings(settings: Settings) -> dict[str, str | float | int | bool | None]:
    """Return the settings that a report of `verify` records.

    Settings of `ask` and `check` are left out. Non-private web settings stay: they show where
    copies came from.
    """
    return {
        name: value
        for name, value in public_settings(settings).items()
        if (not name.startswith(OF_OTHERS) or name in ASKED)
        and (settings.judge.url or not name.startswith(OF_A_JUDGE))
    }


def decisive(recorded: Mapping[str, object]) -> dict[str, object]:
    """Keep the recorded settings that can change a verdict.

    Pauses, threads and paths are left out: changing a pause must not invalidate the finished
    reports of a batch.
    """
    return {name: value for name, value in recorded.items() if name not in WITHOUT_EFFECT}


def _places(copies: Sources | None, corpus: Corpora | None) -> list[Place]:
    def in_corpus(url: str) -> Document | Unchecked:
        (found,) = corpus.get([url]) if corpus else (None,)
        return found or Unchecked(url, Reason.NOT_SUPPLIED, "it is not in the corpus")

    places = [] if copies is None else [Place(CopyKind.STORED, copies.get)]
    return [*places, Place(CopyKind.CORPUS, in_corpus)] if corpus else places
