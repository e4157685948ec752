"""A trace: everything that a run of `check` asked, was told and decided, as it happens.

One JSON object a line. The first of a run has the event "run" with settings and versions; then come
"statement" (with its readings), "call" (a prompt and its reply), "unreadable" (a call whose reply
could not be used), "searched" (pages of the web that are no evidence, and why), "judged" (a passage
and what it says) and at last "report". A second run with
the same file is written behind the first and asks for no reply that stands in it already. Keys of
servers are in none of it.

`replayed` makes the checks of the last run anew, from the replies up, without any model.
"""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pincite import notes
from pincite.completions import Completion, Prompt, Usage
from pincite.contract import codec
from pincite.contract.check import CheckReportRecord
from pincite.errors import ConfigError, InputError, NotAsked, ServerError
from pincite.judgement.confirmation import StatementType
from pincite.llm.calls import Calls, completion_of, key_of
from pincite.llm.templates import Templates
from pincite.types import Evidence, Exclusion, Failed, Passage, Unchecked
from pincite.verbs.check import data
from pincite.verbs.check.confirm import Asking, ModelJudge
from pincite.verbs.check.evidence import Found, Online
from pincite.verbs.check.pipeline import combined
from pincite.verbs.check.records import Check, CheckReport, Interpretation, Reading

VERSION = 1


class TraceWriter:
    """Appends events to a file, each whole; safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        """Open the file at the end of what it holds.

        Raises:
            ConfigError: it cannot be written.
        """
        self._lock = threading.Lock()
        try:
            self._cut_half_a_line(path)
            self._file = path.open("a", encoding="utf-8", errors="replace")
        except OSError as error:
            raise ConfigError(f"{path} cannot be written: {error.strerror}") from error

    @staticmethod
    def _cut_half_a_line(path: Path) -> None:
        """What a kill left of the last line goes, so that the next one begins a line."""
        if path.exists() and (content := path.read_bytes()) and not content.endswith(b"\n"):
            with path.open("r+b") as file:
                file.truncate(content.rfind(b"\n") + 1)

    def record(self, event: Mapping[str, Any]) -> None:
        """Write an event now."""
        line = json.dumps(event, ensure_ascii=True) + "\n"
        with self._lock:
            self._file.write(line)
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace as it was read."""

    run: Mapping[str, Any]  # the last run's first event
    events: Sequence[Mapping[str, Any]]  # that follow it
    replies: Mapping[str, Completion]  # of all runs, by key
    errors: Mapping[str, str]
    unreadable: frozenset[str]  # keys of replies that could not be used

    @property
    def memory(self) -> dict[str, Completion]:
        """Replies worth using again."""
        return {key: r for key, r in self.replies.items() if key not in self.unreadable}

    @property
    def report(self) -> CheckReportRecord | None:
        """What the run reported; None if it was stopped before.

        Raises:
            InputError: it is no report of this version.
        """
        reports = (e["report"] for e in reversed(self.events) if e["event"] == "report")
        found = next(reports, None)
        return None if found is None else codec.from_values(CheckReportRecord, found)


def read_trace(path: Path) -> Trace:
    """The trace in a file.

    Raises:
        InputError: it is not there, or a line is no event; names the line.
    """
    runs: list[tuple[Mapping[str, Any], list[Mapping[str, Any]]]] = []
    replies, errors, unreadable = dict[str, Completion](), dict[str, str](), set[str]()
    for number, event in _events(path):
        try:
            kind = event["event"]
            if kind == "run":
                runs.append((event, []))
            elif kind == "call" and event["reply"]:
                replies[event["key"]] = completion_of(event["reply"])
                unreadable.discard(event["key"])
            elif kind == "call":
                errors[event["key"]] = str(event["error"])
            elif kind == "unreadable":
                unreadable.add(event["key"])
            else:
                runs[-1][1].append(event)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise _no_trace(path, number, error) from error
    if not runs:
        raise InputError(f"{path} holds no run; expected a file of: pincite check --trace {path}")
    head, events = runs[-1]
    if head.get("trace_version") != VERSION:
        found = head.get("trace_version")
        raise InputError(f"{path} is a trace of version {found}; this program reads {VERSION}.")
    return Trace(head, events, replies, errors, frozenset(unreadable))


