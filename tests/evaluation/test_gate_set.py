"""The gate set of `check` is whole: what it counts, and that its witnesses can be read."""

import functools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pincite.documents.collection import collected
from pincite.types import Document

SET = Path(__file__).parents[1] / "cases/gate"
DOMAINS = ("history", "medicine", "news")
HALVES = ("open", "sealed")
KINDS = ("confirmed", "disconfirmed", "none")
FIELDS = ["id", "statement", "expected", "how", "document", "witness"]
domains = pytest.mark.parametrize("domain", DOMAINS)


def rows(domain: str, half: str) -> list[dict[str, str]]:
    text = (SET / domain / f"statements-{half}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def of_domain(domain: str) -> list[dict[str, str]]:
    return [row for half in HALVES for row in rows(domain, half)]


@functools.cache
def documents(domain: str) -> dict[str, Document]:
    """By file; a file that is not read as exactly one document is missing."""
    found: dict[str, list[Any]] = {}
    for path in (SET / domain / "documents").iterdir():
        collection = collected([path])
        found[path.name] = [one for piece in collection.pieces for one in collection.read(piece)]
    return {
        name: one for name, (one, *more) in found.items() if isinstance(one, Document) and not more
    }


@domains
def test_twelve_documents_in_mixed_formats(domain: str) -> None:
    read = documents(domain)
    assert set(read) == {path.name for path in (SET / domain / "documents").iterdir()}
    assert len(read) == 12
    assert len({one.url for one in read.values()}) == 12
    assert {"html", "text", "markdown", "docx", "pdf"} <= {one.kind for one in read.values()}
    assert all(250 <= len(one.text.split()) <= 700 for one in read.values())


def test_it_is_small() -> None:
    assert sum(path.stat().st_size for path in SET.rglob("*") if path.is_file()) < 600_000


@domains
@pytest.mark.parametrize("half", HALVES)
def test_ten_of_each_kind_in_either_half(domain: str, half: str) -> None:
    found = rows(domain, half)
    assert Counter(row["expected"] for row in found) == dict.fromkeys(KINDS, 10)
    assert all(list(row) == FIELDS for row in found)
    assert all(row["id"] and row["how"] for row in found)


def test_ids_and_statements_are_unique() -> None:
    found = [row for domain in DOMAINS for row in of_domain(domain)]
    assert len({row["id"] for row in found}) == len({row["statement"] for row in found}) == 180


@domains
def test_statements_are_one_sentence_on_a_line(domain: str) -> None:
    odd = [
        row["id"]
        for row in of_domain(domain)
        if not row["statement"].endswith(".") or row["statement"].splitlines() != [row["statement"]]
    ]
    assert odd == []


@domains
def test_what_decides_stands_in_the_document(domain: str) -> None:
    texts = {name: " ".join(one.text.split()) for name, one in documents(domain).items()}
    missing = [
        row["id"]
        for row in of_domain(domain)
        if row["expected"] != "none"
        and not (row["witness"] and all(w in texts[row["document"]] for w in lines(row)))
    ]
    assert missing == []


@domains
def test_what_is_not_covered_names_nothing(domain: str) -> None:
    uncovered = [row for row in of_domain(domain) if row["expected"] == "none"]
    assert {(row["document"], row["witness"]) for row in uncovered} == {("", "")}


@domains
def test_true_statements_are_no_copies(domain: str) -> None:
    texts = [" ".join(one.text.split()) for one in documents(domain).values()]
    copied = [
        row["id"]
        for row in of_domain(domain)
        if any(row["statement"].rstrip(".") in text for text in texts)
    ]
    assert copied == []


def lines(row: dict[str, str]) -> list[str]:
    return row["witness"].splitlines()
