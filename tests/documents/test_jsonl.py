import gzip
import json
from pathlib import Path

from pincite.documents.body import Limits
from pincite.documents.jsonl import documents
from pincite.types import Document, Reason, Unchecked

GOOD = {
    "url": "https://e.org/1",
    "title": "One",
    "text": "Some words.",
    "date": "2001",
    "lang": "de",
}


def write(path: Path, *records: object) -> Path:
    lines = [r if isinstance(r, str) else json.dumps(r) for r in records]
    data = "\n".join(lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def test_fields(tmp_path: Path) -> None:
    record = GOOD | {"site": "E", "year": 3, "id": "x", "kind": "abstract", "text": "Some\t words."}
    for name in ("a.jsonl", "a.jsonl.gz"):
        (found,) = documents(write(tmp_path / name, record))
        assert found == Document(
            url="https://e.org/1",
            title="One",
            text="Some words.",
            kind="abstract",
            published="2001",
            language="de",
            meta={"site": "E", "id": "x"},
        )


def test_an_id_stands_in_for_the_url(tmp_path: Path) -> None:
    found = list(
        documents(write(tmp_path / "a.jsonl", {"id": 7, "text": "a"}, {"_id": "x", "text": "b"}))
    )
    assert [d.url for d in found] == ["7", "x"]
    assert [d.meta for d in found if isinstance(d, Document)] == [{}, {}]


def test_beir(tmp_path: Path) -> None:
    records = [
        {"_id": "7", "title": "One", "text": "a", "metadata": {}},
        {"_id": "8", "title": "Two", "text": "b", "metadata": {"url": "https://e.org/2"}},
        {"_id": 9, "text": "c", "metadata": {"url": "https://e.org/3"}},
        {"_id": "10", "title": "A title only", "text": ""},
    ]
    found = list(documents(write(tmp_path / "corpus.jsonl", *records)))
    assert [d.url for d in found] == ["7", "https://e.org/2", "https://e.org/3", "10"]
    known = [d for d in found if isinstance(d, Document)]
    assert [d.meta for d in known] == [{}, {"_id": "8"}, {"_id": "9"}, {}]
    assert [d.text for d in known] == ["a", "b", "c", "A title only"]


def test_a_bad_line_costs_only_itself(tmp_path: Path) -> None:
    nested = "[" * 100_000
    bad = [
        "{",
        "[1]",
        {"url": "u"},
        {"text": "t"},
        {"url": "u", "text": 5},
        nested,
        '"\\ud800"',
        "1" * 9_999,
    ]
    path = write(tmp_path / "bad.jsonl", GOOD, "", *bad, {"url": "u", "text": " "}, GOOD)
    found = list(documents(path))
    assert [type(f) for f in found] == [Document, *[Unchecked] * 9, Document]
    wrong = [f for f in found if isinstance(f, Unchecked)]
    assert [f.reason for f in wrong] == [Reason.UNDECODABLE] * 8 + [Reason.EMPTY]
    assert wrong[0].detail.startswith("bad.jsonl line 3: no JSON")
    assert wrong[2].detail == "bad.jsonl line 5: no text"


def test_a_line_over_the_limit_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl.gz", GOOD, GOOD | {"text": "x" * 3_000_000}, GOOD)
    found = list(documents(path, Limits(line_bytes=1_000)))
    assert [type(f) for f in found] == [Document, Unchecked, Document]
    assert isinstance(found[1], Unchecked)
    assert found[1].reason is Reason.TOO_LARGE
    assert next(iter(documents(path, Limits(max_chars=5)))).url == "https://e.org/1"


def test_a_file_that_breaks_off(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl.gz", *[GOOD | {"n": str(i)} for i in range(2_000)])
    path.write_bytes(path.read_bytes()[:-100])
    *whole, last = documents(path)
    assert len(whole) > 100
    assert isinstance(last, Unchecked)
    assert "breaks off" in last.detail
    path.write_bytes(b"no gzip")
    (only,) = documents(path)
    assert isinstance(only, Unchecked)
