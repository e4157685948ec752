"""A report that was written is read again."""

import json
from dataclasses import replace
from typing import Any

import pytest
from samples import HOSTILE, report

from pincite.errors import InputError
from pincite.notes import Note
from pincite.types import Evidence
from pincite.verbs.verify.report import Report


@pytest.mark.parametrize("text", ["plain", *HOSTILE])
def test_what_is_read_is_what_was_written(text: str) -> None:
    written = report(text)
    assert Report.from_json(written.to_json()) == written


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"schema_version": "4"}, "schema_version"),
        ({"findings": [{}]}, r"findings\[0\]"),
        ({"n_claims": None}, "n_claims"),
        ({"flag_precision": [["x", 1]]}, r"flag_precision\[0\]"),
    ],
)
def test_what_is_no_report_is_refused(change: dict[str, object], place: str) -> None:
    with pytest.raises(InputError, match=place):
        Report.from_json(json.dumps(json.loads(report().to_json()) | change))


def test_numbers_have_four_decimals_but_for_settings() -> None:
    found = replace(report(), settings={"pause": 0.123456}, flag_precision=((0.02, 0.123456),))
    values = found.to_values()
    assert values["settings"] == {"pause": 0.123456}
    assert values["flag_precision"] == [[0.02, 0.1235]]


def test_computed_values_are_written_and_not_believed() -> None:
    values: Any = report().to_values()
    first = values["findings"][0]
    assert first["prob_supported"] == 0.1824
    assert first["citations"][0]["evidence"]["quote"] == "plain"
    first |= {"prob_supported": 0.9, "source_changed": True}
    assert Report.from_values(values) == report()


@pytest.mark.parametrize("note", [Note("of_next_year"), Note("not_stated")])
def test_a_note_of_another_version_is_shown_by_its_code(note: Note) -> None:
    first = report().findings[0]
    outcome = first.citations[0].outcome
    assert isinstance(outcome, Evidence)
    assert replace(outcome, reasons_coded=(note,)).reasons == (note.code,)