def _events(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        if number == len(lines) and not line.endswith(b"\n"):
            return  # a kill cut it
        try:
            event = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _no_trace(path, number, error) from error
        if not isinstance(event, dict):
            raise _no_trace(path, number, TypeError("no object"))
        yield number, event


def _no_trace(path: Path, number: int, error: Exception) -> InputError:
    said = f"{type(error).__name__}: {error}"
    return InputError(f"{path}, line {number}, is no event of a trace ({said}).")


# ── Replay ───────────────────────────────────────────────────────────────────────────────────────


def replayed(trace: Trace) -> CheckReport:
    """The last run's report, from its replies up: probabilities, DOC, groups and levels.

    What failed stays failed. Readings and passages are those that were recorded.

    Raises:
        InputError: the trace lacks what it should hold.
    """
    run, recorded = trace.run, trace.report
    try:
        checks = [_check(trace, *of_statement) for of_statement in _statements(trace)]
        return CheckReport(
            checks=tuple(checks),
            n_statements=recorded.n_statements if recorded else len(checks),
            usage=recorded.usage if recorded else Usage(),
            warnings_coded=notes.stored(recorded.warnings_coded, *recorded.warnings)
            if recorded
            else notes.as_written(*run["warnings"]),
            settings=run["settings"],
            versions=run["versions"],
            created=recorded.created if recorded else run["created"],
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"The trace cannot be replayed ({type(error).__name__}: {error})."
        ) from error


_Events = list[Mapping[str, Any]]


def _statements(trace: Trace) -> list[tuple[Mapping[str, Any], _Events, _Events]]:
    """Each statement with what was judged, and what was searched."""
    found: list[tuple[Mapping[str, Any], _Events, _Events]] = []
    for event in trace.events:
        if event["event"] == "statement":
            found.append((event, [], []))
        elif event["event"] == "judged":
            found[-1][1].append(event)
        elif event["event"] == "searched":
            found[-1][2].append(event)
    return found


def _check(trace: Trace, statement: Mapping[str, Any], judged: _Events, searched: _Events) -> Check:
    interpretation = codec.from_values(Interpretation, statement["interpretation"])
    how = trace.run["check"]
    ignored = frozenset(StatementType(kind) for kind in how["ignored"])
    found = dict[Reading, Online]()
    pairs, outcomes = list[tuple[Reading, Passage]](), list[Evidence | Failed]()
    for reading in interpretation.readings:
        if reading.kind in ignored:
            continue
        own = [event for event in judged if event["reading"] == reading.reading_id]
        passages = tuple(codec.from_values(Found, event["found"]) for event in own)
        pages = [event for event in searched if event["reading"] == reading.reading_id]
        found[reading] = Online(
            passages,
            tuple(codec.from_values(Unchecked, p) for event in pages for p in event["unread"]),
            tuple(codec.from_values(Exclusion, p) for event in pages for p in event["excluded"]),
        )
        pairs += [(reading, each.passage) for each in passages]
        outcomes += [
            data.outcome_of(event["outcome"], each.passage)
            for event, each in zip(own, passages, strict=True)
        ]
    if model := _model_judge(trace):  # what failed stays so; the rest is computed again
        judgeable = [
            pair for pair, old in zip(pairs, outcomes, strict=True) if isinstance(old, Evidence)
        ]
        answers = iter(model.judge(judgeable))
        outcomes = [old if isinstance(old, Failed) else next(answers) for old in outcomes]
    return combined(
        statement["statement"],
        interpretation,
        found,
        outcomes,
        threshold=how["threshold"],
        count_copies=how["count_copies"],
    )


def _model_judge(trace: Trace) -> ModelJudge | None:
    """The judge that asked a model, with a model that knows the recorded replies."""
    how = trace.run["check"]["model"]
    if how is None:
        return None
    given = how["templates"]
    texts = {step: (system, user) for step, (system, user) in given["texts"].items()}
    templates = Templates(texts, tuple(given["options"]), given["language"], given["fingerprint"])
    asking = Asking(**{**how["asking"], "labels": tuple(how["asking"]["labels"])})
    models = {step: _Replies(name, trace) for step, name in how["models"].items()}
    return ModelJudge(Calls(models), templates, asking)


def model_of(judge: ModelJudge, models: Mapping[str, str]) -> dict[str, Any]:
    """What a trace must keep of a judge that asks a model; `models`: fingerprints by step."""
    names = ("options", "language", "fingerprint")
    given = {name: getattr(judge.templates, name) for name in names}
    templates = {**given, "texts": dict(judge.templates.texts)}
    return {"templates": templates, "asking": asdict(judge.how), "models": dict(models)}


@dataclass(frozen=True, slots=True)
class _Replies:
    """A generator that replies what is recorded."""

    fingerprint: str
    trace: Trace

    def generate(self, prompts: Sequence[Prompt]) -> list[Completion | ServerError]:
        keys = [key_of(prompt, self.fingerprint) for prompt in prompts]
        missing = NotAsked("The trace holds no reply to this prompt.")
        return [self.trace.replies.get(key) or missing for key in keys]
