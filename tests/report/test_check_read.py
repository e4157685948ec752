"""A check that was written as JSON is the same when it is read again."""

import json
from typing import Any

import pytest
from check_samples import check_report
from samples import HOSTILE

from pincite.errors import InputError
from pincite.verbs.check.report import CheckReport


@pytest.mark.parametrize("text", ["Varde", *HOSTILE])
def test_a_check_survives_its_json(text: str) -> None:
    report = check_report(text)
    again = CheckReport.from_json(report.to_json())
    assert again.to_json() == report.to_json()
    assert again.checks[0].results[2] == report.checks[0].results[2]
    assert again.complete == report.complete


def test_what_is_computed_is_written_and_not_believed() -> None:
    values: Any = json.loads(check_report().to_json())
    first = values["checks"][0]["readings"][0]
    assert (first["evidence"][0]["doc"], first["evidence"][0]["side"]) == (0.9, "for")
    assert first["level"] == "inconclusive_confirmation"
    first["evidence"][0]["doc"], first["level"] = -1, "strong_confirmation"
    assert json.loads(CheckReport.from_json(json.dumps(values)).to_json()) == json.loads(
        check_report().to_json()
    )


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("schema_version",), "0"),
        (("created",), None),
        (("checks", 0, "readings", 0, "kind"), "odd"),
        (("checks", 0, "readings", 0, "outcome"), "true"),
        (("checks", 0, "readings", 0, "interval"), [1]),
        (("checks", 0, "readings", 0, "evidence", 0, "prob_supported"), "0.9"),
        (("checks", 0, "readings", 0, "evidence", 0, "meta"), []),
        (("checks", 0, "readings"), {}),
        (("usage",), 3),
    ],
)
def test_values_that_are_none_of_ours_are_named(place: tuple[str | int, ...], value: Any) -> None:
    values: Any = json.loads(check_report().to_json())
    inner = values
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(InputError):
        CheckReport.from_json(json.dumps(values))
