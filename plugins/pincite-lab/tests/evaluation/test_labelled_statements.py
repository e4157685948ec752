"""Labelled statements: strict reading, and measures of results that are given."""

import json
from pathlib import Path

import pytest
from support.rows import each_row

from pincite.errors import InputError
from pincite.judgement.confirmation import Outcome, StatementType, Weighed, Weight, from_answers
from pincite.types import Passage, Span
from pincite.verbs.check.report import Check, Reading, ReadingResult
from pincite_lab.evaluation import tables
from pincite_lab.evaluation.labelled_statements import (
    LabelledStatement,
    Prediction,
    lines,
    measured,
    prediction,
    read_statements,
)

CONFIRMED = Prediction(Outcome.CONFIRMATION, 0.5)
DENIED = Prediction(Outcome.STRONG_DISCONFIRMATION, -0.9)
NOTHING = Prediction(Outcome.NO_EVIDENCE, None)


def row(label: str, kind: StatementType | None = None) -> LabelledStatement:
    return LabelledStatement("The <b>tram</b> runs.", label, kind)


def test_rows_with_levels_types_and_dates(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    values: list[dict[str, str]] = [
        {"statement": " The tram\nruns. ", "label": "confirmed"},
        {"statement": "A", "label": "strong_disconfirmation", "type": "descriptive"},
        {"statement": "B", "label": "no_evidence", "date": "2019-05"},
        {"statement": "C", "label": "not_judged", "type": "normative"},
    ]
    file.write_text("\n\n".join(map(json.dumps, values)))
    assert read_statements(file) == [
        LabelledStatement("The tram runs.", "confirmed"),
        LabelledStatement("A", "disconfirmed", StatementType.DESCRIPTIVE),
        LabelledStatement("B", "inconclusive", None, "2019-05"),
        LabelledStatement("C", "not_judged", StatementType.NORMATIVE),
    ]


@each_row("lab/evaluation/labelled_statements/bad_rows_say_where_and_what")
def test_bad_rows_say_where_and_what(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "s.jsonl").write_text(line)
    with pytest.raises(InputError, match=said):
        read_statements(tmp_path / "s.jsonl")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_statements(tmp_path / "none.jsonl")


def test_measures_by_hand() -> None:
    kind = StatementType.DESCRIPTIVE
    rows = [row("confirmed", kind), row("confirmed"), row("disconfirmed", kind)]
    rows += [row("inconclusive"), row("not_judged", StatementType.NORMATIVE)]
    said = [CONFIRMED, DENIED, DENIED, NOTHING, Prediction(Outcome.NOT_JUDGED, None)]
    found = measured(rows, said)
    assert (found["n"], found["accuracy"]) == (5, 0.8)
    # F1: confirmed 2·1/(2+1), disconfirmed 2·1/(1+2), the other two 1.
    assert found["macro_f1"] == pytest.approx((2 / 3 + 2 / 3 + 1 + 1) / 4, abs=1e-4)
    assert found["confusion"]["confirmed"] == {
        "confirmed": 1,
        "disconfirmed": 1,
        "inconclusive": 0,
        "not_judged": 0,
    }
    assert (found["n_decided"], found["sign_accuracy"]) == (3, round(2 / 3, 4))
    # (DOC + 1) / 2: 0.75 for one that is confirmed, 0.05 twice, where half are.
    assert found["ece"] == pytest.approx((0.25 * 1 + 0.45 * 2) / 3, abs=1e-4)
    assert found["outcomes"]["no_evidence"] == 1
    assert found["by_type"]["descriptive"]["accuracy"] == 1.0
    assert found["by_type"]["normative"]["sign_accuracy"] is None


def test_a_failure_is_wrong_and_counted() -> None:
    found = measured([row("inconclusive")], [Prediction(Outcome.FAILED, None)])
    assert found["accuracy"] == 0.0
    assert found["confusion"] == {"inconclusive": {"inconclusive": 0, "failed": 1}}
    assert found["ece"] is None


def item(published: str | None, degree: float) -> Weighed:
    passage = Passage("d", f"u{published}", "", "words", Span(0, 5))
    outcome = from_answers(passage, max(degree, 0.0), max(-degree, 0.0))
    return Weighed(outcome, hash(published), "silent", published)


def result(kind: StatementType, outcome: Outcome, *items: Weighed) -> ReadingResult:
    return ReadingResult(Reading("r1", "A", kind), items, Weight(outcome, 0.5, 1))


def test_which_reading_answers() -> None:
    normative = result(StatementType.NORMATIVE, Outcome.NOT_JUDGED)
    ascriptive = result(StatementType.ASCRIPTIVE, Outcome.CONFIRMATION)
    descriptive = result(StatementType.DESCRIPTIVE, Outcome.DISCONFIRMATION)
    check = Check("A", (normative, ascriptive, descriptive), "rules")
    assert prediction(check, row("confirmed")).outcome is Outcome.CONFIRMATION
    wanted = row("confirmed", StatementType.DESCRIPTIVE)
    assert prediction(check, wanted).outcome is Outcome.DISCONFIRMATION
    left = row("not_judged", StatementType.NORMATIVE)
    assert prediction(check, left) == Prediction(Outcome.NOT_JUDGED, None)
    assert prediction(Check("A", (), "rules"), left) == Prediction(Outcome.FAILED, None)


def test_a_date_leaves_out_what_came_later_and_what_has_none() -> None:
    items = (item("2010-03-01", 0.9), item("2015", -0.9), item(None, -0.9))
    check = Check("A", (result(StatementType.DESCRIPTIVE, Outcome.BALANCED, *items),), "rules")
    then = LabelledStatement("A", "confirmed", None, "2012")
    assert prediction(check, then).outcome is not Outcome.BALANCED
    assert prediction(check, then).doc == 0.9
    before = LabelledStatement("A", "inconclusive", None, "2010-02-28")
    assert prediction(check, before) == Prediction(Outcome.NO_EVIDENCE, None)


def test_a_table_names_wrong_predictions() -> None:
    rows, said = [row("confirmed"), row("disconfirmed")], [CONFIRMED, CONFIRMED]
    found = {"file": "s.jsonl", **measured(rows, said), "rows": lines(rows, said)}
    table = tables.check_table(found)
    assert "disconfirmed ≠ confirmation: The <b>tram</b> runs." in table


def test_the_accuracy_of_few_that_are_all_right_is_not_sure() -> None:
    found = measured([row("confirmed")] * 6, [CONFIRMED] * 6)
    assert found["accuracy"] == 1.0
    assert found["accuracy_interval"] == [0.6097, 1.0]  # Wilson's
