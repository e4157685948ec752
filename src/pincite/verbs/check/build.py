"""`check` from settings and statements to their report; nothing else makes one.

`checking` opens what the settings name; `CheckRun.check` then does what there is to do for
statements. The command line, the Python API and the server's jobs call it.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from pincite import runtime
from pincite.completions import Usage
from pincite.contract.codec import values_of
from pincite.corpus.multi_corpus import Corpora
from pincite.errors import ConfigError
from pincite.judgement.confirmation import Outcome
from pincite.judgement.reliability import ReliabilityList
from pincite.library import reliability
from pincite.library.exclusions import Exclusions
from pincite.library.web_pages import web_candidates, web_pages
from pincite.llm.calls import Calls
from pincite.llm.judge import WithSecondOpinion
from pincite.llm.templates import Templates
from pincite.notes import Note, as_written, texts
from pincite.protocols import Progress, WebSearch
from pincite.settings import Settings
from pincite.text.words import looks_german
from pincite.types import Failed
from pincite.verbs.check import data, readings
from pincite.verbs.check.confirm import FEW_REPETITIONS, Asking, ModelJudge, VerifierJudge
from pincite.verbs.check.evidence import (
    Finder,
    PassageFinder,
    SearchedWeb,
    WindowFinder,
)
from pincite.verbs.check.interpret import Interpreter, ModelInterpreter, RuleInterpreter
from pincite.verbs.check.pipeline import CheckPipeline
from pincite.verbs.check.records import (
    Check,
    CheckReport,
    Interpretation,
    Judge,
)
from pincite.verbs.check.trace import VERSION, TraceWriter, model_of, read_trace
from pincite.web.sources import FetchStep

Tell = Callable[[int, int], None]
MAX_WORDS = 100  # of a statement: with a passage, the verifier reads some 300 words (448 tokens)
# About what a call takes: a text of 250 words with the prompt around it, and the mean of an
# analysis of some sentences and a choice of one letter.
PROMPT_TOKENS, REPLY_TOKENS = 700, 130


@dataclass(frozen=True, slots=True)
class CheckRun:
    """`check`, ready for any number of statements."""

    settings: Settings
    pipeline: CheckPipeline
    versions: Mapping[str, str]
    warnings: tuple[Note, ...]
    calls: tuple[Calls, ...] = ()  # of the model that reads and judges, of a second opinion
    trace: TraceWriter | None = None
    started: float = 0.0  # of a clock that only goes forward
    estimate: str = ""  # what a statement may cost; empty without a model
    search: WebSearch | None = None  # of the web, if it is searched

    def check(
        self,
        statements: Sequence[str],
        on_progress: Progress = lambda step, done, total: None,
        interpretation: Callable[[str], Interpretation] | None = None,
    ) -> CheckReport:
        """The report on statements; after Ctrl-C, on those done so far (`CheckReport.stopped`).

        Args:
            statements: each is checked on its own.
            on_progress: called as `on_progress("checking statements", 1, 3)`.
            interpretation: gives a statement's readings; None: the pipeline's interpreter.
        """
        checks: list[Check] = []
        try:
            for statement in statements:
                on_progress("checking statements", len(checks), len(statements))
                found = interpretation(statement) if interpretation else None
                checks.append(self.pipeline.check(statement, found))
                if checks[-1].stopped:
                    break
        except KeyboardInterrupt:
            pass  # what there is makes the report
        usage = sum((calls.usage for calls in self.calls), Usage())
        late = self.search.warnings if self.search else ()
        report = CheckReport(
            checks=tuple(checks),
            n_statements=len(statements),
            usage=replace(usage, seconds=round(time.monotonic() - self.started, 1)),
            warnings_coded=(
                *self.warnings,
                *as_written(*late),
                *_of_statements(checks, self.settings, self),
            ),
            settings=runtime.recorded(self.settings),
            versions=self.versions,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        if self.trace:
            self.trace.record({"event": "report", "report": values_of(data.record_of(report))})
        return report


@contextmanager
def checking(
    settings: Settings,
    corpus: runtime.Places | None,
    trace: Path | None = None,
    tell: Tell | None = None,
    *,
    keep: bool = True,
    fetching: Callable[[FetchStep], None] = lambda step: None,
) -> Iterator[CheckRun]:
    """A ready `check`; closes what it opened.

    Args:
        settings: all of them.
        corpus: the knowledge base, folders or open ones; None: the web alone is searched.
        trace: file that everything is written to; replies that it holds are not asked for again.
        tell: told how many of how many calls, or judgements of a verifier, are done.
        keep: whether judged pairs are kept in `runtime.judgements_file()`.
        fetching: is told which pages are fetched, if the settings allow it at all.

    Raises:
        ConfigError: there is nothing to search.
    """
    if not corpus and not (settings.web.online and settings.web.search_url):
        raise ConfigError("There is nothing to search; expected --corpus, or --search-url --online")
    with ExitStack() as stack:
        writer = None
        memory = (
            read_trace(trace).memory if trace and trace.is_file() and trace.stat().st_size else {}
        )
        if trace:
            writer = TraceWriter(trace)
            stack.callback(writer.close)
        stored = stack.enter_context(runtime.opened(settings, corpus)) if corpus else None
        calls = None
        if settings.check.asks_a_model:
            record = writer.record if writer else None
            calls = Calls(runtime.clients(settings.chat), settings.budget.limits, memory, record)
        prompts = runtime.templates(settings.chat, settings.language)
        languages = None
        judge: Judge
        if calls and settings.check.confirmation == "model":
            judge = ModelJudge(calls, prompts, _asking(settings, prompts), tell)
        else:
            judge, languages = _verifier(settings, stack, keep, tell)
        listed = reliability.chosen(settings.library.reliability, settings.language)
        online = _online(settings, stack, listed.rules if listed else None, languages, fetching)
        pipeline = CheckPipeline(
            interpreter=_interpreter(settings, calls, prompts, tell),
            finder=_finder(settings, stored) if stored else None,
            judge=judge,
            ignored=settings.check.ignored_types,
            threshold=settings.check.threshold,
            count_copies=settings.check.count_copies,
            languages=languages,
            record=writer.record if writer else None,
            online=online,
        )
        versions = {
            "pincite": version("pincite"),
            "judge": judge.fingerprint,
            "interpreter": pipeline.interpreter.fingerprint,
        }
        if stored:
            versions |= stored.versions()
        if online and listed:
            versions["reliability"] = listed.fingerprint
        if calls:
            versions["prompts"] = prompts.fingerprint
        warnings = _warnings(settings, languages)
        run = CheckRun(
            settings,
            pipeline,
            versions,
            warnings,
            tuple(filter(None, (calls, _second(judge)))),
            writer,
            time.monotonic(),
            _estimate(settings, bool(stored) + bool(online)),
            online.candidates.search if online else None,
        )
        _begin(run, settings)
        yield run


def _asking(settings: Settings, prompts: Templates) -> Asking:
    n_options, n_labels = len(prompts.options), len(settings.check.answer_labels)
    if n_labels < n_options:
        raise ConfigError(
            f"check.answer_labels are {n_labels}; expected {n_options}: as many as options.txt has."
        )
    return Asking(
        probabilities=settings.check.probabilities,
        guidance=settings.check.guidance,
        repetitions=settings.check.repetitions,
        labels=settings.check.answer_labels,
        delimiter=settings.check.label_delimiter,
        with_source=settings.check.passage_source,
        top_logprobs=settings.check.top_logprobs,
        temperature=settings.chat.temperature,
        at_once=settings.chat.at_once,
        tokens=settings.chat.tokens_of_steps,
    )


def _interpreter(
    settings: Settings, calls: Calls | None, templates: Templates, tell: Tell | None
) -> Interpreter:
    if calls is None or settings.check.interpretation == "rules":
        return RuleInterpreter(settings.language)
    return ModelInterpreter(
        calls,
        templates,
        settings.language,
        guided=settings.check.guidance == "json",
        temperature=settings.chat.temperature,
        at_once=settings.chat.at_once,
        tokens=settings.chat.tokens_of_steps,
        tell=tell,
    )


def _verifier(
    settings: Settings, stack: ExitStack, keep: bool, tell: Tell | None
) -> tuple[VerifierJudge, frozenset[str]]:
    own = runtime.verifier(settings.models, keep=keep)
    stack.callback(own.close)
    verifier = stack.enter_context(runtime.seconded(settings, own))
    return VerifierJudge(verifier, own, tell=tell), runtime.languages(settings.models)


def _second(judge: Judge) -> Calls | None:
    """The calls of a second opinion, if one is asked."""
    verifier = judge.verifier if isinstance(judge, VerifierJudge) else None
    return verifier.calls if isinstance(verifier, WithSecondOpinion) else None


def _online(
    settings: Settings,
    stack: ExitStack,
    rules: ReliabilityList | None,
    languages: frozenset[str] | None,
    fetching: Callable[[FetchStep], None],
) -> SearchedWeb | None:
    """What searches the web, under the rules of `verify`; None where the settings do not."""
    if not (settings.web.online and settings.web.search_url):
        return None
    pages = stack.enter_context(web_pages(settings.web, fetching))
    candidates = stack.enter_context(
        web_candidates(settings.web, pages, settings.language, settings.filters.chosen)
    )
    assert candidates
    return SearchedWeb(
        candidates,
        Exclusions(settings.filters.exclude_hosts, rules),
        settings.check.top_k,
        settings.check.passage_words,
        settings.check.count_copies,
        languages,
    )


def _finder(settings: Settings, corpora: Corpora) -> Finder:
    # Wikipedia is no source for Wikipedia, but may well be one of a knowledge base.
    hosts = settings.filters.exclude_hosts
    if settings.check.retrieval == "windows":
        return WindowFinder(
            corpora.dense(hosts, settings.filters.chosen),
            corpora.encoder or runtime.encoder(settings),
            corpora.get,
            settings.check.top_k,
            settings.check.window_size,
            settings.retrieval.depth,
        )
    by_meaning = settings.check.retrieval == "hybrid"
    search = runtime.search(settings, corpora, hosts, by_meaning=by_meaning)
    return PassageFinder(
        search,
        corpora.get,
        settings.check.top_k,
        2 * settings.retrieval.depth,
        settings.check.passage_words,
        settings.check.count_copies,
    )


def _warnings(settings: Settings, languages: frozenset[str] | None) -> tuple[Note, ...]:
    found = []
    if settings.filters.chosen.leaves_out_undated:
        found.append(Note("undated_not_weighed"))
    if languages and settings.language not in languages:
        reads = ", ".join(sorted(languages))
        language = repr(settings.language)
        found.append(Note("unread_statements", {"language": language, "languages": reads}))
    chosen = settings.check
    estimating = chosen.confirmation == "model" and chosen.probabilities == "estimate"
    if estimating and chosen.repetitions < FEW_REPETITIONS:
        n, few = chosen.repetitions, FEW_REPETITIONS
        found.append(Note("few_repetitions", {"n": n, "few": few}))
    if settings.check.interpretation == "rules" and not readings.negation("x", settings.language):
        found.append(Note("no_negation_rules", {"language": repr(settings.language)}))
    return tuple(found)


def _of_statements(checks: Sequence[Check], settings: Settings, run: CheckRun) -> tuple[Note, ...]:
    """What a statement has that makes its results mean less than they seem to."""
    found = []
    german = sum(looks_german(check.statement) for check in checks)
    if german and settings.language == "en" and settings.check.confirmation == "verifier":
        found.append(Note("german_statements", {"n": german, "all": len(checks)}))
    items = [item for check in checks for result in check.results for item in result.items]
    unread = sum(isinstance(i.outcome, Failed) and i.outcome.step == "language" for i in items)
    if unread:
        found.append(Note("unread_passages", {"n": unread}))
    long = sum(len(check.statement.split()) > MAX_WORDS for check in checks)
    if long and settings.check.confirmation == "verifier":
        values = {"n": long, "all": len(checks), "most": MAX_WORDS}
        found.append(Note("long_statements", values))
    judged = [r for c in checks for r in c.results if r.weight.outcome is not Outcome.NOT_JUDGED]
    if judged and not run.search and not any(result.items for result in judged):
        found.append(Note("filters_excluded_all" if settings.filters.chosen else "empty_corpus"))
    return tuple(found)


def _estimate(settings: Settings, n_finders: int) -> str:
    """How many calls a statement takes (EvidenceSeeker's pipeline, step by step).

    `n_finders`: corpus and web; each gives up to `top_k` texts.
    """
    parts = []
    if settings.check.interpretation == "model":
        parts.append("6 calls, and 1 more a reading, to be read")
    if settings.check.confirmation == "model":
        n_calls = n_finders * settings.check.top_k * 2 * (1 + settings.check.repetitions)
        n_prompt, n_reply = n_calls * PROMPT_TOKENS, n_calls * REPLY_TOKENS
        cost = settings.budget.limits.cost_of(n_prompt, n_reply)
        priced = f", {cost:.4f} at the prices set" if cost else ""
        parts.append(
            f"up to {n_calls} calls ({n_prompt + n_reply:,} tokens{priced}) for each reading that "
            "is judged"
        )
    if not parts:
        return ""
    # How fast a server is only its replies say.
    pace = f"{settings.chat.at_once} at once; the time is told after the first replies"
    return f"A statement takes {', and '.join(parts)}: {pace}."


def _begin(run: CheckRun, settings: Settings) -> None:
    if run.trace is None:
        return
    judge = run.pipeline.judge
    model = None
    if isinstance(judge, ModelJudge):
        steps = ("", *settings.chat.models_of_steps)
        model = model_of(judge, {step: judge.calls.model(step).fingerprint for step in steps})
    run.trace.record(
        {
            "event": "run",
            "trace_version": VERSION,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "settings": runtime.recorded(settings),
            "versions": dict(run.versions),
            "warnings": texts(run.warnings),
            "check": {
                "ignored": sorted(map(str, run.pipeline.ignored)),
                "threshold": run.pipeline.threshold,
                "count_copies": run.pipeline.count_copies,
                "model": model,
            },
        }
    )
