"""Builds the `verify` pipeline from settings, estimates its work, and runs it on articles.

An estimate fetches nothing. Its times are ranges: how fast hosts answer and how long their pages
are is not known in advance.
"""

import atexit
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path

from pincite import errors, runtime
from pincite.corpus.protocol import Corpora
from pincite.documents import text as document_text
from pincite.documents.collection import Problem, open_sources, variants
from pincite.judgement.findings import flag_precisions, rank_findings
from pincite.library import private_copies
from pincite.library.exclusions import Exclusions, chosen_list
from pincite.library.web_pages import WebCandidates, web_candidates, web_pages
from pincite.llm.calls import tokens_of
from pincite.llm.judge import REPLY_TOKENS, notes_of
from pincite.notes import Note, as_written
from pincite.protocols import Progress, Verifier
from pincite.references import catalogue, online, outcomes
from pincite.references.catalogue import Lookup, Source, ask, ids_of
from pincite.references.outcomes import Field
from pincite.retrieval import cascade
from pincite.settings import POLITENESS, Settings, public_settings
from pincite.types import (
    Article,
    Citation,
    CitedWork,
    Claim,
    Document,
    Finding,
    Passage,
    Reason,
    Span,
    Unchecked,
    Uncited,
    WorkStatus,
    written,
)
from pincite.verbs.verify.better_sources import BetterSources
from pincite.verbs.verify.cited_copies import ArticleFiles, CitedCopies, is_wanted, match_files
from pincite.verbs.verify.pipeline import SecondOpinion, VerifyPipeline
from pincite.verbs.verify.report import Report, addresses, could_not_be_checked, coverage_of
from pincite.web.addresses import WebRules
from pincite.web.sources import FetchStep
from pincite.wiki.article import PageText, parse_page
from pincite.wiki.suggest import corrected, date_format_of
from pincite.wiki.uncited import find_uncited, is_read

Seconds = tuple[float, float]  # lower and upper estimate
# Per request: as measured by research/scripts/bench_fetch.py, and for a slow site.
LATENCY: Seconds = (0.2, 3.0)
TRIED = 3  # pairs, judged twice because the first time warms up; half a second on two cores
# Share of the possible pairs, each as long as wide passages make it. Short pages have fewer, and
# clauses are judged as well: the demo's article (short pages) has 304, and 200 were judged.
OF_THE_PAIRS: Seconds = (0.5, 1.5)
MANY = 1_000_000  # tokens assumed for a source not fetched yet: it fills its share of the prompt
BESIDES = 500 + REPLY_TOKENS  # tokens of the prompt without the sources, and of the reply
# Settings that change how fast or where the work is done, but never the results.
WITHOUT_EFFECT = POLITENESS | {
    *("models.threads", "library.feedback_file", "judge.at_once", "judge.seconds"),
    *("embeddings.batch", "embeddings.at_once", "embeddings.seconds"),
}
OF_OTHERS = ("check.", "ask.", "chat.", "claimreview.")  # settings of the other verbs
SHARED = ("chat.url", "chat.model")  # for expansion "server"
REMEMBERED = 1_000  # citations with their copies: an article has some hundreds, a dump millions
LIKE_ITS_TITLE = 100  # passages among which a cited work is searched by the words of its title
OF_A_JUDGE = ("judge.", "budget.")  # used only with a second opinion
OF_WORKS = ("journal", "book", "conference", "thesis", "report")  # in names of templates
PARAMETERS = {Field.TITLE: "title", Field.YEAR: "date", Field.VENUE: "publisher", Field.DOI: "doi"}


@dataclass(frozen=True, slots=True)
class Estimate:
    """The work for one article."""

    claims: int
    citations: int
    sources: int  # distinct addresses
    at_hand: int  # supplied, in a corpus, or fetched before and still fresh
    missing: int  # neither at hand nor fetchable
    most_calls: int  # for second opinions, one per claim
    most_tokens: int  # prompts and replies of those calls
    hosts: Mapping[str, int]  # pages to fetch from each
    seconds_of_fetching: Seconds
    seconds_of_judging: Seconds

    @property
    @written
    def to_fetch(self) -> int:
        return sum(self.hosts.values())


