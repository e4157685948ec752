"""A report that was written is read again."""

import json

import pytest
from samples import HOSTILE, report

from pincite.errors import InputError
from pincite.verbs.verify import data, read


@pytest.mark.parametrize("text", ["plain", *HOSTILE])
def test_what_is_read_writes_the_same(text: str) -> None:
    written = data.as_dict(report(text))
    again = data.as_dict(read.from_dict(json.loads(json.dumps(written))))
    assert again == written


def test_what_is_read_is_the_report_but_for_what_json_leaves_out() -> None:
    found, meant = read.from_dict(data.as_dict(report())), report()
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
        read.from_dict(data.as_dict(report()) | change)
