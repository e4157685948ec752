"""Measurements of `pincite calibrate judge`: how far each model's verdicts can be trusted."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pincite import codec, durable
from pincite.cache_file import data_path
from pincite.errors import usable
from pincite.judgement.fusion import CAUTIOUS, JudgedRow, measure_verdicts, rates, shares_right
from pincite.types import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredJudge:
    """A model's verdicts on labelled rows, and what each adds to our log-odds."""

    model: str
    rows: int
    measured: str  # ISO date
    files: tuple[str, ...]  # names of the files of rows
    counts: Mapping[Verdict, tuple[int, int]]  # of supported rows, of others
    log_ratios: Mapping[Verdict, float]
    right: tuple[float, float, float]  # shares of rows: by us, by the model, by both together
    threshold: float = 0.0  # at which `right` and `rates` were measured
    # Shares of unsupported and of supported rows that both together flag, cross-validated.
    rates: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredJudges:
    """All models measured on this machine, by their name on the server."""

    judges: Mapping[str, MeasuredJudge] = field(default_factory=dict)


def file_of(setting: str) -> Path:
    return data_path("judges.json", setting)


def read(path: Path) -> MeasuredJudges:
    """Read the measurements; empty without a file. Raises InputError for any other file."""
    return codec.from_file(MeasuredJudges, path) if path.exists() else MeasuredJudges()


def log_ratios(path: Path, model: str) -> Mapping[Verdict, float]:
    """Return what each verdict of a model adds; cautious values if it was not measured."""
    found = read(path).judges.get(model)
    return {**CAUTIOUS, **found.log_ratios} if found else CAUTIOUS


def rates_of(path: Path, model: str, threshold: float) -> tuple[float, float] | None:
    """Return the rates of flags by both together; None if not measured at this threshold."""
    found = read(path).judges.get(model)
    return found.rates if found and found.threshold == threshold else None


def keep(
    path: Path, model: str, rows: Sequence[JudgedRow], threshold: float, files: tuple[str, ...]
) -> MeasuredJudge:
    """Measure a model on rows and store the result, replacing an earlier one.

    Raises:
        InputError: The file is of another kind, or cannot be written.
    """
    counted = Counter((row.verdict, row.supported) for row in rows)
    judge = MeasuredJudge(
        model=model,
        rows=len(rows),
        measured=datetime.now(UTC).date().isoformat(),
        files=files,
        counts={each: (counted[each, True], counted[each, False]) for each in Verdict},
        log_ratios=measure_verdicts(rows),
        right=shares_right(rows, threshold),
        threshold=threshold,
        rates=rates(rows, threshold),
    )
    judges = MeasuredJudges(judges={**read(path).judges, model: judge})
    with usable(path, "written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        durable.write_text(path, codec.to_json(judges))
    return judge
