"""Builds `check` from settings, for the command line, the Python API and the server's jobs.

A trace of a `check` run: every prompt, reply and decision, one JSON event per line.

A run begins with "run" (settings and versions), followed by "statement" (with its readings), "call"
(a prompt and its reply), "unreadable" (a reply that could not be used), "searched" (web pages that
are not evidence) and "judged" (a passage and its evidence). API keys are never written.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite import codec, durable, runtime
from pincite.corpora import Corpora, open_corpora
from pincite.errors import ConfigError, InputError, usable
from pincite.judgement.confirmation import Outcome
from pincite.library.exclusions import Exclusions
from pincite.llm.calls import Calls, Record, completion_of, notes_of
from pincite.notes import Note, as_written, texts
from pincite.protocols import Completion, Progress, Usage, WebSearch
from pincite.settings import Settings, public_settings
from pincite.text.languages import identify
from pincite.types import Failed
from pincite.verbs.check.confirm import VerifierJudge
from pincite.verbs.check.kinds import negation
from pincite.verbs.check.model_judge import FEW_REPETITIONS, ModelJudge
from pincite.verbs.check.pipeline import CheckPipeline, PassageFinder, SearchedWeb, WindowFinder
from pincite.verbs.check.readings import ModelInterpreter
from pincite.verbs.check.report import Check, CheckReport, Interpretation
from pincite.verbs.check.spoken import UNKNOWN, Occasion

if TYPE_CHECKING:
    from pincite.web.sources import FetchStep

VERSION = 2


@contextmanager
def trace_to(path: Path) -> Iterator[Record]:
    """Yield a thread-safe function that appends whole events to a file.

    A partial last line, left by a kill, is dropped.

    Raises:
        ConfigError: the file cannot be written.
    """
    with usable(path, "written", ConfigError):
        if durable.is_special(path):
            raise ConfigError(f"{path} is no regular file; expected one that can be read again.")
        if path.exists() and (content := codec.content_of(path)) and content[-1:] != b"\n":
            with path.open("r+b") as partial:
                partial.truncate(content.rfind(b"\n") + 1)
        file = path.open("a", encoding="utf-8", errors="replace")
    lock = threading.Lock()

    def record(event: Mapping[str, Any]) -> None:
        with lock:
            file.write(json.dumps(event, ensure_ascii=True) + "\n")
            file.flush()

    with file:
        yield record


def read_replies(path: Path) -> dict[str, Completion]:
    """Return the usable replies in a trace file, by the key of their prompt.

    Raises:
        InputError: the file cannot be read or is not a trace; names the first invalid line.
    """
    with usable(path):
        lines = codec.content_of(path).splitlines(keepends=True)
    if lines and not lines[-1].endswith(b"\n"):
        del lines[-1]  # cut off by a kill
    replies = dict[str, Completion]()
    for number, line in enumerate(lines, 1):
        try:
            event = json.loads(line)
            kind = event["event"]
            if number == 1 and kind != "run":
                raise ValueError("the first event must be a run")
            if kind == "call" and event["reply"]:
                replies[event["key"]] = completion_of(event["reply"])
            elif kind == "unreadable":
                replies.pop(event["key"], None)
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            raise InputError(
                f"{path}, line {number}, is not an event of a trace "
                f"({type(error).__name__}: {error})."
            ) from error
        if kind == "run" and event.get("trace_version") != VERSION:
            version = event.get("trace_version")
            raise InputError(f"{path} is a trace of version {version}; expected {VERSION}.")
    return replies


MAX_WORDS = 100  # of a statement: with a passage, the verifier reads some 300 words (448 tokens)
# Estimated size of a call: a text of 250 words with its prompt, and the mean of an analysis of a
# few sentences and a one-letter choice.
PROMPT_TOKENS, REPLY_TOKENS = 700, 130


@dataclass(frozen=True, slots=True)
class CheckRun:
    """A `check` pipeline, ready for any number of statements."""

    settings: Settings
    pipeline: CheckPipeline
    versions: Mapping[str, str]
    warnings: tuple[Note, ...]
    calls: tuple[Calls, ...] = ()  # of the model, of a second opinion
    started: float = 0.0  # as returned by `time.monotonic`
    estimate: str = ""  # what a statement may cost; empty without a model
    search: WebSearch | None = None  # None: the web is not searched

    def check(
        self,
        statements: Sequence[str],
        on_progress: Progress = lambda step, done, total: None,
        interpretation: Callable[[str, Occasion], Interpretation] | None = None,
        occasions: Sequence[Occasion] = (),
    ) -> CheckReport:
        """Check statements. After Ctrl-C, report on those done so far (`CheckReport.stopped`).

        `interpretation` returns a statement's readings; None: the pipeline's. `occasions`: one for
        each statement, or one for all.
        """
        checks: list[Check] = []
        try:
            said = [*occasions] or [UNKNOWN]
            said *= 1 if len(said) > 1 else len(statements)
            for statement, occasion in zip(statements, said, strict=True):
                on_progress("checking statements", len(checks), len(statements))
                readings = interpretation(statement, occasion) if interpretation else None
                checks.append(self.pipeline.check(statement, readings, occasion))
                if checks[-1].stopped:
                    break
        except KeyboardInterrupt:
            pass  # report what was done so far
        usage = sum((calls.usage for calls in self.calls), Usage())
        of_statements = self._of_statements(checks)
        of_search = as_written(*self.search.warnings) if self.search else ()
        return CheckReport(
            checks=tuple(checks),
            n_statements=len(statements),
            usage=replace(usage, seconds=round(time.monotonic() - self.started, 1)),
            warnings_coded=(*self.warnings, *of_search, *notes_of(self.calls), *of_statements),
            settings=public_settings(self.settings),
            versions=self.versions,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def _of_statements(self, checks: Sequence[Check]) -> Iterator[Note]:
        settings, n_checks = self.settings, len(checks)
        by_verifier = settings.check.confirmation == "verifier"
        german = sum(identify(check.statement) == "de" for check in checks)
        read = "de" in (self.pipeline.languages or ())
        if german and settings.language == "en" and by_verifier and not read:
            yield Note("german_statements", {"n": german, "all": n_checks})
        items = [item for check in checks for result in check.results for item in result.items]
        unread = sum(isinstance(i.outcome, Failed) and i.outcome.step == "language" for i in items)
        if unread:
            yield Note("unread_passages", {"n": unread})
        long = sum(len(check.statement.split()) > MAX_WORDS for check in checks)
        if long and by_verifier:
            yield Note("long_statements", {"n": long, "all": n_checks, "most": MAX_WORDS})
        outcomes = [result.weight.outcome for check in checks for result in check.results]
        judged = any(outcome is not Outcome.NOT_JUDGED for outcome in outcomes)
        if judged and not items and not self.search:
            yield Note("filters_excluded_all" if settings.filters.chosen else "empty_corpus")


@contextmanager
def checking(
    settings: Settings,
    corpus: runtime.Places | None,
    trace: Path | None = None,
    on_calls: Callable[[int, int], None] | None = None,
    *,
    keep: bool = True,
    fetching: "Callable[[FetchStep], None]" = lambda step: None,
) -> Iterator[CheckRun]:
    """Build a `check` pipeline and close it afterwards.

    Args:
        settings: all settings.
        corpus: the knowledge base; None: search the web only.
        trace: trace file to write; replies that it already holds are reused.
        on_calls: called with (done, total) model calls, or verifier judgements.
        keep: whether to cache judged pairs in `runtime.judgements_file()`.
        fetching: called with the pages being fetched, if fetching is enabled.
    """
    online = settings.web.online and settings.web.search_url
    if not (corpus or online):
        raise ConfigError("Nothing to search; expected --corpus, or --online with --search-url")
    prompts = runtime.templates(settings.chat, settings.language)
    chosen = settings.check
    with ExitStack() as stack:
        known = read_replies(trace) if trace and trace.is_file() else {}
        record: Record = stack.enter_context(trace_to(trace)) if trace else lambda event: None
        stored = stack.enter_context(open_corpora(settings, corpus)) if corpus else None
        calls = second = None
        if chosen.asks_a_model:
            calls = Calls(runtime.clients(settings.chat), settings.budget.limits, known, record)
        languages = None
        judge: VerifierJudge | ModelJudge
        if calls and chosen.confirmation == "model":
            judge = ModelJudge(calls, prompts, settings, on_calls)
        else:
            own = runtime.verifier(settings.models, keep=keep)
            stack.callback(own.close)
            verifier, second = stack.enter_context(runtime.with_second_opinions(settings, own))
            judge = VerifierJudge(verifier, own, on_calls)
            languages = own.languages
        interpreter = None
        if calls and chosen.interpretation == "model":
            interpreter = ModelInterpreter(calls, prompts, settings, on_calls)
        listed = runtime.reliability_list(settings)
        web = None
        if online:
            from pincite.library.web_pages import web_candidates, web_pages

            pages = stack.enter_context(web_pages(settings.web, fetching))
            filters = settings.filters
            candidates = stack.enter_context(
                web_candidates(settings.web, pages, settings.language, filters.chosen)
            )
            assert candidates
            exclusions = Exclusions(filters.exclude_hosts, listed.rules if listed else None)
            web = SearchedWeb(candidates, exclusions, chosen, languages)
        pipeline = CheckPipeline(
            finder=_finder(settings, stored) if stored else None,
            judge=judge,
            interpreter=interpreter,
            settings=settings,
            languages=languages,
            record=record,
            online=web,
        )
        versions = {
            "pincite": version("pincite"),
            "judge": judge.fingerprint,
            "interpreter": interpreter.fingerprint if interpreter else "rules",
        }
        if stored:
            versions |= stored.versions()
        if web and listed:
            versions["reliability"] = listed.fingerprint
        if calls:
            versions["prompts"] = prompts.fingerprint
        warnings = (*(stored.notes if stored else ()), *_warnings(settings, languages))
        record(
            {
                "event": "run",
                "trace_version": VERSION,
                "created": datetime.now(UTC).isoformat(timespec="seconds"),
                "settings": public_settings(settings),
                "versions": versions,
                "warnings": texts(warnings),
            }
        )
        yield CheckRun(
            settings=settings,
            pipeline=pipeline,
            versions=versions,
            warnings=warnings,
            calls=tuple(filter(None, (calls, second))),
            started=time.monotonic(),
            estimate=_estimate(settings, bool(stored) + bool(web)),
            search=web.candidates.search if web else None,
        )


def _finder(settings: Settings, corpora: Corpora) -> PassageFinder | WindowFinder:
    # Wikipedia cannot be a source for itself, but it may be one in a knowledge base.
    hosts, check, depth = settings.filters.exclude_hosts, settings.check, settings.retrieval.depth
    if check.retrieval == "windows":
        dense = corpora.dense(hosts, settings.filters.chosen)
        encoder = corpora.encoder or runtime.encoder(settings)
        return WindowFinder(dense, encoder, corpora.get, check, depth)
    by_meaning = check.retrieval == "hybrid"
    search = runtime.search(settings, corpora, hosts, by_meaning=by_meaning)
    return PassageFinder(search, corpora.get, check, 2 * depth)


def _warnings(settings: Settings, languages: frozenset[str] | None) -> Iterator[Note]:
    chosen, language = settings.check, repr(settings.language)
    if settings.filters.chosen.leaves_out_undated:
        yield Note("undated_not_weighed")
    if languages and settings.language not in languages:
        reads = ", ".join(sorted(languages))
        yield Note("unread_statements", {"language": language, "languages": reads})
    estimating = chosen.confirmation == "model" and chosen.probabilities == "estimate"
    if estimating and chosen.repetitions < FEW_REPETITIONS:
        yield Note("few_repetitions", {"n": chosen.repetitions, "few": FEW_REPETITIONS})
    if chosen.interpretation == "rules" and not negation("x", settings.language):
        yield Note("no_negation_rules", {"language": language})


def _estimate(settings: Settings, n_sources: int) -> str:
    """Estimate a model's calls per reading, of `top_k` texts a source; empty without one."""
    check = settings.check
    if check.confirmation != "model":
        return ""
    n_calls = n_sources * check.top_k * 2 * (1 + check.repetitions)
    n_prompt, n_reply = n_calls * PROMPT_TOKENS, n_calls * REPLY_TOKENS
    cost = settings.budget.limits.cost_of(n_prompt, n_reply)
    priced = f", {cost:.4f} at the configured prices" if cost else ""
    return f"Each reading takes up to {n_calls} calls ({n_prompt + n_reply:,} tokens{priced})."
