"""Which reader a file gets; what the readers make of it is tested beside each."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from pincite.documents import jsonl
from pincite.documents.jsonl import FIRST_LINES, format_of
from pincite.documents.read import read_path
from pincite.documents.sources import open_sources
from pincite.types import Document, Reason, Unchecked

PLAIN = {"url": "https://e.org/1", "text": "Some words."}
BEIR = {"_id": "7", "title": "One", "text": "Some words.", "metadata": {}}
SPHERE = {"url": "https://e.org/1", "title": "One", "sha": "a", "raw": "Some words."}
KILT = {"wikipedia_id": "1", "wikipedia_title": "One", "text": ["One", "Some words."]}
CCNET = {
    "url": "https://e.org/1",
    "title": "One",
    "raw_content": "Some words.\nMore words.",
    "date_download": "2019-08-20T10:00:00Z",
    "digest": "sha1:A",
    "language": "en",
    "language_score": 0.99,
    "perplexity": 210.4,
    "bucket": "head",
}
QUERY = {"_id": "1", "text": "which words", "metadata": {"url": "https://e.org/"}}


def write(path: Path, *lines: object) -> Path:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    data = "\n".join(texts).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize(
    ("name", "record", "reader"),
    [
        ("a.jsonl", PLAIN, jsonl.PLAIN),
        ("a.jsonl", BEIR, jsonl.PLAIN),
        ("a.jsonl", SPHERE, jsonl.SPHERE),
        ("a.jsonl", {"url": "u", "id": 5, "raw": "words"}, jsonl.SPHERE),
        ("a.jsonl", SPHERE | {"text": "Other words."}, jsonl.PLAIN),
        ("a.jsonl", KILT, jsonl.KILT),
        ("a.NDJSON.gz", SPHERE, jsonl.SPHERE),
        ("a.json", SPHERE, jsonl.SPHERE),
        ("a.json.gz", KILT, jsonl.KILT),
        ("a.json", PLAIN, None),
        ("en_head_0000.json.gz", CCNET, jsonl.CCNET),
        ("a.jsonl", CCNET, jsonl.CCNET),
        ("a.json", {"name": "a package"}, None),
        ("a.jsonl", {"name": "nothing of it"}, jsonl.PLAIN),
        ("a.tsv", "id\ttext\ttitle", jsonl.DPR),
        ("a.tsv.gz", "\ufeffid\ttext\ttitle\r", jsonl.DPR),
        ("a.tsv", "query-id\tcorpus-id\tscore", None),
        ("a.txt", SPHERE, None),
        ("corpus.jsonl", {"_id": "1", "text": "no title, yet a document"}, jsonl.PLAIN),
        ("queries.jsonl", BEIR, jsonl.PLAIN),
        ("queries.jsonl", PLAIN, jsonl.PLAIN),
    ],
)
def test_the_first_record_decides(tmp_path: Path, name: str, record: Any, reader: object) -> None:
    assert format_of(write(tmp_path / name, record)) is reader


def test_ccnet(tmp_path: Path) -> None:
    path = write(tmp_path / "en_head_0000.json.gz", CCNET, "{", CCNET | {"raw_content": " "})
    page, *unread = read_path(path)
    assert isinstance(page, Document)
    assert (page.url, page.title, page.text) == ("https://e.org/1", "One", CCNET["raw_content"])
    assert (page.fetched, page.language) == ("2019-08-20T10:00:00Z", "en")
    assert page.meta == {"digest": "sha1:A", "bucket": "head"}
    assert [isinstance(one, Unchecked) and one.reason for one in unread] == [
        *(Reason.UNDECODABLE, Reason.EMPTY)
    ]
    assert open_sources(tmp_path).get("http://e.org/1") == page


def test_bad_lines_do_not_decide(tmp_path: Path) -> None:
    bad = ["{", "", "[1]", '"words"', "[" * 100_000, {"vector": [1]}]
    assert format_of(write(tmp_path / "a.json", *bad, SPHERE, PLAIN)) is jsonl.SPHERE
    late = ["{"] * FIRST_LINES
    assert format_of(write(tmp_path / "b.json", *late, SPHERE)) is None


def test_a_file_that_breaks_off_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(b"no gzip")
    (found,) = read_path(tmp_path / "a.jsonl.gz")
    assert isinstance(found, Unchecked)
    assert "breaks off" in found.detail


@pytest.mark.parametrize("name", ["queries.jsonl", "scifact-queries.jsonl.gz"])
def test_queries_are_refused(tmp_path: Path, name: str) -> None:
    (found,) = read_path(write(tmp_path / name, QUERY, QUERY))
    assert isinstance(found, Unchecked)
    assert found.reason is Reason.UNSUPPORTED_TYPE
    assert found.detail.startswith(f"{name}: these are the queries of a BEIR collection")
    assert "corpus.jsonl" in found.detail


def test_other_json_is_still_told_to_have_no_reader(tmp_path: Path) -> None:
    (found,) = read_path(write(tmp_path / "a.json", {"name": "a package"}))
    assert isinstance(found, Unchecked)
    assert found.reason is Reason.UNSUPPORTED_TYPE


def test_documents_come_while_the_file_is_read(tmp_path: Path) -> None:
    lines = [SPHERE | {"url": f"https://e.org/{n}", "raw": "word " * 999} for n in range(99)]
    path = write(tmp_path / "a.jsonl", *lines)
    found = read_path(path)
    assert isinstance(next(found), Document)
    path.write_text("")  # what is not buffered yet is gone
    assert len(list(found)) < 98
