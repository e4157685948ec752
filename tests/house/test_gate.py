"""The quality floor: what it measures, and that it falls where a figure does."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import gate
import gate_values
from pincite.types import Claim, Evidence, Passage

SURE, NO = 0.98, 0.01
FLOORS = {"auroc": {"measured": 0.8, "floor": 0.77}}


class Judge:
    """A verifier that answers as it is told to: support, refute or nei, of (claim, passage)."""

    fingerprint = "judge"

    def __init__(self, says: Callable[[str, str], str]) -> None:
        self.says = says

    def verify(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Evidence]:
        return [self.evidence(claim.text, passage) for claim, passage in pairs]

    def evidence(self, claim: str, passage: Passage) -> Evidence:
        said = self.says(claim, passage.text)
        p = {label: SURE if label == said else NO for label in ("support", "refute", "nei")}
        return Evidence(passage, p["support"], p["refute"], p["nei"], p["support"] - p["nei"])


@cache
def rows_and_pairs() -> tuple[dict[str, Any], dict[tuple[str, str], bool]]:
    """The statements by their text, and whether the values of a pair are equal."""
    rows = {row["statement"]: row for row, _ in gate.statements()}
    pairs = {(pair.claim, pair.source): pair.equal for pair in gate_values.read_pairs("open")}
    return rows, pairs


def rightly(claim: str, passage: str) -> str:
    """As the sets say."""
    rows, pairs = rows_and_pairs()
    if row := rows.get(claim):
        flat = " ".join(passage.split())
        there = any(line in flat for line in gate.lines(row))
        return str(gate.LABEL_OF[row["expected"]]) if there else "nei"
    return "nei" if pairs.get((claim, passage)) is False else "support"  # or a rewrite


def test_who_reads_rightly_misses_one_sentence_that_is_not_read() -> None:
    figures = gate.figures(Judge(rightly))
    assert list(figures.values()) == [0.9875, 0.9944, 0.9833, 1, 1]


@pytest.mark.parametrize(
    ("now", "low"), [(0.77, []), (0.769, ["auroc"]), (float("nan"), ["auroc"])]
)
def test_a_figure_below_its_floor_is_named(now: float, low: list[str]) -> None:
    assert gate.below({"auroc": now}, FLOORS) == low
    assert ("below" in gate.table({"auroc": now}, FLOORS)) == (now == 0.769)


def test_the_sets_are_those_that_the_floors_were_measured_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert gate.changed() == ""
    assert set(gate.read()["floors"]) >= {"auroc", "weighted_f1", "evidence_p1"}
    monkeypatch.setattr(gate, "CASES", tmp_path)
    assert "--write" in gate.changed()


def test_floors_lie_a_margin_below_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(gate, "FLOORS", tmp_path / "floors.json")
    gate.write({"auroc": 0.8}, "network")
    assert gate.read()["floors"] == FLOORS
    assert gate.changed() == ""
    gate.write({"auroc": 0.79}, "a worse one")
    assert gate.read()["floors"]["auroc"] == {"measured": 0.79, "floor": FLOORS["auroc"]["floor"]}
    gate.write({"auroc": 0.9}, "a better one")
    assert gate.read()["floors"]["auroc"] == {"measured": 0.9, "floor": 0.87}


def test_a_value_counts_as_stated_unless_what_is_missing_overlaps_it() -> None:
    assert gate_values.says_same("It has 12 bells and 3 doors.", "12 bells", "It has 12 bells.")
    assert not gate_values.says_same("It has 12 bells.", "12", "It has 15 bells.")
    assert not gate_values.says_same("It was Fennimore's.", "Fennimore", "It was Harlow's.")
