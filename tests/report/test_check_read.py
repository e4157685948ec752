"""A check that was written as JSON is the same when it is read again."""

import json
from typing import Any

import pytest
from check_samples import check_report
from samples import HOSTILE

from pincite.errors import InputError
from pincite.verbs.check import data, render


@pytest.mark.parametrize("text", ["Varde", *HOSTILE])
def test_a_check_survives_its_json(text: str) -> None:
    report = check_report(text)
    written = data.to_json(report)
    again = data.from_json(written)
    assert data.to_json(again) == written
    assert render.to_html(again) == render.to_html(report)
    assert again.complete == report.complete


def test_two_answers_that_exceed_one_keep_their_degree() -> None:
    values: Any = json.loads(data.to_json(check_report()))
    answered = values["checks"][0]["readings"][0]["evidence"][0]
    answered |= {"prob_reading": 0.9, "prob_negation": 0.7, "doc": 0.2}
    again: Any = json.loads(data.to_json(data.from_json(json.dumps(values))))
    found = again["checks"][0]["readings"][0]["evidence"][0]
    assert (found["prob_reading"], found["prob_negation"], found["doc"]) == (0.6, 0.4, 0.2)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("schema_version",), "0"),
        (("created",), None),
        (("checks", 0, "readings", 0, "kind"), "odd"),
        (("checks", 0, "readings", 0, "outcome"), "true"),
        (("checks", 0, "readings", 0, "contradictions"), [99]),
        (("checks", 0, "readings", 0, "interval"), [1]),
        (("checks", 0, "readings", 0, "evidence", 0, "quote_span"), [0, 10_000]),
        (("checks", 0, "readings", 0, "evidence", 0, "prob_reading"), "0.9"),
        (("checks", 0, "readings", 0, "evidence", 0, "meta"), []),
        (("checks", 0, "readings"), {}),
        (("usage",), 3),
    ],
)
def test_values_that_are_none_of_ours_are_named(place: tuple[str | int, ...], value: Any) -> None:
    values: Any = json.loads(data.to_json(check_report()))
    inner = values
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(InputError):
        data.from_json(json.dumps(values))
