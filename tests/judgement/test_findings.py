from dataclasses import replace

import pytest
from support.rows import each_row

from pincite.judgement.findings import flag_precisions, rank_findings
from pincite.types import Claim, Finding, Label


def finding(label: Label, score: float | None, text: str = "c") -> Finding:
    return Finding(Claim(text, text), (), None, label, score, ())


def test_the_worst_come_first_and_a_tag_raises_what_no_source_supports() -> None:
    findings = [
        finding(Label.SUPPORTED, 3.0),
        finding(Label.UNCHECKED, None),
        finding(Label.PARTLY_SUPPORTED, -4.0),
        finding(Label.NOT_SUPPORTED, -1.0),
        finding(Label.REFUTED, -2.0),
        finding(Label.SUPPORTED, 0.5),
    ]
    scores = [f.score for f in rank_findings(findings)]
    assert scores == [-2.0, -1.0, -4.0, None, 0.5, 3.0]
    tagged = replace(findings[0].claim, tags=("failed verification",))
    findings[:2] = (replace(each, claim=tagged) for each in findings[:2])
    scores = [f.score for f in rank_findings(findings)]
    assert scores == [None, -2.0, -1.0, -4.0, 3.0, 0.5]


@each_row("judgement/findings/bayes_by_hand")
def test_bayes_by_hand(rates: tuple[float, float] | None, shares: list[float]) -> None:
    found = [share for _, share in flag_precisions(rates)]
    assert found == pytest.approx(shares, abs=1e-4)
