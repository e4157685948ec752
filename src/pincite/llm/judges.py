"""What is known of language models as judges: their examinations, and the user's own rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from pincite import codec, durable
from pincite.cache_file import data_path
from pincite.errors import usable
from pincite.llm.calls import Progress
from pincite.llm.judge import Examination, Judge, examine
from pincite.notes import Note
from pincite.types import Failed, Verdict

# A model's support outweighs our doubt if so large a share of at least so many of the user's rows
# with both is supported.
CONFIRMS_FROM, LEAST_CONFIRMED = 0.85, 10


class JudgedRow(NamedTuple):
    """A labelled row that both judged."""

    log_odds: float  # ours
    verdict: Verdict
    supported: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A model's verdicts on rows of the user's own."""

    rows: int
    measured: str  # ISO date
    files: tuple[str, ...]  # names of the files of rows
    counts: Mapping[Verdict, tuple[int, int]]  # of supported rows, of others
    right: tuple[float, float, float]  # shares of rows: by us, by the model, supported by both
    confirmed: tuple[int, int]  # supported rows, all rows that only the model calls supported
    threshold: float
    rates: tuple[float, float] | None  # shares of others and of supported rows flagged

    @property
    def confirms(self) -> bool:
        right, said = self.confirmed
        return said >= LEAST_CONFIRMED and right >= CONFIRMS_FROM * said


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownJudge:
    """What is known of a model."""

    examinations: Mapping[str, Examination] = field(default_factory=dict)  # "en", "other"
    measured: Measured | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownJudges:
    """All models that were examined or measured on this machine, as "name@host"."""

    judges: Mapping[str, KnownJudge] = field(default_factory=dict)


def file_of(setting: str) -> Path:
    return data_path("judges.json", setting)


def read(path: Path) -> KnownJudges:
    """Read what is known; empty without a file. Raises InputError for any other file."""
    return codec.from_file(KnownJudges, path) if path.exists() else KnownJudges()


def known(path: Path, model: str) -> KnownJudge:
    """Return what is stored of a model; raises InputError if the file cannot be read."""
    return read(path).judges.get(model, KnownJudge())


def keep(path: Path, model: str, judge: KnownJudge) -> None:
    """Store what is known of a model; raises InputError if the file cannot be written."""
    judges = {**read(path).judges, model: judge}
    with usable(path, "written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        durable.write_text(path, codec.to_json(KnownJudges(judges=judges)))


@dataclass(slots=True)
class Examiner:
    """Examines a judge before its first opinion, once per model and server."""

    judge: Judge
    file: Path
    at_once: int = 4
    on_progress: Progress | None = None
    _examined: dict[str, Judge | Failed] = field(default_factory=dict)  # in this run, by pool

    def __call__(self, language: str = "") -> Judge | Failed:
        """Return the judge with what its opinion may change; Failed if it could not be examined."""
        pool = "en" if language in ("", "en") else "other"
        if pool not in self._examined:
            known = self.known
            result = known.examinations.get(pool) or self.examine(pool)
            self.judge.calls.notes.append(note_of(result))
            if isinstance(result, Failed):
                self._examined[pool] = result
            else:
                confirms = result.passed and known.measured is not None and known.measured.confirms
                trust = replace(result.trust, confirms=confirms)
                self._examined[pool] = replace(self.judge, trust=trust)
        return self._examined[pool]

    def examine(self, pool: str) -> Examination | Failed:
        """Examine the judge on rows in English ("en") or other languages; keep the result."""
        result = examine(self.judge, pool, self.on_progress, self.at_once)
        if isinstance(result, Examination):
            known = self.known
            examinations = {**known.examinations, pool: result}
            keep(self.file, self.judge.model, replace(known, examinations=examinations))
        return result

    @property
    def known(self) -> KnownJudge:
        """What is stored of the judge; raises InputError if the file cannot be read."""
        return known(self.file, self.judge.model)


def note_of(result: Examination | Failed) -> Note:
    if isinstance(result, Failed):
        return Note("judge_not_examined", {"why": result.detail})
    return Note(
        "judge_passed" if result.passed else "judge_failed",
        {
            "model": result.model,
            "date": result.examined,
            "right": sum(result.right),
            "asked": sum(result.asked),
        },
    )


def described(pool: str, result: Examination | Failed) -> str:
    """Describe an examination in a line or two, in English."""
    if isinstance(result, Failed):
        return f"not examined: {result.detail}"
    rows = {"en": "English rows", "other": "rows in other languages"}[pool]
    (true, n_true), (false, n_false) = zip(result.right, result.asked, strict=True)
    trust = result.trust
    effect = "its refusals stand" if trust.refuses else "its opinions change nothing"
    if trust.contradicts:
        effect += ", and its contradictions are shown as such"
    wrong = ", ".join(f"{n} × {kind}" for kind, n in result.wrong.items()) or "none"
    return (
        f"{result.model}, examined {result.examined} on {rows}: "
        f"{'passed' if result.passed else 'failed'}; {effect}.\n"
        f"  right on {true} of {n_true} true and {false} of {n_false} false claims; wrong: {wrong}"
    )
