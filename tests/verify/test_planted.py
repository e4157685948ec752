"""Planted faults: what the check finds of them with the real verifier.

The bounds are a little below what `python tools/planted.py` measured: 300 answers of seeds 1, 2, 3
gave numbers 59 of 60 (new ones 30 of 30, others of the abstract 29 of 30), negations 53 of 60, and
55 false alarms among 1,196 sound sentences, nearly all of them reworded.
"""

from collections.abc import Sequence

import pytest

from pincite.verbs.ask.answer_check import AnswerChecker
from planted import HOW, Outcome, catch_rate, false_alarms, lines, outcomes, planted, verifier


def shares(found: Sequence[Outcome]) -> dict[str, float]:
    """The rates, printed for who runs with -s; what follows from rules is asserted here."""
    print("\n".join(lines(found)))  # noqa: T201 - pytest -s shows the rates
    for kind in ("fabricated", "uncited", "retracted"):
        caught, n = catch_rate(found, kind)
        assert caught == n > 0
    counts = {kind: catch_rate(found, kind) for kind in ("number", "negated")}
    counts |= {how: catch_rate(found, "number", how) for how in HOW}
    counts["false alarms"] = false_alarms(found)
    return {name: part / whole for name, (part, whole) in counts.items()}


@pytest.mark.models
@pytest.mark.xdist_group("demo")
def test_faults_are_caught() -> None:
    found = shares(outcomes(list(planted(100)), AnswerChecker(verifier())))
    assert found["number"] >= 0.8
    assert found["negated"] >= 0.4
    assert found["false alarms"] <= 0.07
