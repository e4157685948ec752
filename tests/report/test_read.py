"""A report that was written is read again."""

import json

import pytest
from samples import HOSTILE, report

from pincite.errors import InputError
from pincite.verbs.verify import data


@pytest.mark.parametrize("text", ["plain", *HOSTILE])
def test_what_is_read_writes_the_same(text: str) -> None:
    written = data.to_json(report(text))
    assert data.to_json(data.from_json(written)) == written


def test_what_is_read_is_the_report_but_for_what_json_leaves_out() -> None:
    found, meant = data.from_json(data.to_json(report())), report()
    assert [f.label for f in found.findings] == [f.label for f in meant.findings]
    assert found.findings[0].suggestions == meant.findings[0].suggestions
    assert found.findings[1].missing[0].span == meant.findings[1].missing[0].span
    assert found.findings[3].citations[0].outcome == meant.findings[3].citations[0].outcome


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema_version": "0"}, "schema_version"),
        ({"findings": [{}]}, r"findings\[0\]"),
        ({"counts": None}, "counts"),
        ({"flag_precision": [{"base_rate": "x", "precision": 1}]}, "base_rate"),
    ],
)
def test_what_is_no_report_is_refused(change: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        data.from_json(json.dumps(json.loads(data.to_json(report())) | change))


def test_a_report_of_before_claims_were_parts_of_sentences_is_read() -> None:
    given = json.loads(data.to_json(report()))
    for finding in given["findings"]:
        del finding["sentence"], finding["part"]
    first = data.from_json(json.dumps(given)).findings[0].claim
    assert (first.sentence, first.part, first.text) == ("", None, "plain")


def test_sentences_without_a_citation_are_read_and_may_be_missing() -> None:
    given = json.loads(data.to_json(report()))
    found, meant = data.from_json(json.dumps(given)).uncited, report().uncited
    assert found
    assert meant
    assert [each.reasons for each in found] == [each.reasons for each in meant]
    assert (found[1].suggestions, found[1].excluded) == (meant[1].suggestions, meant[1].excluded)
    assert [(u.claim.text, u.claim.tags) for u in found] == [
        ("plain", ("citation needed",)),
        ("plain", ()),
    ]
    del given["uncited"]  # a report of before they were looked for
    older = data.from_json(json.dumps(given))
    assert older.uncited is None
    assert older.complete