def estimate_article(
    article: Article,
    copies: CitedCopies,
    seconds_a_pair: Callable[[Sequence[tuple[Claim, Passage]]], float],
    settings: Settings,
    candidates: int,
) -> Estimate:
    """Estimate the work for one article; `candidates`: corpus passages judged per claim."""
    citations = [citation for claim in article.claims for citation in claim.citations]
    pairs = [(urls[0], citation) for citation in citations if (urls := addresses(citation))]
    uses, cited = Counter(url for url, _ in pairs), dict(pairs)
    found = {url: copies.stored_copy(citation) for url, citation in cited.items()}
    wanted = [url for url, copy in found.items() if is_wanted(copy)]
    readable = {url for url, copy in found.items() if isinstance(copy, Document)}
    to_fetch: dict[str, str] = {}  # the host of each
    if copies.web:
        for url in wanted:
            address = copies.first_address(cited[url])
            if address and copies.web.sources.is_cached(address):
                readable.add(url)
            elif address and (host := copies.web.sources.host_of(address)):
                to_fetch[url] = host
    hosts = dict(Counter(to_fetch.values()).most_common())
    n_claims = len(article.claims)
    if settings.verify.uncited and is_read(article.language):
        n_claims += len(find_uncited(article))
    a_use = 1 + settings.retrieval.read
    least = sum(uses[url] for url in readable) * a_use
    most = least + sum(uses[url] for url in to_fetch) * a_use
    most += n_claims * candidates
    each = _measured(article, seconds_a_pair) if most else 0.0
    tokens, judge = [], settings.judge
    for claim in article.claims if judge.url else ():
        texts = [found[urls[0]] for c in claim.citations
                 if (urls := addresses(c)) and urls[0] in (readable | to_fetch.keys())]  # fmt: skip
        sizes = [tokens_of(text.text) if isinstance(text, Document) else MANY for text in texts]
        tokens += [min(judge.source_tokens, sum(sizes)) + BESIDES] if texts else []
    asked = sorted(tokens, reverse=True)[: judge.limit]
    return Estimate(
        claims=len(article.claims),
        citations=len(citations),
        sources=len(cited),
        at_hand=len(readable),
        missing=len(set(wanted) - readable - to_fetch.keys()),
        most_calls=len(asked),
        most_tokens=sum(asked),
        hosts=hosts,
        seconds_of_fetching=fetching_seconds(list(hosts.values()), settings.web.rules),
        seconds_of_judging=(OF_THE_PAIRS[0] * least * each, OF_THE_PAIRS[1] * most * each),
    )


