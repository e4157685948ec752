"""A trace of a `check` run: every prompt, reply and decision, written as it happens.

One JSON object per line. A run begins with the event "run" (settings and versions), followed by
"statement" (with its readings), "call" (a prompt and its reply), "unreadable" (a call whose reply
could not be used), "searched" (web pages that are not evidence, and why), "judged" (a passage and
its evidence) and finally "report". A second run with the same file appends to it and reuses the
replies. API keys are never written.

`replayed` recomputes the checks of the last run from the recorded replies, without a model.
"""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pincite import codec, notes
from pincite.completions import Completion, Prompt, Usage
from pincite.errors import ConfigError, InputError, NotAsked, ServerError
from pincite.judgement.confirmation import Unjudged, Weighed
from pincite.llm.calls import Calls, completion_of, key_of
from pincite.llm.templates import Templates
from pincite.types import Evidence, Exclusion, Failed, Unchecked
from pincite.verbs.check.confirm import Asking, ModelJudge
from pincite.verbs.check.pipeline import Retrieved, combined
from pincite.verbs.check.report import Check, CheckReport, Interpretation, Reading

VERSION = 2


class TraceWriter(AbstractContextManager["TraceWriter"]):
    """Appends whole events to a file; thread-safe."""

    def __init__(self, path: Path) -> None:
        """Open the file for appending, dropping a partial last line left by a kill.

        Raises:
            ConfigError: it cannot be written.
        """
        self._lock = threading.Lock()
        try:
            if path.exists() and (content := path.read_bytes()) and not content.endswith(b"\n"):
                with path.open("r+b") as file:
                    file.truncate(content.rfind(b"\n") + 1)
            self._file = path.open("a", encoding="utf-8", errors="replace")
        except OSError as error:
            raise ConfigError(f"{path} cannot be written: {error.strerror}") from error

    def record(self, event: Mapping[str, Any]) -> None:
        line = json.dumps(event, ensure_ascii=True) + "\n"
        with self._lock:
            self._file.write(line)
            self._file.flush()

    def __exit__(self, *error: object) -> None:
        self._file.close()


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace file that was read."""

    run: Mapping[str, Any]  # the first event of the last run
    events: Sequence[Mapping[str, Any]]  # the events after it
    replies: Mapping[str, Completion]  # of all runs, by key
    unreadable: frozenset[str]  # keys of replies that could not be used

    @property
    def memory(self) -> dict[str, Completion]:
        return {key: r for key, r in self.replies.items() if key not in self.unreadable}

    @property
    def report(self) -> CheckReport | None:
        """The run's report; None if it was killed first.

        Raises:
            InputError: not a report of this version.
        """
        reports = (e["report"] for e in reversed(self.events) if e["event"] == "report")
        found = next(reports, None)
        return None if found is None else codec.from_values(CheckReport, found)


def read_trace(path: Path) -> Trace:
    """Read a trace file.

    Raises:
        InputError: the file is missing, or a line is not an event; names the line.
    """
    runs: list[tuple[Mapping[str, Any], list[Mapping[str, Any]]]] = []
    replies, unreadable = dict[str, Completion](), set[str]()
    for number, event in _events(path):
        try:
            kind = event["event"]
            if kind == "run":
                runs.append((event, []))
            elif kind == "call" and event["reply"]:
                replies[event["key"]] = completion_of(event["reply"])
                unreadable.discard(event["key"])
            elif kind == "unreadable":
                unreadable.add(event["key"])
            elif kind != "call":
                runs[-1][1].append(event)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise _no_trace(path, number, error) from error
    if not runs:
        raise InputError(f"{path} holds no run; expected a file of: pincite check --trace {path}")
    head, events = runs[-1]
    if head.get("trace_version") != VERSION:
        found = head.get("trace_version")
        raise InputError(f"{path} is a trace of version {found}; this program reads {VERSION}.")
    return Trace(head, events, replies, frozenset(unreadable))


def _events(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        if number == len(lines) and not line.endswith(b"\n"):
            return  # cut off by a kill
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
    """Recompute the last run's report from its replies: probabilities, DOC, groups and levels.

    Readings and passages are the recorded ones, and failures stay failures.

    Raises:
        InputError: the trace is malformed.
    """
    run, recorded = trace.run, trace.report
    statements: list[tuple[Mapping[str, Any], list[Mapping[str, Any]]]] = []
    try:
        for event in trace.events:
            if event["event"] == "statement":
                statements.append((event, []))
            elif event["event"] in ("judged", "searched"):
                statements[-1][1].append(event)
        checks = tuple(_check(trace, *of_statement) for of_statement in statements)
        if recorded:
            return replace(recorded, checks=checks)
        return CheckReport(
            checks=checks,
            n_statements=len(checks),
            usage=Usage(),
            warnings_coded=notes.as_written(*run["warnings"]),
            settings=run["settings"],
            versions=run["versions"],
            created=run["created"],
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"The trace cannot be replayed ({type(error).__name__}: {error})."
        ) from error


def _check(
    trace: Trace, statement: Mapping[str, Any], events: Sequence[Mapping[str, Any]]
) -> Check:
    interpretation = codec.from_values(Interpretation, statement["interpretation"])
    how = trace.run["check"]
    found, items = dict[Reading, Retrieved](), dict[Reading, list[Weighed]]()
    for reading in interpretation.readings:
        if str(reading.kind) in how["ignored"]:
            continue
        own = [event for event in events if event["reading"] == reading.reading_id]
        searched = [event for event in own if event["event"] == "searched"]
        found[reading] = Retrieved(
            unread=codec.from_values(
                tuple[Unchecked, ...], [page for event in searched for page in event["unread"]]
            ),
            excluded=codec.from_values(
                tuple[Exclusion, ...], [page for event in searched for page in event["excluded"]]
            ),
        )
        judged = [event["item"] for event in own if event["event"] == "judged"]
        items[reading] = codec.from_values(list[Weighed], judged)
    if model := _model_judge(trace):  # failures stay; the rest is recomputed
        known = [
            (reading, item.passage)
            for reading, of_reading in items.items()
            for item in of_reading
            if isinstance(item.outcome, Evidence)
        ]
        answers = iter(zip(known, model.judge(known), strict=True))
        for of_reading in items.values():
            for n, item in enumerate(of_reading):
                if isinstance(item.outcome, Evidence):
                    (_, passage), outcome = next(answers)
                    if isinstance(outcome, Failed):
                        outcome = Unjudged(outcome.step, outcome.detail, passage)
                    of_reading[n] = replace(item, outcome=outcome)
    return combined(
        statement["statement"],
        interpretation,
        found,
        items,
        threshold=how["threshold"],
        count_copies=how["count_copies"],
    )


def _model_judge(trace: Trace) -> ModelJudge | None:
    """Rebuild the run's judge, if it used a model, with recorded replies instead of the model."""
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
    names = ("options", "language", "fingerprint")
    given = {name: getattr(judge.templates, name) for name in names}
    templates = {**given, "texts": dict(judge.templates.texts)}
    return {"templates": templates, "asking": asdict(judge.how), "models": dict(models)}


@dataclass(frozen=True, slots=True)
class _Replies:
    """A generator that returns recorded replies."""

    fingerprint: str
    trace: Trace

    def generate(self, prompts: Sequence[Prompt]) -> list[Completion | ServerError]:
        keys = [key_of(prompt, self.fingerprint) for prompt in prompts]
        missing = NotAsked("The trace holds no reply to this prompt.")
        return [self.trace.replies.get(key) or missing for key in keys]
