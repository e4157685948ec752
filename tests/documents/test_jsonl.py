"""JSON lines: documents, and labelled claims."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.files import write_jsonl
from support.found import document, refusal

from pincite.documents.body import Limits
from pincite.documents.jsonl import LabelledClaim, documents, read_labelled
from pincite.documents.read import read_path
from pincite.errors import InputError
from pincite.types import Document, Reason, Unchecked

QUERY = {"_id": "1", "text": "which words", "metadata": {"url": "https://e.org/"}}


@pytest.mark.parametrize("name", ["queries.jsonl", "scifact-queries.jsonl.gz"])
def test_queries_are_refused(tmp_path: Path, name: str) -> None:
    found = refusal(*read_path(write_jsonl(tmp_path / name, QUERY, QUERY)))
    assert found.reason is Reason.UNSUPPORTED_TYPE
    assert found.detail.startswith(f"{name}: these are the queries of a BEIR collection")
    assert "corpus.jsonl" in found.detail


def test_a_title_or_a_url_makes_queries_documents(tmp_path: Path) -> None:
    for record in (QUERY | {"title": "One"}, QUERY | {"url": "https://e.org/"}):
        document(*read_path(write_jsonl(tmp_path / "queries.jsonl", record)))


def test_documents_come_while_the_file_is_read(tmp_path: Path) -> None:
    lines = [GOOD | {"url": f"https://e.org/{n}", "text": "word " * 999} for n in range(99)]
    path = write_jsonl(tmp_path / "a.jsonl", *lines)
    found = read_path(path)
    assert isinstance(next(found), Document)
    path.write_text("")  # what is not buffered yet is gone
    assert len(list(found)) < 98


GOOD = {
    "url": "https://e.org/1",
    "title": "One",
    "text": "Some words.",
    "date": "2001",
    "lang": "de",
}


def test_fields_of_json_lines(tmp_path: Path) -> None:
    record = GOOD | {"site": "E", "year": 3, "id": "x", "kind": "abstract", "text": "Some\t words."}
    for name in ("a.jsonl", "a.jsonl.gz"):
        (found,) = documents(write_jsonl(tmp_path / name, record))
        expected = Document("https://e.org/1", "One", "Some words.", "abstract", "2001")
        assert found == replace(expected, language="de", meta={"site": "E", "id": "x"})


def test_beir_records_keep_their_ids_or_addresses(tmp_path: Path) -> None:
    records = [
        {"_id": "7", "title": "One", "text": "a", "metadata": {}},
        {"_id": "8", "title": "Two", "text": "b", "metadata": {"url": "https://e.org/2"}},
        {"_id": 9, "text": "c", "metadata": {"url": "https://e.org/3"}},
        {"_id": "10", "title": "A title only", "text": ""},
    ]
    found = list(documents(write_jsonl(tmp_path / "corpus.jsonl", *records)))
    assert [d.url for d in found] == ["7", "https://e.org/2", "https://e.org/3", "10"]
    known = [(document(each).meta, document(each).text) for each in found]
    assert known == [({}, "a"), ({"_id": "8"}, "b"), ({"_id": "9"}, "c"), ({}, "A title only")]


def test_a_bad_line_costs_only_itself(tmp_path: Path) -> None:
    bad = [
        *("{", "[1]", {"url": "u"}, {"text": "t"}, {"url": "u", "text": 5}, "[" * 100_000),
        *('"\\ud800"', "1" * 9_999),
    ]
    path = write_jsonl(tmp_path / "bad.jsonl", GOOD, "", *bad, {"url": "u", "text": " "}, GOOD)
    found = list(documents(path))
    assert [type(f) for f in found] == [Document, *[Unchecked] * 9, Document]
    wrong = [refusal(each) for each in found[1:-1]]
    assert [each.reason for each in wrong] == [Reason.UNDECODABLE] * 8 + [Reason.EMPTY]
    assert wrong[0].detail.startswith("bad.jsonl line 3: not valid JSON")
    assert wrong[2].detail == "bad.jsonl line 5: no text"


def test_a_line_over_the_limit_is_passed_over(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl.gz", GOOD, GOOD | {"text": "x" * 3_000_000}, GOOD)
    found = list(documents(path, Limits(line_bytes=1_000)))
    assert [type(f) for f in found] == [Document, Unchecked, Document]
    assert refusal(found[1]).reason is Reason.TOO_LARGE
    assert "it is 3.0 MB; the limit is 1000 bytes" in refusal(found[1]).detail
    assert next(iter(documents(path, Limits(max_chars=5)))).url == "https://e.org/1"


def test_a_file_that_breaks_off(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl.gz", *[GOOD | {"n": str(i)} for i in range(2_000)])
    path.write_bytes(path.read_bytes()[:-100])
    *whole, last = documents(path)
    assert len(whole) > 100
    assert "breaks off" in refusal(last).detail
    path.write_bytes(b"no gzip")
    refusal(*documents(path))


# ── Labelled claims ──────────────────────────────────────────────────────────────────────────────

ROW = {"id": 7, "claim": "The mill is old.", "evidence": "A mill.", "label": "support"}


def line(**changes: Any) -> str:
    return json.dumps({key: v for key, v in (ROW | changes).items() if v is not ...})


@pytest.mark.parametrize("name", ["claims.jsonl", "claims.jsonl.gz"])
def test_rows_in_order_without_blank_lines(tmp_path: Path, name: str) -> None:
    path = write_jsonl(tmp_path / name, line(), "", line(id="b", label="nei", meta={"page": 3}))
    rows = list(read_labelled(path))
    assert rows[0] == LabelledClaim("7", "The mill is old.", "A mill.", "support")
    assert (rows[1].row_id, rows[1].label, rows[1].meta) == ("b", "nei", {"page": 3})


BAD: list[str | bytes] = [
    *("{broken", "[1, 2]", "3", "null", "[" * 100_000, b"\x00\xff\xfe\x80\x81"),
    *(line(**{field: ...}) for field in ("id", "claim", "evidence", "label")),
    *(line(label=label) for label in ("SUPPORTS", ["support"])),
    *(line(claim=claim) for claim in (3, "  \t")),
    *(line(evidence=evidence) for evidence in (None, "\ud83d")),
    line(meta=[1]),
    line(claim="x").encode().replace(b"x", b"\xe9"),
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: repr(bad[:40]))
def test_a_bad_row_raises_with_its_line_or_is_skipped(tmp_path: Path, bad: str | bytes) -> None:
    path = write_jsonl(tmp_path / "claims.jsonl", line(), bad, line(id="last"))
    with pytest.raises(InputError, match=r"claims\.jsonl line 2: "):
        list(read_labelled(path))
    errors: list[InputError] = []
    assert [row.row_id for row in read_labelled(path, errors.append)] == ["7", "last"]
    assert len(errors) == 1
    assert f"{path} line 2" in str(errors[0])


def test_a_damaged_archive_cannot_be_read(tmp_path: Path) -> None:
    rows = (line(id=n, claim=f"Claim {n * 7919}") for n in range(400))
    path = write_jsonl(tmp_path / "claims.jsonl.gz", *rows)
    content = path.read_bytes()
    half = len(content) // 2
    path.write_bytes(content[:half] + b"\xff" * 40 + content[half + 40 :])
    with pytest.raises(InputError, match=r"claims\.jsonl\.gz cannot be read"):
        list(read_labelled(path, lambda bad: None))


def test_a_missing_file_or_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(InputError, match="cannot be read"):
            list(read_labelled(path))