def _measured(
    article: Article, seconds_a_pair: Callable[[Sequence[tuple[Claim, Passage]]], float]
) -> float:
    """Measure the time per pair on the article's own words, at the length of real passages."""
    words = " ".join(claim.text for claim in article.claims).split() or ["none"]
    n_words = cascade.COVERING_WORDS
    text = " ".join((words * (1 + n_words // len(words)))[:n_words])
    passage = Passage("", "", "", text, Span(0, len(text)))
    pairs = [(claim, passage) for claim in (article.claims * TRIED)[:TRIED]]
    return min(seconds_a_pair(pairs) for _ in range(2))


def fetching_seconds(queues: Sequence[int], rules: WebRules) -> Seconds:
    """Estimate the time to fetch these queues: hosts in parallel, pages of a host in sequence."""
    if not queues:
        return 0.0, 0.0
    longest = max(max(queues), sum(queues) / rules.at_once)
    least, most = (longest * (rules.pause + latency) for latency in LATENCY)
    return least, most + LATENCY[1]  # robots.txt comes first unless it is cached


@dataclass(frozen=True, slots=True)
class WorkLookup:
    """Looks cited works up in the catalogue of works and, if allowed, in services."""

    sources: Sequence[Source] = ()
    services: Sequence[Lookup] = ()

    def on(
        self, article: Article, findings: Sequence[Finding], progress: Callable[[int, int], None]
    ) -> Iterator[Finding]:
        """Yield the findings with what is known of their works; each is looked up once."""
        cited = {result.citation.reference for each in findings for result in each.citations}
        known = dict[object, CitedWork | None]()
        for finding in findings:
            results = []
            for result in finding.citations:
                key, find = result.citation.reference, partial(self._find, article, result.citation)
                if key not in known:
                    known[key] = errors.attempted(find, lambda why: None)
                    progress(len(known), len(cited))
                results.append(replace(result, work=known[key]))
            yield replace(finding, citations=tuple(results))

    def _find(self, article: Article, citation: Citation) -> CitedWork | None:
        """Look up a work; a page without identifiers, which is fetched, only in the catalogue."""
        template, needed = citation.template or "", partial(outcomes.needed, citation)
        is_page = citation.url and not any(kind in template for kind in OF_WORKS)
        of_work = ids_of(citation) or (citation.title and not is_page)
        services = self.services if of_work else ()
        outcome = outcomes.decide(citation, ask(citation, self.sources, services, needed))
        status = outcome.status
        is_open = status in (WorkStatus.UNVERIFIED, WorkStatus.UNCHECKED)
        if is_open and not (of_work and (outcome.asked or outcome.failed)):
            return None
        only_here = {service.name for service in services}.isdisjoint(outcome.asked)
        if only_here:  # a catalogue of one's own lacks most works and identifiers
            outcome = replace(outcome, unknown_ids=())
        notes = () if is_open and (only_here or outcome.failed) else outcome.notes
        reference = citation.definition.of(article.source)
        is_marked = status in outcomes.GRAVE_STATUSES and citation.is_marked
        known = {PARAMETERS[d.field]: d.known for d in outcome.differences if d.field in PARAMETERS}
        return CitedWork(
            status,
            tuple(d.note for d in outcome.differences) if is_marked else notes,
            next((notice.doi for notice in outcome.notices), ""),
            *corrected(reference, article.language, citation.title or "", known),
            is_marked,
        )


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
    second: SecondOpinion | None = None  # from a language model
    files: ArticleFiles | None = None  # matched with the article's citations

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
        uncited: tuple[Uncited, ...] | None = None
        stopped = False
        article = outcomes.checked(article, datetime.now(UTC).date())
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
                uncited = self._uncited(article, partial(on_progress, "uncited sentences"))
        except KeyboardInterrupt:
            stopped = True
        looked_for = not self.settings.verify.uncited or is_read(article.language)
        return Report(
            title=article.title,
            language=article.language,
            date_format=date_format_of(article.source),
            revision_id=article.revision_id,
            findings=tuple(rank_findings(findings)),
            n_claims=len(article.claims),
            n_references=article.n_references,
            warnings_coded=(
                *(() if article.n_references else [Note("no_references")]),
                *as_written(*article.warnings),
                *self.warnings,
                *as_written(*self.pipeline.warnings),
                *(() if looked_for else [Note("uncited_unread", {"language": article.language})]),
                *(notes_of([self.second.calls]) if self.second else ()),
                *_not_looked_up(findings),
                *_internal_errors(findings, uncited or ()),
            ),
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

    def report_on(self, page: PageText) -> Report | str:
        def report() -> Report | str:
            return self.verify(parse_page(page, self.settings.language))

        return errors.attempted(report, could_not_be_checked)

    def wrote(self, report: Report) -> bool:
        """Whether this run would write the same report, as far as settings and versions tell."""
        same = decisive(report.settings) == decisive(report_settings(self.settings))
        return same and report.versions == self.versions

    def _uncited(
        self, article: Article, progress: Callable[[int, int], None]
    ) -> tuple[Uncited, ...] | None:
        """Find the sentences that need a citation; None if not requested or not in English."""
        if not self.settings.verify.uncited or not is_read(article.language):
            return None
        sentences = find_uncited(article)
        found = []
        for sentence in sentences:
            found.append(self.pipeline.with_sources(sentence, article.timestamp))
            progress(len(found), len(sentences))
        return tuple(found)


def _better_sources(
    settings: Settings,
    stored: Corpora | None,
    online: WebCandidates | None,
    verifier: Verifier,
    exclusions: Exclusions,
) -> BetterSources | None:
    """Set up the search of corpora and web for better sources; None without either."""
    if stored is None and online is None:
        return None
    retrieval, filters = settings.retrieval, settings.filters.chosen
    return BetterSources(
        verifier=verifier,
        search=runtime.search(settings, stored, exclusions.hosts()) if stored else None,
        documents_of=stored.get if stored else None,
        depth=retrieval.depth,
        judged=retrieval.judged,
        k=settings.verify.k,
        threshold=settings.verify.threshold,
        exclusions=exclusions,
        unfiltered=stored.lexical((), filters) if stored else None,
        online=online,
    )


@contextmanager
def verifying(
    settings: Settings,
    corpus: runtime.Places | None,
    sources: ArticleFiles | Sequence[Path] | None,
    *,
    keep: bool = True,
    own_copies: bool = False,
    fetching: Callable[[FetchStep], None] = lambda step: None,
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
        stored = stack.enter_context(runtime.open_corpora(settings, corpus)) if corpus else None
        files, copies = None, None
        if isinstance(sources, ArticleFiles):
            files, copies = sources, sources.sources
        elif sources:
            copies = open_sources(*sources)
        web, services = None, list[Lookup]()
        if settings.web.online:
            web = stack.enter_context(web_pages(settings.web, fetching))
            services = stack.enter_context(online.opened(settings.references, settings.web))
        folder = private_copies.folder_of(settings.library.own_copies)
        own = private_copies.OwnSources(private_copies.OwnCopies(folder)) if own_copies else None
        listed = chosen_list(settings.library.reliability, settings.language)
        exclusions = Exclusions(settings.filters.exclude_hosts, listed.rules if listed else None)
        candidates = stack.enter_context(
            web_candidates(settings.web, web, settings.language, settings.filters.chosen)
        )
        pipeline = VerifyPipeline(
            verifier=verifier,
            copies=CitedCopies(
                None if copies is None else copies.get,
                web,
                [each for each in (own, files) if each],
                corpus_copies(stored) if stored else lambda citation: None,
            ),
            better=_better_sources(settings, stored, candidates, verifier, exclusions),
            languages=verifier.languages,
            read=settings.retrieval.read,
            threshold=settings.verify.threshold,
            suggest=settings.verify.suggest,
            exclusions=exclusions,
        )
        versions = {"pincite": version("pincite"), "verifier": verifier.fingerprint}
        works = stack.enter_context(catalogue.of_user()) if own_copies else None
        if works is not None:
            versions["works"] = works.fingerprint()
        if stored:
            versions |= stored.versions()
        if own and (attached := own.copies.fingerprint()):
            versions["own_copies"] = attached
        if listed:
            versions["reliability"] = listed.fingerprint
        unused = files.warnings if files else copies.warnings if copies is not None else ()
        warnings = (*(stored.notes if stored else ()), *map(_unused, unused))
        if pipeline.better and settings.filters.chosen.leaves_out_undated:
            warnings = (*warnings, Note("undated_not_suggested"))
        rates = verifier.calibration.rates_at(settings.verify.threshold)
        precision = flag_precisions(rates)
        second = None
        if settings.judge.url:
            chosen, threshold = settings.judge, settings.verify.threshold
            judge = stack.enter_context(runtime.judge(settings))
            versions["judge"] = judge.model
            examiner = runtime.examiner(settings, judge)
            second = SecondOpinion(examiner, pipeline.copies, chosen.limit, chosen.at_once)
            measured = examiner.known.measured
            if measured and measured.threshold == threshold:
                precision = flag_precisions(measured.rates) or precision
        estimated = partial(
            estimate_article,
            copies=pipeline.copies,
            seconds_a_pair=verifier.seconds_a_pair,
            settings=settings,
            candidates=settings.retrieval.judged if stored else 0,
        )
        lookup = WorkLookup([] if works is None else [works], services)
        yield Run(
            *(settings, pipeline, versions, warnings, estimated, lookup),
            *(precision, second, files),
        )


@contextmanager
def verifying_one(
    article: Article,
    settings: Settings,
    corpus: runtime.Places | None,
    sources: Sequence[Path],
    *,
    fetching: Callable[[FetchStep], None],
    reading: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[Run]:
    """As `verifying`, for one article: in its language, with the files of its sources.

    Files without an address are matched with its citations; `reading` is called with (done, total).
    """
    settings = settings.replace(language=article.language)
    files = match_files(open_sources(*sources), article, reading) if sources else None
    with verifying(settings, corpus, files, own_copies=True, fetching=fetching) as run:
        yield run


def _unused(problem: Problem) -> Note:
    file, line, why = problem
    if line:
        return Note("unused_line", {"file": file, "line": line, "problem": why})
    return Note("unused_file", {"file": file, "problem": why})


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What a worker process needs to write the same reports as this one."""

    settings: Settings
    corpora: Sequence[Path | str] | None
    sources: Sequence[Path] | None

    def report_on(self, page: PageText) -> Report | str:
        """Report on an article; the models stay loaded until the process ends."""
        if (key := repr(self)) not in _RUNS:
            run = verifying(
                self.settings.replace(threads=1),
                self.corpora,
                self.sources,
                keep=False,  # the cache of judged pairs belongs to one machine
                own_copies=True,
            )
            stack = ExitStack()
            atexit.register(stack.close)
            _RUNS[key] = replace(stack.enter_context(run), settings=self.settings)
        return _RUNS[key].report_on(page)


_RUNS: dict[str, Run] = {}


def _not_looked_up(findings: Sequence[Finding]) -> tuple[Note, ...]:
    results = [result for finding in findings for result in finding.citations]
    lost = {
        r.citation.reference for r in results if r.work and r.work.status is WorkStatus.UNCHECKED
    }
    return (Note("works_unchecked", {"n": len(lost)}),) if lost else ()


def _internal_errors(findings: Sequence[Finding], uncited: Sequence[Uncited]) -> tuple[Note, ...]:
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
    """Return the settings that a report of `verify` records: none of `ask` or `check` alone."""
    left_out = OF_OTHERS if settings.judge.url else OF_OTHERS + OF_A_JUDGE
    return {
        name: value
        for name, value in public_settings(settings).items()
        if not name.startswith(left_out) or name in SHARED
    }


def decisive(recorded: Mapping[str, object]) -> dict[str, object]:
    """Keep the recorded settings that can change a verdict: no pauses, threads or paths."""
    return {name: value for name, value in recorded.items() if name not in WITHOUT_EFFECT}


def corpus_copies(corpus: Corpora) -> Callable[[Citation], Document | None]:
    """Find a cited work in a corpus: at its address, or by the DOI or PMID that it states."""

    @lru_cache(maxsize=REMEMBERED)
    def find(citation: Citation) -> Document | None:
        here = corpus.get([form for url in addresses(citation) for form in variants(url)])
        keys, words = private_copies.citation_keys(citation), citation.title or citation.text
        if words and not any(here):  # a corpus has no index of identifiers
            (hits,) = corpus.lexical().retrieve([((words, 1.0),)], LIKE_ITS_TITLE)
            like = corpus.get(list(dict.fromkeys(hit.passage.url for hit in hits)))
            keys_of = private_copies.document_keys
            here = [each for each in like if each and not keys_of(each).isdisjoint(keys)]
        return next(filter(None, here), None)

    return find
